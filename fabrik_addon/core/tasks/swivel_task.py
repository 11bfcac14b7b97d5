# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The swivel task of a body's arms: where an elbow points, by where the hand is from the shoulder."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias, cast

from ..math.operations import TINY, Array, ScalarVector
from ..math.vectors import cross, dot, scale, subtract
from ..model.placed_tree import PlacedTree
from ..model.tree_motions import TreeMotions
from ..model.tree_start import StartTree
from ..problem import Swivel

SWIVEL_WEIGHT = 40.0
"""Weight of the task's squared residual beside the posture task. In the benchmark of captured poses the mean distance
of joints was 0.706, 0.679, 0.670 and 0.668 of that of Blender's IK with 10, 40, 100 and 160; above 40 one elbow of 48
was on the wrong side."""

LEAST_ELBOW_OFFSET = 0.01
"""|b'| / l below which the elbow of the pose before has no direction of its own."""

UNCERTAIN = 0.05
"""c, the length of v' below which the model has no certain direction: the hand is in the direction of v or opposite.

The model is fitted with the same length (``scripts/fit_elbows.py``). With 0.2 nine of 453 elbows and knees of captured
poses were on the wrong side (bench row "body-reconstruction", each twelfth frame, six positions), with 0.05 five."""


_Matrix: TypeAlias = Sequence[ScalarVector]
"""Three rows."""


class _Bend(NamedTuple):
    """The value, and how it changes with the elbow, the wrist, and a rotation vector of the chest."""

    value: float
    elbow: ScalarVector
    wrist: ScalarVector
    chest: ScalarVector


@dataclass(frozen=True, eq=False)
class SwivelTask:
    """An elbow should point where a model that is linear in the direction of the hand says.

    With the unit vector n from shoulder to wrist the model is ``v = a + B n``, in the frame of the chest. b is the
    vector from shoulder to elbow; b' and v' are the parts of b and v across n, phi is the angle from v' to b', and l is
    the length of the arm. The value, which should be 0, is

        2 sin(psi / 2) (|b'| / l) |v'|^2 / (|v'|^2 + c^2),   psi = phi - phi_0 max(0, n . n_0)^2

    with n_0 and phi_0 of the pose before the pull. There psi is 0: the plane in which the arm bends is kept while the
    hand moves by little, and becomes the model's as the hand moves away. The sine, and the factors that are 0 where the
    arm is straight and where v has no direction across n, make the value continuous everywhere.
    """

    joints: list[int]
    """Shoulder, elbow and wrist."""
    bone: int
    """Of the chest."""
    model: Sequence[ScalarVector]
    """a, and the columns of B."""
    length: float
    """l, in the tree's units."""
    direction: ScalarVector = (0.0, 0.0, 0.0)
    """n_0, in the frame of the chest."""
    angle: float = 0.0
    """phi_0."""
    rows = 1

    @property
    def moved_joints(self) -> Sequence[int]:
        """The joints whose motions the Jacobian needs."""
        return self.joints

    def residual(self, placed: PlacedTree) -> tuple[float, ...]:
        """Return the way from the value to 0."""
        return (-self.bend(placed).value,)

    def bend(self, placed: PlacedTree) -> _Bend:
        """Return the value and its gradient; 0 where the wrist is at the shoulder, v along n, or the arm straight."""
        shoulder, elbow, wrist = placed.points[self.joints].tolist()
        chest = placed.matrices[self.bone].tolist()
        d, b = _minus(wrist, shoulder), _minus(elbow, shoulder)
        reach = math.hypot(*d)
        n = _scaled(d, 1.0 / (reach + TINY))
        v = self._v(n, chest)
        bn, vn = _dot(b, n), _dot(v, n)
        b_across, v_across = _sum((1.0, b), (-bn, n)), _sum((1.0, v), (-vn, n))
        bent, size = math.hypot(*b_across), math.hypot(*v_across)
        if min(reach, bent, size) <= 1e-9:
            zero = (0.0, 0.0, 0.0)
            return _Bend(0.0, zero, zero, zero)
        b_unit, v_unit = _scaled(b_across, 1.0 / bent), _scaled(v_across, 1.0 / size)
        b_turn, v_turn = _cross(n, b_unit), _cross(n, v_unit)
        before = _rotated(chest, self.direction)
        near = max(0.0, _dot(n, before))
        psi = math.atan2(_dot(b_unit, v_turn), _dot(b_unit, v_unit)) - self.angle * near * near
        sine, cosine = 2.0 * math.sin(0.5 * psi), math.cos(0.5 * psi)
        square = UNCERTAIN * UNCERTAIN
        certain = size * size / (size * size + square)
        share, slope = certain / self.length, 2.0 * size * square / (size * size + square) ** 2 / self.length
        # The covectors of db, dv, dn and of the rotation of the chest, in this order.
        of_b = _sum((share * cosine, b_turn), (share * sine, b_unit))
        of_v = _sum((-share * cosine * bent / size, v_turn), (slope * sine * bent, v_unit))
        from_n = self._from_n(of_v, chest)
        kept = -2.0 * share * cosine * bent * self.angle * near
        of_n = _sum((-bn, of_b), (-vn, of_v), (kept, before), (1.0, from_n))
        of_d = _scaled(_sum((1.0, of_n), (-_dot(of_n, n), n)), 1.0 / reach)
        of_chest = _sum((1.0, _cross(v, of_v)), (-1.0, _cross(n, from_n)), (kept, _cross(before, n)))
        return _Bend(sine * bent * share, of_b, of_d, of_chest)

    def in_the_pose(self, placed: PlacedTree) -> SwivelTask:
        """Return the task with n_0 and phi_0 of a pose; with the model's own angle where the arm is straight there."""
        shoulder, elbow, wrist = placed.points[self.joints].tolist()
        chest = placed.matrices[self.bone].tolist()
        d, b = _minus(wrist, shoulder), _minus(elbow, shoulder)
        n = _scaled(d, 1.0 / (math.hypot(*d) + TINY))
        v = self._v(n, chest)
        direction = _rotated([*zip(*chest, strict=True)], n)
        b_across = _sum((1.0, b), (-_dot(b, n), n))
        if math.hypot(*b_across) <= LEAST_ELBOW_OFFSET * self.length:
            return replace(self, direction=direction, angle=0.0)
        angle = math.atan2(_dot(b, _cross(n, v)), _dot(b_across, v))
        return replace(self, direction=direction, angle=angle)

    def _v(self, n: ScalarVector, chest: _Matrix) -> ScalarVector:
        constant, *columns = self.model
        seen = _rotated([*zip(*chest, strict=True)], n)
        return _rotated(chest, _sum((1.0, constant), *zip(seen, columns, strict=True)))

    def _from_n(self, of_v: ScalarVector, chest: _Matrix) -> ScalarVector:
        """Return ``B^T g``: the covector of dn for that of dv."""
        seen = _rotated([*zip(*chest, strict=True)], of_v)
        x, y, z = (_dot(column, seen) for column in self.model[1:])
        return _rotated(chest, (x, y, z))

    def jacobian(self, placed: PlacedTree, motions: TreeMotions) -> Array:
        """Return how the residual, but for its sign, changes with each coordinate (1, N + S)."""
        bend = self.bend(placed)
        shoulder, elbow, wrist = motions.of_joints(self.joints)
        found: Array = bend.elbow @ (elbow - shoulder) + bend.wrist @ (wrist - shoulder)
        turning = motions.axes_of(self.bone)
        found[: len(turning)] += turning @ bend.chest
        return found[None]


def swivel_task(start: StartTree, placed: PlacedTree, swivel: Swivel) -> SwivelTask:
    """Return the swivel task of an arm."""
    a, x, y, z = ((float(p), float(q), float(r)) for p, q, r in swivel.model)
    length = sum(start.tree.lengths[joint] for joint in swivel.joints[1:])
    return SwivelTask([*swivel.joints], swivel.bone, (a, x, y, z), length).in_the_pose(placed)


def _sum(*terms: tuple[float, ScalarVector]) -> ScalarVector:
    """Return the sum of vectors times their factors."""
    x = y = z = 0.0
    for factor, (p, q, r) in terms:
        x, y, z = x + factor * p, y + factor * q, z + factor * r
    return x, y, z


# Of floats these are floats; the type of a ``Component`` may be an array.
_dot = cast("Callable[[ScalarVector, ScalarVector], float]", dot)
_cross = cast("Callable[[ScalarVector, ScalarVector], ScalarVector]", cross)
_minus = cast("Callable[[ScalarVector, ScalarVector], ScalarVector]", subtract)
_scaled = cast("Callable[[ScalarVector, float], ScalarVector]", scale)


def _rotated(matrix: _Matrix, a: ScalarVector) -> ScalarVector:
    first, second, third = matrix
    return _dot(first, a), _dot(second, a), _dot(third, a)
