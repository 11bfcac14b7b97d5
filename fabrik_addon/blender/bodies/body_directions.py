# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The directions forward and upward of a body at rest, in the armature's space, as its bones were rotated since.

*Apply Rotation*, as of an imported armature that lies on its back in its own space, rotates all bones at rest, and says
so nowhere. The directions stayed, and a head that should look ahead looked up.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Quaternion, Vector

from ..rig.body_properties import body_of

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

_SAME_ROTATION = math.radians(0.1)
"""Angle between rotations that are the same."""


def keep_directions(armature: Object, forward: Vector, upward: Vector) -> None:
    """WRITE: the directions of a body, and how the bones of its parts rest now."""
    body = body_of(armature)
    body.forward, body.upward = forward, upward
    bones = (armature.pose.bones.get(part.bone) for part in body.parts)
    body.rest_frames = json.dumps({bone.name: _rest_frame(bone)[:] for bone in bones if bone is not None})


def directions_at_rest(armature: Object) -> tuple[Vector, Vector]:
    """Return where a body looks at rest, and where its head is, in armature space; zero where that isn't known."""
    body = body_of(armature)
    rotation = _rotation_since(armature, json.loads(body.rest_frames or "{}"))
    return rotation @ Vector(body.forward), rotation @ Vector(body.upward)


def _rotation_since(armature: Object, frames: dict[str, list[float]]) -> Quaternion:
    """Return the rotation of most of some bones at rest since they had given frames; none where each has another."""
    before = {armature.pose.bones.get(name): Quaternion(frame) for name, frame in frames.items()}
    since = [_rest_frame(bone) @ frame.conjugated() for bone, frame in before.items() if bone is not None]
    if not since:
        return Quaternion()
    rotations = np.array(since)
    alike = (np.abs(rotations @ rotations.T) > math.cos(0.5 * _SAME_ROTATION)).sum(axis=0)
    most = int(alike.argmax())
    return since[most] if 2 * alike[most] > len(since) else Quaternion()


def _rest_frame(bone: PoseBone) -> Quaternion:
    return bone.bone.matrix_local.to_quaternion()
