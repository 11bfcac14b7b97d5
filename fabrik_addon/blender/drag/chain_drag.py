# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drag of a chain, without events: ``move`` poses the chain for a position of the dragged point.

The dragged point is the tail of a bone, the head of a hand or foot that keeps its direction, or the target or pole of a
chain. Every move restores the channels of the start, and that pose is the reference pose of every solve: what the
targets leave open stays near it. The search of a single chain that ``depends_on_near``, and that of several chains,
which are solved as a tree, start from the solution of the move before: from the reference pose a move of a hand whose
body is a tree took 13 to 60 ms, so it takes 4 to 6. So does the projection of a chain with locks or sheared bones
(``constraint_projection``), without softness and stretch. Every other solve starts from the reference pose, and one
position gives one pose, bit for bit, whatever way the point was dragged. At the start position the pose is that of
the start, and the next move starts from it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...core import Array, FabrikError, Goals
from ..rig.chain_bones import armature_of
from ..rig.dependencies import followed_by
from ..rig.last_results import Result, keep_result
from ..rig.properties import settings_of
from ..rig.snapshot import Snapshot, take_bone_snapshot, take_snapshot
from ..rig.targets_and_poles import armature_to_world, shown_goals, target_position
from ..setup.move_target import Movable, movable
from ..setup.snap_targets import snap_targets
from ..solving.chain_groups import Group, group_chains, take_group
from ..solving.outcome import outcome_of
from ..solving.solve_chain_bones import present_chain
from ..solving.solve_chains import solution_to_follow, solve_and_write
from .base_drag import BaseDrag, Grab
from .kept_direction import direction_keeping_channel
from .pose_mirror import FLIP, mirrored_channels, opposite_of, own_matrix
from .targets_along import chains_ending_at, channels_of_goals, solved_as_chain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpy.types import Bone, Object, PoseBone, ViewLayer

    from ..rig.dependencies import Node
    from ..rig.properties import FabrikChain
    from ..solving.solve_chain_bones import SolvedChain

_AS_SHOWN = 1e-4
"""Distance of a target or pole, over chain length, and difference of a target's rotation, from those of a solve, up to
which that isn't repeated."""


def chain_to_grab(armature: Object, bone: str) -> FabrikChain | None:
    """Return the first enabled chain whose tip is a bone and that has a target and no pin; None if there is none."""
    for chain in settings_of(armature).chains:
        if chain.enabled and chain.tip == bone and chain.target is not None and not chain.use_pin:
            return chain
    return None


class ChainDrag(BaseDrag):
    """A chain whose end, target or pole is dragged, with the channels it had at the start."""

    snapshot: Snapshot

    def __init__(
        self,
        view_layer: ViewLayer,
        armature: Object,
        grab: Grab,
        chain_count: int = 2,
        pins: str = 'PINNED',
        still: frozenset[str] = frozenset(),
    ) -> None:
        """Begin a drag; nothing changes yet.

        Args:
            armature: object in Pose mode.
            grab: the dragged point.
            chain_count: number of bones that rotate if a bone is dragged; more than there are, and 0, is all.
            pins: which other chains' ends are held: 'PINNED' those of pinned chains, 'ALL', 'NONE'.
            still: names of bones that don't rotate if a bone is dragged, unless there are no others.

        Raises:
            FabrikError: the chain or its target can't be used.
        """
        self._wanted_count = chain_count
        self._still = still
        super().__init__(view_layer, armature, grab, pins)

    def _begin(self, view_layer: ViewLayer) -> None:
        self._target: Movable | None = None
        self._results: dict[str, Result] = {}
        """Of the last solve, by the names of the dragged chain and of those that follow its target or pole."""
        if not self.grab.chain and self.grab.bone not in self.armature.pose.bones:
            raise FabrikError(f"There is no bone '{self.grab.bone}' in '{self.armature.name}'")
        self._read(view_layer)
        if self.grab.chain:
            settings = self._settings()
            what = f"Chain '{self.grab.chain}': its {self.grab.role}"
            self._target = movable(what, *self._grabbed(settings), self.armature)
            self._channels.record(self._target.moved, "location")
        self.start_position = self._grabbed_position(view_layer)

    @property
    def chain_count(self) -> int:
        """Number of bones of the dragged chain."""
        return len(self.snapshot.bones.bones)

    @property
    def most_bones(self) -> int:
        """Number of bones that can rotate, up to the armature's root."""
        return len(self.armature.pose.bones[self.grab.bone].parent_recursive) + self.grab.use_tail

    @property
    def held(self) -> frozenset[str]:
        """Names of the other chains whose ends are held."""
        return frozenset(self._held_goals)

    @property
    def tip_position(self) -> Vector:
        """Position of the chain's end, world space."""
        return self.armature.matrix_world @ self.snapshot.bones.end_position

    @property
    def axes(self) -> Matrix:
        """Local axes of the dragged bone or object, as columns of a rotation matrix in world space."""
        if self._target is None:
            return super().axes
        obj, bone_name = self._target.obj, self._target.bone_name
        matrix = obj.matrix_world @ obj.pose.bones[bone_name].matrix if bone_name else obj.matrix_world
        return matrix.to_3x3().normalized()

    def _pose_at_start(self, view_layer: ViewLayer) -> None:
        self._previous.clear()
        super()._pose_at_start(view_layer)

    def _pose(self, view_layer: ViewLayer, position: Vector) -> None:
        if self._target is not None:
            self._channels.write(self._target.moved, ("location", self._target.location_at(position)[:]))
        goals = self._goals_at(position)
        if self._following_goals:
            view_layer.update()
            goals |= self._shown_goals(view_layer)
        solved = self._solve(view_layer, goals)
        if self._target is not None:
            shown = self._shown_goals(view_layer)
            if any(_are_apart(goals[name], other, self.snapshot.posed.total_length) for name, other in shown.items()):
                # Constraints moved the target, or the pole follows it: the chain is solved for what Blender shows.
                goals |= shown
                solved = self._solve(view_layer, goals)
            position = armature_to_world(self.armature) @ Vector(goals[self._name].targets[0].tolist())
        self._mirror(view_layer, solved)
        self._bring_targets(view_layer)
        index = next(i for i, chain in enumerate(solved) if chain.snapshot.bones.chain_name == self._name)
        self._results = {
            chain.snapshot.name: outcome_of(view_layer, self.armature, chain, solved[number + 1 :])
            for number, chain in enumerate(solved)
            if number == index or chain.snapshot.name in self._following_goals
        }
        self.result = self._results[self._name]
        self.distance_left = (self.tip_position - position).length
        self.others_off = sum(map(_is_off, (*solved[:index], *solved[index + 1 :])))

    def _mirror(self, view_layer: ViewLayer, solved: Sequence[SolvedChain]) -> None:
        """With the pose's X-axis mirror on, rotate the bones of the other side alike, except those of held chains.

        Where bones were stretched the other side is too, and what hangs on it keeps its size.
        """
        pose = self.armature.pose
        if not pose.use_mirror_x:
            return
        stretched = {(owner.name, name) for chain in solved for owner, (name, _) in chain.stretched}
        for bone, start, is_solved in self._mirror_starts:
            other = opposite_of(self.armature, bone)
            if other is None or other.name in self._unmirrored:
                continue
            if (bone.name, "inherit_scale") in stretched:
                self._channels.write(other.bone, ("inherit_scale", bone.bone.inherit_scale))
            for name, values in mirrored_channels(bone, start, other, pose.use_mirror_relative):
                if is_solved or (name == "scale" and (bone.name, name) in stretched):
                    self._channels.write(other, (name, values))
        view_layer.update()

    def _bring_targets(self, view_layer: ViewLayer) -> None:
        """Move the targets and poles of chains that end at the dragged bone to where the pose has them.

        A pole on the other side of a dragged one is moved to the mirrored place, where its chain bends toward that.
        """
        chains, mirrored = settings_of(self.armature).chains, None
        if self.grab.is_pole and self._brought:
            mirrored = FLIP @ self._to_armature @ self._grabbed_position(view_layer)
        for name in self._brought:
            try:
                snap_targets(view_layer, self.armature, [chains[name]], mirrored)
            except FabrikError as error:
                self.left_behind = str(error)

    def set_chain_count(self, view_layer: ViewLayer, chain_count: int) -> None:
        """Change the number of bones, from 1 to all there are; the dragged point keeps its position.

        Raises:
            FabrikError: those bones can't be a chain; then the number stays as it was.
        """
        self._change(view_layer, min(max(chain_count, 1), self.most_bones), self.pins)

    def set_pins(self, view_layer: ViewLayer, pins: str) -> None:
        """Change which other chains' ends are held: of those that are 'PINNED', of 'ALL', of 'NONE'.

        Raises:
            FabrikError: a held chain can't be solved; then the held chains stay as they were.
        """
        self._change(view_layer, self.chain_count, pins)

    @property
    def is_moved(self) -> bool:
        """Whether a channel differs from the start."""
        return bool(self._channels.changed())

    def confirm(self) -> list[tuple[Object | PoseBone | Bone, str]]:
        """End the drag here, and keep the results of the dragged chain and of those that follow its target or pole.

        Returns:
            the changed channels: objects and bones, with the channels' names.
        """
        if self.grab.chain and self.result is not None:
            for name, result in self._results.items():
                keep_result(self.armature, name, result)
        return super().confirm()

    def _change(self, view_layer: ViewLayer, chain_count: int, pins: str) -> None:
        before = self.chain_count, self.pins
        self._channels.restore()
        view_layer.update()
        self._wanted_count, self.pins = chain_count, pins
        try:
            self._read(view_layer)
        except FabrikError:
            self._wanted_count, self.pins = before
            self._read(view_layer)
            raise
        finally:
            self.move(view_layer, self.position)

    def _read(self, view_layer: ViewLayer) -> None:
        """Read the dragged chain and the held ones at the start pose, and record their channels."""
        if self.grab.chain:
            self.snapshot = take_snapshot(view_layer, self.armature, self._settings())
        else:
            count = min(self._wanted_count, self.most_bones)
            self.snapshot = take_bone_snapshot(self.armature, self.grab.bone, count, self.grab.use_tail, self._still)
        following = self._read_following(view_layer)
        self._following_goals: dict[str, Goals] = {snapshot.name: snapshot.goals for snapshot in following}
        brought = chains_ending_at(self.armature, self.grab.bone, self.grab.use_tail)
        if self.grab.chain:
            # The dragged target moves by itself; with X-axis mirror on, that of the other side comes along.
            brought = [
                chain for chain in brought if chain.tip != self.grab.bone and chain.name not in self._following_goals
            ]
        else:
            self.snapshot = solved_as_chain(view_layer, self.armature, self.snapshot, brought)
        self._brought = [chain.name for chain in brought]
        self._name = self.snapshot.bones.chain_name
        self._to_armature: Matrix = armature_to_world(self.armature).inverted()
        held = self._read_held(view_layer)
        self._held_goals: dict[str, Goals] = {
            snapshot.bones.chain_name: replace(snapshot.goals, targets=snapshot.posed.joints[-1:]) for snapshot in held
        }
        groups = group_chains([self.snapshot, *held, *following])
        self._groups = _moved_with(groups, frozenset({self._name, *self._following_goals}))
        self._previous: dict[tuple[str, ...], tuple[SolvedChain, ...]] = {}
        """Of the move before, by the names of the chains of each group."""
        own_group = next(group for group in self._groups if self._name in group.names)
        if self.snapshot.target_bone in own_group.moving:
            raise FabrikError(f"Chain '{self._name}': its target depends on the chain itself: drag a bone instead")
        names = frozenset().union(*(group.bones for group in self._groups))
        self._kept: tuple[PoseBone, Quaternion] | None = None
        if not (self.grab.use_tail or self.grab.bone in names):
            end = self.snapshot.bones.end
            self._kept = end, end.matrix.to_quaternion()
            names |= {end.name}
        native = frozenset().union(*(snapshot.native for group in self._groups for snapshot in group.snapshots))
        solved = [self.armature.pose.bones[name] for name in names - native]
        below = [child for bone in solved for child in bone.children if child.name not in names]
        self._mirror_starts = [(bone, own_matrix(bone), bone.name in names) for bone in (*solved, *below)]
        self._unmirrored = names.union(*(snapshot.moving for snapshot in held), {self.snapshot.target_bone})
        for group in self._groups:
            self._record(group)
        for owner, name in (channel for chain in brought for channel in channels_of_goals(chain)):
            self._channels.record(owner, name)

    def _read_following(self, view_layer: ViewLayer) -> list[Snapshot]:
        """Read the other chains whose target or pole is the one that is dragged, or moves with it."""
        if not self.grab.chain:
            return []
        dragged = self._grabbed(self._settings())
        return [
            take_snapshot(view_layer, self.armature, chain)
            for chain in settings_of(self.armature).chains
            if chain.enabled and chain.name != self.grab.chain and dragged in followed_by(_goals_of(chain))
        ]

    def _read_held(self, view_layer: ViewLayer) -> list[Snapshot]:
        """Read the other chains whose ends are held; a chain that ends at the dragged bone isn't one of them."""
        held = []
        for chain in settings_of(self.armature).chains:
            is_own = (
                chain.name == self.grab.chain
                if self.grab.chain
                else chain.tip == self.grab.bone or chain.name in self._brought
            )
            is_held = chain.use_pin or (self.pins == 'ALL' and chain.target is not None)
            is_own = is_own or chain.name in self._following_goals
            if chain.enabled and is_held and self.pins != 'NONE' and not is_own:
                held.append(replace(take_snapshot(view_layer, self.armature, chain), is_pinned=True))
        return held

    def _goals_at(self, position: Vector) -> dict[str, Goals]:
        """Return the goals of all chains, by their names, for a position of the dragged point, world space."""
        dragged: Array = np.array([(self._to_armature @ position)[:]])
        goals = self.snapshot.goals
        own = replace(goals, poles=dragged) if self.grab.is_pole else replace(goals, targets=dragged)
        return {**self._held_goals, **self._following_goals, self._name: own}

    def _shown_goals(self, view_layer: ViewLayer) -> dict[str, Goals]:
        """Return the goals of the dragged chain and of those that follow it, by their names, as Blender shows them."""
        chains = settings_of(self.armature).chains
        found = {self._name: self.snapshot.goals, **self._following_goals}
        return {name: shown_goals(view_layer, self.armature, chains[name], goals) for name, goals in found.items()}

    def _solve(self, view_layer: ViewLayer, goals_by_name: dict[str, Goals]) -> list[SolvedChain]:
        """Solve for goals, write the pose, and update."""
        solved: list[SolvedChain] = []
        for number, group in enumerate(self._groups):
            if number or self._following_goals:
                # The bones on which this group hangs have moved, or hang on the target: its snapshot is taken again.
                chains = settings_of(self.armature).chains
                own = [chains[name] for name in group.names]
                group = take_group(view_layer, self.armature, own, held=self._held_goals)
            solved += self._write_solved(view_layer, group, goals_by_name)
            if self._kept is not None and self._name in group.names:
                bone, frame = self._kept
                self._channels.write(bone, direction_keeping_channel(bone, frame))
                view_layer.update()
        return solved

    def _write_solved(self, view_layer: ViewLayer, group: Group, goals: dict[str, Goals]) -> list[SolvedChain]:
        def write(solved: Sequence[SolvedChain]) -> None:
            for chain in solved:
                self._write(chain)
            view_layer.update()

        own = {name: goals[name] for name in group.names}
        previous = self._previous.get(group.names) or solution_to_follow(group, own)
        previous = previous or tuple(map(present_chain, group.snapshots))
        found = self._previous[group.names] = solve_and_write(group, write, own, previous)
        return [chain._replace(snapshot=replace(chain.snapshot, goals=own[chain.snapshot.name])) for chain in found]

    def _grabbed_position(self, view_layer: ViewLayer) -> Vector:
        if not self.grab.chain:
            return self.tip_position
        return target_position(view_layer, *self._grabbed(self._settings()), self.grab.role)

    def _grabbed(self, settings: FabrikChain) -> tuple[Object, str]:
        """Return a chain's target or pole, whichever is dragged: the object and its bone."""
        if self.grab.is_pole:
            return settings.pole_target, settings.pole_subtarget
        return settings.target, settings.subtarget

    def _settings(self) -> FabrikChain:
        chain = settings_of(self.armature).chains.get(self.grab.chain)
        if chain is None:
            raise FabrikError(f"'{self.armature.name}' has no chain '{self.grab.chain}'")
        if (chain.pole_target if self.grab.is_pole else chain.target) is None:
            raise FabrikError(f"Chain '{chain.name}' has no {self.grab.role} to drag: choose an object in its settings")
        if chain.use_pin and not self.grab.is_pole:
            raise FabrikError(f"Chain '{chain.name}' is pinned, so it doesn't reach for its target: disable Pin")
        return chain


def _are_apart(solved: Goals, shown: Goals, length: float) -> bool:
    """Tell whether a chain's goals, as Blender shows them, are other than those of its solve.

    Args:
        solved: those of the solve.
        shown: the same goals as they are shown.
        length: of the dragged chain.
    """
    places = [(solved.targets, shown.targets), (solved.poles, shown.poles)]
    if any(a is not None and b is not None and abs(a - b).max() > _AS_SHOWN * length for a, b in places):
        return True
    if solved.rotations is None or shown.rotations is None:
        return False
    before, now = solved.rotations, shown.rotations
    return bool(min(abs(before - now).max(), abs(before + now).max()) > _AS_SHOWN)


def _is_off(solved: SolvedChain) -> bool:
    """Return whether a chain's end, as Blender shows it, is farther from its goal than the tolerance."""
    snapshot = solved.snapshot
    if snapshot.target_bone:
        goal = armature_of(snapshot.bones.end).pose.bones[snapshot.target_bone].head
    else:
        goal = Vector(snapshot.goals.targets[0].tolist())
    return bool((snapshot.bones.end_position - goal).length > snapshot.options.tolerance * snapshot.posed.total_length)


def _goals_of(chain: FabrikChain) -> list[Node]:
    """Return a chain's target, unless it is pinned, and its pole."""
    goals = [] if chain.use_pin else [(chain.target, chain.subtarget)]
    return [(obj, bone) for obj, bone in (*goals, (chain.pole_target, chain.pole_subtarget)) if obj is not None]


def _moved_with(groups: list[Group], names: frozenset[str]) -> list[Group]:
    """Return the groups with chains of these names, and those that hang on bones which move with them, in order."""
    dependent: list[Group] = []
    for group in groups:
        moving = frozenset().union(*(other.moving for other in dependent))
        if names & set(group.names) or not moving.isdisjoint(group.depends_on | group.bones):
            dependent.append(group)
    return dependent
