# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: new chains, each with its target and its pole. No bone moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mathutils import Vector

from ...core import FabrikError
from ..rig.chain_bones import ChainBones, ChainSpec, chain_matrices, read_bones, read_pose
from ..rig.last_results import forget_result
from ..rig.properties import FabrikChain, settings_of
from ..rig.targets_and_poles import armature_to_world
from .move_target import scale_of
from .pole_placement import PolePlacement, place_pole
from .target_objects import make_pole, make_target, targets_collection

if TYPE_CHECKING:
    from bpy.types import Object, Scene, ViewLayer

POLE_DISTANCE = 0.75
"""Distance of a new pole from the joint that bends, over chain length: outside the character, inside the view."""

_EMPTY_SIZE = 0.08
"""Size of a new target over ``chain length / sqrt(number of bones)``: between the size of a bone and of the chain."""

_POLE_SIZE = 0.6
"""Size of a new pole over the size of the target."""


@dataclass(frozen=True)
class NewGoals:
    """What new chains reach for."""

    create_target: bool = True
    """Make an empty at the chain's end, and use it as the target."""
    create_pole: bool = False
    """Make an empty in the direction of the bend, and use it as the pole."""


@dataclass(frozen=True)
class _Placed:
    """A new chain's bones, and where its target and its pole go, in armature space."""

    bones: ChainBones
    end: Vector
    pole: PolePlacement
    size: float
    """Of its target, in world units."""


def add_chains(
    scene: Scene, view_layer: ViewLayer, armature: Object, tips: Sequence[str], chain_count: int, goals: NewGoals
) -> list[FabrikChain]:
    """Add a chain that ends at the tail of each of some bones, and make the first one the active chain.

    Args:
        scene: for the collection of new targets.
        view_layer: of the scene, with the armature.
        armature: object of the bones.
        tips: names of the last bones. Those that already end a chain are left out.
        chain_count: bones of each chain; 0 is all up to the armature's root bone.
        goals: what to make for each chain.

    Raises:
        FabrikError: all bones already end a chain, or one has fewer parents than that; then nothing has changed.
    """
    settings = settings_of(armature)
    ended = {chain.tip: chain.name for chain in settings.chains if chain.use_tail}
    new = [tip for tip in tips if tip not in ended]
    if not new:
        raise FabrikError(f"Chain '{ended[tips[0]]}' already ends at bone '{tips[0]}'")
    view_layer.update()
    # After everything that can raise an error: then nothing has changed.
    placed = [_place(armature, tip, chain_count) for tip in new]
    first = len(settings.chains)
    for one in placed:
        _add(scene, view_layer, armature, one, chain_count, goals)
    settings.active_index = first
    view_layer.update()
    chains = list(settings.chains)[first:]
    for chain, one in zip(chains, placed, strict=True):
        # With a pole every joint bends toward the pole, except where the last bone takes the target's rotation: without
        # it the ankle of Rigify's human moves by 0.2 m, so that the foot points backward.
        chain.use_rotation = goals.create_pole and goals.create_target and one.pole.is_tip_opposite
    return chains


def _place(armature: Object, tip: str, chain_count: int) -> _Placed:
    """READ: the bones of a new chain, and where its target and pole go.

    Raises:
        FabrikError: there is no such chain; the message names the tip.
    """
    try:
        bones = read_bones(armature, ChainSpec(tip, tip, chain_count))
        rigid, pose = read_pose(bones, chain_matrices(bones), bones.rotations)
        to_world = armature_to_world(armature)
    except FabrikError as error:
        raise FabrikError(f"Can't add a chain at bone '{tip}': {error}") from error
    size = _EMPTY_SIZE * scale_of(to_world) * rigid.total_length / len(bones.bones) ** 0.5
    return _Placed(bones, Vector(pose.positions[-1].tolist()), place_pole(bones, pose, POLE_DISTANCE), size)


def _add(
    scene: Scene, view_layer: ViewLayer, armature: Object, placed: _Placed, chain_count: int, goals: NewGoals
) -> None:
    bones, tip = placed.bones, placed.bones.end.name
    target = pole_target = None
    if goals.create_target:
        target = make_target(targets_collection(scene, view_layer), armature, bones, placed.end, placed.size)
    if goals.create_pole:
        pole = Vector(placed.pole.position.tolist())
        pole_target = make_pole(targets_collection(scene, view_layer), armature, bones, pole, _POLE_SIZE * placed.size)
    chain = settings_of(armature).chains.add()
    chain.name = tip
    forget_result(armature, chain.name)  # the result of an earlier chain of this name
    chain.tip = tip
    chain.chain_count = chain_count
    chain.target, chain.pole_target = target, pole_target
