# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the arms of a body that stands upright, and where their elbows point."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Vector

from ...core import Array, Swivel
from ...core.body.arm_swivel import swivel_model
from ...core.body.part import Role, Side
from ..bones.ancestors import with_ancestors
from ..bones.bone_tree import BoneTree
from ..rig.body_properties import body_of, roles_of
from .planted_feet import upward

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

_UPRIGHT = math.cos(math.radians(45.0))
"""Cosine of the angle at rest between the vertical and the line from the hips to the shoulders up to which arms are
those of a human: the forelegs of a horse have the same roles."""

_BELOW_ARMS = {Role.CHEST, Role.SPINE, Role.HIPS}
"""Roles of the bone in whose frame an arm's model is: the first of them above the arm."""


def read_swivels(armature: Object, tree: BoneTree) -> tuple[Swivel, ...]:
    """Return the arms of a body with shoulder, elbow and wrist in a tree."""
    joints = dict(tree.core_joints)
    for number, end in enumerate(tree.ends, len(tree.bones) + tree.first_joint):
        if not end.is_tail:
            joints.setdefault(end.bone.name, number)
    arms = _arms(armature)
    axes = _axes_at_rest(armature, arms)
    if axes is None:
        return ()
    roles = roles_of(armature)
    found = []
    for (side, _), (upper_arm, forearm, hand) in arms.items():
        names = (upper_arm.name, forearm.name, hand.name)
        chest = next((one for one in with_ancestors(upper_arm) if roles.get(one.name) in _BELOW_ARMS), None)
        if chest is None or any(name not in joints for name in (*names, chest.name)):
            continue
        outward = axes * [1.0 if side == Side.LEFT else -1.0, 1.0, 1.0]
        own = np.array(chest.bone.matrix_local.to_3x3().normalized()).T @ outward
        one, two, three = (joints[name] for name in names)
        found.append(Swivel((one, two, three), joints[chest.name], swivel_model(own)))
    return tuple(found)


def _arms(armature: Object) -> dict[tuple[str, int], tuple[PoseBone, PoseBone, PoseBone]]:
    """Return upper arm, forearm and hand by side and number, the first bones of each role."""
    first: dict[tuple[str, int], dict[str, PoseBone]] = {}
    for part in body_of(armature).parts:
        if part.bone in armature.pose.bones:
            first.setdefault((part.side, part.limb), {}).setdefault(part.role, armature.pose.bones[part.bone])
    roles = (Role.UPPER_ARM, Role.FOREARM, Role.HAND)
    return {
        key: (own[roles[0]], own[roles[1]], own[roles[2]])
        for key, own in first.items()
        if key[0] != Side.CENTER and all(role in own for role in roles)
    }


def _axes_at_rest(armature: Object, arms: dict[tuple[str, int], tuple[PoseBone, PoseBone, PoseBone]]) -> Array | None:
    """Return in columns left, backward and upward of a body at rest (3, 3), armature space.

    None where its trunk isn't upright, or where it has no two arms.
    """
    hips = next((part.bone for part in body_of(armature).parts if part.role == Role.HIPS), "")
    if not {(Side.LEFT, 0), (Side.RIGHT, 0)} <= arms.keys() or hips not in armature.pose.bones:
        return None
    left, right = (arms[side, 0][0].bone.head_local for side in (Side.LEFT, Side.RIGHT))
    trunk = 0.5 * (left + right) - armature.pose.bones[hips].bone.head_local
    across = (left - right).normalized()
    up = (trunk - trunk.dot(across) * across).normalized()
    if up.dot(upward(armature)) < _UPRIGHT or across == Vector():
        return None
    x, z = np.array(across), np.array(up)
    return np.array([x, np.cross(z, x), z]).T
