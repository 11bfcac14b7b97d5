# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""From joints to bone rotations: FromTo deltas down the chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .lanes import Vector
from .vectors import Quaternion, from_to, multiply, rotate, x_axis


def turn_frames(
    ops: Any,
    before: Sequence[Vector],
    after: Sequence[Vector],
    frames: Sequence[Quaternion],
    inherits: Sequence[bool],
    start: Quaternion | None,
) -> list[Quaternion]:
    """Return the bones' frames after their links have turned.

    Each bone takes its parent's turn and on top of it the shortest one from where its link then points to where it
    should point. So nothing twists, and a bone whose link didn't turn keeps its frame.

    Args:
        ops: the lanes' operations.
        before: joints before, root first.
        after: joints after.
        frames: of the bones before.
        inherits: whether each bone takes its parent's turn.
        start: turn of the whole chain before the links' own: that of the bend plane where there is a pole.
    """
    turned = []
    delta = start
    for j, inherit in enumerate(inherits):
        (ax, ay, az), (bx, by, bz) = before[j], before[j + 1]
        old = (bx - ax, by - ay, bz - az)
        (ax, ay, az), (bx, by, bz) = after[j], after[j + 1]
        new = (bx - ax, by - ay, bz - az)
        if delta is None or not inherit:
            delta = from_to(ops, old, new, x_axis(frames[j]))
        else:
            delta = multiply(from_to(ops, rotate(delta, old), new, x_axis(frames[j])), delta)
        turned.append(multiply(delta, frames[j]))
    return turned
