# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""When there are keys on what chains depend on: their bones, their targets and poles, and what those follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from bpy_extras.anim_utils import animdata_get_channelbag_for_assigned_slot

from ..snapshot import bones_of_chain
from ..targets import Node, followed_by
from .curves import key_times

if TYPE_CHECKING:
    from bpy.types import Object

    from ..properties import FabrikChain

_WHOLE = 1e-3
"""Distance from a whole frame that is none."""


def frames_to_bake(
    armature: Object, chains: Sequence[FabrikChain], span: tuple[int, int], step: int, only_keyed: bool
) -> list[float]:
    """Return the frames to bake: every step-th and keys that lie between frames, or those with keys alone.

    Args:
        armature: object with the chains.
        chains: to be baked.
        span: first and last frame.
        step: frames from one to the next.
        only_keyed: leave out frames at which nothing is keyed that the chains depend on.
    """
    keyed = [time for time in _keyed_times(armature, chains) if span[0] - _WHOLE <= time <= span[1] + _WHOLE]
    if only_keyed:
        return keyed
    between = [time for time in keyed if abs(time - round(time)) > _WHOLE]
    return sorted({*map(float, range(span[0], span[1] + 1, step)), *between})


def _keyed_times(armature: Object, chains: Iterable[FabrikChain]) -> list[float]:
    nodes: set[Node] = set()
    for chain in chains:
        starts: list[Node] = [(chain.target, chain.subtarget)] if chain.target else []
        starts += [(chain.pole_target, chain.pole_subtarget)] if chain.pole_target else []
        starts += [(armature, bone.name) for bone in bones_of_chain(armature, chain.tip, chain.chain_count, True)]
        for start in starts:
            nodes |= followed_by(start)
    times = [time for obj, bone_name in nodes for time in _times_of(obj, bone_name)]
    return sorted({round(time) if abs(time - round(time)) <= _WHOLE else round(time, 4) for time in times})


def _times_of(obj: Object, bone_name: str) -> Iterable[float]:
    """Yield the scene's frames with keys on an object or one of its bones."""
    bag = animdata_get_channelbag_for_assigned_slot(obj.animation_data)
    if bag is None:
        return
    is_bone = bone_name and obj.type == 'ARMATURE'
    bone = obj.pose.bones.get(bone_name) if is_bone else None
    prefix = bone.path_from_id() if bone else ""
    for curve in bag.fcurves:
        if curve.data_path.startswith(prefix) if prefix else not curve.data_path.startswith("pose."):
            times = np.unique(key_times(curve))
            if obj.animation_data.use_tweak_mode:
                times = np.array([obj.animation_data.nla_tweak_strip_time_to_scene(time) for time in times])
            yield from times.tolist()
