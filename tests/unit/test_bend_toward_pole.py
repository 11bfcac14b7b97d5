# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pole inside joint limits: what a step believes of the bend is so, and it turns toward the pole."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabrik_addon.core import Goals, Pose, Status, plain_chain, solve, solve_components, start_from
from fabrik_addon.core.math.operations import SCALAR
from fabrik_addon.core.model.constrained_chain import place, pose_of
from fabrik_addon.core.model.joint_limits import swing_twist
from fabrik_addon.core.within_limits.bend_toward_pole import angle_to_pole, bend_toward_pole, inner_joints_gradient
from scripts.benchmark.limit_sets import (
    CLAVICLE_ARM,
    LEG_AND_FOOT,
    TAIL,
    ConstrainedBones,
    angle_of,
    feasible_swings,
    inverse,
    own_turns,
    posed,
    product,
    worst_violation,
)
from tests.unit.chains import Array, goals, seeds, unit
from tests.unit.constrained_chains import feasible_coordinates, feasible_pose, random_constrained_chain


@given(seeds, st.integers(2, 6))
def test_the_bend_moves_with_each_axis_as_a_step_believes(seed: int, count: int) -> None:
    """Against finite differences; a bone that doesn't turn with its parent carries what hangs on it along."""
    rng = np.random.default_rng(seed)
    constrained_chain = random_constrained_chain(rng, count)
    coordinates = feasible_coordinates(rng, constrained_chain)
    core = start_from(constrained_chain.chain, constrained_chain.posed(coordinates)).constrained_chain
    if core is None:  # every joint came out free
        return
    swings = [swing_twist(SCALAR, tuple(q)) for q in coordinates.tolist()]
    onward = unit(rng.normal(size=3))
    free = [(j, axis) for j, limits in enumerate(core.limits) for axis in range(3) if not limits.locked[axis]]
    gradient = inner_joints_gradient(SCALAR, place(SCALAR, core, swings), tuple(onward.tolist()))
    slopes = dict(zip(free, gradient, strict=True))
    step = 1e-6
    for j, turn in enumerate(swings):
        for axis, is_locked in enumerate(core.limits[j].locked):
            if is_locked or turn[0] ** 2 + turn[2] ** 2 > 0.9:  # near half a turn a swing runs out of half-sine
                continue
            sums = []
            for sign in (1.0, -1.0):
                moved = list(turn)
                moved[axis] += sign * step
                placed = place(SCALAR, core, [*swings[:j], (moved[0], moved[1], moved[2]), *swings[j + 1 :]])
                sums.append(np.array(placed.joints[1:-1]).sum(axis=0))
            assert abs(slopes[j, axis] - onward @ (sums[0] - sums[1]) / (2.0 * step)) < 1e-5


@given(seeds, st.integers(2, 5))
@settings(max_examples=40)
def test_a_pole_never_costs_the_target(seed: int, count: int) -> None:
    """Wherever it is, a tip that is at its target within limits stays there."""
    rng = np.random.default_rng(seed)
    constrained_chain = random_constrained_chain(rng, count)
    if not constrained_chain.chain.has_limits:
        return
    before = feasible_pose(rng, constrained_chain)
    target = before.positions[-1]
    pole = before.positions[0] + 2.0 * constrained_chain.chain.total_length * unit(rng.normal(size=3))
    found = solve(constrained_chain.chain, before, goals(target, pole))
    assert found.error[0] <= 1e-4
    assert constrained_chain.violation(found.pose) <= 1e-9


def off_pole(positions: Array, pole: Array) -> float:
    """The angle from the pole to where all inner joints together are, about the line from root to tip."""
    root, tip = positions[0], positions[-1]
    along = unit(tip - root)
    bend, desired = (v - along * (v @ along) for v in ((positions[1:-1] - root).sum(axis=0), pole - root))
    return float(np.arctan2(np.linalg.norm(np.cross(bend, desired)), bend @ desired))


@given(seeds, st.integers(2, 5))
@settings(max_examples=60)
def test_a_pose_at_its_target_is_left_only_for_one_nearer_to_the_pole(seed: int, count: int) -> None:
    """Limits may keep the bend from its pole: solving again must not wander from one such pose to another."""
    rng = np.random.default_rng(seed)
    constrained_chain = random_constrained_chain(rng, count)
    target = feasible_pose(rng, constrained_chain).positions[-1]
    start = feasible_pose(rng, constrained_chain)
    if not constrained_chain.chain.has_limits:
        return
    desired = goals(target, start.positions[0] + 2.0 * constrained_chain.chain.total_length * unit(rng.normal(size=3)))
    assert desired.poles is not None
    pose = solve(constrained_chain.chain, start, desired).pose
    for _ in range(3):
        again = solve(constrained_chain.chain, pose, desired)
        if again.error[0] > 1e-4:
            return
        moved = np.abs(again.pose.positions - pose.positions).max() / constrained_chain.chain.total_length
        before, after = off_pole(pose.positions, desired.poles[0]), off_pole(again.pose.positions, desired.poles[0])
        assert moved < 1e-4 or after < 0.99 * before + 1e-9, (moved, before, after)
        pose = again.pose


@pytest.mark.parametrize("bend", [0.05, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("angle", [0.1, 1.0, 2.0, -1.0, -2.0])
def test_a_nearly_straight_chain_with_a_free_root_points_at_its_pole(bend: float, angle: float) -> None:
    """A knee that bends to one side: it stayed up to 86 degrees off."""
    limits = np.full((2, 3, 3), np.inf)
    limits[0] *= -1.0
    limits[:, 1] = (0.0, -0.8, -1.4), (1.4, 1.2, 0.0)
    chain = replace(plain_chain([1.0, 1.0]), lower=limits[0], upper=limits[1])
    joints = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0 + np.cos(bend), np.sin(bend)]])
    frames = np.array([[np.cos(0.5 * turn), np.sin(0.5 * turn), 0.0, 0.0] for turn in (0.0, bend, bend)])
    tip, along = joints[2], unit(joints[2])
    side = unit(joints[1] - along * (joints[1] @ along))
    pole = tip + 4.0 * (np.cos(angle) * side + np.sin(angle) * np.cross(along, side))
    start = start_from(chain, Pose(joints, frames))
    core = start.constrained_chain
    assert core is not None
    seen = [tuple((0.5 * point).tolist()) for point in (tip, pole)]
    placed = bend_toward_pole(SCALAR, pose_of(SCALAR, core, start.frames), seen[0], seen[1], 1e-4)
    assert np.linalg.norm(np.array(placed.joints[-1]) - seen[0]) < 1e-4
    assert np.degrees(angle_to_pole(SCALAR, placed.joints, *seen)) < 0.1


@pytest.mark.parametrize(
    ("bones", "seed"), [(CLAVICLE_ARM, 1), (CLAVICLE_ARM, 3), (LEG_AND_FOOT, 6), (TAIL, 0), (TAIL, 2), (TAIL, 7)]
)
def test_a_drag_within_limits_is_smooth_beside_a_pole(bones: ConstrainedBones, seed: int) -> None:
    """Along poses within limits, with the pole where they bend to; from the drag's start at each move it jumped."""
    middle, onward, aside = 0.4 * feasible_swings(np.random.default_rng(seed), bones, 3)
    angles = np.linspace(0.0, 2.0 * np.pi, 81)[:, None, None]
    joints = posed(bones, middle + np.cos(angles) * onward + np.sin(angles) * aside).positions
    targets, inner = joints[:, -1], joints[:, 1:-1].sum(axis=1)
    bends = inner - np.sum(inner * unit(targets), axis=1, keepdims=True) * unit(targets)
    start, nearby, frames = start_from(bones.chain(), posed(bones, middle + onward)), None, []
    for target, pole in zip(targets, 0.5 * targets + 2.0 * unit(bends), strict=True):
        found = solve_components(replace(start, near=nearby), Goals(target[None], poles=pole[None]))
        assert found.status == Status.REACHED
        frames.append(found.frames)
        nearby = found.next_start
    turns = own_turns(np.array(frames))
    steps = angle_of(product(inverse(turns[:-1]), turns[1:])).max(axis=-1)
    assert steps.max() <= 3.0 * np.median(steps)
    assert angle_of(product(inverse(turns[0]), turns[-1])).max() <= math.radians(0.5), "the path is closed"
    assert worst_violation(bones, np.array(frames)) <= 1e-9
