# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bone of a tree in a frame, or with one of its axes as in a frame."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..math.operations import TINY, Array, Vector
from ..math.quaternions import Quaternion, conjugate, multiply, rotate
from ..math.rigid_fit import turned_by
from ..math.vectors import cross, dot, norm, scale
from ..model.placed_tree import PlacedTree
from ..model.tree_motions import TreeMotions
from .look_at_task import ROTATION_SCALE


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
            axes = axes - (axes @ pointing)[:, None] * pointing
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
