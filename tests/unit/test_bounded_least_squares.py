# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of least squares: what they believe of the tip is so, and none of them leaves the limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabrik_addon.core import start_from
from fabrik_addon.core.math.operations import ARRAY, SCALAR, quiet
from fabrik_addon.core.model.constrained_chain import ConstrainedChain, place
from fabrik_addon.core.model.joint_limits import SwingTwist, swing_twist
from fabrik_addon.core.optimise.bounded_least_squares import descend, jacobian_columns
from tests.unit.chains import Array, seeds
from tests.unit.constrained_chains import feasible_coordinates, random_constrained_chain

counts = st.integers(1, 6)

# Numpy's sines may differ from Python's in the last bit, and a chain that can't go every way makes more of it.
CLOSE = 1e-5


def made(rng: np.random.Generator, count: int) -> tuple[Any, ConstrainedChain, Array, list[SwingTwist]]:
    """A chain as the tests have it and as the core has it, and feasible turns as both have them."""
    constrained_chain = random_constrained_chain(rng, count)
    coordinates = feasible_coordinates(rng, constrained_chain)
    core = start_from(constrained_chain.chain, constrained_chain.posed(coordinates)).constrained_chain
    if core is None:  # every joint came out free
        return made(rng, count)
    return constrained_chain, core, coordinates, [swing_twist(SCALAR, tuple(q)) for q in coordinates.tolist()]


def tip_of(core: ConstrainedChain, coordinates: list[SwingTwist]) -> Array:
    return np.array(place(SCALAR, core, coordinates).joints[-1])


@given(seeds, counts)
def test_bones_are_placed_as_forward_kinematics_places_them(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    constrained_chain, core, coordinates, swings = made(rng, count)
    expected = constrained_chain.posed(coordinates)
    placed = place(SCALAR, core, swings)
    unit = constrained_chain.chain.total_length
    np.testing.assert_allclose(np.array(placed.joints), (expected.positions - expected.positions[0]) / unit, atol=1e-9)
    for frame, q in zip(placed.frames, expected.rotations, strict=False):
        assert abs(np.dot(frame, q)) == pytest.approx(1.0, abs=1e-9)


@given(seeds, counts)
def test_the_tip_moves_with_each_axis_as_the_steps_believe(seed: int, count: int) -> None:
    """Analytic Jacobian columns against finite differences."""
    rng = np.random.default_rng(seed)
    _, core, _, coordinates = made(rng, count)
    step = 1e-6
    free = [(j, axis) for j, limits in enumerate(core.limits) for axis in range(3) if not limits.locked[axis]]
    for (j, axis), column in zip(free, jacobian_columns(SCALAR, place(SCALAR, core, coordinates)), strict=True):
        turn = coordinates[j]
        if turn[0] ** 2 + turn[2] ** 2 > 0.9:  # near half a turn a swing runs out of half-sine
            continue
        tips = []
        for sign in (1.0, -1.0):
            moved = list(turn)
            moved[axis] += sign * step
            tips.append(tip_of(core, [*coordinates[:j], (moved[0], moved[1], moved[2]), *coordinates[j + 1 :]]))
        np.testing.assert_allclose(column, (tips[0] - tips[1]) / (2.0 * step), atol=1e-6)


@given(seeds, counts)
@settings(max_examples=60)
def test_the_tip_comes_no_farther_and_no_bone_leaves_its_limits(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    constrained_chain, core, _, coordinates = made(rng, count)
    target = 0.7 * rng.normal(size=3)
    before = np.linalg.norm(tip_of(core, coordinates) - target)
    for steps in (0, 1, 5, 40):
        after, error, _ = descend(SCALAR, place(SCALAR, core, coordinates), tuple(target.tolist()), 1e-6, steps)
        assert error <= before + 1e-12
        assert error == pytest.approx(np.linalg.norm(np.array(after.tip) - target), abs=1e-12)
        np.testing.assert_allclose(after.tip, tip_of(core, after.coordinates), atol=1e-12)
        for limits, turn in zip(core.limits, after.coordinates, strict=True):
            for axis in range(3):
                assert limits.lower[axis] - 1e-9 <= turn[axis] <= limits.upper[axis] + 1e-9
        lengths = np.linalg.norm(np.diff(np.array(after.joints), axis=0), axis=1)
        np.testing.assert_allclose(
            lengths * constrained_chain.chain.total_length, constrained_chain.chain.links, rtol=1e-9
        )
        before = error


@given(seeds, counts)
def test_a_tip_that_is_at_the_target_stays_to_the_last_bit(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    _, core, _, coordinates = made(rng, count)
    target = tuple((tip_of(core, coordinates) + 1e-5).tolist())
    assert descend(SCALAR, place(SCALAR, core, coordinates), target, 1e-4, 40)[0].coordinates == coordinates


@given(seeds, st.integers(1, 4))
@settings(max_examples=30)
def test_what_is_locked_does_not_turn(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    _, core, _, coordinates = made(rng, count)
    target = tuple((0.6 * rng.normal(size=3)).tolist())
    after = descend(SCALAR, place(SCALAR, core, coordinates), target, 1e-6, 20)[0].coordinates
    for limits, old, new in zip(core.limits, coordinates, after, strict=True):
        for axis, is_locked in enumerate(limits.locked):
            assert not is_locked or new[axis] == pytest.approx(old[axis], abs=1e-12)


@given(seeds, st.integers(2, 5))
@settings(max_examples=30)
def test_many_items_are_each_by_itself(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    constrained_chain, core, _, coordinates = made(rng, count)
    targets = 0.6 * rng.normal(size=(7, 3))
    whole = start_from(
        constrained_chain.chain, constrained_chain.posed(feasible_coordinates(rng, constrained_chain)), (7,)
    ).constrained_chain
    assert whole is not None
    items: list[Any] = [tuple(np.full(7, part) for part in turn) for turn in coordinates]
    with quiet():
        after, errors, _ = descend(ARRAY, place(ARRAY, whole, items), tuple(targets.T), 1e-6, 3)
    for item, target in enumerate(targets.tolist()):
        single, error, _ = descend(SCALAR, place(SCALAR, core, coordinates), tuple(target), 1e-6, 3)
        assert errors[item] == pytest.approx(error, abs=CLOSE)
        # At half a turn of swing a twist and another swing are the same, and rounding chooses between them.
        if all(math.hypot(x, z) < 0.95 for x, _, z in single.coordinates):
            found = [[part[item] for part in turn] for turn in after.coordinates]
            np.testing.assert_allclose(found, single.coordinates, atol=10 * CLOSE)
