# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The paper's passes, and what mixing saves of them. Sweeps are counted, not timed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core.fabrik.acceleration import DEPTH, Mixing
from fabrik_addon.core.fabrik.passes import (
    Stop,
    both_passes,
    links_of,
    reach_test,
    straight_to_target,
    sweep_to_target,
)
from fabrik_addon.core.math.operations import ARRAY, SCALAR, Point, quiet
from tests.unit.chains import (
    Array,
    even_or_uneven_lengths,
    link_lengths,
    nearest_reach,
    random_pose,
    seeds,
    unit,
)


def problem(rng: np.random.Generator, count: int, reach: float) -> tuple[Array, list[float], Array]:
    """Joints from the origin, links adding up to one, and a target."""
    joints = random_pose(rng, [1.0 / count] * count, 0.8).positions
    return joints - joints[0], [1.0 / count] * count, reach * unit(rng.normal(size=3))


def points_of(joints: Array) -> list[Point]:
    return [tuple(joint) for joint in joints.tolist()]


def items_of(poses: list[Array]) -> list[Point]:
    """Poses (J, 3) side by side."""
    return [np.array([pose[j] for pose in poses]).T for j in range(len(poses[0]))]


def plain_sweeps(joints: Array, lengths: list[float], target: Array, tolerance: float) -> int:
    """How many sweeps FABRIK needs on its own."""
    points = points_of(joints)
    for sweep in range(1, 2000):
        both_passes(SCALAR, points, links_of(tuple(lengths)), tuple(target.tolist()))
        if np.linalg.norm(np.array(points[-1]) - target) <= tolerance:
            return sweep
    return 2000


def accelerated_sweeps(joints: Array, lengths: list[float], target: Array, tolerance: float) -> int:
    goal = tuple(target.tolist())
    points, sweeps = sweep_to_target(SCALAR, points_of(joints), lengths, goal, False, Stop(tolerance, 2000))
    assert np.linalg.norm(np.array(points[-1]) - target) <= tolerance
    return int(sweeps)


@given(seeds, st.integers(2, 20), st.floats(0.1, 1.5))
def test_a_sweep_is_the_papers_two_stages(seed: int, count: int, reach: float) -> None:
    joints, lengths, target = problem(np.random.default_rng(seed), count, reach)
    points = points_of(joints)
    both_passes(SCALAR, points, links_of(tuple(lengths)), tuple(target.tolist()))
    # Every joint goes to the point at the link's length from its neighbour, toward where the joint was.
    pulled = [*joints[:-1], target]
    for j in range(count - 1, 0, -1):
        pulled[j] = pulled[j + 1] + lengths[j] * unit(joints[j] - pulled[j + 1])
    pushed = [joints[0]]
    for j in range(1, count + 1):
        pushed.append(pushed[-1] + lengths[j - 1] * unit(pulled[j] - pushed[-1]))
    np.testing.assert_allclose(points, pushed, atol=1e-12)


def test_the_papers_first_sweep_by_hand() -> None:
    # Two links of one, straight up; the target is one to the side and one up.
    points: list[Point] = [(0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 2.0, 0.0)]
    both_passes(SCALAR, points, links_of((1.0, 1.0)), (1.0, 1.0, 0.0))
    assert points == [(0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 1.0, 0.0)]
    points = [(0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 2.0, 0.0)]
    both_passes(SCALAR, points, links_of((1.0, 1.0)), (1.0, 0.0, 0.0))
    half = np.sqrt(0.5)  # stage 1 leaves the elbow at (1 - half, half, 0)
    elbow = unit((1 - half, half, 0.0))
    np.testing.assert_allclose(points[1], elbow)
    np.testing.assert_allclose(points[2], elbow + unit(np.array([1.0, 0.0, 0.0]) - elbow))


@given(even_or_uneven_lengths(1, 12), st.floats(0.0, 2.0))
def test_the_reach_test_is_the_ring_between_folded_and_stretched(lengths: list[float], reach: float) -> None:
    distance = reach * sum(lengths)
    too_far, too_near = reach_test(lengths, distance)
    assert too_far == (distance >= sum(lengths))
    assert too_near == (distance <= 2.0 * max(lengths) - sum(lengths))
    if distance < nearest_reach(lengths):
        assert too_near


@given(even_or_uneven_lengths(1, 12), st.booleans())
def test_out_of_reach_is_one_line_with_its_tip_as_far_or_as_near_as_can_be(lengths: list[float], far: bool) -> None:
    joints = np.array(straight_to_target(SCALAR, lengths, (0.0, 0.6, 0.8), far))
    np.testing.assert_allclose(link_lengths(joints), lengths, rtol=1e-9)
    ends = sum(lengths) if far else 2.0 * max(lengths) - sum(lengths)
    np.testing.assert_allclose(joints[-1], ends * np.array([0.0, 0.6, 0.8]), atol=1e-12 * sum(lengths))


@pytest.mark.parametrize(("count", "most"), [(3, 25), (10, 25), (30, 40)])
def test_mixing_saves_most_sweeps_near_full_extension(count: int, most: int) -> None:
    rng = np.random.default_rng(count)
    plain, accelerated = [], []
    for _ in range(40):
        joints, lengths, target = problem(rng, count, rng.uniform(0.97, 0.999))
        plain.append(plain_sweeps(joints, lengths, target, 1e-5))
        accelerated.append(accelerated_sweeps(joints, lengths, target, 1e-5))
    assert np.percentile(accelerated, 95) <= most
    assert np.median(accelerated) < 0.25 * np.median(plain)
    assert max(accelerated) < np.percentile(plain, 95)


def test_mixing_costs_no_sweeps_where_plain_ones_do() -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        joints, lengths, target = problem(rng, 10, rng.uniform(0.3, 0.8))
        plain = plain_sweeps(joints, lengths, target, 1e-4)
        assert accelerated_sweeps(joints, lengths, target, 1e-4) <= plain + 2


def test_sweeps_end_at_the_cap_with_what_they_have() -> None:
    joints, lengths, target = problem(np.random.default_rng(4), 6, 0.99)
    points = points_of(joints)
    for _ in range(3):
        both_passes(SCALAR, points, links_of(tuple(lengths)), tuple(target.tolist()))
    single, sweeps = sweep_to_target(SCALAR, points_of(joints), lengths, tuple(target.tolist()), False, Stop(1e-9, 3))
    assert sweeps == 3
    np.testing.assert_array_equal(single, points)
    items = items_of([joints, joints])
    many, sweeps = sweep_to_target(
        ARRAY, items, lengths, tuple(np.array([target, target]).T), np.zeros(2, bool), Stop(1e-9, 3)
    )
    assert sweeps.tolist() == [3, 3]
    np.testing.assert_array_equal(np.array(many)[..., 1], points)


def test_items_that_are_done_are_left_alone() -> None:
    rng = np.random.default_rng(2)
    problems = [problem(rng, 5, reach) for reach in (0.5, 0.99, 0.7)]
    lengths = problems[0][1]
    joints = items_of([p[0] for p in problems])
    target = tuple(np.array([p[2] for p in problems]).T)
    points, sweeps = sweep_to_target(ARRAY, joints, lengths, target, np.array([False, True, False]), Stop(1e-6, 100))
    assert sweeps[1] == 0
    np.testing.assert_array_equal(np.array(points)[..., 1], problems[1][0])
    for item in (0, 2):
        alone = accelerated_sweeps(problems[item][0], lengths, problems[item][2], 1e-6)
        assert sweeps[item] == alone > 0


def test_two_joints_on_one_point_end_a_item_as_it_began() -> None:
    joints = np.array([(0.0, 0.0, 0.0), (0.0, 0.5, 0.0), (0.5, 0.5, 0.0)])
    on_joint, free = joints[1], np.array([0.3, -0.6, 0.1])
    points, sweeps = sweep_to_target(
        SCALAR, points_of(joints), [0.5, 0.5], tuple(on_joint.tolist()), False, Stop(1e-6, 9)
    )
    np.testing.assert_array_equal(points, joints)
    items = items_of([joints, joints])
    with quiet():
        points, sweeps = sweep_to_target(
            ARRAY, items, [0.5, 0.5], tuple(np.array([on_joint, free]).T), np.zeros(2, bool), Stop(1e-6, 50)
        )
    np.testing.assert_array_equal(np.array(points)[..., 0], joints)
    assert sweeps[0] == 0
    np.testing.assert_allclose(points[-1][:, 1], free, atol=1e-6)


def test_mixing_solves_a_linear_map_in_as_many_steps_as_it_has_dimensions() -> None:
    # Anderson mixing of g(x) = A x + b with full history is GMRES: DEPTH dimensions need DEPTH + 1 outputs.
    rng = np.random.default_rng(0)
    slow = np.diag([0.9, -0.5, 0.6])[:DEPTH, :DEPTH]
    basis = np.linalg.qr(rng.normal(size=(DEPTH, DEPTH)))[0]
    matrix, offset = basis @ slow @ basis.T, rng.normal(size=DEPTH)
    solution = np.linalg.solve(np.eye(DEPTH) - matrix, offset)
    mixing, state = Mixing(SCALAR), [0.0] * DEPTH
    for step in range(DEPTH + 1):
        output = (matrix @ state + offset).tolist()
        # The error falls all the time, so that every step is accepted.
        state = mixing.next_input(state, output, 1.0 / (1 + step))
    np.testing.assert_allclose(state, solution, rtol=1e-3)


def test_mixing_goes_back_where_the_error_grew() -> None:
    mixing = Mixing(SCALAR)
    good = [1.0, 2.0]
    assert mixing.next_input([0.0, 0.0], good, 0.5) == good
    assert mixing.next_input([1.0, 2.0], [40.0, -3.0], 0.9) == good
    # The next step starts over from there: a plain sweep, then mixing again.
    after = mixing.next_input(good, [1.5, 2.5], 0.4)
    assert np.isfinite(after).all()
