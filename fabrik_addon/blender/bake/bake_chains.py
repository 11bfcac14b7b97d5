# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake: read every frame as it is evaluated, solve all frames as one batch, write the bones' curves in bulk.

The work is a generator that yields its progress after every frame: the caller may stop there, and closing the generator
restores everything. A chain whose root or target depends on the bones of another chain is read after the curves of that
other chain are written, so the frames are read in as many passes as there are chains in the longest line of such
dependences.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from ...core import Status
from ..animation.animated_settings import chains_with_animated_enabled
from ..animation.evaluated_frames import frame_in_errors, frames_of
from ..animation.fcurves import ActionEdit, remapping_of, undone_after_error
from ..animation.frame_range import FrameRange
from ..bones.bone_stretch import ALIGNED
from ..rig.chain_bones import bones_of_chain
from ..rig.properties import settings_of
from ..rig.targets_and_poles import armature_to_world, check_evaluated, position_in_world
from .group_track import BakedChain, Track, UnreachedFrame, channel_of, take_tracks, width_of
from .keyed_channels import KeyedChannel, key_channels, match_evaluated

if TYPE_CHECKING:
    from bpy.types import Object

    from ..rig.properties import FabrikChain
    from ..solving.stored_values import StoredValues

FRAMES_PER_BATCH = 2000
"""Frames that are solved as one batch: larger batches are no faster, and need more memory."""

STEPWISE_FRAMES_PER_BATCH = 48
"""The same where frames may start from the frame before. They take some milliseconds each, and the bake can be
cancelled in between."""


def bake_chains(
    work: FrameRange, chains: Sequence[FabrikChain], tolerance: float | None = None
) -> Generator[float, None, list[BakedChain]]:
    """Key the solved pose of chains at every frame. Closing the generator restores everything.

    Args:
        tolerance: largest change of a rotation (radians) at frames whose keys are left out; None keys all frames.

    Yields:
        the share of the work that is done, after every frame.

    Returns:
        the result of each chain, in the order given.

    Raises:
        FabrikError: a chain can't be solved at some frame, or its curves can't be changed; then nothing has changed.
    """
    armature, view_layer = work.armature, work.view_layer
    view_layer.update()
    edit = ActionEdit(armature, remapping_of(work.scene))
    inheritance = [(bone, bone.inherit_scale) for bone in armature.data.bones]
    with undone_after_error(view_layer, [armature], [edit]) as stored:
        try:
            return (yield from _bake(work, chains, edit, stored, tolerance))
        except BaseException:  # GeneratorExit too: the generator was closed
            for bone, mode in inheritance:
                if bone.inherit_scale != mode:
                    bone.inherit_scale = mode
            raise


def _bake(
    work: FrameRange, chains: Sequence[FabrikChain], edit: ActionEdit, stored: StoredValues, tolerance: float | None
) -> Generator[float, None, list[BakedChain]]:
    """Do the work of ``bake_chains``, and leave it to the caller to restore everything after an error."""
    tracks = take_tracks(work, chains)
    # Curves that can't be changed raise their error before the frames are solved.
    keys = (key for track in tracks for key in track.rotation_keys)
    channels = ((channel_of(work.armature, key), width_of(work.armature, key)) for key in keys)
    edit.check(channels, work.frames, work.span)
    passes = _passes(tracks)
    for number, tracks_of_pass in enumerate(passes):
        for done in _read_and_solve(work, tracks_of_pass, chains):
            yield (number + done) / len(passes)
        if number + 1 < len(passes):
            _write(work, edit, tracks_of_pass, None)
    written = _write(work, edit, tracks, tolerance)
    work.view_layer.update()
    match_evaluated(work, edit, written, tolerance)
    baked = {name: track.baked(name) for track in tracks for name in track.group.names}
    moved = [one for one in chains if not one.use_pin and (baked[one.name].overridden or baked[one.name].carried)]
    if moved:
        baked |= _measured(work, moved, baked)
    stored.restore(but=edit.changed)
    work.view_layer.update()
    return [baked[chain.name] for chain in chains]


def _passes(tracks: Sequence[Track]) -> list[list[Track]]:
    """Return tracks in passes, so that no track depends on bones that its own pass or a later one moves.

    Args:
        tracks: in an order in which they can be solved one after another.
    """
    passes = []
    left = list(tracks)
    while left:
        moved: set[str] = set()
        now: list[Track] = []
        later: list[Track] = []
        for track in left:
            is_free = moved.isdisjoint(track.group.depends_on | track.group.bones)
            (now if is_free else later).append(track)
            moved |= track.group.bones
        passes.append(now)
        left = later
    return passes


def _read_and_solve(
    work: FrameRange, tracks: Sequence[Track], chains: Sequence[FabrikChain]
) -> Generator[float, None, None]:
    """Read and solve all frames, one batch after another; yield the share of the frames that are read."""
    frames = work.frames
    names = {name for track in tracks for name in track.group.names}
    objects = [work.armature]
    for chain in chains:
        if chain.name in names:
            objects += [obj for obj in (chain.target, chain.pole_target) if obj is not None]
    with frames_of(work.scene, work.view_layer, objects) as at:
        most = STEPWISE_FRAMES_PER_BATCH if any(track.is_stepwise for track in tracks) else FRAMES_PER_BATCH
        for start in range(0, len(frames), most):
            numbers = range(start, min(start + most, len(frames)))
            for number in numbers:
                at.go_to(frames[number])
                with frame_in_errors(frames[number]):
                    evaluated = at.evaluated(work.armature)
                    check_evaluated(at.view_layer, evaluated, f"'{evaluated.name}'")
                    to_armature = armature_to_world(evaluated).inverted()
                    for track in tracks:
                        track.read(number, at, evaluated, to_armature)
                yield (number + 1) / len(frames)
            for track in tracks:
                for number in track.solve_rows():
                    at.go_to(frames[number])
                    with frame_in_errors(frames[number]):
                        track.solve_now(number, at, at.evaluated(work.armature))
                    yield (start + len(numbers)) / len(frames)
                track.connect(numbers, at.evaluated(work.armature))


def _write(work: FrameRange, edit: ActionEdit, tracks: Sequence[Track], tolerance: float | None) -> list[KeyedChannel]:
    """WRITE: the channels that tracks have changed into curves; with a tolerance, only the keys that are needed."""
    for name in sorted(set().union(*(track.aligned for track in tracks))):
        work.armature.data.bones[name].inherit_scale = ALIGNED
    values = {key: rows for track in tracks for key, rows in track.values.items() if key in track.changed}
    length = max(snapshot.posed.total_length for track in tracks for snapshot in track.group.snapshots)
    return key_channels(work, edit, values, length, tolerance)


def _measured(
    work: FrameRange, chains: Sequence[FabrikChain], baked: Mapping[str, BakedChain]
) -> dict[str, BakedChain]:
    """Return the results of chains with overridden bones, with the errors measured on the evaluated bones.

    What a solve computes isn't what is evaluated there: constraints and drivers act after the baked channels.
    """
    unreached: dict[str, list[UnreachedFrame]] = {chain.name: [] for chain in chains}
    animated = chains_with_animated_enabled(work.armature, chains)
    with frames_of(work.scene, work.view_layer, [work.armature, *(chain.target for chain in chains)]) as at:
        for frame in work.frames:
            at.go_to(frame)
            evaluated = at.evaluated(work.armature)
            for chain in chains:
                error = _error_of(evaluated, at.evaluated(chain.target), chain)
                settings = settings_of(evaluated).chains[chain.name]
                is_off = chain.name in animated and not settings.enabled
                if error > settings.tolerance and settings.influence == 1.0 and not is_off:
                    statuses = {one.frame: one.status for one in baked[chain.name].unreached}
                    status = statuses.get(frame, Status.LIMITED.name)
                    unreached[chain.name].append(UnreachedFrame(frame, status, error))
    return {name: _with_unreached(baked[name], found) for name, found in unreached.items()}


def _with_unreached(chain: BakedChain, unreached: Sequence[UnreachedFrame]) -> BakedChain:
    """Return a result with other frames; locked bones that constraints rotate are named where the tip is off."""
    overridden = chain.overridden + (chain.carried if unreached else ())
    return replace(chain, unreached=tuple(unreached), overridden=overridden)


def _error_of(armature: Object, target_object: Object, chain: FabrikChain) -> float:
    """Return the distance from an evaluated chain's tip to its target over the chain's length."""
    target = position_in_world(target_object, chain.subtarget, "target")
    joints = [bone.head for bone in bones_of_chain(armature, chain)]
    tip = armature.pose.bones[chain.tip]
    joints.append(tip.tail if chain.use_tail else tip.head)
    length = sum((end - start).length for start, end in pairwise(joints))
    return (armature.matrix_world.inverted_safe() @ target - joints[-1]).length / length
