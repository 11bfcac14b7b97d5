# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: what the overlay shows of an armature's chains: what stays, and, quickly, where all of it is now."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import FabrikError, Floats
from ...core.limits.joint_limits import JointLimits, axes_at_limit, joint_limits
from ...core.problem import Integers
from ..channels import rotation_of
from ..limits import limits_of
from ..properties import settings_of
from ..snapshot import bones_of_chain

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

    from ..drag.session import DragSession

Goal = tuple["Object", str]
"""An object, and the name of a bone if it is an armature."""


@dataclass(frozen=True)
class LimitView:
    """The limits of one bone of the active chain."""

    bone: int
    """Its place in the armature."""
    parent: int
    """That of the bone it turns with; -1 is none."""
    limits: JointLimits


@dataclass(frozen=True)
class ChainView:
    """What of one chain stays while it moves. Points are places in an armature's heads and tails, one after another."""

    points: tuple[int, ...]
    """Of the joints, from the root to the end."""
    target: Goal | None
    pole: Goal | None
    softness: float
    tolerance: float
    status: str
    is_active: bool
    is_pinned: bool
    is_dragged: bool
    limits: tuple[LimitView, ...]


@dataclass(frozen=True)
class ArmatureView:
    """The chains of an armature."""

    armature: Object
    chains: tuple[ChainView, ...]
    points: Integers
    """(P,) places of all chains' joints, one chain after the other."""
    starts: Integers
    """(C,) where in ``points`` each chain starts."""
    counts: Integers
    """(C,) joints of each chain."""
    tolerances: Floats
    """(C,) shares of the chains' lengths."""


@dataclass(frozen=True)
class Places:
    """Where the chains of an armature are in the world."""

    joints: Floats
    """(P, 3)"""
    targets: Floats
    """(C, 3); NaN where there is none."""
    poles: Floats
    """(C, 3); NaN where there is none."""
    statuses: tuple[str, ...]
    """(C,)"""
    cones: tuple[tuple[Floats, Floats, float, JointLimits, bool], ...]
    """Of each limited bone: its head (3,) and the axes (3, 3) that it turns in, as columns; its length; its limits;
    whether it is at them."""


def read_armature(armature: Object, session: DragSession | None) -> ArmatureView:
    """Read the chains of an armature that are on, and the one that is dragged by its bone.

    Chains that can't be solved are left out: the panel says why.
    """
    places = {bone.name: place for place, bone in enumerate(armature.pose.bones)}
    session = session if session is not None and session.armature == armature else None
    settings = settings_of(armature)
    chains = []
    for number, chain in enumerate(settings.chains):
        if not chain.enabled:
            continue
        try:
            bones = bones_of_chain(armature, chain.tip, chain.chain_count, chain.use_tail)
        except FabrikError:
            continue
        is_dragged = session is not None and session.grab.chain == chain.name
        is_active = is_dragged if session is not None else number == settings.active_index
        view = ChainView(
            points=_points_of(bones, armature.pose.bones[chain.tip], chain.use_tail, places),
            target=(chain.target, chain.subtarget) if chain.target is not None and not chain.use_pin else None,
            pole=(chain.pole_target, chain.pole_subtarget) if chain.pole_target is not None else None,
            softness=chain.softness,
            tolerance=chain.tolerance,
            status=chain.status,
            is_active=is_active,
            is_pinned=chain.use_pin if session is None else chain.name in session.held,
            is_dragged=is_dragged,
            limits=_limits(bones, places) if chain.use_limits and is_active else (),
        )
        chains.append(view)
    if session is not None and not session.grab.chain:
        chains.append(_dragged_bone(session, places))
    counts = np.array([len(chain.points) for chain in chains], int)
    return ArmatureView(
        armature,
        tuple(chains),
        np.array([point for chain in chains for point in chain.points], int),
        np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int) if chains else np.zeros(0, int),
        counts,
        np.array([chain.tolerance for chain in chains]),
    )


def _points_of(bones: Sequence[PoseBone], end: PoseBone, use_tail: bool, places: dict[str, int]) -> tuple[int, ...]:
    heads = [places[bone.name] for bone in bones]
    return (*heads, len(places) + places[end.name] if use_tail else places[end.name])


def _dragged_bone(session: DragSession, places: dict[str, int]) -> ChainView:
    snapshot = session.snapshot
    return ChainView(
        points=_points_of(snapshot.bones.bones, snapshot.bones.end, True, places),
        target=None,
        pole=None,
        softness=0.0,
        tolerance=snapshot.options.tolerance,
        status='NONE',
        is_active=True,
        is_pinned=False,
        is_dragged=True,
        limits=_limits(snapshot.bones.bones, places),
    )


def _limits(bones: Sequence[PoseBone], places: dict[str, int]) -> tuple[LimitView, ...]:
    views = []
    for bone in bones:
        lower, upper = limits_of(bone)
        # A cone is a swing: about x, z or both.
        if any(math.isfinite(bound) for bound in (lower[0], upper[0], lower[2], upper[2])):
            turns_with = bone.parent if bone.bone.use_inherit_rotation else None
            parent = -1 if turns_with is None else places[turns_with.name]
            views.append(LimitView(places[bone.name], parent, joint_limits(lower, upper)))
    return tuple(views)


def read_places(view: ArmatureView, session: DragSession | None) -> Places:
    """Read where chains are: one look at all bones, however many chains there are."""
    bones: Any = view.armature.pose.bones
    count = len(bones)
    world = np.array(view.armature.matrix_world)
    flat = np.empty((2, 3 * count), np.float32)
    bones.foreach_get("head", flat[0])
    bones.foreach_get("tail", flat[1])
    points = flat.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]
    nowhere = (math.nan,) * 3
    targets, statuses = [], []
    for chain in view.chains:
        target = nowhere if chain.target is None else _position(chain.target)
        status = chain.status
        if chain.is_dragged and session is not None:
            target = session.position[:] if chain.target is None else target
            status = session.result.status if session.result is not None else 'NONE'
        targets.append(target)
        statuses.append(status)
    poles = [nowhere if chain.pole is None else _position(chain.pole) for chain in view.chains]
    return Places(
        joints=points[view.points],
        targets=np.array(targets).reshape(-1, 3),
        poles=np.array(poles).reshape(-1, 3),
        statuses=tuple(statuses),
        cones=_cones(view, points, world[:3, :3]),
    )


def _cones(view: ArmatureView, points: Floats, world: Floats) -> tuple[Any, ...]:
    limits = [limit for chain in view.chains for limit in chain.limits]
    if not limits:
        return ()
    bones, count = view.armature.pose.bones, len(view.armature.pose.bones)
    matrices, rests = _matrices(bones, "matrix"), _matrices(view.armature.data.bones, "matrix_local")
    cones = []
    for limit in limits:
        axes = rests[limit.bone]
        if limit.parent >= 0:
            axes = matrices[limit.parent] @ np.linalg.inv(rests[limit.parent]) @ axes
        axes = world @ axes
        head, tail = points[limit.bone], points[count + limit.bone]
        q = rotation_of(bones[limit.bone])
        is_at_limit = bool(axes_at_limit(limit.limits, (q.w, q.x, q.y, q.z)))
        length = float(np.linalg.norm(tail - head))
        cones.append((head, axes / (np.linalg.norm(axes, axis=0) + 1e-300), length, limit.limits, is_at_limit))
    return tuple(cones)


def _matrices(bones: Any, name: str) -> Floats:
    flat = np.empty(16 * len(bones), np.float32)
    bones.foreach_get(name, flat)
    return flat.reshape(-1, 4, 4).transpose(0, 2, 1)[:, :3, :3].astype(float)


def _position(goal: Goal) -> tuple[float, ...]:
    obj, bone_name = goal
    bone = obj.pose.bones.get(bone_name) if bone_name and obj.type == 'ARMATURE' else None
    matrix = obj.matrix_world if bone is None else obj.matrix_world @ bone.matrix
    return matrix.translation[:]


def lengths_of(view: ArmatureView, joints: Floats) -> Floats:
    """Return how long each chain is (C,), given the joints (P, 3) of all."""
    links = np.linalg.norm(joints[1:] - joints[:-1], axis=1)
    along = np.concatenate([[0.0], np.cumsum(links)])
    return along[view.starts + view.counts - 1] - along[view.starts]


def link_rows(view: ArmatureView) -> Integers:
    """Return the rows (2 L,) of the joints of all chains that are the ends of their links."""
    rows = [row for start, count in zip(view.starts, view.counts, strict=True) for row in range(start, start + count)]
    chain = np.repeat(np.arange(len(view.chains)), view.counts)
    pairs = [pair for pair in pairwise(rows) if chain[pair[0]] == chain[pair[1]]]
    return np.array(pairs, int).reshape(-1)
