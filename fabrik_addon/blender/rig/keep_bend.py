# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: the pole angle and the pole shape with which a chain with a new pole stays as it is.

A pole is where the knee or elbow points. Joints that bend to both sides or in several planes, as those of a leg down to
its toe and of a clavicle with an arm, have no pose of the planar family: the pole shape stores their links
(``fabrik.pole_shape``). Where no such family passes through the pose, and for two links, the pole angle is the angle
from the pole to the sum of the bends. Without the two the first Solve rotates the thigh of Rigify's human by 180
degrees and the clavicle by 20.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...core import FabrikError, Pose
from ...core.fabrik.pole_shape import has_family, shape_of
from ...core.goals.pole import bend_direction, bends_toward_pole, joints_from_root, pole_axes, rotate_pole
from ...core.math.operations import SCALAR, ScalarVector
from ...core.math.vectors import dot, first_direction, norm
from .chain_bones import ChainSettings, chain_matrices, read_bones, read_pose, spec_of
from .pole_shape_text import pole_shape_text
from .targets_and_poles import armature_to_world, target_position

if TYPE_CHECKING:
    from bpy.types import Object, ViewLayer


_STRAIGHT = 1e-3
"""Offset of a chain's bend, over the chain's length, below which its direction is left to the pole."""

_SAME_ANGLE = 1e-3
"""Angle (radians) from the pole to the bend that counts as none."""


def keep_bend(view_layer: ViewLayer, armature: Object, chain: ChainSettings) -> None:
    """Give a chain with a pole the pole shape with which it stays as it is, or else a pole angle."""
    chain.pole_angle = 0.0
    view_layer.update()
    keep_shape(view_layer, armature, chain)
    if chain.pole_shape:
        return
    pose, pole = _pose_and_pole(view_layer, armature, chain)
    points, length = joints_from_root(_bending(pose, chain.use_rotation).positions)
    along = first_direction(SCALAR, [points[-1], points[1]])
    bend = bend_direction(SCALAR, points, along)
    _, side, across = pole_axes(SCALAR, along, _from_root(pose, pole, length))
    angle = math.atan2(dot(bend, across), dot(bend, side))
    if norm(SCALAR, bend) > _STRAIGHT and abs(angle) > _SAME_ANGLE:
        chain.pole_angle = angle
        keep_shape(view_layer, armature, chain)


def keep_bend_at_switch(view_layer: ViewLayer, armature: Object, chain: ChainSettings) -> None:
    """Keep the bend of a chain whose Rotation has just been switched, so that the switch moves no bone.

    With the rotation one bone fewer bends toward the pole. Of thigh, shin and foot the shin bends forward and the sum
    of both bends backward: with the rotation switched off the first Solve rotated the thigh of Rigify's human by 180
    degrees. A chain that didn't bend toward its pole before is left as it is, and so is one whose bones can't be read:
    the next Solve names the reason.
    """
    try:
        pose, pole = _pose_and_pole(view_layer, armature, chain)
    except FabrikError:
        return
    was_at_pole, is_at_pole = (
        _is_at_pole(_bending(pose, with_rotation), pole, chain.pole_angle)
        for with_rotation in (not chain.use_rotation, chain.use_rotation)
    )
    is_lost = was_at_pole and not is_at_pole
    if chain.pole_shape or is_lost:
        keep_bend(view_layer, armature, chain)


def keep_shape(view_layer: ViewLayer, armature: Object, chain: ChainSettings) -> None:
    """Give a chain with a pole the pole shape of its present pose, or none where it bends toward the pole."""
    chain.pole_shape = ""
    pose, pole = _pose_and_pole(view_layer, armature, chain)
    pose = _bending(pose, chain.use_rotation)
    if len(pose.positions) < 4:
        return
    if _is_at_pole(pose, pole, chain.pole_angle):
        return
    shape = shape_of(pose, pole, chain.pole_angle)
    chain.pole_shape = pole_shape_text(shape if has_family(shape) else ())


def _is_at_pole(pose: Pose, pole: ScalarVector, angle: float) -> bool:
    """Tell whether all joints of a pose bend toward a pole that is rotated by a pole angle."""
    points, length = joints_from_root(pose.positions)
    from_root, line = _from_root(pose, pole, length), first_direction(SCALAR, points[:0:-1])
    return bool(bends_toward_pole(SCALAR, points, rotate_pole(SCALAR, from_root, line, angle)))


def _bending(pose: Pose, with_rotation: bool) -> Pose:
    """Return the pose of the bones that bend toward the pole: the target's rotation, if wanted, holds the last link."""
    if with_rotation and len(pose.positions) > 3:
        return Pose(pose.positions[:-1], pose.rotations[:-1])
    return pose


def _pose_and_pole(view_layer: ViewLayer, armature: Object, chain: ChainSettings) -> tuple[Pose, ScalarVector]:
    """READ: the pose of a chain's bones, and its pole, both in armature space.

    Args:
        chain: with a pole.

    Raises:
        FabrikError: the chain's bones can't be read.
    """
    bones = read_bones(armature, replace(spec_of(chain), use_stretch=chain.use_stretch))
    _, pose = read_pose(bones, chain_matrices(bones), bones.rotations)
    assert chain.pole_target is not None  # called for chains with a pole alone
    in_world = target_position(view_layer, chain.pole_target, chain.pole_subtarget, "pole")
    x, y, z = (armature_to_world(armature).inverted() @ in_world)[:]
    return pose, (x, y, z)


def _from_root(pose: Pose, pole: ScalarVector, length: float) -> ScalarVector:
    """Return the pole from the root, over the chain's length."""
    x, y, z = ((np.array(pole) - pose.positions[0]) / length).tolist()
    return x, y, z
