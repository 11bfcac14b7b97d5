# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Joint limits: a bone's own rotation as swing and twist, and the nearest one that its limits allow.

A rotation is a swing, about an axis in the bone's xz plane, after a twist about its y axis. A swing by an angle is
written as a vector along its axis, sin(angle / 2) long, as in Blender's own IK (IK_QSphericalSegment): where x and z
are both limited their ranges are the axes of four quarter ellipses (2011 paper, section 4.3), else each is a range by
itself. An axis whose range has no width is locked: two of them leave a hinge, three a bone that can't turn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from ..math.operations import SCALAR, TINY, Component, Operations, Vector
from ..math.quaternions import Quaternion

SwingTwist: TypeAlias = Vector
"""x and z of the swing, half-sines, with the twist angle (radians) between: one component for each axis."""


AT_LIMIT = 1e-9
"""Distance of a joint coordinate from its limit that counts as at the limit, half-sines or radians."""

_FLAT = 1e-9
"""Half-sine that counts as no width."""

LARGEST_HALF_SINE = math.sqrt(1.0 - 1e-8)
"""Largest half-sine of a swing that goes with a twist: 180 degrees less 0.012.

At half a turn w = y = 0 for every twist, so that swing and twist can't be told apart in the quaternion: the rounding of
w and y, 1e-16, is divided by the cosine of half the swing. With swings up to 180 degrees the quaternion of a joint
within its limits was 0.2 radians outside when it was read back; a cosine of at least 1e-4 leaves an error of 1e-12.
"""


@dataclass(frozen=True)
class JointLimits:
    """What one bone may do about its own axes: smallest and largest, half-sines for x and z, radians for y."""

    lower: tuple[float, float, float]
    upper: tuple[float, float, float]
    is_ellipse: bool
    """Whether x and z are the axes of quarter ellipses rather than two ranges."""

    @cached_property
    def locked(self) -> tuple[bool, bool, bool]:
        """Which axes can't turn at all."""
        x, y, z = (low == high for low, high in zip(self.lower, self.upper, strict=True))
        return x, y, z

    @cached_property
    def is_free(self) -> bool:
        """Whether the joint turns any way."""
        return self.lower == (-1.0, -math.inf, -1.0) and self.upper == (1.0, math.inf, 1.0)

    @cached_property
    def radii(self) -> tuple[tuple[float, float], ...]:
        """Of the quarter ellipses, by axis: below rest and above."""
        # An ellipse with one end at rest has no width there: next to none keeps its ray finite.
        ends = zip(self.lower, self.upper, strict=True)
        return tuple((max(-lower, _FLAT), max(upper, _FLAT)) for lower, upper in ends)

    @cached_property
    def has_flat_quarter(self) -> bool:
        """Whether a swing's ellipses have a side that ends at rest."""
        ends = (self.lower[0], self.upper[0], self.lower[2], self.upper[2])
        return self.is_ellipse and min(map(abs, ends)) <= _FLAT

    @cached_property
    def reaches_half_turn(self) -> bool:
        """Whether the ranges of x and z hold swings beyond ``LARGEST_HALF_SINE``; a hinge has no twist to confuse."""
        (lx, _, lz), (ux, _, uz) = self.lower, self.upper
        return max(-lx, ux) ** 2 + max(-lz, uz) ** 2 > LARGEST_HALF_SINE**2 and hinge_axis(self) is None


def joint_limits(lower: Sequence[float], upper: Sequence[float]) -> JointLimits:
    """Return the limits of a joint from angles (radians) about its x, y and z; infinite where it is free."""
    (lx, ly, lz), (ux, uy, uz) = lower, upper
    is_limited = (math.isfinite(lx) or math.isfinite(ux)) and (math.isfinite(lz) or math.isfinite(uz))
    holds_rest = lx <= 0.0 <= ux and lz <= 0.0 <= uz
    is_ellipse = is_limited and holds_rest and lx < ux and lz < uz
    largest = LARGEST_HALF_SINE if is_ellipse else 1.0
    return JointLimits(
        lower=(_half_sine(lx, largest), max(ly, -math.inf), _half_sine(lz, largest)),
        upper=(_half_sine(ux, largest), min(uy, math.inf), _half_sine(uz, largest)),
        is_ellipse=is_ellipse,
    )


def _half_sine(angle: float, largest: float) -> float:
    return min(max(math.sin(0.5 * min(max(angle, -math.pi), math.pi)), -largest), largest)


def swing_twist(ops: Operations, q: Quaternion) -> SwingTwist:
    """Take a rotation apart: x and z of the swing as half-sines, the twist as an angle from -pi to pi."""
    w, x, y, z = q
    size = ops.sqrt(w * w + y * y)
    # A swing by half a turn leaves no twist to tell: none is as good as any.
    none = size < 1e-9
    cosine, sine = ops.choose(none, (1.0 + 0.0 * w, 0.0 * w), (w / (size + TINY), y / (size + TINY)))
    flip = ops.where(cosine < 0.0, -1.0, 1.0)  # the same twist, from -pi to pi
    return x * cosine + z * sine, 2.0 * ops.atan2(flip * sine, flip * cosine), z * cosine - x * sine


def rotation_of(ops: Operations, s: SwingTwist) -> Quaternion:
    """Put a rotation together again."""
    x, twist, z = s
    w = ops.sqrt(ops.maximum(1.0 - x * x - z * z, 0.0))
    half = 0.5 * twist
    cosine, sine = ops.cos(half), ops.sin(half)
    return w * cosine, x * cosine - z * sine, w * sine, x * sine + z * cosine


def clamp(ops: Operations, limits: JointLimits, s: SwingTwist) -> SwingTwist:
    """Return the nearest rotation that limits allow: on its own ellipse's ray, and in its own ranges."""
    x, twist, z = s
    (lx, ly, lz), (ux, uy, uz) = limits.lower, limits.upper
    twist = ops.minimum(ops.maximum(_twist_near(ops, limits, twist), ly), uy)
    if not limits.is_ellipse:
        x, z = ops.minimum(ops.maximum(x, lx), ux), ops.minimum(ops.maximum(z, lz), uz)
        if limits.reaches_half_turn:
            x, z = within_half_turn(ops, (lx, lz), (ux, uz), x, z)
        return x, twist, z
    share = ellipse_share(ops, limits, x, z)
    inside = ops.minimum(1.0 / (share + TINY), 1.0)
    if not limits.has_flat_quarter:
        return x * inside, twist, z * inside
    # On a quarter without width its ray ends at rest: there the nearest is in the ranges, as in Blender's own IK.
    is_flat = ops.minimum(_radius(ops, limits, 0, x), _radius(ops, limits, 2, z)) <= _FLAT
    in_ranges = ops.minimum(ops.maximum(x, lx), ux), ops.minimum(ops.maximum(z, lz), uz)
    x, z = ops.choose(is_flat, in_ranges, (x * inside, z * inside))
    return x, twist, z


def _twist_near(ops: Operations, limits: JointLimits, twist: Component) -> Component:
    """Return the angle of a twist that is nearest to the middle of a range beyond half a turn, going round."""
    lower, upper = limits.lower[1], limits.upper[1]
    if not math.isfinite(upper - lower) or -math.pi <= lower <= upper <= math.pi:
        return twist
    return twist + math.tau * ops.floor((0.5 * (lower + upper) - twist) / math.tau + 0.5)


def hinge_axis(limits: JointLimits) -> int | None:
    """Return the only axis about which a bone turns, or None. Swings that are locked are locked at rest then."""
    free = [axis for axis, locked in enumerate(limits.locked) if not locked]
    if len(free) != 1 or any(limits.lower[axis] != 0.0 for axis in {0, 2} - set(free)):
        return None
    return free[0]


def angle_within(ops: Operations, limits: JointLimits, axis: int, angle: Component) -> Component:
    """Return the angle (radians) of a hinge that is nearest to another one in its range, going round."""
    lower, upper = limits.lower[axis], limits.upper[axis]
    if axis != 1:
        lower, upper = 2.0 * math.asin(lower), 2.0 * math.asin(upper)
    middle = 0.5 * (lower + upper) if math.isfinite(upper - lower) else 0.0
    off = angle - middle
    off = off - math.tau * ops.floor(off / math.tau + 0.5)
    return ops.minimum(ops.maximum(middle + off, lower), upper)


def within_half_turn(
    ops: Operations, lower: Sequence[Component], upper: Sequence[Component], x: Component, z: Component
) -> tuple[Component, Component]:
    """Return the swing, in its ranges of x and z, with a half-sine of at most ``LARGEST_HALF_SINE``."""
    (lx, lz), (ux, uz) = lower, upper
    square = LARGEST_HALF_SINE**2
    inside = LARGEST_HALF_SINE / ops.maximum(ops.sqrt(x * x + z * z), LARGEST_HALF_SINE)
    x, z = ops.minimum(ops.maximum(x * inside, lx), ux), ops.minimum(ops.maximum(z * inside, lz), uz)
    # Where rest isn't in the ranges that may have left one of them, and coming back may be too far again.
    most = ops.sqrt(ops.maximum(square - x * x, 0.0))
    z = ops.minimum(ops.maximum(ops.minimum(ops.maximum(z, -most), most), lz), uz)
    most = ops.sqrt(ops.maximum(square - z * z, 0.0))
    return ops.minimum(ops.maximum(x, -most), most), z


def ellipse_share(ops: Operations, limits: JointLimits, x: Component, z: Component) -> Component:
    """Return how far out a swing is: 1 on the ellipse of its quadrant."""
    p, q = x / _radius(ops, limits, 0, x), z / _radius(ops, limits, 2, z)
    return ops.sqrt(p * p + q * q)


def ellipse_normal(ops: Operations, limits: JointLimits, x: Component, z: Component) -> tuple[Component, Component]:
    """Return the direction in which a swing leaves its ellipse, x and z of a unit vector."""
    radius_x, radius_z = _radius(ops, limits, 0, x), _radius(ops, limits, 2, z)
    p, q = x / (radius_x * radius_x), z / (radius_z * radius_z)
    size = ops.sqrt(p * p + q * q) + TINY
    return p / size, q / size


def _radius(ops: Operations, limits: JointLimits, axis: int, value: Component) -> Component:
    down, up = limits.radii[axis]
    return ops.where(value > 0.0, up, down)


def clamp_rotation(limits: JointLimits, q: Quaternion, ops: Operations = SCALAR) -> Quaternion:
    """Return the nearest rotation that limits allow; one lane unless other operations are given."""
    return rotation_of(ops, clamp(ops, limits, swing_twist(ops, q)))


def outside_by(limits: JointLimits, q: Quaternion) -> float:
    """Return by how many radians a bone's own rotation is outside its limits, about its worst axis; one lane."""
    turn = swing_twist(SCALAR, q)
    (x, twist, z), (cx, c_twist, cz) = turn, clamp(SCALAR, limits, turn)
    swings = (2.0 * abs(_asin(value) - _asin(nearest)) for value, nearest in ((x, cx), (z, cz)))
    return float(max(abs(twist - c_twist), *swings))


def _asin(half_sine: float) -> float:
    return math.asin(min(max(half_sine, -1.0), 1.0))


def axes_at_limit(limits: JointLimits, q: Quaternion, margin: float = 1e-3) -> str:
    """Return the axes, out of "XYZ", on which a bone's own rotation is at its limit; locked ones don't count.

    Args:
        limits: of the joint.
        q: the bone's own rotation, one lane.
        margin: half-sine or radians from the limit that count as at it.
    """
    x, twist, z = swing_twist(SCALAR, q)
    turn = x, _twist_near(SCALAR, limits, twist), z
    found = ""
    for axis, name in enumerate("XYZ"):
        lower, upper = limits.lower[axis], limits.upper[axis]
        if limits.is_ellipse and axis != 1:
            share = abs(turn[axis]) / _radius(SCALAR, limits, axis, turn[axis])
            is_out = ellipse_share(SCALAR, limits, turn[0], turn[2]) > 1.0 - margin and share > 0.1
            is_out = is_out or (turn[axis] < margin and -lower <= _FLAT) or (turn[axis] > -margin and upper <= _FLAT)
        else:
            is_out = lower < upper and not lower + margin < turn[axis] < upper - margin
        found += name if is_out else ""
    return found
