# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree at many frames: as if each were solved from the solution of the frame before, without jumps and drift."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fabrik_addon.core import (
    Goals,
    Options,
    StartTree,
    Status,
    TreeSolution,
    solve_tree_components,
    solve_tree_frames,
    start_tree,
)
from fabrik_addon.core.math.quaternion_arrays import angle_between
from tests.unit.trees import y_tree

FRAMES = 97
ROUND = 48
"""Frames of one round of the targets' paths."""


def start(kind: str) -> StartTree:
    chain, pose = y_tree()
    if "limits" in kind:
        lower, upper = np.full((len(chain.lengths), 3), -0.9), np.full((len(chain.lengths), 3), 0.7)
        lower[1], upper[1] = -np.inf, np.inf
        chain = replace(chain, lower=lower, upper=upper)
    return start_tree(chain, pose)


def goals_at(begin: StartTree, kind: str, frame: int) -> Goals:
    angle = 2.0 * np.pi * frame / ROUND
    tips = begin.pose.positions[begin.chain.tips]
    targets = tips + np.array([[-0.6, 0.3, 0.2], [0.5, 0.2, -0.5]])
    targets[0] += 0.4 * np.array([np.cos(angle), np.sin(angle), 0.5 * np.sin(2.0 * angle)])
    targets[1] += 0.2 * np.array([np.sin(angle), 0.0, np.cos(angle)])
    if "beyond" in kind:
        targets[0] *= 1.0 + 0.8 * max(0.0, np.sin(angle))
    poles = np.array([[1.0, 5.0, 3.0], [-1.0, 5.0, 3.0]]) if "poles" in kind else None
    rotations = np.array([[1.0, 0.0, 0.0, 0.0], [np.cos(0.2), 0.0, np.sin(0.2), 0.0]]) if "rotations" in kind else None
    return Goals(targets, rotations=rotations, poles=poles)


def in_order(frames: list[tuple[StartTree, Goals]]) -> list[TreeSolution]:
    """Each frame solved from the solution of the one before, those that don't reach from their own poses."""
    found: list[TreeSolution] = []
    for frame in frames:
        solution = None
        if found and is_reached(found[-1]):
            solution = solve_tree_components(*frame, Options(), found[-1])
        if solution is None or not is_reached(solution):
            solution = solve_tree_components(*frame, Options())
        found.append(solution)
    return found


def is_reached(solution: TreeSolution) -> bool:
    return all(status == Status.REACHED for status in solution.status)


def rotations(before: TreeSolution, after: TreeSolution) -> float:
    """Largest angle between the frames of a bone."""
    return float(angle_between(np.array(before.frames), np.array(after.frames)).max())


@pytest.mark.parametrize("kind", ["free", "limits", "poles", "limits, poles", "limits, rotations"])
def test_smooth_targets_are_reached_without_jumps_and_drift(kind: str) -> None:
    begin = start(kind)
    frames = [(begin, goals_at(begin, kind, number)) for number in range(FRAMES)]
    found = solve_tree_frames(frames, Options())
    assert all(map(is_reached, found))
    alone = in_order(frames)
    assert max(rotations(*pair) for pair in zip(found, alone, strict=True)) <= 5e-3
    steps = [rotations(*pair) for pair in zip(found[:-1], found[1:], strict=True)]
    assert max(steps) <= 3.0 * np.median(steps)
    assert rotations(found[0], found[ROUND]) <= 5e-3 and rotations(found[0], found[2 * ROUND]) <= 5e-3


def test_frames_between_two_near_ones_are_solved_together() -> None:
    begin = start("limits")
    frames = [(begin, goals_at(begin, "limits", number)) for number in range(FRAMES)]
    # Those of a batch count as one sweep.
    assert sum(solution.sweeps == 1 for solution in solve_tree_frames(frames, Options())) >= 0.75 * FRAMES


def test_frames_that_cant_reach_and_those_far_from_each_other_are_solved_in_order() -> None:
    begin = start("limits")
    kinds = [goals_at(begin, "limits, beyond", number) for number in range(FRAMES)]
    kinds += [goals_at(begin, "limits", 20 * number) for number in range(20)]
    frames = [(begin, goals) for goals in kinds]
    for found, alone in zip(solve_tree_frames(frames, Options()), in_order(frames), strict=True):
        assert [int(status) for status in found.status] == [int(status) for status in alone.status]
        assert np.allclose(found.error, alone.error, atol=1e-4)
