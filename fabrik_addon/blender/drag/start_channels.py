# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: the channels that a drag changes, with their values at its start: every one can be restored bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..bones.rotation_channel import Values
from ..solving.write_channels import differ, restore_channels

if TYPE_CHECKING:
    from bpy.types import Bone, Object, PoseBone

    Owner = Object | PoseBone | Bone


class StartChannels:
    """Channels of objects and bones, and their values at the start of a drag."""

    def __init__(self) -> None:
        self._before: dict[tuple[int, str], tuple[Owner, tuple[str, Values]]] = {}
        self._addresses: dict[tuple[Object, str], int] = {}

    def record(self, owner: Owner, name: str) -> None:
        """Record the present value of a channel, unless an earlier one is recorded."""
        key = owner.as_pointer(), name
        if key in self._before:
            return
        self._before[key] = owner, (name, getattr(owner, name)[:])
        if owner.id_data != owner and owner.id_data.id_type == 'OBJECT':
            self._addresses[owner.id_data, owner.name] = owner.as_pointer()  # type: ignore[index]

    def write(self, owner: Owner, channel: tuple[str, Values]) -> None:
        """Write a channel; values that equal those of the start but for rounding become the bits of the start."""
        name, values = channel
        self.record(owner, name)
        before = self._before[owner.as_pointer(), name][1][1]
        setattr(owner, name, values if differ(before, values) else before)

    def restore(self) -> None:
        """Restore every channel, without an update."""
        restore_channels(self._before.values())

    def changed(self) -> list[tuple[Owner, str]]:
        """Return the channels that differ from the start: their owners and names."""
        return [
            (owner, name) for owner, (name, values) in self._before.values() if differ(values, getattr(owner, name)[:])
        ]

    def are_intact(self) -> bool:
        """Return whether the bones are still those of the start; after an undo or a new file they are not.

        Raises:
            ReferenceError: their object was deleted.
        """
        return all(
            (bone := obj.pose.bones.get(name)) is not None and bone.as_pointer() == address
            for (obj, name), address in self._addresses.items()
        )
