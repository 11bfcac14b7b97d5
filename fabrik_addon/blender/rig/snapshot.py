# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: one chain of an armature as a problem for the core: bones, start pose, goals, options."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from mathutils import Quaternion

from ...core import Chain, FabrikError, Goals, Options, Pose, StartPose, solver_for, start_from
from ..bones.armature_bones import ArmatureBones
from ..bones.bone_rotations import ParentFrame, bone_parent_frames, transport_in_blender
from ..bones.overrides import is_posed_by_native_rig, overrides_of
from .chain_bones import ChainBones, ChainSpec, read_bones, spec_of
from .pole_shape_text import read_pole_shape
from .posed_chain import PosedChain, posed_chain
from .targets_and_poles import armature_to_world, read_goals

if TYPE_CHECKING:
    from bpy.types import Object, ViewLayer

    from .properties import FabrikChain


@dataclass(frozen=True)
class Snapshot:
    """One chain, read at one frame."""

    bones: ChainBones
    posed: PosedChain
    goals: Goals
    options: Options
    influence: float
    """Share of the solve that is taken, 0 to 1."""
    overridden: tuple[str, ...]
    """What changes the bones after their channels: "bone 'x' (constraint 'y')"."""
    moving: frozenset[str]
    """Names of the bones that move when the chain does: its own and all bones below them."""
    followed: frozenset[str]
    """Names of the armature's bones that the chain's target or pole follows; none that move with the chain."""
    weight: float = 1.0
    """Of the chain's target, beside the targets of the other chains of a tree."""
    is_pinned: bool = False
    """Whether its end is held where it is, before the targets of others."""
    is_led: bool = False
    """Whether it is that of a body's handle that is pulled or follows an object: pinned or not, it has a target."""
    has_position: bool = True
    """Whether the end has a target: a handle of a body may hold a rotation alone."""
    priority: int = 0
    """Level of the tasks of a body's handle (``Goals.priorities``); 0 of a chain."""
    target_bone: str = ""
    """Name of the bone of the same armature whose head is the target: in the chain's own tree both ends move."""
    carried: tuple[str, ...] = ()
    """What rotates bones that don't rotate by themselves, below the first one that does, as in ``overridden``.

    The solver has these bones rigid with those above them: nothing is wrong where constraints don't rotate them.
    """
    followed_otherwise: frozenset[str] = frozenset()
    """The bones of ``followed`` without the target bone and its parents, where these may move with the chain."""

    def __post_init__(self) -> None:
        """Take the softness off a chain whose end is held: eased into full extension, the end would slip.

        The end of Rigify's leg, nearly straight at rest, slipped by 3.4 cm with softness 0.1, and again at each solve.
        """
        if self.is_pinned and self.options.softness > 0.0:
            object.__setattr__(self, "options", replace(self.options, softness=0.0))

    @property
    def name(self) -> str:
        return self.bones.chain_name

    @property
    def chain(self) -> Chain:
        """The core's chain.

        Raises:
            FabrikError: what is wrong with the bones; the message starts with the chain's name.
        """
        try:
            return self.posed.chain
        except FabrikError as error:
            raise FabrikError(f"Chain '{self.name}': {error}") from error

    @property
    def pose(self) -> Pose:
        """The pose to solve from."""
        return self.posed.pose

    @cached_property
    def native(self) -> frozenset[str]:
        """Names of the bones that a native rig poses: their own rotations have no effect."""
        return frozenset(bone.name for bone in self.bones.bones if self.overridden and is_posed_by_native_rig(bone))

    @cached_property
    def start(self) -> StartPose:
        """The pose to solve from, prepared: a chain that is solved as part of a tree needs no start of its own."""
        return transport_in_blender(start_from(self.chain, self.pose))

    @cached_property
    def shown_start(self) -> StartPose:
        """The start with the frames that the bones have now."""
        frames = self.posed.pose_of_frames
        return self.start if frames is None else start_from(self.chain, frames)

    @cached_property
    def parent_frames(self) -> list[ParentFrame[Quaternion]]:
        """The frames in which the own rotations of the bones that rotate are."""
        return bone_parent_frames(self.bones.tree.rotation_parents, self.shown_start.frames, self.bones.free_rotations)


def take_snapshot(
    view_layer: ViewLayer, armature: Object, settings: FabrikChain, all_bones: ArmatureBones | None = None
) -> Snapshot:
    """Read everything the core needs to solve one chain with the solver that is chosen for it.

    Args:
        view_layer: evaluated, with nothing changed since.
        all_bones: of the armature, where other chains are read too.

    Raises:
        FabrikError: what is wrong with the chain or its target, or why its solver can't solve it; the message starts
            with the chain's name.
    """
    snapshot = take_unchecked(view_layer, armature, settings, all_bones)
    check_alone(snapshot)
    return snapshot


def check_alone(snapshot: Snapshot) -> None:
    """Refuse a chain that can't be solved by itself.

    Raises:
        FabrikError: the chain's name, and what is wrong with its bones or why its solver can't solve it.
    """
    chain = snapshot.chain
    try:
        solver_for(chain, snapshot.options)
    except FabrikError as error:
        raise FabrikError(f"Chain '{snapshot.name}': {error}") from error


def take_unchecked(
    view_layer: ViewLayer, armature: Object, settings: FabrikChain, all_bones: ArmatureBones | None = None
) -> Snapshot:
    """Do as ``take_snapshot`` does without ``check_alone``: for any solver, or for a chain that is part of a tree."""
    all_bones = all_bones or ArmatureBones(armature)
    try:
        if not math.isfinite(settings.influence):
            raise FabrikError("its influence is not a finite number")
        bones = read_bones(armature, _spec_of(settings), all_bones)
        options = _options_of(settings)
        overridden = _overridden(all_bones, bones, settings.use_limits, settings.use_stretch, options.moves_root)
        posed = posed_chain(bones)
        moving = all_bones.moving_with(bones.bones[0])
        found = read_goals(view_layer, armature, settings, posed, moving, all_bones.acts)
    except FabrikError as error:
        raise FabrikError(f"Chain '{settings.name}': {error}") from error
    return Snapshot(
        bones=bones,
        posed=posed,
        goals=found.goals,
        options=options,
        influence=settings.influence,
        overridden=overridden,
        carried=_carried(all_bones, bones),
        moving=moving,
        followed=found.followed,
        weight=settings.weight,
        is_pinned=settings.use_pin,
        target_bone=found.target_bone,
        followed_otherwise=found.followed_otherwise,
    )


def take_bone_snapshot(
    armature: Object, tip: str, chain_count: int, use_tail: bool, still: frozenset[str] = frozenset()
) -> Snapshot:
    """Read a chain that has no settings: it ends at a bone, keeps to the bones' limits, and is at its target.

    Args:
        armature: evaluated, with nothing changed since.
        tip: name of the last bone.
        chain_count: bones from the tip up; 0 is all of them.
        use_tail: whether the chain ends at the tip's tail; else at its head, and the tip isn't counted.
        still: names of bones that don't rotate, unless there are no others.

    Raises:
        FabrikError: what is wrong with the bones; the message starts with the tip's name.
    """
    all_bones = ArmatureBones(armature)
    try:
        # Chains that are set up are named after their tips: it needs a name of its own among them.
        spec = ChainSpec(f"{tip} (dragged)", tip, chain_count, use_tail, use_limits=True, still=still)
        bones = read_bones(armature, spec, all_bones)
        overridden = _overridden(all_bones, bones, use_limits=True)
        posed = posed_chain(bones)
        end = posed.pose.positions[-1:]  # raises what is wrong with the bones
        armature_to_world(armature)
    except FabrikError as error:
        raise FabrikError(f"Bone '{tip}': {error}") from error
    goals, moving = Goals(end), all_bones.moving_with(bones.bones[0])
    carried = _carried(all_bones, bones)
    return Snapshot(bones, posed, goals, Options(), 1.0, overridden, moving, frozenset(), carried=carried)


def _spec_of(settings: FabrikChain) -> ChainSpec:
    shape = read_pole_shape(settings.pole_shape) if settings.pole_target is not None else ()
    return replace(spec_of(settings), use_stretch=settings.use_stretch, pole_shape=shape)


def _options_of(settings: FabrikChain) -> Options:
    return Options(
        iterations=settings.iterations,
        tolerance=settings.tolerance,
        softness=settings.softness,
        moves_root=settings.root_motion == 'TRANSLATE',
        stretch_max=settings.stretch_max if settings.use_stretch else 1.0,
        solver=settings.solver,
    )


def _overridden(
    all_bones: ArmatureBones,
    bones: ChainBones,
    use_limits: bool,
    use_stretch: bool = False,
    moves_root: bool = False,
) -> tuple[str, ...]:
    """Return what overrides the bones that a solver writes, in words; the rotation of a still bone isn't written."""
    if not (bones.is_constrained or use_stretch or moves_root):
        return ()
    moving = bones.bones[0] if moves_root else None
    written = [bone for bone in bones.line if use_stretch or bone == moving or not bones.is_still(bone)]
    rotating, acts = all_bones.chain_constraints, all_bones.acts
    return overrides_of(all_bones.armature, written, use_limits, use_stretch, moving, rotating, acts)


def _carried(all_bones: ArmatureBones, bones: ChainBones) -> tuple[str, ...]:
    """Return what rotates the still bones behind the first bone that rotates, in words."""
    if not bones.is_constrained:
        return ()
    behind = [bone for bone in bones.line[bones.free[0] + 1 :] if bones.is_still(bone)]
    rotating, acts = all_bones.chain_constraints, all_bones.acts
    return overrides_of(all_bones.armature, behind, use_limits=True, rotating=rotating, acts=acts)
