# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: channels of bones into curves, with the keys that bring them about where the NLA blends actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ...core import Array
from ...core.math.key_reduction import needed_keys, slopes_of
from ...core.math.operations import IntegerArray
from ...core.math.quaternion_arrays import angle_between, from_values
from ..animation.evaluated_frames import frames_of
from ..animation.fcurves import ActionEdit, Channel
from ..animation.nla import needs_remapping, overridden_by_strips, remapped
from .group_track import ChannelKey, channel_of

if TYPE_CHECKING:
    from bpy.types import PoseBone

    from ..animation.frame_range import FrameRange

_NLA_IMPRECISION = 1e-3
"""Error of a channel after the NLA's blending that comes from its single precision: radians, or a share of lengths."""


@dataclass
class KeyedChannel:
    """One channel with its desired values at all frames, and the keys that bring them about."""

    channel: Channel
    bone: PoseBone
    name: str
    length: float
    """Of the longest chain, in armature space."""
    times: Array
    """(F,) of the frames, in the action's time."""
    span: tuple[float, float]
    """First and last time between which keys are replaced."""
    desired: Array
    """(F, C) values after the NLA's blending."""
    keyed: Array
    """(F, C) values of keys: the desired ones, except where the NLA blends the action with others."""
    slopes: Array | None
    """(F, C) of the curves at the keys; None where all frames are keyed."""
    kept: IntegerArray
    """Numbers of the frames that are keyed, ascending."""

    def error(self, found: Array) -> Array:
        """Return the distances (F,) of values (F, C) from the desired ones.

        Rotations: the angle in radians; locations: the distance over ``length``; scales: the largest difference.
        """
        if self.name == "location":
            return np.linalg.norm(found - self.desired, axis=1) / self.length
        if self.name == "scale":
            return np.abs(found - self.desired).max(axis=1)
        mode = self.bone.rotation_mode
        return angle_between(from_values(mode, found), from_values(mode, self.desired))

    def reduce(self, tolerance: float) -> None:
        """Keep the keys alone between which the curve is within a tolerance of the desired values.

        Where the NLA blends the action with others the curve isn't what is evaluated: only the first and the last key
        are kept then, and ``match_evaluated`` adds those that are needed.
        """
        self.slopes = slopes_of(self.times, self.keyed)
        if self.keyed is not self.desired:
            self.kept = np.unique([0, len(self.times) - 1])
            return
        self.kept = needed_keys(self.times, self.desired, self.slopes, lambda found, _: self.error(found), tolerance)

    def add_keys(self, errors: Array, tolerance: float) -> bool:
        """Add a key at the worst frame between each two keys, where it is off by more than a tolerance.

        Args:
            errors: (F,) of the present curve at all frames.
            tolerance: that is exceeded.

        Returns:
            whether there was such a frame.
        """
        between = [(start + 1, end) for start, end in pairwise(self.kept.tolist()) if end > start + 1]
        worst = [start + int(errors[start:end].argmax()) for start, end in between]
        added = [number for number in worst if errors[number] > tolerance]
        self.kept = np.union1d(self.kept, np.array(added, np.int64))
        return bool(added)

    def write(self, edit: ActionEdit) -> None:
        """WRITE: the kept keys into the channel's curves."""
        slopes = None if self.slopes is None else self.slopes[self.kept]
        edit.bake(self.channel, self.times[self.kept], self.keyed[self.kept], self.span, slopes)


def key_channels(
    work: FrameRange,
    edit: ActionEdit,
    values: Mapping[ChannelKey, Array],
    length: float,
    tolerance: float | None = None,
) -> list[KeyedChannel]:
    """WRITE: channels into curves.

    Args:
        work: frames, and where keys go.
        edit: of the armature's action.
        values: (F, C) of each channel, after the NLA's blending.
        length: of the longest chain, in armature space.
        tolerance: largest change at frames whose keys are left out (``KeyedChannel.error``); None keys all frames.

    Raises:
        FabrikError: the NLA's blending has no inverse.
    """
    armature = work.armature
    times, span = edit.times(work.frames), edit.span(work.span)
    is_remapped = needs_remapping(armature.animation_data)
    written = []
    for key, desired in values.items():
        channel, bone = channel_of(armature, key), armature.pose.bones[key[0]]
        keyed = remapped(edit, bone, channel, work.frames, times, desired) if is_remapped else desired
        one = KeyedChannel(channel, bone, key[1], length, times, span, desired, keyed, None, np.arange(len(times)))
        if tolerance is not None:
            one.reduce(tolerance)
        one.write(edit)
        written.append(one)
    edit.done()
    return written


def match_evaluated(
    work: FrameRange, edit: ActionEdit, written: Sequence[KeyedChannel], tolerance: float | None = None
) -> None:
    """Add keys until the channels that the NLA evaluates are within a tolerance of the desired ones.

    They differ where it blends the action with others. Which keys are needed can't be computed from the keys alone: an
    error of a key isn't the error of the blended channel (a factor of 1.01 is nothing in the layer, and multiplies what
    is below by it). So the blended channels are read at all frames, in as many rounds as keys are added between two
    others.

    Raises:
        FabrikError: they aren't with keys at all frames: strips above override them, or the layer multiplies zeros.
    """
    if not needs_remapping(work.armature.animation_data):
        return
    while True:
        evaluated = _evaluated_channels(work, written)
        errors = [one.error(found) for one, found in zip(written, evaluated, strict=True)]
        grown = []
        for one, off in zip(written, errors, strict=True):
            if tolerance is not None and one.add_keys(off, tolerance):
                grown.append(one)
        if not grown:
            break
        for one in grown:
            one.write(edit)
        edit.done()
        work.view_layer.update()
    for one, off in zip(written, errors, strict=True):
        worst = int(off.argmax())
        if not off[worst] <= (tolerance or 0.0) + _NLA_IMPRECISION:
            raise overridden_by_strips(one.bone, work.frames[worst])


def _evaluated_channels(work: FrameRange, written: Sequence[KeyedChannel]) -> list[Array]:
    """READ: the evaluated values (F, C) of channels at all frames."""
    evaluated = [np.empty_like(one.desired) for one in written]
    with frames_of(work.scene, work.view_layer, [work.armature]) as at:
        for number, frame in enumerate(work.frames):
            at.go_to(frame)
            bones = at.evaluated(work.armature).pose.bones
            for one, found in zip(written, evaluated, strict=True):
                found[number] = getattr(bones[one.bone.name], one.name)[:]
    return evaluated
