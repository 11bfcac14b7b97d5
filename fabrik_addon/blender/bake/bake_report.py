# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a bake as a sentence, and as a chain's last result for the panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core import Status
from ...core.solvers.names import SOLVER_NAMES
from ..rig.last_results import Result, keep_result
from ..rig.wording import counted, plain
from .bake_body import BakedBody
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


def sentence_of_body(body: BakedBody, frames: int) -> str:
    """Return at how many of the frames a handle isn't at its object, the worst frame, and the cause; or ""."""
    if not body.unreached:
        return ""
    worst = max(body.unreached, key=lambda one: one.error)
    parts = [
        f"At {len(body.unreached)} of {counted(frames, 'frame')} a handle doesn't reach its object, farthest at frame "
        f"{worst.frame:g}"
    ]
    if body.overridden:
        parts.append("overridden on " + ", ".join(body.overridden))
    return "; ".join(parts)


def show_result(armature: Object, chain: BakedChain) -> None:
    """WRITE: make the worst frame of a baked chain its last result, which the panel shows."""
    worst = chain.worst
    status = worst.status if worst else Status.REACHED.name
    message = sentence_of(chain) if worst else f"reached at all {chain.frames} baked frames"
    error = worst.error if worst else 0.0
    keep_result(armature, chain.name, Result(status, error, 0, message, chain.overridden))
