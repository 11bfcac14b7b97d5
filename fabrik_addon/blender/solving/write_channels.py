# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: channels of pose bones. Nothing here reads a target or computes a pose."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from ..bones.rotation_channel import Values

if TYPE_CHECKING:
    from bpy.types import Bone, Object, PoseBone

_Owner = TypeVar("_Owner", bound="PoseBone | Bone")
_Values = TypeVar("_Values", bound=Values)

_SAME_VALUE = 1e-7
"""Difference of two values that single precision can't resolve. Written, it would only make keys and undo steps."""


def write_channels(settings: Iterable[tuple[_Owner, tuple[str, _Values]]]) -> list[tuple[_Owner, tuple[str, _Values]]]:
    """Write channels that differ; return the bones that changed with their channels before."""
    changed: list[tuple[_Owner, tuple[str, _Values]]] = []
    for bone, (name, values) in settings:
        old = getattr(bone, name)[:]
        if differ(old, values):
            setattr(bone, name, values)
            changed.append((bone, (name, old)))
    return changed


def restore_channels(channels: Iterable[tuple[Object | PoseBone | Bone, tuple[str, object]]]) -> None:
    """Write channels as they were, to the last bit."""
    for bone, (name, values) in channels:
        setattr(bone, name, values)


def differ(old: Values, new: Values) -> bool:
    """Tell whether values differ by more than ``_SAME_VALUE``."""
    if isinstance(old, str) or isinstance(new, str):
        return old != new
    # Called for every bone at every move of a drag: a generator takes half as long again, a strict zip a fifth.
    for before, after in zip(old, new):  # noqa: B905, SIM110
        if abs(after - before) > _SAME_VALUE:
            return True
    return False
