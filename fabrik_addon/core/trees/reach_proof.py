# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A proof that the effectors of a tree with a fixed root can't all be at their targets.

With t_k the targets minus the part of the way from the root that no bone rotates, f_k forces on them, c_j the vector
from the parent of joint j to joint j in some state, F_j the sum of the forces at and beyond joint j, and Q_b the
rotation of bone b from that state to a pose that meets all targets, any such pose has

    sum_k f_k . t_k = sum_b tr(Q_b^T A_b) <= sum_b s(A_b),    A_b = sum_j F_j c_j^T over the joints on bone b

whatever the forces are. s(A), the largest trace that a rotation gives, is the sum of A's singular values, the least one
with the sign of A's determinant (Wahba's problem 1965). Forces whose left side is greater than the right side prove
that no pose meets all targets; where none are found, nothing is proven.
"""

import math
from collections.abc import Sequence

import numpy as np

from ..model.skeleton import Tree
from ..model.tree_state import State
from ..tasks.position_task import PositionTask

STEPS, LENGTH = 20, 0.2
"""Steps of ascent at most, and the length of a step over that of the forces before it: of step k, from 0, divided by
``sqrt(1 + k)``. Of 48 poses of Rigify's human, whose hand has a target so low that it can't be met beside the others,
20 are proven by the residuals themselves, and all after 4 steps."""


def are_beyond_reach(tree: Tree, tasks: Sequence[PositionTask], state: State) -> bool:
    """Tell whether forces are found that prove that not all targets can be met.

    They start as the residuals in the state, and ascend the difference of both sides, which is concave: its gradient is
    the residual of the pose with the rotations for which the right side is attained.

    Args:
        tree: whose root is fixed; joint limits aren't looked at.
        tasks: of effectors that should be at points.
        state: preferably a pose with the least distances from the targets.
    """
    structure, joints = tree.structure, state.placed.points
    moved = [j for j, parent in enumerate(structure.parents) if parent > 0 or (parent == 0 and not structure.is_anchor)]
    ends = [task.joint for task in tasks]
    paths = np.array([[float(joint in (end, *structure.above[end])) for joint in moved] for end in ends])
    parents = np.array(structure.parents)[moved]
    links = joints[moved] - joints[parents]
    forces = np.array([task.target for task in tasks]) - joints[ends]
    targets = forces + paths @ links
    for step in range(STEPS):
        bodies = np.zeros((len(joints), 3, 3))
        np.add.at(bodies, parents, (paths.T @ forces)[:, :, None] * links[:, None])
        left, sizes, right = np.linalg.svd(bodies)
        signs = np.sign(np.linalg.det(left @ right))
        if (forces * targets).sum() > sizes[:, :2].sum() + signs @ sizes[:, 2] + 1e-9 * sizes.sum():
            return True
        left[:, :, 2] *= signs[:, None]
        turned = ((left @ right)[parents] @ links[..., None])[..., 0]
        gradient = targets - paths @ turned
        square = float((gradient * gradient).sum())
        if square == 0.0:
            break
        forces += LENGTH * math.sqrt((forces * forces).sum() / (square * (1.0 + step))) * gradient
    return False
