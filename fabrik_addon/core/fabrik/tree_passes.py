# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""FABRIK of a tree: passes from the effectors in to the root and out again (Aristidou and Lasenby 2011, section 4.1).

In the paper's stage 1 each branch gives a candidate position of its sub-base, which moves to their centroid. Here a
sub-base is a bone that carries the first joints of several branches, a rigid body (the rigid torso of Aristidou,
Chrysanthou and Lasenby 2016). Stage 1 moves it to the position and rotation at which those joints are nearest to their
candidates, by least squares weighted by the effectors beyond each (``math.rigid_fit``); stage 2 rotates it about its
own joint alone. From sweep ``PLAIN_TREE_SWEEPS + 1`` on all joints are mixed as the joints of a chain are
(``acceleration``).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..math.operations import SCALAR, TINY, Component, Vector, add_up
from ..math.quaternions import Quaternion, conjugate, multiply, rotate, x_axis
from ..math.rigid_fit import fit_frame
from ..math.vectors import add, dot, norm, onward, subtract, vectors_of
from ..model.frame_transport import transport_rotation
from ..model.skeleton import Tree
from ..model.tree_start import StartTree
from .acceleration import Mixing
from .passes import Stop

PLAIN_TREE_SWEEPS = 3
"""Sweeps of a tree before acceleration begins."""

USEFUL_SWEEP = 0.98
"""Ratio of the error after a sweep to the smallest error before, below which the sweep counts as useful."""

USELESS_SWEEPS = 4
"""Largest number of sweeps in a row that are not useful: one more such sweep is the last sweep of all."""

SUB_BASE_WEIGHT = 0.05
"""Weight of a sub-base's own joint, over the sum of the weights beyond it, when its rigid body is fitted to its
branches: with two branches alone the rotation about the line through their joints would be undetermined."""


@dataclass(frozen=True)
class EffectorPull:
    """A joint of a tree and its target."""

    joint: int
    target: Vector
    """In the tree's units."""
    weight: Component
    """Share of this target in the centroids of the sub-bases."""


@dataclass(frozen=True)
class Swept:
    """The result of sweeps: joints, and the frames of the bones that carry several joints."""

    joints: list[Vector]
    sub_base_frames: dict[int, Quaternion]


def pull_weights(tree: Tree, pulls: Sequence[EffectorPull]) -> list[Component]:
    """Return for each joint the sum of the weights of all pulls on the joint itself and on the joints beyond it."""
    weights: list[Component] = [0.0] * len(tree.structure.parents)
    for pull in pulls:
        weights[pull.joint] = weights[pull.joint] + pull.weight
    for joint in reversed(range(1, len(weights))):
        parent = tree.structure.parents[joint]
        weights[parent] = weights[parent] + weights[joint]
    return weights


def sweep_tree(
    tree: Tree,
    joints: Sequence[Vector],
    frames: Sequence[Quaternion],
    pulls: Sequence[EffectorPull],
    stop: Stop,
    roots: Sequence[int],
) -> Swept:
    """Sweep until the error is within the tolerance or sweeps are no longer useful.

    Args:
        tree: the bones; their limits are not used.
        joints: before, in the tree's units.
        frames: of the bones before.
        stop: error at which the sweeps stop, in the tree's units, and sweeps at most.
        roots: joints that move: stage 2 starts from where stage 1 has brought them. All other roots stay.

    Returns:
        the pose with the smallest error, before the first sweep or after any.
    """
    weights = pull_weights(tree, pulls)
    children, is_anchor = tree.structure.children, tree.structure.is_anchor
    held = {0, *children[0]} if is_anchor else {0}
    held -= set(roots)
    sub_bases = {j: frames[j] for j in tree.structure.bones if len(children[j]) > 1 and not (j == 0 and is_anchor)}
    state, mixing, useless = [*joints], Mixing(SCALAR), 0
    best, best_error = Swept(state, sub_bases), _error(state, pulls)
    for sweep in range(1, stop.iterations + 1):
        if best_error <= stop.tolerance or useless > USELESS_SWEEPS:
            break
        swept = [*state]
        sub_bases = dict(sub_bases)
        backward_pass(tree, swept, sub_bases, pulls, weights, held)
        for j in held:
            swept[j] = joints[j]
        forward_pass(tree, swept, sub_bases, weights)
        error = _error(swept, pulls)
        useless = 0 if error < USEFUL_SWEEP * best_error else useless + 1
        if error < best_error:
            best, best_error = Swept(swept, sub_bases), error
        if sweep > PLAIN_TREE_SWEEPS:
            before, after = ([part for joint in row for part in joint] for row in (state, swept))
            state = vectors_of(mixing.next_input(before, after, error))
        else:
            state = swept
    return best


def backward_pass(
    tree: Tree,
    joints: list[Vector],
    sub_bases: dict[int, Quaternion],
    pulls: Sequence[EffectorPull],
    weights: Sequence[Component],
    held: set[int],
) -> None:
    """Put the effectors on their targets and move every joint toward its children, to the links' lengths (stage 1).

    Children come before their parents. A joint with one child goes to the point at the link's length from the child, on
    the line to where the joint was; a joint with several children to the position of the rigid body fitted to them; a
    joint with a target of its own to the centroid of that target and the candidate of its children. Joints that are
    held, the fixed roots, stay.
    """
    goals: dict[int, tuple[Vector, Component]] = {}
    for pull in pulls:
        goal, weight = pull.target, pull.weight
        if pull.joint in goals:  # several targets of one joint become their centroid
            other, other_weight = goals[pull.joint]
            goal, weight = _centroid(other, goal, other_weight, weight), other_weight + weight
        goals[pull.joint] = goal, weight
    children, lengths = tree.structure.children, tree.lengths
    for j in range(len(joints) - 1, -1, -1):
        beyond = children[j]
        if j in held:
            continue
        candidate: Vector | None = None
        if len(beyond) == 1:
            candidate = _at_length(joints[beyond[0]], joints[j], lengths[beyond[0]])
        elif beyond:
            candidate = _fit_sub_base(tree, j, joints, sub_bases, weights)
        if j in goals:
            goal, weight = goals[j]
            candidate = goal if candidate is None else _centroid(candidate, goal, weights[j] - weight, weight)
        if candidate is not None:
            joints[j] = candidate


def _centroid(a: Vector, b: Vector, first: Component, second: Component) -> Vector:
    """Return ``(first a + second b) / (first + second)``."""
    return onward(a, second / (first + second), subtract(b, a))


def _at_length(anchor: Vector, point: Vector, length: float) -> Vector:
    """Return the point at a length from an anchor, on the line to a point: ``a + (p - a) d / |p - a|``."""
    offset = subtract(point, anchor)
    return onward(anchor, length / (norm(SCALAR, offset) + TINY), offset)


def _fit_sub_base(
    tree: Tree, sub_base: int, joints: Sequence[Vector], sub_bases: dict[int, Quaternion], weights: Sequence[Component]
) -> Vector:
    """Fit the rigid body of a sub-base to the joints of its branches; return the position of its own joint.

    The body's frame is kept in ``sub_bases``: the rotation that minimises the weighted squared distances of the body's
    joints from the candidates, with the weighted centroids of both at one point.
    """
    beyond = tree.structure.children[sub_base]
    shares = [SUB_BASE_WEIGHT * weights[sub_base], *(weights[child] for child in beyond)]
    total = sum(shares) + TINY
    points = [(0.0, 0.0, 0.0), *(tree.offsets[child] for child in beyond)]
    places = [joints[sub_base], *(joints[child] for child in beyond)]
    middle, center = _mean(points, shares, total), _mean(places, shares, total)
    offsets = [subtract(point, middle) for point in points]
    desired = [subtract(place, center) for place in places]
    sub_bases[sub_base] = fit_frame(sub_bases[sub_base], offsets, desired, shares)
    return subtract(center, rotate(sub_bases[sub_base], middle))


def _mean(points: Sequence[Vector], shares: Sequence[Component], total: Component) -> Vector:
    """Return the weighted centroid of points, whose weights add up to a total."""
    x, y, z = (
        sum(share * point[axis] for point, share in zip(points, shares, strict=True)) / total for axis in range(3)
    )
    return x, y, z


def forward_pass(
    tree: Tree, joints: list[Vector], sub_bases: dict[int, Quaternion], weights: Sequence[Component]
) -> None:
    """Move every joint toward its parent, to the link's length, from the roots to the effectors (stage 2).

    A bone that carries several joints keeps its own joint and is rotated so that its joints are nearest to their
    positions after stage 1.
    """
    children, lengths = tree.structure.children, tree.lengths
    for j in tree.structure.bones:
        beyond = children[j]
        if j == 0 and tree.structure.is_anchor:
            continue
        if len(beyond) == 1:
            joints[beyond[0]] = _at_length(joints[j], joints[beyond[0]], lengths[beyond[0]])
        else:
            places = [subtract(joints[child], joints[j]) for child in beyond]
            shares = [weights[child] for child in beyond]
            sub_bases[j] = fit_frame(sub_bases[j], [tree.offsets[child] for child in beyond], places, shares)
            for child in beyond:
                joints[child] = add(joints[j], rotate(sub_bases[j], tree.offsets[child]))


def _error(joints: Sequence[Vector], pulls: Sequence[EffectorPull]) -> float:
    """Return ``sqrt(sum w_k |p_k - t_k|^2 / sum w_k)`` over the pulls k of joints p_k to targets t_k."""
    offs = [subtract(joints[pull.joint], pull.target) for pull in pulls]
    total = add_up(pull.weight * dot(off, off) for pull, off in zip(pulls, offs, strict=True))
    return math.sqrt(total / (TINY + add_up(pull.weight for pull in pulls)))


def tree_frames(start: StartTree, swept: Swept) -> list[Quaternion]:
    """Return the bones' frames after their joints have moved, by frame transport from the roots outward.

    ``d_j = R(d_p l_j, l'_j) d_p``, with p the parent of joint j and the other symbols as in ``model.frame_transport``;
    d_p is left out for a bone that doesn't inherit its parent's rotation.
    """
    structure, joints = start.tree.structure, swept.joints
    frames: list[Quaternion] = [*start.frames]
    deltas: dict[int, Quaternion] = {}
    for j in structure.bones:
        if j == 0 and structure.is_anchor:
            continue
        if j in swept.sub_base_frames:
            frames[j] = swept.sub_base_frames[j]
            deltas[j] = multiply(frames[j], conjugate(start.frames[j]))
            continue
        child = structure.children[j][0]
        before, after = (subtract(points[child], points[j]) for points in (start.points, joints))
        parent_rotation = deltas.get(structure.parents[j]) if structure.inherits[j] else None
        deltas[j] = transport_rotation(SCALAR, parent_rotation, before, after, x_axis(start.frames[j]))
        frames[j] = multiply(deltas[j], start.frames[j])
    return frames
