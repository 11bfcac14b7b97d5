# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the frames of all keys on which chains depend: of their bones, targets and poles, and what those depend on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from bpy_extras.anim_utils import action_get_channelbag_for_slot, animdata_get_channelbag_for_assigned_slot

from ...core import Array
from ..rig.dependencies import curves_of_node, followed_by_chains
from .animated_settings import acts_at_some_frame
from .fcurves import key_times, remapping_of

if TYPE_CHECKING:
    from bpy.types import ID, ActionChannelbag, NlaStrip, Object, Scene

    from ..rig.properties import FabrikChain

_WHOLE_FRAME = 1e-3
"""Distance in frames below which a time is a whole frame: times go through the NLA's single precision."""


def frames_to_bake(
    scene: Scene, armature: Object, chains: Sequence[FabrikChain], span: tuple[int, int], step: int, only_keyed: bool
) -> list[float]:
    """Return the frames to bake, ascending: every step-th frame and all keys on subframes, or the keyed frames alone.

    Args:
        scene: whose frames they are.
        span: first and last frame.
        step: frames from one to the next.
        only_keyed: the frames at which something is keyed that the chains depend on, and no others.
    """
    first, last = span[0] - _WHOLE_FRAME, span[1] + _WHOLE_FRAME
    keyed = [frame for frame in _keyed_frames(scene, armature, chains) if first <= frame <= last]
    if only_keyed:
        return keyed
    subframes = [frame for frame in keyed if not _is_whole(frame)]
    return sorted({*map(float, range(span[0], span[1] + 1, step)), *subframes})


def _is_whole(frame: float) -> bool:
    return abs(frame - round(frame)) <= _WHOLE_FRAME


def _keyed_frames(scene: Scene, armature: Object, chains: Iterable[FabrikChain]) -> list[float]:
    nodes = followed_by_chains(armature, chains, acts_at_some_frame())
    share = 1.0 / remapping_of(scene)
    frames = [share * time for owner, name in nodes for time in _times_of(owner, name)]
    return sorted({round(frame) if _is_whole(frame) else round(frame, 4) for frame in frames})


def _times_of(owner: ID, name: str) -> Iterator[float]:
    """Yield the times of keys on a node of ``followed_by``: those of its action and those of its NLA strips.

    The times are the scene's, before Time Stretching.
    """
    animation = getattr(owner, "animation_data", None)
    if animation is None:
        return
    times = _times_in(animdata_get_channelbag_for_assigned_slot(animation), owner, name)
    if animation.use_tweak_mode:
        times = np.array([animation.nla_tweak_strip_time_to_scene(time) for time in times])
    yield from times.tolist()
    for track in animation.nla_tracks if animation.use_nla else ():
        for strip in () if track.mute else track.strips:
            yield from _times_of_strip(strip, owner, name).tolist()


def _times_of_strip(strip: NlaStrip, owner: ID, name: str) -> Array:
    """Return the scene's times of keys on a node in a strip, or in the strips of a meta strip.

    Inner strips are in the scene's time, whatever the scale of their meta strip; with ``[a, b]`` its frames, a reversed
    one evaluates them at ``a + b - t``.
    """
    if strip.mute or strip.use_animated_time:
        return np.empty(0)
    if strip.action is not None:
        bag = action_get_channelbag_for_slot(strip.action, strip.action_slot)
        return _in_scene(strip, _times_in(bag, owner, name))
    times = np.concatenate([np.empty(0), *(_times_of_strip(inner, owner, name) for inner in strip.strips)])
    return strip.frame_start + strip.frame_end - times if strip.use_reverse else times


def _times_in(bag: ActionChannelbag | None, owner: ID, name: str) -> Array:
    """Return the times (K,) of keys on a node in a channelbag, ascending, in the action's time; None has no keys."""
    found = map(key_times, curves_of_node(bag.fcurves, owner, name) if bag else ())
    return np.unique(np.concatenate([np.empty(0), *found]))


def _in_scene(strip: NlaStrip, times: Array) -> Array:
    """Return the scene's times at which a strip evaluates given times (K,) of its action, once for every repeat.

    With ``s`` the strip's scale, ``[a, b]`` its part of the action and ``f`` its first frame, the time ``t`` of the
    action is evaluated at ``f + (k (b - a) + t - a) s`` in the repeat ``k = 0, 1, ...``; a reversed strip has ``b - t``
    for ``t - a``.
    """
    start, end = strip.action_frame_start, strip.action_frame_end
    shown = times[(times >= start - _WHOLE_FRAME) & (times <= end + _WHOLE_FRAME)]
    once = (end - shown if strip.use_reverse else shown - start) * strip.scale
    length = (end - start) * strip.scale
    repeats = np.arange(math.ceil(strip.repeat)) * length
    found: Array = (strip.frame_start + repeats[:, None] + once).ravel()
    return found[found <= strip.frame_end + _WHOLE_FRAME]
