# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain whose bones rotate within joint limits, and its forward kinematics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..math.operations import Array, Component, Condition, Operations, Selection, Vector
from ..math.quaternion_arrays import to_matrices
from ..math.quaternions import Quaternion, conjugate, multiply, rotate
from ..math.vectors import choose_each, gather_parts
from .constrained_chain_arrays import Bones, chain_structure
from .joint_limits import AT_LIMIT, JointLimits, SwingTwist, clamp, rotation_of, swing_twist


@dataclass(frozen=True)
class ConstrainedChain:
    """A chain of bones that rotate within limits; root at the origin, units of the chain's length."""

    rests: Sequence[Quaternion]
    """Rest frame of each bone in its parent's; the first one's in armature space."""
    links: Sequence[Vector]
    """From each bone's head to the next joint, in the bone's own frame."""
    inherits: Sequence[bool]
    """Whether each bone rotates with its parent; the frame of one that doesn't is its rest frame in armature space."""
    limits: Sequence[JointLimits]
    weights: Sequence[Vector]
    """Share of a step that each axis takes: less than 1 is stiff."""

    @cached_property
    def bones(self) -> Bones:
        """The bones in arrays, for Newton's method."""
        structure = chain_structure(tuple(self.limits), tuple(self.inherits))
        return Bones(to_matrices(array_of(self.rests)), array_of(self.links), structure)

    @cached_property
    def free(self) -> list[tuple[int, int]]:
        """Bone and axis (0 to 2) of every coordinate that isn't locked."""
        return [(j, axis) for j, limits in enumerate(self.limits) for axis in range(3) if not limits.locked[axis]]

    @cached_property
    def free_numbers(self) -> list[tuple[int, int, int]]:
        """Of every bone the numbers of its x, twist and z among the free coordinates; -1 of those that are locked."""
        number = {pair: i for i, pair in enumerate(self.free)}
        return [
            (number.get((j, 0), -1), number.get((j, 1), -1), number.get((j, 2), -1)) for j in range(len(self.limits))
        ]

    @cached_property
    def free_weights(self) -> list[Component]:
        """Of the free coordinates."""
        return [self.weights[j][axis] for j, axis in self.free]

    @cached_property
    def bounded(self) -> list[tuple[int, int, int, float, float]]:
        """Free coordinates with ends: number, bone, axis, and the values from which on each is at its limit.

        Swings whose limit is an ellipse are not among them.
        """
        found = []
        for i, (j, axis) in enumerate(self.free):
            limits = self.limits[j]
            if axis == 1 or not limits.is_ellipse or limits.has_flat_quarter:
                found.append((i, j, axis, limits.lower[axis] + AT_LIMIT, limits.upper[axis] - AT_LIMIT))
        return found

    @cached_property
    def ellipses(self) -> list[tuple[int, int, int, JointLimits]]:
        """Swings whose limit is an ellipse: numbers of x and z among the free coordinates, bone, limits."""
        numbers = enumerate(zip(self.free_numbers, self.limits, strict=True))
        return [(i, k, j, limits) for j, ((i, _, k), limits) in numbers if limits.is_ellipse]

    def gather(self, ops: Operations, items: Selection) -> ConstrainedChain:
        """Return the chain in the selected batch items only; one pose stays."""
        if items is True:
            return self
        rests = [gather_parts(ops, items, rest) for rest in self.rests]
        links = [gather_parts(ops, items, link) for link in self.links]
        return replace(self, rests=rests, links=links)


class ConstrainedPose(NamedTuple):
    """A pose of a constrained chain: joint coordinates within limits, and the joints and frames that follow."""

    chain: ConstrainedChain
    coordinates: Sequence[SwingTwist]
    parents: Sequence[Quaternion]
    """Parent frames of the bones."""
    frames: list[Quaternion]
    joints: list[Vector]
    """One more than bones: the last is the tip."""

    @property
    def tip(self) -> Vector:
        """The last joint, from the root."""
        return self.joints[-1]

    def moved(self, ops: Operations, change: Sequence[Component], share: Component = 1.0) -> ConstrainedPose:
        """Return the pose after a share of a change of the free coordinates, clamped to the limits."""
        parts = [*(share * part for part in change), 0.0]
        coordinates = [
            clamp(ops, limits, (x + parts[i], twist + parts[j], z + parts[k]))
            for limits, (x, twist, z), (i, j, k) in zip(
                self.chain.limits, self.coordinates, self.chain.free_numbers, strict=True
            )
        ]
        return place(ops, self.chain, coordinates)

    def where(self, ops: Operations, condition: Condition, other: ConstrainedPose) -> ConstrainedPose:
        """Return this pose in the batch items where a condition holds, the other one elsewhere."""
        if ops.all(condition):
            return self
        if not ops.any(condition):
            return other
        pairs: Any = zip(self[1:], other[1:], strict=True)
        return ConstrainedPose(self.chain, *(choose_each(ops, condition, a, b) for a, b in pairs))


def array_of(rows: Sequence[Sequence[Component]]) -> Array:
    """Return R rows of C components, of one pose or a batch, as an array (L, R, C); L is 1 for one pose."""
    parts = [part for row in rows for part in row]
    if all(isinstance(part, float) for part in parts):
        return np.array(parts).reshape(1, len(rows), -1)
    flat = np.broadcast_arrays(*parts)
    return np.atleast_2d(np.stack(flat, axis=-1)).reshape(-1, len(rows), len(rows[0]))


def place(ops: Operations, chain: ConstrainedChain, coordinates: Sequence[SwingTwist]) -> ConstrainedPose:
    """Return the pose with some joint coordinates (forward kinematics)."""
    x = y = z = 0.0 * coordinates[0][0]
    frame: Quaternion | None = None
    parents, frames, joints = [], [], [(x, y, z)]
    for rest, link, inherits, own in zip(chain.rests, chain.links, chain.inherits, coordinates, strict=True):
        parent = multiply(frame, rest) if inherits and frame is not None else rest
        frame = multiply(parent, rotation_of(ops, own))
        dx, dy, dz = rotate(frame, link)
        x, y, z = x + dx, y + dy, z + dz
        parents.append(parent)
        frames.append(frame)
        joints.append((x, y, z))
    return ConstrainedPose(chain, coordinates, parents, frames, joints)


def coordinates_of(ops: Operations, chain: ConstrainedChain, frames: Sequence[Quaternion]) -> list[SwingTwist]:
    """Return the joint coordinates within limits nearest to frames, in order from the root to the tip.

    The parent frame of each bone is computed from its parent's joint coordinates, as in
    ``tree_start.coordinates_of_tree``.
    """
    coordinates = []
    frame: Quaternion | None = None
    for rest, inherits, limits, desired in zip(chain.rests, chain.inherits, chain.limits, frames, strict=False):
        parent_frame = multiply(frame, rest) if inherits and frame is not None else rest
        own = clamp(ops, limits, swing_twist(ops, multiply(conjugate(parent_frame), desired)))
        coordinates.append(own)
        frame = multiply(parent_frame, rotation_of(ops, own))
    return coordinates


def pose_of(ops: Operations, chain: ConstrainedChain, frames: Sequence[Quaternion]) -> ConstrainedPose:
    """Return the pose with the joint coordinates nearest to frames (``coordinates_of``)."""
    return place(ops, chain, coordinates_of(ops, chain, frames))
