# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Key the pose of a body whose pinned handles follow objects, or whose head looks at one, at every frame of a range.

Nothing is written until all frames are solved (``solve_body_frames``). Pins may be keyed: at frames at which nothing is
followed the animation stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...core import Array, FabrikError
from ..animation.evaluated_frames import frames_of
from ..animation.fcurves import ActionEdit, remapping_of, undone_after_error
from ..animation.nla import needs_remapping
from ..rig.body_properties import body_of
from ..rig.rotation_channel import channel_name, has_locks, nearest_values, rotation_from
from ..rig.targets_and_poles import check_evaluated
from .group_track import ChannelKey, UnreachedFrame, channel_of
from .solve_body_frames import solved_body_frames

if TYPE_CHECKING:
    from bpy.types import Object

    from ..animation.evaluated_frames import Frames
    from ..animation.frame_range import FrameRange

_Values: TypeAlias = tuple[float, ...]

_Rows: TypeAlias = dict[ChannelKey, dict[int, _Values]]
"""Values of channels, by the numbers of the frames that have them."""


def bake_body(work: FrameRange) -> list[UnreachedFrame]:
    """Key the bones of a body at every frame, with its pinned handles where the objects are that they follow.

    Head and eyes of a body that looks at a point are turned to where that point is at each frame.

    Returns:
        the frames at which a handle isn't at its object, with the largest error of each frame.

    Raises:
        FabrikError: at no frame a handle follows an object or the head looks at something, Blender doesn't evaluate the
            armature, the body can't be solved at some frame, or its curves can't be changed; then nothing has changed.
    """
    armature = work.armature
    work.view_layer.update()
    check_evaluated(work.view_layer, armature, f"'{armature.name}'")
    edit = ActionEdit(armature, remapping_of(work.scene))
    with undone_after_error(work.view_layer, [armature], [edit]) as stored:
        if needs_remapping(armature.animation_data):
            raise FabrikError(f"'{armature.name}' can't be keyed: the NLA blends its action with others")
        rows, unreached = _solved(work)
        _write(work, edit, rows)
        work.view_layer.update()
        stored.restore(but=edit.changed)
    work.view_layer.update()
    return unreached


def _solved(work: FrameRange) -> tuple[dict[ChannelKey, Array], list[UnreachedFrame]]:
    """READ and solve all frames; return the channels (F, C) and the frames at which a handle isn't at its object."""
    body = body_of(work.armature)
    targets = [one.target for one in body.handles] + [body.look_target]
    rows: _Rows = {}
    with frames_of(work.scene, work.view_layer, [work.armature, *filter(None, targets)]) as at:
        found = solved_body_frames(work, at)
        for number, solved in enumerate(found):
            for key, values in ({} if solved is None else solved.channels).items():
                rows.setdefault(key, {})[number] = values
        if not rows:
            raise FabrikError("No pinned handle follows an object: choose one in the panel Handles")
        _complete(work, at, rows)
    unreached = [solved.unreached for solved in found if solved is not None and solved.unreached is not None]
    return {key: _connected(work.armature, key, values) for key, values in rows.items()}, unreached


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


def _write(work: FrameRange, edit: ActionEdit, rows: dict[ChannelKey, Array]) -> None:
    """WRITE: channels into curves."""
    times, span = edit.times(work.frames), edit.span(work.span)
    for key, values in rows.items():
        edit.check(channel_of(work.armature, key), values.shape[1])
    for key, values in rows.items():
        edit.bake(channel_of(work.armature, key), times, values, span)
    edit.done()
