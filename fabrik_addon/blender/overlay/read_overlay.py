# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: what the overlay draws of an armature's chains.

The time of a redraw is the time of the calls into Blender. So what a change of pose leaves as it is (bones, settings,
limits) is read once into an ``ArmatureView``, and what it changes is read in one call for all bones (``foreach_get``)
into ``WorldPositions``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from ...core import Array, FabrikError
from ...core.math.operations import IntegerArray
from ...core.model.joint_limits import JointLimits, axes_at_limit, joint_limits
from ..bones.bone_limits import limits_of
from ..bones.rotation_channel import rotation_of
from ..rig.chain_bones import bones_of_chain
from ..rig.last_results import results_of
from ..rig.properties import settings_of

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone
    from mathutils import Matrix

    from ..rig.chain_bones import ChainBones
    from .drag_protocol import Dragged

Settings = tuple[tuple[object, ...], ...]
"""The settings that decide which joints, targets and poles are drawn, chain by chain, then the active chain's index."""

BoneLimits = tuple[int, JointLimits]
"""Index of a bone in its armature, and its limits."""

_settings_of_chain = attrgetter(
    "name",
    "enabled",
    "tip",
    "chain_count",
    "use_tail",
    "use_pin",
    "use_limits",
    "target",
    "subtarget",
    "pole_target",
    "pole_subtarget",
)


@dataclass(frozen=True)
class DrawnGoals:
    """The objects and bones that are the targets, or the poles, of C chains; a row is the index of a chain."""

    count: int
    """Number of chains, C."""
    object_rows: IntegerArray
    """(B,) rows whose goal is an object."""
    objects: tuple[Object, ...]
    """(B,) those objects."""
    others: tuple[tuple[int, Object, str], ...]
    """Rows whose goal is a bone of another armature, with that armature and the bone's name."""
    own_rows: IntegerArray
    """(O,) rows whose goal is a bone of the drawn armature."""
    own_bones: IntegerArray
    """(O,) indices of those bones."""

    @property
    def rows(self) -> list[int]:
        """Rows that have a goal, in ascending order."""
        return sorted([*self.object_rows.tolist(), *(row for row, _, _ in self.others), *self.own_rows.tolist()])


@dataclass(frozen=True)
class ChainView:
    """What is drawn of one chain, as far as a change of pose leaves it as it is."""

    points: tuple[int, ...]
    """Joints from the root to the end, as indices into the armature's bone heads followed by its bone tails."""
    is_active: bool
    is_pinned: bool
    is_dragged: bool
    limited: tuple[int, ...]
    """Indices of the bones whose limits are drawn."""


@dataclass(frozen=True)
class ArmatureView:
    """The C drawn chains of an armature, with P joints in all."""

    armature: Object
    settings: Settings
    """The settings at the time of reading."""
    bone_names: list[str]
    chains: tuple[ChainView, ...]
    rows: IntegerArray
    """(C,) index of each chain in the armature's list; a bone dragged by its tail has the index after the last."""
    points: IntegerArray
    """(P,) ``ChainView.points`` of all chains, one chain after the other."""
    starts: IntegerArray
    """(C,) index in ``points`` of each chain's root."""
    counts: IntegerArray
    """(C,) number of joints of each chain."""
    targets: DrawnGoals
    poles: DrawnGoals


@dataclass(frozen=True)
class ChainStates:
    """Status of the chains' last solve, and the settings with which it is drawn."""

    statuses: tuple[str, ...]
    """(C,)"""
    softnesses: tuple[float, ...]
    """(C,) over chain length."""
    tolerances: tuple[float, ...]
    """(C,) over chain length."""


@dataclass(frozen=True)
class Cone:
    """The limits of one bone of the active chain, in world space."""

    head: Array
    """(3,)"""
    axes: Array
    """(3, 3) axes of the bone at rest against its parent's present pose, as columns."""
    length: float
    limits: JointLimits
    is_at_limit: bool


@dataclass(frozen=True)
class WorldPositions:
    """Positions of an armature's chains in world space."""

    joints: Array
    """(P, 3)"""
    targets: Array
    """(C, 3); NaN for chains without a target."""
    poles: Array
    """(C, 3); NaN for chains without a pole."""
    cones: tuple[Cone, ...]


def read_settings(armature: Object) -> Settings:
    """Read the settings that decide what is drawn, to compare them: animated settings change without an update call."""
    settings = settings_of(armature)
    return (*map(_settings_of_chain, settings.chains), (settings.active_index,))


def read_states(view: ArmatureView) -> ChainStates:
    """Read the status of the chains' last solves and the settings that it is drawn with."""
    chains = settings_of(view.armature).chains
    softnesses, tolerances = [0.0] * len(chains), [0.0] * len(chains)
    chains.foreach_get("softness", softnesses)
    chains.foreach_get("tolerance", tolerances)
    results = results_of(view.armature, (chain.name for chain in chains))
    statuses = ['NONE' if result is None else result.status for result in results]
    rows = view.rows.tolist()
    return ChainStates(
        *(
            tuple(map([*values, other].__getitem__, rows))
            for values, other in ((statuses, 'NONE'), (softnesses, 0.0), (tolerances, 0.0))
        )
    )


def with_drag_state(view: ArmatureView, states: ChainStates, session: Dragged) -> ChainStates:
    """Return the states with those of the dragged chain taken from the drag."""
    for row, chain in enumerate(view.chains):
        if chain.is_dragged:
            status = 'NONE' if session.result is None else session.result.status
            assert session.snapshot is not None  # that of the chain whose target is dragged
            tolerance = session.snapshot.options.tolerance
            return ChainStates(
                (*states.statuses[:row], status, *states.statuses[row + 1 :]),
                states.softnesses,
                (*states.tolerances[:row], tolerance, *states.tolerances[row + 1 :]),
            )
    return states


def read_armature(armature: Object, session: Dragged | None) -> ArmatureView:
    """Read the enabled chains of an armature, and the chain of a bone that is dragged.

    Chains whose bones can't be read are left out: the panel shows the reason.
    """
    names: list[str] = armature.pose.bones.keys()
    indices = {name: index for index, name in enumerate(names)}
    session = session if session is not None and session.armature == armature else None
    settings = settings_of(armature)
    rows: list[int] = []
    chains: list[ChainView] = []
    goals: tuple[list[tuple[int, Object, str]], ...] = ([], [])
    for number, chain in enumerate(settings.chains):
        if not chain.enabled:
            continue
        try:
            bones = bones_of_chain(armature, chain)
        except FabrikError:
            continue
        is_dragged = session is not None and session.grab.chain == chain.name
        is_active = is_dragged if session is not None else number == settings.active_index
        if chain.target is not None and not chain.use_pin:
            goals[0].append((len(chains), chain.target, chain.subtarget))
        if chain.pole_target is not None:
            goals[1].append((len(chains), chain.pole_target, chain.pole_subtarget))
        view = ChainView(
            points=_points_of(bones, armature.pose.bones[chain.tip], chain.use_tail, indices),
            is_active=is_active,
            is_pinned=chain.use_pin if session is None else chain.name in session.held,
            is_dragged=is_dragged,
            limited=tuple(indices[bone.name] for bone in bones) if chain.use_limits and is_active else (),
        )
        chains.append(view)
        rows.append(number)
    if session is not None and session.snapshot is not None and not session.grab.chain:
        chains.append(_dragged_bone(session.snapshot.bones, indices))
        rows.append(len(settings.chains))
    counts = np.array([len(chain.points) for chain in chains], int)
    return ArmatureView(
        armature,
        read_settings(armature),
        names,
        tuple(chains),
        np.array(rows, int),
        np.array([point for chain in chains for point in chain.points], int),
        np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int) if chains else np.zeros(0, int),
        counts,
        *(_goals(armature, indices, len(chains), found) for found in goals),
    )


def _goals(armature: Object, indices: dict[str, int], count: int, goals: list[tuple[int, Object, str]]) -> DrawnGoals:
    own, others, object_rows, objects = [], [], [], []
    for row, obj, bone in goals:
        if obj.type != 'ARMATURE' or bone not in obj.pose.bones:
            object_rows.append(row)
            objects.append(obj)
        elif obj == armature:
            own.append((row, indices[bone]))
        else:
            others.append((row, obj, bone))
    own_rows, own_bones = np.array(own, int).reshape(-1, 2).T
    return DrawnGoals(count, np.array(object_rows, int), tuple(objects), tuple(others), own_rows, own_bones)


def _points_of(bones: Sequence[PoseBone], end: PoseBone, use_tail: bool, indices: dict[str, int]) -> tuple[int, ...]:
    heads = [indices[bone.name] for bone in bones]
    return (*heads, len(indices) + indices[end.name] if use_tail else indices[end.name])


def _dragged_bone(bones: ChainBones, indices: dict[str, int]) -> ChainView:
    return ChainView(
        points=_points_of(bones.bones, bones.end, bones.use_tail, indices),
        is_active=True,
        is_pinned=False,
        is_dragged=True,
        limited=tuple(indices[bone.name] for bone in bones.bones),
    )


def read_limits(view: ArmatureView) -> tuple[BoneLimits, ...]:
    """Read the limits that are drawn: those of bones with a limited swing."""
    bones = view.armature.pose.bones
    found = []
    for index in (limited for chain in view.chains for limited in chain.limited):
        lower, upper = limits_of(bones[index])
        # A cone shows the swing, about x, z or both; a limited twist has no cone.
        if any(math.isfinite(bound) for bound in (lower[0], upper[0], lower[2], upper[2])):
            found.append((index, joint_limits(lower, upper)))
    return tuple(found)


def read_positions(
    view: ArmatureView, limits: Sequence[BoneLimits], session: Dragged | None, known: WorldPositions | None = None
) -> WorldPositions:
    """Read the positions of the chains, in two calls for all bones.

    Args:
        limits: limits to be drawn.
        session: the running drag, or None.
        known: positions of the last call, if no object has moved since: positions of objects are taken from it, because
            each object is a call of its own.
    """
    ends, world = read_ends(view.armature), np.array(view.armature.matrix_world)
    targets = _positions(view.targets, ends, world, None if known is None else known.targets)
    is_bone_dragged = session is not None and session.snapshot is not None and not session.grab.chain
    if session is not None and is_bone_dragged and session.armature == view.armature:
        targets[-1] = session.position  # the chain of the dragged bone is the last one
    return WorldPositions(
        joints=transformed(ends[view.points], world),
        targets=targets,
        poles=_positions(view.poles, ends, world, None if known is None else known.poles),
        cones=tuple(_cone(view, *bone, ends, world) for bone in limits),
    )


def read_ends(armature: Object) -> Array:
    """Read the heads and then the tails (2 B, 3) of an armature's bones, armature space, in two calls."""
    bones = armature.pose.bones
    flat = np.empty((2, 3 * len(bones)), np.float32)
    bones.foreach_get("head", flat[0])
    bones.foreach_get("tail", flat[1])
    return flat.reshape(-1, 3).astype(float)


def _positions(goals: DrawnGoals, ends: Array, world: Array, known: Array | None) -> Array:
    """Return the positions of goals (C, 3), world space; ``world`` is the armature's matrix."""
    positions = np.full((goals.count, 3), math.nan) if known is None else known.copy()
    if goals.objects and known is None:
        positions[goals.object_rows] = [obj.matrix_world.translation[:] for obj in goals.objects]
    for row, obj, bone in goals.others:
        positions[row] = (obj.matrix_world @ obj.pose.bones[bone].head)[:]
    if len(goals.own_rows):
        positions[goals.own_rows] = transformed(ends[goals.own_bones], world)
    return positions


def transformed(points: Array, matrix: Array) -> Array:
    """Return points (N, 3) transformed by a matrix (4, 4)."""
    found: Array = points @ matrix[:3, :3].T + matrix[:3, 3]
    return found


def _cone(view: ArmatureView, index: int, limits: JointLimits, ends: Array, world: Array) -> Cone:
    bone = view.armature.pose.bones[index]
    axes = world[:3, :3] @ np.array(_rest_axes(bone).to_3x3())
    head, tail = transformed(ends[[index, len(view.bone_names) + index]], world)
    q = rotation_of(bone)
    is_at_limit = bool(axes_at_limit(limits, (q.w, q.x, q.y, q.z)))
    length = float(np.linalg.norm(tail - head))
    return Cone(head, axes / (np.linalg.norm(axes, axis=0) + 1e-300), length, limits, is_at_limit)


def _rest_axes(bone: PoseBone) -> Matrix:
    """Return a bone's axes before its own rotation, armature space: `P P0⁻¹ B0`, or `B0` without a parent."""
    parent, rest = bone.parent, bone.bone.matrix_local
    if parent is None or not bone.bone.use_inherit_rotation:
        return rest
    return parent.matrix @ parent.bone.matrix_local.inverted() @ rest
