# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake: every frame read without IK, all frames solved together, the bones' curves written in bulk.

The work is a generator that says how far it is after every frame: whoever runs it may stop there, and closing it takes
everything back. Chains that hang on others, or reach for what hangs there, are read again once those are in the
curves, so there are as many passes over the frames as chains hang on each other.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ...core import Array, FabrikError, Status
from ...core.math.key_reduction import needed_keys, slopes_of
from ...core.math.operations import IntegerArray
from ...core.math.quaternion_arrays import angle_between, from_values
from ..animation.animated_settings import animated_paths, animated_settings
from ..animation.evaluated_frames import frames_of
from ..animation.fcurves import ActionEdit, Channel, bake_curve, remapping_of
from ..animation.nla import needs_remapping, remapped
from ..animation.stored_channels import store_channels
from ..rig.bone_stretch import ALIGNED
from ..rig.chain_bones import bones_of_chain
from ..rig.properties import settings_of
from ..rig.targets import armature_to_world, position_in_world
from .group_track import BakedChain, Track, UnreachedFrame, channel_of, take_tracks, width_of

if TYPE_CHECKING:
    from bpy.types import FCurve, Object, PoseBone, Scene, ViewLayer

    from ..rig.properties import FabrikChain

CHUNK = 2000
"""Frames that are solved together: more are no faster, and need more memory."""

_SHOWN = 1e-3
"""Difference of a channel from what it should be that the NLA's own arithmetic makes."""


def bake_chains(
    scene: Scene,
    view_layer: ViewLayer,
    armature: Object,
    chains: Sequence[FabrikChain],
    frames: Sequence[float],
    span: tuple[float, float],
    tolerance: float | None = None,
) -> Generator[float, None, list[BakedChain]]:
    """Key the pose that solving gives at every frame. Closing the generator takes everything back.

    Args:
        scene: the frames' own.
        view_layer: of the scene.
        armature: object with the chains.
        chains: to be baked.
        frames: ascending; may lie between whole frames.
        span: first and last frame between which keys of the bones' curves are replaced.
        tolerance: angle (radians) by which bones may be off at frames whose keys are left out; None keys all frames.

    Yields:
        the share of the work that is done, after every frame.

    Returns:
        what came of each chain, in the order given.

    Raises:
        FabrikError: a chain can't be solved at some frame, or its curves can't be changed; then nothing has changed.
    """
    stored, edit = store_channels([armature]), ActionEdit(armature, remapping_of(scene))
    inheritance = [(bone, bone.inherit_scale) for bone in armature.data.bones]
    try:
        view_layer.update()
        tracks = take_tracks(view_layer, armature, chains, frames)
        # Before the work, not after it.
        for key in (key for track in tracks for key in track.rotation_keys):
            edit.check(channel_of(armature, key), width_of(armature, key))
        passes = _passes(tracks)
        for number, tracks_of_pass in enumerate(passes):
            for done in _read_and_solve(scene, view_layer, armature, tracks_of_pass, chains, frames):
                yield (number + done) / len(passes)
            if number + 1 < len(passes):
                _write(edit, armature, tracks_of_pass, frames, span, None)
        _write(edit, armature, tracks, frames, span, tolerance)
        view_layer.update()
        if needs_remapping(armature.animation_data):
            _check_shown(scene, view_layer, armature, tracks, frames)
        baked = {name: track.baked(name) for track in tracks for name in track.group.names}
        suspects = [chain for chain in chains if baked[chain.name].overridden and not chain.use_pin]
        if suspects:
            baked |= _measured(scene, view_layer, armature, suspects, baked, frames)
        stored.restore(but={key for track in tracks for key in track.changed})
        view_layer.update()
    except BaseException:  # closed, too
        edit.restore()
        for bone, mode in inheritance:
            if bone.inherit_scale != mode:
                bone.inherit_scale = mode
        view_layer.update()
        stored.restore()
        view_layer.update()
        raise
    return [baked[chain.name] for chain in chains]


def _passes(tracks: Sequence[Track]) -> list[list[Track]]:
    """Return tracks pass by pass, so that none rests on bones that its own pass moves, or a later one."""
    passes = []
    waiting = list(tracks)
    while waiting:
        moved: set[str] = set()
        now: list[Track] = []
        later: list[Track] = []
        for track in waiting:
            is_free = moved.isdisjoint(track.group.rests_on | track.group.bones)
            (now if is_free else later).append(track)
            moved |= track.group.bones
        passes.append(now)
        waiting = later
    return passes


def _read_and_solve(
    scene: Scene,
    view_layer: ViewLayer,
    armature: Object,
    tracks: Sequence[Track],
    chains: Sequence[FabrikChain],
    frames: Sequence[float],
) -> Generator[float, None, None]:
    """Read all frames and solve them, some thousand at a time."""
    names = {name for track in tracks for name in track.group.names}
    objects = [armature]
    for chain in chains:
        if chain.name in names:
            objects += [obj for obj in (chain.target, chain.pole_target) if obj is not None]
    with frames_of(scene, view_layer, objects) as at:
        for start in range(0, len(frames), CHUNK):
            numbers = range(start, min(start + CHUNK, len(frames)))
            for number in numbers:
                at.go_to(frames[number])
                with _naming(frames[number]):
                    seen = at.seen(armature)
                    to_armature = armature_to_world(seen).inverted()
                    for track in tracks:
                        track.read(number, at, seen, to_armature)
                yield (number + 1) / len(frames)
            for track in tracks:
                for number in track.solve_rows():
                    at.go_to(frames[number])
                    with _naming(frames[number]):
                        track.solve_now(number, at, at.seen(armature))
                    yield (start + len(numbers)) / len(frames)
                track.connect(numbers, at.seen(armature))


@contextmanager
def _naming(frame: float) -> Iterator[None]:
    """Say at which frame something can't be done."""
    try:
        yield
    except FabrikError as error:
        raise FabrikError(f"Frame {frame:g}: {error}") from error


def _write(
    edit: ActionEdit,
    armature: Object,
    tracks: Sequence[Track],
    frames: Sequence[float],
    span: tuple[float, float],
    tolerance: float | None,
) -> None:
    """Write what was found into curves."""
    for name in sorted(set().union(*(track.aligned for track in tracks))):
        armature.data.bones[name].inherit_scale = ALIGNED
    every = {key: values for track in tracks for key, values in track.values.items() if key in track.changed}
    times, edges = edit.times(frames), edit.times(span)
    remap = needs_remapping(armature.animation_data)
    for key, values in every.items():
        channel = channel_of(armature, key)
        if remap:
            values = remapped(edit, armature.pose.bones[key[0]], channel, frames, times, values)
        curves = edit.curves(channel, values.shape[1])
        slopes, kept = None, np.arange(len(times))
        if tolerance is not None:
            length = max(snapshot.chain.total_length for track in tracks for snapshot in track.group.snapshots)
            slopes, kept = _reduced(armature.pose.bones[key[0]], key[1], times, values, tolerance, length)
        for index, curve in enumerate(curves):
            bake_curve(
                curve,
                times[kept],
                values[kept, index],
                (float(edges[0]), float(edges[1])),
                None if slopes is None else slopes[kept, index],
            )
            if any(not modifier.mute for modifier in curve.modifiers):
                _check_modifiers(curve, channel, times[kept], values[kept, index])
    edit.done()


def _reduced(
    bone: PoseBone, name: str, times: Array, values: Array, tolerance: float, length: float
) -> tuple[Array, IntegerArray]:
    """Return slopes of all keys, and the numbers of those that are needed."""
    mode = bone.rotation_mode

    def turn(found: Array, wished: Array) -> Array:
        return angle_between(from_values(mode, found), from_values(mode, wished))

    def move(found: Array, wished: Array) -> Array:
        return np.linalg.norm(found - wished, axis=1) / length

    def share(found: Array, wished: Array) -> Array:
        return np.abs(found - wished).max(axis=1)

    gap = {"location": move, "scale": share}.get(name, turn)
    slopes = slopes_of(times, values)
    return slopes, needed_keys(times, values, slopes, gap, tolerance)


def _check_modifiers(curve: FCurve, channel: Channel, times: Array, values: Array) -> None:
    off = max(abs(curve.evaluate(time) - value) for time, value in zip(times, values, strict=True))
    if off > 1e-4:
        named = ", ".join(f"'{modifier.type}'" for modifier in curve.modifiers if not modifier.mute)
        raise FabrikError(
            f"The modifier {named} on the curve '{channel.group} {channel.data_path.rpartition('.')[2]}' changes what "
            "its keys say: remove it or mute it"
        )


def _check_shown(
    scene: Scene, view_layer: ViewLayer, armature: Object, tracks: Sequence[Track], frames: Sequence[float]
) -> None:
    """Refuse what the NLA doesn't show: keys can't bring it about."""
    with frames_of(scene, view_layer, [armature]) as at:
        for number, frame in enumerate(frames):
            at.go_to(frame)
            bones = at.seen(armature).pose.bones
            for track in tracks:
                for bone_name, name in track.changed:
                    values = track.values[bone_name, name]
                    shown = np.array(getattr(bones[bone_name], name)[:])
                    wished = values[number]
                    # Quaternions are blended as rotations: their sign and size may be others.
                    if name == "rotation_quaternion":
                        shown = shown * np.sign(shown @ wished) / np.linalg.norm(shown)
                        wished = wished / np.linalg.norm(wished)
                    if np.abs(shown - wished).max() > _SHOWN:
                        raise FabrikError(
                            f"Frame {frame:g}: keys of bone '{bone_name}' don't show, the NLA's strips override them"
                        )


def _measured(
    scene: Scene,
    view_layer: ViewLayer,
    armature: Object,
    chains: Sequence[FabrikChain],
    baked: Mapping[str, BakedChain],
    frames: Sequence[float],
) -> dict[str, BakedChain]:
    """Measure chains that something overrides where Blender shows them."""
    unreached: dict[str, list[UnreachedFrame]] = {chain.name: [] for chain in chains}
    paths = animated_paths(armature)
    switched = {chain.name for chain in chains if "enabled" in animated_settings(paths, armature, chain.name)}
    with frames_of(scene, view_layer, [armature, *(chain.target for chain in chains)]) as at:
        for frame in frames:
            at.go_to(frame)
            seen = at.seen(armature)
            for chain in chains:
                target = position_in_world(at.seen(chain.target), chain.subtarget, "target")
                joints = [bone.head for bone in bones_of_chain(seen, chain.tip, chain.chain_count, chain.use_tail)]
                tip = seen.pose.bones[chain.tip]
                joints.append(tip.tail if chain.use_tail else tip.head)
                length = sum((end - start).length for start, end in pairwise(joints))
                error = (seen.matrix_world.inverted_safe() @ target - joints[-1]).length / length
                settings = settings_of(seen).chains[chain.name]
                is_off = chain.name in switched and not settings.enabled
                if error > settings.tolerance and settings.influence == 1.0 and not is_off:
                    known = {miss.frame: miss.status for miss in baked[chain.name].unreached}
                    unreached[chain.name].append(UnreachedFrame(frame, known.get(frame, Status.LIMITED.name), error))
    return {name: replace(baked[name], unreached=tuple(found)) for name, found in unreached.items()}
