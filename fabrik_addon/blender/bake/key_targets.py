# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Targets and poles keyed to where an animation has the chains (FK to IK, over a range of frames).

A pole is in the plane of the bend, at a steady distance from the chain's farthest joint. Where the chain is straight it
is carried on by the first bone's turns, so that it doesn't jump.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...core import Array, FabrikError, Pose
from ...core.goals.pole_path import steady_poles
from ..animation.evaluated_frames import frames_of
from ..animation.fcurves import ActionEdit, Channel, bake_curve, remapping_of
from ..animation.nla import needs_remapping
from ..animation.stored_channels import store_channels
from ..rig.rotation_channel import channel_name, nearest_values, rotation_of
from ..rig.snapshot import Snapshot, take_snapshot
from ..rig.targets import armature_to_world, position_in_world
from ..setup.add_chain import POLE_DISTANCE
from ..setup.move_target import movable

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, Scene, ViewLayer

    from ..rig.properties import FabrikChain


_ROUNDS = 20
"""Bound on the rounds in which a rotation is found."""


@dataclass
class _Path:
    """Where one target or pole has to be at every frame."""

    what: str
    obj: Object
    bone_name: str
    places: Array
    """(F, 3) in the world."""
    rotations: Array | None
    """(F, 4) in the armature's space, or None where its rotation is of no account."""
    length: float
    """Of the chain, in the world."""

    @property
    def owner(self) -> Object | PoseBone:
        return self.obj.pose.bones[self.bone_name] if self.bone_name else self.obj


def snap_frames(
    scene: Scene,
    view_layer: ViewLayer,
    armature: Object,
    chains: Sequence[FabrikChain],
    frames: Sequence[float],
    span: tuple[float, float],
) -> Generator[float, None, int]:
    """Key targets at the ends of chains and poles where they bend, frame by frame. Closing takes everything back.

    Args:
        scene: the frames' own.
        view_layer: of the scene.
        armature: object with the chains.
        chains: whose targets and poles are keyed.
        frames: ascending.
        span: first and last frame between which keys of the targets' curves are replaced.

    Yields:
        the share of the work that is done, after every frame.

    Returns:
        how many targets and poles are keyed.

    Raises:
        FabrikError: a chain can't be read, or a target can't be moved there; then nothing has changed.
    """
    view_layer.update()
    owners = {chain.target for chain in chains if chain.target} | {chain.pole_target for chain in chains}
    objects = [armature, *sorted((obj for obj in owners if obj is not None), key=lambda obj: obj.name)]
    for chain in chains:
        take_snapshot(view_layer, armature, chain)
    stored = store_channels(objects)
    edits: dict[str, ActionEdit] = {}
    try:
        paths = yield from _read_paths(scene, view_layer, armature, chains, frames, objects)
        # What hangs on others is keyed after them, from where they have it then.
        for paths_of_pass in _passes(paths):
            yield from _key(scene, view_layer, armature, paths_of_pass, edits, frames, span, objects)
        view_layer.update()
    except BaseException:  # closed, too
        for edit in edits.values():
            edit.restore()
        view_layer.update()
        stored.restore()
        view_layer.update()
        raise
    return len(paths)


def _read_paths(
    scene: Scene,
    view_layer: ViewLayer,
    armature: Object,
    chains: Sequence[FabrikChain],
    frames: Sequence[float],
    objects: Sequence[Object],
) -> Generator[float, None, list[_Path]]:
    """Read where the chains are at every frame, and lay out the paths of their targets and poles."""
    reads: dict[str, list[Snapshot]] = {chain.name: [] for chain in chains}
    worlds = []
    with frames_of(scene, view_layer, objects) as at:
        for number, frame in enumerate(frames):
            at.go_to(frame)
            seen = at.seen(armature)
            try:
                worlds.append(armature_to_world(seen).copy())
                for chain in chains:
                    reads[chain.name].append(take_snapshot(at.view_layer, seen, seen.fabrik.chains[chain.name]))  # type: ignore[attr-defined]
            except FabrikError as error:
                raise FabrikError(f"Frame {frame:g}: {error}") from error
            yield 0.5 * (number + 1) / len(frames)
    to_world = np.array([[row[:] for row in world.row] for world in worlds])
    paths = []
    for chain in chains:
        positions = np.array([snapshot.shown_positions for snapshot in reads[chain.name]])
        rotations = np.array([snapshot.pose.rotations for snapshot in reads[chain.name]])
        name = f"Chain '{chain.name}': its "
        length = reads[chain.name][0].chain.total_length * abs(worlds[0].determinant()) ** (1.0 / 3.0)
        turns = None
        if chain.use_rotation and not chain.use_pin:
            offset = Quaternion(chain.rotation_offset[:]).normalized().conjugated()
            turns = np.array([(Quaternion(rotation[-1].tolist()) @ offset)[:] for rotation in rotations])
        if not chain.use_pin:
            ends = _moved(to_world, positions[:, -1])
            paths.append(_Path(f"{name}target", chain.target, chain.subtarget, ends, turns, length))
        if chain.pole_target is not None:
            pole_now = reads[chain.name][0].goals.poles
            assert pole_now is not None  # it has a pole
            poles = steady_poles(Pose(positions, rotations), pole_now[0], POLE_DISTANCE, chain.pole_angle)
            paths.append(
                _Path(f"{name}pole", chain.pole_target, chain.pole_subtarget, _moved(to_world, poles), None, length)
            )
    return paths


def _moved(matrices: Array, points: Array) -> Array:
    return np.einsum("fij,fj->fi", matrices[:, :3, :3], points) + matrices[:, :3, 3]


def _passes(paths: Sequence[_Path]) -> list[list[_Path]]:
    """Return paths pass by pass: those with fewer parents first, on which others may hang."""

    def depth(path: _Path) -> int:
        parents = len(path.obj.pose.bones[path.bone_name].parent_recursive) if path.bone_name else 0
        obj = path.obj
        while obj.parent is not None:
            parents, obj = parents + 1000, obj.parent
        return parents

    return [list(alike) for _, alike in groupby(sorted(paths, key=depth), key=depth)]


def _key(
    scene: Scene,
    view_layer: ViewLayer,
    armature: Object,
    paths: Sequence[_Path],
    edits: dict[str, ActionEdit],
    frames: Sequence[float],
    span: tuple[float, float],
    objects: Sequence[Object],
) -> Generator[float, None, None]:
    """Key the channels that bring objects and bones to their places at every frame."""
    for path in paths:
        movable(path.what, path.obj, path.bone_name)  # or it is refused by name
        if needs_remapping(path.obj.animation_data):
            raise FabrikError(f"{path.what} '{path.owner.name}' can't be keyed: the NLA blends its action with others")
    locations: list[list[Vector]] = [[] for _ in paths]
    turns: list[list[tuple[float, ...]]] = [[] for _ in paths]
    with frames_of(scene, view_layer, objects) as at:
        for number, frame in enumerate(frames):
            at.go_to(frame)
            for path, location, turn in zip(paths, locations, turns, strict=True):
                there = at.seen(path.obj)
                place = Vector(path.places[number].tolist())
                location.append(movable(path.what, there, path.bone_name).location_at(place))
                if path.rotations is not None:
                    to_armature = at.seen(armature).matrix_world.inverted_safe()
                    rotation = _rotation_at(path, there, to_armature, Quaternion(path.rotations[number].tolist()))
                    now = there.pose.bones[path.bone_name] if path.bone_name else there
                    before = turn[-1] if turn else getattr(now, channel_name(now))[:]
                    turn.append(nearest_values(now.rotation_mode, rotation, before))
            yield 0.5 + 0.5 * (number + 1) / len(frames)
    for path, location, turn in zip(paths, locations, turns, strict=True):
        edit = edits.setdefault(path.obj.name_full, ActionEdit(path.obj, remapping_of(scene)))
        times, edges = edit.times(frames), edit.times(span)
        found = {"location": np.array(location)}
        if turn:
            found[channel_name(path.owner)] = np.array(turn)
        for name, values in found.items():
            for index, curve in enumerate(edit.curves(_channel(path, name), values.shape[1])):
                bake_curve(curve, times, values[:, index], (float(edges[0]), float(edges[1])), None)
        edit.done()
    view_layer.update()
    _check_there(scene, view_layer, paths, frames, objects)


def _channel(path: _Path, name: str) -> Channel:
    if path.bone_name:
        return Channel(path.owner.path_from_id(name), path.bone_name)
    return Channel(name, "Object Transforms")


def _rotation_at(path: _Path, there: Object, to_armature: Matrix, desired: Quaternion) -> Quaternion:
    """Return the own rotation with which an object or a bone is turned as it should be in the armature's space."""
    bone = there.pose.bones[path.bone_name] if path.bone_name else None
    owner = there if bone is None else bone
    own = rotation_of(owner)
    basis, placed = owner.matrix_basis, there.matrix_world if bone is None else there.matrix_world @ bone.matrix
    outer = (to_armature @ placed @ basis.inverted_safe()).to_3x3()
    # Where an object has a delta rotation that comes after its own.
    delta, scale = basis.to_quaternion() @ own.conjugated(), Matrix.Diagonal(basis.to_scale())
    # Under an uneven scale a turn makes another one of itself: it takes some rounds to be the one that is wanted, and
    # here and there none is, because what Blender reads from sheared axes jumps.
    best, least = own, math.inf
    for _ in range(_ROUNDS):
        left = (outer @ (delta @ own).to_matrix() @ scale).to_quaternion().conjugated() @ desired
        off = Vector((left.x, left.y, left.z)).length
        if off < least:
            best, least = own, off
        if off < 1e-6:
            break
        own = own @ left
    return best.normalized()


def _check_there(
    scene: Scene, view_layer: ViewLayer, paths: Sequence[_Path], frames: Sequence[float], objects: Sequence[Object]
) -> None:
    """Refuse what keys don't bring about: something else holds a target."""
    with frames_of(scene, view_layer, objects) as at:
        for number in sorted({0, len(frames) // 2, len(frames) - 1}):
            at.go_to(frames[number])
            for path in paths:
                place = position_in_world(at.seen(path.obj), path.bone_name, "target")
                if (place - Vector(path.places[number].tolist())).length > 1e-4 * path.length:
                    raise FabrikError(
                        f"{path.what} '{path.owner.name}' is held elsewhere at frame {frames[number]:g}, by its "
                        "constraints or drivers, or by another chain"
                    )
