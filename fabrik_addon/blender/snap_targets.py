# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: targets and poles moved to where the chains are (FK to IK)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Vector

from ..core import FabrikError, Floats, Pose, pole_for
from .add_chain import POLE_DISTANCE
from .move_target import move_to
from .snapshot import Snapshot, take_snapshot
from .targets import armature_to_world, target_position

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

    from .properties import FabrikChain

_NEAR = 1e-4
"""Distance from where a target should be that counts as there, over chain length."""


def snap_targets(view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain]) -> list[Object | PoseBone]:
    """Move the targets of chains to their ends, and their poles into the plane in which they bend.

    Returns:
        the objects and bones that were moved.

    Raises:
        FabrikError: something keeps a target from moving; then nothing has changed.
    """
    view_layer.update()
    wishes: list[tuple[str, Object, str, Vector, float]] = []
    for chain in chains:
        snapshot = take_snapshot(view_layer, armature, chain)
        to_world = armature_to_world(armature)
        length = snapshot.chain.total_length * abs(to_world.determinant()) ** (1.0 / 3.0)
        end = to_world @ Vector(snapshot.shown_positions[-1].tolist())
        if snapshot.target_bone in snapshot.moving:
            raise FabrikError(f"Chain '{chain.name}': its target bone '{chain.subtarget}' moves with the chain itself")
        if not chain.use_pin:
            wishes.append((f"Chain '{chain.name}': its target", chain.target, chain.subtarget, end, length))
        if chain.pole_target is not None:
            pole = to_world @ Vector(_pole(snapshot, chain.pole_angle).tolist())
            wishes.append((f"Chain '{chain.name}': its pole", chain.pole_target, chain.pole_subtarget, pole, length))

    if not wishes:
        return []
    before: list[tuple[Object | PoseBone, Vector]] = []
    try:
        # One that hangs on another is there only after the other is: as many rounds as there are targets do.
        for _ in wishes:
            for what, obj, bone_name, position, _length in wishes:
                before.append(move_to(what, obj, bone_name, position))
            view_layer.update()
            astray = [
                f"{what} '{bone_name or obj.name}'"
                for what, obj, bone_name, position, length in wishes
                if (target_position(view_layer, obj, bone_name, "target") - position).length > _NEAR * length
            ]
            if not astray:
                break
        else:
            raise FabrikError(f"{astray[0]} is held elsewhere by its constraints or drivers, or by another chain")
    except FabrikError:
        for moved, old in reversed(before):
            moved.location = old
        view_layer.update()
        raise
    first = dict(reversed(before))
    return [moved for moved, old in first.items() if moved.location != old]


def _pole(snapshot: Snapshot, pole_angle: float) -> Floats:
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
