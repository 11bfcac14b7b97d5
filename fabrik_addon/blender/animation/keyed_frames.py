# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""When there are keys on what chains depend on: their bones, their targets and poles, and what those follow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from bpy_extras.anim_utils import action_get_channelbag_for_slot, animdata_get_channelbag_for_assigned_slot

from ...core import Array
from ..rig.chain_bones import bones_of_chain
from ..rig.targets import Node, followed_by
from .fcurves import key_times, remapping_of

if TYPE_CHECKING:
    from bpy.types import ActionChannelbag, NlaStrip, Object, Scene

    from ..rig.properties import FabrikChain

_WHOLE = 1e-3
"""Distance from a whole frame that is none."""


def frames_to_bake(
    scene: Scene, armature: Object, chains: Sequence[FabrikChain], span: tuple[int, int], step: int, only_keyed: bool
) -> list[float]:
    """Return the frames to bake: every step-th and keys that lie between frames, or those with keys alone.

    Args:
        scene: the frames' own.
        armature: object with the chains.
        chains: to be baked.
        span: first and last frame.
        step: frames from one to the next.
        only_keyed: leave out frames at which nothing is keyed that the chains depend on.
    """
    keyed = [time for time in _keyed_frames(scene, armature, chains) if span[0] - _WHOLE <= time <= span[1] + _WHOLE]
    if only_keyed:
        return keyed
    between = [time for time in keyed if abs(time - round(time)) > _WHOLE]
    return sorted({*map(float, range(span[0], span[1] + 1, step)), *between})


def _keyed_frames(scene: Scene, armature: Object, chains: Iterable[FabrikChain]) -> list[float]:
    nodes: set[Node] = set()
    for chain in chains:
        starts: list[Node] = [(chain.target, chain.subtarget)] if chain.target else []
        starts += [(chain.pole_target, chain.pole_subtarget)] if chain.pole_target else []
        starts += [(armature, bone.name) for bone in bones_of_chain(armature, chain.tip, chain.chain_count, True)]
        for start in starts:
            nodes |= followed_by(start)
    share = 1.0 / remapping_of(scene)
    frames = [share * time for obj, bone_name in nodes for time in _times_of(obj, bone_name)]
    return sorted({round(frame) if abs(frame - round(frame)) <= _WHOLE else round(frame, 4) for frame in frames})


def _times_of(obj: Object, bone_name: str) -> Iterator[float]:
    """Yield the scene's times with keys on an object or one of its bones, in its action and in strips of the NLA."""
    animation = obj.animation_data
    if animation is None:
        return
    is_bone = bone_name and obj.type == 'ARMATURE'
    bone = obj.pose.bones.get(bone_name) if is_bone else None
    prefix = bone.path_from_id() if bone else ""
    times = _times_in(animdata_get_channelbag_for_assigned_slot(animation), prefix)
    if animation.use_tweak_mode:
        times = np.array([animation.nla_tweak_strip_time_to_scene(time) for time in times])
    yield from times.tolist()
    for track in animation.nla_tracks if animation.use_nla else ():
        for strip in track.strips:
            if strip.action is not None and not (track.mute or strip.mute or strip.use_animated_time):
                yield from _in_scene(strip, _times_in(_bag_of(strip), prefix)).tolist()


def _bag_of(strip: NlaStrip) -> ActionChannelbag | None:
    return action_get_channelbag_for_slot(strip.action, strip.action_slot)


def _times_in(bag: ActionChannelbag | None, prefix: str) -> Array:
    """Return when there are keys on a bone, by its path, or on the object itself; in the action's time."""
    found = [
        key_times(curve)
        for curve in (bag.fcurves if bag else ())
        if (curve.data_path.startswith(prefix) if prefix else not curve.data_path.startswith("pose."))
    ]
    return np.unique(np.concatenate([np.empty(0), *found]))


def _in_scene(strip: NlaStrip, times: Array) -> Array:
    """Return the scene's times at which a strip shows given times of its action, again for every repeat."""
    start, end = strip.action_frame_start, strip.action_frame_end
    shown = times[(times >= start - _WHOLE) & (times <= end + _WHOLE)]
    once = (end - shown if strip.use_reverse else shown - start) * strip.scale
    length = (end - start) * strip.scale
    repeats = np.arange(math.ceil(strip.repeat)) * length
    found: Array = (strip.frame_start + repeats[:, None] + once).ravel()
    return found[found <= strip.frame_end + _WHOLE]
