# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks of a tree: position, orientation, pole, each with its residual; and a state of the tree, one pose."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np

from ..math.operations import TINY, Array, Component, Condition, Vector
from ..math.quaternions import Quaternion, conjugate, multiply, rotate
from ..math.rigid_fit import turned_by
from ..math.vectors import combination, cross, dot, norm, rejection, relative_to, scale
from ..model.placed_tree import PlacedTree
from ..model.skeleton import JointCoordinates, Tree
from ..model.tree_motions import TreeMotions
from .balance_task import BalanceTask
from .floor_task import FloorTask
from .look_at_task import ROTATION_SCALE, LookAtTask
from .swivel_task import SwivelTask

LEAST_BEND = 1e-6
"""Length of a chord, or distance of a bend or a pole from it, in the tree's units, up to which there is no angle."""

POLE_ROUNDING = 0.004
"""Rounding s of poles that are weighed against other tasks, in the tree's units. A hand of Rigify's human that was
dragged low beyond reach, and back the other way around (bench row "body-path", poles, no limits), was off by 0.13
degrees with 0.007, by 0.5 with 0.014, by 0.04 with this."""

POLE_FADE, POLE_FADE_BESIDE_PINS = (0.0, 0.5), (0.2, 0.7)
"""Sines of the angle at the root from chord to pole: up to the first of each pair a pole task has no residual, from the
second on all of it. On the chord no side is the pole's.

Of 40 closed paths on which a foot of Rigify's human, the other one pinned, is led past the pole of its knee (bench row
"body-paths") 16 have a step in which a bone rotates by more than 3 times the median step's largest rotation with 0
and 0.7, 23 with 0.1 and 0.5, 4 with 0.2 and 0.9, and 3 with 0.2 and 0.7. Without pins arms stay on their poles' sides
with 0 and 0.5, three of 200 don't with 0.2 and 0.7 (bench row "trees")."""


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
        axes = motions.turned(self.bone)
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


Arc: TypeAlias = tuple[Component, Component, Callable[[], list[Vector]]]
"""Of a pole task at a pose: phi, ``f h``, and the gradient of their product (``PoleTask.arc``)."""


@dataclass(frozen=True)
class PoleTask:
    """A chain of joints should bend toward a pole: the residual is ``-phi f h`` (``arc``)."""

    joints: Sequence[int]
    """From the chain's root to its tip."""
    pole: Vector
    angle: float
    """Rotation of the pole about the line from root to tip, radians."""
    rounding: float = 0.0
    """s, in the tree's units: near the chord h is ``|b'|^2 / (2 s)``. Where poles are held (``held_descent``) s is 0,
    and f and h are constants of the gradient: the whole gradient leads to a straight chain, not to one that is rotated
    to the pole.

    A chain that is stretched straight has no side, and with h = |b'| the second derivatives of the residual grow as
    1 / |b'|: a step that is longer than |b'| goes past the axis, where the derivatives say nothing of the residual."""
    fade: tuple[float, float] = POLE_FADE
    """Sines of the angle from chord to pole up to which f is 0, and from which on it is 1."""
    _last: list[tuple[PlacedTree, Arc]] = field(default_factory=list, init=False, repr=False, compare=False)
    """The pose whose ``arc`` was asked for last, and what it is."""
    rows = 1

    @property
    def moved_joints(self) -> Sequence[int]:
        """The joints whose motions the Jacobian needs."""
        return self.joints

    def residual(self, placed: PlacedTree) -> tuple[Component]:
        """Return ``-phi f h``, in the tree's units."""
        angle, height, _ = self.arc(placed)
        return (-angle * height,)

    def jacobian(self, placed: PlacedTree, motions: TreeMotions) -> Array:
        """Return how ``phi f h`` changes with each coordinate (..., 1, N + S); without rounding f h is a constant."""
        gradient = np.array([part for row in self.arc(placed)[2]() for part in row]).T
        moved = motions.of_joints(self.joints).reshape(*gradient.shape, -1)
        return gradient[..., None, :] @ moved

    def off(self, placed: PlacedTree) -> float:
        """Return the angle (radians) between bend and pole; 0 where the chain is straight, or the pole has no side."""
        return abs(float(self.arc(placed)[0]))

    def arc(self, placed: PlacedTree) -> Arc:
        """Return phi (0 where f is 0), ``f h``, and a function for the change of ``phi f h`` with each joint."""
        if not self._last or self._last[0][0] is not placed:
            self._last[:] = [(placed, self._arc(placed))]
        return self._last[0][1]

    def _arc(self, placed: PlacedTree) -> Arc:
        """Compute ``arc``.

        With the chord c from root to tip, e = c / |c|, the sum b of the inner joints and the pole g, both from the
        root, and n_v = e x v / |e x v|, the angle phi from the pole, rotated by ``angle``, to the bend, within +-pi,
        changes by

            n_b.db / |b'| - (b.e) n_b.dc / (|b'| |c|) - n_g.dg / |g'| + (g.e) n_g.dc / (|g'| |c|)

        where v' is the part of v across the chord, and ``h = sqrt(|b'|^2 + s^2) - s``, with the rounding s, by
        ``|b'| / sqrt(|b'|^2 + s^2)`` times ``(b' / |b'|).(db - (b.e) dc / |c|)``. Without the motion of root and tip in
        the gradient a body with four poles and a free root took 26 steps (median) and didn't converge.

        Near the chord the pole's direction across it turns fast, and on the chord there is none. So the residual is
        ``-phi f h`` with ``f = t^2 (3 - 2 t)``, where t grows from 0 to 1 while ``|g'| / |g|``, the sine of the angle
        between chord and pole, grows from the first number of ``fade`` to the second. With u = g' / |g'| it changes by

            (g.e) / |g| (((g.e) u - |g'| e).dg / |g|^2 - u.dc / |c|)

        With h and f as constants there is no cost of which the forces are the gradient, and descents by weight end
        anywhere. On the paths of ``POLE_FADE`` a bone rotated in one step by up to 43 times the median step's largest
        rotation, and one path ended 99 degrees open; with their gradients and ``POLE_FADE_BESIDE_PINS`` by up to 3.4
        times, open by 0.11 degrees.
        """
        ops = placed.ops
        (rx, ry, rz), *inner, (tx, ty, tz) = (placed.joints[joint] for joint in self.joints)
        cx, cy, cz = tx - rx, ty - ry, tz - rz
        chord = ops.sqrt(cx * cx + cy * cy + cz * cz) + TINY
        ex, ey, ez = cx / chord, cy / chord, cz / chord
        gx, gy, gz = self.pole[0] - rx, self.pole[1] - ry, self.pole[2] - rz
        bx = by = bz = 0.0 * chord
        for px, py, pz in inner:
            bx, by, bz = bx + px - rx, by + py - ry, bz + pz - rz
        along_b, along_g = bx * ex + by * ey + bz * ez, gx * ex + gy * ey + gz * ez
        bx, by, bz = bx - along_b * ex, by - along_b * ey, bz - along_b * ez
        gx, gy, gz = gx - along_g * ex, gy - along_g * ey, gz - along_g * ez
        size, aside = ops.sqrt(bx * bx + by * by + bz * bz), ops.sqrt(gx * gx + gy * gy + gz * gz)
        has_angle = ops.minimum(ops.minimum(size, aside), chord) > LEAST_BEND
        wide, far = ops.maximum(size, LEAST_BEND), ops.maximum(aside, LEAST_BEND)
        nx, ny, nz = (ey * bz - ez * by) / wide, (ez * bx - ex * bz) / wide, (ex * by - ey * bx) / wide
        mx, my, mz = (ey * gz - ez * gy) / far, (ez * gx - ex * gz) / far, (ex * gy - ey * gx) / far
        angle = ops.atan2(bx * mx + by * my + bz * mz, (bx * gx + by * gy + bz * gz) / far) - self.angle
        angle = angle - math.tau * ops.round(angle / math.tau)
        distance = ops.sqrt(far * far + along_g * along_g)
        none, whole = self.fade
        t = ops.minimum(1.0, ops.maximum(0.0, (far / distance - none) / (whole - none)))
        t = ops.where(has_angle, t, 0.0)
        fade = t * t * (3.0 - 2.0 * t)

        root = ops.sqrt(size * size + self.rounding * self.rounding)
        height = root - self.rounding

        def gradient() -> list[Vector]:
            p, q, share, count = -along_b / chord, height * along_g / (far * chord), height / far, len(inner)
            about = height / wide if self.rounding else 1.0 + 0.0 * size
            outward = angle / root if self.rounding else 0.0 * size
            of_inner = combination(fade * about, (nx, ny, nz), fade * outward, (bx, by, bz))
            at_tip = combination(p, of_inner, fade * q, (mx, my, mz))
            at_pole = scale((mx, my, mz), -fade * share)
            if self.rounding:
                slope = 6.0 * t * (1.0 - t) / (whole - none)
                of_fade = angle * height * slope * along_g / distance
                across, turn = scale((gx, gy, gz), 1.0 / far), of_fade / (distance * distance)
                at_tip = combination(1.0, at_tip, -of_fade / chord, across)
                of_ratio = combination(turn * along_g, across, -turn * far, (ex, ey, ez))
                at_pole = combination(1.0, at_pole, 1.0, of_ratio)
            x, y, z = combination(-1.0, at_pole, -count, of_inner)
            return [relative_to((x, y, z), at_tip, 1.0), *[of_inner] * count, at_tip]

        return ops.where(fade > 0.0, angle, 0.0), fade * height, gradient

    def deviations(self, placed: PlacedTree) -> tuple[float, float]:
        """Return the distance |b'| of the inner joints' sum from the chord, and their distances' sum; of one pose."""
        root, *inner, tip = (placed.joints[joint] for joint in self.joints)
        chord = relative_to(tip, root, 1.0)
        along = scale(chord, 1.0 / (math.hypot(*chord) + TINY))
        across = [rejection(relative_to(joint, root, 1.0), along) for joint in inner]
        return math.hypot(*map(sum, zip(*across, strict=True))), sum(math.hypot(*each) for each in across)

    def rotation_to_pole(self, placed: PlacedTree) -> Vector:
        """Return the rotation vector about the chord that takes the bend to the pole; 0 where there is no angle."""
        angle, _, _ = self.arc(placed)
        (ax, ay, az), (bx, by, bz) = placed.joints[self.joints[0]], placed.joints[self.joints[-1]]
        chord = (bx - ax, by - ay, bz - az)
        return scale(chord, -angle / (math.hypot(*chord) + TINY))


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
