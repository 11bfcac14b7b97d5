# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Input that can't be solved is refused with a message that names the fault."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fabrik_addon.core import Chain, FabrikError, Goals, Options, Pose, plain_chain, solve, start_from
from tests.unit.chains import Array, goals, lay, pose_of

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
