# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: new chains, each with its target and its pole. No bone moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mathutils import Matrix, Quaternion, Vector

from ...core import FabrikError
from ..rig.chain_bones import ChainBones, ChainSpec, chain_matrices, read_bones, read_pose, spec_of
from ..rig.keep_bend import keep_bend
from ..rig.last_results import forget_result
from ..rig.properties import FabrikChain, is_gone, settings_of
from ..rig.targets_and_poles import armature_to_world
from .move_target import scale_of
from .pole_placement import PolePlacement, place_pole
from .target_bones import NewBone, add_target_bones, check_bones_can_be_added
from .target_objects import make_pole, make_target, targets_collection

if TYPE_CHECKING:
    from bpy.types import Object, Scene, ViewLayer

POLE_DISTANCE = 0.75
"""Distance of a new pole from the joint that bends, over chain length: outside the character, inside the view."""

_EMPTY_SIZE = 0.08
"""Size of a new target over ``chain length / sqrt(number of bones)``: between the size of a bone and of the chain."""

_POLE_SIZE = 0.6
"""Size of a new pole over the size of the target."""

_BONE_LENGTH = 2.0
"""Length of a new target bone over the size of an empty, which is the half of its box."""


@dataclass(frozen=True)
class NewGoals:
    """Which targets and poles are made for new chains."""

    create_target: bool = True
    """Make a target at the chain's end."""
    create_pole: bool = False
    """Make a pole in the direction of the bend."""
    as_bones: bool = False
    """Make targets and poles as bones of the armature; else as empties."""


@dataclass(frozen=True)
class _Placed:
    """A chain's bones, and where a new target and a new pole of it go, in armature space."""

    bones: ChainBones
    tip: str
    end: Vector
    rotation: Quaternion
    """Of the last bone."""
    pole: PolePlacement
    size: float
    """Of a new target, in world units."""


def add_chains(
    scene: Scene, view_layer: ViewLayer, tips: Mapping[Object, Sequence[str]], chain_count: int, goals: NewGoals
) -> list[FabrikChain]:
    """Add a chain that ends at the tail of each of some bones; the first one of an armature is its active chain.

    Args:
        scene: for the collection of new targets.
        view_layer: of the scene, with the armatures.
        tips: names of the last bones, by their armatures, which are in Pose mode; a bone that already ends a chain is
            left out.
        chain_count: bones of each chain; 0 is all up to the armature's root bone.
        goals: what to make for each chain.

    Raises:
        FabrikError: all bones already end a chain, one has fewer parents than the chain needs, or an armature can't get
            bones; then nothing has changed.
    """
    ends = [(armature, tip) for armature, names in tips.items() for tip in names]
    ended = {(obj, chain.tip): chain.name for obj in tips for chain in settings_of(obj).chains if chain.use_tail}
    new = {armature: [tip for tip in names if (armature, tip) not in ended] for armature, names in tips.items()}
    if not any(new.values()):
        raise FabrikError(f"Chain '{ended[ends[0]]}' already ends at bone '{ends[0][1]}'")
    view_layer.update()
    placed = {
        armature: [
            _place(armature, ChainSpec(tip, tip, chain_count, use_limits=True), f"Can't add a chain at bone '{tip}'")
            for tip in names
        ]
        for armature, names in new.items()
        if names
    }
    if goals.as_bones:
        for armature in placed:
            check_bones_can_be_added(armature)
    # Nothing raises an error from here on.
    return [
        chain
        for armature, of_armature in placed.items()
        for chain in _add_to(scene, view_layer, armature, of_armature, chain_count, goals)
    ]


def _add_to(
    scene: Scene,
    view_layer: ViewLayer,
    armature: Object,
    placed: Sequence[_Placed],
    chain_count: int,
    goals: NewGoals,
) -> list[FabrikChain]:
    """WRITE: new chains of one armature, and make the first one its active chain."""
    settings = settings_of(armature)
    first = len(settings.chains)
    for each in placed:
        chain = settings.chains.add()
        chain.name = each.tip
        forget_result(armature, chain.name)  # the result of an earlier chain of this name
        chain.tip = each.tip
        chain.chain_count = chain_count
    settings.active_index = first
    chains = list(settings.chains)[first:]
    _give_goals(scene, view_layer, armature, list(zip(chains, placed, strict=True)), goals)
    return chains


def add_goals(scene: Scene, view_layer: ViewLayer, armature: Object, chain: FabrikChain, goals: NewGoals) -> None:
    """Give a chain a new target, or a new pole, or both; the arguments are those of ``add_chains``.

    Raises:
        FabrikError: it has one already, or its bones can't be read; then nothing has changed.
    """
    for role, is_wanted, present in (
        ("target", goals.create_target, chain.target),
        ("pole", goals.create_pole, chain.pole_target),
    ):
        if is_wanted and present is not None and not is_gone(present):
            raise FabrikError(f"Chain '{chain.name}' already has a {role}: '{present.name}'")
    view_layer.update()
    placed = _place(armature, replace(spec_of(chain), use_stretch=chain.use_stretch), f"Chain '{chain.name}'")
    if goals.as_bones:
        check_bones_can_be_added(armature)
    _give_goals(scene, view_layer, armature, [(chain, placed)], goals)


def _place(armature: Object, spec: ChainSpec, what: str) -> _Placed:
    """READ: the bones of a chain, and where its target and its pole go.

    Raises:
        FabrikError: there is no such chain; the message begins with what is attempted.
    """
    try:
        bones = read_bones(armature, spec)
        rigid, pose = read_pose(bones, chain_matrices(bones), bones.rotations)
        to_world = armature_to_world(armature)
    except FabrikError as error:
        raise FabrikError(f"{what}: {error}") from error
    return _Placed(
        bones,
        spec.tip,
        Vector(pose.positions[-1].tolist()),
        bones.end.matrix.to_quaternion(),
        place_pole(bones, pose, POLE_DISTANCE),
        _EMPTY_SIZE * scale_of(to_world) * rigid.total_length / len(bones.bones) ** 0.5,
    )


def _give_goals(
    scene: Scene,
    view_layer: ViewLayer,
    armature: Object,
    chains: Sequence[tuple[FabrikChain, _Placed]],
    goals: NewGoals,
) -> None:
    """WRITE: make targets and poles of chains; with ``as_bones`` ``check_bones_can_be_added`` has let them through."""
    if goals.as_bones:
        _make_bones(view_layer, armature, chains, goals)
    elif goals.create_target or goals.create_pole:
        collection = targets_collection(scene, view_layer)
        for chain, placed in chains:
            if goals.create_target:
                chain.target = make_target(collection, armature, placed.bones, placed.end, placed.size)
            if goals.create_pole:
                pole = Vector(placed.pole.position.tolist())
                chain.pole_target = make_pole(collection, armature, placed.bones, pole, _POLE_SIZE * placed.size)
    view_layer.update()
    for chain, placed in chains:
        # With a pole every joint bends toward the pole, except where the last bone takes the target's rotation: without
        # it the ankle of Rigify's human moves by 0.2 m, so that the foot points backward.
        if goals.create_pole and chain.target is not None and placed.pole.is_tip_opposite:
            chain.use_rotation = True
        if goals.create_pole:
            keep_bend(view_layer, armature, chain)


def _make_bones(
    view_layer: ViewLayer, armature: Object, chains: Sequence[tuple[FabrikChain, _Placed]], goals: NewGoals
) -> None:
    scale = scale_of(armature.matrix_world)
    new, given = [], []
    for chain, placed in chains:
        length = _BONE_LENGTH * placed.size / scale
        if goals.create_target:
            matrix = Matrix.LocRotScale(placed.end, placed.rotation, None)
            new.append(NewBone(f"target {placed.tip}", matrix, length, is_pole=False))
            given.append((chain.name, "target", "subtarget"))
        if goals.create_pole:
            matrix = Matrix.Translation(placed.pole.position.tolist())
            new.append(NewBone(f"pole {placed.tip}", matrix, _POLE_SIZE * length, is_pole=True))
            given.append((chain.name, "pole_target", "pole_subtarget"))
    names = add_target_bones(view_layer, armature, new)
    for name, (chain_name, obj, bone) in zip(names, given, strict=True):
        chain = settings_of(armature).chains[chain_name]
        setattr(chain, obj, armature)
        setattr(chain, bone, name)
