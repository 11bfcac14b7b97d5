# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Key targets and poles to where an animation has the chains (FK to IK, over a range of frames).

A target goes to the tip of its chain, and is rotated as the tip bone where the chain takes its rotation. A pole goes
into the plane of the bend, at a constant distance from the chain's farthest joint. At frames at which the chain is
straight the pole's direction rotates with the first bone; otherwise the pole would jump to that bone's +X there.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...core import Array, FabrikError, Pose
from ...core.goals.pole_path import steady_poles
from ..animation.animated_settings import animated_paths, check_one_mode
from ..animation.carried_animation import check_own_curves
from ..animation.evaluated_frames import frame_in_errors, frames_of
from ..animation.fcurves import ActionEdit, Channel, remapping_of, undone_after_error
from ..animation.frame_range import FrameRange
from ..animation.nla import needs_remapping, remapped
from ..bones.rotation_channel import channel_name, nearest_values
from ..rig.snapshot import Snapshot, take_snapshot
from ..rig.targets_and_poles import armature_to_world, check_evaluated
from ..setup.add_chain import POLE_DISTANCE
from ..setup.move_target import MovedGoal, check_rotates, movable, rotation_at, scale_of
from ..setup.snap_targets import bend_of, target_rotation

if TYPE_CHECKING:
    from bpy.types import Object

    from ..rig.properties import FabrikChain


@dataclass(frozen=True)
class _Path(MovedGoal):
    """The desired positions and rotations of one target or pole, frame by frame."""

    positions: Array
    """(F, 3) in the world."""
    rotations: Array | None
    """(F, 4) in the armature's space; None where the chain takes no rotation."""
    left: dict[int, float] = field(default_factory=dict)
    """Angles (radians) by which targets come only near to those, by the number of the frame (``rotation_at``)."""


def snap_frames(work: FrameRange, chains: Sequence[FabrikChain]) -> Generator[float, None, int]:
    """Key targets to the tips of chains, and poles to where they bend. Closing the generator restores everything.

    Args:
        chains: whose targets and poles are keyed.

    Yields:
        the share of the work that is done, after every frame.

    Returns:
        the number of keyed targets and poles.

    Raises:
        FabrikError: a chain can't be read, or a target can't be moved there; then nothing has changed.
    """
    armature, view_layer = work.armature, work.view_layer
    view_layer.update()
    owners = {chain.target for chain in chains if chain.target} | {chain.pole_target for chain in chains}
    objects = [armature, *sorted((obj for obj in owners if obj is not None), key=lambda obj: obj.name)]
    for chain in chains:
        take_snapshot(view_layer, armature, chain)
    edits: dict[str, ActionEdit] = {}
    with undone_after_error(view_layer, objects, edits.values()) as stored:
        paths = yield from _read_paths(work, chains, objects)
        # Children after their parents: their locations depend on where their parents were keyed to.
        for paths_of_pass in _passes(paths):
            yield from _key(work, paths_of_pass, edits, objects)
        view_layer.update()
        stored.restore(but=set().union(*(edit.changed for edit in edits.values())))
        view_layer.update()
    return len(paths)


def _read_paths(
    work: FrameRange, chains: Sequence[FabrikChain], objects: Sequence[Object]
) -> Generator[float, None, list[_Path]]:
    """READ: the chains at every frame; return the paths of their targets and poles.

    Args:
        chains: whose targets and poles are keyed.
        objects: the armature, the targets and the poles.
    """
    frames = work.frames
    snapshots: dict[str, list[Snapshot]] = {chain.name: [] for chain in chains}
    worlds = []
    with frames_of(work.scene, work.view_layer, objects) as at:
        for number, frame in enumerate(frames):
            at.go_to(frame)
            evaluated = at.evaluated(work.armature)
            with frame_in_errors(frame):
                check_evaluated(at.view_layer, evaluated, f"'{evaluated.name}'")
                worlds.append(armature_to_world(evaluated).copy())
                for chain in chains:
                    settings = evaluated.fabrik.chains[chain.name]  # type: ignore[attr-defined]
                    snapshots[chain.name].append(take_snapshot(at.view_layer, evaluated, settings))
            yield 0.5 * (number + 1) / len(frames)
    return [path for chain in chains for path in _paths_of(chain, snapshots[chain.name], worlds)]


def _paths_of(chain: FabrikChain, snapshots: Sequence[Snapshot], worlds: Sequence[Matrix]) -> list[_Path]:
    """Return the paths of a chain's target and pole.

    Args:
        chain: with the target and the pole.
        snapshots: (F,) of the chain.
        worlds: (F,) matrices from the armature's space into the world.
    """
    to_world = np.array([[row[:] for row in world.row] for world in worlds])
    positions = np.array([snapshot.posed.joints for snapshot in snapshots])
    rotations = np.array([snapshot.pose.rotations for snapshot in snapshots])
    name = f"Chain '{chain.name}': its "
    length = snapshots[0].posed.total_length * scale_of(worlds[0])
    paths = []
    if not chain.use_pin:
        turned = None
        if chain.use_rotation:
            turned = np.array([target_rotation(chain, rotation[-1])[:] for rotation in rotations])
        tips = _transformed(to_world, positions[:, -1])
        paths.append(_Path(f"{name}target", chain.target, chain.subtarget, length, tips, turned))
    if chain.pole_target is not None:
        first_poles = snapshots[0].goals.poles
        assert first_poles is not None  # chains with a pole object have one in their goals
        joints, angles = zip(*map(bend_of, snapshots), strict=True)
        pole_angles = [chain.pole_angle + angle for angle in angles]
        poles = steady_poles(Pose(np.array(joints), rotations), first_poles[0], POLE_DISTANCE, pole_angles)
        path = _transformed(to_world, poles)
        paths.append(_Path(f"{name}pole", chain.pole_target, chain.pole_subtarget, length, path, None))
    return paths


def _transformed(matrices: Array, points: Array) -> Array:
    """Return points (F, 3) transformed by matrices (F, 4, 4), one each."""
    return np.einsum("fij,fj->fi", matrices[:, :3, :3], points) + matrices[:, :3, 3]


def _passes(paths: Sequence[_Path]) -> list[list[_Path]]:
    """Return paths in passes by the number of parents of what is moved, fewest first."""

    def depth(path: _Path) -> tuple[int, int]:
        parents = len(path.obj.pose.bones[path.bone_name].parent_recursive) if path.bone_name else 0
        objects, obj = 0, path.obj
        while obj.parent is not None:
            objects, obj = objects + 1, obj.parent
        return objects, parents

    return [list(alike) for _, alike in groupby(sorted(paths, key=depth), key=depth)]


def _key(
    work: FrameRange, paths: Sequence[_Path], edits: dict[str, ActionEdit], objects: Sequence[Object]
) -> Generator[float, None, None]:
    """Key the channels with which objects and bones are where their paths have them.

    Args:
        work: frames, and where keys go.
        paths: of one pass.
        edits: of the objects' actions, by the objects' names; new ones are added.
        objects: the armature, the targets and the poles.

    Raises:
        FabrikError: a target can't be keyed, or isn't where it was keyed.
    """
    for path in paths:
        movable(path.what, path.obj, path.bone_name, work.armature)  # raises what keeps it from moving, before the work
        if path.rotations is not None:
            check_rotates(path.what, path.owner)
            check_one_mode(animated_paths(path.obj), path.owner)
        names = ("location", channel_name(path.owner))
        check_own_curves(path.obj, [_channel(path, name).data_path for name in names])
    channels: list[dict[str, list[Sequence[float]]]] = [{} for _ in paths]
    with frames_of(work.scene, work.view_layer, objects) as at:
        for number, frame in enumerate(work.frames):
            at.go_to(frame)
            armature = at.evaluated(work.armature)
            for path, values in zip(paths, channels, strict=True):
                for name, value in _channels_at(path, number, at.evaluated(path.obj), armature, values).items():
                    values.setdefault(name, []).append(value)
            yield 0.5 + 0.5 * (number + 1) / len(work.frames)
    for path, values in zip(paths, channels, strict=True):
        edit = edits.setdefault(path.obj.name_full, ActionEdit(path.obj, remapping_of(work.scene)))
        times, span = edit.times(work.frames), edit.span(work.span)
        for name, rows in values.items():
            channel, keyed = _channel(path, name), np.array(rows)
            if needs_remapping(path.obj.animation_data):
                keyed = remapped(edit, path.owner, channel, work.frames, times, keyed, path.what)
            edit.bake(channel, times, keyed, span)
        edit.done()
    work.view_layer.update()
    _check_keyed(work, paths, objects)


def _channels_at(
    path: _Path, number: int, obj: Object, armature: Object, before: dict[str, list[Sequence[float]]]
) -> dict[str, Sequence[float]]:
    """Return the channels with which an object or a bone is where its path has it at a frame.

    Args:
        path: of the object or the bone.
        number: of the frame.
        obj: evaluated at the frame.
        armature: evaluated at the frame.
        before: the channels at the frames before.
    """
    position = Vector(path.positions[number].tolist())
    location = movable(path.what, obj, path.bone_name).location_at(position)
    channels: dict[str, Sequence[float]] = {"location": location[:]}
    if path.rotations is not None:
        to_armature = armature.matrix_world.inverted_safe()
        desired = Quaternion(path.rotations[number].tolist())
        rotation, path.left[number] = rotation_at(obj, path.bone_name, to_armature, desired)
        now = obj.pose.bones[path.bone_name] if path.bone_name else obj
        name = channel_name(now)
        earlier = before.get(name)
        last = tuple(earlier[-1]) if earlier else getattr(now, name)[:]
        channels[name] = nearest_values(now.rotation_mode, rotation, last)
    return channels


def _channel(path: _Path, name: str) -> Channel:
    if path.bone_name:
        return Channel(path.owner.path_from_id(name), path.bone_name)
    return Channel(name, "Object Transforms")


def _check_keyed(work: FrameRange, paths: Sequence[_Path], objects: Sequence[Object]) -> None:
    """Raise a FabrikError where a target isn't where it was keyed, or isn't rotated so, at any frame."""
    with frames_of(work.scene, work.view_layer, objects) as at:
        for number, frame in enumerate(work.frames):
            at.go_to(frame)
            armature = at.evaluated(work.armature)
            for path in paths:
                obj, is_there = at.evaluated(path.obj), True
                if path.rotations is not None:
                    rotation = Quaternion(path.rotations[number].tolist())
                    is_there = path.is_rotated(obj, rotation, armature, path.left[number])
                if not is_there or not path.is_at(obj, Vector(path.positions[number].tolist())):
                    raise FabrikError(
                        f"{path.what} '{path.owner.name}' is moved elsewhere at frame {frame:g}, by its "
                        "constraints or drivers, or by another chain"
                    )
