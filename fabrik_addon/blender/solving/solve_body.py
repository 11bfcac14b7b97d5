# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one path for a body: one of its handles is pulled, the others are held by their priorities."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...core import FabrikError
from ...core.body.posture import FLAT_WEIGHT, HEEL_WEIGHT
from ...core.math.quaternion_arrays import largest_angle
from ..bodies.body_balance import center_over_floor, read_balance, read_support, share_on_heels
from ..bodies.body_floor import read_floor
from ..bodies.body_following import Follows
from ..bodies.body_look_at import eye_channels, read_look_at
from ..bodies.body_snapshots import BodySnapshots, take_body
from ..bodies.body_swivels import read_swivels
from ..bodies.handle_chains import rotation_name
from ..bodies.handles import Pull, following_objects
from ..bones.rotation_channel import Channel, Setting, is_locked
from ..rig.chain_bones import check_root_moves
from ..rig.last_results import Result
from ..rig.snapshot import Snapshot
from ..rig.targets_and_poles import check_evaluated
from .chain_groups import Group, order_of_tip
from .corrected_goals import (
    CORRECTED,
    MOST_CORRECTIONS,
    corrected_goals,
    cost_of,
    deviations_of,
    largest_difference,
)
from .outcome import outcome_of, slipped_pin, with_rotations
from .solve_chain_bones import SolvedChain
from .solve_chains import solve_group
from .solve_tree_bones import take_tree
from .write_channels import write_channels

if TYPE_CHECKING:
    from bpy.types import Bone, Object, PoseBone, ViewLayer

    from ...core import Array, TreeSolution

MOST_SUPPORTS = 3
"""Solves at most after the first one, each over the feet as the one before has left them."""

STILL = 2e-3
"""Distance, in units of the body's tree, up to which a point of a foot has stayed where it was: a seventh of the margin
of the balance task (``balance_task.MARGIN``)."""


FLAT = 1e-4
"""Angle (radians) up to which a foot that has turned still lies flat."""


def pull_body(
    view_layer: ViewLayer, armature: Object, pulls: Sequence[Pull], follows: Follows = 'BODY'
) -> tuple[Result | None, list[tuple[PoseBone | Bone, str]], str]:
    """Pose an armature so that handles of its body are where they are pulled, or where objects are that they follow.

    Returns:
        how near the first handle came, without a pull how near that one came to its object that is the farthest away,
        with a message that names pulled, pinned and planted bones without their rotations as well; None for a pull
        without a position where all have theirs; the changed bones with their channels; and which
        pin is not at its place, in words.

    Raises:
        FabrikError: Blender doesn't evaluate the armature, or a bone of the body can't be used; then nothing has
            changed.
    """
    view_layer.update()
    check_evaluated(view_layer, armature, f"'{armature.name}'")
    body = take_body(view_layer, armature, *pulls, follows=follows)
    group = body_group(armature, body)
    stands = group.tree is not None and group.tree.balance is not None and _is_over_its_feet(armature)
    may_lift = stands and bool(_flat_feet(group))
    before_heels = read_support(armature, body.pulled, with_heels=False) if may_lift else np.empty((0, 3))
    changed: dict[tuple[str, str], Setting] = {}

    def write(settings: Sequence[Setting]) -> None:
        for bone, old in write_channels(settings):
            changed.setdefault((bone.name, old[0]), (bone, old))
        view_layer.update()

    def write_solved(chains: Sequence[SolvedChain]) -> None:
        write([setting for chain in chains for setting in chain.settings])

    def solved_again() -> tuple[SolvedChain, ...]:
        found = solve_group(group, corrected_goals(group, {}, deviations), solved)
        write_solved(found)
        return found

    solved: tuple[SolvedChain, ...] = ()
    best = solved
    least, deviations = math.inf, deviations_of(group, None)
    for _ in range(MOST_CORRECTIONS if deviations else 1):
        before = deviations
        solved = solve_group(group, corrected_goals(group, {}, before), solved)
        write_solved(solved)
        cost, deviations = cost_of(group, {}), deviations_of(group, solved[0].solution)
        if cost < least or not best:  # infinite, where the square of a distance is
            least, best = cost, solved
        if largest_difference(group, deviations, before) <= CORRECTED:
            break
    if best is not solved:
        solved = best
        write_solved(solved)
    if may_lift and _has_lifted_heels(group, solved[0].solution):
        on_other, group = group, with_heels_down(group, before_heels, solved[0].solution)
        if group is not on_other:
            solved = solved_again()
    for _ in range(MOST_SUPPORTS):
        if not stands or _is_over_its_feet(armature, body.pulled):
            break
        on_other, group = group, on_its_feet(armature, group, body.pulled)
        if group is on_other:
            break
        solved = solved_again()
    write(eye_channels(body.look))
    names = {pull.handle for pull in pulls} or following_objects(armature)
    first = {pulls[0].handle} if pulls else names
    results = [outcome_of(view_layer, armature, chain, ()) for chain in solved if chain.snapshot.name in first]
    result = max(results, key=lambda result: result.error, default=None)
    slipped = slipped_pin(view_layer, armature, solved, names)
    turned = {rotation_name(pull.handle) for pull in pulls if pull.rotation is not None}
    rotations = [one for one in solved if one.snapshot.name in turned or _is_pinned_rotation(one.snapshot)]
    return with_rotations(result, rotations), [(bone, name) for bone, (name, _) in changed.values()], slipped


def _is_over_its_feet(armature: Object, pulled: Container[str] = ()) -> bool:
    """Tell whether the center of mass of a body is over what it stands on, without the handles that are pulled."""
    center = center_over_floor(armature, pulled)
    return center is not None and center.outside == 0.0


def on_its_feet(armature: Object, group: Group, pulled: Container[str]) -> Group:
    """Return a group with the balance over the feet as they are in the pose that is shown.

    A heel that has lifted carries nothing any more: with the support of the pose before the pull the center of mass of
    a body whose hips were led low came 0.0046 of the height outside its feet, with that of each move not at all (bench
    row "body-pulling").

    Args:
        armature: object with the body, evaluated.
        pulled: names of the handles that are pulled.
    """
    tree = group.tree
    if tree is None or tree.balance is None:
        return group
    support = read_support(armature, pulled)
    before = tree.balance.support
    is_same = support.shape == before.shape and np.allclose(support, before, rtol=0.0, atol=STILL * tree.start.unit)
    if is_same or not len(support):
        return group
    return replace(group, tree=replace(tree, balance=replace(tree.balance, support=support)))


def with_heels_down(group: Group, before_heels: Array, solution: TreeSolution | None) -> Group:
    """Return a group in which feet lie flat the more firmly, the more of a body's weight is on its heels.

    A heel that carries the body can't lift. Where the head of Rigify's human was pulled back, by 0.079 of its height,
    its heels lifted by 12 degrees below the center of mass; from there on that was over the toes alone, and the feet
    turned by 47 degrees more in one step.

    Args:
        before_heels: (P, 3) support without heels in the pose in which the group was read.
        solution: from there; None is that pose.
    """
    tree, flat = group.tree, _flat_feet(group)
    if tree is None or tree.balance is None or not flat:
        return group
    start = tree.start
    points = start.pose.positions if solution is None else np.array(solution.points)
    frames = np.array(start.frames if solution is None else solution.frames)
    share = share_on_heels(tree.balance, before_heels, points, frames, start.unit)
    if share == 0.0:
        return group
    weights = start.chain.weights.copy()
    weights[flat] = FLAT_WEIGHT + share * (HEEL_WEIGHT - FLAT_WEIGHT)
    return replace(group, tree=replace(tree, start=replace(start, chain=replace(start.chain, weights=weights))))


def _has_lifted_heels(group: Group, solution: TreeSolution | None) -> bool:
    """Tell whether a planted foot that should lie flat has turned in a solution."""
    if group.tree is None or solution is None:
        return False
    start, numbers = group.tree.start, group.tree.bones.tree.core_joints
    ends = [group.snapshots[number].bones.end.name for number in _flat_feet(group)]
    joints = [numbers[name] for name in ends if name in numbers]
    turned = largest_angle([start.frames[j] for j in joints], [solution.frames[j] for j in joints]) if joints else 0.0
    return turned > FLAT


def _flat_feet(group: Group) -> list[int]:
    """Return the numbers of the chains for the rotations of planted feet whose heels may lift."""
    return [number for number, snapshot in enumerate(group.snapshots) if snapshot.goals.rotation_bounds is not None]


def _is_pinned_rotation(snapshot: Snapshot) -> bool:
    """Tell whether a chain is that of the whole rotation of a pin or of planted toes, not of an axis of it alone."""
    return snapshot.is_pinned and not snapshot.has_position and snapshot.goals.rotation_axes is None


def eyes_of_solution(
    body: BodySnapshots, group: Group, solved: Sequence[SolvedChain]
) -> list[tuple[PoseBone, Channel]]:
    """Return the channels of the eyes in a solution that isn't written.

    Args:
        body: as it was read.
    """
    tree, solution = group.tree, solved[0].solution
    if body.look is None or tree is None or solution is None:
        return []
    head = body.look.head
    joint = tree.bones.tree.core_joints[head.name]
    place, frame = (cast("tuple[float, ...]", found[joint]) for found in (solution.points, solution.frames))
    before = Matrix.LocRotScale(head.matrix.to_translation(), head.matrix.to_quaternion(), None)
    after = Matrix.LocRotScale(Vector(place), Quaternion(frame), None)
    return eye_channels(body.look, after @ before.inverted())


def body_group(armature: Object, body: BodySnapshots) -> Group:
    """Return the handles of a body as one group, with the tree that they make.

    The root moves unless Blender or the rig holds its location, or all of its rotation is locked.

    Raises:
        FabrikError: a number isn't finite, a bone has no length, or a handle is at a root that can't move.
    """
    snapshots = tuple(sorted(body.snapshots, key=order_of_tip))
    moving_roots: tuple[PoseBone, ...] = ()
    try:
        # A root that can't turn is no bone of the tree: each limb would be one of its own, with its own shift.
        if body.root_follows and not is_locked(body.root):
            check_root_moves(body.root)
            moving_roots = (body.root,)
    except FabrikError as error:
        for snapshot in snapshots:
            if snapshot.bones.end == body.root and not snapshot.bones.use_tail:
                raise FabrikError(f"Handle '{snapshot.name}': {error}: unlock it") from error
    tree = take_tree(armature, snapshots, moving_roots, body.posture_weights)
    joints, look = tree.bones.tree.core_joints, body.look
    balance = read_balance(armature, joints, body.pulled, body.balance_priority) if moving_roots else None
    look_at = None if look is None else read_look_at(armature, look, joints, bool(body.pulled))
    floor, swivels = read_floor(armature, joints, body.toes), read_swivels(armature, tree.bones.tree)
    return Group(snapshots, replace(tree, balance=balance, floor=floor, look_at=look_at, swivels=swivels), moving_roots)
