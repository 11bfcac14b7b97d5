# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The constants of a chain's nodes, from its joints and frames at rest. Computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import hypot
from typing import cast

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...core import Array
from ...core.fabrik.chain_fabrik import ON_ONE_LINE
from ...core.fabrik.planar_pose import bend_angles
from ...core.fabrik.pole_shape import bend_in_shape
from ...core.goals.pole import NO_BEND, bend_direction
from ...core.math.operations import SCALAR, ScalarVector, add_up
from ...core.math.vectors import first_direction, norm, perpendicular, rotate_about
from ...core.model.joint_limits import JointLimits
from ...core.problem import PoleShape
from .bend_table import BendTable, bend_table
from .link_inputs import LinkInputs, links_of
from .shape_table import ShapeTable, shape_table
from .solver_group import SolverKind

_SAME_DIRECTION = 1e-5
"""Sine of the angle between a link and its bone that counts as none."""


@dataclass(frozen=True)
class RestShape:
    """The joints and links of a chain at rest."""

    kind: SolverKind
    links: LinkInputs
    plane: Quaternion
    """Has its +Y along the line root-tip and its +X where the chain bends."""
    frames: list[Quaternion]
    """Of the links: the first in its bone's space, every other in the link's before."""
    backs: list[Quaternion]
    """Of the bones, each in its link's frame."""
    tip: Vector
    tolerance: float
    """Position error that counts as reached, as a length."""
    bend_table: BendTable | None = None
    """The chain's joints in the bend plane, for three links or more with a pole and without limits."""
    shape_table: ShapeTable | None = None
    """The bones' own rotations, for two links or more without a pole or within limits."""

    @property
    def start(self) -> Quaternion:
        """Frame of the first link, with a pole in the bend plane's."""
        return self.plane.conjugated() @ self.frames[0] if self.kind.has_pole else self.frames[0]

    @property
    def bone_rests(self) -> list[Quaternion]:
        """Frames of the bones after the first, each in that of the bone before."""
        before = [Quaternion(), *self.backs[:-1]]
        return [a.conjugated() @ frame @ b for a, frame, b in zip(before, self.frames, self.backs, strict=True)][1:]

    @property
    def bone_links(self) -> list[Vector]:
        """The links in the frames of their bones, over the chain's length."""
        total = self.links.total
        lengths = [length[0] / total for length in self.links.lengths]
        return [
            back.conjugated() @ Vector((0.0, length, 0.0)) for back, length in zip(self.backs, lengths, strict=True)
        ]

    @property
    def tip_frame(self) -> Quaternion:
        """Frame of the last bone."""
        frame = self.frames[0] @ self.backs[0]
        for rest in self.bone_rests:
            frame = frame @ rest
        return frame

    def back(self, bone: int) -> Quaternion | None:
        """Return a bone's frame in that of its link, or None where every link lies along its bone."""
        return self.backs[bone] if self.kind.is_offset else None

    @property
    def last_link(self) -> Vector:
        """The last link in the frame of its bone."""
        return self.backs[-1].conjugated() @ Vector((0.0, self.links.last, 0.0))


def rest_shape(
    positions: Array,
    rotations: Array,
    has_pole: bool,
    tolerance: float,
    limits: Sequence[JointLimits],
    pole_shape: PoleShape,
) -> RestShape:
    """Return the shape of a chain.

    Args:
        positions: joints (J, 3), the root at the origin.
        rotations: frames of the bones (J, 4), the first none; the last row doesn't count.
        has_pole: whether it bends toward a pole.
        tolerance: error that counts as reached, over the chain's length.
        limits: of the bones.
        pole_shape: of the chain; empty where its poses with a pole are planar.
    """
    points = [Vector(point) for point in positions.tolist()]
    frames, backs, is_offset = _link_frames(points, [Quaternion(row) for row in rotations[:-1].tolist()])
    plane, is_straight = _plane(points, pole_shape)
    lengths = [(b - a).length for a, b in pairwise(points)]
    shape = RestShape(
        kind=SolverKind(len(lengths), has_pole, is_straight and has_pole, is_offset),
        links=links_of(lengths),
        plane=plane,
        frames=frames,
        backs=backs,
        tip=points[-1],
        tolerance=tolerance * sum(lengths),
    )
    if len(lengths) > 1 and not (has_pole and all(each.is_free for each in limits)):
        return replace(shape, shape_table=shape_table(shape.bone_links, shape.bone_rests, limits))
    if len(lengths) > 2:
        return replace(shape, bend_table=bend_table(_bends(points), lengths, pole_shape))
    return shape


def _link_frames(
    points: list[Vector], bone_frames: list[Quaternion]
) -> tuple[list[Quaternion], list[Quaternion], bool]:
    """Return the links' frames, each in the one before, the bones' frames in theirs, and whether any differ."""
    up = Vector((0.0, 1.0, 0.0))
    frames: list[Quaternion] = []
    backs: list[Quaternion] = []
    before = Quaternion()
    for (start, end), bone in zip(pairwise(points), bone_frames, strict=True):
        turn = up.rotation_difference(bone.conjugated() @ (end - start))
        turn = Quaternion() if turn.w > 0.0 and Vector((turn.x, turn.y, turn.z)).length < _SAME_DIRECTION else turn
        frame = bone @ turn
        frames.append(before.conjugated() @ frame)
        backs.append(turn.conjugated())
        before = frame
    return frames, backs, any(back != Quaternion() for back in backs)


def _bends(points: list[Vector]) -> list[float]:
    return cast("list[float]", bend_angles(SCALAR, [_components(point) for point in points]))  # of one pose


def _components(point: Vector) -> ScalarVector:
    return point.x, point.y, point.z


def _plane(points: list[Vector], pole_shape: PoleShape) -> tuple[Quaternion, bool]:
    """Return the frame of the line root-tip and the bend, and whether there is no bend.

    With a pole shape the bend points away from the frame's +X by as much as in the pose of its family whose tip is as
    far from the root.
    """
    size = sum((b - a).length for a, b in pairwise(points))
    joints = [_components(point / size) for point in points]
    along = first_direction(SCALAR, [joints[-1], joints[1]])
    hint = (1.0, 0.0, 0.0)  # the first bone's own +X
    side = perpendicular(SCALAR, along, [bend_direction(SCALAR, joints, along), hint])
    if pole_shape:
        shares = [(b - a).length / size for a, b in pairwise(points)]
        toward, across = bend_in_shape(pole_shape, shares, norm(SCALAR, joints[-1]))
        bend = hypot(toward, across)
        side = rotate_about(along, toward / bend, -across / bend, side) if bend > NO_BEND else side
    x_axis, y_axis = (Vector([float(part) for part in axis]) for axis in (side, along))
    columns = [x_axis, y_axis, x_axis.cross(y_axis)]
    frame = Matrix(np.array(columns).T.tolist()).to_quaternion()
    return frame, bool(add_up(_bends(points)) < ON_ONE_LINE)
