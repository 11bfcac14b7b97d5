# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: one chain of an armature as a problem for the core. Nothing here writes to Blender."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...core import Array, Chain, FabrikError, Goals, Options, Pose, StartPose, solver_for, start_from
from ...core.math.operations import SCALAR
from ...core.model.frame_transport import aim_frame
from .chain_bones import (
    ChainBones,
    bones_of_chain,
    chain_matrices,
    read_bones,
    read_pose,
    stretched_positions,
)
from .local_rotations import ParentFrame, parent_frames_of
from .mathutils_transport import transport_in_blender
from .overrides import overrides_of
from .rotation_channel import is_locked
from .targets import armature_to_world, followed_bones, in_words, rotation_in_armature, target_position

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

    from .properties import FabrikChain


@dataclass(frozen=True)
class Snapshot:
    """One chain, ready to be solved."""

    bones: ChainBones
    start: StartPose
    goals: Goals
    options: Options
    influence: float
    """Share of the solve that is taken, 0 to 1."""
    overridden: tuple[str, ...]
    """What would override the result: "bone 'x' (constraint 'y')"."""
    moving: frozenset[str]
    """Names of the bones that move when the chain does: its own and their children."""
    followed: frozenset[str]
    """Names of the armature's bones that the chain's target or pole follows; none that move with the chain."""
    turned_start: StartPose | None = None
    """The start with its links turned as stretch turns them now; None where it turns none."""
    weight: float = 1.0
    """Share of the chain where several meet."""
    is_pinned: bool = False
    """Whether its end is held where it is, whatever others do."""
    target_bone: str = ""
    """Name of the bone of the same armature whose head is the target: in the chain's own tree both ends give way."""
    indirectly: frozenset[str] = frozenset()
    """What of ``followed`` isn't so because it carries the target bone."""

    @property
    def name(self) -> str:
        return self.bones.chain_name

    @property
    def chain(self) -> Chain:
        return self.start.chain

    @property
    def pose(self) -> Pose:
        return self.start.pose

    @property
    def shown_start(self) -> StartPose:
        """The start with the frames that the bones have now."""
        return self.turned_start or self.start

    @cached_property
    def spaces(self) -> list[ParentFrame]:
        """What the free bones turn in."""
        return parent_frames_of(self.bones, self.shown_start)

    @property
    def shown_positions(self) -> Array:
        """Where the joints (J, 3) are with the stretch that the bones have now; those of the pose have none."""
        return _shown(self.bones, self.pose.positions)


def _shown(bones: ChainBones, positions: Array) -> Array:
    stretch = bones.stretch
    if stretch is None or not stretch.is_stretched:
        return positions
    return stretched_positions(bones, positions[0], stretch.factors)


def take_snapshot(view_layer: ViewLayer, armature: Object, settings: FabrikChain) -> Snapshot:
    """Read everything the core needs to solve one chain with the solver that is chosen for it.

    Args:
        view_layer: evaluated, with nothing changed since.
        armature: object with the chain.
        settings: the chain.

    Raises:
        FabrikError: what is wrong with the chain or its target, or why its solver can't solve it; the message starts
            with the chain's name.
    """
    snapshot = take_problem(view_layer, armature, settings)
    try:
        solver_for(snapshot.chain, snapshot.options)
    except FabrikError as error:
        raise FabrikError(f"Chain '{settings.name}': {error}") from error
    return snapshot


def take_problem(view_layer: ViewLayer, armature: Object, settings: FabrikChain) -> Snapshot:
    """Read everything the core needs to solve one chain, whether its solver can solve such chains or not.

    Args:
        view_layer: evaluated, with nothing changed since.
        armature: object with the chain.
        settings: the chain.

    Raises:
        FabrikError: what is wrong with the chain or its target; the message starts with the chain's name.
    """
    try:
        bones = read_bones(
            armature,
            settings.name,
            settings.tip,
            settings.chain_count,
            settings.use_tail,
            settings.use_limits,
            settings.use_stretch,
        )
        overridden: tuple[str, ...] = ()
        if bones.is_constrained or settings.use_stretch:
            overridden = overrides_of(armature, bones.line, settings.use_limits, settings.use_stretch)
        turned: StartPose | None = None
        start = start_from(*read_pose(bones, chain_matrices(bones), bones.rotations))
        if (
            bones.stretch is not None
            and bones.stretch.is_stretched
            and not all(link.is_straight for link in bones.links)
        ):
            turned = start
            start = _turned_back(bones, turned, bones.stretch.factors)
        start = transport_in_blender(start)
        moving = frozenset((bones.bones[0].name, *(child.name for child in bones.bones[0].children_recursive)))
        found = _read_goals(view_layer, armature, settings, bones, start, moving)
        options = Options(
            iterations=settings.iterations,
            tolerance=settings.tolerance,
            softness=settings.softness,
            moves_root=settings.root_motion == 'TRANSLATE',
            stretch_max=settings.stretch_max if settings.use_stretch else 1.0,
            solver=settings.solver,
        )
    except FabrikError as error:
        raise FabrikError(f"Chain '{settings.name}': {error}") from error
    return Snapshot(
        bones,
        start,
        found.goals,
        options,
        settings.influence,
        overridden,
        moving,
        found.followed,
        turned,
        settings.weight,
        settings.use_pin,
        found.target_bone,
        found.indirectly,
    )


def _turned_back(bones: ChainBones, shown: StartPose, factors: Sequence[float]) -> StartPose:
    """Return a start whose links point where the stretched ones do.

    Stretch turns links that are beside their bones' Y axes. A solve turns their bones back for it, and the next one has
    to know that, or it would bend in another plane.
    """
    stretched = stretched_positions(bones, shown.pose.positions[0], factors)
    links = np.diff(stretched, axis=0)
    links *= (shown.chain.lengths[1:] / np.linalg.norm(links, axis=1))[:, None]
    positions = stretched[0] + np.vstack([np.zeros(3), np.cumsum(links, axis=0)])
    frames = [
        aim_frame(SCALAR, frame, frame, link, ends, hint)
        for frame, link, ends, hint in zip(
            shown.frames, shown.links, pairwise(positions.tolist()), shown.x_axes, strict=False
        )
    ]
    return start_from(shown.chain, Pose(positions, np.array([*frames, frames[-1]]), shown.pose.base))


def take_bone_snapshot(armature: Object, tip: str, chain_count: int) -> Snapshot:
    """Read a chain that has no settings: it ends at a bone's tail, keeps to the bones' limits, and is at its target.

    Args:
        armature: evaluated, with nothing changed since.
        tip: name of the last bone.
        chain_count: bones from the tip up; 0 is all of them.

    Raises:
        FabrikError: what is wrong with the bones; the message starts with the tip's name.
    """
    try:
        # Chains that are set up are named after their tips: it needs a name of its own among them.
        bones = read_bones(armature, f"{tip} (dragged)", tip, chain_count, use_tail=True, use_limits=True)
        overridden = overrides_of(armature, bones.line, use_limits=True) if bones.is_constrained else ()
        start = transport_in_blender(start_from(*read_pose(bones, chain_matrices(bones), bones.rotations)))
        armature_to_world(armature)
    except FabrikError as error:
        raise FabrikError(f"Bone '{tip}': {error}") from error
    moving = frozenset((bones.bones[0].name, *(child.name for child in bones.bones[0].children_recursive)))
    goals = Goals(start.pose.positions[-1:])
    return Snapshot(bones, start, goals, Options(), 1.0, overridden, moving, frozenset())


@dataclass(frozen=True)
class _Wish:
    """A chain's goals and what they hang on."""

    goals: Goals
    followed: frozenset[str]
    target_bone: str
    indirectly: frozenset[str]


def _read_goals(
    view_layer: ViewLayer,
    armature: Object,
    settings: FabrikChain,
    bones: ChainBones,
    start: StartPose,
    moving: frozenset[str],
) -> _Wish:
    """Return a chain's goals and the bones they follow, of which none may be moving but a target bone's own parents."""
    if settings.target is None and not settings.use_pin:
        raise FabrikError("it has no target: choose an object in its settings")
    to_armature = armature_to_world(armature).inverted()  # before what hangs on it is blamed
    roles = [] if settings.use_pin else [("target", settings.target, settings.subtarget)]
    if settings.pole_target is not None:
        roles.append(("pole", settings.pole_target, settings.pole_subtarget))
        if not math.isfinite(settings.pole_angle):
            raise FabrikError("its pole angle is not a finite number")
    places: dict[str, Vector] = {}
    followed: set[str] = set()
    indirectly: set[str] = set()
    target_bone = ""
    for role, obj, bone_name in roles:
        places[role] = target_position(view_layer, obj, bone_name, role)
        follows = followed_bones(obj, bone_name, armature)
        own: set[str] = set()
        if role == "target" and obj == armature and bone_name:
            target_bone = bone_name
            own = _carrying(armature, bone_name, bones)
        hit = next((follows[bone] for bone in follows if bone in moving - own), None)
        if hit is not None:
            name = in_words(obj, bone_name)
            raise FabrikError(f"its {role} {name} depends on the chain itself: it follows {hit}")
        followed |= follows.keys()
        indirectly |= follows.keys() - own
    found = goals_at(to_armature, places.get("target", Vector()), places.get("pole"), settings.pole_angle)
    if settings.use_pin:
        found = replace(found, targets=_shown(bones, start.pose.positions)[-1:])
    if settings.use_rotation:
        found = replace(found, rotations=_wished_rotation(armature, settings))
    return _Wish(found, frozenset(followed - moving), target_bone, frozenset(indirectly - moving))


def _wished_rotation(armature: Object, settings: FabrikChain) -> Array:
    tip = armature.pose.bones[settings.tip]
    if not settings.use_tail:
        raise FabrikError("it can't take the target's rotation while it ends at a head: switch Use Tail on")
    if is_locked(tip):
        raise FabrikError(f"it can't take the target's rotation: that of bone '{settings.tip}' is locked")
    if settings.use_pin:
        return np.array([tip.matrix.to_quaternion()[:]])
    rotation = rotation_in_armature(armature, settings.target, settings.subtarget)
    return np.array([(rotation @ Quaternion(settings.rotation_offset[:]).normalized())[:]])


def _carrying(armature: Object, bone_name: str, bones: ChainBones) -> set[str]:
    """Return the bones that carry a target bone: they may move with the chain, if it isn't the chain's end that does.

    It must be a bone of a chain itself, and no constraint or driver may stand between: else nobody knows how it moves.
    """
    bone = armature.pose.bones.get(bone_name)
    if bone is None:
        return set()
    line = [bone, *bone.parent_recursive]
    is_at_end = bones.bones[-1] in line
    if is_at_end or not _is_of_a_chain(armature, bone, bones) or overrides_of(armature, line, use_limits=True):
        return set()
    return {link.name for link in line}


def _is_of_a_chain(armature: Object, bone: PoseBone, bones: ChainBones) -> bool:
    """Tell whether a bone is one of a chain's own, or of another one's that is on, or starts where that one ends."""
    if bone in bones.line:
        return True
    for other in armature.fabrik.chains:  # type: ignore[attr-defined]
        try:
            turning = bones_of_chain(armature, other.tip, other.chain_count, other.use_tail)
        except FabrikError:
            continue
        starts_at_end = other.use_tail and bone.parent is not None and bone.parent.name == other.tip
        if other.enabled and (bone in turning or bone.name == other.tip or starts_at_end):
            return True
    return False


def goals_at(
    to_armature: Matrix, target_world: Vector, pole_world: Vector | None = None, pole_angle: float = 0.0
) -> Goals:
    """Return a chain's goals, given where target and pole are in the world, and the matrix from there."""
    targets = np.array([(to_armature @ target_world)[:]])
    if pole_world is None:
        return Goals(targets)
    return Goals(targets, poles=np.array([(to_armature @ pole_world)[:]]), pole_angles=np.array([pole_angle]))
