# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The laws of every solver in the table, whatever its method: a new one is held to them as soon as it is there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabrik_addon.core import Chain, FabrikError, Goals, Options, Pose, Solution, Status, plain_chain, solve
from fabrik_addon.core.solvers.names import SOLVER_NAMES
from fabrik_addon.core.solvers.table import SOLVERS
from scripts.benchmark.limit_sets import SETS, ConstrainedBones
from tests.unit.chains import (
    Array,
    angle_between,
    generic_directions,
    goals,
    link_lengths,
    matrix,
    nearest_reach,
    pose_of,
    quaternion,
    random_pose,
    seeds,
    target_at,
    turn,
    unit,
)
from tests.unit.constrained_chains import (
    constrained_chain_of,
    feasible_pose,
    feasible_targets,
    random_constrained_chain,
)
from tests.unit.trees import posed, position_errors, random_tree, shape_error

ENOUGH = {"JACOBIAN_TRANSPOSE": 3000, "CCD": 500}
"""Iterations after which nothing may be left to do; of those that aren't here 64."""

every_solver = pytest.mark.parametrize("solver", SOLVERS)
counts = st.sampled_from([1, 2, 3, 5, 10])


def options_for(solver: str, tolerance: float = 1e-4) -> Options:
    return Options(ENOUGH.get(solver, 64), tolerance, solver=solver)


def links_for(solver: str, count: int) -> int:
    return 2 if solver == "TWO_BONE" else count


def random_chain(rng: np.random.Generator, count: int, bend: float = 0.8) -> tuple[Chain, Pose, list[float]]:
    lengths = rng.uniform(0.5, 1.0, count).tolist()
    return plain_chain(lengths), random_pose(rng, lengths, bend), lengths


def reachable(rng: np.random.Generator, pose: Pose, lengths: list[float], least: float, most: float) -> Array:
    """A target that the links reach, not nearer to the end of their reach than the bounds say."""
    nearest = nearest_reach(lengths) / sum(lengths)
    return target_at(rng, pose, lengths, nearest + (1.0 - nearest) * rng.uniform(least, most))


def assert_sound(chain: Chain, start: Pose, goal: Goals, options: Options, solution: Solution) -> None:
    """Lengths and root are kept, frames go with the joints, and what is said of the tip is so."""
    length = chain.total_length
    positions = solution.pose.positions
    assert np.isfinite(positions).all() and np.isfinite(solution.pose.rotations).all()
    np.testing.assert_allclose(link_lengths(positions), chain.links, rtol=1e-9)
    np.testing.assert_allclose(positions[0], start.positions[0], atol=1e-12 * (1.0 + np.abs(start.positions[0]).max()))
    away = float(np.linalg.norm(positions[-1] - goal.targets[0]) / length)
    assert solution.error[0] == pytest.approx(away, abs=1e-9)
    assert (solution.status[0] == Status.REACHED) == bool(solution.error[0] <= options.tolerance)
    old, new = matrix(start.rotations[:-1]), matrix(solution.pose.rotations[:-1])
    carried = np.einsum("jab,jcb,jc->ja", new, old, np.diff(start.positions, axis=0))
    np.testing.assert_allclose(carried, np.diff(positions, axis=0), atol=1e-7 * length)


@every_solver
@given(seed=seeds, count=counts, bend=st.sampled_from([0.0, 0.8]), with_pole=st.booleans())
@settings(max_examples=40)
def test_targets_within_reach_are_reached(solver: str, seed: int, count: int, bend: float, with_pole: bool) -> None:
    rng = np.random.default_rng(seed)
    chain, pose, lengths = random_chain(rng, links_for(solver, max(count, 2)), bend)
    target = reachable(rng, pose, lengths, 0.1, 0.9)
    goal = goals(target, target_at(rng, pose, lengths, 0.8) if with_pole else None)
    options = options_for(solver, 1e-3)
    solution = solve(chain, pose, goal, options)
    assert_sound(chain, pose, goal, options, solution)
    assert solution.status[0] == Status.REACHED


@every_solver
@given(seed=seeds, count=counts, reach=st.floats(0.0, 1.6), iterations=st.integers(1, 20), with_pole=st.booleans())
@settings(max_examples=60)
def test_whatever_is_asked_the_answer_is_sound(
    solver: str, seed: int, count: int, reach: float, iterations: int, with_pole: bool
) -> None:
    rng = np.random.default_rng(seed)
    chain, pose, lengths = random_chain(rng, links_for(solver, count), rng.choice([0.0, 0.8]))
    goal = goals(
        target_at(rng, pose, lengths, reach),
        target_at(rng, pose, lengths, rng.uniform(0.1, 2.0)) if with_pole else None,
    )
    options = Options(iterations, solver=solver)
    assert_sound(chain, pose, goal, options, solve(chain, pose, goal, options))


@every_solver
@pytest.mark.parametrize("direction", [1.0, -1.0])
@pytest.mark.parametrize("reach", [0.2, 0.6, 0.9])
def test_a_straight_chain_leaves_its_line(solver: str, direction: float, reach: float) -> None:
    for count in (2,) if solver == "TWO_BONE" else (2, 3, 10):
        lengths = [1.0 / count] * count
        joints = np.vstack([np.zeros(3), np.cumsum(np.tile((0.0, 0.0, 1.0 / count), (count, 1)), axis=0)])
        pose = pose_of(joints)
        goal = goals(np.array([0.0, 0.0, direction * reach]))
        options = options_for(solver, 1e-3)
        assert solve(plain_chain(lengths), pose, goal, options).status[0] == Status.REACHED


@every_solver
@pytest.mark.parametrize("bounds", [(-2.5, 2.5), (0.0, 2.5), (-2.5, 0.0)])
@pytest.mark.parametrize("axes", [[0], [2], [0, 2]])
@pytest.mark.parametrize("reach", [0.5, 0.8])
def test_a_straight_chain_leaves_its_line_within_limits(
    solver: str, bounds: tuple[float, float], axes: list[int], reach: float
) -> None:
    count = links_for(solver, 3)
    lower, upper = np.zeros((2, count + 1, 3))
    lower[:, axes], upper[:, axes] = bounds
    lower[0, axes], upper[0, axes] = -2.5, 2.5
    chain = plain_chain([1.0 / count] * count, limits=(lower, upper))
    straight = np.linspace(np.zeros(3), (0.0, 1.0, 0.0), count + 1)
    pose = Pose(straight, np.tile([1.0, 0.0, 0.0, 0.0], (count + 1, 1)))
    targets = np.array([[0.0, reach, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0]])
    options = options_for(solver, 1e-3)
    many = solve(chain, pose, goals(targets), options)
    assert many.status[0] == Status.REACHED
    np.testing.assert_allclose(many.pose.positions[1], straight, atol=1e-12)
    for item, target in enumerate(targets):
        one = solve(chain, pose, goals(target), options)
        assert_sound(chain, pose, goals(target), options, one)
        assert one.error[0] <= np.linalg.norm(target - straight[-1]) + 1e-12
        np.testing.assert_allclose(many.pose.positions[item], one.pose.positions, atol=1e-7)


@every_solver
@given(seed=seeds, count=counts)
@settings(max_examples=20)
def test_out_of_reach_the_chain_points_at_the_target(solver: str, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    chain, pose, lengths = random_chain(rng, links_for(solver, count))
    goal = goals(target_at(rng, pose, lengths, rng.uniform(1.05, 1.5)))
    solution = solve(chain, pose, goal, options_for(solver))
    along = unit(goal.targets[0] - pose.positions[0])
    straight = pose.positions[0] + np.concatenate([[0.0], np.cumsum(lengths)])[:, None] * along
    np.testing.assert_allclose(solution.pose.positions, straight, atol=1e-9 * sum(lengths))
    assert solution.status[0] == Status.OUT_OF_REACH


@every_solver
@given(seed=seeds, count=counts, with_pole=st.booleans())
@settings(max_examples=25)
def test_a_solved_pose_stays(solver: str, seed: int, count: int, with_pole: bool) -> None:
    rng = np.random.default_rng(seed)
    chain, pose, lengths = random_chain(rng, links_for(solver, max(count, 2)))
    goal = goals(reachable(rng, pose, lengths, 0.1, 0.9), target_at(rng, pose, lengths, 0.8) if with_pole else None)
    options = options_for(solver)
    once = solve(chain, pose, goal, options)
    # Blender keeps poses in single precision.
    for kept in (
        once.pose,
        Pose(*(a.astype(np.float32).astype(float) for a in (once.pose.positions, once.pose.rotations))),
    ):
        again = solve(chain, kept, goal, options)
        np.testing.assert_allclose(again.pose.positions, kept.positions, atol=2e-6 * sum(lengths))


@every_solver
@given(seed=seeds, count=st.sampled_from([2, 3, 5]), axis=generic_directions, angle=st.floats(-3.0, 3.0))
@settings(max_examples=20)
def test_the_solution_turns_moves_and_scales_with_the_problem(
    solver: str, seed: int, count: int, axis: tuple[float, float, float], angle: float
) -> None:
    rng = np.random.default_rng(seed)
    chain, pose, lengths = random_chain(rng, links_for(solver, count))
    target, pole = reachable(rng, pose, lengths, 0.1, 0.9), target_at(rng, pose, lengths, 0.8)
    options = options_for(solver)
    rotation, factor, offset = turn(axis, angle), 10.0 ** rng.uniform(-3.0, 3.0), rng.normal(size=3)

    def moved(points: Array) -> Array:
        return factor * points @ rotation.T + offset

    frames = np.array([quaternion(rotation @ frame) for frame in matrix(pose.rotations)])
    plain = solve(chain, pose, goals(target, pole), options)
    other = solve(
        plain_chain([factor * length for length in lengths]),
        Pose(moved(pose.positions), frames),
        goals(moved(target), moved(pole)),
        options,
    )
    np.testing.assert_allclose(other.pose.positions, moved(plain.pose.positions), atol=1e-6 * factor * sum(lengths))


@every_solver
@given(seed=seeds, count=st.sampled_from([2, 3, 10]), with_pole=st.booleans())
@settings(max_examples=10)
def test_a_batch_is_a_loop(solver: str, seed: int, count: int, with_pole: bool) -> None:
    rng = np.random.default_rng(seed)
    chain, pose, lengths = random_chain(rng, links_for(solver, count))
    targets = np.array([target_at(rng, pose, lengths, reach) for reach in (0.3, 0.6, 0.9, 1.2, 0.0)])
    targets[-1] = pose.positions[-1]
    poles = np.array([target_at(rng, pose, lengths, 0.7) for _ in targets]) if with_pole else None
    options = Options(40, solver=solver)
    many = solve(chain, pose, goals(targets, poles), options)
    for item, target in enumerate(targets):
        one = solve(chain, pose, goals(target, None if poles is None else poles[item]), options)
        np.testing.assert_allclose(many.pose.positions[item], one.pose.positions, atol=1e-7 * sum(lengths))
        np.testing.assert_allclose(many.pose.rotations[item], one.pose.rotations, atol=1e-6)
        assert many.status[item] == one.status
        assert many.iterations[item] == one.iterations


@every_solver
@given(seed=seeds, count=st.sampled_from([2, 3, 5]))
@settings(max_examples=25)
def test_the_bend_points_at_the_pole(solver: str, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    chain, pose, lengths = random_chain(rng, links_for(solver, count))
    target, pole = reachable(rng, pose, lengths, 0.2, 0.8), target_at(rng, pose, lengths, 0.8)
    positions = solve(chain, pose, goals(target, pole), options_for(solver)).pose.positions
    root = positions[0]
    axis = unit(positions[-1] - root)
    off = positions[1:-1] - root
    bend = np.sum(off - np.outer(off @ axis, axis), axis=0)
    desired = pole - root - ((pole - root) @ axis) * axis
    clear = min(np.linalg.norm(bend), np.linalg.norm(desired)) > 0.05 * sum(lengths)
    assert not clear or angle_between(bend, desired) < 1e-3


@every_solver
def test_same_input_same_bits(solver: str) -> None:
    rng = np.random.default_rng(5)
    chain, pose, lengths = random_chain(rng, links_for(solver, 6))
    goal = goals(reachable(rng, pose, lengths, 0.1, 0.9))
    first, second = (solve(chain, pose, goal, options_for(solver)) for _ in range(2))
    assert np.array_equal(first.pose.positions, second.pose.positions)
    assert np.array_equal(first.pose.rotations, second.pose.rotations)


@pytest.mark.parametrize(
    ("solver", "kind"),
    [(solver, kind) for solver in SOLVERS for kind in SETS if kind.count == links_for(solver, kind.count)],
    ids=lambda part: part if isinstance(part, str) else part.name,
)
def test_limits_are_kept(solver: str, kind: ConstrainedBones) -> None:
    rng = np.random.default_rng(3)
    constrained_chain = constrained_chain_of(kind)
    targets = [*feasible_targets(rng, kind, 6), *(rng.uniform(0.1, 1.3, (6, 1)) * unit(rng.normal(size=(6, 3))))]
    for target in targets:
        for pole in (None, rng.normal(size=3)):
            goal = goals(target, pole)
            solution = solve(constrained_chain.chain, constrained_chain.rest(), goal, Options(30, 1e-3, solver=solver))
            assert constrained_chain.violation(solution.pose) < 1e-9
            assert_sound(constrained_chain.chain, constrained_chain.rest(), goal, Options(tolerance=1e-3), solution)


@every_solver
@given(seed=seeds, count=st.integers(1, 5))
@settings(max_examples=40)
def test_limits_of_any_rig_are_kept(solver: str, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    constrained_chain = random_constrained_chain(rng, links_for(solver, count))
    pose = feasible_pose(rng, constrained_chain)
    goal = goals(target_at(rng, pose, constrained_chain.chain.links, rng.uniform(0.1, 1.1)))
    solution = solve(constrained_chain.chain, pose, goal, Options(20, solver=solver))
    # Swung by half a turn a bone has any twist: which of them it has can't be told from its frame.
    turns = constrained_chain.coordinates(solution.pose)
    assert constrained_chain.violation(solution.pose) < 1e-7 or np.hypot(turns[:, 0], turns[:, 2]).min() < 1e-6
    assert np.linalg.norm(solution.pose.positions[-1] - goal.targets[0]) <= (
        np.linalg.norm(pose.positions[-1] - goal.targets[0]) + 1e-4 * constrained_chain.chain.total_length
    )


@every_solver
@given(seed=seeds, count=st.sampled_from([2, 3, 5]))
@settings(max_examples=15)
def test_the_tip_takes_a_rotation_where_position_allows(solver: str, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    chain, pose, lengths = random_chain(rng, links_for(solver, count))
    other = random_pose(rng, lengths, 0.8)
    shift = pose.positions[0] - other.positions[0]
    goal = replace(goals(other.positions[-1] + shift), rotations=other.rotations[-1][None])
    options = options_for(solver, 1e-3)
    solution = solve(chain, pose, goal, options)
    assert_sound(chain, pose, goal, options, solution)
    assert solution.status[0] == Status.REACHED


@every_solver
@pytest.mark.parametrize("iterations", [3, 5, 64])
def test_a_rotation_costs_no_target_that_limits_let_the_tip_reach(solver: str, iterations: int) -> None:
    rng = np.random.default_rng(3)
    options = Options(iterations, solver=solver)
    for _ in range(25):
        constrained_chain = random_constrained_chain(rng, links_for(solver, 3))
        pose = feasible_pose(rng, constrained_chain)
        goal = goals(feasible_pose(rng, constrained_chain).positions[-1])
        plain = solve(constrained_chain.chain, pose, goal, options)
        solution = solve(constrained_chain.chain, pose, replace(goal, rotations=unit(rng.normal(size=(1, 4)))), options)
        assert_sound(constrained_chain.chain, pose, goal, options, solution)
        assert solution.status[0] == Status.REACHED or plain.status[0] != Status.REACHED


@every_solver
def test_every_solver_says_what_it_is_good_for(solver: str) -> None:
    name = SOLVER_NAMES[solver]
    assert name.label and name.good_for
    assert not name.good_for.endswith(".")


def test_a_solver_that_is_not_there_is_refused() -> None:
    pose = pose_of(np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0]]))
    with pytest.raises(FabrikError, match=r"'SIMPLEX'.*FABRIK, TWO_BONE"):
        solve(plain_chain([1.0, 1.0]), pose, goals(np.array([1.0, 0.0, 0.0])), Options(solver="SIMPLEX"))


@pytest.mark.parametrize("count", [1, 3, 10])
def test_two_bone_is_for_two_links(count: int) -> None:
    rng = np.random.default_rng(0)
    _, pose, lengths = random_chain(rng, count)
    chain = plain_chain(lengths, tuple(f"b{j + 1}" for j in range(count)))
    with pytest.raises(FabrikError, match=f"two links, the chain that ends at bone 'b{count}' has {count}"):
        solve(chain, pose, goals(np.ones(3)), Options(solver="TWO_BONE"))


several = pytest.mark.parametrize("solver", [name for name, method in SOLVERS.items() if method.solves_trees])


@several
@given(seed=seeds, joints=st.integers(4, 14))
@settings(max_examples=15)
def test_several_targets_are_reached_at_once(solver: str, seed: int, joints: int) -> None:
    rng = np.random.default_rng(seed)
    chain, pose = random_tree(rng, joints)
    targets = posed(rng, chain, pose, 0.4)[chain.tips]
    solution = solve(chain, pose, Goals(targets), Options(300, 1e-3, solver=solver))
    assert shape_error(chain, pose, solution.pose) < 1e-9
    assert (solution.status == Status.REACHED).all()
    assert (position_errors(chain, solution.pose.positions, targets) <= 1e-3).all()


@several
def test_several_targets_in_a_batch_are_a_loop(solver: str) -> None:
    rng = np.random.default_rng(4)
    chain, pose = random_tree(rng, 8)
    targets = np.array([posed(rng, chain, pose, 0.4)[chain.tips] for _ in range(4)])
    options = Options(60, 1e-3, solver=solver)
    many = solve(chain, pose, Goals(targets), options)
    for item, target in enumerate(targets):
        one = solve(chain, pose, Goals(target), options)
        np.testing.assert_allclose(many.pose.positions[item], one.pose.positions, atol=1e-6 * chain.total_length)
        np.testing.assert_array_equal(many.status[item], one.status)


@pytest.mark.parametrize("solver", [name for name, method in SOLVERS.items() if not method.solves_trees])
def test_what_takes_one_target_says_so(solver: str) -> None:
    chain, pose = random_tree(np.random.default_rng(1), 8)
    with pytest.raises(FabrikError, match=f"{SOLVER_NAMES[solver].label} can't reach several targets at once"):
        solve(chain, pose, Goals(pose.positions[chain.tips]), Options(solver=solver))
