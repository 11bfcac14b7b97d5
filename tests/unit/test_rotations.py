# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Frame transport: bones rotate with their parent, then with their link by the shortest rotation, and never twist."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core import Chain, Pose, plain_chain, solve
from tests.unit.chains import (
    Array,
    angle_between,
    directions,
    goals,
    lay,
    matrix,
    pose_of,
    posed_chains,
    random_pose,
    target_at,
    turn_angle,
    unit,
)


def deltas(before: Pose, after: Pose) -> Array:
    """Rotations of all bones: matrices (J, 3, 3)."""
    return matrix(after.rotations) @ np.swapaxes(matrix(before.rotations), -1, -2)


def check_from_to(chain: Chain, before: Pose, after: Pose) -> None:
    turned = deltas(before, after)
    old, new = (unit(np.diff(pose.positions, axis=0)) for pose in (before, after))
    parent = np.eye(3)
    for j, delta in enumerate(turned[:-1]):
        np.testing.assert_allclose(delta @ old[j], new[j], atol=1e-6)
        if not chain.inherits[j]:
            parent = np.eye(3)
        # No rotation between the two directions is smaller than the angle between them, and one alone is as small.
        own = delta @ parent.T
        assert turn_angle(own) == pytest.approx(angle_between(parent @ old[j], new[j]), abs=1e-6)
        parent = delta
    np.testing.assert_allclose(turned[-1], turned[-2], atol=1e-12)


@given(posed_chains(smallest=1), st.floats(0.0, 1.5), directions, st.integers(0, 2**12 - 1))
def test_a_bone_rotates_by_the_shortest_rotation_of_its_link(
    posed: tuple[Chain, Pose], reach: float, direction: tuple[float, float, float], without_parent: int
) -> None:
    straight, pose = posed
    inherits = np.array([not without_parent >> j & 1 for j in range(len(straight.lengths))])
    chain = plain_chain(straight.links, inherits=inherits)
    target = pose.positions[0] + reach * chain.total_length * unit(direction)
    solution = solve(chain, pose, goals(target))
    check_from_to(chain, pose, solution.pose)


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_with_a_pole_links_have_the_directions_of_their_bones(count: int) -> None:
    rng = np.random.default_rng(count)
    chain = plain_chain([1.0] * count)
    for _ in range(20):
        pose = random_pose(rng, chain.links, 1.0)
        target = target_at(rng, pose, chain.links, rng.uniform(0.2, 1.2))
        after = solve(chain, pose, goals(target, target_at(rng, pose, chain.links, 1.0))).pose
        # The bones lay along their links (+Y), so they still do.
        np.testing.assert_allclose(
            matrix(after.rotations)[:-1, :, 1], unit(np.diff(after.positions, axis=0)), atol=1e-6
        )


def test_bones_that_do_not_lie_along_their_links_keep_their_angle_to_them() -> None:
    rng = np.random.default_rng(7)
    chain = plain_chain([1.0, 0.5, 0.8])
    pose = random_pose(rng, chain.links, 1.0)
    frames = unit_quaternions(rng, 3)
    askew = Pose(pose.positions, np.array([*frames, frames[-1]]))
    after = solve(chain, askew, goals(target_at(rng, pose, chain.links, 0.7))).pose
    check_from_to(chain, askew, after)
    before, now = (
        np.einsum("jab,ja->jb", matrix(p.rotations)[:-1], unit(np.diff(p.positions, axis=0))) for p in (askew, after)
    )
    np.testing.assert_allclose(now, before, atol=1e-9)


def test_a_bone_that_does_not_inherit_rotation_rotates_with_its_own_link_alone() -> None:
    # The second link ends parallel to where it was: its bone keeps its frame, although its parent rotated.
    chain = plain_chain([1.0, 1.0], inherits=np.array([True, False, False]))
    pose = pose_of(lay(chain.links, [(0, 0, 1), (0, 1, 0)]), [0.3, 0.7])
    target = np.array([1.0, 1.0, 0.0])
    after = solve(chain, pose, goals(target, pole=(5.0, -5.0, 0.0))).pose
    np.testing.assert_allclose(after.positions[1], (1.0, 0.0, 0.0), atol=1e-9)
    np.testing.assert_allclose(matrix(after.rotations[1]), matrix(pose.rotations[1]), atol=1e-9)
    assert turn_angle(deltas(pose, after)[0]) > 1.0


def test_a_link_that_reverses_rotates_about_the_x_axis_of_its_bone() -> None:
    # Every axis perpendicular to the link gives a rotation by 180 degrees: the bone's x axis is taken.
    chain = plain_chain([1.0])
    for roll in (0.0, 0.4, 2.0):
        pose = pose_of(lay([1.0], [(0.0, 0.0, 1.0)]), roll)
        after = solve(chain, pose, goals((0.0, 0.0, -5.0))).pose
        x_axis = matrix(pose.rotations[0])[:, 0]
        np.testing.assert_allclose(deltas(pose, after)[0] @ x_axis, x_axis, atol=1e-9)


def unit_quaternions(rng: np.random.Generator, count: int) -> Array:
    q = rng.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)
