# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The look-at task: its Jacobian, how joints share a turn of the head, limits, and points behind the back."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from fabrik_addon.core import Chain, Goals, LookAt, Options, Pose, plain_chain, start_tree
from fabrik_addon.core.body.bone_names import eye_side
from fabrik_addon.core.body.part import Side
from fabrik_addon.core.math.quaternions import multiply, rotate
from fabrik_addon.core.solve_tree import solve_tree
from fabrik_addon.core.tasks.look_at_task import look_at_task
from fabrik_addon.core.tasks.task_stack import TaskStack
from fabrik_addon.core.tasks.tree_coordinates import TreeCoordinates
from fabrik_addon.core.trees.goals_as_tasks import problem_of_goals
from tests.unit.chains import Array
from tests.unit.trees import random_tree

LOOKS = 5
FORWARD, LEFT, UP = (np.array(axis, float) for axis in ((0, -1, 0), (1, 0, 0), (0, 0, 1)))
WEIGHTS = (400.0, 40.0, 40.0, 10.0, 5.0)
"""Of hips, spine, chest, neck and head."""
LINKS = (0.3, 0.2, 0.2, 0.1, 0.2)


def unit(vector: Array) -> Array:
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5, 7, 8])
def test_the_jacobian_is_the_change_of_the_residual(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain, pose = random_tree(rng, 9)
    bones = [j for j in range(9) if j in chain.parents]
    start = start_tree(replace(chain, posture_weights=np.ones(9)), pose)
    forward = unit(rng.normal(size=3))
    up = unit(np.cross(forward, rng.normal(size=3)))
    look_at = LookAt(
        bone=bones[-1],
        eyes=0.2 * rng.normal(size=3),
        forward=unit(rng.normal(size=3)),
        left=unit(rng.normal(size=3)),
        point=pose.positions[bones[-1]] + rng.normal(size=3),
        axes=np.stack([forward, np.cross(up, forward), up]),
        turning=np.array(bones[1:]),
        priority=LOOKS,
    )
    state = problem_of_goals(start, Goals(pose.positions[chain.tips]), Options(moves_root=True)).present
    task = look_at_task(start, state.placed, look_at)
    stack = TaskStack(TreeCoordinates(start.tree, True), [[(task, 1.0)]])
    state = stack.coordinates.applied(state, 0.1 * rng.normal(size=len(stack.coordinates.weights)))
    before = stack.residual(state)
    ways = task.directions(state.placed)[:2]
    assert np.abs(before).min() > 1e-4 and max(abs(way @ up) for way in ways) < 0.99, "away from straight up"
    jacobian = stack.jacobian(state)
    others = [*range(3), *range(len(stack.tree.structure.columns), jacobian.shape[1])]
    assert not jacobian[:, others].any(), "hips neither turn for it nor move"
    for _ in range(3):
        change = 1e-6 * rng.normal(size=jacobian.shape[1])
        change[others] = 0.0
        after = stack.residual(stack.coordinates.applied(state, change))
        np.testing.assert_allclose(before - after, jacobian @ change, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("eye.L", Side.LEFT),
        ("DEF-eye.R", Side.RIGHT),
        ("LeftEye", Side.LEFT),
        ("mixamorig:RightEye", Side.RIGHT),
        ("CC_Base_L_Eye", Side.LEFT),
        ("J_Adj_R_FaceEye", Side.RIGHT),
        ("lEye", Side.LEFT),
        ("左目", Side.LEFT),
        ("eyelid.L", None),
        ("eyebrow_R", None),
        ("lid.T.L.001", None),
        ("eye_target.L", None),
        ("eyes", None),
    ],
)
def test_eyes_by_their_names(name: str, side: Side | None) -> None:
    assert eye_side(name) == side


def body(neck: float = math.inf, spine: float = math.inf) -> tuple[Chain, Pose]:
    """Hips, spine, chest, neck and head upward; limits (degrees) of neck and head, and of spine and chest."""
    limits = np.full((6, 3), np.inf)
    limits[1:3], limits[3:5] = math.radians(spine), math.radians(neck)
    chain = plain_chain([*LINKS], limits=(-limits, limits), rest=np.tile([1.0, 0.0, 0.0, 0.0], (6, 1)))
    # The bones' +Y is upward, their -Z forward.
    frame = np.array([math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0])
    rest = chain.rest.copy()
    rest[0] = frame
    chain = replace(chain, rest=rest, posture_weights=np.array([*WEIGHTS, 1.0]), roots=())
    heights = np.concatenate([[0.0], np.cumsum(LINKS)])
    return chain, Pose(np.outer(heights, UP), np.tile(frame, (6, 1)))


def in_bone(axis: Array) -> Array:
    """An axis of armature space in the frame of all these bones at rest."""
    half = math.sqrt(0.5)
    return np.array(rotate((half, -half, 0.0, 0.0), tuple(axis.tolist())))


def look(chain: Chain, pose: Pose, azimuth: float, elevation: float = 0.0) -> tuple[Array, Array, float]:
    """Look at a point 3 away, azimuth to the left; return the frames, the angles of the bones, and the angle left."""
    a, e = math.radians(azimuth), math.radians(elevation)
    eyes = np.array([0.0, 0.1, 0.0])
    direction = math.cos(e) * (math.cos(a) * FORWARD + math.sin(a) * LEFT) + math.sin(e) * UP
    look_at = LookAt(
        bone=4,
        eyes=eyes,
        forward=in_bone(FORWARD),
        left=in_bone(LEFT),
        point=np.array([0.0, 0.0, sum(LINKS[:4]) + 0.1]) + 3.0 * direction,
        axes=np.stack([FORWARD, LEFT, UP]),
        turning=np.array([1, 2, 3, 4]),
        priority=LOOKS,
    )
    goals = Goals(
        pose.positions[chain.tips],
        with_positions=np.array([False]),
        priorities=np.array([1]),
        look_at=look_at,
    )
    start = start_tree(chain, pose)
    found = solve_tree(start, goals, Options())
    problem = problem_of_goals(start_tree(chain, found.pose), goals, Options())
    assert problem.look_at is not None
    return (
        found.pose.rotations,
        turns(found.pose.rotations),
        math.degrees(problem.look_at.off(problem.present.placed)),
    )


def turns(frames: Array) -> Array:
    """Return by how much each bone is turned in its parent (degrees)."""
    dots = np.abs((frames[1:5] * frames[:4]).sum(axis=1))
    first = abs(float(frames[0] @ [math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0]))
    return np.degrees(2.0 * np.arccos(np.clip([first, *dots], 0.0, 1.0)))


@pytest.mark.parametrize(("azimuth", "elevation"), [(30.0, 0.0), (-60.0, 20.0), (20.0, -40.0), (0.0, 45.0)])
def test_the_head_looks_at_the_point_and_head_and_neck_turn_most(azimuth: float, elevation: float) -> None:
    _, angles, left = look(*body(), azimuth, elevation)
    hips, spine, chest, neck, head = angles.tolist()
    assert left < 0.06
    assert head > neck > spine > hips == 0.0
    assert abs(spine - chest) < 0.1 * spine + 0.1
    assert 0.75 < (neck + head) / (hips + spine + chest + neck + head) < 0.95


def test_limits_hold_and_the_chest_takes_over() -> None:
    _, free, _ = look(*body(), 120.0)
    _, angles, left = look(*body(25.0), 120.0)
    assert angles[3:].max() < 25.5, "a twist of 25 degrees, with a little swing"
    assert angles[1:3].sum() > 1.25 * free[1:3].sum()
    assert 30.0 < left < 60.0


def test_a_head_at_its_limit_that_looks_higher_does_so_at_once() -> None:
    chain, pose = body(20.0, 15.0)
    heights = []
    for elevation in (0.0, 0.5, 1.0, 1.5):
        frames, _, _ = look(chain, pose, 130.0, elevation)
        heights.append(float(of(frames, FORWARD)[2]))
    steps = np.diff(heights)
    assert steps.min() > 0.5 * math.radians(0.5) and steps.max() < 1.5 * math.radians(0.5)


def test_a_head_that_is_tilted_stays_tilted() -> None:
    chain, pose = body()
    tilt = math.radians(15.0)
    frames = pose.rotations.copy()
    about_forward = (math.cos(0.5 * tilt), *(math.sin(0.5 * tilt) * FORWARD))
    frames[4] = multiply(about_forward, tuple(frames[4].tolist()))
    found, _, left = look(chain, _posed(chain, frames), 40.0)
    assert left < 0.05
    assert math.degrees(math.asin(of(found, LEFT)[2])) == pytest.approx(
        math.degrees(math.asin(of(frames, LEFT)[2])), abs=0.1
    )


def test_from_front_to_behind_no_bone_turns_faster_than_the_point() -> None:
    chain, pose = body(25.0, 15.0)
    before = look(chain, pose, 0.0)[0]
    for azimuth in range(2, 180, 2):
        frames, _, _ = look(chain, pose, float(azimuth))
        assert _between(before, frames).max() < 2.2, azimuth
        before = frames


def test_a_head_that_follows_round_flips_once_behind_the_back() -> None:
    chain, pose = body(25.0, 15.0)
    frames, flips, steps = pose.rotations, [], []
    for azimuth in range(2, 361, 2):
        found, _, _ = look(chain, _posed(chain, frames), float(azimuth))
        steps.append(_between(frames, found)[4])
        frames = found
        if steps[-1] > 6.0:
            flips.append(azimuth)
    assert 180 < flips[0] < 230 and flips[-1] - flips[0] <= 6, flips
    assert abs(math.degrees(math.asin(of(frames, LEFT)[2]))) < 0.5, "the head has not come to tilt"


def of(frames: Array, axis: Array) -> Array:
    """Return where an axis of armature space at rest points with the head (3,)."""
    return np.array(rotate(tuple(frames[4].tolist()), tuple(in_bone(axis).tolist())))


def _posed(chain: Chain, frames: Array) -> Pose:
    positions = [np.zeros(3)]
    for frame, length in zip(frames, chain.lengths[1:], strict=False):
        positions.append(positions[-1] + length * np.array(rotate(tuple(frame.tolist()), (0.0, 1.0, 0.0))))
    return Pose(np.array(positions), frames)


def _between(before: Array, after: Array) -> Array:
    """Return by how much the frames of the bones differ (degrees)."""
    return np.degrees(2.0 * np.arccos(np.clip(np.abs((before[:5] * after[:5]).sum(axis=1)), 0.0, 1.0)))
