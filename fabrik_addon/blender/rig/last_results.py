# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of the last solve of each chain, valid while its pose, goals and settings are the same; never saved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from ..bones.overrides import overrides_of
from .chain_bones import bones_of_chain
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


_Named = tuple[tuple[tuple[str, bool], ...], tuple[str, ...]]
"""What a result may name beside the chain: the chains with whether they are enabled, and what overrides the bones."""

# Session ids are never used twice, and stay the same over undo.
_results: dict[tuple[int, str], tuple[Result, SolvedState, _Named]] = {}
_changes = count()
_last_change = next(_changes)


def result_of(armature: ID | None, chain_name: str) -> Result | None:
    """Return the result of the last solve of a chain; None if pose, goals or settings have changed, or unsolved."""
    return None if armature is None else results_of(armature, (chain_name,))[0]  # type: ignore[arg-type]


def last_change() -> int:
    """Return a number that every solve changes."""
    return _last_change


def results_of(armature: Object, chain_names: Iterable[str]) -> list[Result | None]:
    """Return the result of the last solve of each of some chains, as ``result_of`` does."""
    return [_valid_result(armature, name) for name in chain_names]


def _valid_result(armature: Object, chain_name: str) -> Result | None:
    result, state, named = _results.get((armature.session_uid, chain_name), (None, None, None))
    if result is None or state is None:
        return None
    chain = _chains_of(armature)[chain_name]
    is_valid = state.equals(read_state(chain)) and named == _named_by(armature, chain, result)
    return result if is_valid else None


def keep_result(armature: Object, chain_name: str, result: Result, bones: Sequence[PoseBone] = ()) -> None:
    """Store the result of a solve with the chain's present pose, goals and settings, evaluated since they were written.

    Args:
        chain_name: name of the chain.
        result: of its last solve.
        bones: of the chain, where the caller has read them; else they are read here.
    """
    global _last_change
    _last_change = next(_changes)
    chain = _chains_of(armature)[chain_name]
    state = read_state(chain, bones)
    if state is not None:
        _results[armature.session_uid, chain_name] = result, state, _named_by(armature, chain, result)


def forget_result(armature: Object, chain_name: str) -> None:
    """Discard the result of a chain that is removed."""
    global _last_change
    _last_change = next(_changes)
    _results.pop((armature.session_uid, chain_name), None)


def _named_by(armature: Object, chain: Any, result: Result) -> _Named:
    """Read what a result may name; the pose and the goals may stay as they are while these change."""
    chains = tuple((other.name, other.enabled) for other in _chains_of(armature)) if result.message else ()
    if not result.overridden:
        return chains, ()
    bones = bones_of_chain(armature, chain)
    moving = bones[0] if chain.root_motion == 'TRANSLATE' else None
    return chains, overrides_of(armature, bones, chain.use_limits, chain.use_stretch, moving)


def _chains_of(armature: Object) -> Any:
    # Any: no stub knows Object.fabrik, and its accessor is in properties, whose getters import this module.
    return armature.fabrik.chains  # type: ignore[attr-defined]
