# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees to solve, as plain bones, and seeded targets for them by forward kinematics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fabrik_addon.core import Chain, Pose, plain_chain

from .problems import Array


@dataclass(frozen=True)
class Bones:
    """Bones of an armature at rest: name, head, tail and parent's name of each, and those whose tails are effectors."""

    names: tuple[str, ...]
    heads: Array
    """(B, 3)"""
    tails: Array
    """(B, 3)"""
    parents: tuple[str | None, ...]
    tips: tuple[str, ...]


def y_bones() -> Bones:
    """Return a trunk of four bones with two arms of three, all of one length."""
    rows: list[tuple[str, Array, Array, str | None]] = []
    head, parent = np.zeros(3), None
    for i in range(4):
        tail = head + np.array([0.0, -0.02 * (-1) ** i, 0.1])
        rows.append((f"trunk{i}", head, tail, parent))
        head, parent = tail, f"trunk{i}"
    for side, sign in (("L", 1.0), ("R", -1.0)):
        base, above = head, parent
        for i in range(3):
            tail = base + np.array([sign * 0.07, -0.02 * (-1) ** i, 0.07])
            rows.append((f"arm{i}.{side}", base, tail, above))
            base, above = tail, f"arm{i}.{side}"
    return _bones(rows, ("arm2.L", "arm2.R"))


def hand_bones() -> Bones:
    """Return a palm that carries five fingers of five bones, at places of their own."""
    rows: list[tuple[str, Array, Array, str | None]] = [("palm", np.zeros(3), np.array([0.0, 0.0, 0.9]), None)]
    tips = []
    for finger in range(5):
        spread = 0.3 * (finger - 2)
        head, above = np.array([0.12 * (finger - 2), 0.05, 0.3]), "palm"
        along = np.array([np.sin(spread), 0.0, np.cos(spread)])
        for i, length in enumerate((0.6, 0.35, 0.28, 0.22, 0.18)):
            along = along + np.array([0.0, -0.12 * i, 0.0])
            tail = head + length * along / np.linalg.norm(along)
            rows.append((f"finger{finger}.{i}", head, tail, above))
            head, above = tail, f"finger{finger}.{i}"
        tips.append(above)
    return _bones(rows, tuple(tips))


def _bones(rows: Sequence[tuple[str, Array, Array, str | None]], tips: tuple[str, ...]) -> Bones:
    names, heads, tails, parents = zip(*rows, strict=True)
    return Bones(tuple(names), np.array(heads), np.array(tails), tuple(parents), tips)


def tree_of(bones: Bones) -> tuple[Chain, Pose]:
    """Return the core's tree of bones and its pose at rest: joints are heads, and the tips' tails after them."""
    count, effectors = len(bones.names), len(bones.tips)
    parents = [-1 if parent is None else bones.names.index(parent) for parent in bones.parents]
    ends = [bones.names.index(tip) for tip in bones.tips]
    positions = np.concatenate([bones.heads, bones.tails[ends]])
    parents += ends
    lengths = np.array([0.0 if p < 0 else np.linalg.norm(positions[j] - positions[p]) for j, p in enumerate(parents)])
    chain = replace(
        plain_chain(np.ones(count + effectors - 1)),
        parents=np.array(parents),
        lengths=lengths,
        tips=np.arange(count, count + effectors),
        weights=np.ones(effectors),
        names=(*bones.names, *bones.tips),
    )
    frames = np.zeros((count + effectors, 4))
    frames[:, 0] = 1.0
    return chain, Pose(positions, frames)


def turned_tips(rng: np.random.Generator, chain: Chain, pose: Pose, most: float) -> Array:
    """Return where the effectors are after every bone has rotated by a random rotation vector of at most this angle."""
    joints = len(chain.lengths)
    matrices = np.zeros((joints, 3, 3))
    places = np.zeros((joints, 3))
    for j, parent in enumerate(chain.parents.tolist()):
        own = rotation_matrix(rng.normal(size=3), rng.uniform(0.0, most))
        if parent < 0:
            places[j], matrices[j] = pose.positions[j], own
        else:
            places[j] = places[parent] + matrices[parent] @ (pose.positions[j] - pose.positions[parent])
            matrices[j] = matrices[parent] @ own
    return places[chain.tips]


def rotation_matrix(axis: Array, angle: float) -> Array:
    """Return the matrix (3, 3) of a rotation (Rodrigues)."""
    x, y, z = axis / np.linalg.norm(axis)
    k = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    matrix: Array = np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * k @ k
    return matrix
