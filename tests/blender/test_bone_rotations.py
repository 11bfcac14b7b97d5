# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones follow their links as core computes it, whatever computes it."""

from __future__ import annotations

import numpy as np
import pytest
from mathutils import Quaternion

from fabrik_addon.blender.bones.bone_rotations import transport_in_blender
from fabrik_addon.core import Pose, plain_chain, start_from
from fabrik_addon.core.math.operations import SCALAR
from tests.unit.chains import Array, random_pose, unit


def laid(rng: np.random.Generator, count: int) -> tuple[list[float], Array, Array]:
    """Lengths, joints (J, 3) of a random chain and frames (J, 4)."""
    lengths = rng.uniform(0.2, 1.0, count).tolist()
    return (
        lengths,
        random_pose(rng, lengths, 1.0).positions,
        np.array([unit(q) for q in rng.normal(size=(count + 1, 4))]),
    )


@pytest.mark.parametrize("inherits", [True, False])
@pytest.mark.parametrize("with_turn", [True, False])
@pytest.mark.parametrize("count", [1, 3, 30])
def test_bones_follow_links_as_in_core(count: int, with_turn: bool, inherits: bool) -> None:
    rng = np.random.default_rng(count)
    for kind in ("anywhere", "near", "same", "opposite"):
        lengths, joints, frames = laid(rng, count)
        rows = np.arange(count + 1) % 2 == 0 if not inherits else np.ones(count + 1, bool)
        start = start_from(plain_chain(lengths, inherits=rows), Pose(joints + np.array([3.0, -2.0, 5.0]), frames))
        others = random_pose(rng, lengths, 1.0).positions
        new = {"anywhere": others, "near": joints + 1e-5 * others, "same": joints, "opposite": -joints}[kind]
        points = [tuple(point) for point in (new / sum(lengths)).tolist()]
        turn = tuple(unit(rng.normal(size=4)).tolist()) if with_turn else None
        expected = start.transport(SCALAR, start, points, turn)
        found = transport_in_blender(start)
        for ours, core in zip(found.transport(SCALAR, found, points, turn), expected, strict=True):
            angle = Quaternion(core).rotation_difference(Quaternion(ours)).angle
            assert min(angle, 2 * np.pi - angle) < 4e-6 * np.sqrt(count), kind


def test_bones_within_limits_are_left_to_the_limits() -> None:
    lengths, joints, frames = laid(np.random.default_rng(0), 3)
    limits = (np.full((4, 3), -1.0), np.full((4, 3), 1.0))
    start = start_from(plain_chain(lengths, limits=limits), Pose(joints, frames))
    assert transport_in_blender(start) is start
