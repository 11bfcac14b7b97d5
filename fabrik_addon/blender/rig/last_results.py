# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the last solve said of each chain: kept while Blender runs, never saved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpy.types import ID, Object


@dataclass(frozen=True)
class Result:
    """The last solve of one chain."""

    status: str
    """Name of a core.Status."""
    error: float
    """Distance from tip to target over chain length."""
    iterations: int
    message: str
    """Why the tip isn't at the target, in words; empty where it is."""
    overridden: tuple[str, ...] = ()
    """Bones whose rotation constraints or drivers override, with what does."""
    stretch: float = 1.0
    """How long its bones are, in times of their own length."""


# Not in the file: a status is about a pose that the next frame or undo replaces. Session ids are never used twice.
_results: dict[tuple[int, str], Result] = {}
_changes = count()
_last_change = next(_changes)


def result_of(armature: ID | None, chain_name: str) -> Result | None:
    """Return the result of the last solve of a chain, or None if it has not been solved."""
    return None if armature is None else _results.get((armature.session_uid, chain_name))


def last_change() -> int:
    """Return a number that is another one after every solve."""
    return _last_change


def results_of(armature: Object, chain_names: Iterable[str]) -> list[Result | None]:
    """Return what the last solve said of each of some chains: quicker than one by one."""
    uid = armature.session_uid
    return [_results.get((uid, name)) for name in chain_names]


def keep_result(armature: Object, chain_name: str, result: Result) -> None:
    """Remember what a solve said."""
    global _last_change
    _last_change = next(_changes)
    _results[armature.session_uid, chain_name] = result


def forget_result(armature: Object, chain_name: str) -> None:
    """Forget it again, because the chain is gone."""
    global _last_change
    _last_change = next(_changes)
    _results.pop((armature.session_uid, chain_name), None)
