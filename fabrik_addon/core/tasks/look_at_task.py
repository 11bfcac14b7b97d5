# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The look-at task of a body: its head turned toward a point.

Directions are described in the frame of the trunk before the pull: by the azimuth ``phi``, positive to the left, and
the elevation ``eps`` from the horizontal plane of that frame. Heads turn in these coordinates, those of Fick's gimbal,
and without torsion (Glenn and Vilis 1992). The rotation vector from one direction to the other, the shortest
rotation, would lift the face to a point behind the head instead of turning it to a side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..math.operations import TINY, Array, ScalarVector
from ..math.quaternion_arrays import cross
from ..model.placed_tree import PlacedTree
from ..model.tree_motions import TreeMotions
from ..model.tree_start import StartTree
from ..problem import LookAt

LOOK_AT_WEIGHT, LOOK_AT_FORCE = 1e5, 26.0
"""w and F of each of the task's residuals in the cost of ``weighted_descent``, whatever the task's level.

The largest torque is F times ``ROTATION_SCALE``, 7.8: it turns a spine joint of weight 40 by 11 degrees. So a point
behind the back turns head and neck to their limits and the chest some way; a larger F bends the neck, too."""

ROTATION_SCALE = 0.3
"""Position error, in the tree's units, that an angle of one radian counts as."""

BEHIND = 1.8
"""Azimuth (radians) between head and point up to which the head takes the way behind the back, where that is shorter.

Beyond it the head turns to the point by way of the front: a head at its limit on one side stays there until the point
is so far away on the other side, and a point that trembles straight behind doesn't turn it to and fro."""

NEAR_POLE = 0.1
"""Cosine of the elevation below which the gradient of the azimuth is that at this elevation."""


class _Seen(NamedTuple):
    """A direction in the trunk's frame, with the gradients of its angles by the direction."""

    azimuth: float
    elevation: float
    by_azimuth: Array
    by_elevation: Array


@dataclass(frozen=True, eq=False)
class LookAtTask(LookAt):
    """The direction ``f = R_b f0`` of the head b should be that from its eyes ``p_b + R_b o`` to a point t.

    The residuals are ``s cos(eps_t) (phi_t - phi_f)``, ``s (eps_t - eps_f)`` and ``s (c0 - a . u)``, with the scale s,
    the directions f of the head and t to the point, the head's axis ``a = R_b a0`` to its left and the axis u upward.
    ``c0`` is the roll of the pose at hand: a head that is tilted stays so. Eyes and point are in the tree's units. Of
    bones that don't turn the Jacobian is 0: each drag with a point behind the back would turn the hips by 1.7 degrees
    more, because the posture task holds them where the drag before has left them.
    """

    roll: float = 0.0
    """c0."""
    kept: ScalarVector = (0.0, 0.0, 0.0)
    """Subtracted from the residuals: the parts of them that the task leaves as they are (``partly``)."""
    rows = 3

    @property
    def moved_joints(self) -> Sequence[int]:
        """The joints whose motions the Jacobian needs."""
        return [self.bone]

    def directions(self, placed: PlacedTree) -> tuple[Array, Array, float]:
        """Return the head's direction and that from its eyes to the point (3,), and the point's distance."""
        forward = placed.arms(self.bone, self.forward)
        toward = self.point - placed.points[self.bone] - placed.arms(self.bone, self.eyes)
        distance = max(float(np.linalg.norm(toward)), TINY)
        return forward, toward / distance, distance

    def off(self, placed: PlacedTree) -> float:
        """Return the angle (radians) between the head's direction and that to the point."""
        forward, toward, _ = self.directions(placed)
        return math.atan2(float(np.linalg.norm(cross(forward, toward))), float(forward @ toward))

    def residual(self, placed: PlacedTree) -> tuple[float, ...]:
        """Return the three residuals."""
        forward, toward, _ = self.directions(placed)
        head, point = _seen(self.axes, forward), _seen(self.axes, toward)
        left = (
            math.cos(point.elevation) * _azimuth_between(head.azimuth, point.azimuth),
            point.elevation - head.elevation,
            self.roll - float(placed.arms(self.bone, self.left) @ self.axes[2]),
        )
        return tuple(ROTATION_SCALE * part - kept for part, kept in zip(left, self.kept, strict=True))

    def jacobian(self, placed: PlacedTree, motions: TreeMotions) -> Array:
        """Return how the residuals, but for their sign, change with each coordinate of the bones (3, N)."""
        turned = motions.axes_of(self.bone)
        moved = motions.of_joint(self.bone)[:, : len(turned)].T
        forward, toward, distance = self.directions(placed)
        head, point = _seen(self.axes, forward), _seen(self.axes, toward)
        of_toward = -(moved + cross(turned, placed.arms(self.bone, self.eyes))) / distance
        by_azimuth = turned @ cross(forward, head.by_azimuth) - of_toward @ point.by_azimuth
        elevation = of_toward @ point.by_elevation
        between = _azimuth_between(head.azimuth, point.azimuth)
        left = placed.arms(self.bone, self.left)
        found: Array = ROTATION_SCALE * np.stack(
            [
                math.cos(point.elevation) * by_azimuth + between * math.sin(point.elevation) * elevation,
                turned @ cross(forward, head.by_elevation) - elevation,
                turned @ cross(left, self.axes[2]),
            ]
        )
        return np.where(np.isin(motions.structure.column_bones, self.turning), found, 0.0)

    def partly(self, placed: PlacedTree, share: float) -> LookAtTask:
        """Return the task that asks for some share of the way from a pose."""
        x, y, z = (
            kept + (1.0 - share) * float(part) for kept, part in zip(self.kept, self.residual(placed), strict=True)
        )
        return replace(self, kept=(x, y, z))


def _seen(axes: Array, direction: Array) -> _Seen:
    """Return azimuth and elevation of a unit vector by axes forward, left and upward (3, 3)."""
    x, y, z = (axes @ direction).tolist()
    across = math.hypot(x, y)
    least = max(across, NEAR_POLE)
    return _Seen(
        math.atan2(y, x),
        math.atan2(z, across),
        (x * axes[1] - y * axes[0]) / (least * least),
        (axes[2] - z * direction) / least,
    )


def _azimuth_between(head: float, point: float) -> float:
    """Return the azimuth by which the head turns: the shorter way up to ``BEHIND``, else the way by the front."""
    shorter = math.remainder(point - head, math.tau)
    return shorter if abs(shorter) <= BEHIND else point - head


def look_at_task(start: StartTree, placed: PlacedTree, look_at: LookAt) -> LookAtTask:
    """Return the look-at task of a body."""
    point = (look_at.point - np.array(start.root)) / start.unit
    task = LookAtTask(**{**vars(look_at), "eyes": look_at.eyes / start.unit, "point": point})
    return replace(task, roll=float(placed.arms(task.bone, task.left) @ task.axes[2]))
