# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Key the pose of a body whose pinned handles follow objects, or whose head looks at one, at every frame of a range.

Each frame is solved with the pose that the animation has there as the reference pose, from the solution of the frame
before; nothing is written until all frames are solved. Pins may be keyed: at frames at which nothing is followed the
animation stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...core import Array, FabrikError, Status
from ..animation.evaluated_frames import frame_in_errors, frames_of
from ..animation.fcurves import ActionEdit, remapping_of, undone_after_error
from ..animation.nla import needs_remapping
from ..rig.body_properties import body_of
from ..rig.body_snapshots import following_objects, take_body
from ..rig.rotation_channel import channel_name, has_locks, nearest_values, rotation_from
from ..rig.targets_and_poles import check_evaluated
from ..solving.corrected_goals import corrected_goals, deviations_of
from ..solving.solve_body import body_group, eyes_of_solution
from ..solving.solve_chains import solve_group
from .group_track import ChannelKey, UnreachedFrame, channel_of

if TYPE_CHECKING:
    from bpy.types import Object, ViewLayer

    from ..animation.evaluated_frames import Frames
    from ..animation.frame_range import FrameRange
    from ..solving.solve_chain_bones import SolvedChain

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
    unreached = []
    previous: tuple[SolvedChain, ...] = ()
    with frames_of(work.scene, work.view_layer, [work.armature, *filter(None, targets)]) as at:
        for number, frame in enumerate(work.frames):
            at.go_to(frame)
            with frame_in_errors(frame):
                found, previous = _solved_frame(work.view_layer, at.evaluated(work.armature), previous)
            for key, values in found.items():
                rows.setdefault(key, {})[number] = values
            names = following_objects(at.evaluated(work.armature))
            off = [one for one in previous if one.snapshot.name in names and one.status is not Status.REACHED]
            if off:
                worst = max(off, key=lambda one: one.error)
                unreached.append(UnreachedFrame(frame, worst.status.name, worst.error))
        if not rows:
            raise FabrikError("No pinned handle follows an object: choose one in the panel Handles")
        _complete(work, at, rows)
    return {key: _connected(work.armature, key, values) for key, values in rows.items()}, unreached


def _solved_frame(
    view_layer: ViewLayer, armature: Object, previous: tuple[SolvedChain, ...]
) -> tuple[dict[ChannelKey, _Values], tuple[SolvedChain, ...]]:
    """READ and solve a frame; return its channels and the solved chains, none where nothing is followed.

    Args:
        armature: evaluated at the frame.
        previous: the chains of the frame before. The solve starts from them unless pins make it a tree of others.
    """
    if not (following_objects(armature) or body_of(armature).use_look_at):
        return {}, ()
    read = take_body(view_layer, armature)
    group = body_group(armature, read)
    if [one.snapshot.name for one in previous] != [snapshot.name for snapshot in group.snapshots]:
        previous = ()
    # One correction, by what constraints add to the animation's pose: nothing is written before the end.
    goals = corrected_goals(group, {}, deviations_of(group, None))
    solved = solve_group(group, goals, previous)
    found: dict[ChannelKey, _Values] = {(root.name, "location"): root.location[:] for root in group.moving_roots}
    settings = [setting for chain in solved for setting in chain.settings] + eyes_of_solution(read, group, solved)
    for bone, (name, values) in settings:
        assert not isinstance(values, str)  # a body's bones don't stretch
        found[bone.name, name] = values
    return found, solved


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
