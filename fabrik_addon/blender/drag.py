# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A drag from its start to its end, without events: where it is told to go, the chain follows.

Every move is solved from the pose at the start, so that the same place gives the same pose, to the last bit, whatever
way led there. Nothing is kept over an undo or a file: who calls asks ``is_intact`` first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Matrix, Vector

from ..core import FabrikError, Status
from .apply import differ, restore_channels
from .channels import Channel, channel_name
from .move_target import Movable, movable
from .outcome import outcome_of
from .properties import settings_of
from .results import Result, keep_result
from .snapshot import Snapshot, take_bone_snapshot, take_snapshot
from .solve_snapshot import SolvedChain, solve_snapshot
from .targets import armature_to_world, target_position

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

    from .properties import FabrikChain

_HELD = 1e-4
"""Distance of a target from where it was put that says that something holds it, over chain length."""


@dataclass(frozen=True)
class Grab:
    """What a drag takes hold of."""

    bone: str
    """The last bone of the chain."""
    chain: str = ""
    """Name of the chain whose target is dragged; empty for the bone's own tail."""


def chain_to_grab(armature: Object, bone: str) -> FabrikChain | None:
    """Return the first chain that is on, ends at a bone and has a target; None where there is none."""
    for chain in settings_of(armature).chains:
        if chain.enabled and chain.tip == bone and chain.target is not None:
            return chain
    return None


class DragSession:
    """A chain that follows where its end or its target is dragged."""

    def __init__(self, view_layer: ViewLayer, armature: Object, grab: Grab, chain_count: int = 2, pins: str = 'NONE'):
        """Begin a drag; nothing changes yet.

        Args:
            view_layer: with the armature.
            armature: object in Pose mode.
            grab: what is dragged.
            chain_count: bones that turn, if it is a bone's tail: as many as there are at most, 0 for all.
            pins: which other chains' ends hold still, 'NONE' or 'ALL'.

        Raises:
            FabrikError: the chain or its target can't be used.
        """
        self.armature = armature
        self.grab = grab
        self.pins = pins
        self.result: Result | None = None
        """How the chain is doing; None where it was not moved."""
        view_layer.update()
        self._before: dict[tuple[int, str], tuple[Object | PoseBone, Channel]] = {}
        self._addresses: dict[tuple[Object, str], int] = {}
        self._target: Movable | None = None
        if grab.chain:
            settings = self._settings()
            self._target = movable(f"Chain '{grab.chain}': its target", settings.target, settings.subtarget)
            self._remember(self._target.moved, "location")
        self._begin(view_layer, chain_count)
        self.start_position = self._grabbed_position(view_layer)
        """Where in the world what is dragged was at the start."""
        self.position = self.start_position.copy()

    def _begin(self, view_layer: ViewLayer, chain_count: int) -> None:
        """Read the chain, and what it holds, at the start pose."""
        self.snapshot = self._read(view_layer, chain_count)
        self._to_armature: Matrix = armature_to_world(self.armature).inverted()
        self._pinned = self._read_pinned(view_layer) if self.pins == 'ALL' else []
        for snapshot in (self.snapshot, *(pinned for pinned, _ in self._pinned)):
            for i in snapshot.bones.free:
                bone = snapshot.bones.bones[i]
                self._remember(bone, channel_name(bone))
            if snapshot.options.moves_root:
                self._remember(snapshot.bones.bones[0], "location")

    @property
    def chain_count(self) -> int:
        """How many bones follow."""
        return len(self.snapshot.bones.bones)

    @property
    def most_bones(self) -> int:
        """How many bones could follow."""
        return len(self.armature.pose.bones[self.grab.bone].parent_recursive) + 1

    @property
    def is_moved(self) -> bool:
        """Whether anything is not as it was at the start."""
        return any(differ(getattr(owner, name)[:], values) for owner, (name, values) in self._before.values())

    def is_intact(self) -> bool:
        """Tell whether the armature and its bones are still those of the start; after an undo they may not be."""
        try:
            return self.armature.mode == 'POSE' and all(
                (bone := obj.pose.bones.get(name)) is not None and bone.as_pointer() == address
                for (obj, name), address in self._addresses.items()
            )
        except ReferenceError:
            return False

    def move(self, view_layer: ViewLayer, position: Vector) -> None:
        """Pose the chain so that what is dragged is at a position in the world, or as near as can be.

        Raises:
            FabrikError: the position isn't finite.
        """
        self.position = position.copy()
        restore_channels(self._before.values())
        self.result = None
        if position[:] == self.start_position[:]:
            view_layer.update()
            return
        if self._target is not None:
            self._write(self._target.moved, ("location", self._target.location_at(position)[:]))
        solved = self._solve(view_layer, position)
        if self._target is not None:
            actual = self._grabbed_position(view_layer)
            if (actual - position).length > _HELD * self.snapshot.chain.total_length:
                # Constraints hold it elsewhere: that is where the chain has to go.
                solved = self._solve(view_layer, actual)
        self.result = outcome_of(self.armature, solved[0], solved[1:])

    def set_chain_count(self, view_layer: ViewLayer, chain_count: int) -> None:
        """Take another number of bones, from 1 to all there are; what is dragged stays where it is.

        Raises:
            FabrikError: those bones can't be a chain; then it stays as it was.
        """
        self._change(view_layer, min(max(chain_count, 1), self.most_bones), self.pins)

    def set_pins(self, view_layer: ViewLayer, pins: str) -> None:
        """Let the ends of other chains hold still, 'ALL', or not, 'NONE'.

        Raises:
            FabrikError: a chain that should hold still can't be solved; then it stays as it was.
        """
        self._change(view_layer, self.chain_count, pins)

    def _change(self, view_layer: ViewLayer, chain_count: int, pins: str) -> None:
        old_count, old_pins = self.chain_count, self.pins
        restore_channels(self._before.values())
        view_layer.update()
        self.pins = pins
        try:
            self._begin(view_layer, chain_count)
        except FabrikError:
            self.pins = old_pins
            self._begin(view_layer, old_count)
            raise
        finally:
            self.move(view_layer, self.position)

    def confirm(self) -> list[tuple[Object | PoseBone, str]]:
        """End the drag here; return what has changed, objects and bones with the names of their channels."""
        if self.grab.chain and self.result is not None:
            keep_result(self.armature, self.grab.chain, self.result)
        return [
            (owner, name)
            for owner, (name, values) in self._before.values()
            if differ(getattr(owner, name)[:], values)
        ]

    def cancel(self, view_layer: ViewLayer) -> None:
        """End the drag with everything as it was at the start, bit for bit."""
        restore_channels(self._before.values())
        view_layer.update()

    def tip_position(self) -> Vector:
        """Return where the chain's end is in the world."""
        bones = self.snapshot.bones
        return self.armature.matrix_world @ (bones.end.tail if bones.use_tail else bones.end.head)

    def axes(self) -> Matrix:
        """Return the axes of what is dragged in the world, as the columns of a rotation matrix."""
        if self._target is not None and not self._target.bone_name:
            return self._target.obj.matrix_world.to_3x3().normalized()
        bone = self.snapshot.bones.end if self._target is None else self._target.moved
        return (self.armature.matrix_world @ bone.matrix).to_3x3().normalized()

    def _settings(self) -> FabrikChain:
        chain = settings_of(self.armature).chains.get(self.grab.chain)
        if chain is None:
            raise FabrikError(f"'{self.armature.name}' has no chain '{self.grab.chain}'")
        if chain.target is None:
            raise FabrikError(f"Chain '{chain.name}' has no target to drag: choose an object in its settings")
        return chain

    def _read(self, view_layer: ViewLayer, chain_count: int) -> Snapshot:
        if self.grab.chain:
            return take_snapshot(view_layer, self.armature, self._settings())
        if self.grab.bone not in self.armature.pose.bones:
            raise FabrikError(f"There is no bone '{self.grab.bone}' in '{self.armature.name}'")
        return take_bone_snapshot(self.armature, self.grab.bone, min(chain_count, self.most_bones))

    def _grabbed_position(self, view_layer: ViewLayer) -> Vector:
        if not self.grab.chain:
            return self.tip_position()
        settings = self._settings()
        return target_position(view_layer, settings.target, settings.subtarget, "target")

    def _remember(self, owner: Object | PoseBone, name: str) -> None:
        self._before.setdefault((owner.as_pointer(), name), (owner, (name, getattr(owner, name)[:])))
        if owner.id_data != owner:
            self._addresses[owner.id_data, owner.name] = owner.as_pointer()

    def _solve(self, view_layer: ViewLayer, position: Vector) -> list[SolvedChain]:
        """Write the pose for a position of the target, and update."""
        target = np.array([(self._to_armature @ position)[:]])
        solved = [self._solve_one(self.snapshot, target)]
        view_layer.update()
        for name, hold in self._pinned:
            # It hangs on what has moved.
            snapshot = take_snapshot(view_layer, self.armature, settings_of(self.armature).chains[name])
            solved.append(self._solve_one(snapshot, hold))
            view_layer.update()
        return solved

    def _solve_one(self, snapshot: Snapshot, target: Floats) -> SolvedChain:
        aimed = replace(snapshot, goals=replace(snapshot.goals, targets=target))
        solved = solve_snapshot(aimed)
        for owner, channel in solved.channels:
            self._write(owner, channel)
        if solved.location is not None:
            self._write(*solved.location)
        return solved

    def _write(self, owner: Object | PoseBone, channel: Channel) -> None:
        name, values = channel
        _, before = self._before[owner.as_pointer(), name][1]
        # What is no change leaves the very bits of the start.
        setattr(owner, name, values if differ(before, values) else before)

    def _read_pinned(self, view_layer: ViewLayer) -> list[tuple[str, Floats]]:
        """Return the other chains that hang on this one, nearer the root first, and where their ends are."""
        own = {bone.name for bone in self.snapshot.bones.bones}
        found = []
        for chain in settings_of(self.armature).chains:
            if not chain.enabled or chain.name == self.grab.chain or chain.target is None:
                continue
            snapshot = take_snapshot(view_layer, self.armature, chain)
            names = {bone.name for bone in snapshot.bones.bones}
            if names.isdisjoint(own) and snapshot.bones.bones[0].name in self.snapshot.moving:
                found.append((len(snapshot.bones.bones[0].parent_recursive), snapshot))
        found.sort(key=lambda pair: pair[0])
        return [(snapshot.bones.chain_name, snapshot.pose.positions[-1:]) for _, snapshot in found]
