# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The task of a pole: a chain of a tree should bend toward it, by the arc from bend to pole (``pole_arc``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..math.operations import TINY, Array, Component, Vector
from ..math.quaternion_arrays import crossing
from ..math.vectors import add, rejection, scale, subtract
from ..model.placed_tree import PlacedTree
from ..model.tree_motions import TreeMotions
from .pole_arc import Change, PoleArc, pole_arc

POLE_ROUNDING = 0.004
"""Rounding r of poles that are weighed against other tasks, in the tree's units. A hand of Rigify's human that was
dragged low beyond reach, and back the other way around (bench row "body-path", poles, no limits), was off by 0.13
degrees with 0.007, by 0.5 with 0.014, by 0.04 with this."""

POLE_FADE, POLE_FADE_BESIDE_PINS = (0.0, 0.5), (0.2, 0.7)
"""Sines of the angle at the root from chord to pole: up to the first of each pair a pole task has no residual, from the
second on all of it. On the chord no side is the pole's.

Of 40 closed paths on which a foot of Rigify's human, the other one pinned, is led past the pole of its knee (bench row
"body-paths") 16 have a step in which a bone rotates by more than 3 times the median step's largest rotation with 0
and 0.7, 3 with 0.2 and 0.7. Without pins arms stay on their poles' sides with 0 and 0.5, three of 200 don't with 0.2
and 0.7 (bench row "trees")."""


@dataclass(frozen=True)
class PoleTask:
    """A chain of joints should bend toward a pole: the residual is ``-phi f h`` (``pole_arc``)."""

    joints: Sequence[int]
    """From the chain's root to its tip."""
    pole: Vector
    angle: float
    """Rotation of the pole about the line from root to tip, radians."""
    rounding: float = 0.0
    """r of ``pole_arc``, in the units of the tree. Where poles are held (``held_descent``) it is 0, and f h counts as
    a constant: the whole gradient leads to a straight chain, not to one that is rotated to the pole.

    A chain that is stretched straight has no side, and with h = rho_b the second derivatives of the residual grow as
    1 / rho_b: a step that is longer than rho_b goes past the axis, where the derivatives say nothing of the residual.

    By weight, with h and f as constants, there is no cost of which the forces are the gradient, and descents end
    anywhere. On the paths of ``POLE_FADE`` a bone rotated in one step by up to 43 times the median step's largest
    rotation, and one path ended 99 degrees open; with their gradients and ``POLE_FADE_BESIDE_PINS`` by up to 3.4
    times, open by 0.11 degrees. Without the motion of root and tip in the gradient a body with four poles and a free
    root took 26 steps (median) and didn't converge."""
    fade: tuple[float, float] = POLE_FADE
    """Sines of the angle from chord to pole up to which f is 0, and from which on it is 1."""
    _last: list[tuple[PlacedTree, PoleArc]] = field(default_factory=list, init=False, repr=False, compare=False)
    """The pose whose ``arc`` was asked for last, and what it is."""
    _last_moved: list[tuple[TreeMotions, Array]] = field(default_factory=list, init=False, repr=False, compare=False)
    """The motions whose ``_moved`` was asked for last, and what it is."""
    rows = 1

    @property
    def moved_joints(self) -> Sequence[int]:
        """The joints whose motions the Jacobian needs."""
        return self.joints

    def residual(self, placed: PlacedTree) -> tuple[Component]:
        """Return ``-phi f h``, in the tree's units."""
        arc = self.arc(placed)
        return (-arc.angle * arc.height,)

    def jacobian(self, placed: PlacedTree, motions: TreeMotions) -> Array:
        """Return how ``phi f h`` changes with each coordinate (..., 1, N + S); without rounding f h is a constant."""
        return _rows([self.arc(placed).gradient(is_height_constant=not self.rounding)]) @ self._moved(motions)

    def _moved(self, motions: TreeMotions) -> Array:
        """Return how b, c and g of ``pole_arc`` move with each coordinate (..., 9, N + S)."""
        if not self._last_moved or self._last_moved[0][0] is not motions:
            moved = motions.of_joints(self.joints)
            root = moved[..., 0, :, :]
            bend = moved[..., 1:-1, :, :].sum(-3) - (len(self.joints) - 2) * root
            found = np.concatenate([bend, moved[..., -1, :, :] - root, -root], axis=-2)
            self._last_moved[:] = [(motions, found)]
        return self._last_moved[0][1]

    def moments(self, motions: TreeMotions, forces: Array) -> Array:
        """Return the sum of ``F x dp/dq`` (..., 3, N + S) of the forces F of f (..., 1) on b, c and g."""
        pushes = forces[..., None] * _rows([self.arc(motions.placed).gradient(is_height_constant=False)])
        moved = self._moved(motions)
        pushes, moved = pushes.reshape(*pushes.shape[:-2], 3, 3), moved.reshape(*moved.shape[:-2], 3, 3, -1)
        moments: Array = (crossing(pushes) @ moved).sum(-3)
        return moments

    def own_curvature(self, motions: TreeMotions, forces: Array) -> Array:
        """Return the part of K (..., N + S, N + S) of the second derivatives by b, c and g (``PoleArc.curvature``)."""
        left, right = zip(*self.arc(motions.placed).curvature(), strict=True)
        moved = self._moved(motions)
        half = (forces[..., None] * _rows(left) @ moved).swapaxes(-1, -2) @ (_rows(right) @ -moved)
        curvature: Array = half + half.swapaxes(-1, -2)
        return curvature

    def off(self, placed: PlacedTree) -> float:
        """Return the angle (radians) between bend and pole; 0 where the chain is straight, or the pole has no side."""
        return abs(float(self.arc(placed).angle))

    def arc(self, placed: PlacedTree) -> PoleArc:
        """Return the arc from bend to pole at a pose."""
        if not self._last or self._last[0][0] is not placed:
            root, first, *others, tip = (placed.joints[joint] for joint in self.joints)
            bend = subtract(first, root)
            for joint in others:
                bend = add(bend, subtract(joint, root))
            bcg = bend, subtract(tip, root), subtract(self.pole, root)
            self._last[:] = [(placed, pole_arc(placed.ops, bcg, self.angle, self.rounding, self.fade))]
        return self._last[0][1]

    def deviations(self, placed: PlacedTree) -> tuple[float, float]:
        """Return the distance |b'| of the inner joints' sum from the chord, and their distances' sum; of one pose."""
        root, *inner, tip = (placed.joints[joint] for joint in self.joints)
        chord = subtract(tip, root)
        along = scale(chord, 1.0 / (math.hypot(*chord) + TINY))
        across = [rejection(subtract(joint, root), along) for joint in inner]
        return math.hypot(*map(sum, zip(*across, strict=True))), sum(math.hypot(*each) for each in across)

    def rotation_to_pole(self, placed: PlacedTree) -> Vector:
        """Return the rotation vector about the chord that takes the bend to the pole; 0 where there is no angle."""
        angle = self.arc(placed).angle
        chord = subtract(placed.joints[self.joints[-1]], placed.joints[self.joints[0]])
        return scale(chord, -angle / (math.hypot(*chord) + TINY))


def _rows(changes: Sequence[Change]) -> Array:
    """Return changes with b, c and g as rows (..., K, 9)."""
    flat = np.array([part for change in changes for vector in change for part in vector])
    rows: Array = flat.T.reshape(*flat.shape[1:], len(changes), 9)
    return rows
