# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several chains as one tree, from their snapshots to channels. Computes, writes nothing.

The stages of ``solve_chain_bones`` without stretch: ``solve_tree_components`` of the core, local rotations, feasible
channels, influence, locations of the roots. Where locks, limits or shear make the feasible channels differ from the
solution, the tree is solved again from the pose that they give, and the pose of the least cost is taken. Where chains
have different influences, it is solved again for those of the larger ones, beside the bones of the others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from mathutils import Quaternion, Vector

from ...core import (
    Array,
    Balance,
    FabrikError,
    Floor,
    Goals,
    LookAt,
    Options,
    StartTree,
    Status,
    Swivel,
    TreeSolution,
    solve_tree_components,
    start_tree,
)
from ...core.math.vectors import scale
from ..bones.bone_kinematics import location_at
from ..bones.bone_limits import limits_in_other_poses
from ..bones.bone_rotations import bone_parent_frames, bone_rotations
from ..bones.bone_tree import BoneTree, read_tree
from ..bones.feasible_channels import feasible_channels, rotations_differ
from ..bones.rotation_channel import Channel, present_channel, rotation_locks, rotation_of
from ..rig.snapshot import Snapshot
from ..rig.tree_of_chains import TreeBones, tree_bones, tree_matrices
from .solve_chain_bones import SolvedChain

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

_TREE_RESTARTS = 24
"""Solves from the feasible pose, at most. With 8, of 160 random trees with locks and IK limits 18 stayed up to 1e-3 of
a chain's length off targets that these allow, with 24 only four did: each solve shortens the distance to a third."""

_NO_RESTART_GAIN = 0.9
"""Ratio of a restart's cost to the smallest one so far from which the restarts end."""


@dataclass(frozen=True)
class ReadTree:
    """Chains as one tree, and the pose to solve it from."""

    bones: TreeBones
    start: StartTree
    options: Options
    weights: tuple[float, ...]
    moving_roots: tuple[tuple[int, PoseBone, Vector], ...]
    """Index of each root that may move, the bone whose location is written, and where its head is at the start.

    A drag solves before Blender has evaluated the restored channels: the bone's own head is that of the last move.
    """
    balance: Balance | None = None
    """Of a body that keeps its balance."""
    floor: Floor | None = None
    """Of a body over a floor."""
    look_at: LookAt | None = None
    """Of a body whose head looks at a point."""
    swivels: tuple[Swivel, ...] = ()
    """Of a body's arms."""

    @cached_property
    def posed_tree(self) -> BoneTree:
        """The tree with the limits that count in other poses than the one that was read.

        Of a bone that has IK limits besides (``euler_joints``) one locked Euler angle is an angle of swing or twist at
        rest alone. Held as such in further solves, 56 of 100 random trees with locks and limits stayed off targets that
        these allow until Solve was pressed again, without that 2.
        """
        tree = self.bones.tree
        limits = tuple(
            limits if limits is None or sum(rotation_locks(bone)) != 1 else limits_in_other_poses(bone, limits)
            for bone, limits in zip(tree.bones, tree.limits, strict=True)
        )
        return replace(tree, limits=limits)


@dataclass(frozen=True)
class _FeasiblePose:
    """A solution, and what the bones' channels make of it."""

    solution: TreeSolution
    channels: list[Channel]
    rotations: list[Quaternion]
    """Of the bones that rotate, their own, as the channels give them."""


class _Part(NamedTuple):
    """What of a tree is solved."""

    chains: Sequence[int]
    """Indices of the chains whose goals count."""
    held: Collection[int] = ()
    """Indices of the bones that don't rotate."""


def take_tree(
    armature: Object,
    snapshots: Sequence[Snapshot],
    moving_roots: Sequence[PoseBone],
    posture_weights: Mapping[str, float] | None = None,
) -> ReadTree:
    """Read the tree that chains make.

    Args:
        armature: object with the chains, evaluated.
        snapshots: of the chains, in the order of their bones.
        moving_roots: the bones whose location is written where a root moves.
        posture_weights: of the bones of a body, by their names.

    Raises:
        FabrikError: a number isn't finite, a bone has no length, or a target moves along with a root.
    """
    bones = tree_bones(armature, snapshots, posture_weights)
    tree = bones.tree
    above = {number: {bone, *bone.parent_recursive} for number in tree.roots for bone in [tree.bones[number]]}
    roots = tuple((root, bone, bone.head.copy()) for bone in moving_roots for root in tree.roots if bone in above[root])
    for snapshot, met in zip(snapshots, bones.meets, strict=True):
        _check_target_stays(armature, snapshot, met, moving_roots)
    weights = tuple(snapshot.weight for snapshot in snapshots)
    chain, pose = read_tree(tree, tree_matrices(bones), bones.rotations, weights, [root for root, _, _ in roots])
    options = Options(
        iterations=max(snapshot.options.iterations for snapshot in snapshots),
        tolerance=min(snapshot.options.tolerance for snapshot in snapshots),
        moves_root=bool(roots),
        solver=snapshots[0].options.solver,
    )
    return ReadTree(bones, start_tree(chain, pose), options, weights, roots)


def _check_target_stays(armature: Object, snapshot: Snapshot, met: int, moving_roots: Sequence[PoseBone]) -> None:
    """Refuse a target that no bone of the tree rotates but that moves along with a root.

    Raises:
        FabrikError: that is so.
    """
    target = armature.pose.bones.get(snapshot.target_bone)
    if met < 0 and target is not None and not {target, *target.parent_recursive}.isdisjoint(moving_roots):
        raise FabrikError(
            f"Chain '{snapshot.name}': its target bone '{target.name}' moves with its root: set Root to Fixed"
        )


def tree_goals(read: ReadTree, snapshots: Sequence[Snapshot], goals: Sequence[Goals]) -> Goals:
    """Return the goals of several chains as those of their tree, one row for each chain."""
    first = read.bones.tree.first_joint
    meets = [
        -1 if met < 0 or not np.array_equal(goal.targets, snapshot.goals.targets) else met + first
        for met, snapshot, goal in zip(read.bones.meets, snapshots, goals, strict=True)
    ]
    any_priority = any(snapshot.priority for snapshot in snapshots)
    with_poles = np.array([goal.poles is not None for goal in goals])
    axes = [goal.rotation_axes for goal in goals]
    slacks = [None if goal.slack is None else goal.slack[:, None] for goal in goals]
    any_bound = any(goal.rotation_bounds is not None for goal in goals)
    bounds = [np.full(1, np.inf) if goal.rotation_bounds is None else goal.rotation_bounds for goal in goals]
    with_rotations = np.array([goal.rotations is not None for goal in goals])
    shapes = tuple(snapshot.bones.pole_shape for snapshot in snapshots)
    return Goals(
        targets=np.concatenate([goal.targets for goal in goals]),
        rotations=_stacked([goal.rotations for goal in goals], 4) if with_rotations.any() else None,
        poles=_stacked([goal.poles for goal in goals], 3) if with_poles.any() else None,
        pole_angles=np.array([0.0 if goal.pole_angles is None else goal.pole_angles[0] for goal in goals]),
        pole_shapes=shapes if any(shapes) else None,
        with_rotations=with_rotations,
        rotation_bounds=np.concatenate(bounds) if any_bound else None,
        rotation_axes=None if all(axis is None for axis in axes) else _stacked(axes, 3),
        with_poles=with_poles,
        softness=np.array([snapshot.options.softness for snapshot in snapshots]),
        pinned=np.array([snapshot.is_pinned for snapshot in snapshots]),
        with_positions=np.array([snapshot.has_position for snapshot in snapshots]),
        priorities=np.array([snapshot.priority for snapshot in snapshots]) if any_priority else None,
        meets=np.array(meets) if max(meets) >= 0 else None,
        slack=None if all(slack is None for slack in slacks) else _stacked(slacks, 1)[:, 0],
        balance=read.balance,
        floor=read.floor,
        look_at=read.look_at,
        swivels=read.swivels,
    )


def _stacked(rows: Sequence[Array | None], columns: int) -> Array:
    return np.concatenate([np.zeros((1, columns)) if row is None else row for row in rows])


def solve_tree_bones(
    read: ReadTree, snapshots: Sequence[Snapshot], goals: Sequence[Goals], previous: TreeSolution | None = None
) -> tuple[SolvedChain, ...]:
    """Solve chains as the tree they make, with the pose in which they were read as the reference pose.

    Args:
        goals: of the chains, in the same order.
        previous: solution of the frame before, where the solve starts; None is the reference pose.

    Raises:
        FabrikError: the goals aren't finite.
    """
    bones, tree = read.bones, read.bones.tree
    together = tree_goals(read, snapshots, goals)
    solution = solve_tree_components(read.start, together, read.options, previous)
    every = _Part(range(len(snapshots)))
    pose = _posed(read, every, (read.start, bones.rotations), together, solution)
    locations = _locations(read, solution, max(snapshot.influence for snapshot in snapshots))
    whole_rotations = pose.rotations
    if any(snapshot.influence < 1.0 for snapshot in snapshots):
        pose = _blended(read, snapshots, together, pose)
    # A bone that starts where another one of the tree does stays as it is.
    chains = [snapshot.bones.tree for snapshot in snapshots]
    rotating = {name: bone for chain in chains for name, bone in zip(chain.names, chain.bones, strict=True)}
    staying = {name: rotating[name] for name in rotating.keys() - tree.names}
    whole = {name: rotation_of(bone) for name, bone in staying.items()}
    whole |= zip(tree.names, whole_rotations, strict=True)
    by_name = {name: (bone, present_channel(bone)) for name, bone in staying.items()}
    by_name |= zip(tree.names, zip(tree.bones, pose.channels, strict=True), strict=True)
    return tuple(
        SolvedChain(
            snapshot=snapshot,
            channels=tuple(by_name[name] for name in snapshot.bones.tree.names),
            status=Status(pose.solution.status[number]),
            error=pose.solution.error[number],
            iterations=pose.solution.iterations,
            location=locations.get(snapshot.bones.bones[0].name),
            whole=tuple(whole[name] for name in snapshot.bones.tree.names) if snapshot.influence < 1.0 else (),
            together_with=tuple(other.name for other in snapshots if other is not snapshot),
            solution=solution,
        )
        for number, snapshot in enumerate(snapshots)
    )


def _rotations_of(
    read: ReadTree, part: _Part, begin: tuple[StartTree, Sequence[Quaternion]], solution: TreeSolution
) -> list[Quaternion]:
    """Return the own rotations of the bones that rotate in a solution, from a start and the own rotations in it."""
    start, rotations = begin
    tree = read.bones.tree
    joints = slice(tree.first_joint, tree.first_joint + len(tree.bones))
    parents = bone_parent_frames(tree.rotation_parents, start.frames[joints], rotations)
    found = bone_rotations(parents, solution.frames[joints])
    return [rotations[number] if number in part.held else own for number, own in enumerate(found)]


def _feasible(read: ReadTree, solution: TreeSolution, rotations: Sequence[Quaternion]) -> _FeasiblePose:
    return _FeasiblePose(solution, *feasible_channels(read.bones.tree.constraints, rotations, read.bones.rotations))


def _posed(
    read: ReadTree,
    part: _Part,
    begin: tuple[StartTree, Sequence[Quaternion]],
    goals: Goals,
    solution: TreeSolution,
) -> _FeasiblePose:
    """Return what the bones' channels make of a solution, solved again where they make another pose of it.

    Args:
        read: the tree.
        part: what of it was solved.
        begin: the start, and the bones' own rotations in it.
        goals: of the part.
        solution: from that start.
    """
    start, rotations = begin
    # The pose at hand, computed again from its frames, would be that to rounding.
    is_present = solution.frames is start.placed.frames
    desired = [*rotations] if is_present else _rotations_of(read, part, begin, solution)
    pose = _feasible(read, solution, desired)
    if not read.bones.is_rigid and read.bones.tree.posture_weights is not None:
        return pose  # a body: its goals are corrected by what its bones do (``corrected_goals``)
    if not read.bones.is_rigid or any(map(rotations_differ, desired, pose.rotations)):
        pose = _projected(read, part, goals, pose)
    return pose


def _start_at(read: ReadTree, part: _Part, rotations: Sequence[Quaternion], solution: TreeSolution) -> StartTree:
    """Return the start of a part of a tree.

    Bones that are held have limits of 0, counted from their frames.

    Args:
        read: the tree.
        part: what of it is solved.
        rotations: the bones' own.
        solution: says how far the roots that move are from where they were read.
    """
    tree, held = read.posed_tree, part.held
    first = tree.first_joint
    counted = [Quaternion() if number in held else own for number, own in enumerate(rotations)]
    chain, at = read_tree(tree, tree_matrices(read.bones, rotations), counted, read.weights, ())
    lower, upper, moved = chain.lower.copy(), chain.upper.copy(), np.zeros_like(at.positions)
    held_joints = [number + first for number in held]
    lower[held_joints] = upper[held_joints] = 0.0
    for (root, _, _), shift in zip(read.moving_roots, solution.shifts, strict=False):
        moved[root + first] = shift
    for joint, parent in enumerate(chain.parents.tolist()):
        moved[joint] += moved[parent] if parent >= 0 else 0.0
    at = replace(at, positions=at.positions + moved)
    lengths, chains = chain.lengths.copy(), list(part.chains)
    if tree.has_anchor:
        roots = [root + first for root in tree.roots]
        lengths[roots] = np.linalg.norm(at.positions[roots] - at.positions[0], axis=1)
    chain = replace(
        chain,
        lengths=lengths,
        lower=lower,
        upper=upper,
        tips=chain.tips[chains],
        weights=chain.weights[chains],
        starts=None if chain.starts is None else chain.starts[chains],
    )
    return start_tree(chain, at)


def _projected(read: ReadTree, part: _Part, goals: Goals, pose: _FeasiblePose) -> _FeasiblePose:
    """Return the feasible pose of the least cost: the tree is solved again from each
    feasible pose, while that lowers the cost by a tenth.

    The cost is ``sum_e w_e r_e^2``, with ``r_e`` the distance of effector ``e`` from its target over the length of its
    own chain and ``w_e`` its weight. Status and error become those of the feasible pose.
    """
    first = pose.solution
    least, best = np.inf, pose
    options = replace(read.options, moves_root=False)
    for _ in range(_TREE_RESTARTS):
        start = _start_at(read, part, pose.rotations, first)
        chain, positions = start.chain, start.pose.positions
        ends = np.array([positions[tip] for tip in chain.tips])
        errors = np.linalg.norm(ends - _targets(goals, positions), axis=1)
        errors /= start.unit * np.array(start.own_lengths)
        cost = float(np.square(errors * np.sqrt(chain.weights)).sum())
        if cost >= _NO_RESTART_GAIN * least:
            break
        least, best = cost, replace(pose, solution=_measured(read, first, errors))
        if errors.max() <= 0.01 * read.options.tolerance:
            break
        solution = solve_tree_components(start, goals, options)
        pose = _feasible(read, solution, _rotations_of(read, part, (start, pose.rotations), solution))
    return best


def _measured(read: ReadTree, first: TreeSolution, errors: Array) -> TreeSolution:
    """Return a solution with other errors, and the status that follows from them."""
    held = int(Status.LIMITED) if read.bones.has_locks else int(Status.REACHED)
    status = [
        int(Status.REACHED) if error <= read.options.tolerance else max(status, held) or int(Status.LIMITED)
        for error, status in zip(errors.tolist(), first.status, strict=True)
    ]
    return replace(first, error=errors.tolist(), status=status)


def _targets(goals: Goals, positions: Array) -> Array:
    """Return the effectors' targets (E, 3); a joint that is to be met is where it is in a pose."""
    targets = goals.targets.copy()
    if goals.meets is not None:
        for number, met in enumerate(goals.meets.tolist()):
            if met >= 0:
                targets[number] = positions[met]
    return targets


def _blended(read: ReadTree, snapshots: Sequence[Snapshot], goals: Goals, whole: _FeasiblePose) -> _FeasiblePose:
    """Return the pose between the present and the solved one, each bone at the largest influence of its chains.

    Chains of a larger influence are solved once more, beside the bones of those of smaller ones, which are held where
    their influence leaves them: an arm of influence 1 on a spine whose chain has 0.001 was 12 % of its length off its
    target, rotated as if the spine had come to its own.

    Args:
        goals: of the tree.
        whole: the pose at influence 1.
    """
    bones = [{bone.name for bone in one.bones.bones} for one in snapshots]
    own = [
        [one.influence for one, names in zip(snapshots, bones, strict=True) if name in names]
        for name in read.bones.tree.names
    ]
    levels = sorted({snapshot.influence for snapshot in snapshots})
    first = replace(whole.solution, shifts=[scale(shift, levels[-1]) for shift in whole.solution.shifts])
    status, error = list(first.status), list(first.error)
    found = whole
    for level in levels:
        held = {number for number, influences in enumerate(own) if min(influences) < level}
        if 0 < len(held) < len(own):
            part = _Part([number for number, snapshot in enumerate(snapshots) if snapshot.influence >= level], held)
            whole = _solved_beside(read, part, found.rotations, goals, first)
            for number, state, distance in zip(part.chains, whole.solution.status, whole.solution.error, strict=True):
                is_held = state not in (Status.REACHED, first.status[number])
                status[number], error[number] = int(Status.OUT_OF_REACH) if is_held else state, distance
        rotations = [
            here if number in held else after if max(influences) == 1.0 else before.slerp(after, max(influences))
            for number, (here, before, after, influences) in enumerate(
                zip(found.rotations, read.bones.rotations, whole.rotations, own, strict=True)
            )
        ]
        found = _feasible(read, whole.solution, rotations)
    return replace(found, solution=replace(first, status=status, error=error))


def _solved_beside(
    read: ReadTree, part: _Part, rotations: Sequence[Quaternion], goals: Goals, first: TreeSolution
) -> _FeasiblePose:
    """Return the pose of some chains of a tree, solved from the present pose beside bones that are held.

    Args:
        part: the chains and the bones.
        rotations: the bones' own; those that are held keep theirs.
        goals: of all chains.
        first: solution for all chains, where this solve starts, and where the roots are.
    """
    begin = [rotations[number] if number in part.held else own for number, own in enumerate(read.bones.rotations)]
    start, own_goals = _start_at(read, part, begin, first), _goals_of(goals, part.chains)
    before = replace(first, by_weight=None, of_targets=None, reference=None)
    solution = solve_tree_components(start, own_goals, replace(read.options, moves_root=False), before)
    return _posed(read, part, (start, begin), own_goals, replace(solution, shifts=first.shifts))


def _goals_of(goals: Goals, kept: Sequence[int]) -> Goals:
    """Return the goals of some chains of a tree."""
    rows = {one.name: getattr(goals, one.name) for one in fields(goals)}
    # Any: of floats, of integers or of truth values
    arrays: dict[str, Any] = {name: value[[*kept]] for name, value in rows.items() if isinstance(value, np.ndarray)}
    shapes = None if goals.pole_shapes is None else tuple(goals.pole_shapes[number] for number in kept)
    return replace(goals, **arrays, pole_shapes=shapes)


def _locations(read: ReadTree, solution: TreeSolution, influence: float) -> dict[str, tuple[PoseBone, Channel]]:
    """Return the new locations of the bones at the roots that have moved, by name."""
    locations: dict[str, tuple[PoseBone, Channel]] = {}
    for (_, bone, head), shift in zip(read.moving_roots, solution.shifts, strict=False):
        moved = influence * Vector(cast("tuple[float, float, float]", shift))
        if moved.length > 0.0:
            locations[bone.name] = (bone, ("location", location_at(bone, head + moved)[:]))
    return locations
