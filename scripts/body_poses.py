# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses of whole bodies, each made by a few pulls of Make Body's handles: for the demo, and for the window's tests.

Lengths are metres in the space of Rigify's metarigs, which look along -Y and have their left at +X.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import bpy
import numpy as np
from bpy.types import Object
from mathutils import Matrix, Quaternion, Vector

Point = tuple[float, float, float]


@dataclass(frozen=True)
class Pull:
    """A handle, where it is pulled, and whether it is pinned there."""

    handle: str
    position: Point | None = None
    rotation: Quaternion | None = None
    is_pinned: bool = False


@dataclass(frozen=True)
class BodyPose:
    """Pulls one after the other from the first pose of the demo, and the props that the pose is about."""

    label: str
    pulls: tuple[Pull, ...]
    props: tuple[Matrix, ...] = ()
    """Boxes that stand beside the body: each from a cube with edges of length 1 about the origin."""
    turn: float = 0.0
    """Rotation of the whole figure about the vertical, in radians: from where the pose is best seen."""
    look: Point | None = None
    """At which the head looks before anything is pulled."""
    use_balance: bool = True
    """Whether the feet carry the body: one that leans on a wall is held by the wall, too."""


@dataclass(frozen=True)
class Pulled:
    """What one pull did: distance of the handle from its target over the body's height, and milliseconds."""

    pose: str
    handle: str
    error: float
    milliseconds: float


@dataclass(frozen=True)
class Bodies:
    """A metarig or a spider, the pose in which it stands, and poses that are pulled from there."""

    metarig: str
    stand: BodyPose
    poses: tuple[BodyPose, ...]
    size: tuple[int, int] = (1320, 600)
    """Width and height of the demo's picture."""


def facing(along: Point, upward: Point) -> Quaternion:
    """Return the rotation of a bone that points along a direction, with its Z axis as near to another as can be.

    The Z axis of the metarigs' hands is on the side of the thumb, that of their heads at the face.
    """
    y = np.array(along)
    x = np.cross(y, np.array(upward))
    axes = [axis / np.linalg.norm(axis) for axis in (x, y, np.cross(x, y))]
    return Matrix(np.column_stack(axes).tolist()).to_quaternion()


def _box(centre: Point, size: Point) -> Matrix:
    return Matrix.LocRotScale(Vector(centre), None, Vector(size))


def _both(
    handle: str, position: Point, rotation: Quaternion | None = None, is_pinned: bool = False
) -> tuple[Pull, ...]:
    """Return the pull of a handle on the left and that of the one on the right, as in a mirror."""
    mirrored = None if rotation is None else Quaternion((rotation.w, rotation.x, -rotation.y, -rotation.z))
    return (
        Pull(f"{handle}.L", position, rotation, is_pinned),
        Pull(f"{handle}.R", (-position[0], *position[1:]), mirrored, is_pinned),
    )


_FEET = (Pull("Foot.L", is_pinned=True), Pull("Foot.R", is_pinned=True))

HUMAN = Bodies(
    "human",
    BodyPose("before", _both("Hand", (0.27, -0.03, 0.99), facing((0.12, -0.1, -1.0), (0.15, -1.0, 0.1)))),
    (
        BodyPose(
            "reach up",
            (
                *_FEET,
                Pull("Hand.L", (0.22, -0.40, 0.95), facing((-0.15, -1.0, 0.0), (-1.0, 0.15, 0.0)), is_pinned=True),
                Pull("Hand.R", (-0.16, -0.44, 2.06), facing((0.0, -1.0, 0.2), (0.0, 0.2, 1.0))),
            ),
            (
                _box((0.0, -0.55, 0.46), (0.9, 0.40, 0.92)),
                _box((0.0, -0.60, 1.94), (0.9, 0.30, 0.03)),
                _box((-0.06, -0.58, 2.045), (0.11, 0.11, 0.18)),
            ),
            turn=-0.75,
            look=(-0.06, -0.60, 2.06),
        ),
        BodyPose(
            "pick up",
            (
                *_FEET,
                Pull("Hips", (0.0, 0.24, 0.70)),
                *_both("Hand", (0.20, -0.42, 0.27), facing((0.0, -0.8, -0.6), (0.0, -0.6, 0.8)), is_pinned=True),
            ),
            (_box((0.0, -0.50, 0.18), (0.34, 0.34, 0.36)),),
            turn=-0.75,
            look=(0.0, -0.50, 0.36),
        ),
        BodyPose(
            "lean on a wall",
            (
                *_FEET,
                Pull("Hand.R", (-0.935, -0.10, 1.50), facing((0.0, -0.2, 1.0), (0.0, -1.0, -0.2)), is_pinned=True),
                Pull("Hips", (-0.20, 0.05, 0.985)),
                Pull("Chest", (-0.325, 0.03, 1.42)),
                Pull("Hand.L", (0.05, 0.03, 1.08), facing((-0.3, -0.9, -0.3), (-0.5, 0.0, -0.5))),
            ),
            (_box((-0.99, -0.1, 1.05), (0.05, 1.1, 2.1)),),
            turn=-0.1,
            look=(0.8, -3.0, 1.5),
            use_balance=False,
        ),
    ),
)

TEN = Bodies(
    "human",
    HUMAN.stand,
    (
        *HUMAN.poses,
        BodyPose(
            "push",
            (
                Pull("Foot.R", (-0.12, 0.45, 0.085)),
                Pull("Hips", (0.0, 0.06, 0.90)),
                Pull("Chest", (0.0, -0.18, 1.26)),
                *_both("Hand", (0.17, -0.66, 1.26), facing((-0.1, 0.0, 1.0), (-1.0, 0.0, -0.1)), is_pinned=True),
            ),
            (_box((0.0, -0.97, 0.75), (0.56, 0.56, 1.5)),),
            turn=-0.85,
            look=(0.0, -3.0, 1.0),
            use_balance=False,
        ),
        BodyPose(
            "sit down",
            (
                *_both("Foot", (0.13, -0.06, 0.085)),
                Pull("Hips", (0.0, 0.42, 0.60)),
                *_both("Hand", (0.16, -0.02, 0.64), facing((-0.1, -1.0, -0.35), (-1.0, 0.1, 0.0)), is_pinned=True),
            ),
            (_box((0.0, 0.50, 0.255), (0.46, 0.46, 0.51)),),
            turn=-0.6,
            look=(0.3, -3.0, 1.2),
            use_balance=False,
        ),
        BodyPose(
            "step up",
            (
                Pull("Foot.R", (-0.11, 0.20, 0.085)),
                Pull("Foot.L", (0.11, -0.32, 0.385)),
                Pull("Hips", (0.04, -0.10, 1.0)),
                Pull("Hand.L", (0.14, -0.33, 1.03), facing((-0.05, -0.8, -0.55), (-1.0, 0.05, 0.0)), is_pinned=True),
                Pull("Hand.R", (-0.30, 0.12, 1.02)),
            ),
            (_box((0.0, -0.43, 0.15), (0.5, 0.46, 0.30)),),
            turn=-0.75,
            look=(0.0, -2.0, 1.4),
        ),
        BodyPose(
            "kick",
            (
                Pull("Foot.R", (-0.14, -0.72, 0.62)),
                Pull("Hand.L", (0.30, -0.50, 1.40)),
                Pull("Hand.R", (-0.42, 0.38, 1.20)),
            ),
            turn=-0.75,
            look=(-0.14, -1.6, 0.8),
        ),
        BodyPose(
            "hips aside",
            (
                Pull("Foot.R", (-0.22, -0.10, 0.085)),
                Pull("Hips", (0.09, 0.05, 0.99)),
                Pull("Hand.R", (-0.27, -0.10, 0.97), facing((-0.12, -0.1, -1.0), (-0.15, -1.0, 0.1))),
                Pull("Hand.L", (0.33, 0.04, 1.13), facing((-0.3, -0.9, -0.3), (-0.5, 0.0, -0.5))),
            ),
            turn=0.1,
            look=(-1.5, -3.0, 1.75),
        ),
        BodyPose(
            "bow",
            (
                *_FEET,
                Pull("Hips", (0.0, 0.16, 0.96)),
                Pull("Chest", (0.0, -0.265, 1.255), facing((0.0, -0.9, 0.45), (0.0, -0.5, -0.9))),
                Pull("Hand.R", (-0.10, -0.27, 1.10), facing((1.0, 0.0, 0.0), (0.0, -0.2, 1.0))),
                Pull("Hand.L", (0.30, 0.12, 1.06)),
            ),
            turn=-0.6,
            look=(0.0, -1.4, 0.3),
        ),
        BodyPose(
            "kneel",
            (
                Pull("Foot.L", (0.12, -0.30, 0.085)),
                Pull("Foot.R", (-0.11, 0.46, 0.139), facing((0.0, 1.0, -0.12), (0.0, 0.12, 1.0))),
                Pull("Hips", (0.0, 0.03, 0.485)),
                Pull("Hand.L", (0.14, -0.27, 0.64), facing((-0.1, -1.0, -0.35), (-1.0, 0.1, 0.0)), is_pinned=True),
            ),
            turn=-0.6,
            look=(0.0, -3.0, 1.2),
        ),
    ),
    (2600, 560),
)


FLOOR = Bodies(
    "human",
    HUMAN.stand,
    (BodyPose("hand on the floor", (Pull("Hand.L", (0.36, -0.12, 0.195)),)),),
    (1000, 640),
)

HORSE = Bodies(
    "horse",
    BodyPose("before", (Pull("Tail", (0.0, 1.35, 0.75)),)),
    (
        BodyPose("head turned", (Pull("Head", (0.40, -1.15, 1.80), facing((0.9, -0.75, -0.3), (0.2, -0.2, -1.0))),)),
        BodyPose("hoof lifted", (Pull("Hand.L", (0.164, -0.42, 0.36), facing((0.0, 0.8, -0.2), (0.0, -0.2, -0.8))),)),
    ),
)


SPIDER = Bodies(
    "spider",
    BodyPose("before", ()),
    (
        BodyPose("leg lifted", (Pull("Limb 2", (-0.80, -1.10, 0.85)),)),
        BodyPose("body lowered", (Pull("Body", (0.0, 0.05, 0.24)),)),
    ),
    (1320, 420),
)


def add_spider() -> Object:
    """Add a body with eight legs whose bones have names that say nothing."""
    armature = bpy.data.objects.new("Spider", bpy.data.armatures.new("Spider"))
    bpy.context.scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode='EDIT')
    bones = armature.data.edit_bones
    body = bones.new("Bone")
    body.head, body.tail = (0.0, 0.15, 0.5), (0.0, -0.15, 0.5)
    abdomen = bones.new("Bone")
    abdomen.head, abdomen.tail, abdomen.parent = (0.0, 0.15, 0.5), (0.0, 0.65, 0.6), body
    for leg in range(8):
        angle = math.radians(35.0 + 36.0 * (leg % 4)) * (1.0 if leg < 4 else -1.0)
        out, parent = Vector((math.sin(angle), -math.cos(angle), 0.0)), body
        points = [Vector((0.0, 0.0, 0.5)) + share * out for share in (0.12, 0.35, 0.75, 1.15)]
        for height, point in zip((0.5, 0.75, 0.8, 0.0), points, strict=True):
            point.z = height
        for head, tail in itertools.pairwise(points):
            bone = bones.new("Bone")
            bone.head, bone.tail, bone.parent = head, tail, parent
            parent = bone
    bpy.ops.object.mode_set(mode='OBJECT')
    return armature


def add_body(metarig: str) -> Object:
    """Add one of Rigify's metarigs, or a spider, and make its body; it is in Pose Mode then."""
    if metarig == "spider":
        add_spider()
    else:
        bpy.ops.preferences.addon_enable(module="rigify")
        getattr(bpy.ops.object, f"armature_{metarig}_metarig_add")()
    armature = bpy.context.object
    assert armature is not None
    bpy.ops.object.mode_set(mode='POSE')
    bpy.ops.pose.fabrik_body_add()
    return armature


def pose_in_turn(armature: Object, bodies: Bodies) -> Iterator[tuple[BodyPose, dict[str, Vector], list[Pulled]]]:
    """Pull one pose after the other, the first from rest, each of the others from the first.

    The body keeps a pose, with its pins and its gaze, until the next one is asked for.

    Yields:
        the pose, where the handles that it pulls were before, and what each pull did.
    """
    held = {handle.name: (handle.use_position, handle.use_rotation) for handle in armature.fabrik.body.handles}
    stand: dict[str, Matrix] = {}
    for pose in (bodies.stand, *bodies.poses):
        for name, matrix in stand.items():
            armature.pose.bones[name].matrix_basis = matrix
        bpy.context.view_layer.update()
        armature.fabrik.body.use_balance = pose.use_balance
        before = {pull.handle: handle_place(armature, pull.handle) for pull in pose.pulls}
        if pose.look:
            bpy.ops.pose.fabrik_body_look(location=pose.look)
        pulls = [pull_handle(armature, pose.label, pull) for pull in pose.pulls]
        if not stand:
            _let_go(armature, held)
            stand = {bone.name: bone.matrix_basis.copy() for bone in armature.pose.bones}
        yield pose, before, pulls
        _let_go(armature, held)


def handle_place(armature: Object, name: str) -> Vector:
    """Return where a handle of a body is, in world space."""
    handle = armature.fabrik.body.handles[name]
    bone = armature.pose.bones[handle.bone]
    return armature.matrix_world @ (bone.tail if handle.use_tail else bone.head)


def pull_handle(armature: Object, pose: str, pull: Pull) -> Pulled:
    """Pull a handle with the operator."""
    options: dict[str, object] = {}
    if pull.position is not None:
        options["position"] = pull.position
    if pull.rotation is not None:
        options["rotation"] = pull.rotation
    start = time.perf_counter()
    if options:
        bpy.ops.pose.fabrik_body_pull(handle=pull.handle, **options)
    milliseconds = 1e3 * (time.perf_counter() - start)
    if pull.is_pinned:
        bpy.ops.pose.fabrik_handle_pin(handle=pull.handle, action='PIN')
    place = handle_place(armature, pull.handle)
    off = 0.0 if pull.position is None else (place - Vector(pull.position)).length
    return Pulled(pose, pull.handle, off / armature.dimensions.z, milliseconds)


def _let_go(armature: Object, held: dict[str, tuple[bool, bool]]) -> None:
    """Let the handles go that keep their place because they were pulled."""
    for handle in armature.fabrik.body.handles:
        handle.use_position, handle.use_rotation = held[handle.name]
        handle.use_pin = False
    if armature.fabrik.body.use_look_at:
        bpy.ops.pose.fabrik_body_look_clear()
