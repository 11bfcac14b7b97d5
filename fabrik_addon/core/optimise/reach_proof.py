# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A proof that the effectors of a tree with a fixed root can't all be at their targets.

With t_k the targets as seen from the root, f_k forces on them, c_j the place of joint j on its parent's bone in some
state, F_j the sum of the forces beyond it, and Q_b the rotation of bone b from that state to a pose that meets all
targets, any such pose has

    sum_k f_k . t_k = sum_b tr(Q_b^T A_b) <= sum_b |A_b|,    A_b = sum_j F_j c_j^T over the joints on bone b

whatever the forces are. |A| is the largest such trace of a rotation: the sum of A's singular values, the least one with
the sign of A's determinant (Wahba 1965). Forces that exceed the right side are a proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..model.skeleton import Tree
from .tasks import PositionTask, State

STEPS, LENGTH = 20, 0.2
"""Steps of ascent at most, and the length of the first one over that of the forces. Of the targets on 48 poses of
Rigify's human whose hand is led low, excluding its other targets, 20 are proven by the residuals themselves, and all
after 4 steps."""


def are_beyond_reach(tree: Tree, aims: Sequence[PositionTask], state: State) -> bool:
    """Tell whether forces are found that prove that not all targets can be met.

    They start as the residuals in the state, and ascend the difference of both sides, which is concave: its gradient is
    the residual of the pose with the rotations for which the right side is attained.

    Args:
        tree: whose root is fixed; joint limits aren't looked at.
        aims: effectors at points.
        state: at best a pose of the least distances.
    """
    structure, joints = tree.structure, state.placed.points
    moved = [j for j, parent in enumerate(structure.parents) if parent > 0 or (parent == 0 and not structure.is_anchor)]
    ends = [aim.joint for aim in aims]
    paths = np.array([[float(joint in (end, *structure.above[end])) for joint in moved] for end in ends])
    parents = np.array(structure.parents)[moved]
    places = joints[moved] - joints[parents]
    forces = np.array([aim.target for aim in aims]) - joints[ends]
    targets = forces + paths @ places
    for step in range(STEPS):
        bodies = np.zeros((len(joints), 3, 3))
        np.add.at(bodies, parents, (paths.T @ forces)[:, :, None] * places[:, None])
        left, sizes, right = np.linalg.svd(bodies)
        signs = np.sign(np.linalg.det(left @ right))
        if (forces * targets).sum() > sizes[:, :2].sum() + signs @ sizes[:, 2] + 1e-9 * sizes.sum():
            return True
        left[:, :, 2] *= signs[:, None]
        turned = ((left @ right)[parents] @ places[..., None])[..., 0]
        gradient = targets - paths @ turned
        square = float((gradient * gradient).sum())
        if square == 0.0:
            break
        forces += LENGTH * math.sqrt((forces * forces).sum() / (square * (1.0 + step))) * gradient
    return False
