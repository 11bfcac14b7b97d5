# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""FABRIK of a tree: passes from the effectors in to the root and out again (Aristidou & Lasenby 2011, section 4.1).

At a sub-base the branches' wishes meet in their centroid by weight. Where several joints hang on one bone they move as
one body: the bone is laid where its joints come nearest to what the branches want (2016 paper's rigid torso).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..math.operations import TINY, Component, Operations, Vector
from ..math.quaternions import Quaternion, rotate
from ..math.rigid_fit import fit_frame
from ..math.vectors import choose_parts
from ..model.skeleton import Tree
from .acceleration import Mixing

PLAIN_SWEEPS = 3
"""Sweeps before mixing begins."""

IDLE = 4.0
"""Sweeps in a row that bring little, after which more would bring no more."""

HEAD_WEIGHT = 0.05
"""Weight of a hub's own joint beside its branches': it says where the hub is about the line of two of them."""


@dataclass(frozen=True)
class Pull:
    """A joint and where it should go."""

    joint: int
    target: Vector | None
    """In the tree's units; None where another joint is to be met."""
    meets: int
    """The other joint, or -1."""
    weight: Component
    """Share where several pulls meet."""
    meets_weight: Component = 1.0
    """Share of the joint that is met."""


@dataclass(frozen=True)
class Swept:
    """What sweeps leave: joints, the frames of the bones that carry several, errors and sweeps used."""

    joints: list[Vector]
    sub_base_frames: dict[int, Quaternion]
    sweeps: Component


def pull_weights(tree: Tree, pulls: Sequence[Pull]) -> list[Component]:
    """Return the weight of all pulls on what hangs on each joint, itself included."""
    weights: list[Component] = [0.0] * len(tree.parents)
    for pull in pulls:
        weights[pull.joint] = weights[pull.joint] + pull.weight
        if pull.meets >= 0:
            weights[pull.meets] = weights[pull.meets] + pull.weight
    for joint in reversed(range(1, len(weights))):
        parent = tree.parents[joint]
        weights[parent] = weights[parent] + weights[joint]
    return weights


def sweep_tree(
    ops: Operations,
    tree: Tree,
    joints: Sequence[Vector],
    frames: Sequence[Quaternion],
    pulls: Sequence[Pull],
    enough: Component,
    iterations: int,
    roots: Sequence[int] = (),
) -> Swept:
    """Sweep in and out until every pull is near where it should be, or sweeps no longer bring them nearer.

    Args:
        ops: the lanes' operations.
        tree: the bones; limits are not looked at.
        joints: where they are.
        frames: of the bones before.
        pulls: joints and their targets.
        enough: distance at which the sweeps stop.
        iterations: sweeps at most.
        roots: that give way: the passes outward start from where the passes inward bring them.

    Returns:
        joints that have the tree's lengths and hubs.
    """
    weights = pull_weights(tree, pulls)
    held = {0, *tree.children[0]} if tree.is_anchor else {0}
    held -= set(roots)
    sub_bases = {j: frames[j] for j in tree.bones if len(tree.children[j]) > 1 and not (j == 0 and tree.is_anchor)}
    placed = [*joints]
    zero = 0.0 * joints[0][0]
    best, best_hubs, best_error = placed, sub_bases, _error(ops, placed, pulls)
    sweeps = zero
    mixing = Mixing(ops)
    idle = zero
    state = [*placed]
    for sweep in range(1, iterations + 1):
        going = (best_error > enough) & (idle <= IDLE)
        if not ops.any(going):
            break
        desired = [*state]
        sub_bases = dict(sub_bases)
        backward_pass(ops, tree, desired, sub_bases, pulls, weights, held)
        for j in held:
            desired[j] = joints[j]
        forward_pass(ops, tree, desired, sub_bases, weights)
        error = _error(ops, desired, pulls)
        better = going & (error < best_error)
        sweeps = ops.where(going, zero + sweep, sweeps)
        idle = ops.where(going, ops.where(error < 0.98 * best_error, zero, idle + 1.0), idle)
        best = [choose_parts(ops, better, a, b) for a, b in zip(desired, best, strict=True)]
        best_hubs = {j: choose_parts(ops, better, sub_bases[j], best_hubs[j]) for j in sub_bases}
        best_error = ops.where(better, error, best_error)
        if sweep > PLAIN_SWEEPS:
            before, after = ([part for joint in row for part in joint] for row in (state, desired))
            flat = mixing.next_input(before, after, error)
            state = [*zip(flat[0::3], flat[1::3], flat[2::3], strict=True)]
        else:
            state = desired
    return Swept(best, best_hubs, sweeps)


def backward_pass(
    ops: Operations,
    tree: Tree,
    joints: list[Vector],
    sub_bases: dict[int, Quaternion],
    pulls: Sequence[Pull],
    weights: Sequence[Component],
    held: set[int],
) -> None:
    """Put the effectors on their targets and pull every joint after them, up to those that are held (stage 1)."""
    wished: dict[int, tuple[Vector, Component]] = {}
    for pull in pulls:
        _wish(wished, pull.joint, *_goal(pull, joints))
        if pull.meets >= 0:
            _wish(wished, pull.meets, *_goal(pull, joints))
    sqrt, children, lengths = ops.sqrt, tree.children, tree.lengths
    for j in range(len(joints) - 1, -1, -1):
        hanging = children[j]
        if j in held:
            continue
        candidate: Any = None
        if len(hanging) == 1:
            (x, y, z), (ax, ay, az) = joints[j], joints[hanging[0]]
            dx, dy, dz = x - ax, y - ay, z - az
            share = lengths[hanging[0]] / (sqrt(dx * dx + dy * dy + dz * dz) + TINY)
            candidate = (ax + dx * share, ay + dy * share, az + dz * share)
        elif hanging:
            candidate = _pull_sub_base(ops, tree, j, joints, sub_bases, weights)
        if j in wished:
            goal, weight = wished[j]
            candidate = goal if candidate is None else _centroid(candidate, goal, weights[j] - weight, weight)
        if candidate is not None:
            joints[j] = candidate


def _goal(pull: Pull, joints: Sequence[Vector]) -> tuple[Vector, Component]:
    if pull.target is not None:
        return pull.target, pull.weight
    place = _centroid(joints[pull.joint], joints[pull.meets], pull.weight, pull.meets_weight)
    return place, pull.weight


def _wish(wished: dict[int, tuple[Vector, Component]], joint: int, goal: Vector, weight: Component) -> None:
    """Note a joint's goal; several have their centroid by weight."""
    if joint in wished:
        other, other_weight = wished[joint]
        goal, weight = _centroid(other, goal, other_weight, weight), other_weight + weight
    wished[joint] = (goal, weight)


def _centroid(a: Vector, b: Vector, first: Component, second: Component) -> Vector:
    share = second / (first + second)
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]), a[2] + share * (b[2] - a[2])


def _pull_sub_base(
    ops: Operations,
    tree: Tree,
    sub_base: int,
    joints: Sequence[Vector],
    sub_bases: dict[int, Quaternion],
    weights: Sequence[Component],
) -> Vector:
    """Lay a hub where its joints come nearest to where the branches want them; return where its own joint is then."""
    hanging = tree.children[sub_base]
    shares = [HEAD_WEIGHT * weights[sub_base], *(weights[child] for child in hanging)]
    total = sum(shares) + TINY
    nothing = 0.0 * joints[sub_base][0]
    points = [(nothing, nothing, nothing), *(tree.offsets[child] for child in hanging)]
    places = [joints[sub_base], *(joints[child] for child in hanging)]
    middle = _mean(points, shares, total)
    center = _mean(places, shares, total)
    frame = fit_frame(
        ops,
        sub_bases[sub_base],
        [(x - middle[0], y - middle[1], z - middle[2]) for x, y, z in points],
        [(x - center[0], y - center[1], z - center[2]) for x, y, z in places],
        shares,
    )
    sub_bases[sub_base] = frame
    dx, dy, dz = rotate(frame, middle)
    return center[0] - dx, center[1] - dy, center[2] - dz


def _mean(points: Sequence[Vector], shares: Sequence[Component], total: Component) -> Vector:
    x, y, z = (
        sum(share * point[axis] for point, share in zip(points, shares, strict=True)) / total for axis in range(3)
    )
    return x, y, z


def forward_pass(
    ops: Operations,
    tree: Tree,
    joints: list[Vector],
    sub_bases: dict[int, Quaternion],
    weights: Sequence[Component],
) -> None:
    """Start from the root and pull every joint after it, out to the effectors (stage 2)."""
    sqrt, children, lengths = ops.sqrt, tree.children, tree.lengths
    for j in tree.bones:
        hanging = children[j]
        x, y, z = joints[j]
        if j == 0 and tree.is_anchor:
            continue
        if len(hanging) == 1:
            bx, by, bz = joints[hanging[0]]
            dx, dy, dz = bx - x, by - y, bz - z
            share = lengths[hanging[0]] / (sqrt(dx * dx + dy * dy + dz * dz) + TINY)
            joints[hanging[0]] = (x + dx * share, y + dy * share, z + dz * share)
        else:
            places = [(bx - x, by - y, bz - z) for bx, by, bz in (joints[child] for child in hanging)]
            shares = [weights[child] for child in hanging]
            frame = fit_frame(ops, sub_bases[j], [tree.offsets[child] for child in hanging], places, shares)
            sub_bases[j] = frame
            for child in hanging:
                dx, dy, dz = rotate(frame, tree.offsets[child])
                joints[child] = (x + dx, y + dy, z + dz)


def _error(ops: Operations, joints: Sequence[Vector], pulls: Sequence[Pull]) -> Component:
    """Return the pulls' distances from where they should be, root of the weighted mean square."""
    total: Component = 0.0
    weights: Component = TINY
    for pull in pulls:
        x, y, z = joints[pull.joint]
        tx, ty, tz = joints[pull.meets] if pull.target is None else pull.target
        x, y, z = x - tx, y - ty, z - tz
        total = total + pull.weight * (x * x + y * y + z * z)
        weights = weights + pull.weight
    return ops.sqrt(total / weights)
