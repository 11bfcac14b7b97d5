# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several chains as one tree over many frames: for trees whose bones rotate freely and whose settings aren't animated.

A row holds the numbers that ``take_group`` reads at a frame: joints, frames and own rotations of the bones, targets,
and where they are used poles, target rotations and the locations of the roots that may move.

Each frame starts from solutions of frames near it, with its own pose as the reference pose
(``core.solve_tree_frames``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ...core import Array, Goals, Pose, TreeSolution, solve_tree_frames, start_tree
from ...core.solve_tree_frames import Frame
from ..animation.animated_settings import has_animated_settings
from ..bones.bone_kinematics import location_at, rotates_rigidly
from ..bones.bone_tree import NO_LENGTH, link_lengths, rest_frames_of
from ..bones.rotation_channel import rotation_of
from ..rig.snapshot import Snapshot
from ..rig.targets_and_poles import offset_rotation, position_in_world
from ..solving.chain_groups import Group
from ..solving.solve_tree_bones import ReadTree, tree_goals
from .batched_frames import Row, SolvedRows, may_shear, own_rotations

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

    from ..rig.properties import FabrikChain


class SolvedFrame(NamedTuple):
    """One frame of a tree, with its solution."""

    problem: Frame
    solution: TreeSolution


@dataclass(frozen=True)
class PlainTree:
    """A tree whose frames fit into rows, with what is the same at all frames."""

    snapshots: tuple[Snapshot, ...]
    """Of the chains, read at the first frame."""
    tree: ReadTree
    goals: Goals
    """At the first frame."""
    can_shear: bool
    """Whether its bones may change their shape from frame to frame."""

    @property
    def rotating(self) -> Sequence[PoseBone]:
        """The bones that rotate, one for each joint."""
        return self.tree.bones.tree.bones

    def read(self, armature: Object, chains: Sequence[FabrikChain], to_armature: Matrix) -> Row | None:
        """Return the row of a frame, or None where bones are sheared.

        Args:
            armature: evaluated at the frame.
            chains: settings of the chains on the evaluated armature: the objects that they point to are evaluated too.
            to_armature: from the world into the armature's space.
        """
        tree, found = self.tree.bones.tree, armature.pose.bones
        line = [found[bone.name] for bone in tree.line]
        if self.can_shear:
            parents = (bone.parent.matrix if bone.parent else None for bone in line)
            if not all(map(rotates_rigidly, line, parents)):
                return None
        matrices = [bone.matrix for bone in line]
        joints = tree.joints(matrices)
        frames = [matrices[number].to_quaternion() for number in tree.rows]
        rotations = [rotation_of(line[number]) for number in tree.rows]
        row: Row = joints.ravel().tolist()
        for quaternion in (*frames, *rotations):
            row.extend(quaternion[:])
        for rest in rest_frames_of(tree, frames, rotations):
            row.extend(rest)
        for settings, tip in zip(chains, tree.tips, strict=True):
            row.extend(_goals_at(armature, settings, joints[tip].tolist(), to_armature))
        for _, bone, _ in self.tree.moving_roots:
            row.extend(_location_at(found[bone.name]))
        return row

    def solve(self, rows: list[Row], before: SolvedFrame | None = None) -> SolvedRows:
        """Solve frames, each from solutions near it.

        Args:
            rows: of the frames, in order.
            before: ``SolvedRows.last`` of the row solved before these; None where none was solved in a row.
        """
        tree, chain, roots = self.tree.bones.tree, self.tree.start.chain, self.tree.moving_roots
        joints, bones, chains = len(chain.lengths), len(tree.bones), len(self.snapshots)
        table = np.array(rows)
        widths = [3 * joints, 4 * bones, 4 * bones, 4 * bones, 10 * chains, 12 * len(roots)]
        parts = np.split(table, np.cumsum(widths)[:-1], axis=1)
        posed = _PosedRows(
            positions=parts[0].reshape(-1, joints, 3),
            frames=parts[1].reshape(-1, bones, 4),
            own=parts[2].reshape(-1, bones, 4),
            rests=parts[3].reshape(-1, bones, 4),
            goals=parts[4].reshape(-1, chains, 10),
            roots=parts[5].reshape(len(rows), len(roots), 4, 3),
        )
        parents = chain.parents.tolist()
        lengths = np.array([link_lengths(positions, parents) for positions in posed.positions])
        is_solved = np.isfinite(table).all(axis=1)
        # A frame whose links are too short is read as a group, which names the bone.
        is_solved &= (lengths[:, 1:] > NO_LENGTH * lengths.sum(axis=1, keepdims=True)).all(axis=1)
        which = np.flatnonzero(is_solved)
        problems = self._problems(posed, lengths, which)
        frames = problems if before is None else [before.problem, *problems]
        first = None if before is None else before.solution
        solutions = solve_tree_frames(frames, self.tree.options, first)[len(frames) - len(problems) :]
        rotations, places = posed.own.copy(), posed.roots[:, :, 0].copy()
        error, status = np.zeros((len(rows), chains)), np.zeros((len(rows), chains), np.int64)
        if solutions:
            after = np.array([solution.frames[:bones] for solution in solutions])
            rotations[which] = own_rotations(tree.rotation_parents, posed.frames[which], posed.own[which], after)
            error[which] = [solution.error for solution in solutions]
            status[which] = [solution.status for solution in solutions]
            if roots:
                shifts = np.array([solution.shifts for solution in solutions])
                places[which] += np.einsum("frj,frji->fri", shifts, posed.roots[which, :, 1:])
        locations = {bone.name: places[:, number] for number, (_, bone, _) in enumerate(roots)}
        last = SolvedFrame(problems[-1], solutions[-1]) if problems else None
        return SolvedRows(rotations, error, status, is_solved, locations, last)

    def _problems(self, posed: _PosedRows, lengths: Array, which: NDArray[np.intp]) -> list[Frame]:
        """Return the poses and goals of frames.

        Args:
            posed: the rows of all frames.
            lengths: (F, J) of the links.
            which: numbers of the frames.
        """
        tree, start = self.tree.bones.tree, self.tree.start
        supporting = [*range(len(tree.bones)), *(end.supporting_bone for end in tree.ends)]
        rests = np.broadcast_to(start.chain.rest, (len(lengths), *start.chain.rest.shape)).copy()
        rests[:, : len(tree.bones)] = posed.rests
        found: list[Frame] = []
        for number in which:
            chain = replace(start.chain, lengths=lengths[number], rest=rests[number])
            pose = Pose(posed.positions[number], posed.frames[number][supporting], rests[number, 0])
            found.append((start_tree(chain, pose), self._goals_of(posed.goals[number])))
        return found

    def _goals_of(self, columns: Array) -> Goals:
        """Return the goals of one frame from its columns (C, 10): targets, poles and rotations."""
        goals = self.goals
        return replace(
            goals,
            targets=columns[:, :3],
            poles=None if goals.poles is None else columns[:, 3:6],
            rotations=None if goals.rotations is None else columns[:, 6:],
        )


@dataclass(frozen=True)
class _PosedRows:
    """The numbers of F rows, by what they are of."""

    positions: Array
    """(F, J, 3) of the joints."""
    frames: Array
    """(F, B, 4) of the bones, in armature space."""
    own: Array
    """(F, B, 4) rotations of the bones in their parents."""
    rests: Array
    """(F, B, 4) frames in which the bones' own rotations are counted."""
    goals: Array
    """(F, C, 10) target, pole and target rotation of each chain; 0 where it has none."""
    roots: Array
    """(F, R, 4, 3) location of each root that may move, and by what it changes as the head moves along x, y and z."""


def _goals_at(armature: Object, settings: FabrikChain, tip: Sequence[float], to_armature: Matrix) -> Row:
    """READ: target, pole and target rotation of a chain, 3 + 3 + 4 numbers; 0 where it has none.

    Args:
        armature: evaluated at the frame.
        settings: the chain's.
        tip: where its end is, which is the target of a pinned chain.
        to_armature: from the world into the armature's space.
    """
    target: Sequence[float] = tip
    pole: Sequence[float] = (0.0,) * 3
    rotation: Sequence[float] = (0.0,) * 4
    if not settings.use_pin:
        target = (to_armature @ position_in_world(settings.target, settings.subtarget, "target"))[:]
    if settings.pole_target is not None:
        pole = (to_armature @ position_in_world(settings.pole_target, settings.pole_subtarget, "pole"))[:]
    if settings.use_rotation and settings.use_pin:
        rotation = armature.pose.bones[settings.tip].matrix.to_quaternion()[:]
    elif settings.use_rotation:
        rotation = offset_rotation(armature, settings)[:]
    return [*target, *pole, *rotation]


def _location_at(root: PoseBone) -> Row:
    """READ: a root's location channel, and by what it changes as the head moves by one unit along x, y and z (4, 3).

    The location is a linear function of the head, so four of its values say all of them.
    """
    here = location_at(root, root.head)
    found: Row = [*root.location[:]]
    for axis in Matrix.Identity(3).row:
        found.extend((location_at(root, root.head + axis) - here)[:])
    return found


def plain_tree_of(group: Group, armature: Object, paths: Iterable[str]) -> PlainTree | None:
    """Return the tree of a group whose frames fit into rows, or None where they don't.

    Args:
        group: read at the first frame, without animated settings of its chains.
        paths: of the armature's animated properties.
    """
    read, snapshots = group.tree, group.snapshots
    if read is None or any(snapshot.influence < 1.0 for snapshot in snapshots):
        return None
    bones = read.bones
    if bones.has_locks or bones.is_constrained or not bones.is_rigid or bones.tree.has_anchor or max(bones.meets) >= 0:
        return None
    # A bone that starts where another one of the tree does keeps its channel, which isn't in a row.
    rotating = {bone.name for bone in bones.tree.bones}
    if any(bone.name not in rotating for snapshot in snapshots for bone in snapshot.bones.tree.bones):
        return None
    if any(has_animated_settings(paths, bone) for bone in bones.tree.line):
        return None
    goals = tree_goals(read, snapshots, [snapshot.goals for snapshot in snapshots])
    return PlainTree(snapshots, read, goals, may_shear(armature, bones.tree.line, paths))
