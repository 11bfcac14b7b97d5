# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks of position and orientation of a tree, all kinds of tasks, and a state of the tree, one pose.

A task has a residual at a pose, which has ``rows`` components, and its Jacobian, for which it needs the motions of its
``moved_joints``. Some have more: ``off``, the angle by which the task isn't met; ``partly``, the task that asks for a
share of the residual; and their part of K, by ``moments`` of their forces and by their ``own_curvature``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np

from ..math.operations import TINY, Array, Condition, Vector
from ..math.quaternions import Quaternion, conjugate, multiply, rotate
from ..math.rigid_fit import turned_by
from ..math.vectors import cross, dot, norm, scale
from ..model.placed_tree import PlacedTree
from ..model.skeleton import JointCoordinates, Tree
from ..model.tree_motions import TreeMotions
from .balance_task import BalanceTask
from .floor_task import FloorTask
from .look_at_task import ROTATION_SCALE, LookAtTask
from .pole_task import PoleTask
from .swivel_task import SwivelTask


@dataclass(frozen=True)
class PositionTask:
    """A joint should be at a target, or where another joint is."""

    joint: int
    target: Vector | None
    meets: int = -1
    slack: float = 0.0
    """Distance from the target, in the tree's units, within which the residual is zero."""
    rows = 3

    def residual(self, placed: PlacedTree) -> Vector:
        """Return the vector from the joint to its target, or to the sphere of the slack, in the tree's units."""
        x, y, z = placed.joints[self.joint]
        tx, ty, tz = placed.joints[self.meets] if self.target is None else self.target
        x, y, z = tx - x, ty - y, tz - z
        if self.slack > 0.0:
            distance = math.sqrt(x * x + y * y + z * z)
            share = max(0.0, distance - self.slack) / (distance + TINY)
            return share * x, share * y, share * z
        return x, y, z

    @property
    def moved_joints(self) -> Sequence[int]:
        """The joints whose motions the Jacobian needs."""
        return [self.joint] if self.target is not None else [self.joint, self.meets]

    def jacobian(self, placed: PlacedTree, motions: TreeMotions) -> Array:
        """Return how the residual, but for its sign, changes with each coordinate (3, N + S)."""
        moved = motions.of_joint(self.joint)
        if self.target is None:
            moved = moved - motions.of_joint(self.meets)
        if self.slack == 0.0:
            return moved
        left = np.array(self.residual(placed))
        size = float(np.linalg.norm(left))
        if size <= TINY:
            return np.zeros(moved.shape)
        toward = left / size
        share = size / (size + self.slack)
        along: Array = np.outer(toward, toward @ moved)
        return share * moved + (1.0 - share) * along

    def partly(self, placed: PlacedTree, share: float) -> PositionTask:
        """Return the task whose target is some share of the way from a pose's joint to this one's."""
        here = placed.joints[self.joint]
        left = self.residual(placed)
        x, y, z = (part + share * change for part, change in zip(here, left, strict=True))
        return PositionTask(self.joint, (x, y, z))


@dataclass(frozen=True)
class OrientationTask:
    """A bone should have a frame, or with ``axis``, this axis of the bone should point where it does in the frame."""

    bone: int
    frame: Quaternion
    axis: Vector | None = None
    """In the bone's frame, a unit vector; None for the whole frame."""
    bound: float = math.inf
    """Angle (radians) from which on the cost grows in proportion to the angle, and not to its square."""
    rows = 3
    scale = ROTATION_SCALE
    moved_joints: ClassVar[Sequence[int]] = ()

    def residual(self, placed: PlacedTree) -> Vector:
        """Return the rotation vector from the bone's frame to the task's, times ``scale``."""
        x, y, z = self._rotation_off(placed)
        factor = self.scale
        if self.bound < math.inf:
            factor *= self._shares(math.hypot(x, y, z))[0]
        return factor * x, factor * y, factor * z

    def off(self, placed: PlacedTree) -> float:
        """Return the angle (radians) between the bone's frame and the task's."""
        return math.hypot(*self._rotation_off(placed))

    def partly(self, placed: PlacedTree, share: float) -> OrientationTask:
        """Return the task whose frame is some share of the rotation from a pose's frame to this one's."""
        x, y, z = self._rotation_off(placed)
        frame = turned_by(placed.frame(self.bone), (share * x, share * y, share * z))
        return replace(self, frame=frame, bound=math.inf)

    def jacobian(self, placed: PlacedTree, motions: TreeMotions) -> Array:
        """Return how the residual, but for its sign, changes with each coordinate of the bones (3, N)."""
        axes = motions.axes_of(self.bone)
        if self.axis is not None:
            pointing = np.array(rotate(placed.frame(self.bone), self.axis))
            axes = axes - np.outer(axes @ pointing, pointing)
        return self.factor(placed) * axes.T

    def factor(self, placed: PlacedTree) -> float:
        """Return how the residual, but for its sign, changes with a rotation about an axis of length 1."""
        if self.bound == math.inf:
            return self.scale
        return self.scale * self._shares(math.hypot(*self._rotation_off(placed)))[1]

    def _shares(self, angle: float) -> tuple[float, float]:
        """Return the factors ``sqrt(rho) / a`` of the residual and ``rho' / (2 sqrt(rho))`` of its Jacobian.

        They give the cost of an angle ``a`` its value and gradient: ``rho = 2 b^2 (sqrt(1 + a^2 / b^2) - 1)`` with the
        bound b (pseudo-Huber), a^2 far below the bound and 2 a b far above it (Triggs, McLauchlan, Hartley and
        Fitzgibbon 2000, section 4.3, without the second derivative). A foot with such a cost stays flat against a
        torque that is less than 2 b, and turns under one that is more; with a^2 it lifts a little under any torque.
        """
        if angle <= 1e-3 * self.bound:
            return 1.0, 1.0
        root = math.sqrt(1.0 + (angle / self.bound) ** 2)
        value = self.bound * math.sqrt(2.0 * (root - 1.0)) / angle
        return value, 1.0 / (root * value)

    def _rotation_off(self, placed: PlacedTree) -> Vector:
        ops = placed.ops
        if self.axis is not None:
            here, there = rotate(placed.frame(self.bone), self.axis), rotate(self.frame, self.axis)
            across = cross(here, there)
            sine = norm(ops, across)
            return scale(across, ops.atan2(sine, dot(here, there)) / (sine + TINY))
        w, x, y, z = multiply(self.frame, conjugate(placed.frame(self.bone)))
        size = norm(ops, (x, y, z))
        angle = 2.0 * ops.atan2(ops.where(w < 0.0, -size, size), ops.abs(w))
        return scale((x, y, z), angle / (size + TINY))


Task: TypeAlias = PositionTask | OrientationTask | PoleTask | BalanceTask | FloorTask | LookAtTask | SwivelTask


@dataclass(frozen=True, eq=False)
class State:
    """A pose of the tree in a descent; many poses have the batch axes before the others."""

    tree: Tree
    rotations: Array
    """(J + 1, 4) frames of the bones in the frames that they inherit (``Tree.placed``)."""
    swing_twists: Array
    """(L, 3) of the bones with limits."""
    shifts: Array
    """(R, 3) of the roots."""

    @cached_property
    def placed(self) -> PlacedTree:
        """Joints and frames."""
        return self.tree.placed(self.rotations, self.shifts)

    def where(self, condition: Condition, other: State) -> State:
        """Return this state in the batch items where a condition holds, the other one elsewhere."""
        if not self.rotations.shape[:-2]:
            return self if condition else other
        of_each = np.asarray(condition)[:, None, None]
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("rotations", "swing_twists", "shifts"))
        return State(self.tree, *(np.where(of_each, a, b) for a, b in pairs))

    @cached_property
    def coordinates(self) -> list[JointCoordinates]:
        """Coordinates of the bones, by joint, as floats."""
        return self.tree.joined(self.rotations, self.swing_twists)
