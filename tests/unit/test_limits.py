# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Joint limits: swing-twist decomposition, and clamping to ranges and quarter ellipses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core.math.operations import ARRAY, SCALAR
from fabrik_addon.core.model.joint_limits import (
    JointLimits,
    axes_at_limit,
    clamp,
    clamp_rotation,
    ellipse_normal,
    ellipse_share,
    joint_limits,
    outside_by,
    rotation_of,
    swing_twist,
    widened,
)
from scripts.benchmark.limit_sets import violation
from tests.unit.chains import matrix, quaternion, seeds, turn, turn_angle

Angles = tuple[float, float, float]
Coordinates = tuple[float, float, float]

INFINITE = math.inf

swings = st.floats(0.0, 3.1)
twists = st.floats(-3.1, 3.1)
headings = st.floats(-math.pi, math.pi)


def swung(swing: float, heading: float, twist: float) -> Coordinates:
    """A swing by an angle about an axis in the xz plane, after a twist: half-sines and the angle between."""
    size = math.sin(0.5 * swing)
    return size * math.cos(heading), twist, size * math.sin(heading)


coordinates = st.builds(swung, swings, headings, twists)


@st.composite
def ranges(draw: st.DrawFn, most: float = 3.0) -> tuple[float, float]:
    """Limits of an axis: none, locked, one side, both sides, or a range without rest."""
    kind = draw(st.sampled_from(["free", "locked", "straddling", "from rest", "to rest", "anywhere", "one-sided"]))
    a, b = draw(st.floats(0.01, most)), draw(st.floats(0.01, most))
    return {
        "free": (-INFINITE, INFINITE),
        "locked": (0.0, 0.0),
        "straddling": (-a, b),
        "from rest": (0.0, b),
        "to rest": (-a, 0.0),
        "anywhere": (min(a, b), max(a, b)),
        "one-sided": (-a, INFINITE),
    }[kind]


@st.composite
def limits(draw: st.DrawFn) -> tuple[Angles, Angles]:
    """Limits of a joint that a swing by at most 180 degrees is within."""
    (lx, ux), (ly, uy), (lz, uz) = draw(ranges(2.0)), draw(ranges(3.0)), draw(ranges(1.0))
    if draw(st.booleans()):
        (lx, ux), (lz, uz) = (lz, uz), (lx, ux)
    return (lx, ly, lz), (ux, uy, uz)


def outside(ends: tuple[Angles, Angles], s: Coordinates) -> float:
    """Angle (radians) by which joint coordinates are outside limits, measured on their rotation."""
    lower, upper = np.array(ends[0]), np.array(ends[1])
    return float(violation(lower, upper, np.array(rotation_of(SCALAR, s))))


# A rotation apart and together again


@given(seeds)
def test_joint_coordinates_of_a_rotation_give_the_rotation(seed: int) -> None:
    q = np.random.default_rng(seed).normal(size=4)
    q /= np.linalg.norm(q)
    again = np.array(rotation_of(SCALAR, swing_twist(SCALAR, tuple(q.tolist()))))
    assert min(abs(again - q).max(), abs(again + q).max()) < 1e-12


@given(coordinates)
def test_joint_coordinates_are_those_of_their_rotation(s: Coordinates) -> None:
    assert swing_twist(SCALAR, rotation_of(SCALAR, s)) == pytest.approx(s, abs=1e-9)


@given(coordinates)
def test_opposite_quaternions_have_the_same_joint_coordinates(s: Coordinates) -> None:
    w, x, y, z = rotation_of(SCALAR, s)
    assert swing_twist(SCALAR, (-w, -x, -y, -z)) == pytest.approx(s, abs=1e-9)


@given(swings, headings, twists)
def test_a_rotation_is_the_swing_after_the_twist(swing: float, heading: float, twist: float) -> None:
    """As in Blender's own IK: the twist first, then a swing about an axis in the xz plane."""
    expected = turn((math.cos(heading), 0.0, math.sin(heading)), swing) @ turn((0.0, 1.0, 0.0), twist)
    made = matrix(np.array(rotation_of(SCALAR, swung(swing, heading, twist))))
    np.testing.assert_allclose(made, expected, atol=1e-12)
    taken = swing_twist(SCALAR, tuple(quaternion(expected).tolist()))
    assert taken == pytest.approx(swung(swing, heading, twist), abs=1e-7)


@pytest.mark.parametrize("heading", [0.0, 0.7, 2.5])
def test_a_swing_by_180_degrees_has_no_twist(heading: float) -> None:
    q = (0.0, math.cos(heading), 0.0, math.sin(heading))
    assert swing_twist(SCALAR, q) == pytest.approx((q[1], 0.0, q[3]))
    assert rotation_of(SCALAR, swing_twist(SCALAR, q)) == pytest.approx(q)


# The nearest inside


@given(limits(), coordinates)
def test_clamped_coordinates_are_within_limits(ends: tuple[Angles, Angles], s: Coordinates) -> None:
    made = clamp(SCALAR, joint_limits(*ends), s)
    assert abs(np.linalg.norm(rotation_of(SCALAR, made)) - 1.0) < 1e-12
    if made[0] ** 2 + made[2] ** 2 < 1.0 - 1e-12:  # a swing by 180 degrees has no twist
        assert outside(ends, made) <= 1e-9


@given(limits(), coordinates)
def test_clamping_twice_is_clamping_once(ends: tuple[Angles, Angles], s: Coordinates) -> None:
    joint = joint_limits(*ends)
    once = clamp(SCALAR, joint, s)
    assert clamp(SCALAR, joint, once) == pytest.approx(once, abs=1e-12)


@given(limits(), coordinates)
def test_coordinates_within_limits_do_not_change(ends: tuple[Angles, Angles], s: Coordinates) -> None:
    if outside(ends, s) == 0.0:
        assert clamp(SCALAR, joint_limits(*ends), s) == pytest.approx(s, abs=1e-12)


@given(limits(), coordinates)
def test_clamped_rotations_are_within_limits(ends: tuple[Angles, Angles], s: Coordinates) -> None:
    joint = joint_limits(*ends)
    made, expected = clamp_rotation(joint, rotation_of(SCALAR, s)), rotation_of(SCALAR, clamp(SCALAR, joint, s))
    size = math.hypot(made[0], made[2])
    assert size < 1e-6 or abs(np.dot(made, expected)) == pytest.approx(1.0, abs=1e-12)


@given(limits(), st.lists(coordinates, min_size=1, max_size=5))
def test_clamping_a_batch_is_clamping_each_item(ends: tuple[Angles, Angles], several: list[Coordinates]) -> None:
    joint = joint_limits(*ends)
    items = tuple(np.array(part) for part in zip(*several, strict=True))
    made = np.stack(np.broadcast_arrays(*clamp(ARRAY, joint, items)), axis=-1)
    np.testing.assert_allclose(made, [clamp(SCALAR, joint, s) for s in several], atol=1e-12)
    taken = np.stack(swing_twist(ARRAY, rotation_of(ARRAY, items)), axis=-1)
    np.testing.assert_allclose(taken, several, atol=1e-9)


@given(coordinates)
def test_without_limits_nothing_changes(s: Coordinates) -> None:
    free = joint_limits((-INFINITE,) * 3, (INFINITE,) * 3)
    assert clamp(SCALAR, free, s) == pytest.approx(s, abs=1e-15)
    assert free.locked == (False, False, False)


@given(coordinates)
def test_a_joint_that_is_locked_stays_at_rest(s: Coordinates) -> None:
    locked = joint_limits((0.0,) * 3, (0.0,) * 3)
    assert clamp(SCALAR, locked, s) == (0.0, 0.0, 0.0)
    assert locked.locked == (True, True, True)


@given(twists, coordinates)
def test_an_axis_can_be_locked_at_an_angle(angle: float, s: Coordinates) -> None:
    made = clamp(SCALAR, joint_limits((0.0, angle, 0.0), (0.0, angle, 0.0)), s)
    expected = turn((0.0, 1.0, 0.0), angle)
    np.testing.assert_allclose(matrix(np.array(rotation_of(SCALAR, made))), expected, atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("ends", [(0.0, 140.0), (5.0, 150.0), (-90.0, 10.0), (-60.0, 60.0), (30.0, 30.0)])
@pytest.mark.parametrize("angle", [-100.0, -20.0, 0.0, 4.0, 60.0, 149.0, 155.0])
def test_a_hinge_rotates_about_its_axis_within_its_range(axis: int, ends: tuple[float, float], angle: float) -> None:
    lower, upper = np.zeros(3), np.zeros(3)
    lower[axis], upper[axis] = np.radians(ends)
    about = np.eye(3)[axis]
    q = clamp_rotation(joint_limits(lower, upper), tuple(quaternion(turn(about, math.radians(angle))).tolist()))
    expected = turn(about, math.radians(min(max(angle, ends[0]), ends[1])))
    np.testing.assert_allclose(matrix(np.array(q)), expected, atol=1e-12)


@given(st.floats(0.0, 7.0), st.floats(0.2, 6.0), st.booleans(), twists)
def test_a_twist_ends_at_the_nearest_end_of_a_range_beyond_180_degrees(
    past: float, width: float, is_mirrored: bool, twist: float
) -> None:
    """Limit Rotation takes "90 to 270 degrees"."""
    low = math.pi + past - 0.5 * width
    low = -low - width if is_mirrored else low
    joint = joint_limits((-INFINITE, low, -INFINITE), (INFINITE, low + width, INFINITE))
    found = clamp(SCALAR, joint, (0.0, twist, 0.0))[1]
    assert low - 1e-12 <= found <= low + width + 1e-12

    def apart(a: float, b: float) -> float:
        return abs((a - b + math.pi) % math.tau - math.pi)

    ends = apart(twist, low), apart(twist, low + width)
    is_feasible = (twist - low) % math.tau <= width
    assert apart(found, twist) == pytest.approx(0.0 if is_feasible else min(ends), abs=1e-9)


def test_a_twist_at_the_end_of_a_range_beyond_180_degrees_is_found() -> None:
    joint = joint_limits((-INFINITE, math.radians(90.0), -INFINITE), (INFINITE, math.radians(270.0), INFINITE))
    for degrees, named in ((90.0, "Y"), (180.0, ""), (-100.0, ""), (-90.0, "Y")):
        half = math.radians(0.5 * degrees)
        assert axes_at_limit(joint, (math.cos(half), 0.0, math.sin(half), 0.0)) == named


# Quarter ellipses


@given(
    st.tuples(*[st.floats(0.02, 3.0)] * 4),
    st.floats(-math.pi, math.pi),
    st.floats(0.0, 3.0),
)
def test_each_quadrant_has_its_own_ellipse(radii: tuple[float, ...], around: float, far: float) -> None:
    """Points of an ellipse in half-sines: the end of a ray from rest, as in Blender's own IK."""
    left, right, down, up = radii
    joint = joint_limits((-left, -1.0, -down), (right, 1.0, up))
    assert joint.is_ellipse
    cosine, sine = math.cos(around), math.sin(around)
    x = cosine * math.sin(0.5 * (right if cosine > 0.0 else left))
    z = sine * math.sin(0.5 * (up if sine > 0.0 else down))
    assert ellipse_share(SCALAR, joint, far * x, far * z) == pytest.approx(far, abs=1e-9)
    made_x, _, made_z = clamp(SCALAR, joint, (far * x, 0.0, far * z))
    assert (made_x, made_z) == pytest.approx((min(far, 1.0) * x, min(far, 1.0) * z), abs=1e-9)


@given(st.tuples(*[st.floats(0.1, 3.0)] * 4), st.floats(-math.pi, math.pi))
def test_the_normal_is_the_gradient_of_the_share(radii: tuple[float, ...], around: float) -> None:
    left, right, down, up = radii
    joint = joint_limits((-left, -1.0, -down), (right, 1.0, up))
    x, z = 0.5 * math.cos(around), 0.5 * math.sin(around)
    if min(abs(x), abs(z)) < 1e-3:
        return  # where two quarters meet
    step = 1e-6
    gradient = np.array(
        [
            ellipse_share(SCALAR, joint, x + step, z) - ellipse_share(SCALAR, joint, x - step, z),
            ellipse_share(SCALAR, joint, x, z + step) - ellipse_share(SCALAR, joint, x, z - step),
        ]
    )
    np.testing.assert_allclose(ellipse_normal(SCALAR, joint, x, z), gradient / np.linalg.norm(gradient), atol=1e-6)


def test_a_swing_at_each_end_of_its_ranges_is_within_limits() -> None:
    joint = joint_limits((-0.3, -1.0, -0.6), (0.9, 1.0, 1.2))
    for axis, angle in ((0, -0.3), (0, 0.9), (2, -0.6), (2, 1.2)):
        s = [0.0, 0.0, 0.0]
        s[axis] = math.sin(0.5 * angle)
        assert clamp(SCALAR, joint, (s[0], s[1], s[2])) == pytest.approx(s)
        s[axis] *= 1.2
        q = np.array(clamp_rotation(joint, rotation_of(SCALAR, (s[0], s[1], s[2]))))
        assert turn_angle(matrix(q)) == pytest.approx(abs(angle))


def test_a_swing_beside_a_quadrant_without_width_loses_one_component_alone() -> None:
    """The ray from rest to an ellipse without width ends at rest: Blender clamps to the ranges there."""
    joint = joint_limits((0.0, -1.0, -0.5), (2.0, 1.0, 0.5))
    assert joint.has_flat_quarter
    assert clamp(SCALAR, joint, (-0.05, 0.0, 0.1)) == pytest.approx((0.0, 0.0, 0.1))
    assert clamp(SCALAR, joint, (-0.05, 0.0, 0.9)) == pytest.approx((0.0, 0.0, math.sin(0.25)))
    assert clamp(SCALAR, joint, (0.0, 0.0, 0.1)) == pytest.approx((0.0, 0.0, 0.1))
    assert not joint_limits((-0.1, -1.0, -0.5), (2.0, 1.0, 0.5)).has_flat_quarter


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        ((-INFINITE, -1.0, -0.5), (INFINITE, 1.0, 0.5)),  # one of them is free
        ((0.1, -1.0, -0.5), (2.0, 1.0, 0.5)),  # rest isn't inside
        ((0.0, -1.0, -0.5), (0.0, 1.0, 0.5)),  # a hinge
        ((-INFINITE,) * 3, (INFINITE,) * 3),
    ],
)
def test_ranges_without_rest_or_width_are_not_an_ellipse(lower: Angles, upper: Angles) -> None:
    joint = joint_limits(lower, upper)
    assert not joint.is_ellipse
    x, z = (
        min(max(0.2, math.sin(0.5 * max(a, -3.0))), math.sin(0.5 * min(b, 3.0)))
        for a, b in ((lower[0], upper[0]), (lower[2], upper[2]))
    )
    assert clamp(SCALAR, joint, (x, 0.5, z)) == pytest.approx((x, 0.5, z))


# Swings by more than 180 degrees


@given(st.floats(-1.5, 1.5), st.floats(-1.5, 1.5))
def test_swings_end_below_180_degrees(x: float, z: float) -> None:
    """A step of least squares can exceed them: the quaternion would not be a unit quaternion."""
    for lower, upper in (
        ((-INFINITE,) * 3, (INFINITE,) * 3),
        ((-1.0, -1.0, -INFINITE), (1.0, 1.0, INFINITE)),
        ((0.2, -1.0, 0.3), (2.9, 1.0, 2.9)),
    ):
        joint = joint_limits(lower, upper)
        made = clamp(SCALAR, joint, (x, 0.0, z))
        assert np.linalg.norm(rotation_of(SCALAR, made)) == pytest.approx(1.0, abs=1e-12)
        for axis in (0, 2):
            assert joint.lower[axis] - 1e-12 <= made[axis] <= joint.upper[axis] + 1e-12


# Which axes are at their limit


@pytest.mark.parametrize(
    ("s", "named"),
    [
        ((0.0, 0.0, 0.0), ""),
        ((math.sin(0.5), 0.0, 0.0), "X"),
        ((0.0, 0.5, 0.0), "Y"),
        ((0.0, -0.7, math.sin(-0.35)), "YZ"),
        ((math.sin(0.5) / math.sqrt(2.0), 0.2, math.sin(0.4) / math.sqrt(2.0)), "XZ"),
    ],
)
def test_axes_at_their_limit_are_found(s: Coordinates, named: str) -> None:
    joint = joint_limits((-0.9, -0.7, -0.7), (1.0, 0.5, 0.8))
    assert axes_at_limit(joint, rotation_of(SCALAR, s)) == named


@pytest.mark.parametrize(("angle", "named"), [(0.0, "X"), (1.0, ""), (2.0, "X")])
def test_locked_axes_of_a_hinge_are_not_found(angle: float, named: str) -> None:
    joint = joint_limits((0.0, 0.0, 0.0), (2.0, 0.0, 0.0))
    assert isinstance(joint, JointLimits)
    assert joint.locked == (False, True, True)
    assert axes_at_limit(joint, rotation_of(SCALAR, (math.sin(0.5 * angle), 0.0, 0.0))) == named


def test_a_limit_at_rest_is_found() -> None:
    joint = joint_limits((0.0, -1.0, -0.5), (2.0, 1.0, 0.5))
    assert axes_at_limit(joint, rotation_of(SCALAR, (0.0, 0.0, 0.0))) == "X"
    assert axes_at_limit(joint, rotation_of(SCALAR, (0.3, 0.0, 0.0))) == ""


# Twists beyond 180 degrees


@pytest.mark.parametrize("ends", [(100.0, 260.0), (-300.0, -200.0), (170.0, 190.0), (-270.0, 45.0), (-270.0, 270.0)])
def test_a_range_of_twists_may_lie_beyond_180_degrees(ends: tuple[float, float]) -> None:
    """190 and -170 degrees are the same rotation."""
    low, high = np.radians(ends)
    joint = joint_limits((-1.0, low, -1.0), (1.0, high, 1.0))
    for twist in np.linspace(low, high, 7).tolist():
        q = rotation_of(SCALAR, swung(0.4, 1.0, twist))
        made = clamp_rotation(joint, q)
        assert abs(np.dot(made, q)) == pytest.approx(1.0, abs=1e-12)
    near = clamp_rotation(joint, rotation_of(SCALAR, (0.0, high + 0.1, 0.0)))
    wide = high - low > 2.0 * math.pi - 0.2
    assert wide or abs(np.dot(near, rotation_of(SCALAR, (0.0, high, 0.0)))) == pytest.approx(1.0, abs=1e-12)
    assert "Y" in axes_at_limit(joint, rotation_of(SCALAR, (0.0, high, 0.0))) or wide


# Widened limits


@given(limits(), coordinates)
def test_widened_limits_hold_a_rotation_and_all_that_the_limits_hold(
    ends: tuple[Angles, Angles], s: Coordinates
) -> None:
    q = rotation_of(SCALAR, s)
    wider = widened(*ends, q)
    assert outside_by(joint_limits(*wider), q) < 1e-5
    if outside_by(joint_limits(*ends), q) == 0.0:
        assert wider == ends
    for low, high, wider_low, wider_high in zip(*ends, *wider, strict=True):
        assert (wider_low <= low and high <= wider_high) or (low == high and wider_low == wider_high)


@pytest.mark.parametrize("q", [(0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), (0.0, -1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0)])
def test_limits_are_widened_to_half_a_turn_about_one_axis(q: tuple[float, float, float, float]) -> None:
    """Blender takes a quaternion of length 0 for half a turn about X; that ended in a division by zero."""
    wider = widened((-1.0, -0.5, -0.6), (2.0, 0.5, 0.7), q)
    assert outside_by(joint_limits(*wider), q) < 2e-3  # the swing is at most the largest half-sine


def test_a_hinge_that_is_bent_aside_stays_a_joint_of_one_axis() -> None:
    ends = ((0.0, 0.0, 0.0), (2.5, 0.0, 0.0))
    (lx, ly, lz), (ux, uy, uz) = widened(*ends, rotation_of(SCALAR, (-0.1, 0.3, 0.05)))
    assert (lx, ux) == pytest.approx((-2.0 * math.asin(0.1), 2.5))
    assert ly == uy == pytest.approx(0.3)
    assert lz == uz == pytest.approx(2.0 * math.asin(0.05))
