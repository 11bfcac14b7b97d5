# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: what the head of a body looks at, and the rotations that turn head, eyes, chest and spine to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..bodies.body_look_at import look_of
from ..bones.rotation_channel import Channel, channel_name, present_channel
from ..rig.body_properties import FabrikBody, body_of
from ..solving.solve_body import pull_body
from ..solving.write_channels import differ, restore_channels, write_channels

if TYPE_CHECKING:
    from bpy.types import Bone, Object, PoseBone, ViewLayer

    from ..rig.last_results import Result

_CHOICE = ("look_target", "look_location", "use_look_at", "use_eyes")
"""Properties that say what is looked at, in the order in which they are set: a target switches the look on."""


_UNSEEN = 1e-5
"""Change of a channel that can't be seen: hips and legs change by 1e-6 where head and chest alone turn."""


def look_at(
    view_layer: ViewLayer, armature: Object, choose: Callable[[FabrikBody], None] | None = None
) -> tuple[float, Result | None, list[tuple[PoseBone | Bone, str]], str]:
    """Turn the head of a body to what is looked at, and chest and spine along with it.

    Pinned handles come to the objects that they follow.

    Bones that nothing has turned since the last Look At start from the rotations that they had before it. So the pose
    is a function of the point: if each Look At started from the pose of the last one, a point that goes round the body
    once would leave chest and neck twisted against each other.

    Args:
        armature: object with a body.
        choose: sets what is looked at; None leaves it.

    Returns:
        the angle (radians) that is left, how near the pinned handles came, the changed bones with their channels, and
        which pin is not at its place, in words; the last three are those of ``pull_body``.

    Raises:
        FabrikError: the head can't look there; then nothing has changed.
    """
    body = body_of(armature)
    chosen = {name: _value(body, name) for name in _CHOICE}
    before = _channels(armature)
    try:
        if choose is not None:
            choose(body)
        _take_back(armature)
        start = _channels(armature)
        result, _, slipped = pull_body(view_layer, armature, ())
        restore_channels((bone, channel) for bone, channel in start if _is_unseen(bone, *channel))
        view_layer.update()
        look = look_of(view_layer, armature)
    except Exception:
        for name, value in chosen.items():
            setattr(body, name, value)
        restore_channels(before)
        view_layer.update()
        raise
    now = _channels(armature)
    turned = [
        (bone.name, channel, old, new)
        for (bone, (channel, old)), (_, (_, new)) in zip(start, now, strict=True)
        if differ(old, new)
    ]
    body.turned_by_look = json.dumps(turned)
    if body.look_target is not None:
        body.look_location = body.look_target.matrix_world.to_translation()
    changed: list[tuple[PoseBone | Bone, str]] = [
        (bone, channel) for (bone, (channel, old)), (_, (_, new)) in zip(before, now, strict=True) if differ(old, new)
    ]
    return (0.0 if look is None else look.angle_left()), result, changed, slipped


def look_nowhere(armature: Object) -> None:
    """Let the head of a body look at nothing; no bone moves."""
    body = body_of(armature)
    for name in (*_CHOICE, "turned_by_look"):
        body.property_unset(name)


def _value(body: FabrikBody, name: str) -> object:
    value = getattr(body, name)
    return value[:] if name == "look_location" else value


def _channels(armature: Object) -> list[tuple[PoseBone, Channel]]:
    """READ: rotations and locations of the bones that a look may change: of the body's, and of those below its head."""
    names = {part.bone for part in body_of(armature).parts}
    heads = {part.bone for part in body_of(armature).parts if part.role == 'HEAD'}
    found = []
    for bone in armature.pose.bones:
        if bone.name in names or any(parent.name in heads for parent in bone.parent_recursive):
            found += [(bone, present_channel(bone)), (bone, ("location", bone.location[:]))]
    return found


def _is_unseen(bone: PoseBone, channel: str, old: tuple[float, ...]) -> bool:
    return all(abs(a - b) <= _UNSEEN for a, b in zip(old, getattr(bone, channel), strict=True))


def _take_back(armature: Object) -> None:
    """Turn bones back to the rotations that they had before the last Look At, if none of them was turned since."""
    settings = []
    for name, channel, before, after in json.loads(body_of(armature).turned_by_look or "[]"):
        bone = armature.pose.bones.get(name)
        if bone is None or channel not in ("location", channel_name(bone)):
            return
        if differ(getattr(bone, channel)[:], tuple(after)):
            return
        settings.append((bone, (channel, tuple(before))))
    write_channels(settings)
