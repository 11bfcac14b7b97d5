# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits are kept to whatever comes of a solve, and what some feasible pose reaches is reached."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fabrik_addon.core import Goals, Options, Pose, Solution, Status, plain_chain, solve, start_from
from fabrik_addon.core.within_limits.constrained_reach import _best
from fabrik_addon.core.within_limits.nearest_pose import NewtonSteps, nearest_poses
from scripts.benchmark.limit_sets import (
    ARM,
    FREE,
    LEG,
    LOCKED,
    SETS,
    TENTACLE,
    ConstrainedBones,
    angle_of,
    inverse,
    own_turns,
    product,
    turned,
)
from scripts.benchmark.restarts import best_errors
from tests.unit.chains import Array, goals, link_lengths, random_pose, seeds, unit
from tests.unit.constrained_chains import (
    ConstrainedChain,
    constrained_chain_of,
    feasible_pose,
    feasible_targets,
    random_constrained_chain,
    unit4,
)

names = [kind.name for kind in SETS]
SMALL = [kind for kind in SETS if kind.count <= 6]
each_set = pytest.mark.parametrize("kind", SETS, ids=names)


def random_targets(rng: np.random.Generator, count: int, least: float = 0.05, most: float = 1.2) -> Array:
    """Targets (T, 3) all around, of which many no feasible pose reaches."""
    return rng.uniform(least, most, (count, 1)) * unit(rng.normal(size=(count, 3)))


def check_laws(
    constrained_chain: ConstrainedChain, before: Pose, goal: Goals, solution: Solution, options: Options
) -> None:
    """Whatever the status: limits kept, lengths kept, root fixed, frames and joints agree, the error is true."""
    pose = Pose(solution.pose.positions, solution.pose.rotations, constrained_chain.base)
    assert np.isfinite(pose.positions).all()
    assert constrained_chain.violation(pose) <= 1e-9
    np.testing.assert_allclose(link_lengths(pose.positions), constrained_chain.chain.links, rtol=1e-9)
    np.testing.assert_allclose(pose.positions[0], before.positions[0], atol=1e-12)
    np.testing.assert_allclose(
        constrained_chain.posed(constrained_chain.coordinates(pose)).positions, pose.positions, atol=1e-9
    )
    error = np.linalg.norm(pose.positions[-1] - goal.targets[0]) / constrained_chain.chain.total_length
    assert solution.error[0] == pytest.approx(error, abs=1e-12)
    assert (solution.status[0] == Status.REACHED) == (solution.error[0] <= options.tolerance)
    assert solution.status[0] != Status.STALLED


# Limits are kept


@given(seeds, st.integers(1, 7), st.sampled_from([0.0, 0.4, 0.9, 1.3]), st.booleans())
@example(seed=1, count=6, reach=0.9, is_feasible=True)  # a swing by half a turn, where no rotation says what is twist
@settings(max_examples=80)
def test_limits_are_kept_from_any_pose_to_any_target(seed: int, count: int, reach: float, is_feasible: bool) -> None:
    """Rolled bones, rest frames, links beside their bones, bones that don't turn with their parents."""
    rng = np.random.default_rng(seed)
    constrained_chain = random_constrained_chain(rng, count)
    before = (
        feasible_pose(rng, constrained_chain)
        if is_feasible
        else constrained_chain.posed(unit4(rng.normal(size=(count, 4))))
    )
    if not constrained_chain.chain.has_limits:
        return
    goal = goals(before.positions[0] + reach * constrained_chain.chain.total_length * unit(rng.normal(size=3)))
    options = Options(iterations=int(rng.choice([1, 5, 64])))
    check_laws(constrained_chain, before, goal, solve(constrained_chain.chain, before, goal, options), options)


@each_set
def test_limits_are_kept_whether_or_not_the_target_is_reached(kind: ConstrainedBones) -> None:
    constrained_chain, rest, options = constrained_chain_of(kind), kind.rest(), Options()
    seen = set()
    for target in random_targets(np.random.default_rng(1), 12):
        solution = solve(constrained_chain.chain, rest, goals(target))
        check_laws(constrained_chain, rest, goals(target), solution, options)
        seen.add(int(solution.status[0]))
    assert seen <= {Status.REACHED, Status.LIMITED, Status.OUT_OF_REACH}
    assert len(seen) > 1


@each_set
def test_limits_are_kept_with_a_pole_anywhere(kind: ConstrainedBones) -> None:
    rng = np.random.default_rng(2)
    constrained_chain, rest, options = constrained_chain_of(kind), kind.rest(), Options()
    targets = [*random_targets(rng, 6), *feasible_targets(rng, kind, 6)]
    for target, pole in zip(targets, 2.0 * unit(rng.normal(size=(12, 3))), strict=True):
        goal = goals(target, pole)
        check_laws(constrained_chain, rest, goal, solve(constrained_chain.chain, rest, goal), options)


def test_joints_that_can_swing_any_way_keep_their_bones_lengths() -> None:
    """A step can ask for a swing by more than half a turn; once that made bones longer."""
    kind = ConstrainedBones("free", ((FREE, LOCKED, FREE),) * 3, 0)
    constrained_chain = constrained_chain_of(kind)
    for target in random_targets(np.random.default_rng(1), 40, 0.05, 0.99):
        solution = solve(constrained_chain.chain, kind.rest(), goals(target))
        assert solution.status[0] == Status.REACHED
        check_laws(constrained_chain, kind.rest(), goals(target), solution, Options())


# What can be reached is


@each_set
def test_what_a_feasible_pose_reaches_is_reached_from_rest(kind: ConstrainedBones) -> None:
    chain, rest = kind.chain(), kind.rest()
    targets = feasible_targets(np.random.default_rng(3), kind, 100)
    reached = sum(float(solve(chain, rest, goals(target)).error[0]) <= 1e-3 for target in targets)
    assert reached == 100


@given(seeds)
@settings(max_examples=40)
def test_a_knee_that_is_never_straight_reaches(seed: int) -> None:
    """5 to 150 degrees: what Blender's own IK can't be told."""
    kind = ConstrainedBones("knee", (((-60.0, 60.0), (-30.0, 30.0), (-60.0, 60.0)), ((5.0, 150.0), LOCKED, LOCKED)), 0)
    constrained_chain = constrained_chain_of(kind)
    target = feasible_pose(np.random.default_rng(seed), constrained_chain).positions[-1]
    solution = solve(constrained_chain.chain, kind.rest(), goals(target))
    assert solution.error[0] <= 1e-3
    check_laws(constrained_chain, kind.rest(), goals(target), solution, Options())


@given(seeds, st.integers(2, 5))
@settings(max_examples=40)
def test_from_near_by_any_chain_reaches(seed: int, count: int) -> None:
    """A drag: the target leaves a feasible pose by a hundredth of the length, for another feasible pose."""
    rng = np.random.default_rng(seed)
    constrained_chain = random_constrained_chain(rng, count)
    if not constrained_chain.chain.has_limits:
        return
    before = feasible_pose(rng, constrained_chain)
    coordinates = constrained_chain.coordinates(before)
    small = unit4(np.array([1.0, 0.0, 0.0, 0.0]) + 0.01 * rng.normal(size=(count, 4)))
    after = constrained_chain.posed(product(coordinates, small))
    if constrained_chain.violation(after) > 0.0:
        return
    solution = solve(constrained_chain.chain, before, goals(after.positions[-1]))
    assert solution.status[0] == Status.REACHED
    check_laws(constrained_chain, before, goals(after.positions[-1]), solution, Options())


# What can't be reached


@each_set
def test_where_no_feasible_pose_reaches_none_of_many_is_nearer(kind: ConstrainedBones) -> None:
    """Beside the best of 200 descents from random feasible poses."""
    rng = np.random.default_rng(4)
    targets = random_targets(rng, 8, 0.1, 1.1)
    best = best_errors(kind, targets, rng)
    for target, error in zip(targets, best, strict=True):
        solution = solve(kind.chain(), kind.rest(), goals(target))
        if error > 1e-3:
            assert solution.error[0] <= 1.02 * error
            assert solution.status[0] in {Status.LIMITED, Status.OUT_OF_REACH}
        elif kind is not TENTACLE:
            assert solution.error[0] <= 1e-3


# From the root, in units of the chain's length.
JUST_OUT_OF_REACH = ((0.912, -0.096, -0.101), (0.917, -0.118, -0.079), (0.919, -0.143, -0.055), (0.871, -0.377, 0.037))


@pytest.mark.parametrize("target", JUST_OUT_OF_REACH)
def test_a_spine_and_an_arm_near_full_reach_come_as_near_as_any_pose(target: tuple[float, float, float]) -> None:
    """Rigify's human, from the hips to the hand, with the usual limits: nearly every pose there is nearly straight."""
    cone, shoulder, elbow = (40.0, 60.0, 40.0), (90.0, 70.0, 90.0), (150.0, 0.0, 0.0)
    upper = np.radians([cone, cone, cone, cone, cone, shoulder, elbow, cone, cone])
    lower = -upper
    lower[6] = 0.0
    rest = unit4(
        np.array(
            [
                (0.613, 0.790, 0.0, 0.0),
                (0.998, -0.064, 0.0, 0.0),
                (0.997, -0.077, 0.0, 0.0),
                (1.0, 0.002, 0.0, 0.0),
                (0.622, -0.605, -0.346, -0.356),
                (0.612, -0.055, 0.741, -0.271),
                (0.982, 0.182, 0.001, -0.041),
                (0.999, -0.025, -0.004, -0.028),
                (1.0, 0.0, 0.0, 0.0),
            ]
        )
    )
    lengths = np.array([0.152, 0.137, 0.173, 0.159, 0.202, 0.289, 0.263, 0.080])
    chain = plain_chain(lengths, rest=rest, limits=(lower, upper))
    frames = [rest[0]]
    for frame in rest[1:]:
        frames.append(product(frames[-1], frame))
    links = turned(np.array(frames[:-1]), lengths[:, None] * (0.0, 1.0, 0.0))
    pose = Pose(np.concatenate([np.zeros((1, 3)), np.cumsum(links, axis=0)]), np.array(frames))
    constrained_chain = start_from(chain, pose).constrained_chain
    assert constrained_chain is not None
    bones = constrained_chain.bones
    starts = bones.feasible()[0].reshape(-1, 8, 3)
    errors = nearest_poses(bones, starts, np.tile(target, (len(starts), 1)), NewtonSteps(1e-5, 100))[1]
    solution = solve(chain, pose, goals(chain.total_length * np.array(target)))
    assert solution.error[0] <= max(1.02 * errors.min(), 1e-4)


def test_a_locked_chain_is_limited_and_stays() -> None:
    kind = ConstrainedBones("locked", ((LOCKED, LOCKED, LOCKED),) * 3, 0)
    rest = kind.rest()
    solution = solve(kind.chain(), rest, goals((0.3, 0.4, 0.0)))
    assert solution.status[0] == Status.LIMITED
    np.testing.assert_allclose(solution.pose.positions, rest.positions, atol=1e-12)


def test_too_far_is_out_of_reach_before_it_is_limited() -> None:
    assert solve(ARM.chain(), ARM.rest(), goals((0.0, 1.3, 0.0))).status[0] == Status.OUT_OF_REACH
    assert solve(ARM.chain(), ARM.rest(), goals((0.0, -0.9, 0.0))).status[0] == Status.LIMITED


# Solving again


@each_set
def test_a_solved_pose_stays(kind: ConstrainedBones) -> None:
    chain, rest = kind.chain(), kind.rest()
    for target in feasible_targets(np.random.default_rng(5), kind, 15):
        once = solve(chain, rest, goals(target))
        assert once.status[0] == Status.REACHED
        again = solve(chain, once.pose, goals(target))
        np.testing.assert_allclose(again.pose.positions, once.pose.positions, atol=1e-6)
        np.testing.assert_allclose(np.abs(np.sum(again.pose.rotations * once.pose.rotations, axis=-1)), 1.0, atol=1e-9)


@given(seeds, st.integers(1, 6))
@settings(max_examples=40)
def test_a_feasible_pose_with_its_tip_at_the_target_stays(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    constrained_chain = random_constrained_chain(rng, count)
    before = feasible_pose(rng, constrained_chain)
    solution = solve(constrained_chain.chain, before, goals(before.positions[-1]))
    np.testing.assert_allclose(solution.pose.positions, before.positions, atol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(solution.pose.rotations * before.rotations, axis=-1)), 1.0, atol=1e-6)


def test_a_solution_keeps_the_frame_that_its_limits_count_from() -> None:
    rng = np.random.default_rng(6)
    constrained_chain = random_constrained_chain(rng, 3)
    solution = solve(
        constrained_chain.chain, feasible_pose(rng, constrained_chain), goals(constrained_chain.root + 0.5)
    )
    assert solution.pose.base is not None
    np.testing.assert_array_equal(solution.pose.base, constrained_chain.base)


@each_set
def test_same_input_same_bits(kind: ConstrainedBones) -> None:
    for target in random_targets(np.random.default_rng(7), 3):
        first, second = (solve(kind.chain(), kind.rest(), goals(target)) for _ in range(2))
        assert first.pose.positions.tobytes() == second.pose.positions.tobytes()
        assert first.pose.rotations.tobytes() == second.pose.rotations.tobytes()


# Where a chain is, and how it is turned


@given(seeds, st.sampled_from([kind for kind in SETS if kind.count <= 3]))
@settings(max_examples=30)
def test_a_chain_that_is_moved_and_scaled_does_the_same_there(seed: int, kind: ConstrainedBones) -> None:
    rng = np.random.default_rng(seed)
    rest, size, root, base = kind.rest(), 10.0 ** rng.uniform(-2, 2), rng.normal(size=3), unit4(rng.normal(size=4))
    target = feasible_targets(rng, kind, 1)[0]
    here = solve(kind.chain(), rest, goals(target))
    limits = (kind.lower, kind.upper)
    chain = plain_chain(np.full(kind.count, size / kind.count), limits=limits)
    moved = Pose(root + size * turned(base, rest.positions), product(base, rest.rotations), base)
    there = solve(chain, moved, goals(root + size * turned(base, target)))
    assert there.status[0] == here.status[0] == Status.REACHED
    coordinates = own_turns(product(np.array([1.0, -1.0, -1.0, -1.0]) * base, there.pose.rotations[:-1]))
    constrained_chain = constrained_chain_of(kind)
    assert constrained_chain.violation(constrained_chain.posed(coordinates)) <= 1e-9


# Stiffness


@pytest.mark.parametrize("joint", [0, 1, 2])
def test_a_stiff_joint_turns_less(joint: int) -> None:
    """It leaves its share to the others, and the tip gets there all the same."""
    kind = ConstrainedBones("balls", (((-80.0, 80.0), (-20.0, 20.0), (-80.0, 80.0)),) * 3, 0)
    constrained_chain = constrained_chain_of(kind)
    stiffness = np.zeros((4, 3))
    stiffness[joint] = 0.95
    rng = np.random.default_rng(8)
    turned_by = np.zeros(2)
    for _ in range(20):
        before = feasible_pose(rng, constrained_chain)
        target = before.positions[-1] + 0.03 * unit(rng.normal(size=3))
        for which, chain in enumerate((kind.chain(), kind.chain(stiffness))):
            solution = solve(chain, before, goals(target))
            if solution.status[0] != Status.REACHED:
                continue  # from the edge of what the chain reaches
            after = own_turns(solution.pose.rotations[:-1])
            turned_by[which] += angle_of(product(inverse(own_turns(before.rotations[:-1])), after))[joint]
    assert turned_by[1] < 0.75 * turned_by[0]


def test_stiffness_without_limits_still_reaches() -> None:
    chain = plain_chain([0.4, 0.3, 0.3], stiffness=np.full((4, 3), 0.9))
    assert chain.has_limits
    rest = ARM.rest().positions[:1] + np.cumsum([[0.0, 0.0, 0.0], [0.0, 0.4, 0.0], [0.0, 0.3, 0.0], [0.0, 0.3, 0.0]], 0)
    pose = Pose(rest, np.tile((1.0, 0.0, 0.0, 0.0), (4, 1)))
    for target in random_targets(np.random.default_rng(9), 20, 0.2, 0.95):
        assert solve(chain, pose, goals(target)).status[0] == Status.REACHED


# Without limits


@given(seeds, st.integers(1, 8))
@settings(max_examples=40)
def test_limits_that_are_infinite_are_none(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.uniform(0.2, 1.0, count)
    pose = random_pose(rng, lengths, 1.0)
    free = plain_chain(lengths)
    infinite = plain_chain(
        lengths,
        rest=unit4(rng.normal(size=(count + 1, 4))),
        limits=(np.full((count + 1, 3), -np.inf), np.full((count + 1, 3), np.inf)),
    )
    goal = goals(pose.positions[0] + 0.6 * lengths.sum() * unit(rng.normal(size=3)))
    with_base = Pose(pose.positions, pose.rotations, unit4(rng.normal(size=4)))
    a, b = solve(free, pose, goal), solve(infinite, with_base, goal)
    assert a.pose.positions.tobytes() == b.pose.positions.tobytes()
    assert a.pose.rotations.tobytes() == b.pose.rotations.tobytes()
    assert a.iterations == b.iterations


# Many at once


@pytest.mark.parametrize("with_pole", [False, True])
@pytest.mark.parametrize("kind", SMALL, ids=[kind.name for kind in SMALL])
def test_a_batch_is_a_loop_of_singles(kind: ConstrainedBones, with_pole: bool) -> None:
    rng = np.random.default_rng(10)
    chain, rest = kind.chain(), kind.rest()
    targets = np.vstack([feasible_targets(rng, kind, 3), random_targets(rng, 3)])
    poles = 2.0 * unit(rng.normal(size=(6, 3))) if with_pole else None
    whole = solve(chain, rest, goals(targets, poles))
    constrained_chain = constrained_chain_of(kind)
    same = 0
    for item, target in enumerate(targets):
        single = solve(chain, rest, goals(target, None if poles is None else poles[item]))
        pose = Pose(whole.pose.positions[item], whole.pose.rotations[item])
        assert constrained_chain.violation(pose) <= 1e-9
        assert whole.status[item, 0] == single.status[0]
        assert whole.error[item, 0] == pytest.approx(single.error[0], rel=1e-2, abs=1e-4)
        same += int(np.abs(pose.positions - single.pose.positions).max() < 1e-4)
    # Where two poses come as near, the last bit of a sine decides between them.
    assert same >= 5


def test_poses_of_a_batch_may_each_hang_in_a_frame_of_their_own() -> None:
    rng = np.random.default_rng(11)
    constrained_chain = constrained_chain_of(LEG)
    bases = unit4(rng.normal(size=(5, 4)))
    poses = [
        ConstrainedChain(constrained_chain.chain, base, constrained_chain.root, constrained_chain.links).rest()
        for base in bases
    ]
    whole = Pose(np.array([p.positions for p in poses]), np.array([p.rotations for p in poses]), bases)
    targets = 0.6 * unit(rng.normal(size=(5, 3)))
    found = solve(constrained_chain.chain, whole, goals(targets))
    for item, base in enumerate(bases):
        there = ConstrainedChain(constrained_chain.chain, base, constrained_chain.root, constrained_chain.links)
        assert there.violation(Pose(found.pose.positions[item], found.pose.rotations[item], base)) <= 1e-9
        single = solve(constrained_chain.chain, poses[item], goals(targets[item]))
        assert found.error[item, 0] == pytest.approx(single.error[0], rel=1e-2, abs=1e-4)


# Beyond what limits allow, again


@each_set
def test_a_limited_pose_solved_again_is_no_farther_off_and_does_not_wander(kind: ConstrainedBones) -> None:
    chain, rest = kind.chain(), kind.rest()
    for target in random_targets(np.random.default_rng(13), 5, 0.7, 1.2):
        once = solve(chain, rest, goals(target))
        if once.status[0] == Status.REACHED:
            continue
        pose, error = once.pose, once.error[0]
        for _ in range(3):
            again = solve(chain, pose, goals(target))
            assert again.error[0] <= error + 1e-9
            pose, error = again.pose, again.error[0]
        assert error >= 0.98 * once.error[0]
        np.testing.assert_allclose(pose.positions, once.pose.positions, atol=0.01)


@each_set
def test_a_straight_chain_bends_to_the_side_that_limits_leave(kind: ConstrainedBones) -> None:
    """Toward a target on its own line, where no joint alone brings the tip nearer."""
    target = 0.93 * kind.rest().positions[-1]
    found = solve(kind.chain(), kind.rest(), goals(target))
    assert found.error[0] <= 1e-4


def test_a_pose_at_the_target_comes_before_one_that_misses_it_and_rotates_less() -> None:
    reference = np.zeros((1, 2, 3))
    poses = np.stack([np.full((2, 3), 0.4), np.full((2, 3), 0.1)])[None]
    assert _best(poses, np.array([[1e-6, 1e-3]]), reference, 1e-4) == [0]
    assert _best(poses, np.array([[1e-6, 5e-5]]), reference, 1e-4) == [1]
    assert _best(poses, np.array([[2e-3, 3e-3]]), reference, 1e-4) == [1]  # both miss it, by nearly the same
    assert _best(poses, np.array([[2e-3, 9e-3]]), reference, 1e-4) == [0]
