# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks of a tree: position, orientation, pole; and a state of the tree, one pose.

A task has a residual at a pose, which has ``rows`` components, and its Jacobian, for which it needs the motions of its
``moved_joints``. Some have more: ``off``, the angle by which the task isn't met; ``partly``, the task that asks for a
share of the residual; and their part of K, by ``moments`` of their forces and by their ``own_curvature``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np

from ..math.operations import TINY, Array, Component, Condition, Vector
from ..math.quaternion_arrays import crossing
from ..math.quaternions import Quaternion, conjugate, multiply, rotate
from ..math.rigid_fit import turned_by
from ..math.vectors import add, cross, dot, norm, rejection, relative_to, scale
from ..model.placed_tree import PlacedTree
from ..model.skeleton import JointCoordinates, Tree
from ..model.tree_motions import TreeMotions
from .balance_task import BalanceTask
from .floor_task import FloorTask
from .look_at_task import ROTATION_SCALE, LookAtTask
from .pole_arc import Change, PoleArc, pole_arc
from .swivel_task import SwivelTask

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
            bend = relative_to(first, root, 1.0)
            for joint in others:
                bend = add(bend, relative_to(joint, root, 1.0))
            bcg = bend, relative_to(tip, root, 1.0), relative_to(self.pole, root, 1.0)
            self._last[:] = [(placed, pole_arc(placed.ops, bcg, self.angle, self.rounding, self.fade))]
        return self._last[0][1]

    def deviations(self, placed: PlacedTree) -> tuple[float, float]:
        """Return the distance |b'| of the inner joints' sum from the chord, and their distances' sum; of one pose."""
        root, *inner, tip = (placed.joints[joint] for joint in self.joints)
        chord = relative_to(tip, root, 1.0)
        along = scale(chord, 1.0 / (math.hypot(*chord) + TINY))
        across = [rejection(relative_to(joint, root, 1.0), along) for joint in inner]
        return math.hypot(*map(sum, zip(*across, strict=True))), sum(math.hypot(*each) for each in across)

    def rotation_to_pole(self, placed: PlacedTree) -> Vector:
        """Return the rotation vector about the chord that takes the bend to the pole; 0 where there is no angle."""
        angle = self.arc(placed).angle
        (ax, ay, az), (bx, by, bz) = placed.joints[self.joints[0]], placed.joints[self.joints[-1]]
        chord = (bx - ax, by - ay, bz - az)
        return scale(chord, -angle / (math.hypot(*chord) + TINY))


def _rows(changes: Sequence[Change]) -> Array:
    """Return changes with b, c and g as rows (..., K, 9)."""
    flat = np.array([part for change in changes for vector in change for part in vector])
    rows: Array = flat.T.reshape(*flat.shape[1:], len(changes), 9)
    return rows


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
