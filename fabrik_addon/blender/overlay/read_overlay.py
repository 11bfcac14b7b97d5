# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: what the overlay shows of an armature's chains: what stays, and, quickly, where all of it is now.

With many chains all the time goes into asking Blender. So what a move can't change is read once, and what it can is
read for all bones, or all chains, in one call where there is such a call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import Array, FabrikError
from ...core.math.operations import IntegerArray
from ...core.model.joint_limits import JointLimits, axes_at_limit, joint_limits
from ..rig.bone_limits import limits_of
from ..rig.chain_bones import bones_of_chain
from ..rig.last_results import results_of
from ..rig.properties import settings_of
from ..rig.rotation_channel import rotation_of

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone
    from mathutils import Matrix

    from .drag_protocol import Dragged

Settings = tuple[tuple[Any, ...], ...]
"""What of an armature's chains says which joints, targets and poles there are; the last is the active chain's place."""

BoneLimits = tuple[int, JointLimits]
"""The place of a bone in its armature, and what it may do."""

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
class Goals:
    """Where the targets, or the poles, of chains are found."""

    count: int
    """C, of chains."""
    object_rows: IntegerArray
    """(B,) of the chains whose goals are objects."""
    objects: tuple[Object, ...]
    """(B,)"""
    others: tuple[tuple[int, Object, str], ...]
    """A chain's row, another armature and the name of its bone."""
    own_rows: IntegerArray
    """(O,) of the chains whose goals are bones of the armature that is shown."""
    own_places: IntegerArray
    """(O,) of those bones."""

    @property
    def rows(self) -> list[int]:
        """Those of the chains that have a goal."""
        return sorted([*self.object_rows.tolist(), *(row for row, _, _ in self.others), *self.own_rows.tolist()])


@dataclass(frozen=True)
class ChainView:
    """What of one chain stays while it moves. Points are places in an armature's heads and tails, one after another."""

    points: tuple[int, ...]
    """Of the joints, from the root to the end."""
    is_active: bool
    is_pinned: bool
    is_dragged: bool
    limited: tuple[int, ...]
    """Places of the bones whose limits are shown if they have some."""


@dataclass(frozen=True)
class ArmatureView:
    """The chains of an armature."""

    armature: Object
    settings: Settings
    """All of this was read from them."""
    bone_names: list[str]
    chains: tuple[ChainView, ...]
    rows: IntegerArray
    """(C,) the place of each among all chains of the armature; a bone that is dragged by its tail comes after them."""
    points: IntegerArray
    """(P,) places of all chains' joints, one chain after the other."""
    starts: IntegerArray
    """(C,) where in ``points`` each chain starts."""
    counts: IntegerArray
    """(C,) joints of each chain."""
    targets: Goals
    poles: Goals


@dataclass(frozen=True)
class Standing:
    """How chains are doing, and what counts as reached: what doesn't show in the bones."""

    statuses: tuple[str, ...]
    """(C,)"""
    softnesses: tuple[float, ...]
    """(C,) shares of the chains' lengths."""
    tolerances: tuple[float, ...]
    """(C,) shares of the chains' lengths."""


@dataclass(frozen=True)
class Cone:
    """The limits of one bone of the active chain."""

    head: Array
    """(3,)"""
    axes: Array
    """(3, 3) that it turns in, as columns."""
    length: float
    limits: JointLimits
    is_at_limit: bool


@dataclass(frozen=True)
class Places:
    """Where the chains of an armature are in the world."""

    joints: Array
    """(P, 3)"""
    targets: Array
    """(C, 3); NaN where there is none."""
    poles: Array
    """(C, 3); NaN where there is none."""
    cones: tuple[Cone, ...]


def read_settings(armature: Object) -> Settings:
    """Read what says which joints, targets and poles there are: Blender doesn't tell when that changes."""
    settings = settings_of(armature)
    return (*map(_settings_of_chain, settings.chains), (settings.active_index,))


def read_standing(view: ArmatureView) -> Standing:
    """Read how an armature's chains are doing."""
    chains: Any = settings_of(view.armature).chains
    softnesses, tolerances = [0.0] * len(chains), [0.0] * len(chains)
    chains.foreach_get("softness", softnesses)
    chains.foreach_get("tolerance", tolerances)
    results = results_of(view.armature, (chain[0] for chain in view.settings[:-1]))
    statuses = ['NONE' if result is None else result.status for result in results]
    rows = view.rows.tolist()
    return Standing(
        *(
            tuple(map([*values, other].__getitem__, rows))
            for values, other in ((statuses, 'NONE'), (softnesses, 0.0), (tolerances, 0.0))
        )
    )


def in_drag(view: ArmatureView, standing: Standing, session: Dragged) -> Standing:
    """Return how chains are doing while one of them is dragged."""
    for row, chain in enumerate(view.chains):
        if chain.is_dragged:
            status = 'NONE' if session.result is None else session.result.status
            tolerance = session.snapshot.options.tolerance
            return Standing(
                (*standing.statuses[:row], status, *standing.statuses[row + 1 :]),
                standing.softnesses,
                (*standing.tolerances[:row], tolerance, *standing.tolerances[row + 1 :]),
            )
    return standing


def read_armature(armature: Object, session: Dragged | None) -> ArmatureView:
    """Read the chains of an armature that are on, and the one that is dragged by its bone.

    Chains that can't be solved are left out: the panel says why.
    """
    names: list[str] = armature.pose.bones.keys()
    places = {name: place for place, name in enumerate(names)}
    session = session if session is not None and session.armature == armature else None
    settings = settings_of(armature)
    rows: list[int] = []
    chains: list[ChainView] = []
    goals: tuple[list[tuple[int, Object, str]], ...] = ([], [])
    for number, chain in enumerate(settings.chains):
        if not chain.enabled:
            continue
        try:
            bones = bones_of_chain(armature, chain.tip, chain.chain_count, chain.use_tail)
        except FabrikError:
            continue
        is_dragged = session is not None and session.grab.chain == chain.name
        is_active = is_dragged if session is not None else number == settings.active_index
        if chain.target is not None and not chain.use_pin:
            goals[0].append((len(chains), chain.target, chain.subtarget))
        if chain.pole_target is not None:
            goals[1].append((len(chains), chain.pole_target, chain.pole_subtarget))
        view = ChainView(
            points=_points_of(bones, armature.pose.bones[chain.tip], chain.use_tail, places),
            is_active=is_active,
            is_pinned=chain.use_pin if session is None else chain.name in session.held,
            is_dragged=is_dragged,
            limited=tuple(places[bone.name] for bone in bones) if chain.use_limits and is_active else (),
        )
        chains.append(view)
        rows.append(number)
    if session is not None and not session.grab.chain:
        chains.append(_dragged_bone(session, places))
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
        *(_goals(armature, places, len(chains), found) for found in goals),
    )


def _goals(armature: Object, places: dict[str, int], count: int, goals: list[tuple[int, Object, str]]) -> Goals:
    own, others, object_rows, objects = [], [], [], []
    for row, obj, bone in goals:
        if obj.type != 'ARMATURE' or bone not in obj.pose.bones:
            object_rows.append(row)
            objects.append(obj)
        elif obj == armature:
            own.append((row, places[bone]))
        else:
            others.append((row, obj, bone))
    own_rows, own_places = np.array(own, int).reshape(-1, 2).T
    return Goals(count, np.array(object_rows, int), tuple(objects), tuple(others), own_rows, own_places)


def _points_of(bones: Sequence[PoseBone], end: PoseBone, use_tail: bool, places: dict[str, int]) -> tuple[int, ...]:
    heads = [places[bone.name] for bone in bones]
    return (*heads, len(places) + places[end.name] if use_tail else places[end.name])


def _dragged_bone(session: Dragged, places: dict[str, int]) -> ChainView:
    bones = session.snapshot.bones
    return ChainView(
        points=_points_of(bones.bones, bones.end, True, places),
        is_active=True,
        is_pinned=False,
        is_dragged=True,
        limited=tuple(places[bone.name] for bone in bones.bones),
    )


def read_limits(view: ArmatureView) -> tuple[BoneLimits, ...]:
    """Read the limits that are shown: of those bones that may not swing any way."""
    bones = view.armature.pose.bones
    found = []
    for place in (place for chain in view.chains for place in chain.limited):
        lower, upper = limits_of(bones[place])
        # A cone is a swing: about x, z or both.
        if any(math.isfinite(bound) for bound in (lower[0], upper[0], lower[2], upper[2])):
            found.append((place, joint_limits(lower, upper)))
    return tuple(found)


def read_places(
    view: ArmatureView, limits: Sequence[BoneLimits], session: Dragged | None, known: Places | None = None
) -> Places:
    """Read where chains are: one look at all bones, however many chains there are.

    Args:
        view: the chains.
        limits: of bones.
        session: of a drag.
        known: where all was, if no object has moved since but only bones: many objects take long to be asked.
    """
    bones: Any = view.armature.pose.bones
    flat = np.empty((2, 3 * len(view.bone_names)), np.float32)
    bones.foreach_get("head", flat[0])
    bones.foreach_get("tail", flat[1])
    ends: Any = flat.reshape(-1, 3)
    world = np.array(view.armature.matrix_world)
    turn, origin = world[:3, :3].T, world[:3, 3]
    targets = _positions(view.targets, ends, turn, origin, None if known is None else known.targets)
    if session is not None and not session.grab.chain and session.armature == view.armature:
        targets[-1] = session.position  # the dragged bone comes last
    return Places(
        joints=_moved(ends[view.points], turn, origin),
        targets=targets,
        poles=_positions(view.poles, ends, turn, origin, None if known is None else known.poles),
        cones=tuple(_cone(view, *bone, ends, turn, origin) for bone in limits),
    )


def _positions(goals: Goals, ends: Array, turn: Array, origin: Array, known: Array | None) -> Array:
    """Return where goals are (C, 3), given both ends of all bones and what takes them to the world."""
    positions = np.full((goals.count, 3), math.nan) if known is None else known.copy()
    if goals.objects and known is None:
        positions[goals.object_rows] = [obj.matrix_world.translation[:] for obj in goals.objects]
    for row, obj, bone in goals.others:
        positions[row] = (obj.matrix_world @ obj.pose.bones[bone].head)[:]
    if len(goals.own_rows):
        positions[goals.own_rows] = _moved(ends[goals.own_places], turn, origin)
    return positions


def _moved(points: Array, turn: Array, origin: Array) -> Array:
    """Return points (N, 3) in the world: a matrix product takes longer to begin than this to end."""
    return np.asarray(np.einsum("ij,jk->ik", points, turn) + origin)


def _cone(view: ArmatureView, place: int, limits: JointLimits, ends: Array, turn: Array, origin: Array) -> Cone:
    bone = view.armature.pose.bones[place]
    axes = turn.T @ np.array(_rest_axes(bone).to_3x3())
    head, tail = ends[[place, len(view.bone_names) + place]] @ turn + origin
    q = rotation_of(bone)
    is_at_limit = bool(axes_at_limit(limits, (q.w, q.x, q.y, q.z)))
    length = float(np.linalg.norm(tail - head))
    return Cone(head, axes / (np.linalg.norm(axes, axis=0) + 1e-300), length, limits, is_at_limit)


def _rest_axes(bone: PoseBone) -> Matrix:
    """Return the axes that a bone turns in, in its armature."""
    parent, rest = bone.parent, bone.bone.matrix_local
    if parent is None or not bone.bone.use_inherit_rotation:
        return rest
    return parent.matrix @ parent.bone.matrix_local.inverted() @ rest
