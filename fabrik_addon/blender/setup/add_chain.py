# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: a new chain, with its target and its pole. No bone moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mathutils import Vector

from ...core import FabrikError
from ..rig.chain_bones import ChainSpec, chain_matrices, read_bones, read_pose
from ..rig.last_results import forget_result
from ..rig.properties import FabrikChain, settings_of
from ..rig.targets_and_poles import armature_to_world
from .move_target import scale_of
from .pole_placement import place_pole
from .target_objects import make_pole, make_target, targets_collection

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, Scene, ViewLayer

POLE_DISTANCE = 0.75
"""Distance of a new pole from the joint that bends, over chain length: outside the character, inside the view."""

_EMPTY_SIZE = 0.08
"""Size of a new target over ``chain length / sqrt(number of bones)``: between the size of a bone and of the chain."""

_POLE_SIZE = 0.6
"""Size of a new pole over the size of the target."""


def add_chain(
    scene: Scene,
    view_layer: ViewLayer,
    armature: Object,
    tip: PoseBone,
    chain_count: int,
    create_target: bool,
    create_pole: bool,
) -> FabrikChain:
    """Add a chain that ends at the tail of a bone, and make it the active one.

    Args:
        scene: for the collection of new targets.
        view_layer: of the scene, with the armature.
        armature: object of the bone.
        tip: the last bone.
        chain_count: bones of the chain; 0 is all up to the armature's root bone.
        create_target: make an empty at the chain's end, and use it as the target.
        create_pole: make an empty in the direction of the bend, and use it as the pole.

    Raises:
        FabrikError: the bone already ends a chain, or has fewer parents than that; then nothing has changed.
    """
    settings = settings_of(armature)
    for chain in settings.chains:
        if chain.tip == tip.name and chain.use_tail:
            raise FabrikError(f"Chain '{chain.name}' already ends at bone '{tip.name}'")
    view_layer.update()
    try:
        bones = read_bones(armature, ChainSpec(tip.name, tip.name, chain_count))
        rigid, pose = read_pose(bones, chain_matrices(bones), bones.rotations)
        to_world = armature_to_world(armature)
    except FabrikError as error:
        raise FabrikError(f"Can't add a chain at bone '{tip.name}': {error}") from error

    size = _EMPTY_SIZE * scale_of(to_world) * rigid.total_length / len(bones.bones) ** 0.5
    target = pole_target = None
    if create_target:
        target = make_target(
            targets_collection(scene, view_layer), armature, bones, Vector(pose.positions[-1].tolist()), size
        )
    placement = place_pole(bones, pose, POLE_DISTANCE)
    if create_pole:
        pole = Vector(placement.position.tolist())
        pole_target = make_pole(targets_collection(scene, view_layer), armature, bones, pole, _POLE_SIZE * size)

    # After everything that can raise an error: then nothing has changed.
    chain = settings.chains.add()
    chain.name = tip.name
    forget_result(armature, chain.name)  # the result of an earlier chain of this name
    chain.tip = tip.name
    chain.chain_count = chain_count
    chain.target, chain.pole_target = target, pole_target
    settings.active_index = len(settings.chains) - 1
    view_layer.update()
    # With a pole every joint bends toward the pole, except where the last bone takes the target's rotation: without it
    # the ankle of Rigify's human moves by 0.2 m, so that the foot points backward.
    chain.use_rotation = create_pole and create_target and placement.is_tip_opposite
    return chain
