# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of the last solve of each chain, valid while its pose and its goals are the same; never saved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from .solved_state import SolvedState, read_state

if TYPE_CHECKING:
    from bpy.types import ID, Object, PoseBone


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
    """Bones whose rotation constraints or drivers override, and which of these, in words."""
    stretch: float = 1.0
    """Factor by which its bones are longer than without stretch."""


# Session ids are never used twice, and stay the same over undo.
_results: dict[tuple[int, str], tuple[Result, SolvedState | None]] = {}
_changes = count()
_last_change = next(_changes)


def result_of(armature: ID | None, chain_name: str) -> Result | None:
    """Return the result of the last solve of a chain; None if its pose or its goals have changed since, or unsolved."""
    return None if armature is None else results_of(armature, (chain_name,))[0]  # type: ignore[arg-type]


def last_change() -> int:
    """Return a number that every solve changes."""
    return _last_change


def results_of(armature: Object, chain_names: Iterable[str]) -> list[Result | None]:
    """Return the result of the last solve of each of some chains, as ``result_of`` does."""
    uid, chains = armature.session_uid, _chains_of(armature)
    found: list[Result | None] = []
    for name in chain_names:
        result, state = _results.get((uid, name), (None, None))
        is_valid = state is not None and state.equals(read_state(chains[name]))
        found.append(result if is_valid else None)
    return found


def keep_result(armature: Object, chain_name: str, result: Result, bones: Sequence[PoseBone] = ()) -> None:
    """Store the result of a solve with the chain's present pose and goals, evaluated since they were written.

    Args:
        armature: object with the chain.
        chain_name: name of the chain.
        result: of its last solve.
        bones: of the chain, where the caller has read them; else they are read here.
    """
    global _last_change
    _last_change = next(_changes)
    _results[armature.session_uid, chain_name] = result, read_state(_chains_of(armature)[chain_name], bones)


def forget_result(armature: Object, chain_name: str) -> None:
    """Discard the result of a chain that is removed."""
    global _last_change
    _last_change = next(_changes)
    _results.pop((armature.session_uid, chain_name), None)


def _chains_of(armature: Object) -> Any:
    # Any: no stub knows Object.fabrik, and its accessor is in properties, whose getters import this module.
    return armature.fabrik.chains  # type: ignore[attr-defined]
