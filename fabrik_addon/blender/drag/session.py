# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A drag from its start to its end, without events: where it is told to go, the chain follows.

Every move is solved from the pose at the start, so that the same place gives the same pose, to the last bit, whatever
way led there. Nothing can be done with a session after an undo or a new file: ``is_intact`` tells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from mathutils import Matrix, Vector

from ...core import Array, FabrikError, Goals
from ..rig.last_results import Result, keep_result
from ..rig.properties import settings_of
from ..rig.rotation_channel import channel_name
from ..rig.snapshot import Snapshot, take_bone_snapshot, take_snapshot
from ..rig.targets import armature_to_world, target_position
from ..setup.move_target import Movable, movable
from ..solving.chain_groups import Group, group_snapshots, solve_group, take_group
from ..solving.outcome import outcome_of
from ..solving.write_channels import differ, restore_channels
from .mirror import mirrored_channels, opposite_of, own_matrix

if TYPE_CHECKING:
    from bpy.types import Bone, Object, PoseBone, Scene, ViewLayer

    from ..rig.properties import FabrikChain
    from ..solving.solve_chain_bones import SolvedChain

_HELD = 1e-4
"""Distance of a target from where it was put, over chain length, that says that something holds it."""


@dataclass(frozen=True)
class Grab:
    """What a drag takes hold of."""

    bone: str
    """The last bone of the chain."""
    chain: str = ""
    """Name of the chain whose target is dragged; empty for the bone's own tail."""


def chain_to_grab(armature: Object, bone: str) -> FabrikChain | None:
    """Return the first chain that is on, ends at a bone and has a target that pulls; None where there is none."""
    for chain in settings_of(armature).chains:
        if chain.enabled and chain.tip == bone and chain.target is not None and not chain.use_pin:
            return chain
    return None


class DragSession:
    """A chain that follows where its end or its target is dragged."""

    def __init__(
        self, view_layer: ViewLayer, armature: Object, grab: Grab, chain_count: int = 2, pins: str = 'PINNED'
    ) -> None:
        """Begin a drag; nothing changes yet.

        Args:
            view_layer: with the armature.
            armature: object in Pose mode.
            grab: what is dragged.
            chain_count: bones that turn if it is a bone's tail: as many as there are at most, 0 for all.
            pins: which other chains' ends hold still: 'PINNED' those that are pinned, 'ALL', 'NONE'.

        Raises:
            FabrikError: the chain or its target can't be used.
        """
        self.armature = armature
        self.grab = grab
        self.pins = pins
        self.result: Result | None = None
        """How the chain is doing; None where it was not moved."""
        self._before: dict[tuple[int, str], tuple[Object | PoseBone | Bone, tuple[str, Any]]] = {}
        self._addresses: dict[tuple[Object, str], int] = {}
        self._begin(view_layer, chain_count)
        self.position = self.start_position.copy()

    def _begin(self, view_layer: ViewLayer, chain_count: int) -> None:
        view_layer.update()
        self._target: Movable | None = None
        if not self.grab.chain and self.grab.bone not in self.armature.pose.bones:
            raise FabrikError(f"There is no bone '{self.grab.bone}' in '{self.armature.name}'")
        self._read(view_layer, chain_count)
        if self.grab.chain:
            settings = self._settings()
            self._target = movable(f"Chain '{self.grab.chain}': its target", settings.target, settings.subtarget)
            self._remember(self._target.moved, "location")
        self.start_position = self._grabbed_position(view_layer)
        """Where in the world what is dragged was at the start."""

    @property
    def chain_count(self) -> int:
        """How many bones follow."""
        return len(self.snapshot.bones.bones)

    @property
    def most_bones(self) -> int:
        """How many bones could follow."""
        return len(self.armature.pose.bones[self.grab.bone].parent_recursive) + 1

    @property
    def held(self) -> frozenset[str]:
        """Names of the other chains whose ends hold still."""
        return frozenset(self._holds)

    @property
    def tip_position(self) -> Vector:
        """Where the chain's end is in the world."""
        bones = self.snapshot.bones
        return self.armature.matrix_world @ (bones.end.tail if bones.use_tail else bones.end.head)

    @property
    def axes(self) -> Matrix:
        """The axes of what is dragged in the world, as columns of a rotation matrix."""
        if self._target is None:
            return (self.armature.matrix_world @ self.snapshot.bones.end.matrix).to_3x3().normalized()
        obj, bone_name = self._target.obj, self._target.bone_name
        matrix = obj.matrix_world @ obj.pose.bones[bone_name].matrix if bone_name else obj.matrix_world
        return matrix.to_3x3().normalized()

    def is_intact(self) -> bool:
        """Tell whether the armature and its bones are still those of the start."""
        try:
            return self.armature.mode != 'EDIT' and all(
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
        self.result = None
        restore_channels(self._before.values())
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
        self._mirror(view_layer)
        place = next(i for i, chain in enumerate(solved) if chain.snapshot.bones.chain_name == self._name)
        self.result = outcome_of(self.armature, solved[place], solved[place + 1 :])

    def _mirror(self, view_layer: ViewLayer) -> None:
        """Turn the bones of the other side too if the pose's X-axis mirror is on; those that hold still, do."""
        pose = self.armature.pose
        if not pose.use_mirror_x:
            return
        for bone, start in self._mirror_starts:
            other = opposite_of(self.armature, bone)
            if other is not None and other.name not in self._unmirrored:
                for channel in mirrored_channels(bone, start, other, pose.use_mirror_relative):
                    self._write(other, channel)
        view_layer.update()

    def set_chain_count(self, view_layer: ViewLayer, chain_count: int) -> None:
        """Take another number of bones, from 1 to all there are; what is dragged stays where it is.

        Raises:
            FabrikError: those bones can't be a chain; then it stays as it was.
        """
        self._change(view_layer, min(max(chain_count, 1), self.most_bones), self.pins)

    def set_pins(self, view_layer: ViewLayer, pins: str) -> None:
        """Let the ends of other chains hold still: of those that are 'PINNED', of 'ALL', of 'NONE'.

        Raises:
            FabrikError: a chain that should hold still can't be solved; then it stays as it was.
        """
        self._change(view_layer, self.chain_count, pins)

    @property
    def is_moved(self) -> bool:
        """Whether anything is not as it was at the start."""
        return bool(self._changed())

    def confirm(self) -> list[tuple[Object | PoseBone | Bone, str]]:
        """End the drag here; return what has changed: objects and bones, with the names of their channels."""
        if self.grab.chain and self.result is not None:
            keep_result(self.armature, self.grab.chain, self.result)
        return self._changed()

    def cancel(self, view_layer: ViewLayer) -> None:
        """End the drag with everything as it was at the start, bit for bit."""
        self.restore()
        view_layer.update()

    def restore(self) -> None:
        """Do what ``cancel`` does where there is no view layer to update any more."""
        restore_channels(self._before.values())

    def restart(self, scene: Scene, view_layer: ViewLayer) -> None:
        """Begin anew at the frame that Blender went to meanwhile; what is dragged stays where it is.

        Raises:
            FabrikError: at this frame the chain can't be used; then everything is as the frame has it.
        """
        self.restore()
        scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
        chain_count = self.chain_count
        self._before.clear()
        self._addresses.clear()
        self._begin(view_layer, chain_count)
        self.move(view_layer, self.position)

    def _changed(self) -> list[tuple[Object | PoseBone | Bone, str]]:
        return [
            (owner, name) for owner, (name, values) in self._before.values() if differ(values, getattr(owner, name)[:])
        ]

    def _change(self, view_layer: ViewLayer, chain_count: int, pins: str) -> None:
        old_count, old_pins = self.chain_count, self.pins
        restore_channels(self._before.values())
        view_layer.update()
        self.pins = pins
        try:
            self._read(view_layer, chain_count)
        except FabrikError:
            self.pins = old_pins
            self._read(view_layer, old_count)
            raise
        finally:
            self.move(view_layer, self.position)

    def _read(self, view_layer: ViewLayer, chain_count: int) -> None:
        """Read the chain, and those that hold still, at the start pose."""
        if self.grab.chain:
            self.snapshot = take_snapshot(view_layer, self.armature, self._settings())
        else:
            self.snapshot = take_bone_snapshot(self.armature, self.grab.bone, min(chain_count, self.most_bones))
        self._name = self.snapshot.bones.chain_name
        self._to_armature: Matrix = armature_to_world(self.armature).inverted()
        held = self._read_held(view_layer)
        self._holds: dict[str, Goals] = {
            snapshot.bones.chain_name: replace(snapshot.goals, targets=snapshot.shown_positions[-1:])
            for snapshot in held
        }
        groups = group_snapshots([self.snapshot, *held])
        place = next(i for i, group in enumerate(groups) if self._name in group.names)
        self._groups = _moved_with(groups[place:])
        if self.snapshot.target_bone in self._groups[0].moving:
            raise FabrikError(f"Chain '{self._name}': its target hangs on the chain itself: drag a bone instead")
        turned = frozenset().union(*(group.bones for group in self._groups))
        self._mirror_starts = [(bone, own_matrix(bone)) for bone in map(self.armature.pose.bones.__getitem__, turned)]
        self._unmirrored = turned.union(*(snapshot.moving for snapshot in held), {self.snapshot.target_bone})
        for group in self._groups:
            for snapshot in group.snapshots:
                for i in snapshot.bones.free:
                    bone = snapshot.bones.bones[i]
                    self._remember(bone, channel_name(bone))
            for bone in group.shifting:
                self._remember(bone, "location")

    def _read_held(self, view_layer: ViewLayer) -> list[Snapshot]:
        """Read the other chains whose ends hold still; a bone that is dragged by its tail has none of its own."""
        held = []
        for chain in settings_of(self.armature).chains:
            is_own = chain.name == self.grab.chain if self.grab.chain else chain.tip == self.grab.bone
            is_held = chain.use_pin or (self.pins == 'ALL' and chain.target is not None)
            if chain.enabled and is_held and self.pins != 'NONE' and not is_own:
                held.append(replace(take_snapshot(view_layer, self.armature, chain), is_pinned=True))
        return held

    def _solve(self, view_layer: ViewLayer, position: Vector) -> list[SolvedChain]:
        """Write the pose for a position, and update."""
        first, *others = self._groups
        target: Array = np.array([(self._to_armature @ position)[:]])
        goals = {**self._holds, self._name: replace(self.snapshot.goals, targets=target)}
        solved = self._write_solved(first, goals)
        view_layer.update()
        for other in others:
            # It hangs on what has moved.
            chains = settings_of(self.armature).chains
            now = take_group(view_layer, self.armature, [chains[name] for name in other.names])
            solved += self._write_solved(now, self._holds)
            view_layer.update()
        return solved

    def _write_solved(self, group: Group, goals: dict[str, Goals]) -> list[SolvedChain]:
        solved = []
        for chain in solve_group(group, {name: goals[name] for name in group.names}):
            for bone, channel in chain.settings:
                self._write(bone, channel)
            snapshot = replace(chain.snapshot, goals=goals[chain.snapshot.bones.chain_name])
            solved.append(chain._replace(snapshot=snapshot))
        return solved

    def _write(self, owner: Object | PoseBone | Bone, channel: tuple[str, Any]) -> None:
        name, values = channel
        self._remember(owner, name)
        before = self._before[owner.as_pointer(), name][1][1]
        # What is no change leaves the very bits of the start.
        setattr(owner, name, values if differ(before, values) else before)

    def _remember(self, owner: Object | PoseBone | Bone, name: str) -> None:
        key = owner.as_pointer(), name
        if key in self._before:
            return  # every move comes here for every bone
        self._before[key] = owner, (name, getattr(owner, name)[:])
        if owner.id_data != owner and owner.id_data.id_type == 'OBJECT':
            self._addresses[owner.id_data, owner.name] = owner.as_pointer()  # type: ignore[index]

    def _grabbed_position(self, view_layer: ViewLayer) -> Vector:
        if not self.grab.chain:
            return self.tip_position
        settings = self._settings()
        return target_position(view_layer, settings.target, settings.subtarget, "target")

    def _settings(self) -> FabrikChain:
        chain = settings_of(self.armature).chains.get(self.grab.chain)
        if chain is None:
            raise FabrikError(f"'{self.armature.name}' has no chain '{self.grab.chain}'")
        if chain.target is None:
            raise FabrikError(f"Chain '{chain.name}' has no target to drag: choose an object in its settings")
        if chain.use_pin:
            raise FabrikError(f"Chain '{chain.name}' is pinned, so its target doesn't pull: switch Pin off")
        return chain


def _moved_with(groups: list[Group]) -> list[Group]:
    """Return the first of groups and, in their order, those that hang on what moves with it."""
    kept = groups[:1]
    for group in groups[1:]:
        moving = frozenset().union(*(other.moving for other in kept))
        if not moving.isdisjoint(group.rests_on | group.bones):
            kept.append(group)
    return kept
