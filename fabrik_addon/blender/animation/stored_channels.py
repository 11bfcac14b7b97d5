# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the channels of objects and bones say, keyed or not: to be put back, to the last bit. Reads and WRITES."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

CHANNELS = ("location", "rotation_quaternion", "rotation_axis_angle", "rotation_euler", "scale")


@dataclass(frozen=True)
class StoredChannels:
    """Channels as they were."""

    values: tuple[tuple[Object | PoseBone, tuple[tuple[float, ...], ...]], ...]

    def restore(self, but: Container[tuple[str, str]] = ()) -> None:
        """Write back what is different now, except channels given by their owner's name and their own."""
        for owner, before in self.values:
            for name, old in zip(CHANNELS, before, strict=True):
                if (owner.name, name) not in but and getattr(owner, name)[:] != old:
                    setattr(owner, name, old)


def store_channels(objects: Iterable[Object]) -> StoredChannels:
    """Keep what the channels of objects and their bones say."""
    owners: list[Any] = []
    for obj in objects:
        owners.append(obj)
        owners.extend(obj.pose.bones if obj.pose else ())
    return StoredChannels(tuple((owner, tuple(getattr(owner, name)[:] for name in CHANNELS)) for owner in owners))
