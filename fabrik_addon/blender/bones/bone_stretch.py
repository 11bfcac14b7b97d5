# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: how far bones are stretched along Y, and what is to be written for another stretch of theirs.

A parent whose Y scale is ``k`` hands down to its child, by the child's Inherit Scale (the parent frame ``S`` of
``bone_kinematics``; measured):

====================  =======================================================================
Inherit Scale         of ``diag(1, k, 1)`` the child gets
====================  =======================================================================
*Full*, *Fix Shear*   all of it in the parent's axes: a child bent against the parent is skewed
*Aligned*             ``diag(1, k, 1)`` in its own axes
*Average*             ``k^(1/3)`` on all its axes
*None*                nothing
====================  =======================================================================

The last three keep right angles. So *Full* and *Fix Shear* are set to *Aligned*, which keeps the scale of bones further
up as it was, and each bone's own scale is divided by what its parent hands down. Without that a stretched chain skews
its own bones, and the bones that hang on it become longer with it.

The stretch of a bone is not stored: it is read off its scale, as Y over the geometric mean of X and Z. So any pose,
frame or undo step has its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import bpy
from mathutils import Matrix, Vector

from ...core import FabrikError
from .bone_kinematics import head_at
from .rotation_channel import Setting

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

ALIGNED: Final = 'ALIGNED'

SKEWING = {'FULL', 'FIX_SHEAR'}
"""Modes of Inherit Scale by which a parent's stretch skews a child that is bent against it."""

NOTHING = {'NONE', 'NONE_LEGACY'}
"""Modes of Inherit Scale that hand down no scale."""

_EQUAL_AXES = 1e-4
"""Relative difference of the lengths of a parent's axes that is the rounding of a long hierarchy."""

_EQUAL_SCALES = 1e-6
"""Relative difference of a bone's scales that is single precision's rounding."""

_ON_AXIS = 1e-5
"""Part of a link beside its bone's Y axis, over the part along it, that is rounding."""

_LEAST_COSINE = 0.5
"""Cosine of the angle between a bone's Y axis and its link below which a chain is refused: the Y scale hardly lengthens
such a link. The part along Y must be as large a part of the link."""


@dataclass(frozen=True)
class Stretch:
    """How far a chain's bones are stretched, and their scales without it."""

    bones: tuple[PoseBone, ...]
    """The chain's, root first."""
    children: tuple[tuple[int, PoseBone], ...]
    """Bones outside of the chain that hang on it, with the index of their parent in it."""
    above: float
    """Stretch ``k`` of the first bone's parent."""
    factors: tuple[float, ...]
    """Stretch ``k`` of each bone; 1 is none."""
    scales: tuple[Vector, ...]
    """The bones' scale channels without stretch."""

    @property
    def written(self) -> tuple[PoseBone, ...]:
        """The bones whose scale may have to change."""
        return (*self.bones, *(child for _, child in self.children))

    @property
    def is_stretched(self) -> bool:
        """Whether any bone is stretched."""
        return any(factor != 1.0 for factor in self.factors)


@dataclass(frozen=True)
class Link:
    """From a bone's head to the next one's: ``a + k b`` in armature space, for a stretch ``k`` of the bone."""

    aside: Vector
    """``a``, which the bone's Y scale doesn't change."""
    along: Vector
    """``b``."""

    @property
    def is_straight(self) -> bool:
        """Whether the bone's Y axis points to the next head."""
        return self.aside.length <= _ON_AXIS * self.along.length

    def factor(self, desired: float) -> float:
        """Return the ``k`` for which the link is longer by a factor ``f``.

        That is the positive root of ``b·b k^2 + 2 a·b k + a·a = f^2 |a + b|^2``.
        """
        if self.is_straight or desired == 1.0:
            return desired
        along, mixed = self.along.length_squared, self.aside.dot(self.along)
        length = desired * desired * (self.aside + self.along).length_squared
        return (math.sqrt(mixed * mixed + along * (length - self.aside.length_squared)) - mixed) / along


def read_stretch(bones: Sequence[PoseBone]) -> Stretch:
    """Return how far a chain's bones are stretched.

    Raises:
        FabrikError: a bone is mirrored, a scale that would have to change is locked, or Inherit Scale can't be changed
            because the armature is linked, or is that of other objects too.
    """
    for bone in bones:
        if min(bone.scale[:]) <= 0.0:
            raise FabrikError(f"it can't stretch: bone '{bone.name}' is mirrored or has no size")
        if bone.lock_scale[1]:
            raise FabrikError(f"it can't stretch: the Y scale of bone '{bone.name}' is locked")
    names = {bone.name for bone in bones}
    children = [(i, child) for i, bone in enumerate(bones) for child in bone.children if child.name not in names]
    for _, child in children:
        _check_child(child)
    for bone in (*bones[1:], *(child for _, child in children)):
        if _is_skewed(bone):
            _check_data(bone)
    above = _stretch_of(bones[0].parent.matrix) if bones[0].parent else 1.0
    factors: list[float] = []
    scales: list[Vector] = []
    now, plain = above, above
    for bone in bones:
        size = bone.scale * _handed_down(bone, now)
        height = _height(size)
        factor = 1.0 if abs(size.y / height - 1.0) < _EQUAL_SCALES else size.y / height
        scale = _over(Vector((size.x, height, size.z)), _handed_down(bone, plain))
        scales.append(bone.scale.copy() if factor == 1.0 and now == plain else scale)
        factors.append(factor)
        now, plain = factor, 1.0
    return Stretch(tuple(bones), tuple(children), above, tuple(factors), tuple(scales))


def _check_child(child: PoseBone) -> None:
    """Refuse a child whose scale is locked where it would have to undo its parent's stretch."""
    mode = child.bone.inherit_scale
    needed = child.lock_scale[:] if mode == 'AVERAGE' else child.lock_scale[1:2]
    if any(needed) and mode not in NOTHING:
        raise FabrikError(
            f"it can't stretch: bone '{child.name}' would be stretched along with '{child.parent.name}', because its "
            "scale is locked. Unlock it, or set its Inherit Scale to None"
        )


def _check_data(bone: PoseBone) -> None:
    """Refuse a bone whose Inherit Scale can't be changed, or would be changed for other objects too.

    Those were posed with it as it is: where their bones are scaled unevenly, they would move, at all frames.
    """
    # A bake reads evaluated objects, and those can't be edited.
    obj: Object = bone.id_data.original  # type: ignore[assignment]  # the stub has the base class of all data-blocks
    armature = obj.data
    if not armature.is_editable:
        raise FabrikError(
            f"it can't stretch: bone '{bone.name}' would be skewed, and the armature '{armature.name}' is linked. "
            "Set the bone's Inherit Scale to Aligned in the file that it comes from"
        )
    if armature.users - armature.use_fake_user == 1:
        return  # without a search at each frame of a bake
    others = [f"'{other.name}'" for other in bpy.data.objects if other.data == armature and other != obj]
    if others:
        raise FabrikError(
            f"it can't stretch: bone '{bone.name}' would be skewed, and the armature '{armature.name}' is that of "
            f"{', '.join(others)} too. Set the bone's Inherit Scale to Aligned, or make the armature single-user"
        )


def read_links(line: Sequence[PoseBone], matrices: Sequence[Matrix], use_tail: bool) -> tuple[Link, ...]:
    """Return the links of a chain that isn't stretched.

    Args:
        line: the chain's bones and, without ``use_tail``, the one after them.
        matrices: of these bones, in armature space.
        use_tail: whether the last link ends at the last bone's tail.

    Raises:
        FabrikError: a bone doesn't lie along its link.
    """
    links = []
    longer = Matrix.Diagonal((1.0, 2.0, 1.0, 1.0))
    for bone, matrix, following, next_matrix in zip(line, matrices, line[1:], matrices[1:], strict=False):
        head = next_matrix.translation
        along = head_at(following, matrix @ longer) - head
        links.append(Link(head - matrix.translation - along, along))
        way = head - matrix.translation
        if along.dot(way) < _LEAST_COSINE * along.length * way.length or along.length < _LEAST_COSINE * way.length:
            raise FabrikError(f"it can't stretch: bone '{bone.name}' doesn't point toward '{following.name}'")
    if use_tail:
        links.append(Link(Vector(), matrices[-1].col[1].to_3d() * line[-1].bone.length))
    return tuple(links)


def stretched_settings(stretch: Stretch, factors: Sequence[float]) -> Iterator[Setting]:
    """Yield the scales and modes of Inherit Scale by which a chain's bones are stretched by factors and no others are.

    Nothing is yielded for bones whose own stretch and whose parent's stays as it is.
    """
    now, desired, plain = stretch.above, stretch.above, stretch.above
    for bone, scale, before, after in zip(stretch.bones, stretch.scales, stretch.factors, factors, strict=True):
        if (before, now) != (after, desired) or (desired != 1.0 and _is_skewed(bone)):
            size = scale * _handed_down(bone, plain)
            yield from _scale_of(bone, Vector((size.x, size.y * after, size.z)), desired)
        now, desired, plain = before, after, 1.0
    for i, child in stretch.children:
        before, after = stretch.factors[i], factors[i]
        if before != after or (after != 1.0 and _is_skewed(child)):
            yield from _scale_of(child, child.scale * _handed_down(child, before), after)


def _scale_of(bone: PoseBone, size: Vector, factor: float) -> Iterator[Setting]:
    """Yield the scale that gives a bone's axes their lengths under a parent that is stretched by a factor."""
    height = _height(size)
    if abs(size.y - height) < _EQUAL_SCALES * abs(height):
        size.y = height  # without this rounding adds up from solve to solve
    if factor != 1.0 and _is_skewed(bone):
        yield bone.bone, ("inherit_scale", ALIGNED)
        yield bone, ("scale", _over(size, Vector((1.0, factor, 1.0)))[:])
    else:
        yield bone, ("scale", _over(size, _handed_down(bone, factor))[:])


def _is_skewed(bone: PoseBone) -> bool:
    return bone.bone.inherit_scale in SKEWING


def _handed_down(bone: PoseBone, factor: float) -> Vector:
    """Return by how much a bone's axes are longer because its parent's Y axis is, by a factor.

    1 where the bone is skewed: before it is stretched its mode becomes *Aligned*, and its size is to stay.
    """
    mode = bone.bone.inherit_scale
    if mode == ALIGNED:
        return Vector((1.0, factor, 1.0))
    if mode == 'AVERAGE':
        return Vector((1.0, 1.0, 1.0)) * factor ** (1.0 / 3.0)
    return Vector((1.0, 1.0, 1.0))


def _height(size: Vector) -> float:
    """Return the Y scale without stretch of a bone whose axes have given lengths.

    It is ``sqrt(x z)``, the geometric mean of X and Z. It is 1 where Y is 1 and that isn't: such a bone was made
    thicker or thinner. Stretch makes no bone shorter, so the Y scale of a bone that is shorter than ``sqrt(x z)`` is
    the smaller of its own and 1. A mirrored bone has the negative of it.
    """
    width, length = math.sqrt(abs(size.x * size.z)), abs(size.y)
    for height in (width, 1.0):
        if abs(length - height) < _EQUAL_SCALES * height:
            return math.copysign(height, size.y)
    return math.copysign(width if width < length else min(length, 1.0), size.y)


def _stretch_of(matrix: Matrix) -> float:
    """Return the length of a bone's Y axis over that of its X and Z."""
    x, y, z = (column.length for column in matrix.to_3x3().col)
    factor = y / math.sqrt(x * z) if x * z > 0.0 else 1.0
    return 1.0 if abs(factor - 1.0) < _EQUAL_AXES else factor


def _over(a: Vector, b: Vector) -> Vector:
    return Vector((a.x / b.x, a.y / b.y, a.z / b.z))
