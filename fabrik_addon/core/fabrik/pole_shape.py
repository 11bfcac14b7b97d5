# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses of a chain with a pole that bends to both sides or in several planes: one family, continuous in the distance.

To every distance from root to target belongs one pose. The planar family (``planar_pose``) has no pose near a leg down
to its toe, whose knee and ankle bend to opposite sides, nor near a clavicle with an arm. The family here goes through
one given pose, the pole shape. The bends of a pose are interpolated linearly between nodes: the straight chain, the
pole shape b_0, and b_1, b_2 ... down to c, the chain closed on one circle toward the pole (``closed_bends``). From a
node to the next one the bends change along

    v = K (c - b) / s,      s = max|K (c - b)|,     v' = v - max(0, v . g + e min(s, 1) max|g|) / |M g|^2  M g,

with g the gradient of the distance from root to tip, K a weight of one for the joint of the bend (``joint_of_bend``:
knee or elbow) and ``W`` for the other joints, M the projection onto the other joints, and W and e of ``WAYS``. So the
bend of the joint of the bend changes monotonically to that of c, the others change more slowly, and the distance falls
along v'. Every pose is rotated about the line root-tip so that the hinge axis (the third axis of the link before the
joint of the bend) has the same direction about that line as in the pole shape.

Where the distance falls all along the nodes (``has_family``), joints are continuous in it. The steepest descent of the
distance alone, without v, bends a knee that lies behind the line from hip to toe backward; with c for all joints at one
rate the distance rises at first for legs down to their toes.

A bend (y, z) is the angle a (radians) from a link to the next one times the unit direction across the link to which the
next link deviates: the shortest rotation between them has the rotation vector ``(1, 0, 0) x (0, y, z) = (0, -z, y)``.
Its axes are those of the first link, which is along the first axis, transported by these rotations from link to link.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from math import atan2, cos, hypot, pi, sin

import numpy as np

from ..goals.pole import NO_BEND, bend_direction, pole_axes, rotate_pole
from ..math.false_position import false_position
from ..math.operations import ARRAY, SCALAR, TINY, Array, Component, Operations, ScalarVector, Vector, add_up, quiet
from ..math.quaternions import Quaternion, conjugate, from_to, identity_of, multiply, rotate
from ..math.vectors import (
    NO_DIRECTION,
    choose_each,
    combination,
    cross,
    dot,
    first_direction,
    norm,
    onward,
    scale,
    subtract,
)
from ..model.chain_start import StartPose
from ..problem import Chain, PoleShape, Pose
from .passes import reach_test, straight_to_target, within_reach
from .planar_pose import closed_bends

FIRST_AXIS: ScalarVector = (1.0, 0.0, 0.0)
THIRD_AXIS: ScalarVector = (0.0, 0.0, 1.0)

LEAST_DISTANCE = 1e-6
"""Smallest distance from root to tip, over the chain's length: a tip at the root is in no direction from it."""

WAYS = ((0.3, 0.6), (0.3, 0.3), (0.3, 0.15), (1.0, 0.0))
"""Weights W of the joints that are not the joint of the bend, and factors e of the fall of the distance: the first pair
is taken with which the distance falls all along the nodes.

At W = 0.3 limbs are lifted most evenly. Of 3933 chains on Rigify's metarigs that need a pole shape 3731 have a family
at 0.3, and another 90 at 1 without the fall.
"""

NODE_STEP = 0.04
"""Largest change of a bend from a node to the next one, radians."""

MOST_NODES = 400
"""Bound on the nodes; 70 to 200 are usual."""

NEARLY_CLOSED = 0.01
"""Largest component s of K (c - b), radians, at which the closed chain is the next node."""

BENT_AWAY = 0.1
"""Bend away from the pole, radians, up to which a joint may be the joint of the bend."""

LEAST_AXIS = 0.3
"""Least length of the part of the hinge axis, a unit vector, across the line root-tip: a shorter part's direction would
change by much from node to node."""

SAMPLES = 4
"""Poses from each node to the next whose distances are compared; as many as all of these up to the pole shape."""

NEARLY_STRAIGHT = 1.0 - 1e-5
"""Distance of a target beyond which a chain with a pole shape counts as bent as there: a straight one has no side."""

KNOWN_BENDS = 64
"""Results of ``pole_joint_and_angle`` that are kept: in a move of a drag one chain's target moves, and the others'
don't."""

Row = tuple[float, ...]
"""Bends (y, z) of a pose, joint after joint: toward the second and toward the third axis, radians."""


def _lay_bends(
    ops: Operations, lengths: Sequence[float], row: Sequence[Component]
) -> tuple[list[Vector], list[Quaternion]]:
    """Return the joints of a chain with given bends, the root at the origin, and the axes before every bend."""
    zero = 0.0 * row[0]
    joints: list[Vector] = [(zero, zero, zero), (lengths[0] + zero, zero, zero)]
    frames: list[Quaternion] = [identity_of(zero)]
    for length, y, z in zip(lengths[1:], row[::2], row[1::2], strict=True):
        frames.append(multiply(frames[-1], _rotation_of_bend(ops, y, z)))
        joints.append(onward(joints[-1], length, rotate(frames[-1], FIRST_AXIS)))
    return joints, frames


def _rotation_of_bend(ops: Operations, y: Component, z: Component) -> Quaternion:
    """Return the rotation of a bend: ``(cos(a / 2), sin(a / 2) (0, -z, y) / a)`` for ``(y, z)`` of length a."""
    angle = ops.sqrt(y * y + z * z)
    sine = ops.sin(0.5 * angle) / (angle + TINY)
    return ops.cos(0.5 * angle), 0.0 * angle, -sine * z, sine * y


def shape_of(pose: Pose, pole: ScalarVector, pole_angle: float) -> PoleShape:
    """Return the pole shape of a pose: its links in the axes of its pole, in units of the chain's length."""
    points = pose.positions - pose.positions[0]
    chord = first_direction(SCALAR, [tuple(points[-1].tolist()), tuple(points[1].tolist())])
    from_root = tuple((np.array(pole) - pose.positions[0]).tolist())
    axes = np.array(pole_axes(SCALAR, chord, rotate_pole(SCALAR, from_root, chord, pole_angle)))
    links = np.diff(points, axis=0)
    shape = links @ axes.T / np.linalg.norm(links, axis=1).sum()
    return tuple((x, y, z) for x, y, z in shape.tolist())


def has_family(shape: PoleShape) -> bool:
    """Tell whether the distance from root to tip falls all along the family through a pole shape."""
    return _falling_nodes(shape) is not None


def reach_in_shape(ops: Operations, shape: PoleShape, lengths: Sequence[float], distance: Component) -> list[Vector]:
    """Return the joints of the pose of a family whose tip is at a distance from the root; root first.

    They are in the axes of the pole: along the line root-target, toward the pole, across both. Out of reach all joints
    are on the first axis.

    Args:
        shape: pole shape of a chain of three links or more.
        lengths: of the links, adding up to one.
        distance: from the root to the target.
    """
    zero = 0.0 * distance
    too_far, too_near = reach_test(lengths, distance)
    blocked = too_far | too_near
    joints = _shaped_pose(ops, shape, lengths, within_reach(ops, lengths, distance))
    if not ops.any(blocked):
        return joints
    return choose_each(ops, blocked, straight_to_target(ops, lengths, (zero + 1.0, zero, zero), too_far), joints)


def bend_in_shape(shape: PoleShape, lengths: Sequence[float], distance: Component) -> tuple[float, float]:
    """Return the bend (``bend_direction``) of ``reach_in_shape``, of one pose, along the second and the third axis."""
    joints = reach_in_shape(SCALAR, shape, lengths, distance)
    _, toward, across = bend_direction(SCALAR, joints, (1.0, 0.0, 0.0))
    return float(toward), float(across)


def bend_angle_in_shape(chain: Chain, positions: Array) -> float:
    """Return the angle (radians) from the pole, rotated by its pole angle, to the bend of a plain chain's family.

    The pose of the family is that as far from root to tip as the joints (J, 3) are; without a pole shape it is 0.
    """
    if not chain.own_pole_shape:
        return 0.0
    total = chain.total_length
    x, y, z = ((positions[-1] - positions[0]) / total).tolist()
    lengths = [length / total for length in chain.links]
    toward, across = bend_in_shape(chain.own_pole_shape, lengths, norm(SCALAR, (x, y, z)))
    return atan2(across, toward) if hypot(toward, across) > NO_BEND else 0.0


def shaped_joints(ops: Operations, start: StartPose, target: Vector) -> list[Vector]:
    """Return the joints of a chain's family at a target, in the axes of its pole; none without a pole shape."""
    shape = start.chain.own_pole_shape
    if not shape:
        return []
    return reach_in_shape(ops, shape, start.lengths, ops.minimum(norm(ops, target), NEARLY_STRAIGHT))


@lru_cache(maxsize=KNOWN_BENDS)
def pole_joint_and_angle(
    shape: PoleShape,
    links: tuple[float, ...],
    seen: tuple[ScalarVector, ScalarVector],
    pole: ScalarVector,
    angle: float,
) -> tuple[int, float]:
    """Return which joint bends toward the pole, and at which angle in the pose of the family at a target.

    Those are values of ``Goals.pole_joints`` and ``Goals.pole_angles``: the angle (radians) is about the line through
    the joint's neighbours, and the pole is seen from the first of them.

    Args:
        seen: the target and the second joint, from the root.
        pole: from the root.
        angle: of the pole itself, radians.
    """
    total = sum(links)
    chord = first_direction(SCALAR, seen)
    along, side, across = pole_axes(SCALAR, chord, rotate_pole(SCALAR, pole, chord, angle))
    distance = min(float(norm(SCALAR, seen[0])) / total, NEARLY_STRAIGHT)
    bent = number_of_bend(shape)
    places = reach_in_shape(SCALAR, shape, [length / total for length in links], distance)[bent - 1 : bent + 2]
    before, joint, after = (scale(onward(combination(p, along, q, side), r, across), total) for p, q, r in places)
    _, side, across = pole_axes(SCALAR, subtract(after, before), subtract(pole, before))
    bend = subtract(joint, before)
    return bent, float(SCALAR.atan2(dot(bend, across), dot(bend, side)))


def _shaped_pose(ops: Operations, shape: PoleShape, lengths: Sequence[float], distance: Component) -> list[Vector]:
    """Return ``reach_in_shape`` for a distance between the shortest and the longest reach."""
    distance = ops.maximum(distance, LEAST_DISTANCE)
    rows, distances = _rows_and_distances(shape, tuple(lengths))
    zero = 0.0 * distance
    above = add_up(ops.where(distance < node, zero + 1.0, zero) for node in distances)
    low = ops.minimum(ops.maximum(above - 1.0, zero), zero + (len(rows) - 2.0))
    high = low + 1.0
    far, near = (ops.interpolate([(node,) for node in distances], each)[0] - distance for each in (low, high))

    def error_at(parameter: Component) -> Component:
        return norm(ops, _lay(ops, rows, lengths, parameter)[0][-1]) - distance

    parameter = false_position(ops, error_at, (low, high), (far, near))
    joints, axis = _rotated_to_line(ops, shape, *_lay(ops, rows, lengths, parameter))
    return _with_hinge_axis(ops, joints, axis, _hinge_axis_of_shape(shape))


def _lay(
    ops: Operations, rows: Sequence[Row], lengths: Sequence[float], parameter: Component
) -> tuple[list[Vector], list[Quaternion]]:
    """Return the joints and axes (``_lay_bends``) at a parameter: a node's number, plus the share of the way onward."""
    return _lay_bends(ops, lengths, ops.interpolate(rows, parameter))


def _rotated_to_line(
    ops: Operations, shape: PoleShape, joints: list[Vector], frames: list[Quaternion]
) -> tuple[list[Vector], Vector]:
    """Return joints rotated so that the tip is on the first axis, the shortest way, and the hinge axis."""
    zero = 0.0 * joints[-1][0]
    along, across = ((x + zero, y + zero, z + zero) for x, y, z in (FIRST_AXIS, THIRD_AXIS))
    rotation = from_to(ops, joints[-1], along, across)
    axis = rotate(rotation, rotate(frames[number_of_bend(shape) - 1], THIRD_AXIS))
    return [rotate(rotation, joint) for joint in joints], axis


def _with_hinge_axis(ops: Operations, joints: list[Vector], axis: Vector, desired: ScalarVector) -> list[Vector]:
    """Return joints rotated about the first axis so that the hinge axis has the desired direction about it."""
    (_, ay, az), (_, dy, dz) = axis, desired
    size = ops.sqrt(ay * ay + az * az) * hypot(dy, dz)
    has_direction = size > NO_DIRECTION
    cosine = ops.where(has_direction, (ay * dy + az * dz) / (size + TINY), 0.0 * size + 1.0)
    sine = ops.where(has_direction, (ay * dz - az * dy) / (size + TINY), 0.0 * size)
    return [(x, cosine * y - sine * z, sine * y + cosine * z) for x, y, z in joints]


def joint_of_bend(lengths: Sequence[float], bends: Row) -> int:
    """Return the number, among the inner joints, of the one whose bend the pole is for: the knee or elbow.

    It is the one nearest to the middle of the chain, of those that don't bend away from the pole.
    """
    ends = [*accumulate(lengths)]
    shorter = [min(end, ends[-1] - end) for end in ends[:-1]]
    bent = [joint for joint, toward in enumerate(bends[::2]) if toward <= BENT_AWAY]
    return max(bent or range(len(shorter)), key=lambda joint: shorter[joint])


def _links(shape: PoleShape) -> tuple[Row, Row]:
    """Return the lengths of a pole shape's links and its bends."""
    frame: Quaternion = from_to(SCALAR, FIRST_AXIS, shape[0], THIRD_AXIS)
    bends: Row = ()
    for link in shape[1:]:
        x, y, z = rotate(conjugate(frame), link)
        across = hypot(y, z)
        share = atan2(across, x) / (across + TINY)
        bend = (float(share * y), float(share * z)) if across > 0.0 else (pi if x < 0.0 else 0.0, 0.0)
        frame = multiply(frame, _rotation_of_bend(SCALAR, *bend))
        bends += bend
    return tuple(hypot(*link) for link in shape), bends


@lru_cache(maxsize=256)
def number_of_bend(shape: PoleShape) -> int:
    """Return the number of the joint of the bend among the joints of a pole shape, the root being 0."""
    return joint_of_bend(*_links(shape)) + 1


@lru_cache(maxsize=256)
def _hinge_axis_of_shape(shape: PoleShape) -> ScalarVector:
    """Return the hinge axis in the pole shape itself."""
    _, (x, y, z) = _rotated_to_line(SCALAR, shape, *_lay_bends(SCALAR, *_links(shape)))
    return float(x), float(y), float(z)


@lru_cache(maxsize=256)
def _rows_and_distances(shape: PoleShape, lengths: tuple[float, ...]) -> tuple[list[Row], list[float]]:
    """Return the nodes of the family, and their distances from root to tip for a chain of given lengths.

    The last node is the closed chain of the given lengths, and no distance is larger than the one before: so every
    distance within reach is between two nodes, also after the bones were edited.
    """
    bends = _links(shape)[1]
    rows = [(0.0,) * len(bends), *(_falling_nodes(shape) or [bends]), _closed_row(lengths)]
    distances: Array = np.asarray(norm(ARRAY, _lay(ARRAY, rows, lengths, np.arange(float(len(rows))))[0][-1]))
    falling: list[float] = np.minimum.accumulate(distances).tolist()
    return rows, falling


@lru_cache(maxsize=256)
def _falling_nodes(shape: PoleShape) -> list[Row] | None:
    """Return the nodes from a pole shape on, without the closed chain; None if it rises with all of ``WAYS``."""
    lengths, bends = _links(shape)
    for way in WAYS:
        nodes = _nodes(lengths, bends, *way)
        rows = [(0.0,) * len(bends), *nodes, _closed_row(lengths)]
        onward = np.linspace(1.0, len(rows) - 1.0, SAMPLES * (len(rows) - 2) + 1)
        parameters = np.concatenate([np.linspace(0.0, 1.0, len(onward)), onward[1:]])
        with quiet():
            joints, axis = _rotated_to_line(ARRAY, shape, *_lay(ARRAY, rows, lengths, parameters))
        distances: Array = np.asarray(joints[-1][0])
        across: Array = np.hypot(axis[1], axis[2])
        if bool((np.diff(distances) < 0.0).all()) and float(across.min()) > LEAST_AXIS:
            return nodes
    return None


def _nodes(lengths: Sequence[float], bends: Row, other_joints: float, descent: float) -> list[Row]:
    """Return the nodes from given bends on, until the closed chain is near."""
    joint = joint_of_bend(lengths, bends)
    weights = [1.0 if part // 2 == joint else other_joints for part in range(len(bends))]
    closed = _closed_row(lengths)
    nodes = [bends]
    while len(nodes) < MOST_NODES:
        row = nodes[-1]
        to_closed = [weight * (c - b) for weight, c, b in zip(weights, closed, row, strict=True)]
        most = max(abs(part) for part in to_closed)
        if most < NEARLY_CLOSED:
            break
        gradient = _gradient(lengths, row)
        change = [part / most for part in to_closed]
        fall = descent * min(most, 1.0) * max(abs(part) for part in gradient)
        excess = sum(a * b for a, b in zip(change, gradient, strict=True)) + fall
        of_others = [0.0 if part // 2 == joint else each for part, each in enumerate(gradient)]
        square = sum(part * part for part in of_others)
        if excess > 0.0 and square > TINY:
            change = [a - excess / square * b for a, b in zip(change, of_others, strict=True)]
        step = NODE_STEP * min(1.0, most / 0.3) / max(1.0, *(abs(part) for part in change))
        nodes.append(tuple(b + step * part for b, part in zip(row, change, strict=True)))
    return nodes


def _gradient(lengths: Sequence[float], row: Row) -> Row:
    """Return the derivatives of the distance from root to tip by the components of the bends.

    A rotation w of all that follows a joint changes the distance by ``w . (r x u)``, with r from the joint to the tip
    and u the direction of the tip from the root. A change dv of the rotation vector v of a bend, of angle a about k, is
    a rotation by ``J dv`` with ``J = (sin a / a) I + (1 - cos a) / a [k] + (1 - sin a / a) k k^T``.
    """
    joints, frames = _lay_bends(SCALAR, lengths, row)
    tip = joints[-1]
    along = first_direction(SCALAR, [tip, joints[1]])
    derivatives: list[float] = []
    for toward, across, frame, (jx, jy, jz) in zip(row[::2], row[1::2], frames, joints[1:], strict=False):
        moment = rotate(conjugate(frame), cross((tip[0] - jx, tip[1] - jy, tip[2] - jz), along))
        angle = hypot(toward, across) + TINY
        axis = (0.0, -across / angle, toward / angle)
        sine, cosine, onto = sin(angle) / angle, (1.0 - cos(angle)) / angle, dot(axis, moment)
        _, ky, kz = cross(axis, moment)
        y = sine * moment[1] - cosine * ky + (1.0 - sine) * onto * axis[1]
        z = sine * moment[2] - cosine * kz + (1.0 - sine) * onto * axis[2]
        derivatives += [float(z), float(-y)]
    return tuple(derivatives)


def _closed_row(lengths: Sequence[float]) -> Row:
    """Return the bends of the closed chain, toward the pole."""
    return tuple(part for arc in closed_bends(tuple(lengths)) for part in (-arc, 0.0))
