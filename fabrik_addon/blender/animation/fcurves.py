# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: keys of F-curves in bulk, one ``foreach_set`` for each attribute, and how to undo what was written.

Between two keys ``(t0, v0)`` and ``(t1, v1)`` with slopes ``m0`` and ``m1``, and ``h = t1 - t0``, the curve is
Hermite's cubic when the Bezier handles are at ``(t0 + h/3, v0 + m0 h/3)`` and ``(t1 - h/3, v1 - m1 h/3)``: the time is
then linear in the Bezier parameter. The handles of reduced bakes are put there, because ``core.math.key_reduction``
measures this cubic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import bpy
import numpy as np
from bpy_extras.anim_utils import (
    action_ensure_channelbag_for_slot,
    action_get_channelbag_for_slot,
    animdata_get_channelbag_for_assigned_slot,
)
from numpy.typing import NDArray

from ...core import Array, FabrikError
from ..rig.body_properties import body_of
from ..rig.item_animation import check_not_linked, check_own
from ..rig.properties import settings_of
from ..solving.stored_values import StoredValues, store_values

if TYPE_CHECKING:
    from bpy.types import Action, ActionChannelbag, ActionSlot, AnimData, FCurve, FModifier, Object, Scene, ViewLayer

    from ..solving.stored_values import Property

_FLOATS = {"co": 2, "handle_left": 2, "handle_right": 2, "back": 1, "amplitude": 1, "period": 1}
_ENUMS = ("interpolation", "easing", "handle_left_type", "handle_right_type", "type")
_FLAGS = ("select_control_point", "select_left_handle", "select_right_handle")
_HANDLES = ("handle_left", "handle_right")
_SEGMENT = ("interpolation", "easing", "back", "amplitude", "period")
"""Attributes of a key that say how the curve goes on to the next one."""

_MODIFIER_EFFECT = 1e-4
"""Difference between a curve with modifiers and its keys above which the modifiers change the baked values."""

_SAME_TIME = 1e-3
"""Distance in frames below which two keys are at the same time (Blender's own: ``BEZT_BINARYSEARCH_THRESH``, 0.01)."""

Keys: TypeAlias = dict[str, NDArray[Any]]
"""Attributes of ``bpy.types.Keyframe``, for all keys of a curve, (K,) or (K, 2).

``Any``, because the attributes are float32, int32 or bool.
"""


@dataclass(frozen=True)
class Channel:
    """One channel of an object or a bone, with all its components: the curves that keys are written to."""

    data_path: str
    group: str
    """Name of the group that new curves are put into."""


def read_keys(curve: FCurve) -> Keys:
    """Return every attribute of a curve's keys."""
    points, count = curve.keyframe_points, len(curve.keyframe_points)
    keys: Keys = {name: np.empty(count * width, np.float32) for name, width in _FLOATS.items()}
    keys |= {name: np.empty(count, np.int32) for name in _ENUMS} | {name: np.empty(count, bool) for name in _FLAGS}
    for name, values in keys.items():
        points.foreach_get(name, values)
    return {name: values.reshape(count, 2) if _FLOATS.get(name) == 2 else values for name, values in keys.items()}


def write_keys(curve: FCurve, keys: Keys) -> None:
    """Replace a curve's keys.

    Args:
        keys: in order of time. Attributes that newly added keys have already are not written again.
    """
    points = curve.keyframe_points
    points.clear()
    points.add(len(keys["co"]))
    added = _as_added()
    for name, values in keys.items():
        if name not in added or (values != added[name]).any():
            points.foreach_set(name, np.ascontiguousarray(values).ravel())


def remapping_of(scene: Scene) -> float:
    """Return the action's time over the scene's frame: the ratio *Old* to *New* of the scene's Time Stretching."""
    return scene.render.frame_map_old / scene.render.frame_map_new


def key_times(curve: FCurve) -> Array:
    """Return the times (K,) of a curve's keys, in the action's time."""
    co = np.empty(2 * len(curve.keyframe_points), np.float32)
    curve.keyframe_points.foreach_get("co", co)
    return co[::2].astype(float)


def _bake_curve(curve: FCurve, times: Array, values: Array, span: tuple[float, float], slopes: Array | None) -> None:
    """Replace a curve's keys in a span of time; the keys before and after it keep every attribute.

    Args:
        times: (K,) of the new keys, ascending, in the action's time.
        values: (K,) of the new keys.
        span: times between which keys are replaced, both included.
        slopes: (K,) of the curve at the new keys, value over time, from which their handles are computed. None gives
            them Blender's automatic handles, and linear interpolation between neighbouring frames.
    """
    old = read_keys(curve)
    before, after = old["co"][:, 0] < span[0] - _SAME_TIME, old["co"][:, 0] > span[1] + _SAME_TIME
    new = _new_keys(times, values, slopes)
    if after.any() and not after.all():
        # As Blender does with a key that it inserts: the frames after the span go on, or hold, as before.
        held = np.flatnonzero(~after)[-1]
        for name in _SEGMENT:
            new[name][-1] = old[name][held]
    if slopes is None and not (before.any() or after.any()):
        # FCurve.update computes the handles.
        write_keys(curve, {name: values for name, values in new.items() if name not in _HANDLES})
        curve.update()
        return
    keys = {name: np.concatenate([old[name][before], new[name], old[name][after]]) for name in new}
    write_keys(curve, keys)
    if slopes is not None:
        return
    curve.update()
    # FCurve.update has recomputed the automatic handles of all keys: those outside the span get their old ones back.
    first, last = int(before.sum()), int(before.sum()) + len(times)
    for name in _HANDLES:
        handles = np.empty(2 * len(keys["co"]), np.float32)
        curve.keyframe_points.foreach_get(name, handles)
        keys[name][first:last] = handles.reshape(-1, 2)[first:last]
        curve.keyframe_points.foreach_set(name, keys[name].ravel())


def _new_keys(times: Array, values: Array, slopes: Array | None) -> Keys:
    count = len(times)
    keys: Keys = {name: np.zeros((count, 2), np.float32) for name in ("co", "handle_left", "handle_right")}
    keys["co"][:, 0], keys["co"][:, 1] = times, values
    # What Blender sets in the keys that it inserts (insert_vert_fcurve).
    keys |= {"back": np.full(count, 1.70158, np.float32), "amplitude": np.full(count, 0.8, np.float32)}
    keys |= {"period": np.full(count, 4.1, np.float32), "easing": np.full(count, _enum("easing", "AUTO"), np.int32)}
    keys |= {name: np.ones(count, bool) for name in _FLAGS}
    keys["type"] = np.full(count, _enum("type", "GENERATED"), np.int32)
    steps = np.diff(times, append=times[-1] + 1.0)
    handles = "AUTO_CLAMPED" if slopes is None else "ALIGNED"
    for name in ("handle_left_type", "handle_right_type"):
        keys[name] = np.full(count, _enum(name, handles), np.int32)
    is_curved = (steps > 1.0 + _SAME_TIME) if slopes is None else np.ones(count, bool)
    straight, curved = _enum("interpolation", "LINEAR"), _enum("interpolation", "BEZIER")
    keys["interpolation"] = np.where(is_curved, curved, straight).astype(np.int32)
    if slopes is not None:
        for name, step in (
            ("handle_left", -np.concatenate([steps[:1], steps[:-1]]) / 3.0),
            ("handle_right", steps / 3.0),
        ):
            keys[name][:, 0], keys[name][:, 1] = times + step, values + step * slopes
    return keys


def _as_added() -> dict[str, int]:
    """Return the attributes that keys have after ``keyframe_points.add``, where they are those of a baked key.

    Back, amplitude and period aren't among them: ``add`` leaves them at 0.
    """
    added = {name: _enum(name, "AUTO_CLAMPED") for name in ("handle_left_type", "handle_right_type")}
    return added | {"easing": _enum("easing", "AUTO")} | dict.fromkeys(_FLAGS, True)


@cache
def _enum(name: str, item: str) -> int:
    return int(bpy.types.Keyframe.bl_rna.properties[name].enum_items[item].value)  # type: ignore[attr-defined]


@contextmanager
def undone_after_error(
    view_layer: ViewLayer, objects: Sequence[Object], edits: Collection[ActionEdit]
) -> Iterator[StoredValues]:
    """WRITE: undo what was edited inside after an error, and where a generator is closed there.

    Args:
        view_layer: updated.
        objects: whose channels are stored, besides whatever is animated (``store_values``).
        edits: of their actions; others may be added inside.

    Yields:
        the stored values, to be restored where no curve has other ones.
    """
    stored = store_values(view_layer, objects)
    try:
        yield stored
    except BaseException:  # GeneratorExit too
        for edit in edits:
            edit.restore()
        view_layer.update()
        stored.restore()
        view_layer.update()
        raise


@dataclass
class ActionEdit:
    """An object's action, made where there is none, with a record of every change, so that ``restore`` undoes them."""

    obj: Object
    remapping: float = 1.0
    """The action's time over the scene's frame, as ``remapping_of`` returns it."""
    _curves: dict[tuple[str, int], Keys | None] = field(default_factory=dict)
    """The keys that curves had before they were changed, by data path and index; None for curves that were made."""
    _made: list[str] = field(default_factory=list)
    """What was made around the curves, outermost first: animation, action, slot, then layer, strip or bag."""

    @property
    def changed(self) -> set[Property]:
        """The properties whose curves were changed, also those of other data-blocks with the same slot."""
        users = self.obj.animation_data.action_slot.users() if self._curves else ()
        return {(user, path) for user in users for path, _ in self._curves}

    def curves(self, channel: Channel, count: int) -> list[FCurve]:
        """Return the curves of a channel's components, made where there are none.

        Args:
            channel: whose curves.
            count: of its components.

        Raises:
            FabrikError: a curve can't be changed (locked, sampled), or isn't evaluated (muted).
        """
        bag = self._channelbag()
        found = []
        for index in range(count):
            curve = bag.fcurves.find(channel.data_path, index=index)
            key = (channel.data_path, index)
            if curve is None:
                self._curves.setdefault(key, None)
                curve = bag.fcurves.new(channel.data_path, index=index, group_name=channel.group)
            else:
                _check_curve(curve, channel)
                if key not in self._curves:
                    self._curves[key] = read_keys(curve)
            found.append(curve)
        return found

    def bake(
        self, channel: Channel, times: Array, values: Array, span: tuple[float, float], slopes: Array | None = None
    ) -> None:
        """WRITE: replace the keys of a channel's curves in a span of time; those before and after keep every attribute.

        Args:
            times: (K,) of the new keys, in the action's time; descending where a reversed strip is tweaked.
            values: (K, C) of the new keys.
            span: times between which keys are replaced, both included.
            slopes: (K, C) of the curves at the new keys, as of ``_bake_curve``.

        Raises:
            FabrikError: a curve can't be changed, isn't evaluated, or has a modifier that changes the keyed values or
                would repeat others.
        """
        order = np.argsort(times)
        times, values, slopes = times[order], values[order], None if slopes is None else slopes[order]
        for index, curve in enumerate(self.curves(channel, values.shape[1])):
            _check_cycle(curve, channel, times, span)
            _bake_curve(curve, times, values[:, index], span, None if slopes is None else slopes[:, index])
            _check_modifiers(curve, channel, times, values[:, index])

    def check(
        self, channels: Iterable[tuple[Channel, int]], frames: Iterable[float], span: tuple[float, float]
    ) -> None:
        """Raise the errors that keys at some frames would bring about, before their values are known.

        No curve is made.

        Args:
            channels: whose curves are to be keyed, with the counts of their components.
            frames: of the scene at which keys are to be set, ascending.
            span: first and last frame between which keys are to be replaced.

        Raises:
            FabrikError: a curve can't be changed (locked, sampled), isn't evaluated (muted, another NLA track is solo),
                or repeats its keys and would repeat others (``_check_cycle``), or the action is linked or animates
                another object that is posed (``check_own_poses``).
        """
        animation = self.obj.animation_data
        if animation is not None and animation.use_nla and not animation.use_tweak_mode:
            solo = next((track for track in animation.nla_tracks if track.is_solo), None)
            if solo is not None:
                raise FabrikError(
                    f"The NLA of '{self.obj.name}' shows track '{solo.name}' alone, so keys would not show: "
                    "disable its star"
                )
        action = animation.action if animation else None
        if action is None:
            return
        check_not_linked(action, self.obj)
        check_own_poses(self.obj)
        bag = action_get_channelbag_for_slot(action, animation.action_slot)
        if bag is None:
            return
        times, replaced = self.times(frames), self.span(span)
        for channel, count in channels:
            for index in range(count):
                curve = bag.fcurves.find(channel.data_path, index=index)
                if curve is not None:
                    _check_curve(curve, channel)
                    _check_cycle(curve, channel, times, replaced)

    def times(self, frames: Iterable[float]) -> Array:
        """Return frames (F,) of the scene as times of the action: in tweak mode those of the tweaked NLA strip."""
        times = self.remapping * np.array(list(frames), float)
        animation = self.obj.animation_data
        if animation is None or not animation.use_tweak_mode:
            return times
        return np.array([animation.nla_tweak_strip_time_to_scene(time, invert=True) for time in times], float)

    def span(self, frames: tuple[float, float]) -> tuple[float, float]:
        """Return the least and the greatest time of the action between the first and the last frame of the scene."""
        least, greatest = np.sort(self.times(frames)).tolist()
        return least, greatest

    def done(self) -> None:
        """Tag the action and the object for evaluation, after curves were changed."""
        if self._curves:
            self.obj.animation_data.action.update_tag()
            self.obj.update_tag(refresh={'TIME'})

    def restore(self, channels: Sequence[Channel] | None = None) -> None:
        """Undo all changes, or the changes of some channels.

        Args:
            channels: whose curves are restored; None restores all of them, and removes what was made around them.
        """
        animation = self.obj.animation_data
        if animation is None or animation.action is None:
            return
        bag = self._channelbag()
        paths = None if channels is None else {channel.data_path for channel in channels}
        for (path, index), keys in self._curves.items():
            curve = bag.fcurves.find(path, index=index)
            if curve is None or (paths is not None and path not in paths):
                continue
            if keys is None:
                bag.fcurves.remove(curve)
            else:
                write_keys(curve, keys)
        self.done()
        if channels is None:
            self._unmake(animation)

    def _channelbag(self) -> ActionChannelbag:
        """Return the channelbag of the object's slot, made step by step as Blender makes it for a first key."""
        obj = self.obj
        animation = obj.animation_data
        if animation is None:
            animation = obj.animation_data_create()
            self._made.append("animation")
        action = animation.action
        if action is None:
            action = bpy.data.actions.new(f"{obj.name}Action")
            self._made.append("action")
            animation.action = action
        check_not_linked(action, obj)
        slot = animation.action_slot
        if slot is None:
            slot = action.slots.new('OBJECT', obj.name)
            self._made.append("slot")
            animation.action_slot = slot
        if action_get_channelbag_for_slot(action, slot) is None:
            has_strip = bool(action.layers) and bool(action.layers[0].strips)
            self._made.append("bag" if has_strip else "strip" if action.layers else "layer")
        return action_ensure_channelbag_for_slot(action, slot)  # type: ignore[return-value]  # the stubs' "ensure" may not

    def _unmake(self, animation: AnimData) -> None:
        action = animation.action
        assert action is not None  # curves were changed in it
        self._unmake_bag(action, animation.action_slot)
        if "action" in self._made:
            animation.action = None
            bpy.data.actions.remove(action)
        elif "slot" in self._made:
            slot = animation.action_slot
            animation.action_slot = None
            action.slots.remove(slot)
        if "animation" in self._made:
            self.obj.animation_data_clear()
        self._made.clear()
        self._curves.clear()

    def _unmake_bag(self, action: Action, slot: ActionSlot | None) -> None:
        bag = action_get_channelbag_for_slot(action, slot)
        if bag is None:
            return
        if "layer" in self._made:
            action.layers.remove(action.layers[0])
        elif "strip" in self._made:
            action.layers[0].strips.remove(action.layers[0].strips[0])
        elif "bag" in self._made:
            action.layers[0].strips[0].channelbags.remove(bag)


def check_own_poses(obj: Object) -> None:
    """Refuse to key poses of an object in an action that animates another one with chains or a body.

    The other one would show these poses, whatever its own targets are, and the next bake would be of them.

    Raises:
        FabrikError: the object's action does.
    """
    animation = obj.animation_data
    bag = animdata_get_channelbag_for_assigned_slot(animation)
    users = animation.action_slot.users() if bag is not None else ()
    if bag is not None and any(user != obj and (settings_of(user).chains or body_of(user).parts) for user in users):
        check_own(bag, animation.action_slot, obj)


def _name_of(curve: FCurve, channel: Channel) -> str:
    return f"{channel.group} {channel.data_path.rpartition('.')[2]}[{curve.array_index}]"


def _check_curve(curve: FCurve, channel: Channel) -> None:
    name = _name_of(curve, channel)
    if curve.lock or (curve.group is not None and curve.group.lock):
        raise FabrikError(f"The curve '{name}' is locked: unlock it in the Graph Editor")
    if len(curve.sampled_points):
        # Blender inserts no keys here either; keys that are added by force delete the samples.
        raise FabrikError(f"The curve '{name}' has samples instead of keys: use Samples to Keys in the Graph Editor")
    if curve.mute or (curve.group is not None and curve.group.mute):
        raise FabrikError(f"The curve '{name}' is muted, so keys on it would not show: unmute it in the Graph Editor")


def _check_cycle(curve: FCurve, channel: Channel, times: Array, span: tuple[float, float]) -> None:
    """Refuse keys that would lengthen or shorten the cycle that a modifier repeats, and so change all other frames."""
    old = key_times(curve)
    if len(old) < 2 or not any(_repeats(modifier) for modifier in curve.modifiers):
        return
    new = np.concatenate([old[(old < span[0] - _SAME_TIME) | (old > span[1] + _SAME_TIME)], times])
    if abs(new.min() - old.min()) > _SAME_TIME or abs(new.max() - old.max()) > _SAME_TIME:
        raise FabrikError(
            f"The modifier 'CYCLES' on the curve '{_name_of(curve, channel)}' repeats its keys, and the new ones would "
            "change the length of the cycle: key its first and its last frame, none before or after, or remove the "
            "modifier"
        )


def _repeats(modifier: FModifier) -> bool:
    """Tell whether a modifier repeats a curve's keys before the first or after the last of them."""
    if modifier.type != 'CYCLES' or modifier.mute:
        return False
    return {modifier.mode_before, modifier.mode_after} != {'NONE'}  # type: ignore[attr-defined]  # stub of its base


def _check_modifiers(curve: FCurve, channel: Channel, times: Array, values: Array) -> None:
    """Raise a FabrikError where the modifiers of a curve make its values differ from its keys."""
    modifiers = [modifier for modifier in curve.modifiers if not modifier.mute]
    if not modifiers:
        return
    off = max(abs(curve.evaluate(time) - value) for time, value in zip(times, values, strict=True))
    if off > _MODIFIER_EFFECT:
        named = ", ".join(f"'{modifier.type}'" for modifier in modifiers)
        raise FabrikError(
            f"The modifier {named} on the curve '{_name_of(curve, channel)}' changes the values of its keys: remove it "
            "or mute it"
        )
