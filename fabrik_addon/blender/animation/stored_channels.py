# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The channels of objects and bones, stored with their present values (keyed or not), and restored bit for bit."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

TRANSFORM_CHANNELS = ("location", "rotation_quaternion", "rotation_axis_angle", "rotation_euler", "scale")


@dataclass(frozen=True)
class StoredChannels:
    """The values of channels at one moment."""

    values: tuple[tuple[Object | PoseBone, tuple[tuple[float, ...], ...]], ...]

    def restore(self, but: Container[tuple[str, str]] = ()) -> None:
        """WRITE: set every channel that has changed to its stored value.

        Args:
            but: channels to leave as they are now, as names of owner and channel.
        """
        for owner, before in self.values:
            for name, old in zip(TRANSFORM_CHANNELS, before, strict=True):
                if (owner.name, name) not in but and getattr(owner, name)[:] != old:
                    setattr(owner, name, old)


def store_channels(objects: Iterable[Object]) -> StoredChannels:
    """READ: store the channels of objects and of their bones."""
    owners: list[Object | PoseBone] = []
    for obj in objects:
        owners.append(obj)
        owners.extend(obj.pose.bones if obj.pose else ())
    return StoredChannels(
        tuple((owner, tuple(getattr(owner, name)[:] for name in TRANSFORM_CHANNELS)) for owner in owners)
    )


@contextmanager
def kept_channels(view_layer: ViewLayer) -> Iterator[None]:
    """WRITE: keep channels, keyed or not, where constraints, drivers and curves are made or removed.

    After such a change Blender evaluates the animation of the present frame at the next update, also that of other
    objects with the same action, over all that was posed and not keyed. So this update is done at the end, and what it
    overwrites is restored. Whoever writes channels then updates the view layer again.
    """
    stored = store_channels(obj for obj in view_layer.objects if obj.animation_data is not None)
    yield
    view_layer.update()
    stored.restore()
