# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: targets moved to the tips of their chains, and poles into the planes of their bends (FK to IK)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Quaternion, Vector

from ...core import Array, FabrikError, Pose, pole_for
from ...core.fabrik.pole_shape import bend_angle_in_shape
from ...core.math.operations import SCALAR
from ...core.math.vectors import angle_about, first_direction, rejection
from ..bones.rotation_channel import Channel, channel_name, nearest_values
from ..rig.snapshot import Snapshot, take_snapshot
from ..rig.targets_and_poles import armature_to_world, target_position
from ..solving.write_channels import restore_channels
from .add_chain import POLE_DISTANCE
from .move_target import AT_GOAL, MovedGoal, check_rotates, movable, move_to, rotation_at, scale_of

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

    from ..rig.properties import FabrikChain

_EXTRA_ROUNDS = 4
"""Rounds beyond the number of targets: the rotation of one that constraints rotate, too, takes several rounds."""

_NEAREST_POLE = 0.1
"""Distance of a pole beyond the farthest joint, over chain length, below which it is moved to ``POLE_DISTANCE``."""


@dataclass(frozen=True)
class _Placement(MovedGoal):
    """The desired position and rotation of a target or pole."""

    position: Vector
    """In the world."""
    rotation: Quaternion | None = None
    """In the armature's space; None for poles, and where the chain takes no rotation."""

    def is_reached(self, view_layer: ViewLayer, armature: Object) -> bool:
        """Tell whether the target has its desired position and rotation."""
        target_position(view_layer, self.obj, self.bone_name, "target")  # raises if that isn't known
        if not self.is_at(self.obj, self.position):
            return False
        return self.rotation is None or self.is_rotated(self.obj, self.rotation, armature)


def snap_targets(
    view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain], desired_pole: Vector | None = None
) -> list[tuple[Object | PoseBone, str]]:
    """Move the targets of chains to their ends, and their poles into the plane in which they bend.

    The target of a chain that takes its rotation is rotated as the chain's tip bone is.

    Args:
        chains: of the armature.
        desired_pole: position in armature space to which the pole of a chain is moved that bends toward it.

    Returns:
        the objects and bones that were changed, with their channels.

    Raises:
        FabrikError: something keeps a target from moving; then nothing has changed.
    """
    view_layer.update()
    placements = [
        placement for chain in chains for placement in _desired_placements(view_layer, armature, chain, desired_pole)
    ]
    if not placements:
        return []
    before: list[tuple[Object | PoseBone, Channel]] = []
    try:
        # A target that is the child of another moves with it: in the worst order each round places one target.
        for _ in range(len(placements) + _EXTRA_ROUNDS):
            for placement in placements:
                before += _move(placement, armature)
            view_layer.update()
            unreached = [placement for placement in placements if not placement.is_reached(view_layer, armature)]
            if not unreached:
                break
        else:
            name = f"{unreached[0].what} '{unreached[0].bone_name or unreached[0].obj.name}'"
            raise FabrikError(f"{name} is moved elsewhere by its constraints or drivers, or by another chain")
    except FabrikError:
        restore_channels(reversed(before))
        view_layer.update()
        raise
    first = {(owner, name): old for owner, (name, old) in reversed(before)}
    return [(owner, name) for (owner, name), old in first.items() if getattr(owner, name)[:] != old]


def _desired_placements(
    view_layer: ViewLayer, armature: Object, chain: FabrikChain, desired_pole: Vector | None
) -> list[_Placement]:
    """READ: the desired position and rotation of a chain's target, and the desired position of its pole.

    Raises:
        FabrikError: the chain can't be read, its target moves with the chain, or the armature with its target or pole.
    """
    snapshot = take_snapshot(view_layer, armature, chain)
    to_world = armature_to_world(armature)
    length = snapshot.posed.total_length * scale_of(to_world)
    if snapshot.target_bone in snapshot.moving:
        raise FabrikError(f"Chain '{chain.name}': its target bone '{chain.subtarget}' moves with the chain itself")
    placements = []
    if not chain.use_pin:
        tip = to_world @ Vector(snapshot.posed.joints[-1].tolist())
        what = f"Chain '{chain.name}': its target"
        rotation = target_rotation(chain, snapshot.pose.rotations[-1]) if chain.use_rotation else None
        placements.append(_Placement(what, chain.target, chain.subtarget, length, tip, rotation))
    if snapshot.goals.poles is not None:
        place = _pole(snapshot, chain.pole_angle)
        if desired_pole is not None and _are_on_one_side(snapshot, place, desired := np.array(desired_pole[:])):
            place = desired
        if np.array_equal(place, snapshot.goals.poles[0]):
            pole = target_position(view_layer, chain.pole_target, chain.pole_subtarget, "pole")
        else:
            pole = to_world @ Vector(place.tolist())
        what = f"Chain '{chain.name}': its pole"
        placements.append(_Placement(what, chain.pole_target, chain.pole_subtarget, length, pole))
    for placement in placements:
        movable(placement.what, placement.obj, placement.bone_name, armature)  # raises what keeps it from moving
    return placements


def target_rotation(chain: FabrikChain, tip_rotation: Array) -> Quaternion:
    """Return the rotation of a chain's target with which its tip bone is as given: ``q o^-1``, in armature space.

    Args:
        chain: with the rotation offset ``o``, so that its tip bone is rotated by ``q = t o`` for a target ``t``.
        tip_rotation: (4,) ``q``, in armature space.
    """
    offset = Quaternion(chain.rotation_offset[:]).normalized()
    return Quaternion(tip_rotation.tolist()) @ offset.conjugated()


def _move(placement: _Placement, armature: Object) -> list[tuple[Object | PoseBone, Channel]]:
    """WRITE: the location and rotation channels of a target; return their old values.

    Raises:
        FabrikError: it can't be moved.
    """
    rotates = placement.rotation is not None and not placement.is_rotated(placement.obj, placement.rotation, armature)
    if rotates:
        check_rotates(placement.what, placement.owner)
    owner, old = move_to(placement.what, placement.obj, placement.bone_name, placement.position)
    before: list[tuple[Object | PoseBone, Channel]] = [(owner, ("location", old[:]))]
    if rotates:
        name = channel_name(owner)
        before.append((owner, (name, getattr(owner, name)[:])))
        to_armature = armature_to_world(armature).inverted_safe()
        assert placement.rotation is not None  # it rotates
        rotation, _ = rotation_at(placement.obj, placement.bone_name, to_armature, placement.rotation)
        setattr(owner, name, nearest_values(owner.rotation_mode, rotation, getattr(owner, name)[:]))
    return before


def _pole(snapshot: Snapshot, pole_angle: float) -> Array:
    """Return the desired position (3,) of a chain's pole: the present one, if the chain bends toward it or is straight.

    Else, or where the pole is nearer than ``_NEAREST_POLE``, it is in the plane of the bend, at the present distance
    from the line from root to tip, or at ``POLE_DISTANCE``.

    Args:
        snapshot: of a chain with a pole.
        pole_angle: the chain's pole angle, radians.
    """
    positions, shape_angle = bend_of(snapshot)
    assert snapshot.goals.poles is not None  # the chain has a pole
    present = snapshot.goals.poles[0]
    chord, to_pole = positions[-1] - positions[0], present - positions[0]
    along = chord / (np.linalg.norm(chord) + 1e-300)
    offsets = positions - positions[0]
    height = np.linalg.norm(offsets - np.outer(offsets @ along, along), axis=1).max()
    distance = np.linalg.norm(to_pole - along * (to_pole @ along)) - height
    share = float(distance / np.linalg.norm(np.diff(positions, axis=0), axis=1).sum())
    pose = Pose(positions, snapshot.pose.rotations)
    place = pole_for(pose, POLE_DISTANCE, pole_angle + shape_angle, present)
    return present if share > _NEAREST_POLE and _are_on_one_side(snapshot, place, present) else place


def _are_on_one_side(snapshot: Snapshot, pole: Array, other: Array) -> bool:
    """Tell whether a chain bends toward a pole (3,) as toward another one: both are at one angle about its chord."""
    positions, _ = bend_of(snapshot)
    chord, arm, aim = (tuple((end - positions[0]).tolist()) for end in (positions[-1], pole, other))
    axis = first_direction(SCALAR, [chord])
    return abs(float(angle_about(SCALAR, axis, rejection(arm, axis), rejection(aim, axis)))) <= AT_GOAL


def bend_of(snapshot: Snapshot) -> tuple[Array, float]:
    """Return the joints that bend toward a chain's pole, and the angle that its pole shape adds to its pole angle."""
    positions, chain = snapshot.posed.joints, snapshot.chain
    if snapshot.goals.rotations is not None and len(positions) > 3:
        # The target's rotation holds the last link, so it is the links before it that bend toward the pole.
        positions, chain = positions[:-1], chain.without_tip
    return positions, bend_angle_in_shape(chain, positions)
