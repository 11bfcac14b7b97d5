# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Of all feasible poses that reach, the one that turns least: laws of what it is and that it moves smoothly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabrik_addon.core import solve, start_from
from fabrik_addon.core.math.operations import ARRAY, SCALAR, Component, Vector, quiet
from fabrik_addon.core.model.constrained_chain import ConstrainedChain, ConstrainedPose, place
from fabrik_addon.core.model.joint_limits import SwingTwist, clamp, swing_twist
from fabrik_addon.core.within_limits.least_rotation import LEAST_CHANGE_FROM_SOLUTION, Termination, rotate_least
from scripts.benchmark.limit_sets import ConstrainedBones, angle_of, inverse, own_turns, product
from tests.unit.chains import Array, goals, seeds, unit
from tests.unit.constrained_chains import feasible_coordinates, feasible_targets, random_constrained_chain

SPINE = ConstrainedBones("spine", (((-18.0, 18.0), (-15.0, 15.0), (-18.0, 18.0)),) * 4, 0)
ABOUT_X, ABOUT_Z = ((-80.0, 80.0), (0.0, 0.0), (0.0, 0.0)), ((0.0, 0.0), (0.0, 0.0), (-80.0, 80.0))
HINGES = ConstrainedBones("hinges", (ABOUT_X, ABOUT_Z) * 3, 0)
BALLS = ConstrainedBones("balls", (((-80.0, 80.0), (-20.0, 20.0), (-80.0, 80.0)),) * 3, 0)


def made(rng: np.random.Generator, count: int) -> tuple[ConstrainedChain, list[SwingTwist]]:
    """A chain as the core has it, and feasible turns."""
    constrained_chain = random_constrained_chain(rng, count)
    coordinates = feasible_coordinates(rng, constrained_chain)
    core = start_from(constrained_chain.chain, constrained_chain.posed(coordinates)).constrained_chain
    if core is None:  # every joint came out free
        return made(rng, count)
    return core, [swing_twist(SCALAR, tuple(q)) for q in coordinates.tolist()]


def within_limits(rng: np.random.Generator, core: ConstrainedChain) -> list[SwingTwist]:
    """Random joint coordinates between the limits of every axis, clamped to the limits."""
    shares = rng.uniform(0.0, 1.0, (len(core.limits), 3))
    ends = [np.array([limits.lower, limits.upper]) for limits in core.limits]
    parts = [lower + share * (upper - lower) for (lower, upper), share in zip(ends, shares, strict=True)]
    return [clamp(SCALAR, limits, tuple(map(float, turn))) for limits, turn in zip(core.limits, parts, strict=True)]


def near(
    rng: np.random.Generator, core: ConstrainedChain, coordinates: Sequence[SwingTwist], size: float
) -> list[SwingTwist]:
    """Feasible turns a bit away."""
    moved = [tuple(np.array(turn) + size * rng.normal(size=3)) for turn in coordinates]
    return [clamp(SCALAR, limits, tuple(map(float, turn))) for limits, turn in zip(core.limits, moved, strict=True)]


def tip_of(core: ConstrainedChain, coordinates: Sequence[SwingTwist]) -> Array:
    return np.array(place(SCALAR, core, coordinates).joints[-1])


def rotated(
    core: ConstrainedChain,
    start: Sequence[SwingTwist],
    reference: Sequence[SwingTwist],
    target: Vector,
    termination: Termination,
) -> tuple[ConstrainedPose, Component]:
    """The pose that the descent from some turns ends in, and its tip's distance from the target."""
    return rotate_least(SCALAR, place(SCALAR, core, start), reference, target, termination)


def turned(core: ConstrainedChain, coordinates: Sequence[SwingTwist], reference: Sequence[SwingTwist]) -> float:
    """How far turns are from the reference pose: squared, a stiff axis counting more."""
    off = np.square(np.array(coordinates) - np.array(reference))
    return float((off / np.array(core.weights)).sum())


@given(seeds, st.integers(1, 6))
@settings(max_examples=40)
def test_what_comes_out_is_feasible_and_its_error_true(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    core, reference = made(rng, count)
    target = 0.7 * rng.normal(size=3)
    after, error = rotated(core, reference, reference, tuple(target.tolist()), Termination(1e-4, 40))
    assert error == pytest.approx(np.linalg.norm(np.array(after.tip) - target), abs=1e-12)
    np.testing.assert_allclose(after.tip, tip_of(core, after.coordinates), atol=1e-12)
    for limits, turn in zip(core.limits, after.coordinates, strict=True):
        for axis in range(3):
            assert limits.lower[axis] - 1e-9 <= turn[axis] <= limits.upper[axis] + 1e-9


@given(seeds, st.integers(1, 6))
def test_the_reference_pose_stays_to_the_last_bit_where_it_reaches(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    core, reference = made(rng, count)
    target = tuple((tip_of(core, reference) + 1e-5).tolist())
    assert rotated(core, reference, reference, target, Termination(1e-4, 40))[0].coordinates == reference


@given(seeds, st.integers(3, 6))
@settings(max_examples=40)
def test_no_pose_near_by_reaches_with_less_turn(seed: int, count: int) -> None:
    """Put other poses' tips on the target without the null-space term: none of them is nearer to it."""
    rng = np.random.default_rng(seed)
    core, reference = made(rng, count)
    target = tuple(tip_of(core, near(rng, core, reference, 0.1)).tolist())
    pose, error = rotated(core, reference, reference, target, Termination(1e-4, 60))
    after = pose.coordinates
    if error > 1e-4:
        return
    for _ in range(5):
        start, other_reference = near(rng, core, after, 0.02), near(rng, core, after, 0.02)
        other, other_error = rotated(core, start, other_reference, target, Termination(1e-6, 60))
        if other_error <= 1e-6:
            # Of the distance, not its square, a thousandth is where steps end and the tolerance what a tip may be off.
            assert np.sqrt(turned(core, after, reference)) <= np.sqrt(turned(core, other.coordinates, reference)) + 0.02


@given(seeds)
@settings(max_examples=30)
def test_a_target_that_moves_a_little_moves_the_pose_a_little(seed: int) -> None:
    """Within what three balls reach: a hundredth of a degree for a ten thousandth of the length."""
    rng = np.random.default_rng(seed)
    target = feasible_targets(rng, BALLS, 1)[0]
    if not 0.3 < np.linalg.norm(target) < 0.95 or np.hypot(target[0], target[2]) < 0.1:
        return  # on the verge of reach joints turn as the root of the distance; on the axis any side is as near
    poses = [
        solve(BALLS.chain(), BALLS.rest(), goals(target + 1e-4 * step * unit(rng.normal(size=3)))) for step in (0, 1)
    ]
    if max(pose.error[0] for pose in poses) > 1e-4:
        return
    a, b = (own_turns(pose.pose.rotations[:-1]) for pose in poses)
    assert angle_of(product(inverse(a), b)).max() < 0.02


@pytest.mark.parametrize("joint", [0, 1, 2])
def test_the_stiffer_a_joint_the_less_it_turns(joint: int) -> None:
    rng = np.random.default_rng(4)
    total = np.zeros(4)
    for target in feasible_targets(rng, BALLS, 20):
        by = []
        for stiff in (0.0, 0.5, 0.9, 0.99):
            stiffness = np.zeros((4, 3))
            stiffness[joint] = stiff
            found = solve(BALLS.chain(stiffness), BALLS.rest(), goals(target))
            assert found.error[0] <= 1e-4
            by.append(angle_of(own_turns(found.pose.rotations[:-1]))[joint])
        assert np.all(np.diff(by[:3]) < 0.02)
        total += by
    # The stiff joint rotates as far as the other joints alone don't reach the target.
    assert np.all(np.diff(total) < 0.0)
    assert total[3] < 0.9 * total[0]


@given(seeds, st.integers(2, 5))
@settings(max_examples=20)
def test_many_items_are_each_by_itself(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    core, reference = made(rng, count)
    targets = [tip_of(core, near(rng, core, reference, 0.1)) for _ in range(4)]
    items: list[Any] = [tuple(np.full(4, part) for part in turn) for turn in reference]
    with quiet():
        start = place(ARRAY, core, items)
        after, errors = rotate_least(ARRAY, start, items, tuple(np.array(targets).T), Termination(1e-4, 6))
    for item, target in enumerate(targets):
        single, error = rotated(core, reference, reference, tuple(target.tolist()), Termination(1e-4, 6))
        assert errors[item] == pytest.approx(error, abs=1e-5)
        found = [[part[item] for part in turn] for turn in after.coordinates]
        np.testing.assert_allclose(found, single.coordinates, atol=1e-4)


@pytest.mark.parametrize("constrained", [SPINE, HINGES], ids=lambda each: each.name)
def test_more_steps_rotate_no_bone_further(constrained: ConstrainedBones) -> None:
    """Steps that the descent doesn't take would rotate no bone by more than half a degree, in 99 of 100 descents."""
    rng = np.random.default_rng(3)
    core = start_from(constrained.chain(), constrained.rest()).constrained_chain
    assert core is not None
    changes = []
    for target in feasible_targets(rng, constrained, 400):
        goal, reference = tuple(target.tolist()), within_limits(rng, core)
        found, error = rotated(core, reference, reference, goal, Termination(1e-4, 40))
        further, further_error = rotate_least(SCALAR, found, reference, goal, Termination(1e-4, 300, 1e-5))
        if max(error, further_error) <= 1e-4:
            changes.append(np.abs(np.array(further.coordinates) - np.array(found.coordinates)).max())
    assert len(changes) >= 250
    assert np.percentile(changes, 99) < 4e-3


def test_an_item_beyond_reach_ends_where_it_does_alone_whatever_its_neighbour_does() -> None:
    """The neighbour's target is between the shortest and the longest reach of its hinges, but 0.001 to 0.02 off."""
    rng = np.random.default_rng(5)
    core = start_from(HINGES.chain(), HINGES.rest()).constrained_chain
    assert core is not None
    beyond, beside = np.array([0.3, 1.4, 0.2]), None
    while beside is None:
        reference, target = within_limits(rng, core), rng.uniform(-0.7, 0.7, 3)
        _, error = rotated(core, reference, reference, tuple(target.tolist()), Termination(1e-4, 40))
        beside = target if 1e-3 < error < 0.02 else None
    items: list[Any] = [tuple(np.full(2, part) for part in turn) for turn in reference]
    both = tuple(np.array([beyond, beside]).T)
    with quiet():
        after, _ = rotate_least(ARRAY, place(ARRAY, core, items), items, both, Termination(1e-4, 40))
    alone, _ = rotated(core, reference, reference, tuple(beyond.tolist()), Termination(1e-4, 40))
    np.testing.assert_allclose([[part[0] for part in turn] for turn in after.coordinates], alone.coordinates, atol=1e-9)


@given(seeds)
@settings(max_examples=20)
def test_a_target_just_beyond_reach_has_the_pose_of_one_just_within(seed: int) -> None:
    """Beyond reach chains kept whatever twist about their line they had, and lost it in one step back within reach."""
    rng = np.random.default_rng(seed)
    core = start_from(BALLS.chain(), BALLS.rest()).constrained_chain
    assert core is not None
    reference = near(rng, core, [(0.0, 0.0, 0.0)] * 3, 0.15)
    direction = unit(tip_of(core, near(rng, core, reference, 0.02)))
    within, _ = rotated(core, reference, reference, tuple((0.9999 * direction).tolist()), Termination(1e-4, 60))
    twisted = [(x, y + 0.2, z) for x, y, z in within.coordinates]
    start = [clamp(SCALAR, limits, turn) for limits, turn in zip(core.limits, twisted, strict=True)]
    from_solution = Termination(1e-4, 60, LEAST_CHANGE_FROM_SOLUTION)
    beyond, _ = rotated(core, start, reference, tuple((1.0002 * direction).tolist()), from_solution)
    np.testing.assert_allclose(beyond.coordinates, within.coordinates, atol=0.02)
