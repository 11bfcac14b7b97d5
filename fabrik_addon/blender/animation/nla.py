# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: keys that make the NLA show what is wanted. Blender itself says what they must be, key by key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...core import Array, FabrikError
from .fcurves import ActionEdit, Channel, read_keys

if TYPE_CHECKING:
    from bpy.types import AnimData, FCurve, PoseBone


def needs_remapping(animation: AnimData | None) -> bool:
    """Tell whether the NLA blends the action that is edited with others, so that a key's value isn't what shows."""
    if animation is None or not animation.use_nla:
        return False
    if not any(strip for track in animation.nla_tracks for strip in track.strips):
        return False
    is_plain = animation.action_blend_type == 'REPLACE' and animation.action_influence == 1.0
    return animation.use_tweak_mode or not is_plain


def remapped(
    edit: ActionEdit, bone: PoseBone, channel: Channel, frames: Sequence[float], times: Array, values: Array
) -> Array:
    """Return the values (F, C) of keys with which the NLA shows given ones.

    Args:
        edit: of the action.
        bone: with the channel.
        channel: to be keyed.
        frames: (F,) of the scene.
        times: (F,) the same in the action's time.
        values: (F, C) that should show.

    Raises:
        FabrikError: no key can bring that about.
    """
    name = channel.data_path.rpartition(".")[2]
    curves = edit.curves(channel, values.shape[1])
    before = getattr(bone, name)[:]
    found = np.empty_like(values)
    try:
        for number, frame in enumerate(frames):
            setattr(bone, name, values[number])
            # Blender takes one time for both: into the strip's own, and through the strips around it.
            if not bone.keyframe_insert(name, frame=edit.remapping * frame):
                raise FabrikError(f"Bone '{bone.name}' can't be keyed at frame {frame:g}: NLA strips above override it")
        for index, curve in enumerate(curves):
            found[:, index] = _values_at(curve, times)
    except RuntimeError as error:
        raise FabrikError(f"Bone '{bone.name}' can't be keyed: {error}") from error
    finally:
        setattr(bone, name, before)
        edit.restore([channel])
    return found


def _values_at(curve: FCurve, times: Array) -> Array:
    """Return the values of a curve's keys at times at which it has some."""
    keys = read_keys(curve)["co"].astype(float)
    places = np.clip(np.searchsorted(keys[:, 0], times - 1e-3), 0, len(keys) - 1)
    return keys[places, 1]
