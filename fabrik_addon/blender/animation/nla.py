# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: values of keys with which the NLA's result is a desired one.

The NLA blends the action that is edited with the strips below and above it, so the value of a key isn't the evaluated
value. Blender inverts its own blending when it inserts a key (``BKE_animsys_nla_remap_keyframe_values``). So the
desired values are set and keyed one by one, the keys are read, and the curves are restored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...core import Array, FabrikError
from .fcurves import ActionEdit, Channel, read_keys

if TYPE_CHECKING:
    from bpy.types import AnimData, FCurve, Object, PoseBone


_SAME_KEY = 1e-3
"""Distance in frames between a time and the key that was inserted there: keys are in single precision."""


def needs_remapping(animation: AnimData | None) -> bool:
    """Tell whether the NLA blends the action that is edited with others, so that evaluated values aren't the keys'."""
    if animation is None or not animation.use_nla:
        return False
    if not any(strip for track in animation.nla_tracks for strip in track.strips):
        return False
    is_plain = animation.action_blend_type == 'REPLACE' and animation.action_influence == 1.0
    return animation.use_tweak_mode or not is_plain


def remapped(
    edit: ActionEdit,
    owner: Object | PoseBone,
    channel: Channel,
    frames: Sequence[float],
    times: Array,
    values: Array,
    what: str = "Bone",
) -> Array:
    """Return the values (F, C) of keys with which the NLA evaluates to given values.

    Args:
        edit: of the action.
        owner: what has the channel.
        frames: (F,) of the scene.
        times: (F,) the same in the action's time.
        values: (F, C) desired after the NLA's blending.
        what: the kind of owner, before its name in errors.

    Raises:
        FabrikError: the blending has no inverse there.
    """
    name = channel.data_path.rpartition(".")[2]
    curves = edit.curves(channel, values.shape[1])
    before = getattr(owner, name)[:]
    found = np.empty_like(values)
    try:
        for number, frame in enumerate(frames):
            setattr(owner, name, values[number])
            # Blender maps this one time into the strip's time, and evaluates the strips around it at the same time.
            if not owner.keyframe_insert(name, frame=edit.remapping * frame):
                raise overridden_by_strips(owner, frame, what)
        for index, curve in enumerate(curves):
            found[:, index] = _values_at(curve, times)
    except RuntimeError as error:
        raise FabrikError(f"{what} '{owner.name}' can't be keyed: {error}") from error
    finally:
        setattr(owner, name, before)
        edit.restore([channel])
    return found


def overridden_by_strips(owner: Object | PoseBone, frame: float, what: str = "Bone") -> FabrikError:
    """Return the error of a channel at a frame at which no key brings about the desired value."""
    return FabrikError(
        f"{what} '{owner.name}' can't be keyed at frame {frame:g}: NLA strips above override it, or its layer "
        "multiplies zeros"
    )


def _values_at(curve: FCurve, times: Array) -> Array:
    """Return the values (K,) of a curve's keys at times (K,); 1 at times without a key.

    Blender inserts no key into a component that the layer multiplies by it and that is 0 below: every key gives 0
    there, as 1 does.
    """
    keys = read_keys(curve)["co"].astype(float)
    if not len(keys):
        return np.ones_like(times)
    places = np.clip(np.searchsorted(keys[:, 0], times - _SAME_KEY), 0, len(keys) - 1)
    return np.where(np.abs(keys[places, 0] - times) <= _SAME_KEY, keys[places, 1], 1.0)
