# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The start pose of a chain's solve: a checked pose in components, in units of the chain's length, root at the origin.

It is made once for a pose and used for all its goals. Dividing by the chain's length makes all thresholds of the
solvers independent of scale; the root at the origin keeps the digits of a chain that is far from the armature's origin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from ..math.operations import ARRAY, SCALAR, Array, Component, Operations, Vector
from ..math.quaternions import Quaternion, conjugate, rotate, rotation_fault, x_axis
from ..math.vectors import distance_between, relative_to, subtract
from ..problem import Chain, FabrikError, Pose
from .constrained_chain import ConstrainedChain
from .frame_transport import transport_frames
from .joint_limits import JointLimits, joint_limits

MISFIT = 1e-3
"""Largest difference of a link in the pose from its length, over its length, that is taken for rounding."""


Transport: TypeAlias = "Callable[[Operations, StartPose, Sequence[Vector], Quaternion | None], list[Quaternion]]"
"""(ops, start, joints after, rotation of the bend plane or None) to the frames after, as ``transport_frames``."""


class NearSolution(NamedTuple):
    """The solution of a target near this one: that of the move or frame before."""

    frames: Sequence[Quaternion]
    """Of the bones, in armature space."""
    forces: Array | None = None
    """Of the tasks, where the chain was solved as a tree (``weighted_descent.Ended``)."""


@dataclass(frozen=True)
class StartPose:
    """A chain and the pose from which it is solved."""

    chain: Chain
    pose: Pose
    batch: tuple[int, ...]
    root: Vector
    """First joint, in armature space and Blender units."""
    points: list[Vector]
    """J joints, relative to the root, in units of the chain's length."""
    lengths: list[float]
    """J - 1 lengths of the links, in units of the chain's length."""
    frames: list[Quaternion]
    """J frames of the bones, in armature space; the tip's is that of the last bone."""
    links: list[Vector]
    """J - 1 vectors from each joint to the next."""
    x_axes: list[Vector]
    """J x axes of the frames: axes of rotations by 180 degrees."""
    constrained_chain: ConstrainedChain | None
    """The bones with their joint limits, or None if they have none."""
    transport: Transport
    """Rotates the frames of bones without limits along with their links; a host may put a faster one here."""
    near: NearSolution | None = None
    """Where the search within limits starts; None: from the pose, the reference pose."""

    def posed(self, points: list[Vector], frames: Sequence[Quaternion]) -> StartPose:
        """Return the start from another pose: J joints in units of the chain's length, frames of J - 1 bones.

        ``pose`` and ``without_tip`` stay those of the first one.
        """
        links = [subtract(after, before) for before, after in pairwise(points)]
        frames = [*frames, frames[-1]]
        return replace(self, points=points, frames=frames, links=links, x_axes=[x_axis(frame) for frame in frames])

    @cached_property
    def without_tip(self) -> StartPose:
        """Start pose of the chain without its last bone; the chain has two bones or more."""
        pose = Pose(self.pose.positions[..., :-1, :], self.pose.rotations[..., :-1, :], self.pose.base)
        return start_from(self.chain.without_tip, pose, self.batch)


def start_from(chain: Chain, pose: Pose, batch: tuple[int, ...] | None = None) -> StartPose:
    """Return the start pose of a chain.

    Args:
        chain: a plain chain (one effector, at its end).
        pose: positions (..., J, 3), Blender units, whose links have the chain's lengths; rotations (..., J, 4).
        batch: shape of the batch where the goals have more batch axes than the pose; None is the pose's own.

    Raises:
        FabrikError: the chain is not plain, or the pose doesn't fit: numbers, shapes, link lengths.
    """
    if not chain.is_plain:
        raise FabrikError("only a plain chain can be solved: one effector, at the end of its last link")
    ops, batch, positions, frames = split_pose(chain, pose, batch)
    unit = chain.total_length
    points = [relative_to(position, positions[0], unit) for position in positions]
    lengths = [link / unit for link in chain.links]
    # The passes of FABRIK would correct the lengths without a message; the closed forms would give a wrong pose.
    for j, (start, end) in enumerate(pairwise(points)):
        check_length(ops, chain, j, distance_between(ops, start, end), lengths[j])
    links = [subtract(after, before) for before, after in pairwise(points)]
    axes = [x_axis(frame) for frame in frames]
    constrained_chain = _constrained_chain(ops, chain, pose, batch, links, frames) if chain.has_limits else None
    return StartPose(
        chain, pose, batch, positions[0], points, lengths, frames, links, axes, constrained_chain, _transport_links
    )


def _transport_links(
    ops: Operations, start: StartPose, points: Sequence[Vector], rotation: Quaternion | None
) -> list[Quaternion]:
    """Return the frames of bones without limits (``transport_frames``)."""
    return transport_frames(ops, start.links, points, start.frames, start.x_axes, start.chain.inherits_list, rotation)


def _constrained_chain(
    ops: Operations, chain: Chain, pose: Pose, batch: tuple[int, ...], links: list[Vector], frames: list[Quaternion]
) -> ConstrainedChain:
    """Return the bones with their limits."""
    return ConstrainedChain(
        rests=rest_frames(ops, chain, pose, batch, 0.0 * links[0][0])[:-1],
        links=[rotate(conjugate(frame), link) for frame, link in zip(frames, links, strict=False)],
        inherits=chain.inherits_list,
        limits=limits_of_bones(chain),
        weights=[tuple(row) for row in (1.0 - chain.stiffness[:-1]).tolist()],
    )


def split_pose(
    chain: Chain, pose: Pose, batch: tuple[int, ...] | None
) -> tuple[Operations, tuple[int, ...], list[Vector], list[Quaternion]]:
    """Return a pose in components: operations, shape of the batch, positions and frames of the joints."""
    joints = len(chain.lengths)
    shape = batch_shape(("positions", pose.positions, (joints, 3)), ("rotations", pose.rotations, (joints, 4)))
    if batch is None:
        batch = shape
    ops = ARRAY if batch else SCALAR
    positions, frames = ops.split(pose.positions, batch), ops.split(pose.rotations, batch)
    for j, (position, frame) in enumerate(zip(positions, frames, strict=True)):
        # The sum of finite numbers is finite, and one call checks it; no pose is so large that it overflows.
        if not ops.all(ops.isfinite(sum(position))):
            raise FabrikError(f"the position of {chain.name(j)} is not a finite number")
        if fault := rotation_fault(ops, frame):
            raise FabrikError(f"the rotation of {chain.name(j)} {fault}")
    return ops, batch, positions, frames


def check_length(ops: Operations, chain: Chain, joint: int, found: Component, length: float) -> None:
    """Refuse a pose in which a link from a joint differs from its length by more than ``MISFIT``."""
    if ops.any(ops.maximum(found - length, length - found) > MISFIT * length + 1e-9):
        raise FabrikError(f"the pose puts {chain.name(joint)} at a distance from the next joint that isn't its length")


def rest_frames(ops: Operations, chain: Chain, pose: Pose, batch: tuple[int, ...], zero: Component) -> list[Quaternion]:
    """Return the rest frame of each joint's bone in its parent's; that of the first is ``pose.base``, where given.

    They are floats or arrays as ``zero`` is, a component of the pose that is 0.
    """
    rests: list[Quaternion] = [(w + zero, x + zero, y + zero, z + zero) for w, x, y, z in chain.rest.tolist()]
    if pose.base is not None:
        (rests[0],) = ops.split(pose.base[..., None, :], batch)
        if fault := rotation_fault(ops, rests[0]):
            raise FabrikError(f"the parent frame of {chain.name(0)} {fault}")
    return rests


def batch_shape(*arrays: tuple[str, Array | None, tuple[int, int]]) -> tuple[int, ...]:
    """Return the batch axes, broadcast, of arrays: (name for messages, array (..., R, C) or None, (R, C))."""
    batch: tuple[int, ...] = ()
    for name, values, core in arrays:
        if values is None or values.shape == core:
            continue
        if values.shape[-2:] != core:
            raise FabrikError(f"{name} have shape {values.shape}: it must end in {core}")
        try:
            batch = np.broadcast_shapes(batch, values.shape[:-2])
        except ValueError as error:
            raise FabrikError(f"{name} have shape {values.shape}: it doesn't fit the batch shape {batch}") from error
    return batch


def limits_of_bones(chain: Chain) -> list[JointLimits]:
    """Return the joint limits of each bone of a plain chain, root first."""
    ends = zip(chain.lower[:-1].tolist(), chain.upper[:-1].tolist(), strict=True)
    return [joint_limits(lower, upper) for lower, upper in ends]
