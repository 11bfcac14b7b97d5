# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Input that can't be solved is refused with a message that names the fault."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fabrik_addon.core import Chain, FabrikError, Goals, Options, Pose, plain_chain, solve, start_from
from tests.unit.chains import Array, goals, lay, pose_of
from tests.unit.trees import y_tree

NAMES = ("upper_arm", "forearm", "hand")
CHAIN = plain_chain([1.0, 0.8, 0.4], NAMES)
POSE = pose_of(lay(CHAIN.links, [(0, 0, 1), (1, 0, 1), (1, 0, 0)]))
TARGET = np.array([0.5, 0.5, 0.5])
NOT_NUMBERS = [np.nan, np.inf, -np.inf]


def with_one(values: Array, index: tuple[int, ...], value: float) -> Array:
    changed = values.copy()
    changed[index] = value
    return changed


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("value", NOT_NUMBERS)
@pytest.mark.parametrize(("joint", "name"), [(0, "upper_arm"), (1, "forearm"), (2, "hand"), (3, "hand")])
def test_a_pose_that_is_not_a_number_names_the_bone(joint: int, name: str, value: float, batch: bool) -> None:
    broken = [
        ("position", Pose(with_one(POSE.positions, (joint, 1), value), POSE.rotations)),
        ("rotation", Pose(POSE.positions, with_one(POSE.rotations, (joint, 3), value))),
    ]
    for kind, pose in broken:
        if batch:
            # One bad item of three.
            positions, rotations = (
                [a, b, a] for a, b in ((POSE.positions, pose.positions), (POSE.rotations, pose.rotations))
            )
            pose = Pose(np.array(positions), np.array(rotations))
        with pytest.raises(FabrikError, match=rf"the {kind} of bone '{name}' is not a finite number"):
            solve(CHAIN, pose, goals(TARGET))


@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_a_target_or_pole_that_is_not_a_number_names_the_chain(value: float) -> None:
    bad = with_one(TARGET, (2,), value)
    with pytest.raises(FabrikError, match=r"the target of the chain that ends at bone 'hand' is not a finite number"):
        solve(CHAIN, POSE, goals(bad))
    with pytest.raises(
        FabrikError, match=r"the pole target of the chain that ends at bone 'hand' is not a finite number"
    ):
        solve(CHAIN, POSE, goals(TARGET, pole=bad))


@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_a_pole_angle_that_is_not_a_number_is_refused(value: float) -> None:
    with pytest.raises(FabrikError, match="pole angle"):
        solve(CHAIN, POSE, goals(TARGET, pole=(1.0, 2.0, 3.0), pole_angle=value))


@pytest.mark.parametrize("length", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("link", [0, 1, 2])
def test_a_link_without_length_names_its_bone(link: int, length: float) -> None:
    lengths = [1.0, 0.8, 0.4]
    lengths[link] = length
    with pytest.raises(FabrikError, match=rf"bone '{NAMES[link]}' has length"):
        plain_chain(lengths, NAMES)


def test_joints_without_names_are_numbered() -> None:
    with pytest.raises(FabrikError, match="joint 1 has length 0"):
        plain_chain([1.0, 0.0])


def free_limits(joints: int) -> tuple[Array, Array]:
    return np.full((joints, 3), -np.inf), np.full((joints, 3), np.inf)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(
    ("lower", "upper", "words"),
    [
        (0.5, -0.25, "0.5 and -0.25"),
        (1.0, 0.9999999999999999, "1.0 and 0.9999999999999999"),
        (np.nan, 1.0, "nan and 1.0"),
        (-1.0, np.nan, "-1.0 and nan"),
        (np.inf, np.inf, "inf and inf"),
        (-np.inf, -np.inf, "-inf and -inf"),
    ],
)
def test_limits_that_no_angle_meets_name_bone_and_axis(lower: float, upper: float, words: str, axis: int) -> None:
    limits = free_limits(4)
    limits[0][1, axis], limits[1][1, axis] = lower, upper
    message = (
        rf"the limits of bone 'forearm' about {'XYZ'[axis]} are {words} radians: the smallest angle must be at most"
    )
    with pytest.raises(FabrikError, match=message):
        plain_chain(CHAIN.links, NAMES, limits=limits)
    tree, _ = y_tree()
    limits = free_limits(len(tree.lengths))
    limits[0][1, axis], limits[1][1, axis] = lower, upper
    with pytest.raises(FabrikError, match=message.replace("bone 'forearm'", "joint 1")):
        dataclasses.replace(tree, lower=limits[0], upper=limits[1])


def test_a_locked_axis_is_a_range() -> None:
    limits = np.full((4, 3), 0.5), np.full((4, 3), 0.5)
    assert plain_chain(CHAIN.links, NAMES, limits=limits).has_limits


@pytest.mark.parametrize("value", [*NOT_NUMBERS, -0.1, 1.0])
def test_a_stiffness_outside_its_range_names_bone_and_axis(value: float) -> None:
    stiffness = with_one(np.zeros((4, 3)), (2, 1), value)
    with pytest.raises(FabrikError, match=rf"the stiffness of bone 'hand' about Y is {value:g}: it must be at least 0"):
        plain_chain(CHAIN.links, NAMES, stiffness=stiffness)


@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_a_rest_frame_that_is_no_rotation_names_the_bone(value: float) -> None:
    rest = POSE.rotations.copy()
    with pytest.raises(FabrikError, match="the rest frame of bone 'forearm' is not a finite number"):
        plain_chain(CHAIN.links, NAMES, rest=with_one(rest, (1, 2), value))
    rest[1] = 0.0
    with pytest.raises(FabrikError, match="the rest frame of bone 'forearm' is not a unit quaternion"):
        plain_chain(CHAIN.links, NAMES, rest=rest)


@pytest.mark.parametrize("value", [*NOT_NUMBERS, -1.0])
def test_what_an_effector_of_a_tree_can_not_have_names_its_chain(value: float) -> None:
    tree, pose = y_tree()
    targets, bad = pose.positions[tree.tips] + 0.1, np.array([0.0, value])
    said = rf"of the chain that ends at joint {tree.tips[1]} is {value:g}: it must be"
    with pytest.raises(FabrikError, match=f"the weight {said} at least 0"):
        dataclasses.replace(tree, weights=bad)
    with pytest.raises(FabrikError, match=f"the softness {said} from 0 to 1"):
        solve(tree, pose, Goals(targets, softness=bad))
    with pytest.raises(FabrikError, match=f"the slack {said} at least 0"):
        solve(tree, pose, Goals(targets, slack=bad))


@pytest.mark.parametrize("value", [np.nan, -np.inf, -0.5, 0.0])
def test_a_rotation_bound_that_is_no_angle_names_its_chain(value: float) -> None:
    """NaN switched off the rotation goal without a word."""
    tree, pose = y_tree()
    goals_of = Goals(pose.positions[tree.tips] + 0.1, rotations=pose.rotations[tree.tips])
    said = rf"of the chain that ends at joint {tree.tips[1]} is {value:g}: it must be more than 0"
    with pytest.raises(FabrikError, match=f"the rotation bound {said}"):
        solve(tree, pose, dataclasses.replace(goals_of, rotation_bounds=np.array([np.inf, value])))


@pytest.mark.parametrize("value", [*NOT_NUMBERS, 0.5])
def test_a_rotation_axis_that_is_no_direction_names_its_chain(value: float) -> None:
    tree, pose = y_tree()
    goals_of = Goals(pose.positions[tree.tips] + 0.1, rotations=pose.rotations[tree.tips])
    axes = np.array([[0.0, 0.0, 0.0], [0.0, value, 0.0]])
    said = f"the rotation axis of the chain that ends at joint {tree.tips[1]} is not a unit vector"
    with pytest.raises(FabrikError, match=said):
        solve(tree, pose, dataclasses.replace(goals_of, rotation_axes=axes))


@pytest.mark.parametrize("quaternion", [(0, 0, 0, 0), (2, 0, 0, 0), (0, 0, 1e-200, 0), (0.6, 0.8, 1e100, 0)])
@pytest.mark.parametrize("batch", [False, True])
def test_a_quaternion_that_is_no_rotation_is_refused(quaternion: tuple[float, ...], batch: bool) -> None:
    fault = "is not a unit quaternion"
    bad = np.array(quaternion, float)
    desired = np.stack([POSE.rotations[:1], bad[None]]) if batch else bad[None]
    with pytest.raises(FabrikError, match=f"the rotation goal of the chain that ends at bone 'hand' {fault}"):
        solve(CHAIN, POSE, Goals(TARGET[None], rotations=desired))
    with pytest.raises(FabrikError, match=f"the parent frame of bone 'upper_arm' {fault}"):
        limited = plain_chain(CHAIN.links, NAMES, limits=(np.full((4, 3), -1.0), np.full((4, 3), 1.0)))
        solve(limited, dataclasses.replace(POSE, base=bad), Goals(TARGET[None]))
    rotations = POSE.rotations.copy()
    rotations[1] = bad
    with pytest.raises(FabrikError, match=f"the rotation of bone 'forearm' {fault}"):
        solve(CHAIN, Pose(POSE.positions, rotations), goals(TARGET))
    tree, pose = y_tree()
    frames = pose.rotations[tree.tips]
    frames[1] = bad
    with pytest.raises(FabrikError, match=f"the rotation goal of the chain that ends at joint {tree.tips[1]} {fault}"):
        solve(tree, pose, Goals(pose.positions[tree.tips], rotations=frames))


@pytest.mark.parametrize("iterations", [0, -3])
def test_at_least_one_iteration(iterations: int) -> None:
    with pytest.raises(FabrikError, match=f"iterations is {iterations}"):
        Options(iterations=iterations)


@pytest.mark.parametrize("tolerance", [0.0, -1e-4, np.nan])
def test_a_tolerance_above_zero(tolerance: float) -> None:
    with pytest.raises(FabrikError, match="tolerance is"):
        Options(tolerance=tolerance)


@pytest.mark.parametrize(
    ("pose", "goal", "what"),
    [
        (Pose(POSE.positions[:-1], POSE.rotations), Goals(TARGET[None]), "positions have shape"),
        (Pose(POSE.positions, POSE.rotations[1:]), Goals(TARGET[None]), "rotations have shape"),
        (Pose(POSE.positions, POSE.rotations[:, :3]), Goals(TARGET[None]), "rotations have shape"),
        (POSE, Goals(TARGET), "targets have shape"),
        (POSE, Goals(np.stack([TARGET, TARGET])), "targets have shape"),
        (POSE, Goals(TARGET[None], poles=TARGET), "poles have shape"),
        (Pose(np.stack([POSE.positions] * 3), POSE.rotations), Goals(np.zeros((2, 1, 3))), "batch shapes"),
    ],
)
def test_shapes_that_do_not_fit(pose: Pose, goal: Goals, what: str) -> None:
    with pytest.raises(FabrikError, match=what):
        solve(CHAIN, pose, goal)


def two_tips(chain: Chain) -> Chain:
    return dataclasses.replace(chain, tips=np.array([2, 3]), weights=np.ones(2))


def tip_inside(chain: Chain) -> Chain:
    return dataclasses.replace(chain, tips=np.array([2]))


def branch(chain: Chain) -> Chain:
    return dataclasses.replace(chain, parents=np.array([-1, 0, 1, 1]))


@pytest.mark.parametrize("change", [two_tips, tip_inside, branch])
def test_a_tree_is_no_start_of_a_chain(change: object) -> None:
    assert callable(change)
    with pytest.raises(FabrikError, match="only a plain chain"):
        start_from(change(CHAIN), POSE)


def test_every_refusal_is_a_value_error() -> None:
    assert issubclass(FabrikError, ValueError)
