# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Joint limits: swing-twist decomposition of a bone's own rotation, and clamping of swing and twist to their limits.

A bone's own rotation is ``q = q_swing q_twist``: first a twist about the bone's y axis, then a swing about an axis in
the bone's xz plane. The three joint coordinates are the twist angle (radians) and two half-sines, the x and z
components of the swing's unit quaternion: a swing by the angle s has half-sines of the length ``sin(s / 2)`` along its
axis, as in Blender's own IK (``IK_QSphericalSegment``).

Limits are a smallest and a largest value for each coordinate. Where x and z are both limited and not locked, with rest
(0) within both ranges, the allowed swings are bounded by four quarter ellipses, one in each quadrant of the xz plane,
whose radii are the limits (Aristidou and Lasenby 2011, section 4.3); otherwise x and z are two independent ranges. A
swing outside its ellipse is moved along its ray from rest to the ellipse, as in Blender's own IK; the paper takes the
nearest point of the ellipse, which needs an iteration. A coordinate whose range has no width is locked: two locked
coordinates make a hinge, three a bone that can't rotate.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from ..math.operations import SCALAR, TINY, Component, Operations, Vector
from ..math.quaternions import Quaternion, ScalarQuaternion

SwingTwist: TypeAlias = Vector
"""Joint coordinates (x, y, z): the half-sines x and z of the swing, and the twist angle y (radians) between them; or
three Euler angles (``JointLimits.order``)."""


AT_LIMIT = 1e-9
"""Distance of a joint coordinate from its limit up to which it is at the limit, half-sines or radians."""

NEAR_LIMIT = 1e-3
"""``AT_LIMIT`` of what people are told."""

ROUNDED_ANGLE = 1e-5
"""Angle (radians) outside a limit that is single precision's rounding."""

LEAST_RADIUS = 1e-9
"""Radius of a quarter ellipse whose limit is at rest, half-sine: not zero, because half-sines are divided by it."""

HALF_TURN_COSINE = 1e-9
"""Cosine of half a swing below which the swing is by 180 degrees and its twist undetermined."""

LARGEST_HALF_SINE = math.sqrt(1.0 - 1e-8)
"""Largest half-sine of a swing of a joint that also twists: 180 degrees less 0.012.

At 180 degrees w = y = 0 for every twist, so that the quaternion doesn't determine the twist: the rounding of w and y,
1e-16, is divided by the cosine of half the swing, here at least 1e-4.
"""


@dataclass(frozen=True)
class JointLimits:
    """Limits of one bone's joint coordinates: half-sines for x and z and radians for y, or radians of Euler angles."""

    lower: tuple[float, float, float]
    """Smallest x, y, z. Where there is no limit: -1 (x, z) or -inf (y), with an ``order`` -inf."""
    upper: tuple[float, float, float]
    """Largest x, y, z. Where there is no limit: 1 (x, z) or inf (y), with an ``order`` inf."""
    is_ellipse: bool
    """Whether the limits of x and z are the radii of quarter ellipses, not two ranges."""
    order: str = ""
    """Order of the Euler angles about x, y and z (radians), 'XYZ' for example, where these are the coordinates
    (``euler_joint``); '' of swing and twist."""

    @cached_property
    def locked(self) -> tuple[bool, bool, bool]:
        """Which coordinates can't change."""
        x, y, z = (low == high for low, high in zip(self.lower, self.upper, strict=True))
        return x, y, z

    @cached_property
    def is_free(self) -> bool:
        """Whether there are no limits."""
        return self.lower == (-1.0, -math.inf, -1.0) and self.upper == (1.0, math.inf, 1.0)

    @cached_property
    def radii(self) -> tuple[tuple[float, float], ...]:
        """Radii of the quarter ellipses for negative and positive values, of x, y and z; those of y are not used."""
        ends = zip(self.lower, self.upper, strict=True)
        return tuple((max(-lower, LEAST_RADIUS), max(upper, LEAST_RADIUS)) for lower, upper in ends)

    @cached_property
    def has_flat_quarter(self) -> bool:
        """Whether a quarter ellipse has no width, because one of its limits is at rest."""
        ends = (self.lower[0], self.upper[0], self.lower[2], self.upper[2])
        return self.is_ellipse and min(map(abs, ends)) <= LEAST_RADIUS

    @cached_property
    def has_turns(self) -> bool:
        """Whether the twist's range is finite and not within -pi to pi: full turns then decide which end is near."""
        lower, upper = self.lower[1], self.upper[1]
        return not self.order and math.isfinite(upper - lower) and not -math.pi <= lower <= upper <= math.pi

    @cached_property
    def reaches_half_turn(self) -> bool:
        """Whether swings beyond ``LARGEST_HALF_SINE`` are in the ranges of x and z; never for a hinge."""
        (lx, _, lz), (ux, _, uz) = self.lower, self.upper
        if self.order or max(-lx, ux) ** 2 + max(-lz, uz) ** 2 <= LARGEST_HALF_SINE**2:
            return False
        return hinge_axis(self) is None


def joint_limits(lower: Sequence[float], upper: Sequence[float], order: str = "") -> JointLimits:
    """Return limits by the smallest and largest angles (radians) about x, y and z; infinite ones are no limits.

    With an order they are those of Euler angles.
    """
    if order:
        (lx, ly, lz), (ux, uy, uz) = lower, upper
        return JointLimits((lx, ly, lz), (ux, uy, uz), False, order)
    return _joint_limits(*lower, *upper)


@lru_cache(maxsize=256)
def _joint_limits(lx: float, ly: float, lz: float, ux: float, uy: float, uz: float) -> JointLimits:
    is_limited = (math.isfinite(lx) or math.isfinite(ux)) and (math.isfinite(lz) or math.isfinite(uz))
    holds_rest = lx <= 0.0 <= ux and lz <= 0.0 <= uz
    is_ellipse = is_limited and holds_rest and lx < ux and lz < uz
    largest = LARGEST_HALF_SINE if is_ellipse else 1.0
    return JointLimits(
        lower=(_half_sine(lx, largest), ly, _half_sine(lz, largest)),
        upper=(_half_sine(ux, largest), uy, _half_sine(uz, largest)),
        is_ellipse=is_ellipse,
    )


def _half_sine(angle: float, largest: float) -> float:
    """Return ``sin(angle / 2)`` of an angle (radians), clamped to -180 to 180 degrees and to a largest half-sine."""
    return min(max(math.sin(0.5 * min(max(angle, -math.pi), math.pi)), -largest), largest)


def swing_twist(ops: Operations, q: Quaternion) -> SwingTwist:
    """Return the joint coordinates of a rotation ``q = (w, x, y, z)``.

    With ``n = sqrt(w^2 + y^2)`` the twist is ``(w, 0, y, 0) / n``, and the half-sines of the swing are the x and z of
    ``q q_twist^-1``: ``(x w + z y) / n`` and ``(z w - x y) / n``. The twist angle is from -pi to pi. It is 0 for a
    swing by 180 degrees, where n = 0 and the twist is undetermined.
    """
    w, x, y, z = q
    size = ops.sqrt(w * w + y * y)
    is_undetermined = size < HALF_TURN_COSINE
    cosine, sine = ops.choose(is_undetermined, (1.0 + 0.0 * w, 0.0 * w), (w / (size + TINY), y / (size + TINY)))
    sign = ops.where(cosine < 0.0, -1.0, 1.0)  # q and -q are one rotation: that with the angle from -pi to pi
    return x * cosine + z * sine, 2.0 * ops.atan2(sign * sine, sign * cosine), z * cosine - x * sine


def rotation_of(ops: Operations, s: SwingTwist) -> Quaternion:
    """Return the rotation ``q_swing q_twist`` of joint coordinates: the inverse of ``swing_twist``."""
    x, twist, z = s
    w = ops.sqrt(ops.maximum(1.0 - x * x - z * z, 0.0))
    half = 0.5 * twist
    cosine, sine = ops.cos(half), ops.sin(half)
    return w * cosine, x * cosine - z * sine, w * sine, x * sine + z * cosine


def swing_axes(ops: Operations, x: Component, z: Component) -> tuple[Vector, Vector]:
    """Return the angular velocities of a bone by the half-sines x and z of its swing, in its parent frame.

    With ``w = sqrt(1 - x^2 - z^2)`` they are ``2 (x^2 / w + w, z, x z / w)`` and ``2 (x z / w, -x, z^2 / w + w)``. That
    of the twist is the bone's own y axis.
    """
    w = ops.sqrt(ops.maximum(1.0 - x * x - z * z, 1e-6))
    across = 2.0 * x * z / w
    return (2.0 * (x * x / w + w), 2.0 * z, across), (across, -2.0 * x, 2.0 * (z * z / w + w))


def clamp(ops: Operations, limits: JointLimits, s: SwingTwist) -> SwingTwist:
    """Return joint coordinates within limits.

    The twist is clamped to its range, plus or minus full turns. The swing is clamped to the ranges of x and z (and to
    ``LARGEST_HALF_SINE``), or it is moved along its ray from rest to its quarter ellipse. In a quadrant whose quarter
    ellipse has no width x and z are clamped to their ranges, as in Blender's own IK. Coordinates within the limits are
    returned as they are, the twist up to full turns.
    """
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
    is_flat = ops.minimum(_radius(ops, limits, 0, x), _radius(ops, limits, 2, z)) <= LEAST_RADIUS
    in_ranges = ops.minimum(ops.maximum(x, lx), ux), ops.minimum(ops.maximum(z, lz), uz)
    x, z = ops.choose(is_flat, in_ranges, (x * inside, z * inside))
    return x, twist, z


def _twist_near(ops: Operations, limits: JointLimits, twist: Component) -> Component:
    """Return a twist angle plus the full turns that bring it nearest to the middle of its range, with ``has_turns``."""
    if not limits.has_turns:
        return twist
    lower, upper = limits.lower[1], limits.upper[1]
    return twist + math.tau * ops.floor((0.5 * (lower + upper) - twist) / math.tau + 0.5)


def hinge_axis(limits: JointLimits) -> int | None:
    """Return the axis of a hinge, 0 to 2: the one coordinate that isn't locked; swings have to be locked at rest.

    None is another joint, or one of Euler angles.
    """
    if limits.order:
        return None
    free = [axis for axis, locked in enumerate(limits.locked) if not locked]
    if len(free) != 1 or any(limits.lower[axis] != 0.0 for axis in {0, 2} - set(free)):
        return None
    return free[0]


def angle_within(ops: Operations, limits: JointLimits, axis: int, angle: Component) -> Component:
    """Return the angle within a hinge's range that is nearest to a given angle plus any number of full turns."""
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
    """Return a swing within its ranges of x and z and with a half-sine of at most ``LARGEST_HALF_SINE``.

    The swing is moved along its ray from rest to that circle and clamped to the ranges. If rest is not in the ranges
    that may bring it out of the circle again: then z, and after it x, is reduced to the circle.
    """
    (lx, lz), (ux, uz) = lower, upper
    square = LARGEST_HALF_SINE**2
    inside = LARGEST_HALF_SINE / ops.maximum(ops.sqrt(x * x + z * z), LARGEST_HALF_SINE)
    x, z = ops.minimum(ops.maximum(x * inside, lx), ux), ops.minimum(ops.maximum(z * inside, lz), uz)
    most = ops.sqrt(ops.maximum(square - x * x, 0.0))
    z = ops.minimum(ops.maximum(ops.minimum(ops.maximum(z, -most), most), lz), uz)
    most = ops.sqrt(ops.maximum(square - z * z, 0.0))
    return ops.minimum(ops.maximum(x, -most), most), z


def ellipse_share(ops: Operations, limits: JointLimits, x: Component, z: Component) -> Component:
    """Return ``sqrt((x / a)^2 + (z / b)^2)`` with the radii a, b of the swing's quadrant: 1 on the quarter ellipse."""
    p, q = x / _radius(ops, limits, 0, x), z / _radius(ops, limits, 2, z)
    return ops.sqrt(p * p + q * q)


def ellipse_normal(ops: Operations, limits: JointLimits, x: Component, z: Component) -> tuple[Component, Component]:
    """Return the outward normal of the ellipse through a swing, ``(x / a^2, z / b^2)`` normalised: its x and z."""
    radius_x, radius_z = _radius(ops, limits, 0, x), _radius(ops, limits, 2, z)
    p, q = x / (radius_x * radius_x), z / (radius_z * radius_z)
    size = ops.sqrt(p * p + q * q) + TINY
    return p / size, q / size


def _radius(ops: Operations, limits: JointLimits, axis: int, value: Component) -> Component:
    """Return the radius of the quarter ellipse on the side of a value of x (axis 0) or z (axis 2)."""
    negative, positive = limits.radii[axis]
    return positive if negative == positive else ops.where(value > 0.0, positive, negative)


def clamp_rotation(limits: JointLimits, q: Quaternion, ops: Operations = SCALAR) -> Quaternion:
    """Return a bone's own rotation within its limits (``clamp``)."""
    return rotation_of(ops, clamp(ops, limits, swing_twist(ops, q)))


def outside_by(limits: JointLimits, q: ScalarQuaternion) -> float:
    """Return the angle (radians) by which a bone's own rotation is outside its limits, about its worst axis."""
    coordinates = swing_twist(SCALAR, q)
    pairs = np.array([coordinates, clamp(SCALAR, limits, coordinates)])
    pairs[:, ::2] = 2.0 * np.arcsin(np.clip(pairs[:, ::2], -1.0, 1.0))
    return float(np.abs(pairs[1] - pairs[0]).max())


def widened(
    lower: tuple[float, float, float], upper: tuple[float, float, float], q: ScalarQuaternion
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Return smallest and largest angles (radians), as ``joint_limits`` takes them, that hold a bone's own rotation.

    A coordinate outside its range moves the nearer end of the range to itself; a locked one is locked where it is, so
    that a hinge gets no second axis. Where the swing is outside its quarter ellipse then, both radii a and b are
    multiplied by ``ellipse_share``. Limits that hold the rotation, but for rounding (``ROUNDED_ANGLE``), are returned
    as they are.
    """
    limits = joint_limits(lower, upper)
    if outside_by(limits, q) <= ROUNDED_ANGLE:
        return lower, upper
    x, twist, z = (float(part) for part in swing_twist(SCALAR, q))
    swing_x, swing_z = (2.0 * math.asin(min(max(half_sine, -1.0), 1.0)) for half_sine in (x, z))
    angles = swing_x, float(_twist_near(SCALAR, limits, twist)), swing_z
    low, high = list(lower), list(upper)
    for axis, angle in enumerate(angles):
        if not low[axis] - ROUNDED_ANGLE <= angle <= high[axis] + ROUNDED_ANGLE:
            is_locked = low[axis] == high[axis]
            low[axis], high[axis] = (angle, angle) if is_locked else (min(low[axis], angle), max(high[axis], angle))
    limits = joint_limits(low, high)
    radius_x, radius_z = (float(_radius(SCALAR, limits, axis, angles[axis])) for axis in (0, 2))
    share = float(ellipse_share(SCALAR, limits, x, z)) if limits.is_ellipse else 1.0
    if share > 1.0 and min(radius_x, radius_z) > LEAST_RADIUS:
        # No radius is above the largest half-sine; that of z then follows from (x / a)^2 + (z / b)^2 = 1, as a from b.
        radius_x = min(share * radius_x, LARGEST_HALF_SINE)
        if z != 0.0:  # a swing about X alone, by half a turn, is within any b
            radius_z = min(abs(z) / math.sqrt(max(1.0 - (x / radius_x) ** 2, TINY)), LARGEST_HALF_SINE)
        radius_x = min(abs(x) / math.sqrt(max(1.0 - (z / radius_z) ** 2, TINY)), LARGEST_HALF_SINE)
        for axis, radius in ((0, radius_x), (2, radius_z)):
            reach = 2.0 * math.asin(radius)
            low[axis], high[axis] = (
                (low[axis], max(high[axis], reach)) if angles[axis] > 0.0 else (min(low[axis], -reach), high[axis])
            )
    return (low[0], low[1], low[2]), (high[0], high[1], high[2])


def axes_at_limit(limits: JointLimits, q: ScalarQuaternion) -> str:
    """Return the axes, out of "XYZ", on which a bone's own rotation is at its limit; locked ones don't count.

    On the quarter ellipse those of x and z are at their limit that are more than a tenth of their radius from rest. An
    axis whose limit is at rest is at its limit for all swings to that side, and at rest.
    """
    x, twist, z = swing_twist(SCALAR, q)
    found = ""
    for axis, coordinate in enumerate((x, _twist_near(SCALAR, limits, twist), z)):
        value, lower, upper = float(coordinate), limits.lower[axis], limits.upper[axis]
        if limits.is_ellipse and axis != 1:
            share = abs(value) / _radius(SCALAR, limits, axis, value)
            is_at = bool(ellipse_share(SCALAR, limits, x, z) > 1.0 - NEAR_LIMIT and share > 0.1)
            is_at = is_at or (value < NEAR_LIMIT and -lower <= LEAST_RADIUS)
            is_at = is_at or (value > -NEAR_LIMIT and upper <= LEAST_RADIUS)
        else:
            is_at = lower < upper and not lower + NEAR_LIMIT < value < upper - NEAR_LIMIT
        found += "XYZ"[axis] if is_at else ""
    return found
