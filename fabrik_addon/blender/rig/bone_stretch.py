# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones that lengthen along Y, evenly, while what hangs on them keeps its size and shape. Reads Blender.

What Blender hands down of a bone whose Y scale is k, measured: *Full* and *Fix Shear* skew a child that is bent against
it; *Aligned* scales the child's own Y by k, *Average* all its axes by the cube root of k, *None* nothing. The last
three keep right angles. So what would be skewed is set to *Aligned*, which keeps the scale of bones further up as it
was, and every bone's own scale takes back what it is handed too much.

How far a bone is stretched is not remembered but read off its scale. Any pose, frame or undo step then says by itself
how long its bones are without stretch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mathutils import Matrix, Vector

from ...core import FabrikError
from .bone_kinematics import head_at
from .rotation_channel import Setting

if TYPE_CHECKING:
    from bpy.types import PoseBone

ALIGNED = 'ALIGNED'

SKEWING = {'FULL', 'FIX_SHEAR'}

NOTHING = {'NONE', 'NONE_LEGACY'}

_ROUNDING = 1e-4
"""Difference of a parent's axes that counts as none: what a long hierarchy makes of equal ones."""

_EXACT = 1e-6
"""Difference of a bone's scales that counts as none: what single precision makes of equal ones."""

_ON_AXIS = 1e-5
"""Part of a link beside its bone's Y axis that counts as none."""

_ASIDE = 0.5
"""Cosine of the angle, at most, between a bone's Y axis and its link for which lengthening the one is no way to
lengthen the other."""


@dataclass(frozen=True)
class Stretch:
    """What it takes to stretch a chain's bones, and how far they are stretched now."""

    bones: tuple[PoseBone, ...]
    """The chain's, root first."""
    children: tuple[tuple[int, PoseBone], ...]
    """Bones outside of the chain that hang on it, with the place of their parent in it."""
    above: float
    """Stretch of the first bone's parent."""
    factors: tuple[float, ...]
    """How far each bone is stretched now; 1 is not."""
    scales: tuple[Vector, ...]
    """The bones' scale channels as they are without stretch."""

    @property
    def written(self) -> tuple[PoseBone, ...]:
        """The bones whose scale may have to change."""
        return (*self.bones, *(child for _, child in self.children))

    @property
    def is_stretched(self) -> bool:
        """Whether any bone is."""
        return any(factor != 1.0 for factor in self.factors)


@dataclass(frozen=True)
class Link:
    """The way from a bone's head to the next one's in armature space, when neither is stretched."""

    aside: Vector
    """What the bone's Y scale doesn't lengthen."""
    along: Vector
    """What it does."""

    @property
    def is_straight(self) -> bool:
        """Whether the bone's Y axis points to the next head."""
        return self.aside.length <= _ON_AXIS * self.along.length

    def factor(self, desired: float) -> float:
        """Return the Y scale that makes the link longer by a factor."""
        if self.is_straight or desired == 1.0:
            return desired
        along, mixed = self.along.length_squared, self.aside.dot(self.along)
        length = desired * desired * (self.aside + self.along).length_squared
        return (math.sqrt(mixed * mixed + along * (length - self.aside.length_squared)) - mixed) / along


def read_stretch(bones: Sequence[PoseBone]) -> Stretch:
    """Return what it takes to stretch a chain's bones.

    Raises:
        FabrikError: a lock, a scale or linked data is in the way.
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
        armature = bone.id_data.original.data  # a bake reads evaluated objects, and those can't be edited
        if bone.bone.inherit_scale in SKEWING and not armature.is_editable:
            raise FabrikError(
                f"it can't stretch: bone '{bone.name}' would be skewed, and the armature '{armature.name}' is linked. "
                "Set the bone's Inherit Scale to Aligned in the file that it comes from"
            )
    above = _stretch_of(bones[0].parent.matrix) if bones[0].parent else 1.0
    factors: list[float] = []
    scales: list[Vector] = []
    now, plain = above, above
    for bone in bones:
        size = _times(bone.scale, _handed_down(bone, now))
        height = _height(size)
        factor = 1.0 if abs(size.y / height - 1.0) < _EXACT else size.y / height
        scale = _over(Vector((size.x, height, size.z)), _handed_down(bone, plain))
        scales.append(bone.scale.copy() if factor == 1.0 and now == plain else scale)
        factors.append(factor)
        now, plain = factor, 1.0
    return Stretch(tuple(bones), tuple(children), above, tuple(factors), tuple(scales))


def _check_child(child: PoseBone) -> None:
    """Refuse a child that must not take back what its parent's stretch hands down to it."""
    mode = child.bone.inherit_scale
    needed = child.lock_scale[:] if mode == 'AVERAGE' else child.lock_scale[1:2]
    if any(needed) and mode not in NOTHING:
        raise FabrikError(
            f"it can't stretch: bone '{child.name}' would be stretched along with '{child.parent.name}', because its "
            "scale is locked. Unlock it, or set its Inherit Scale to None"
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
        if along.dot(way) < _ASIDE * along.length * way.length or along.length < _ASIDE * way.length:
            raise FabrikError(f"it can't stretch: bone '{bone.name}' doesn't point toward '{following.name}'")
    if use_tail:
        links.append(Link(Vector(), matrices[-1].col[1].to_3d() * line[-1].bone.length))
    return tuple(links)


def stretched_settings(stretch: Stretch, factors: Sequence[float]) -> Iterator[Setting]:
    """Yield what must be written so that a chain's bones are stretched by factors and nothing else is.

    Nothing is yielded for what is that way already.
    """
    now, desired, plain = stretch.above, stretch.above, stretch.above
    for bone, scale, before, after in zip(stretch.bones, stretch.scales, stretch.factors, factors, strict=True):
        if (before, now) != (after, desired) or (desired != 1.0 and _is_skewed(bone)):
            size = _times(scale, _handed_down(bone, plain))
            yield from _taken_back(bone, Vector((size.x, size.y * after, size.z)), desired)
        now, desired, plain = before, after, 1.0
    for i, child in stretch.children:
        before, after = stretch.factors[i], factors[i]
        if before != after or (after != 1.0 and _is_skewed(child)):
            yield from _taken_back(child, _times(child.scale, _handed_down(child, before)), after)


def _taken_back(bone: PoseBone, size: Vector, factor: float) -> Iterator[Setting]:
    """Yield what gives a bone a size under a parent that is stretched by a factor."""
    height = _height(size)
    if abs(size.y - height) < _EXACT * abs(height):
        size.y = height  # or rounding would add up from solve to solve
    if factor != 1.0 and _is_skewed(bone):
        yield bone.bone, ("inherit_scale", ALIGNED)
        yield bone, ("scale", _over(size, Vector((1.0, factor, 1.0)))[:])
    else:
        yield bone, ("scale", _over(size, _handed_down(bone, factor))[:])


def _is_skewed(bone: PoseBone) -> bool:
    return bone.bone.inherit_scale in SKEWING


def _handed_down(bone: PoseBone, factor: float) -> Vector:
    """Return by how much a bone's axes are longer because its parent's Y is, by a factor.

    Where that would skew it, it is given none: that is the size it is meant to have.
    """
    mode = bone.bone.inherit_scale
    if mode == ALIGNED:
        return Vector((1.0, factor, 1.0))
    if mode == 'AVERAGE':
        return Vector((1.0, 1.0, 1.0)) * factor ** (1.0 / 3.0)
    return Vector((1.0, 1.0, 1.0))


def _height(size: Vector) -> float:
    """Return the Y scale that a bone of some size has without stretch.

    That of X and Z, unless it is 1 while they are not: then it was made thicker or thinner. Nothing is ever shortened,
    so that what is shorter than its X and Z say isn't stretched from there, but from 1. Mirrored is as long.
    """
    width, length = math.sqrt(abs(size.x * size.z)), abs(size.y)
    for height in (width, 1.0):
        if abs(length - height) < _EXACT * height:
            return math.copysign(height, size.y)
    return math.copysign(width if width < length else min(length, 1.0), size.y)


def _stretch_of(matrix: Matrix) -> float:
    """Return the length of a bone's Y axis over that of its X and Z."""
    x, y, z = (column.length for column in matrix.to_3x3().col)
    factor = y / math.sqrt(x * z) if x * z > 0.0 else 1.0
    return 1.0 if abs(factor - 1.0) < _ROUNDING else factor


def _times(a: Vector, b: Vector) -> Vector:
    return Vector((a.x * b.x, a.y * b.y, a.z * b.z))


def _over(a: Vector, b: Vector) -> Vector:
    return Vector((a.x / b.x, a.y / b.y, a.z / b.z))
