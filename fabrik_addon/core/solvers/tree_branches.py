# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The branches of a tree that hold one effector each: chains that can be solved by themselves once they hang right.

After the sweeps a sub-base is where its branches want it: what is left is closed in each branch as in a chain, exactly
and toward its pole. Then the bones' frames follow from the joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..fabrik.chain_fabrik import ReachProblem, reach_target
from ..goals.pole import turn_pole
from ..math.operations import Operations, Vector
from ..math.quaternions import Quaternion, from_to, multiply, rotate, x_axis
from ..math.vectors import first_direction
from ..model.tree_start import StartTree
from ..optimise.tree_least_squares import PoleTask
from ..problem import Options


@dataclass(frozen=True)
class Branch:
    """A run of links from a sub-base to an effector on which nothing else hangs."""

    joints: Sequence[int]
    effector: int
    bend: PoleTask | None
    """The pole, where it bends this run and no more than this."""


def branches_of(start: StartTree, meets: Sequence[int], poled: Mapping[int, PoleTask]) -> list[Branch]:
    """Return the branches whose effector has a target."""
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
    """Bring each branch's effector to its target, or as near as the branch reaches.

    Args:
        ops: the lanes' operations.
        start: the tree.
        branches: to be closed.
        targets: of the effectors, in units.
        joints: after the sweeps.
        options: sweeps at most, error that counts as reached.

    Returns:
        joints after, and the turns of the bend planes of branches with a pole, by their first joints.
    """
    after = [*joints]
    turns: dict[int, Quaternion] = {}
    for branch in branches:
        base = after[branch.joints[0]]
        lengths = [start.tree.lengths[j] for j in branch.joints[1:]]
        unit = sum(lengths)

        def seen(point: Vector, base: Vector = base, unit: float = unit) -> Vector:
            return (point[0] - base[0]) / unit, (point[1] - base[1]) / unit, (point[2] - base[2]) / unit

        points = [seen(after[j]) for j in branch.joints]
        target = seen(targets[branch.effector])
        pole = None
        if branch.bend is not None:
            pole = seen(branch.bend.pole)
            if branch.bend.angle != 0.0:
                along = first_direction(ops, [target, points[-1], points[1]])
                pole = turn_pole(ops, pole, along, branch.bend.angle)
        hint = x_axis(start.frames[branch.joints[0]])
        lengths = [length / unit for length in lengths]
        problem = ReachProblem(points, lengths, target, pole, hint, options.tolerance, options.iterations)
        points, _, turn = reach_target(ops, problem)
        for j, (px, py, pz) in zip(branch.joints, points, strict=True):
            after[j] = (base[0] + unit * px, base[1] + unit * py, base[2] + unit * pz)
        if turn is not None:
            turns[branch.joints[0]] = turn
    return after, turns


def tree_frames(
    ops: Operations,
    start: StartTree,
    joints: Sequence[Vector],
    sub_base_frames: Mapping[int, Quaternion],
    bend_turns: Mapping[int, Quaternion],
) -> list[Quaternion]:
    """Return the bones' frames after their joints have moved: FromTo deltas, each on top of its parent's.

    Args:
        ops: the lanes' operations.
        start: the pose before.
        joints: after.
        hub_frames: of the bones that carry several joints, by joint.
        bend_turns: what the bones at these joints turn by before their links do, instead of their parent's turn.
    """
    tree = start.tree
    frames: list[Quaternion] = [*start.frames]
    deltas: dict[int, Quaternion] = {}
    for j in tree.bones:
        parent = tree.parents[j]
        w, x, y, z = start.frames[j]
        if j == 0 and tree.is_anchor:
            continue
        if j in sub_base_frames:
            frames[j] = sub_base_frames[j]
            deltas[j] = multiply(frames[j], (w, -x, -y, -z))
            continue
        child = tree.children[j][0]
        before, after = _link(start.points, j, child), _link(joints, j, child)
        hint = x_axis(start.frames[j])
        carried = bend_turns.get(j, deltas.get(parent) if tree.inherits[j] else None)
        if carried is None:
            delta = from_to(ops, before, after, hint)
        else:
            delta = multiply(from_to(ops, rotate(carried, before), after, hint), carried)
        deltas[j] = delta
        frames[j] = multiply(delta, start.frames[j])
    return frames


def _link(points: Sequence[Vector], joint: int, child: int) -> Vector:
    (ax, ay, az), (bx, by, bz) = points[joint], points[child]
    return bx - ax, by - ay, bz - az
