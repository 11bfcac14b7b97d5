# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a baked chain as a sentence, and as the chain's last result for the panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core import Status
from ...core.solvers.names import SOLVER_NAMES
from ..rig.last_results import Result, keep_result
from ..rig.wording import plain
from .group_track import BakedChain, UnreachedFrame

if TYPE_CHECKING:
    from bpy.types import Object

_WORDS = {
    'OUT_OF_REACH': "out of reach",
    'LIMITED': "limited",
    'STALLED': "stalled; solve this frame again to go on",
}


def sentence_of(chain: BakedChain) -> str:
    """Return at how many frames the tip isn't at its target, the worst frame, and what overrides the chain; or ""."""
    parts = []
    if chain.worst is not None:
        count, worst = len(chain.unreached), chain.worst
        parts.append(
            f"{count} of {chain.frames} frames not reached, worst at frame {worst.frame:g}: the tip is "
            f"{plain(100.0 * worst.error)} % of the chain's length from its target ({_why(chain, worst)})"
        )
    if chain.overridden:
        parts.append("overridden on " + ", ".join(chain.overridden))
    return "; ".join(parts)


def _why(chain: BakedChain, unreached: UnreachedFrame) -> str:
    if unreached.status == Status.STALLED.name and chain.solver != "FABRIK":
        return f"{SOLVER_NAMES[chain.solver].label} needs more iterations: increase Iterations, or choose FABRIK"
    return _WORDS[unreached.status]


def show_result(armature: Object, chain: BakedChain) -> None:
    """WRITE: make the worst frame of a baked chain its last result, which the panel shows."""
    worst = chain.worst
    status = worst.status if worst else Status.REACHED.name
    message = sentence_of(chain) if worst else f"reached at all {chain.frames} baked frames"
    error = worst.error if worst else 0.0
    keep_result(armature, chain.name, Result(status, error, 0, message, chain.overridden))
