# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones that follow their links, in Blender's own mathematics: what core computes, in a quarter of the time.

That is single precision, as all that Blender keeps of a pose. Every link is compared with where it should point, so
what is lost on one doesn't add up along the chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mathutils import Quaternion, Vector

from ...core import StartPose
from ...core.math.operations import SCALAR, Operations
from ...core.math.quaternions import from_to
from ...core.math.vectors import dot

_OPPOSITE = -0.999999
"""Cosine below which two directions are opposite: there single precision knows no axis, and core has a rule for it."""


def transport_in_blender(start: StartPose) -> StartPose:
    """Return the start of one pose with bones that follow their links as Blender computes it.

    With limits it is not links that say how bones turn.
    """
    if start.constrained_chain is not None:
        return start
    bones = [
        (Vector(link), _OPPOSITE * dot(link, link), Quaternion(frame), hint, inherits)
        for link, frame, hint, inherits in zip(
            start.links, start.frames, start.x_axes, start.chain.inherits_list, strict=False
        )
    ]

    def transport(_ops: Operations, _start: StartPose, points: Sequence[Any], turn: Any) -> list[Any]:
        delta = None if turn is None else Quaternion(turn)
        frames = []
        ax, ay, az = points[0]
        for (link, opposite, frame, hint, inherits), (bx, by, bz) in zip(bones, points[1:], strict=True):
            desired = Vector((bx - ax, by - ay, bz - az))
            before = None if delta is None or not inherits else delta
            now = link if before is None else before @ link
            if now.dot(desired) > opposite:
                delta = now.rotation_difference(desired)
            else:
                delta = Quaternion(from_to(SCALAR, (now.x, now.y, now.z), (desired.x, desired.y, desired.z), hint))
            if before is not None:
                delta = delta @ before
            frames.append(delta @ frame)
            ax, ay, az = bx, by, bz
        return frames

    return replace(start, transport=transport)
