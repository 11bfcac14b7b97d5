# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains, poses and goals for the tests, and what the laws measure on them.

Written over numpy's matrices, with nothing of the core but its data types: a mistake there can't hide here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from fabrik_addon.core import Chain, Goals, Pose, plain_chain

Array = NDArray[np.float64]


# Making poses


def unit(vectors: ArrayLike) -> Array:
    """Vectors (..., 3) made one long."""
    array = np.asarray(vectors, float)
    return array / np.linalg.norm(array, axis=-1, keepdims=True)


def lay(lengths: ArrayLike, directions: ArrayLike, root: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Joints (J, 3) of links laid end to end."""
    links = np.asarray(lengths, float)[:, None] * unit(directions)
    return np.asarray(root, float) + np.vstack([np.zeros(3), np.cumsum(links, axis=0)])


def pose_of(positions: Array, rolls: ArrayLike = 0.0) -> Pose:
    """The pose whose bones lie along their links (+Y) and are rolled by angles (J - 1,) about them."""
    links = unit(np.diff(positions, axis=0))
    rolls = np.broadcast_to(np.asarray(rolls, float), len(links))
    frames = [quaternion(frame_along(link, roll)) for link, roll in zip(links, rolls, strict=True)]
    return Pose(positions, np.array([*frames, frames[-1]]))


def frame_along(y_axis: Array, roll: float) -> Array:
    """The matrix (3, 3) of a frame with a given y axis, rolled by an angle about it."""
    helper = np.eye(3)[np.argmin(np.abs(y_axis))]
    x_axis = unit(np.cross(helper, y_axis))
    z_axis = np.cross(x_axis, y_axis)
    x_axis = np.cos(roll) * x_axis + np.sin(roll) * z_axis
    return np.stack([x_axis, y_axis, np.cross(x_axis, y_axis)], axis=-1)


def frames_in_plane(positions: Array, normal: ArrayLike) -> Pose:
    """The pose of a planar chain whose bones' x axes are the normal of its plane: every joint is a hinge about x."""
    x_axis = unit(normal)
    frames = [quaternion(np.stack([x_axis, y, np.cross(x_axis, y)], axis=-1)) for y in unit(np.diff(positions, axis=0))]
    return Pose(positions, np.array([*frames, frames[-1]]))


def random_pose(rng: np.random.Generator, lengths: ArrayLike, bend: float) -> Pose:
    """A pose from a random root, each link turned away from the one before by up to ``bend`` radians."""
    heading = unit(rng.normal(size=3))
    directions = []
    for _ in np.asarray(lengths):
        directions.append(heading)
        aside = unit(np.cross(heading, rng.normal(size=3)))
        angle = rng.uniform(0.0, bend)
        heading = np.cos(angle) * heading + np.sin(angle) * aside
    positions = lay(lengths, directions, rng.normal(size=3))
    return pose_of(positions, rng.uniform(-np.pi, np.pi, len(directions)))


def target_at(rng: np.random.Generator, pose: Pose, lengths: ArrayLike, reach: float) -> Array:
    """A target in a random direction, ``reach`` times the chain's length away from its root."""
    return pose.positions[0] + reach * np.sum(lengths) * unit(rng.normal(size=3))


def goals(target: ArrayLike, pole: ArrayLike | None = None, pole_angle: float | None = None) -> Goals:
    """One target, and one pole where it is given."""
    return Goals(
        targets=np.asarray(target, float)[..., None, :],
        poles=None if pole is None else np.asarray(pole, float)[..., None, :],
        pole_angles=None if pole_angle is None else np.array([pole_angle]),
    )


def nearest_reach(lengths: Sequence[float]) -> float:
    """How near to its root a chain's tip can come."""
    return max(0.0, 2.0 * max(lengths) - sum(lengths))


# Rotations


def matrix(q: ArrayLike) -> Array:
    """Matrices (..., 3, 3) of unit quaternions (..., 4)."""
    w, x, y, z = np.moveaxis(np.asarray(q, float), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def quaternion(m: Array) -> Array:
    """A unit quaternion (4,) of a matrix (3, 3), by the eigenvector of Bar-Itzhack's K."""
    k = np.array(
        [
            [m[0, 0] - m[1, 1] - m[2, 2], 0, 0, 0],
            [m[0, 1] + m[1, 0], m[1, 1] - m[0, 0] - m[2, 2], 0, 0],
            [m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], m[2, 2] - m[0, 0] - m[1, 1], 0],
            [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], np.trace(m)],
        ]
    )
    _, vectors = np.linalg.eigh(k / 3.0)
    return vectors[[3, 0, 1, 2], -1]


def turn(axis: ArrayLike, angle: float) -> Array:
    """The matrix (3, 3) of a turn about an axis."""
    x, y, z = unit(axis)
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew


def turn_angle(m: Array) -> Array:
    """Angles (...) of the turns (..., 3, 3); exact near 0 and near pi."""
    sine = np.linalg.norm(
        np.stack([m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]]), axis=0
    )
    return np.arctan2(sine, np.trace(m, axis1=-2, axis2=-1) - 1.0)


def angle_between(a: Array, b: Array) -> Array:
    """Angles (...) between vectors (..., 3)."""
    return np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), np.sum(a * b, axis=-1))


# What the laws measure


def link_lengths(positions: Array) -> Array:
    """Lengths (..., J - 1) of the links of joints (..., J, 3)."""
    return np.linalg.norm(np.diff(positions, axis=-2), axis=-1)


def check_on_pole_side(positions: Array, pole: Array) -> None:
    """Check that joints are in the plane of root, tip and pole, together on the pole's side, and bend to it one by one.

    Joints of a chain that is bent by more than half a turn in all may lie beyond its ends, on both sides of their line.
    """
    length = link_lengths(positions).sum()
    joints, to_pole = (positions - positions[0]) / length, (pole - positions[0]) / length
    line = unit(joints[-1])
    side = to_pole - line * (to_pole @ line)
    if np.linalg.norm(joints[-1]) < 1e-6 or np.linalg.norm(side) < 1e-5:
        return  # the line or the pole's side can't be told
    side = unit(side)
    normal = np.cross(line, side)
    np.testing.assert_allclose(joints @ normal, 0.0, atol=1e-6)
    links = np.diff(joints, axis=0)
    bent = angle_between(links[:-1], links[1:]).sum()
    assert (joints @ side).sum() > -1e-4
    assert bent > np.pi or (joints @ side > -1e-4).all()
    assert (np.cross(links[:-1], links[1:]) @ normal < 1e-9).all()


# Strategies: lattice directions make chains that are exactly straight, folded or square, seeds make all the others

seeds = st.integers(0, 2**32 - 1)
lattice_directions = st.tuples(*[st.integers(-1, 1)] * 3).filter(any)
generic_directions = seeds.map(lambda seed: tuple(np.random.default_rng(seed).normal(size=3)))
directions = st.one_of(lattice_directions, generic_directions)
links = st.one_of(st.just(1.0), st.sampled_from([0.5, 2.0]), st.floats(0.05, 1.0))


@st.composite
def even_or_uneven_lengths(draw: st.DrawFn, smallest: int, largest: int) -> list[float]:
    """Lengths of links to 1:40."""
    count = draw(st.integers(smallest, largest))
    return draw(st.one_of(st.just([1.0] * count), st.lists(links, min_size=count, max_size=count)))


@st.composite
def lengths_with_a_hole(draw: st.DrawFn) -> list[float]:
    """Lengths of links of which one is longer than all others together, so that the tip can't come near the root."""
    others = draw(st.lists(st.floats(0.05, 1.0), min_size=1, max_size=8))
    others.insert(draw(st.integers(0, len(others))), draw(st.floats(1.05, 20.0)) * sum(others))
    return others


@st.composite
def posed_chains(
    draw: st.DrawFn, smallest: int = 2, largest: int = 12, lengths: st.SearchStrategy[list[float]] | None = None
) -> tuple[Chain, Pose]:
    """A chain and a pose of it, straight, folded, square, closed or any other."""
    lengths = draw(even_or_uneven_lengths(smallest, largest) if lengths is None else lengths)
    count = len(lengths)
    heading = draw(
        st.one_of(st.lists(directions, min_size=count, max_size=count), directions.map(lambda d: [d] * count))
    )
    rolls = draw(st.lists(st.floats(-3.0, 3.0), min_size=count, max_size=count))
    root = draw(st.tuples(*[st.floats(-10.0, 10.0)] * 3))
    return plain_chain(lengths), pose_of(lay(lengths, heading, root), rolls)


def reaches(chain: Chain, least: float = 0.0, most: float = 1.0) -> st.SearchStrategy[float]:
    """Distances from root to target, over the chain's length, that the chain can reach."""
    nearest = nearest_reach(chain.links) / chain.total_length
    return st.floats(max(least, nearest), max(most, nearest), exclude_min=True, exclude_max=True)
