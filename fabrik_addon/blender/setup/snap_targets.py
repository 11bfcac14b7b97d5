# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: targets and poles moved to where the chains are (FK to IK)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Quaternion, Vector

from ...core import Array, FabrikError, Pose, pole_for
from ..rig.rotation_channel import Channel, channel_name, nearest_values, rotation_of
from ..rig.snapshot import Snapshot, take_snapshot
from ..rig.targets import armature_to_world, rotation_in_armature, target_position
from ..solving.write_channels import restore_channels
from .add_chain import POLE_DISTANCE
from .move_target import move_to

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

    from ..rig.properties import FabrikChain

_NEAR = 1e-4
"""Distance from where a target should be that counts as there, over chain length; and radians by which it is turned."""

_ROUNDS = 4
"""Times more than there are targets that they are moved: under unevenly scaled parents turning takes several."""


@dataclass(frozen=True)
class _Placement:
    """Where a target or pole should be."""

    what: str
    obj: Object
    bone_name: str
    position: Vector
    """In the world."""
    length: float
    """Of the chain, in the world."""
    rotation: Quaternion | None = None
    """In the armature's space; None where it is of no account."""

    @property
    def owner(self) -> Object | PoseBone:
        return self.obj.pose.bones[self.bone_name] if self.bone_name else self.obj

    def turn_left(self, armature: Object) -> Quaternion:
        """Return what turns it, in its own frame, from how it is now."""
        assert self.rotation is not None  # asked where it is of account
        return rotation_in_armature(armature, self.obj, self.bone_name).conjugated() @ self.rotation

    def is_turned(self, armature: Object) -> bool:
        left = self.turn_left(armature)
        # Not Quaternion.angle: its arc cosine knows no angles below 5e-4 in single precision.
        return 2.0 * math.asin(min(1.0, Vector((left.x, left.y, left.z)).length)) <= _NEAR

    def is_there(self, view_layer: ViewLayer, armature: Object) -> bool:
        position = target_position(view_layer, self.obj, self.bone_name, "target")
        if (position - self.position).length > _NEAR * self.length:
            return False
        return self.rotation is None or self.is_turned(armature)


def snap_targets(
    view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain]
) -> list[tuple[Object | PoseBone, str]]:
    """Move the targets of chains to their ends, and their poles into the plane in which they bend.

    The target of a chain that takes its rotation is turned as the chain's tip is.

    Returns:
        the objects and bones that were changed, with their channels.

    Raises:
        FabrikError: something keeps a target from moving; then nothing has changed.
    """
    view_layer.update()
    placements = [placement for chain in chains for placement in _desired_placements(view_layer, armature, chain)]
    if not placements:
        return []
    before: list[tuple[Object | PoseBone, Channel]] = []
    try:
        # One that hangs on another is there only after the other is: as many rounds as there are targets do.
        for _ in range(len(placements) + _ROUNDS):
            for placement in placements:
                before += _move(placement, armature)
            view_layer.update()
            astray = [placement for placement in placements if not placement.is_there(view_layer, armature)]
            if not astray:
                break
        else:
            name = f"{astray[0].what} '{astray[0].bone_name or astray[0].obj.name}'"
            raise FabrikError(f"{name} is held elsewhere by its constraints or drivers, or by another chain")
    except FabrikError:
        restore_channels(reversed(before))
        view_layer.update()
        raise
    first = {(owner, name): old for owner, (name, old) in reversed(before)}
    return [(owner, name) for (owner, name), old in first.items() if getattr(owner, name)[:] != old]


def _desired_placements(view_layer: ViewLayer, armature: Object, chain: FabrikChain) -> list[_Placement]:
    """Return where a chain's target and pole should be.

    Raises:
        FabrikError: the chain can't be read, or its target moves with it.
    """
    snapshot = take_snapshot(view_layer, armature, chain)
    to_world = armature_to_world(armature)
    length = snapshot.chain.total_length * abs(to_world.determinant()) ** (1.0 / 3.0)
    if snapshot.target_bone in snapshot.moving:
        raise FabrikError(f"Chain '{chain.name}': its target bone '{chain.subtarget}' moves with the chain itself")
    placements = []
    if not chain.use_pin:
        end = to_world @ Vector(snapshot.shown_positions[-1].tolist())
        what, turn = f"Chain '{chain.name}': its target", None
        if chain.use_rotation:
            offset = Quaternion(chain.rotation_offset[:]).normalized()
            turn = Quaternion(snapshot.pose.rotations[-1].tolist()) @ offset.conjugated()
        placements.append(_Placement(what, chain.target, chain.subtarget, end, length, turn))
    if chain.pole_target is not None:
        pole = to_world @ Vector(_pole(snapshot, chain.pole_angle).tolist())
        what = f"Chain '{chain.name}': its pole"
        placements.append(_Placement(what, chain.pole_target, chain.pole_subtarget, pole, length))
    return placements


def _move(placement: _Placement, armature: Object) -> list[tuple[Object | PoseBone, Channel]]:
    """Write the channels that bring a target where it should be; return what they said before.

    Raises:
        FabrikError: it can't move or turn.
    """
    owner, old = move_to(placement.what, placement.obj, placement.bone_name, placement.position)
    before: list[tuple[Object | PoseBone, Channel]] = [(owner, ("location", old[:]))]
    if placement.rotation is not None and not placement.is_turned(armature):
        name = channel_name(owner)
        before.append((owner, (name, getattr(owner, name)[:])))
        turn = rotation_of(owner) @ placement.turn_left(armature)
        setattr(owner, name, nearest_values(owner.rotation_mode, turn, getattr(owner, name)[:]))
    return before


def _pole(snapshot: Snapshot, pole_angle: float) -> Array:
    """Return where a chain's pole should be: as far from the chain as it is now, if it isn't right beside it."""
    positions = snapshot.shown_positions
    assert snapshot.goals.poles is not None  # asked for chains with a pole only
    chord = positions[-1] - positions[0]
    to_pole = snapshot.goals.poles[0] - positions[0]
    along = chord / (np.linalg.norm(chord) + 1e-300)
    offsets = positions - positions[0]
    height = np.linalg.norm(offsets - np.outer(offsets @ along, along), axis=1).max()
    distance = np.linalg.norm(to_pole - along * (to_pole @ along)) - height
    share = float(distance) / snapshot.chain.total_length
    first = Pose(positions, snapshot.pose.rotations)
    return pole_for(first, share if share > 0.1 else POLE_DISTANCE, pole_angle)
