# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Key the pose of a body whose pinned handles follow objects, or whose head looks at one, at every frame of a range.

Nothing is written until all frames are solved (``solve_body_frames``). Pins may be keyed: at frames at which nothing is
followed the animation stays.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from ...core import Array, FabrikError
from ..animation.animated_settings import animated_paths, check_one_mode
from ..animation.evaluated_frames import frames_of
from ..animation.fcurves import ActionEdit, remapping_of, undone_after_error
from ..bones.rotation_channel import channel_name, has_locks, nearest_values, rotation_from
from ..rig.body_properties import body_of
from ..rig.targets_and_poles import check_evaluated
from .group_track import ChannelKey, UnreachedFrame, channel_of
from .keyed_channels import key_channels, match_evaluated
from .solve_body_frames import SolvedBodyFrame, solved_body_frames, unreached_frames

if TYPE_CHECKING:
    from bpy.types import Object

    from ..animation.evaluated_frames import Frames
    from ..animation.frame_range import FrameRange

_Values: TypeAlias = tuple[float, ...]

_Rows: TypeAlias = dict[ChannelKey, dict[int, _Values]]
"""Values of channels, by the numbers of the frames that have them."""


class BakedBody(NamedTuple):
    """The result of a bake."""

    unreached: list[UnreachedFrame]
    """The frames at which a handle isn't at its object, with the largest error of each frame."""
    overridden: list[str]
    """What acts after their channels on the bones of handles that aren't at their objects (``Snapshot.overridden``)."""


def bake_body(work: FrameRange) -> BakedBody:
    """Key the bones of a body at every frame, with its pinned handles where the objects are that they follow.

    Head and eyes of a body that looks at a point are turned to where that point is at each frame.

    Raises:
        FabrikError: at no frame a handle follows an object or the head looks at something, Blender doesn't evaluate the
            armature, the body can't be solved at some frame, or its curves can't be changed; then nothing has changed.
    """
    armature = work.armature
    work.view_layer.update()
    check_evaluated(work.view_layer, armature, f"'{armature.name}'")
    edit = ActionEdit(armature, remapping_of(work.scene))
    with undone_after_error(work.view_layer, [armature], [edit]) as stored:
        found, rows = _solved(work)
        solved = [one for one in found if one is not None]
        paths = animated_paths(armature)
        for bone_name, channel in rows:
            if channel != "location":
                check_one_mode(paths, armature.pose.bones[bone_name])
        channels = ((channel_of(armature, key), values.shape[1]) for key, values in rows.items())
        edit.check(channels, work.frames, work.span)
        written = key_channels(work, edit, rows, max(one.length for one in solved))
        work.view_layer.update()
        match_evaluated(work, edit, written)
        unreached = [one.unreached for one in solved if one.unreached is not None]
        overridden: list[str] = []
        if any(one.is_deviating for one in solved):
            # What is solved isn't what is shown.
            with _frames_of(work) as at:
                unreached, overridden = unreached_frames(work, at)
        stored.restore(but=edit.changed)
    work.view_layer.update()
    return BakedBody(unreached, overridden)


def _solved(work: FrameRange) -> tuple[list[SolvedBodyFrame | None], dict[ChannelKey, Array]]:
    """READ and solve all frames; return them, and the channels (F, C)."""
    rows: _Rows = {}
    with _frames_of(work) as at:
        found = solved_body_frames(work, at)
        for number, solved in enumerate(found):
            for key, values in ({} if solved is None else solved.channels).items():
                rows.setdefault(key, {})[number] = values
        if not rows:
            raise FabrikError("No pinned handle follows an object: choose one in the panel Handles")
        _complete(work, at, rows)
    return found, {key: _connected(work.armature, key, values) for key, values in rows.items()}


def _frames_of(work: FrameRange) -> AbstractContextManager[Frames]:
    """Return the frames of an armature and of what its body follows."""
    body = body_of(work.armature)
    followed = [obj for obj in (*(one.target for one in body.handles), body.look_target) if obj is not None]
    return frames_of(work.scene, work.view_layer, [work.armature, *followed])


def _complete(work: FrameRange, at: Frames, rows: _Rows) -> None:
    """READ the animation's own channels at frames at which a body was solved without them, or not at all."""
    for number, frame in enumerate(work.frames):
        lacking = [key for key, values in rows.items() if number not in values]
        if lacking:
            at.go_to(frame)
            bones = at.evaluated(work.armature).pose.bones
            for key in lacking:
                rows[key][number] = getattr(bones[key[0]], key[1])[:]


def _connected(armature: Object, key: ChannelKey, values: dict[int, _Values]) -> Array:
    """Return a channel (F, C), rotations as the values nearest to those of the frame before."""
    bone, name = armature.pose.bones[key[0]], key[1]
    found = [values[number] for number in range(len(values))]
    if name == channel_name(bone) and not has_locks(bone):
        for number in range(1, len(found)):
            rotation = rotation_from(bone, (name, found[number]))
            found[number] = nearest_values(bone.rotation_mode, rotation, found[number - 1])
    return np.array(found)
