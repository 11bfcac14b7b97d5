# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain at many frames: as one batch, or from frame to frame where it would jump."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from fabrik_addon.core import Chain, Goals, Options, Pose, solve_chain_frames, solve_components, start_from
from fabrik_addon.core.math.quaternion_arrays import angle_between
from fabrik_addon.core.model.chain_start import StartPose
from fabrik_addon.core.stages.stage import ComponentSolution
from scripts.benchmark.limit_sets import (
    ARM,
    CLAVICLE_ARM,
    ConstrainedBones,
    feasible_swings,
    own_turns,
    posed,
    worst_violation,
)
from tests.unit.chains import Array, goals, unit

OPTIONS = Options()
FRAMES = 81


def path_of(bones: ConstrainedBones, seed: int) -> tuple[StartPose, Array, Array]:
    """Frames that all start from one pose, targets (F, 1, 3) along poses within limits, and a pole (F, 1, 3)."""
    middle, onward, aside = np.array([0.6, 0.24, 0.24])[:, None, None] * feasible_swings(
        np.random.default_rng(seed), bones, 3
    )
    angles = np.linspace(0.0, 2.0 * np.pi, FRAMES)[:, None, None]
    joints = posed(bones, middle + np.cos(angles) * onward + np.sin(angles) * aside).positions
    targets, inner = joints[:, -1:], joints[:, 1:-1].sum(axis=1)
    bends = inner - np.sum(inner * unit(targets[:, 0]), axis=1, keepdims=True) * unit(targets[:, 0])
    poles = np.broadcast_to(0.5 * targets.mean(axis=0) + 2.0 * unit(bends.mean(axis=0)), targets.shape)
    return frames_of(bones.chain(), posed(bones, middle)), targets, poles


def frames_of(chain: Chain, pose: Pose) -> StartPose:
    """The same pose at all frames."""
    rows = (np.broadcast_to(each, (FRAMES, *each.shape)) for each in (pose.positions, pose.rotations))
    return start_from(chain, Pose(*rows, pose.base))


def rotations_of(found: ComponentSolution) -> Array:
    """The bones' frames (F, B, 4)."""
    return np.array([np.broadcast_arrays(*frame) for frame in found.frames]).transpose(2, 0, 1)


def largest_turns(rotations: Array) -> Array:
    """The largest rotation of a bone in its parent from each frame to the next (F - 1,), of bones' frames (F, B, 4)."""
    own = own_turns(rotations)
    return angle_between(own[1:], own[:-1]).max(axis=1)


def in_parts(start: StartPose, desired: Goals, cuts: tuple[int, ...]) -> Array:
    """The bones' frames (F, B, 4) of an animation that is solved in parts, which begin at the cuts."""
    near, found = None, []
    for first, last in pairwise((0, *cuts, FRAMES)):
        part = slice(first, last)
        pose = Pose(start.pose.positions[part], start.pose.rotations[part], start.pose.base)
        goals_of_part = Goals(
            desired.targets[part],
            rotations=None if desired.rotations is None else desired.rotations[part],
            poles=None if desired.poles is None else desired.poles[part],
        )
        solved, near = solve_chain_frames(start_from(start.chain, pose), goals_of_part, OPTIONS, near)
        found.append(rotations_of(solved))
    return np.concatenate(found)


@pytest.mark.parametrize("with_pole", [False, True])
def test_frames_that_dont_jump_are_those_of_the_batch(with_pole: bool) -> None:
    start, targets, poles = path_of(ARM, 0)
    desired = Goals(targets, poles=poles if with_pole else None)
    found, near = solve_chain_frames(start, desired, OPTIONS)
    assert np.array_equal(rotations_of(found), rotations_of(solve_components(start, desired, OPTIONS)))
    assert np.array_equal(near.frames, rotations_of(found)[-1])


@pytest.mark.parametrize("seed", [5, 6, 17, 19])
def test_frames_that_jump_go_on_from_the_frame_before(seed: int) -> None:
    """An arm with its clavicle beside a pole, all targets within reach."""
    start, targets, poles = path_of(CLAVICLE_ARM, seed)
    desired = Goals(targets, poles=poles)
    alone = largest_turns(rotations_of(solve_components(start, desired, OPTIONS)))
    assert alone.max() > 3.0 * np.median(alone)
    found, _ = solve_chain_frames(start, desired, OPTIONS)
    turns = largest_turns(rotations_of(found))
    assert turns.max() <= 3.0 * np.median(turns)
    assert (found.error <= OPTIONS.tolerance).all()
    assert worst_violation(CLAVICLE_ARM, rotations_of(found)) <= 1e-9


@pytest.mark.parametrize("seed", [5, 6, 17, 19])
@pytest.mark.parametrize(("cuts", "is_smooth"), [((1,), False), ((10, 20, 60), False), ((41, 60), True), ((80,), True)])
def test_parts_of_an_animation_go_on_from_each_other(seed: int, cuts: tuple[int, ...], is_smooth: bool) -> None:
    """A part that doesn't jump, even one of a single frame, after one that is followed: the jump moved between them.

    A short first part may choose the way to bend that ends later.
    """
    start, targets, poles = path_of(CLAVICLE_ARM, seed)
    desired = Goals(targets, poles=poles)
    alone = largest_turns(rotations_of(solve_components(start, desired, OPTIONS)))
    turns = largest_turns(in_parts(start, desired, cuts))
    assert turns.max() <= alone.max()
    assert turns.max() <= 3.0 * np.median(turns) or not is_smooth


def test_an_animation_that_holds_and_moves_evenly_doesnt_jump() -> None:
    start, targets, poles = path_of(CLAVICLE_ARM, 0)
    held = np.minimum(np.arange(FRAMES), 20)
    desired = Goals(targets[held], poles=poles)
    found, _ = solve_chain_frames(start, desired, OPTIONS)
    assert np.array_equal(rotations_of(found), rotations_of(solve_components(start, desired, OPTIONS)))


def test_other_solvers_than_fabrik_stay_themselves() -> None:
    start, targets, poles = path_of(CLAVICLE_ARM, 5)
    options = Options(solver="CCD")
    found, _ = solve_chain_frames(start, Goals(targets, poles=poles), options)
    alone = solve_components(start, Goals(targets, poles=poles), options)
    assert np.array_equal(rotations_of(found), rotations_of(alone))


def test_frames_with_a_rotation_in_two_parts_are_all_frames_at_once() -> None:
    start, targets, _ = path_of(CLAVICLE_ARM, 0)
    rotations = np.broadcast_to(start.pose.rotations[:, -1:], (FRAMES, 1, 4))
    desired = Goals(targets, rotations=rotations)
    whole, _ = solve_chain_frames(start, desired, OPTIONS)
    assert np.array_equal(in_parts(start, desired, (30,)), rotations_of(whole))


def test_one_frame_is_solved_as_it_is_alone() -> None:
    start, targets, _ = path_of(CLAVICLE_ARM, 0)
    pose = Pose(start.pose.positions[:1], start.pose.rotations[:1], start.pose.base)
    found, _ = solve_chain_frames(start_from(start.chain, pose), Goals(targets[:1]), OPTIONS)
    alone = solve_components(start_from(start.chain, Pose(pose.positions[0], pose.rotations[0])), goals(targets[0, 0]))
    assert np.allclose(rotations_of(found)[0], np.array(alone.frames), atol=1e-12)
