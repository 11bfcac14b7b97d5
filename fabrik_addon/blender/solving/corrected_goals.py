# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Goals of a body whose bones constraints or shear move after their channels: corrected by what these add. Computes.

The solver knows the hierarchy of rigid bones, no constraints. In rigs that Rigify generates bones between those of the
body copy half of a rotation, or keep the neck's in space. With the end of a chain at ``f(q)`` in the solution and at
``F(q)`` in Blender, ``F(q) = t`` is solved by the fixed-point iteration ``f(q_n+1) = t - (F(q_n) - f(q_n))``, and the
same with rotations. Without it a forefoot of Rigify's basic quadruped slid by 0.11 of the height where the chest was
pulled by 0.06, and a hand of a human whose chest was scaled by 1.2 across stayed 16 mm off its target.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from mathutils import Quaternion, Vector

from ...core import Goals
from ..bones.rotation_channel import angle_between, rotation_from
from ..rig.tree_of_chains import tree_matrices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core import TreeSolution
    from .chain_groups import Group
    from .solve_chain_bones import SolvedChain


MOST_CORRECTIONS, CORRECTED = 12, 2e-5
"""Iterations at most, and the difference of deviations, distances over the tree's unit and radians, that ends them."""

PIN_WEIGHT = 100.0
"""Weight w of pins and planted feet in ``cost_of``; that of other handles is 1."""


class Deviation(NamedTuple):
    """What constraints and shear add to the end of a chain, in armature space."""

    shift: Vector
    rotation: Quaternion


Deviations = Mapping[str, Deviation]
"""By the names of chains; empty where bones are rigid and no constraint counts."""


def deviations_of(group: Group, solution: TreeSolution | None) -> Deviations:
    """READ: how far Blender's pose is from a solution that was written; None is the pose in which a group was read."""
    tree = group.tree
    if tree is None or (tree.bones.is_rigid and not tree.bones.is_constrained):
        return {}
    start = tree.start
    points = start.pose.positions.tolist() if solution is None else solution.points
    frames = start.frames if solution is None else solution.frames
    joints = tree.bones.tree.core_joints
    found = {}
    for snapshot, tip in zip(group.snapshots, start.chain.tips, strict=True):
        end, rotation = snapshot.bones.end, Quaternion()
        if end.name in joints:
            frame = Quaternion(cast("Sequence[float]", frames[joints[end.name]]))
            rotation = end.matrix.to_quaternion() @ frame.inverted()
        point = Vector(cast("Sequence[float]", points[tip]))
        found[snapshot.name] = Deviation(snapshot.bones.end_position - point, rotation)
    return found


def sheared_deviations(group: Group, solved: Sequence[SolvedChain], constrained: Deviations) -> Deviations:
    """Return how far the pose of a solution that isn't written will be from it.

    Args:
        group: of a body.
        solved: its chains.
        constrained: the deviations of the pose in which the group was read, in which no shear counts.
    """
    tree, solution = group.tree, solved[0].solution
    if tree is None or solution is None or tree.bones.is_rigid:
        return constrained
    bones = tree.bones.tree
    first, joints = bones.first_joint, bones.core_joints
    own = {bone.name: rotation_from(bone, channel) for one in solved for bone, channel in one.channels}
    matrices = tree_matrices(tree.bones, [own[name] for name in bones.names])
    shift = Vector(cast("Sequence[float]", solution.shifts[0])) if solution.shifts else Vector()
    points = bones.joints(matrices)
    found = {}
    for snapshot, tip in zip(group.snapshots, tree.start.chain.tips.tolist(), strict=True):
        before, end = constrained[snapshot.name], snapshot.bones.end
        rotation = Quaternion()
        if end.name in joints:
            frame = Quaternion(cast("Sequence[float]", solution.frames[joints[end.name]]))
            rotation = matrices[bones.rows[joints[end.name] - first]].to_quaternion() @ frame.inverted()
        point = Vector(points[tip - first].tolist()) + shift - Vector(cast("Sequence[float]", solution.points[tip]))
        found[snapshot.name] = Deviation(before.shift + point, before.rotation @ rotation)
    return found


def corrected_goals(group: Group, goals: Mapping[str, Goals], deviations: Deviations) -> Mapping[str, Goals]:
    """Return the goals of a group's chains that lead to given ones once constraints have added their part."""
    if not deviations:
        return goals
    found = {}
    for snapshot in group.snapshots:
        own = goals.get(snapshot.name, snapshot.goals)
        shift, rotation = deviations[snapshot.name]
        own = replace(own, targets=own.targets - np.array(shift[:]))
        if own.rotations is not None:
            desired = rotation.inverted() @ Quaternion(own.rotations[0].tolist())
            own = replace(own, rotations=np.array([desired[:]]))
        found[snapshot.name] = own
    return found


def largest_difference(group: Group, a: Deviations, b: Deviations) -> float:
    """Return the largest difference of two deviations, distances over the tree's unit, rotations in radians."""
    length = 1.0 if group.tree is None else group.tree.start.unit
    return max(
        (
            max((one.shift - b[name].shift).length / length, angle_between(one.rotation, b[name].rotation))
            for name, one in a.items()
        ),
        default=0.0,
    )


def cost_of(group: Group, goals: Mapping[str, Goals]) -> float:
    """READ: the sum of ``w d^2`` over the chains with a position, d the distance of the end from its target.

    Args:
        goals: other ones than those that were read, by the names of chains.
    """
    targets = [goals.get(snapshot.name, snapshot.goals).targets[0].tolist() for snapshot in group.snapshots]
    return sum(
        (PIN_WEIGHT if snapshot.is_pinned else 1.0) * (snapshot.bones.end_position - Vector(target)).length_squared
        for snapshot, target in zip(group.snapshots, targets, strict=True)
        if snapshot.has_position
    )
