# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: usual joint limits into the properties that Blender's own IK has on bones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from mathutils import Matrix, Vector

if TYPE_CHECKING:
    from bpy.types import PoseBone

HINGES = {'ELBOW': 150.0, 'KNEE': 150.0, 'FINGER': 110.0}
"""Range of a hinge joint in degrees, from the bone at rest, or of an elbow or knee that is bent at rest from
``STRAIGHTENS``; the other two axes are locked."""

STRAIGHTENS = math.radians(25.0)
"""Bend to which an elbow or knee that is bent by more at rest can be straightened, of a sitting figure or an animal.

A knee that was bent by 93 degrees at rest stayed so while its leg was stretched, and bent to 243. Not to 0: there a
limb has no direction to bend to, and would turn about its length. The elbows of Rigify's human are bent by 21 degrees.
Fingers keep the bend at rest: the angle of a first one to the hand is that to which it is spread, of Rigify's thumb 65.
"""

BALLS = {
    'SHOULDER': (90.0, 70.0),
    'CLAVICLE': (30.0, 35.0),
    'WRIST': (75.0, 80.0),
    'SPINE': (18.0, 15.0),
    'NECK': (40.0, 60.0),
    'HIP': (75.0, 40.0),
    'ANKLE': (35.0, 25.0),
    'TAIL': (30.0, 15.0),
}
"""Ranges of a ball joint in degrees: of the swing to all sides, and of the twist to both sides.

One swing for all sides is the mean of the ranges to two opposite ones: which axis of a bone is that of flexion depends
on its roll. The ranges are those of the American Academy of Orthopaedic Surgeons (Joint Motion, 1965):

- Wrist: flexion 80, extension 70; the twist is the forearm's pronation 80 and supination 80, which rigs give the hand.
- Ankle: plantar flexion 50, dorsiflexion 20; inversion 35, eversion 15.
- Hip: flexion 120, extension 30.
- Spine: thoracic and lumbar together flexion 80, extension 25, rotation 45; divided by three, the bones of a usual rig.

Clavicle: elevation 45, depression 10, protraction and retraction 30, posterior rotation 20 to 35 (Neumann, Kinesiology
of the Musculoskeletal System). Tail: chosen, not measured; six bones bend by 180 degrees in all.
"""


class Ranges(NamedTuple):
    """Ranges of a ball joint in degrees, from the anatomical position: standing, the arms hanging down."""

    flexion: float
    """Of the swing forward; of a foot's swing upward."""
    extension: float
    outward: float
    """Of the swing away from the body's middle."""
    inward: float
    twist: float
    """To both sides."""


RANGES = {
    'SHOULDER': Ranges(180.0, 60.0, 180.0, 50.0, 90.0),
    'SPINE': Ranges(90.0, 45.0, 35.0, 35.0, 45.0),
    'NECK': Ranges(45.0, 45.0, 45.0, 45.0, 60.0),
    'HIP': Ranges(120.0, 30.0, 55.0, 40.0, 60.0),
    'ANKLE': Ranges(45.0, 50.0, 35.0, 35.0, 35.0),
}
"""Ranges of a person's ball joints; those of spine and neck are of the whole, whose bones share them.

Most are those of the American Academy of Orthopaedic Surgeons (1965; also in Norkin and White, Measurement of Joint
Motion, table A.1). Wider are those that more than 2 % of the poses of captured motion exceed (pybullet's 15 motions of
a human, 1620 poses): rotation of the shoulder (published: 70 inward), abduction and rotation of the hip (both 45), the
ankle upward (20), to the side, and its rotation (35 and 15). The shoulder's swing inward is chosen. Thorax and loins
together bend forward by 60 to 105 and backward by 45 to 80 (Magee, Orthopedic Physical Assessment). Adduction of the
hip is 30, and 20 to 40 in other sources: with 30 a bone rotated 3.4 times as far as in the median move where hips were
turned over planted feet, with 40 2.1 times.

With one range for all sides 136 of 168 captured poses were outside the limits, with these 60: the mean distance of the
joints was 0.77 of that of Blender's IK, and is 0.44 (bench row "body-reconstruction", six handles with rotations).
"""

HORIZONTAL_SHOULDER = Ranges(135.0, 45.0, 90.0, 140.0, 90.0)
"""Ranges of a shoulder whose arm is raised to the side by 90 degrees; flexion and extension are horizontal."""

MOST_SWING = 160.0
"""Largest range of a swing in degrees. Near half a turn the axes of swing and twist are nearly the same: with 180 the
steps of a body's descent ended in a matrix that wasn't positive definite."""

ACROSS = 0.5
"""Sine of the angle between a bone and a direction of flexion below which no limit of a swing is set."""

ALIGNED_COSINE = math.cos(math.radians(20.0))
"""Cosine of the angle between an axis of a bone and a direction from which on the axis stands for the direction."""

_IK_AXES = "xyz"

_BONE_AXIS = Vector((0.0, 1.0, 0.0))
"""Direction of a bone in its own frame."""

_NEARLY_STRAIGHT = 0.05
"""Bend at rest (radians) up to which the bend of an elbow may be an accident of modelling."""

HYPEREXTENDED = math.radians(15.0)
"""Bend at rest up to which a person's elbow or knee that is bent to the other side counts as straight.

Knees and elbows of many people are hyperextended by 5 to 10 degrees, and so are those of rigs whose joint was placed a
little behind the line. Taken for the side to which the joint bends, 7 degrees made knees bend the wrong way by up to
110.
"""

_OF_LIMBS = {'ELBOW', 'KNEE'}
"""Hinges that may be hyperextended at rest, or bent by more than ``STRAIGHTENS``."""

_OPPOSITE = -0.5
"""Cosine of the angle between the axes of two bends below which they are to opposite sides."""

_STRAIGHT_HINGE = 1e-3
"""Sine of the bend below which the joint counts as straight."""


def limit_joint(bone: PoseBone, joint: str, toward: Vector | None = None, is_person: bool = False) -> bool:
    """Set a bone's IK limits to those of a usual joint; a hinge is about the own axis nearest to its bend.

    Args:
        bone: whose limits are set.
        joint: a key of ``HINGES`` or ``BALLS``.
        toward: direction in armature space to which a straight hinge bends (``_bend_of``).
        is_person: whether elbows and knees may be hyperextended at rest.

    Returns:
        whether the axis of a hinge is that of the bend (``ALIGNED_COSINE``). That of Rigify's metarigs is up to 12
        degrees off in elbows, and 2 in knees; with 30 degrees knees come aside by 0.09 of the height when the hips are
        pulled down by 0.2.
    """
    if joint in HINGES:
        axis, side, cosine = _nearest(_bend_of(bone, toward, _most_back(joint, is_person)))
        _limit_hinge(bone, axis, side, joint, _lines_at_rest(bone, toward))
        return cosine >= ALIGNED_COSINE
    swing, twist = map(math.radians, BALLS[joint])
    _limit_axes(bone, {axis: (-angle, angle) for axis, angle in enumerate((swing, twist, swing))})
    return True


def limit_ball(bone: PoseBone, ranges: Ranges, flexion: Vector, side: float, shared_by: int) -> bool:
    """Set a bone's IK limits to ranges that differ by direction, where the bone lies across the direction of flexion.

    With the unit vectors f of flexion and o outward, both across the bone, the limit of a swing toward d is
    ``sqrt((d.f F)^2 + (d.o O)^2)`` with the ranges F and O on d's sides of rest. Along f and o that is F and O; between
    them it is how far the ellipse with these radii extends toward d, so that a bone whose axes are rolled by 45 degrees
    has nearly the whole range of flexion, too.

    Args:
        bone: whose limits are set.
        ranges: counted from the bone's rest pose.
        flexion: direction in armature space.
        side: 1 for a bone of the left side or the middle, -1 for one of the right side.
        shared_by: number of bones among which the ranges are divided.

    Returns:
        whether the limits were set.
    """
    frame, _ = _frames_at_rest(bone)
    along = frame @ _BONE_AXIS
    forward = flexion - flexion.dot(along) * along
    if forward.length < ACROSS:
        return False
    forward.normalize()
    outward = forward.cross(along)
    if side < 0.0:
        outward.negate()

    def limit(toward: Vector) -> float:
        f, o = toward.dot(forward), outward.dot(toward)
        across = f * (ranges.flexion if f > 0.0 else ranges.extension)
        aside = o * (ranges.outward if o > 0.0 else ranges.inward)
        return math.radians(min(math.hypot(across, aside), MOST_SWING) / shared_by)

    twist = math.radians(ranges.twist / shared_by)
    # A rotation about +x takes the bone toward +z, one about +z toward -x.
    x, z = frame.col[0], frame.col[2]
    _limit_axes(bone, {0: (-limit(-z), limit(z)), 1: (-twist, twist), 2: (-limit(x), limit(-x))})
    return True


def limit_hinge_across(
    bone: PoseBone, joint: str, before: Vector, after: Vector, toward: Vector, is_person: bool
) -> bool:
    """Set the limits of a usual hinge on a bone whose y axis isn't along its limb, if one of its axes is the hinge's.

    The hinge's axis is that of the bend of the limb at rest, ``before x after``, or ``after x toward`` where the limb
    is straight at rest (``_bend_of``). Bones that Unreal, VRM and Biped export have it as one of their axes, y too;
    about an axis that is farther from it the limb would swing along a cone.

    Args:
        bone: whose limits are set.
        joint: a key of ``HINGES``.
        before: from the joint before to the bone's head at rest, in armature space.
        after: from the bone's head to the next joint at rest.
        toward: direction in armature space to which a straight hinge bends.
        is_person: whether elbows and knees may be hyperextended at rest.

    Returns:
        whether the limits were set.
    """
    axis, side, cosine = _nearest(_bend_of(bone, toward, _most_back(joint, is_person), (before, after)))
    if cosine < ALIGNED_COSINE:
        return False
    _limit_hinge(bone, axis, side, joint, (before, after))
    return True


def limit_hinge_between(bone: PoseBone, bent: float, straight: float) -> None:
    """Make a bone's joint a hinge between two angles, those between the parent and the bone in degrees.

    Limits are counted from the rest pose: a joint that is bent by rest can be straightened by what is left.
    """
    axis, side, _ = _nearest(_bend_of(bone))
    before, after = _lines_at_rest(bone)
    rest = 180.0 - math.degrees(before.angle(after, 0.0))
    flexion, extension = (math.radians(max(0.0, angle)) for angle in (rest - bent, straight - rest))
    _limit_axes(bone, {axis: (-extension, flexion) if side > 0.0 else (-flexion, extension)})


def free_joint(bone: PoseBone) -> None:
    """Disable a bone's IK limits and locks."""
    for name in _IK_AXES:
        setattr(bone, f"lock_ik_{name}", False)
        setattr(bone, f"use_ik_limit_{name}", False)


def _nearest(about: Vector) -> tuple[int, float, float]:
    """Return the axis of a bone (0 is x) nearest to one in its frame, its sign, and the cosine of the angle between."""
    about = about.normalized()
    axis = max(range(3), key=lambda each: abs(about[each]))
    return axis, math.copysign(1.0, about[axis]), abs(about[axis])


def _bend_of(
    bone: PoseBone,
    toward: Vector | None = None,
    most_back: float = 0.0,
    lines: tuple[Vector, Vector] | None = None,
) -> Vector:
    """Return the axis, in a bone's frame, about which it is bent against its parent.

    The axis is ``p x y``, the product of the parent's direction and the bone's. The rest pose comes first: riggers
    build elbows and knees with a slight bend in the direction of their hinge. Where the joint is straight at rest the
    present pose decides; where it is straight there too the axis is +x. With a direction ``t`` to bend to, a joint that
    is straight at rest within ``_NEARLY_STRAIGHT``, or bent to the other side by at most ``most_back`` (radians), has
    the axis ``y x t``.

    A bone that points across its limb is bent about the product of the lines between joints instead, those that are
    given, or without a direction those of ``_lines_across``: the product of y axes says nothing there, and elbows had
    hinges along the limb.
    """
    frame, own = _frames_at_rest(bone)[0], _axes_at_rest(bone)
    before, after = lines = lines or _lines_at_rest(bone, toward)
    if toward is not None and (before.length == 0.0 or _is_straight(before, after, toward, most_back)):
        return _about(frame, after, toward)
    bends = [_about(frame, *each) for each in (lines, own)]
    if bone.parent is not None:
        shown, above = (each.matrix.to_3x3().normalized() for each in (bone, bone.parent))
        bends.append(_about(shown, above @ _BONE_AXIS, shown @ _BONE_AXIS))
    return next((bend for bend in bends if bend.length > _STRAIGHT_HINGE), Vector((1.0, 0.0, 0.0)))


def _lines_at_rest(bone: PoseBone, toward: Vector | None = None) -> tuple[Vector, Vector]:
    """Return the lines before and after a joint: y axes, or without a direction those of ``_lines_across`` if any."""
    return (_lines_across(bone) if toward is None else None) or _axes_at_rest(bone)


def _axes_at_rest(bone: PoseBone) -> tuple[Vector, Vector]:
    """Return the directions of a bone's parent, or its own if it has none, and of the bone at rest."""
    frame, along_parent = _frames_at_rest(bone)
    return along_parent, frame @ _BONE_AXIS


def _most_back(joint: str, is_person: bool) -> float:
    """Return the bend at rest to the other side (radians) up to which a joint counts as straight."""
    return HYPEREXTENDED if is_person and joint in _OF_LIMBS else 0.0


def link_before(bone: PoseBone) -> Vector:
    """Return the line at rest from the nearest joint above that is elsewhere to a bone's head, no length without."""
    head = bone.bone.head_local
    return next((head - above.head_local for above in bone.bone.parent_recursive if above.head_local != head), Vector())


def points_along(bone: PoseBone, link: Vector) -> bool:
    """Tell whether a bone's y axis points along a line to the next joint at rest."""
    along = bone.bone.tail_local - bone.bone.head_local
    return along.dot(link) >= ALIGNED_COSINE * along.length * link.length


def _lines_across(bone: PoseBone) -> tuple[Vector, Vector] | None:
    """Return the lines to a bone's head and on to the child with most bones, where the bone points to no child."""
    links = [
        (len(child.children_recursive), child.head_local - bone.bone.head_local)
        for child in bone.bone.children
        if child.head_local != bone.bone.head_local
    ]
    before = link_before(bone)
    if not links or before.length == 0.0 or any(points_along(bone, link) for _, link in links):
        return None
    return before, max(links, key=lambda each: each[0])[1]


def _is_straight(before: Vector, after: Vector, toward: Vector, most_back: float) -> bool:
    """Tell whether a joint is straight within ``_NEARLY_STRAIGHT``, or bent away from a side by at most an angle."""
    bend = before.angle(after)
    if bend <= _NEARLY_STRAIGHT:
        return True
    about, usual = before.cross(after), after.cross(toward)
    most = _OPPOSITE * about.length * usual.length
    return bend <= most_back and about.dot(usual) < most  # type: ignore[arg-type]  # the stub allows 2D vectors


def _frames_at_rest(bone: PoseBone) -> tuple[Matrix, Vector]:
    """Return a bone's frame at rest and the direction of its parent, its own if it has none, in armature space."""
    frame = bone.bone.matrix_local.to_3x3().normalized()
    above = bone.bone if bone.parent is None else bone.parent.bone
    return frame, above.matrix_local.to_3x3().normalized() @ _BONE_AXIS


def _about(frame: Matrix, before: Vector, after: Vector) -> Vector:
    """Return the product of two directions in a frame; its length is the sine of the angle between them."""
    product = before.normalized().cross(after.normalized())
    return Vector([product.dot(axis) for axis in frame.col])


def _limit_hinge(bone: PoseBone, axis: int, side: float, joint: str, lines: tuple[Vector, Vector]) -> None:
    """Lock the other axes, and give one the range of a usual hinge, to the side of a sign.

    Args:
        lines: before and after the joint at rest, in armature space.
    """
    about = side * _frames_at_rest(bone)[0].col[axis]
    before, after = (line - line.dot(about) * about for line in lines)
    rest = math.atan2(before.cross(after).dot(about), before.dot(after))
    back = max(0.0, rest - STRAIGHTENS) if joint in _OF_LIMBS else 0.0
    bend = math.radians(HINGES[joint]) - back
    _limit_axes(bone, {axis: (-back, bend) if side > 0.0 else (-bend, back)})


def _limit_axes(bone: PoseBone, ranges: Mapping[int, tuple[float, float]]) -> None:
    """Give axes (0 is x) of a bone their ranges, and lock the others."""
    for axis, name in enumerate(_IK_AXES):
        setattr(bone, f"lock_ik_{name}", axis not in ranges)
        if axis in ranges:
            setattr(bone, f"use_ik_limit_{name}", True)
            low, high = ranges[axis]
            setattr(bone, f"ik_min_{name}", low)
            setattr(bone, f"ik_max_{name}", high)
