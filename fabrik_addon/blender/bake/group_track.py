# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One group of chains through all frames of a bake: read, solved, and turned into channels that are continuous."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from mathutils import Matrix, Quaternion

from ...core import Array, FabrikError, Status
from ...core.math.quaternion_arrays import signed_alike
from ..animation.animated_settings import animated_paths, animated_settings, has_animated_settings
from ..animation.evaluated_frames import Frames
from ..animation.fcurves import Channel
from ..rig.rotation_channel import channel_name, has_locks, nearest_values, rotation_from, rotation_of
from ..solving.chain_groups import (
    Group,
    clusters_of,
    in_order,
    prepared,
    solve_group,
    take_group,
    take_groups,
    take_snapshots,
)
from ..solving.solve_chain_bones import SolvedChain
from ..solving.write_channels import differ
from .batched_frames import PlainChain, Row, plain_chain_of

if TYPE_CHECKING:
    from bpy.types import Object, ViewLayer

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
    """What came of one chain."""

    name: str
    frames: int
    unreached: tuple[UnreachedFrame, ...]
    overridden: tuple[str, ...]
    """Bones whose rotation constraints or drivers override, with what does."""
    solver: str = "FABRIK"
    """Name of the method, one of ``core.SOLVERS``."""

    @property
    def worst(self) -> UnreachedFrame | None:
        """The frame that is farthest off."""
        return max(self.unreached, key=lambda miss: miss.error, default=None)


def take_tracks(
    view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain], frames: Sequence[float]
) -> list[Track]:
    """Read chains at the present frame; return what belongs together, in the order in which it can be solved.

    Chains whose settings are animated may belong together at some frames and not at others.

    Raises:
        FabrikError: a chain can't be used, or chains wait for each other, or a bone's rotation mode is animated.
    """
    paths = animated_paths(armature)
    changing = {chain.name for chain in chains if animated_settings(paths, armature, chain.name)}
    read = take_snapshots(view_layer, armature, chains)
    for bone in (bone for snapshot in read for bone in snapshot.bones.bones):
        if bone.path_from_id("rotation_mode") in paths:
            raise FabrikError(
                f"The rotation mode of bone '{bone.name}' is animated: keys can be made for one mode only"
            )
    clusters = clusters_of([replace(one, influence=1.0) if one.name in changing else one for one in read])
    groups = [prepared(group.snapshots) if changing.isdisjoint(group.names) else group for group in clusters]
    return [Track(armature, group, frames, not changing.isdisjoint(group.names)) for group in in_order(groups)]


class Track:
    """One group through all frames: what was read, and what came of it."""

    def __init__(self, armature: Object, group: Group, frames: Sequence[float], is_changing: bool) -> None:
        """Begin with a group as it is at the present frame; say whether settings of its chains are animated."""
        self.group = group
        self.plain: PlainChain | None = plain_chain_of(group, armature)
        self.values: dict[ChannelKey, Array] = {}
        """Channels (F, C) of bones, by frame."""
        self._count = len(frames)
        self._frames = frames
        self._misses: dict[str, list[UnreachedFrame]] = {name: [] for name in group.names}
        self._rows: list[Row] = []
        self._row_numbers: list[int] = []
        self._at_once: dict[int, dict[ChannelKey, tuple[float, ...]]] = {}
        self.changed: set[ChannelKey] = set()
        """The channels that are to be keyed: of the bones that may turn, and what a solve has changed at some frame."""
        self.aligned: set[str] = set()
        """Names of the bones that must take over their parents' scale along their own axes."""
        self._is_changing = is_changing
        paths = animated_paths(armature)
        settings = {name: animated_settings(paths, armature, name) for name in group.names}
        self._switched = {name for name, animated in settings.items() if "enabled" in animated}
        bones = [bone for snapshot in group.snapshots for bone in snapshot.bones.line]
        self._is_open = any(animated - {"influence", "enabled"} for animated in settings.values()) or any(
            has_animated_settings(paths, bone) for bone in bones
        )
        """Whether other channels than those of the present frame may be changed at some frame."""

    @property
    def rotation_keys(self) -> list[ChannelKey]:
        """The rotation channels of the bones that may turn."""
        return [
            (bones.bones[i].name, channel_name(bones.bones[i]))
            for bones in (snapshot.bones for snapshot in self.group.snapshots)
            for i in bones.free
        ]

    @property
    def _other_keys(self) -> list[ChannelKey]:
        """The channels besides those that a solve may change."""
        snapshots = self.group.snapshots
        keys = []
        # What hangs together shifts by one root, and what hangs together may not be the same at all frames.
        if any(snapshot.options.moves_root for snapshot in snapshots):
            keys += [(snapshot.bones.bones[0].name, "location") for snapshot in snapshots]
        for snapshot in snapshots:
            if snapshot.bones.stretch is not None:
                keys += [(bone.name, "scale") for bone in snapshot.bones.stretch.written]
            if self._is_open:
                bones = [snapshot.bones.end, *snapshot.bones.end.parent_recursive]
                bones += bones[-1].children_recursive
                keys += [(bone.name, name) for bone in bones for name in (channel_name(bone), "location", "scale")]
        return list(dict.fromkeys(keys))

    def baked(self, name: str) -> BakedChain:
        """Return what came of one of the group's chains."""
        snapshot = next(snapshot for snapshot in self.group.snapshots if snapshot.name == name)
        unreached = tuple(self._misses[name])
        return BakedChain(name, self._count, unreached, snapshot.overridden, snapshot.options.solver)

    def read(self, number: int, frames: Frames, armature: Object, to_armature: Matrix) -> None:
        """Read a frame; solve it at once where that can't wait."""
        if number == 0:
            self._begin(armature)
        row = None
        settings = self._switched_on(armature)
        if self.plain is not None and settings:
            row = self.plain.read(armature, settings[0], to_armature)
        if row is None:
            self.solve_now(number, frames, armature)
        else:
            self._rows.append(row)
            self._row_numbers.append(number)

    def _switched_on(self, armature: Object) -> list[FabrikChain]:
        """Return the chains that are switched on at a frame: those whose switch isn't animated are."""
        chains = [armature.fabrik.chains[name] for name in self.group.names]  # type: ignore[attr-defined]
        if not self._switched:
            return chains
        return [chain for chain in chains if chain.enabled or chain.name not in self._switched]

    def solve_now(self, number: int, frames: Frames, armature: Object) -> None:
        """Read and solve a frame by itself."""
        settings = self._switched_on(armature)
        found: dict[ChannelKey, tuple[float, ...]] = {}
        for group in self._groups(frames.view_layer, armature, settings):
            if not any(snapshot.influence for snapshot in group.snapshots):
                continue  # its bones are left as they are
            moved = {name for (name, channel), values in found.items() if _differs(armature, name, channel, values)}
            if not moved.isdisjoint(group.rests_on | group.bones):
                names = " and ".join(f"'{name}'" for name in group.names)
                raise FabrikError(f"Chains {names} hang on others at some frames alone: bake those others first")
            for solved in solve_group(group):
                found |= self._channels_of(solved)
                self._note(number, solved.snapshot.name, solved.status, solved.error)
        self.changed.update(found)
        for bone_name, name in self.values:
            if (bone_name, name) not in found:
                found[bone_name, name] = getattr(armature.pose.bones[bone_name], name)[:]
        self._at_once[number] = found

    def _groups(self, view_layer: ViewLayer, armature: Object, settings: Sequence[FabrikChain]) -> Iterable[Group]:
        """Return the chains of a frame as they are solved there."""
        if not self._is_changing:
            return [take_group(view_layer, armature, settings)]
        return take_groups(view_layer, armature, settings)

    def _channels_of(self, solved: SolvedChain) -> dict[ChannelKey, tuple[float, ...]]:
        self.aligned.update(bone.name for bone, (name, _) in solved.settings if name == "inherit_scale")
        return {(bone.name, name): values for bone, (name, values) in solved.settings if name != "inherit_scale"}

    def solve_rows(self) -> list[int]:
        """Solve what has been read; return the numbers of frames that have to be read and solved by themselves."""
        if self.plain is None or not self._rows:
            return []
        solved = self.plain.solve(self._rows)
        numbers, keys = self._row_numbers, self.rotation_keys
        left = []
        for place, number in enumerate(numbers):
            if not solved.is_solved[place]:
                left.append(number)
                continue
            self._note(number, self.group.names[0], Status(int(solved.status[place])), float(solved.error[place]))
        for column, key in enumerate(keys):
            self._rotations[key][numbers] = solved.rotations[:, column]
        self.changed.update(keys)
        self._rows, self._row_numbers = [], []
        return left

    def connect(self, numbers: Sequence[int], armature: Object) -> None:
        """Turn rotations into channels, each the nearest to that of the frame before."""
        for key, values in self.values.items():
            bone = armature.pose.bones[key[0]]
            if key not in self._before:
                for number in numbers:
                    values[number] = self._at_once[number][key]
                continue
            keeps = has_locks(bone)
            before = self._before[key]
            turns = self._rotations.get(key)
            if bone.rotation_mode == 'QUATERNION' and not self._at_once and turns is not None:
                values[numbers] = signed_alike(turns[numbers], np.array(before))
                self._before[key] = tuple(values[numbers[-1]].tolist())
                continue
            for number in numbers:
                now = self._at_once.get(number)
                if now is None:
                    assert turns is not None  # only bones that may turn are solved in rows
                    before = nearest_values(bone.rotation_mode, Quaternion(turns[number]), before)
                elif keeps:
                    before = now[key]
                else:
                    before = nearest_values(bone.rotation_mode, rotation_from(bone, (key[1], now[key])), before)
                values[number] = before
            self._before[key] = before
        self._at_once.clear()

    def _begin(self, armature: Object) -> None:
        self._rotations = {key: np.empty((self._count, 4)) for key in self.rotation_keys}
        self._before: dict[ChannelKey, tuple[float, ...]] = {}
        for key in dict.fromkeys([*self.rotation_keys, *self._other_keys]):
            bone = armature.pose.bones[key[0]]
            self.values[key] = np.empty((self._count, width_of(armature, key)))
            if key[1] == channel_name(bone):
                # Keys between which Blender has interpolated quaternions are not of length 1: ours are.
                is_quaternion = bone.rotation_mode == 'QUATERNION'
                self._before[key] = rotation_of(bone)[:] if is_quaternion else getattr(bone, key[1])[:]

    def _note(self, number: int, name: str, status: Status, error: float) -> None:
        if status is not Status.REACHED:
            self._misses[name].append(UnreachedFrame(self._frames[number], status.name, error))


def _differs(armature: Object, bone_name: str, name: str, values: tuple[float, ...]) -> bool:
    return differ(getattr(armature.pose.bones[bone_name], name)[:], values)


def channel_of(armature: Object, key: ChannelKey) -> Channel:
    """Return where keys of a channel go."""
    bone_name, name = key
    return Channel(armature.pose.bones[bone_name].path_from_id(name), bone_name)


def width_of(armature: Object, key: ChannelKey) -> int:
    """Return how many values a channel has."""
    return len(getattr(armature.pose.bones[key[0]], key[1]))
