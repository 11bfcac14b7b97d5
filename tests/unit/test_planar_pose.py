# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The family of planar poses: bent to one side, tip at the distance, one pose for every distance, without a jump."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core.fabrik.planar_pose import KNEE, bend_angles, closed_bends, planar_pose
from fabrik_addon.core.math.operations import ARRAY, SCALAR
from tests.unit.chains import (
    Array,
    angle_between,
    even_or_uneven_lengths,
    lay,
    lengths_with_a_hole,
    link_lengths,
    nearest_reach,
    random_pose,
    seeds,
)


def posed(bends: list[float], lengths: list[float], distance: float) -> Array:
    """Joints (J, 2) along the line root-target and across it."""
    return np.stack(planar_pose(SCALAR, bends, lengths, distance), axis=-1)


def bends_of(joints: Array) -> Array:
    """Bend angles (J - 2,) of planar joints (J, 2), positive to the side of the bend."""
    links = np.diff(joints, axis=0)
    return np.asarray(
        -np.arctan2(links[:-1, 0] * links[1:, 1] - links[:-1, 1] * links[1:, 0], (links[:-1] * links[1:]).sum(axis=1))
    )


def random_chain(seed: int, smallest: int = 3, largest: int = 20) -> tuple[np.random.Generator, list[float]]:
    rng = np.random.default_rng(seed)
    lengths = rng.uniform(0.2, 1.0, rng.integers(smallest, largest + 1)) ** rng.choice([0.0, 1.0, 2.0])
    return rng, (lengths / lengths.sum()).tolist()


def gentle_bends(rng: np.random.Generator, count: int) -> list[float]:
    """Bends that add up to no more than at the knee: even, uneven, or all at one joint."""
    bends = rng.uniform(0.0, 1.0, count) ** rng.choice([1.0, 4.0])
    if rng.random() < 0.2:
        bends = np.eye(count)[rng.integers(count)]
    return (rng.uniform(0.01, 1.0) * KNEE * bends / bends.sum()).tolist()


@given(seeds, st.integers(2, 20), st.sampled_from([0.0, 0.5, np.pi]))
def test_bends_are_the_angles_between_links(seed: int, count: int, bend: float) -> None:
    rng = np.random.default_rng(seed)
    joints = random_pose(rng, rng.uniform(0.2, 1.0, count), bend).positions
    links = np.diff(joints, axis=0)
    np.testing.assert_allclose(bend_angles(SCALAR, joints.tolist()), angle_between(links[:-1], links[1:]), atol=1e-7)


@given(seeds, st.floats(0.0, 1.0), st.sampled_from([0.2, 1.0, np.pi]))
def test_whatever_the_start_the_tip_is_at_the_distance_and_every_joint_bends_to_one_side(
    seed: int, share: float, bend: float
) -> None:
    rng, lengths = random_chain(seed)
    nearest = nearest_reach(lengths)
    distance = nearest + share * (1.0 - nearest)
    joints = posed(rng.uniform(0.0, bend, len(lengths) - 1).tolist(), lengths, distance)
    np.testing.assert_allclose(link_lengths(joints), lengths, rtol=1e-12)
    np.testing.assert_allclose(joints[-1], (distance, 0.0), atol=1e-9)
    assert (bends_of(joints) > -1e-7).all()


@given(seeds)
def test_one_chain_has_one_pose_for_every_distance_and_no_joint_jumps(seed: int) -> None:
    rng, lengths = random_chain(seed)
    bends = gentle_bends(rng, len(lengths) - 1)
    nearest = nearest_reach(lengths)
    # In equal steps of the angle whose cosine is the distance: at both ends joints move with its square root.
    distances = 0.5 * (1.0 + nearest) + 0.5 * (1.0 - nearest) * np.cos(np.linspace(0.02, np.pi - 0.02, 1200))
    batch = planar_pose(ARRAY, [np.full(1200, bend) for bend in bends], lengths, distances)
    joints = np.stack(batch, axis=-1).swapaxes(0, 1)
    np.testing.assert_allclose(joints[:, -1, 0], distances, atol=1e-9)
    assert np.linalg.norm(np.diff(joints, axis=0), axis=-1).max() < 0.06
    for j in range(0, 1200, 300):
        np.testing.assert_allclose(posed(bends, lengths, float(distances[j])), joints[j], atol=1e-9)


@given(seeds, st.floats(0.02, 0.98), st.floats(0.02, 0.98))
def test_the_pose_does_not_depend_on_where_in_the_family_it_starts(seed: int, first: float, second: float) -> None:
    rng, lengths = random_chain(seed, largest=12)
    bends = gentle_bends(rng, len(lengths) - 1)
    nearest = nearest_reach(lengths)
    here, there = nearest + first * (1.0 - nearest), nearest + second * (1.0 - nearest)
    between = bends_of(posed(bends, lengths, here))
    on_the_way = posed(np.maximum(between, 0.0).tolist(), lengths, there)
    np.testing.assert_allclose(on_the_way, posed(bends, lengths, there), atol=2e-4)


@given(seeds, st.integers(2, 10), st.sampled_from([0.3, 0.6, 0.8]))
def test_a_planar_chain_whose_tip_is_at_the_distance_stays_as_it_is(seed: int, count: int, most: float) -> None:
    rng = np.random.default_rng(seed)
    bends = rng.uniform(0.01, 1.0, count)
    bends *= most * np.pi / bends.sum()
    headings = -np.concatenate([[0.0], np.cumsum(bends)])
    lengths = rng.uniform(0.5, 1.0, count + 1)
    lengths /= lengths.sum()
    joints = lay(lengths, np.stack([np.cos(headings), np.sin(headings), 0 * headings], axis=-1))
    made = posed(bends.tolist(), lengths.tolist(), float(np.linalg.norm(joints[-1])))
    np.testing.assert_allclose(bends_of(made), bends, atol=1e-6)


@given(seeds, st.floats(0.3, 0.99))
def test_up_to_the_knee_bends_keep_their_proportions(seed: int, distance: float) -> None:
    rng, lengths = random_chain(seed)
    bends = np.array(gentle_bends(rng, len(lengths) - 1))
    if distance <= nearest_reach(lengths):
        return
    made = bends_of(posed(bends.tolist(), lengths, distance))
    if made.sum() < KNEE:
        np.testing.assert_allclose(made / made.sum(), bends / bends.sum(), atol=1e-7)


@pytest.mark.parametrize("count", [4, 10, 50])
def test_even_bends_of_equal_links_are_a_circle_at_every_distance(count: int) -> None:
    for distance in (0.05, 0.2, 0.5, 0.8, 0.95, 0.999):
        made = bends_of(posed([0.1 / count] * (count - 1), [1.0 / count] * count, distance))
        np.testing.assert_allclose(made, made[0], rtol=1e-6)


@given(st.one_of(even_or_uneven_lengths(3, 20), lengths_with_a_hole()))
def test_the_closed_chain_goes_round_one_circle_once_or_is_folded_along_its_longest_link(lengths: list[float]) -> None:
    total = sum(lengths)
    bends = np.array(closed_bends(tuple(lengths)))
    headings = np.concatenate([[0.0], np.cumsum(bends)])
    directions = np.stack([np.cos(headings), np.sin(headings)], axis=-1)
    joints = np.concatenate([np.zeros((1, 2)), np.cumsum(np.array(lengths)[:, None] * directions, axis=0)])
    assert (bends >= 0.0).all() and bends.sum() <= 2.0 * np.pi + 1e-9
    np.testing.assert_allclose(np.linalg.norm(joints[-1]), nearest_reach(lengths), atol=1e-7 * total)
    if nearest_reach(lengths) == 0.0:
        solution, *_ = np.linalg.lstsq(
            np.column_stack([2.0 * joints, np.ones(len(joints))]), (joints**2).sum(axis=1), rcond=None
        )
        radii = np.linalg.norm(joints - solution[:2], axis=1)
        np.testing.assert_allclose(radii, radii[0], atol=1e-6 * total)
