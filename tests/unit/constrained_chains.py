# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains with limits for the tests: any limits and rest frames, feasible poses, and what the laws measure on them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fabrik_addon.core import Chain, Pose, plain_chain
from scripts.benchmark.limit_sets import (
    ConstrainedBones,
    feasible_swings,
    inverse,
    posed,
    product,
    turn_by,
    turned,
    violation,
)
from tests.unit.chains import Array, unit


@dataclass(frozen=True)
class ConstrainedChain:
    """A chain with limits whose bones have lengths, rest frames and links of their own."""

    chain: Chain
    base: Array
    """(4,) frame that the first bone turns in."""
    root: Array
    """(3,)"""
    links: Array
    """(B, 3) from head to next head, in each bone's own frame: not always along it."""

    def posed(self, coordinates: Array) -> Pose:
        """Forward kinematics: the pose for bones' own rotations (..., B, 4)."""
        joints, frames = [np.broadcast_to(self.root, (*coordinates.shape[:-2], 3))], []
        for j, link in enumerate(self.links):
            if j == 0:
                parent = np.broadcast_to(self.base, coordinates[..., 0, :].shape)
            elif self.chain.inherits[j]:
                parent = product(frames[-1], np.broadcast_to(self.chain.rest[j], coordinates[..., 0, :].shape))
            else:
                parent = np.broadcast_to(self.chain.rest[j], coordinates[..., 0, :].shape)
            frames.append(product(parent, coordinates[..., j, :]))
            joints.append(joints[-1] + turned(frames[-1], np.broadcast_to(link, joints[-1].shape)))
        return Pose(np.stack(joints, -2), np.stack([*frames, frames[-1]], -2), self.base)

    def coordinates(self, pose: Pose) -> Array:
        """The bones' own rotations (..., B, 4) in a pose."""
        made = []
        for j in range(len(self.links)):
            frame = pose.rotations[..., j, :]
            if j == 0:
                parent = np.broadcast_to(self.base, frame.shape)
            elif self.chain.inherits[j]:
                parent = product(pose.rotations[..., j - 1, :], np.broadcast_to(self.chain.rest[j], frame.shape))
            else:
                parent = np.broadcast_to(self.chain.rest[j], frame.shape)
            made.append(product(inverse(parent), frame))
        return np.stack(made, -2)

    def violation(self, pose: Pose) -> float:
        """By how many radians the worst bone is outside its limits."""
        return float(violation(self.chain.lower[:-1], self.chain.upper[:-1], self.coordinates(pose)).max())

    def rest(self) -> Pose:
        """The pose in which no bone is turned; limits may not allow it."""
        return self.posed(np.tile((1.0, 0.0, 0.0, 0.0), (len(self.links), 1)))


def constrained_chain_of(kind: ConstrainedBones) -> ConstrainedChain:
    """A set of the bench as it is there."""
    links = np.tile((0.0, 1.0 / kind.count, 0.0), (kind.count, 1))
    return ConstrainedChain(kind.chain(), np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3), links)


def random_limits(rng: np.random.Generator) -> tuple[Array, Array]:
    """Limits (3,), (3,) of one joint: free, ball, hinge, pivot, flat on a side, off rest."""
    free, far = math.inf, rng.uniform(0.1, 2.0, 6)
    small = 0.4 * far
    kinds = [
        ((-free, -free, -free), (free, free, free)),
        ((-far[0], -far[1], -far[2]), (far[3], far[4], far[5])),
        ((-far[0], 0.0, 0.0), (far[3], 0.0, 0.0)),
        ((0.0, 0.0, 0.1), (0.0, 0.0, 0.1 + far[5])),
        ((0.0, -far[1], 0.0), (0.0, far[4], 0.0)),
        ((0.0, -far[1], -small[2]), (far[3], far[4], small[5])),
        ((-far[0], -free, -free), (far[3], free, free)),
        ((0.1, -0.2, 0.1), (0.1 + small[3], 0.3, 0.1 + small[5])),
    ]
    lower, upper = kinds[rng.integers(len(kinds))]
    return np.array(lower), np.array(upper)


def random_constrained_chain(rng: np.random.Generator, count: int) -> ConstrainedChain:
    """A chain of rolled bones, some with links beside them, one of which may not turn with its parent."""
    limits = [random_limits(rng) for _ in range(count)]
    limits.append(limits[-1])
    lengths = rng.uniform(0.3, 1.0, count)
    aside = rng.random((count, 1)) < 0.3
    links = lengths[:, None] * unit(np.array([0.0, 1.0, 0.0]) + np.where(aside, rng.normal(size=(count, 3)), 0.0))
    rests = unit4(np.array([1.0, 0.0, 0.0, 0.0]) + rng.uniform(0.0, 0.6) * rng.normal(size=(count + 1, 4)))
    inherits = np.ones(count + 1, bool)
    if count > 2 and rng.random() < 0.3:
        inherits[rng.integers(1, count)] = False
    chain = plain_chain(
        lengths,
        rest=rests,
        inherits=inherits,
        limits=(np.array([lower for lower, _ in limits]), np.array([upper for _, upper in limits])),
    )
    return ConstrainedChain(chain, unit4(rng.normal(size=4)), rng.normal(size=3), links)


def unit4(q: Array) -> Array:
    """Quaternions (..., 4) made one long."""
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def feasible_coordinates(rng: np.random.Generator, constrained_chain: ConstrainedChain) -> Array:
    """Feasible rotations (B, 4) of a chain's bones."""
    made = []
    for lower, upper in zip(constrained_chain.chain.lower[:-1], constrained_chain.chain.upper[:-1], strict=True):
        low, high = np.clip(lower, -3.0, 3.0), np.clip(upper, -3.0, 3.0)
        while True:
            angles = rng.uniform(low, high)
            q = turn_by(np.sin(0.5 * angles[0]), angles[1], np.sin(0.5 * angles[2]))
            if abs(np.linalg.norm(q) - 1.0) < 1e-9 and violation(lower, upper, q) < 1e-12:
                break
        made.append(q)
    return np.array(made)


def feasible_pose(rng: np.random.Generator, constrained_chain: ConstrainedChain) -> Pose:
    """A pose that limits allow."""
    return constrained_chain.posed(feasible_coordinates(rng, constrained_chain))


def feasible_targets(rng: np.random.Generator, kind: ConstrainedBones, count: int) -> Array:
    """Targets (T, 3) at the tips of random feasible poses of a set."""
    return posed(kind, feasible_swings(rng, kind, count)).positions[:, -1]
