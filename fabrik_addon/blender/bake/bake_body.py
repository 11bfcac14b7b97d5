# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Key the pose of a body whose pinned handles follow objects, or whose head looks at one, at every frame of a range.

Each frame is solved with the pose that the animation has there as the reference pose, from the solution of the frame
before; nothing is written until all frames are solved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core import FabrikError, Status
from ..animation.evaluated_frames import frame_in_errors, frames_of
from ..animation.fcurves import ActionEdit, remapping_of
from ..animation.nla import needs_remapping
from ..rig.body_properties import body_of
from ..rig.body_snapshots import following_objects, take_body
from ..rig.rotation_channel import channel_name, has_locks, nearest_values, rotation_from
from ..solving.corrected_goals import corrected_goals, deviations_of
from ..solving.solve_body import body_group, eyes_of_solution
from ..solving.solve_chains import solve_group
from ..solving.stored_values import store_values
from .group_track import ChannelKey, UnreachedFrame, channel_of, width_of

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

    from ..animation.frame_range import FrameRange
    from ..rig.rotation_channel import Channel, Values
    from ..solving.chain_groups import Group
    from ..solving.solve_chain_bones import SolvedChain

_Rows = dict[ChannelKey, list[tuple[float, ...]]]
"""Values of channels, frame by frame."""


def bake_body(work: FrameRange) -> list[UnreachedFrame]:
    """Key the bones of a body at every frame, with its pinned handles where the objects are that they follow.

    Head and eyes of a body that looks at a point are turned to where that point is at each frame.

    Returns:
        the frames at which a handle isn't at its object, with the largest error of each frame.

    Raises:
        FabrikError: no handle follows an object and the head looks at nothing, the body can't be solved at some frame,
            or its curves can't be changed; then nothing has changed.
    """
    armature = work.armature
    if not (following_objects(armature) or body_of(armature).use_look_at):
        raise FabrikError("No pinned handle follows an object: choose one in the panel Handles")
    work.view_layer.update()
    stored, edit = store_values(work.view_layer, [armature]), ActionEdit(armature, remapping_of(work.scene))
    try:
        if needs_remapping(armature.animation_data):
            raise FabrikError(f"'{armature.name}' can't be keyed: the NLA blends its action with others")
        rows, unreached = _solved(work)
        _write(work, edit, rows)
        work.view_layer.update()
        stored.restore(but=edit.changed)
    except BaseException:
        edit.restore()
        work.view_layer.update()
        stored.restore()
        work.view_layer.update()
        raise
    work.view_layer.update()
    return unreached


def _solved(work: FrameRange) -> tuple[_Rows, list[UnreachedFrame]]:
    """READ and solve all frames; return the channels and the frames at which a handle isn't at its object."""
    names = following_objects(work.armature)
    body = body_of(work.armature)
    targets = [one.target for one in body.handles if one.name in names]
    targets += [body.look_target] if body.use_look_at and body.look_target is not None else []
    rows: _Rows = {}
    unreached = []
    previous: tuple[SolvedChain, ...] = ()
    with frames_of(work.scene, work.view_layer, [work.armature, *targets]) as at:
        for frame in work.frames:
            at.go_to(frame)
            evaluated = at.evaluated(work.armature)
            with frame_in_errors(frame):
                read = take_body(evaluated)
                group = body_group(evaluated, read)
                # One correction, by what constraints add to the animation's pose: nothing is written before the end.
                goals = corrected_goals(group, {}, deviations_of(group, None))
                previous = solve_group(group, goals, previous)
            eyes = eyes_of_solution(read, group, previous)
            for key, values in _channels_of(evaluated, group, (previous, eyes), rows).items():
                rows.setdefault(key, []).append(values)
            off = [one for one in previous if one.snapshot.name in names and one.status is not Status.REACHED]
            if off:
                worst = max(off, key=lambda one: one.error)
                unreached.append(UnreachedFrame(frame, worst.status.name, worst.error))
    return rows, unreached


def _channels_of(
    armature: Object,
    group: Group,
    solved: tuple[tuple[SolvedChain, ...], list[tuple[PoseBone, Channel]]],
    before: _Rows,
) -> dict[ChannelKey, tuple[float, ...]]:
    """Return the channels of a frame, rotations as the values nearest to those of the frame before.

    Args:
        armature: evaluated at the frame.
        group: of the body.
        solved: of the group, and the channels of the eyes.
        before: channels of the frames before.
    """
    found: dict[ChannelKey, Values] = {(root.name, "location"): root.location[:] for root in group.moving_roots}
    chains, eyes = solved
    settings = [setting for chain in chains for setting in chain.settings] + eyes
    found |= {(bone.name, name): values for bone, (name, values) in settings}
    made = {}
    for (bone_name, name), values in found.items():
        assert not isinstance(values, str)  # a body's bones don't stretch
        bone = armature.pose.bones[bone_name]
        if name == channel_name(bone) and not has_locks(bone) and (bone_name, name) in before:
            rotation = rotation_from(bone, (name, values))
            values = nearest_values(bone.rotation_mode, rotation, before[bone_name, name][-1])
        made[bone_name, name] = values
    return made


def _write(work: FrameRange, edit: ActionEdit, rows: _Rows) -> None:
    """WRITE: channels into curves."""
    times, edges = edit.times(work.frames), edit.times(work.span)
    for key in rows:
        edit.check(channel_of(work.armature, key), width_of(work.armature, key))
    for key, values in rows.items():
        edit.bake(channel_of(work.armature, key), times, np.array(values), (float(edges[0]), float(edges[1])))
    edit.done()
