# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: usual joint limits for the bones of a body that have none, with a record by which they are taken back."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

from mathutils import Vector

from ..bodies.turning_bones import turning_bones
from ..bones.bone_limits import limits_of
from ..rig.body_properties import FabrikPart, body_of
from .override_limits import all_limits_of, kept_in_override, restore_limits
from .usual_limits import (
    ACROSS,
    HINGES,
    HORIZONTAL_SHOULDER,
    RANGES,
    Ranges,
    limit_ball,
    limit_hinge_across,
    limit_joint,
    link_before,
    points_along,
)

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

_JOINTS = {
    'SPINE': 'SPINE',
    'CHEST': 'SPINE',
    'NECK': 'NECK',
    'HEAD': 'NECK',
    'CLAVICLE': 'CLAVICLE',
    'UPPER_ARM': 'SHOULDER',
    'FOREARM': 'ELBOW',
    'THIGH': 'HIP',
    'SHIN': 'KNEE',
    'TAIL': 'TAIL',
}
"""Joint at the head of a bone, by role (``usual_limits``)."""

_JOINTS_OF_HUMANS = {'HAND': 'WRIST', 'FOOT': 'ANKLE', 'FINGER': 'FINGER'}
"""Those of people alone: the hock of a horse, a foot by homology, bends much further than an ankle."""

_WHOLES = {'SPINE', 'NECK'}
"""Joints of a person whose bones share one range."""

_HANGING = {'SHOULDER', 'HIP'}
"""Joints whose bones hang down in the anatomical position."""

_SAME_LIMIT = 1e-3
"""Difference of a limit (radians) below which it is the one that was given."""


def give_limits(armature: Object, creature: str, forward: Vector, up: Vector) -> list[str]:
    """Give the usual limits to the bones of a body that have none, and note them in the body.

    Args:
        creature: kind of creature, "human" has limits of hands and feet too.
        forward: direction in armature space to which it looks (``_flexion_of``).
        up: direction in armature space from its feet to its head.

    Returns:
        the names of the shins whose hinges are off the axis of their bend (``limit_joint``), or that have none
        (``limit_hinge_across``). Forearms, whose arms swivel, and fingers, whose hinges are up to 37 degrees off in
        Rigify's human, aren't among them.
    """
    body = body_of(armature)
    given = json.loads(body.given_limits or "{}")
    joints = _JOINTS | (_JOINTS_OF_HUMANS if creature == "human" else {})
    turning = turning_bones(armature)
    counts = Counter(joints.get(part.role, "") for part in body.parts if part.bone in turning)
    hands = {part.bone for part in body.parts if part.role == 'HAND'}
    off_hinges = []
    for part in body.parts:
        if part.bone not in turning:
            continue
        bone = armature.pose.bones[part.bone]
        if part.role not in joints or _has_limits(bone):
            continue
        before = all_limits_of(bone)
        joint = joints[part.role]
        link = _link_after(armature, part, bone)
        toward = _flexion_of(part.role, part.side, bone, hands, forward, up)
        is_person = creature == "human"
        is_ball = is_person and joint in RANGES
        # A person's spine and neck are wholes, however many bones they have: with the range of a neck for each of three
        # bones the head of Rigify's human looked straight behind. Each bone of an animal's long neck has its own.
        shared_by = counts[joint] if is_ball and joint in _WHOLES else 1
        is_given = is_aligned = True
        with kept_in_override(bone):
            if link is not None and not points_along(bone, link):
                # A swing of the bone isn't a swing of its link: of these joints hinges alone are limited.
                is_given = is_aligned = joint in HINGES and limit_hinge_across(
                    bone, joint, link_before(bone), link, toward, is_person
                )
            elif not (is_ball and _limit_ball(bone, joint, part.side, shared_by, forward, up)):
                is_aligned = limit_joint(bone, joint, toward, is_person)
        if joint == 'KNEE' and not is_aligned:
            off_hinges.append(bone.name)
        if is_given:
            given[bone.name] = [before, all_limits_of(bone), _rest_place(bone)]
    body.given_limits = json.dumps(given) if given else ""
    return off_hinges


def _flexion_of(role: str, side: str, bone: PoseBone, hands: Container[str], forward: Vector, up: Vector) -> Vector:
    """Return the direction in armature space to which a straight hinge bends: shins to the back, forearms to the front.

    Fingers bend to the palm: with thumbs forward, as in a T-pose and beside the body, that is ``h x forward`` of a left
    hand, h from the hand's head to the finger's, and down where arms are stretched forward.
    """
    if role == 'SHIN':
        return -forward
    above = bone.bone.parent_recursive if role == 'FINGER' else ()
    hand = next((each for each in above if each.name in hands), None)
    if hand is None:
        return forward
    along = (bone.bone.head_local - hand.head_local).normalized()
    palm = along.cross(forward)
    if palm.length < ACROSS:
        return -up
    return -palm if side == 'RIGHT' else palm


def _limit_ball(bone: PoseBone, joint: str, side: str, shared_by: int, forward: Vector, up: Vector) -> bool:
    """Give a person's ball joint its ranges, counted from the bone's rest pose; return whether it has them now.

    A limb that is raised to the side by an angle a at rest swings outward by a less, and inward by a more.
    """
    ranges, sign = RANGES[joint], -1.0 if side == 'RIGHT' else 1.0
    if joint in _HANGING and side != 'CENTER':
        along = (bone.bone.tail_local - bone.bone.head_local).normalized()
        raised = math.degrees(math.atan2(sign * up.cross(forward).dot(along), -up.dot(along)))
        if joint == 'SHOULDER':
            share = min(max(raised / 90.0, 0.0), 1.0)
            ranges = Ranges(*(a + share * (b - a) for a, b in zip(ranges, HORIZONTAL_SHOULDER, strict=True)))
        else:
            raised = min(max(raised, -ranges.inward), ranges.outward)
            ranges = ranges._replace(outward=ranges.outward - raised, inward=ranges.inward + raised)
    return limit_ball(bone, ranges, up if joint == 'ANKLE' else forward, sign, shared_by)


def take_limits_back(armature: Object) -> None:
    """Restore the limits of before the body was made, of the bones whose limits weren't changed since."""
    body = body_of(armature)
    limited = json.loads(body.given_limits or "{}")
    at_place: defaultdict[str, list[PoseBone]] = defaultdict(list)
    for bone in armature.pose.bones:
        at_place[str(_rest_place(bone))].append(bone)
    for name, (before, given, *place) in limited.items():
        # By its place first: Flip Names gives the bone's name to another one. Bodies of files that were saved without
        # the bone's rest place have no third item.
        there = at_place[str(place[0])] if place else []
        named = armature.pose.bones.get(name)
        bone = named if named in there or not there else there[0]
        if bone is not None and _are_same(all_limits_of(bone), given):
            restore_limits(bone, before)
    body.given_limits = ""


def _are_same(limits: Mapping[str, bool | float], given: Mapping[str, bool | float]) -> bool:
    """Tell whether limits are the given ones: those of a bone that was symmetrised differ by rounding."""
    if limits.keys() != given.keys():
        return False
    return all(abs(limits[name] - value) <= _SAME_LIMIT for name, value in given.items())


def _rest_place(bone: PoseBone) -> list[float]:
    """Return what tells a bone whose name has changed: head and tail at rest."""
    return [*bone.bone.head_local[:], *bone.bone.tail_local[:]]


def _has_limits(bone: PoseBone) -> bool:
    lower, upper = limits_of(bone)
    return any(math.isfinite(angle) for angle in (*lower, *upper))


def _link_after(armature: Object, part: FabrikPart, bone: PoseBone) -> Vector | None:
    """Return the line at rest from a bone's head to the next joint of its limb, None where there isn't one alone."""
    following = [
        armature.pose.bones[other.bone].bone
        for other in body_of(armature).parts
        if other.side == part.side
        and other.bone in armature.pose.bones
        and armature.pose.bones[other.bone].parent == bone
    ]
    if len(following) != 1 or following[0].head_local == bone.bone.head_local:
        return None
    return following[0].head_local - bone.bone.head_local
