# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a conversion to chains has changed, stored with each chain, so that the conversion back can undo it.

A conversion unlocks bones and writes the pose of the constraints into channels; the channels that the rig had before
are the start of Blender's IK, which finds another solution from another start. Without a record 8 rotation locks of
Rigify's human stayed open, and the channels of 20 bones of its wolf stayed changed, so that a bone moved by 18 mm.
What was edited after the conversion has other values than the conversion has left, and isn't undone.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from ..animation.carried_animation import carry_curve, remove_curve
from ..rig.bone_keys import key_of, name_now
from ..rig.chain_bones import armature_of
from ..rig.properties import FabrikChain

if TYPE_CHECKING:
    from bpy.types import KinematicConstraint, Object, PoseBone

SHARED_SETTINGS = ("influence", "weight", "chain_count", "use_tail", "use_rotation", "use_stretch", "pole_angle")
"""Settings that a chain and a constraint have under the same names, besides target and pole."""

Lock: TypeAlias = tuple["PoseBone", tuple[str, bool | tuple[bool, ...]]]
"""A bone, and the property and the value of one of its rotation locks."""

_SAME_CHANNEL = 1e-6
"""Difference of a channel's value below which it is the value that the conversion has left."""


@dataclass(frozen=True)
class ConversionRecord:
    """The changes of the conversion that has made a chain, by the names of bones and channels."""

    locks: dict[str, list[bool]] = field(default_factory=dict)
    """Rotation locks before, about x, y, z and of w; the conversion has left none."""
    channels: dict[str, dict[str, list[list[float]]]] = field(default_factory=dict)
    """Values before the conversion, and after it."""
    settings: dict[str, float] = field(default_factory=dict)
    """The chain's settings after the conversion."""
    keys: dict[str, int] = field(default_factory=dict)
    """Keys of the bones by the names that they had, by which they are found when they were renamed."""
    root_rest: list[float] = field(default_factory=list)
    """Rotation of the first bone at rest in its parent, from which Blender counts the pole angle."""
    keyed_in: list[str] = field(default_factory=list)
    """Names of the actions in which a conversion has copied keys of the influence, from either to the other."""

    def is_unchanged(self, chain: FabrikChain, name: str) -> bool:
        """Tell whether a setting of a chain is as the conversion has left it."""
        return name in self.settings and self.settings[name] == getattr(chain, name)

    def is_pole_angle_unchanged(self, chain: FabrikChain, root: PoseBone, keyed: Container[str]) -> bool:
        """Tell whether a chain's pole angle is that of its constraint still.

        It isn't with another roll of the root, nor from other channels than those that ``undo_conversion`` restores:
        Blender's IK starts from them. Where a solve had changed them a forearm of Rigify's human turned by 1.6 degrees.

        Args:
            keyed: data paths of channels that don't count: with keys they have other values at another frame.
        """
        is_same_rest = not self.root_rest or _is_value(_rest_rotation(root), self.root_rest)
        armature = armature_of(root)
        has_same_start = _are_unchanged(armature, _with_names_now(armature, self), keyed)
        return self.is_unchanged(chain, "pole_angle") and is_same_rest and has_same_start


def record_of(chain: FabrikChain) -> ConversionRecord:
    """Return the record of a chain; an empty one for a chain that wasn't made by a conversion."""
    return ConversionRecord(**json.loads(chain.conversion)) if chain.conversion else ConversionRecord()


def store_record(
    chain: FabrikChain,
    rotated: Sequence[PoseBone],
    locks: Iterable[Lock],
    channels: Mapping[tuple[str, str], Sequence[float]],
) -> None:
    """WRITE: the record of a conversion into its chain.

    Of what an earlier conversion has changed, and nobody since, the state before that one is kept: the constraint of a
    chain may have been unmuted by hand, and its bones are unlocked since the first conversion.

    Args:
        chain: that was made.
        rotated: its bones.
        locks: that were taken from the bones.
        channels: the old values of all channels that were written, by the names of bone and channel.
    """
    earlier = _with_names_now(armature_of(rotated[-1]), record_of(chain))
    record = ConversionRecord(
        settings={name: getattr(chain, name) for name in SHARED_SETTINGS},
        keys={bone.name: key_of(chain.id_data, bone.name) for bone in rotated},
        root_rest=list(_rest_rotation(rotated[-1])),
        keyed_in=earlier.keyed_in,
    )
    for bone, (name, value) in locks:
        flags = record.locks.setdefault(bone.name, [False] * 4)
        flags[slice(3, 4) if name == "lock_rotation_w" else slice(0, 3)] = [value] if isinstance(value, bool) else value
    for bone in rotated:
        if bone.name in earlier.locks:
            record.locks.setdefault(bone.name, earlier.locks[bone.name])
        known = earlier.channels.get(bone.name, {})
        written = {name for bone_name, name in channels if bone_name == bone.name}
        for name in sorted(known.keys() | written):
            now = list(getattr(bone, name))
            old = channels.get((bone.name, name), now)
            before, after = known.get(name, (old, old))
            record.channels.setdefault(bone.name, {})[name] = [list(before if _is_value(old, after) else old), now]
    _store(chain, record)


def undo_conversion(armature: Object, chains: Sequence[FabrikChain], moved: AbstractSet[str]) -> None:
    """WRITE: the locks and channels of before the conversion, where they weren't changed since; the records drop them.

    The records keep the settings: of a constraint that was muted before, the chain remains, and is converted back again
    next time. Without them that wrote other settings than the constraint had, 12 on the wolf that Rigify generates.

    Args:
        chains: that were converted back.
        moved: names of the bones of other chains that are enabled; their channels are left as they are.
    """
    bones = armature.pose.bones
    for chain in chains:
        record = _with_names_now(armature, record_of(chain))
        for bone_name, (*flags, w) in record.locks.items():
            bone = bones.get(bone_name)
            if bone is not None and not any(bone.lock_rotation) and not bone.lock_rotation_w:
                bone.lock_rotation, bone.lock_rotation_w = flags, w
        if _are_unchanged(armature, record):
            for bone_name in record.channels.keys() - moved:
                for name, (before, _) in record.channels[bone_name].items():
                    setattr(bones[bone_name], name, before)
    for chain in chains:
        if chain.conversion:
            record = record_of(chain)
            _store(chain, ConversionRecord(settings=record.settings, keyed_in=record.keyed_in))


def carry_influence(
    armature: Object,
    chain: FabrikChain,
    source: FabrikChain | KinematicConstraint,
    copy: FabrikChain | KinematicConstraint,
) -> None:
    """WRITE: the curve of an influence, copied from a chain to its constraint or back, and removed where there is none.

    What is converted keeps its curve, so that keys which were removed after a conversion were there again on the way
    back. A curve in an action in which no conversion has copied one was keyed there by hand, and stays.

    Args:
        chain: with the record.
        source, copy: the chain and its constraint, or the constraint and its chain.
    """
    record, action = record_of(chain), armature.animation_data.action if armature.animation_data else None
    if action is None:
        return
    others = [name for name in record.keyed_in if name != action.name]
    to_path = copy.path_from_id("influence")
    if carry_curve(armature, source.path_from_id("influence"), to_path):
        _store(chain, replace(record, keyed_in=[*others, action.name]))
    elif action.name in record.keyed_in:
        remove_curve(armature, to_path)
        copy.influence = source.influence
        _store(chain, replace(record, keyed_in=others))


def _store(chain: FabrikChain, record: ConversionRecord) -> None:
    chain.conversion = json.dumps(asdict(record))


def _with_names_now(armature: Object, record: ConversionRecord) -> ConversionRecord:
    """Return a record by the names that the bones have now: without it renamed bones stayed unlocked."""
    names = {name: name_now(armature, key, name) for name, key in record.keys.items()}
    return replace(
        record,
        locks={names.get(name, name): locks for name, locks in record.locks.items()},
        channels={names.get(name, name): channels for name, channels in record.channels.items()},
    )


def _are_unchanged(armature: Object, record: ConversionRecord, but: Container[str] = ()) -> bool:
    """Tell whether all channels of a record, but those of some data paths, have the values before or after it.

    The channels of a chain are restored together: with the old scale and a newly solved rotation of a stretched limb
    of Rigify's human a bone was off by 0.43 of its length. Channels that another chain shares are restored already.
    """
    for bone_name, channels in record.channels.items():
        bone = armature.pose.bones.get(bone_name)
        for name, values in channels.items():
            if bone is not None and bone.path_from_id(name) in but:
                continue
            if bone is None or not any(_is_value(getattr(bone, name), value) for value in values):
                return False
    return True


def _rest_rotation(bone: PoseBone) -> Iterable[float]:
    return bone.bone.matrix.to_quaternion()[:]


def _is_value(now: Iterable[float], value: Sequence[float]) -> bool:
    return all(abs(a - b) <= _SAME_CHANNEL for a, b in zip(now, value, strict=True))
