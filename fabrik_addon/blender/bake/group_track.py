# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One group of chains over all frames of a bake: read, solved, and written as channels that are continuous in time.

A rotation has several values in a channel: ``q`` and ``-q``, Euler angles plus whole turns, axis-angles likewise. Each
frame gets the value nearest to that of the frame before; otherwise a curve between two frames would rotate the bone by
up to a whole turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from mathutils import Matrix, Quaternion

from ...core import Array, FabrikError, Status, depends_on_near
from ...core.math.quaternion_arrays import signed_alike
from ..animation.animated_settings import animated_paths, animated_settings, check_one_mode, has_animated_settings
from ..animation.evaluated_frames import Frames
from ..animation.fcurves import Channel
from ..bones.rotation_channel import channel_name, has_locks, nearest_values, rotation_from, rotation_of
from ..rig.snapshot import check_alone
from ..solving.chain_groups import (
    Group,
    solving_order,
    take_group,
    take_groups,
    take_snapshots,
    unite_chains,
    with_tree,
)
from ..solving.solve_chain_bones import SolvedChain
from ..solving.solve_chains import solution_to_follow, solve_group
from ..solving.write_channels import differ
from .acting_constraints import acting_constraints
from .batched_frames import PlainChain, Row, plain_chain_of
from .batched_trees import PlainTree, plain_tree_of

if TYPE_CHECKING:
    from bpy.types import Object, ViewLayer

    from ..animation.frame_range import FrameRange
    from ..rig.properties import FabrikChain

ChannelKey: TypeAlias = tuple[str, str]
"""Names of a bone and of its channel."""


@dataclass(frozen=True)
class UnreachedFrame:
    """A frame at which a chain's tip isn't at its target."""

    frame: float
    status: str
    """Name of a ``core.Status``."""
    error: float
    """Distance from tip to target over chain length."""


@dataclass(frozen=True)
class BakedChain:
    """The result of one chain."""

    name: str
    frames: int
    unreached: tuple[UnreachedFrame, ...]
    overridden: tuple[str, ...]
    """Bones whose rotation constraints or drivers override, with what does."""
    solver: str = "FABRIK"
    """Name of the method, one of ``core.SOLVERS``."""
    carried: tuple[str, ...] = ()
    """Locked bones that constraints or drivers rotate (``Snapshot.carried``)."""

    @property
    def worst(self) -> UnreachedFrame | None:
        """The frame with the largest error."""
        return max(self.unreached, key=lambda unreached: unreached.error, default=None)


def take_tracks(work: FrameRange, chains: Sequence[FabrikChain]) -> list[Track]:
    """READ: chains at the present frame; return their groups, in an order in which they can be solved at all frames.

    Chains whose settings are animated may be one group at some frames and several at others: they are kept as one
    cluster, and grouped anew at every frame.

    Raises:
        FabrikError: a chain can't be used, chains depend on each other in a circle, or a bone's rotation mode is
            animated.
    """
    armature = work.armature
    paths = animated_paths(armature)
    changing = {chain.name for chain in chains if animated_settings(paths, armature, chain.name)}
    read = take_snapshots(work.view_layer, armature, chains, acting_constraints(work, chains))
    for snapshot in read:
        check_alone(snapshot)
        for bone in snapshot.bones.bones:
            check_one_mode(paths, bone)
    clusters = unite_chains([replace(one, influence=1.0) if one.name in changing else one for one in read])
    groups = [with_tree(group) if changing.isdisjoint(group.names) else group for group in clusters]
    return [Track(armature, group, work.frames, paths) for group in solving_order(groups)]


class Track:
    """One group over all frames: what was read, and the channels that the solves give.

    ``read`` is called for every frame of a batch, then ``solve_rows``, then ``solve_now`` for each frame that
    ``solve_rows`` returns, then ``connect``.
    """

    def __init__(self, armature: Object, group: Group, frames: Sequence[float], paths: set[str]) -> None:
        """Prepare a track.

        Args:
            armature: object of the group.
            group: as it is at the present frame.
            frames: of the bake, ascending.
            paths: of the armature's animated properties.
        """
        self.group = group
        self.values: dict[ChannelKey, Array] = {}
        """Channels (F, C) of bones, by frame."""
        self._count = len(frames)
        self._frames = frames
        self._unreached: dict[str, list[UnreachedFrame]] = {name: [] for name in group.names}
        self._rows: list[Row] = []
        self._row_numbers: list[int] = []
        self._last_row: Any = None
        """``SolvedRows.last`` of the rows that were solved last."""
        self._solved_singly: dict[int, dict[ChannelKey, tuple[float, ...]]] = {}
        """Channels of the frames that don't fit into rows, by the number of the frame."""
        self._last_singly: dict[tuple[str, ...], tuple[int, tuple[SolvedChain, ...]]] = {}
        """By the names of a group's chains the frame of those that was solved last, and its number."""
        self.changed: set[ChannelKey] = set()
        """The channels to key: rotations of the bones that aren't locked, and those that a solve changes."""
        self.aligned: set[str] = set()
        """Names of the bones that must inherit scale along their own axes (Inherit Scale: Aligned)."""
        settings = {name: animated_settings(paths, armature, name) for name in group.names}
        self._is_changing = any(settings.values())
        self._with_animated_enabled = {name for name, animated in settings.items() if "enabled" in animated}
        bones = [bone for snapshot in group.snapshots for bone in snapshot.bones.line]
        self._has_animated_settings = any(animated - {"influence", "enabled"} for animated in settings.values()) or any(
            has_animated_settings(paths, bone) for bone in bones
        )
        """Whether a solve may change other channels at some frame than at the present one."""
        self.plain: PlainChain | PlainTree | None = None
        if not self._is_changing:
            self.plain = plain_tree_of(group, armature, paths)
        if not self._has_animated_settings:
            self.plain = self.plain or plain_chain_of(group, armature, paths)

    @property
    def is_stepwise(self) -> bool:
        """Whether frames may start from the solution of the frame before."""
        one = self.group.snapshots[0]
        return self.group.tree is not None or depends_on_near(one.chain, one.goals, one.options)

    @property
    def rotation_keys(self) -> list[ChannelKey]:
        """The rotation channels of the bones that aren't locked."""
        return [
            (bones.bones[i].name, channel_name(bones.bones[i]))
            for bones in (snapshot.bones for snapshot in self.group.snapshots)
            for i in bones.free
        ]

    @property
    def _other_keys(self) -> list[ChannelKey]:
        """The other channels that a solve may change."""
        snapshots = self.group.snapshots
        keys = []
        # One root bone moves all chains of a group, and which of the chains form a group may change over the frames.
        if any(snapshot.options.moves_root for snapshot in snapshots):
            keys += [(snapshot.bones.bones[0].name, "location") for snapshot in snapshots]
        for snapshot in snapshots:
            if snapshot.bones.stretch is not None:
                keys += [(bone.name, "scale") for bone in snapshot.bones.stretch.written]
            if self._has_animated_settings:
                bones = [snapshot.bones.end, *snapshot.bones.end.parent_recursive]
                bones += bones[-1].children_recursive
                keys += [(bone.name, name) for bone in bones for name in (channel_name(bone), "location", "scale")]
        return list(dict.fromkeys(keys))

    def baked(self, name: str) -> BakedChain:
        """Return the result of one of the group's chains."""
        snapshot = next(snapshot for snapshot in self.group.snapshots if snapshot.name == name)
        unreached = tuple(self._unreached[name])
        return BakedChain(name, self._count, unreached, snapshot.overridden, snapshot.options.solver, snapshot.carried)

    def read(self, number: int, frames: Frames, armature: Object, to_armature: Matrix) -> None:
        """READ: a frame as a row; a frame that doesn't fit into a row is solved immediately.

        Args:
            number: of the frame.
            frames: evaluated at the frame.
            armature: evaluated at the frame.
            to_armature: from the world into the armature's space.
        """
        if number == 0:
            self._begin(armature)
        row = None
        settings = self._enabled_chains(armature)
        if self.plain is not None and settings and not any(map(_is_away, settings)):  # ``solve_now`` refuses them
            row = self.plain.read(armature, settings, to_armature)
        if row is None:
            self.solve_now(number, frames, armature)
        else:
            self._rows.append(row)
            self._row_numbers.append(number)

    def _enabled_chains(self, armature: Object) -> list[FabrikChain]:
        """Return the chains that are enabled at a frame; those whose setting *enabled* isn't animated count as enabled.

        Args:
            armature: evaluated at the frame.
        """
        chains = [armature.fabrik.chains[name] for name in self.group.names]  # type: ignore[attr-defined]
        if not self._with_animated_enabled:
            return chains
        return [chain for chain in chains if chain.enabled or chain.name not in self._with_animated_enabled]

    def solve_now(self, number: int, frames: Frames, armature: Object) -> None:
        """READ and solve one frame as a group; the arguments are those of ``read``.

        Raises:
            FabrikError: a chain can't be solved, or depends on other chains of this track at this frame.
        """
        settings = self._enabled_chains(armature)
        found: dict[ChannelKey, tuple[float, ...]] = {}
        # Targets of chains without influence may be hidden.
        some = any(chain.influence for chain in settings)
        for group in self._groups(frames.view_layer, armature, settings) if some else ():
            if not any(snapshot.influence for snapshot in group.snapshots):
                continue  # its bones keep their channels
            moved = {name for (name, channel), values in found.items() if _differs(armature, name, channel, values)}
            if not moved.isdisjoint(group.depends_on | group.bones):
                names = " and ".join(f"'{name}'" for name in group.names)
                raise FabrikError(f"Chains {names} depend on other chains at some frames only: bake those first")
            last, before = self._last_singly.get(group.names, (-1, ()))
            # Which chains make a tree may change from frame to frame, and with them where its descent ends.
            is_same = not self._has_animated_settings and (group.tree is None or not self._is_changing)
            previous: tuple[SolvedChain, ...] = ()
            if is_same:
                previous = before if before and last == number - 1 else solution_to_follow(group)
            together = solve_group(group, previous=previous)
            self._last_singly[group.names] = number, together
            for solved in together:
                found |= self._channels_of(solved)
                self._note(number, solved.snapshot.name, solved.status, solved.error)
        self.changed.update(found)
        for bone_name, name in self.values:
            if (bone_name, name) not in found:
                found[bone_name, name] = getattr(armature.pose.bones[bone_name], name)[:]
        self._solved_singly[number] = found

    def _groups(self, view_layer: ViewLayer, armature: Object, settings: Sequence[FabrikChain]) -> Iterable[Group]:
        """Return the groups of chains at a frame."""
        if not self._is_changing:
            return [take_group(view_layer, armature, settings)]
        return take_groups(view_layer, armature, settings)

    def _channels_of(self, solved: SolvedChain) -> dict[ChannelKey, tuple[float, ...]]:
        self.aligned.update(bone.name for bone, (name, _) in solved.settings if name == "inherit_scale")
        return {(bone.name, name): values for bone, (name, values) in solved.settings if not isinstance(values, str)}

    def solve_rows(self) -> list[int]:
        """Solve the rows as one batch; return the numbers of the frames that have to be solved one by one."""
        if self.plain is None or not self._rows:
            return []
        solved = self.plain.solve(self._rows, self._last_row)
        self._last_row = solved.last or self._last_row
        numbers = self._row_numbers
        left = [numbers[row] for row in np.flatnonzero(~solved.is_solved)]
        for row, chain in np.argwhere(solved.is_solved[:, None] & (solved.status != Status.REACHED)):
            name = self.group.names[chain]
            self._note(numbers[row], name, Status(int(solved.status[row, chain])), float(solved.error[row, chain]))
        for column, bone in enumerate(self.plain.rotating):
            key = (bone.name, channel_name(bone))
            self._rotations[key][numbers] = solved.rotations[:, column]
            self.changed.add(key)
        for name, locations in solved.locations.items():
            self.values[name, "location"][numbers] = locations
            self.changed.add((name, "location"))
        self._rows, self._row_numbers = [], []
        return left

    def connect(self, numbers: Sequence[int], armature: Object) -> None:
        """Write the solved rotations of frames into ``values``, each as the value nearest to that of the frame before.

        Args:
            numbers: of the frames, ascending.
        """
        for key, values in self.values.items():
            bone = armature.pose.bones[key[0]]
            if key not in self._before:
                for number in self._solved_singly.keys() & set(numbers):
                    values[number] = self._solved_singly[number][key]
                continue
            is_locked = has_locks(bone)
            before = self._before[key]
            rotations = self._rotations.get(key)
            if bone.rotation_mode == 'QUATERNION' and not self._solved_singly and rotations is not None:
                values[numbers] = signed_alike(rotations[numbers], np.array(before))
                self._before[key] = tuple(values[numbers[-1]].tolist())
                continue
            for number in numbers:
                now = self._solved_singly.get(number)
                if now is None:
                    assert rotations is not None  # only bones that aren't locked are solved in rows
                    before = nearest_values(bone.rotation_mode, Quaternion(rotations[number]), before)
                elif is_locked:
                    before = now[key]
                else:
                    before = nearest_values(bone.rotation_mode, rotation_from(bone, (key[1], now[key])), before)
                values[number] = before
            self._before[key] = before
        self._solved_singly.clear()

    def _begin(self, armature: Object) -> None:
        self._rotations = {key: np.empty((self._count, 4)) for key in self.rotation_keys}
        self._before: dict[ChannelKey, tuple[float, ...]] = {}
        for key in dict.fromkeys([*self.rotation_keys, *self._other_keys]):
            bone = armature.pose.bones[key[0]]
            self.values[key] = np.empty((self._count, width_of(armature, key)))
            if key[1] == channel_name(bone):
                # A quaternion that Blender interpolates between two keys isn't of length 1; baked ones are.
                is_quaternion = bone.rotation_mode == 'QUATERNION'
                self._before[key] = rotation_of(bone)[:] if is_quaternion else getattr(bone, key[1])[:]

    def _note(self, number: int, name: str, status: Status, error: float) -> None:
        if status is not Status.REACHED:
            self._unreached[name].append(UnreachedFrame(self._frames[number], status.name, error))


def _is_away(chain: FabrikChain) -> bool:
    """Tell whether target or pole of a chain with influence are disabled in viewports, so that they aren't evaluated.

    Args:
        chain: settings on the evaluated armature.
    """
    goals = (chain.target, chain.pole_target) if chain.influence else ()
    return any(goal is not None and goal.hide_viewport for goal in goals)


def _differs(armature: Object, bone_name: str, name: str, values: tuple[float, ...]) -> bool:
    return differ(getattr(armature.pose.bones[bone_name], name)[:], values)


def channel_of(armature: Object, key: ChannelKey) -> Channel:
    """Return the curves of a bone's channel."""
    bone_name, name = key
    return Channel(armature.pose.bones[bone_name].path_from_id(name), bone_name)


def width_of(armature: Object, key: ChannelKey) -> int:
    """Return the number of a channel's components."""
    return len(getattr(armature.pose.bones[key[0]], key[1]))
