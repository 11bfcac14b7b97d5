# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Branches of a tree with one effector each, solved as plain chains after the sweeps, and the frames of a tree's bones.

A branch is a run of links to an effector that has no further links. It begins at a joint on a bone that carries several
joints, at a root, or at another joint with a goal, whichever is nearest to the effector. After the sweeps
(``fabrik.tree_passes``) the first joint of each branch stays, and the rest of the effector's error is closed in the
branch alone, as in a plain chain (``close_branches``). A branch with a pole begins at the first joint of the run that
its pole bends. ``tree_frames`` then transports the bones' frames to the new joints, as ``model.frame_transport`` does
for a chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..fabrik.chain_fabrik import ReachProblem, reach_target
from ..goals.pole import rotate_pole
from ..math.operations import Operations, Vector
from ..math.quaternions import Quaternion, conjugate, multiply, x_axis
from ..math.vectors import first_direction, relative_to
from ..model.frame_transport import transport_rotation
from ..model.tree_start import StartTree
from ..optimise.tasks import PoleTask
from ..problem import Options


@dataclass(frozen=True)
class Branch:
    """A run of links to an effector, without further links between or after its joints."""

    joints: Sequence[int]
    """From the joint that stays to the effector."""
    effector: int
    """Index of the effector among the tree's effectors."""
    bend: PoleTask | None
    """Pole that bends exactly this run, or None."""


def branches_of(start: StartTree, meets: Sequence[int], poled: Mapping[int, PoleTask]) -> list[Branch]:
    """Return the branches of the effectors that have a target and no further links.

    An effector gets no branch if it meets another joint, if another joint meets it, or if its joint has a second
    target.

    Args:
        start: the tree.
        meets: joint that each effector should meet, -1 for an effector with a target.
        poled: pole tasks by the index of their effector.
    """
    tree = start.tree
    tips = start.chain.tips.tolist()
    found = []
    for number, tip in enumerate(tips):
        if meets[number] >= 0 or tree.children[tip] or tip in meets or tips.count(tip) > 1:
            continue
        run = [tip]
        bend = poled.get(number)
        while True:
            joint = tree.parents[run[-1]]
            if joint < 0 or len(tree.children[joint]) > 1 or (bend is not None and run[-1] == bend.joints[0]):
                break
            run.append(joint)
            if joint in tips or joint in meets:
                break
        run.reverse()
        if len(run) > 1:
            found.append(Branch(run, number, bend if bend is not None and bend.joints[0] == run[0] else None))
    return found


def close_branches(
    ops: Operations,
    start: StartTree,
    branches: Sequence[Branch],
    targets: Mapping[int, Vector],
    joints: Sequence[Vector],
    options: Options,
) -> tuple[list[Vector], dict[int, Quaternion]]:
    """Bring each branch's effector to its target, or as near as the branch reaches; its first joint stays.

    Args:
        ops: operations of the components.
        start: the tree.
        branches: to be closed.
        targets: of the effectors by their indices, in the tree's units.
        joints: after the sweeps, in the tree's units.
        options: sweeps at most; error, over the length of the branch, that counts as reached.

    Returns:
        joints after; rotations of the bend planes of branches with a pole, by the branches' first joints.
    """
    after = [*joints]
    bend_rotations: dict[int, Quaternion] = {}
    for branch in branches:
        base = after[branch.joints[0]]
        lengths = [start.tree.lengths[j] for j in branch.joints[1:]]
        unit = sum(lengths)
        points = [relative_to(after[j], base, unit) for j in branch.joints]
        target = relative_to(targets[branch.effector], base, unit)
        pole = None
        if branch.bend is not None:
            pole = relative_to(branch.bend.pole, base, unit)
            if branch.bend.angle != 0.0:
                along = first_direction(ops, [target, points[-1], points[1]])
                pole = rotate_pole(ops, pole, along, branch.bend.angle)
        hint = x_axis(start.frames[branch.joints[0]])
        lengths = [length / unit for length in lengths]
        problem = ReachProblem(points, lengths, target, pole, hint, options.tolerance, options.iterations)
        points, _, rotation = reach_target(ops, problem)
        for j, (px, py, pz) in zip(branch.joints, points, strict=True):
            after[j] = (base[0] + unit * px, base[1] + unit * py, base[2] + unit * pz)
        if rotation is not None:
            bend_rotations[branch.joints[0]] = rotation
    return after, bend_rotations


def tree_frames(
    ops: Operations,
    start: StartTree,
    joints: Sequence[Vector],
    sub_base_frames: Mapping[int, Quaternion],
    bend_rotations: Mapping[int, Quaternion],
) -> list[Quaternion]:
    """Return the bones' frames after their joints have moved, by frame transport from the roots outward.

    ``d_j = R(d_p l_j, l'_j) d_p``, with p the parent of joint j and the other symbols as in ``model.frame_transport``;
    d_p is left out for a bone that doesn't inherit its parent's rotation, and replaced by the rotation of the bend
    plane at the first joint of a branch with a pole.

    Args:
        ops: operations of the components.
        start: the pose before.
        joints: after.
        sub_base_frames: frames after of the bones that carry several joints, by joint.
        bend_rotations: rotations of bend planes, by the first joints of their branches.
    """
    tree = start.tree
    frames: list[Quaternion] = [*start.frames]
    deltas: dict[int, Quaternion] = {}
    for j in tree.bones:
        parent = tree.parents[j]
        if j == 0 and tree.is_anchor:
            continue
        if j in sub_base_frames:
            frames[j] = sub_base_frames[j]
            deltas[j] = multiply(frames[j], conjugate(start.frames[j]))
            continue
        child = tree.children[j][0]
        before, after = _link(start.points, j, child), _link(joints, j, child)
        parent_rotation = bend_rotations.get(j, deltas.get(parent) if tree.inherits[j] else None)
        deltas[j] = transport_rotation(ops, parent_rotation, before, after, x_axis(start.frames[j]))
        frames[j] = multiply(deltas[j], start.frames[j])
    return frames


def _link(points: Sequence[Vector], joint: int, child: int) -> Vector:
    (ax, ay, az), (bx, by, bz) = points[joint], points[child]
    return bx - ax, by - ay, bz - az
