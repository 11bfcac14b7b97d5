# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: what a native rig must know of a chain at rest. Nothing here writes to Blender."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...core import FabrikError
from ...core.fabrik.curl import bends, bends_and_arc
from ...core.fabrik.reach import ON_ONE_LINE
from ...core.lanes import ONE, add_up
from ...core.poles.pole import bend_direction
from ...core.vectors import first_direction, perpendicular
from ..channels import is_locked
from ..convert.carried_animation import curve_of, driver_of
from ..kinematics import pose_matrices
from ..snapshot import ChainBones, read_pose
from .links import Links, links_of
from .solver import Kind

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

_ALONG = 1e-5
"""Sine of the angle between a link and its bone that counts as none."""


@dataclass(frozen=True)
class RestChain:
    """A chain with its bones' own rotations at rest, in the space of its first bone."""

    bones: tuple[PoseBone, ...]
    """Those that turn."""
    root: Matrix
    """Where that space is, in the space of the first bone's parent or of the armature."""
    root_moves: bool
    """Whether the first bone's own location comes on top of that."""
    kind: Kind
    links: Links
    plane: Quaternion
    """Has its +Y along the line root-tip and its +X where the chain bends."""
    frames: list[Quaternion]
    """Of the links: the first in its bone's space, every other in the link's before."""
    backs: list[Quaternion]
    """Of the bones, each in its link's frame."""
    joints: list[Vector]
    """Inner joints."""
    tip: Vector
    arc: float
    """As ``core.fabrik.curl`` takes the chord's."""
    bends: list[float]
    """At the inner joints."""


def read_rest_chain(armature: Object, bones: ChainBones, has_pole: bool) -> RestChain:
    """Return a chain as it rests.

    Locked bones, locations and scales stay as they are now.

    Raises:
        FabrikError: the chain is of a kind that a native rig can't solve.
    """
    _check(bones)
    bases = [
        bone.matrix_basis if is_locked(bone) or bone not in bones.bones else _without_rotation(bone)
        for bone in bones.line
    ]
    matrices = pose_matrices(bones.line, bases)
    free = [bones.bones[i] for i in bones.free]
    root = Matrix.LocRotScale(matrices[bones.free[0]].translation, matrices[bones.free[0]].to_quaternion(), None)
    back = root.inverted()
    chain, pose = read_pose(bones, [back @ matrix for matrix in matrices], [Quaternion()] * len(bones.bones))
    if not all(chain.inherits_list):
        name = next(name for name, inherits in zip(chain.names, chain.inherits_list, strict=False) if not inherits)
        raise FabrikError(f"bone '{name}' doesn't turn with its parent: a native rig can't carry that")
    points = [Vector(point) for point in pose.positions.tolist()]
    frames, backs, is_offset = _link_frames(points, [Quaternion(row) for row in pose.rotations[:-1].tolist()])
    plane, is_straight = _plane(points)
    lengths, total = chain.links, chain.total_length
    angles, arc = bends_and_arc(ONE, _bends(points), [length / total for length in lengths])
    parent = free[0].parent
    root_moves = _can_move(armature, free[0])
    if root_moves:
        root = root @ Matrix.Translation(-free[0].matrix_basis.translation)
    return RestChain(
        bones=tuple(free),
        root=_relative_to(parent, root),
        root_moves=root_moves,
        kind=Kind(len(lengths), has_pole, is_straight and (has_pole or len(lengths) > 2), is_offset),
        links=links_of(lengths),
        plane=plane,
        frames=frames,
        backs=backs,
        joints=points[1:-1],
        tip=points[-1],
        arc=arc,
        bends=angles,
    )


def _without_rotation(bone: PoseBone) -> Matrix:
    return Matrix.LocRotScale(bone.matrix_basis.translation, None, bone.scale)


def _can_move(armature: Object, root: PoseBone) -> bool:
    """Tell whether a bone's own location must be looked at all the time, which takes time.

    That is where it has no parent to move it, or isn't at rest.
    """
    is_connected = root.parent is not None and root.bone.use_connect
    if is_connected or not root.bone.use_local_location:
        return False
    path = root.path_from_id("location")
    is_moved = root.location.length > 0.0 or curve_of(armature, path) or driver_of(armature, path)
    return bool(is_moved or (root.parent is None and not all(root.lock_location)))


def _relative_to(parent: PoseBone | None, matrix: Matrix) -> Matrix:
    return parent.matrix.inverted() @ matrix if parent is not None else matrix


def _check(bones: ChainBones) -> None:
    if not bones.is_rigid:
        raise FabrikError("its bones are sheared, mirrored or unevenly scaled: a native rig can't carry that")
    root = bones.bones[bones.free[0]]
    if root.parent is not None and not root.bone.use_inherit_rotation:
        raise FabrikError(f"bone '{root.name}' doesn't turn with its parent: a native rig can't carry that")


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
        turn = Quaternion() if turn.w > 0.0 and Vector((turn.x, turn.y, turn.z)).length < _ALONG else turn
        frame = bone @ turn
        frames.append(before.conjugated() @ frame)
        backs.append(turn.conjugated())
        before = frame
    return frames, backs, any(back != Quaternion() for back in backs)


def _bends(points: list[Vector]) -> list[Any]:
    x, y, z = (list(component) for component in zip(*points, strict=True))
    return bends(ONE, (x, y, z))


def _plane(points: list[Vector]) -> tuple[Quaternion, bool]:
    """Return the frame of the line root-tip and the bend, and whether there is no bend."""
    size = sum((b - a).length for a, b in pairwise(points))
    x, y, z = ([value / size for value in component] for component in zip(*points, strict=True))
    along = first_direction(ONE, [(x[-1], y[-1], z[-1]), (x[1], y[1], z[1])])
    hint = (1.0, 0.0, 0.0)  # the first bone's own +X
    side = perpendicular(ONE, along, [bend_direction(ONE, (x, y, z), along), hint])
    columns = [Vector(side), Vector(along), Vector(side).cross(Vector(along))]
    frame = Matrix(np.array(columns).T.tolist()).to_quaternion()
    return frame, add_up(_bends(points)) < ON_ONE_LINE
