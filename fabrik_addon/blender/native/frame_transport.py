# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""From joints to the bones' own rotations, as nodes: FromTo down the chain as ``core.model.frame_transport``."""

from __future__ import annotations

from .nodes import Nodes, Value


def own_rotations(
    nodes: Nodes, joints: list[Value], start: Value, rests: list[Value], bones: list[Value]
) -> list[Value]:
    """Return the bones' own rotations: the first with the whole frame, the others relative to the bone before.

    A link's frame has its +Y along the link.

    Args:
        joints: after the root, the tip last.
        start: the first link's frame before it is rotated.
        rests: every other link's frame at rest in the one before.
        bones: every bone's frame in that of its link; none where links lie along their bones.
    """
    frame = start
    rotations: list[Value] = []
    for j, joint in enumerate(joints):
        with nodes.frame(f"Link {j + 1}"):
            if j:
                frame = nodes.multiplied(frame, rests[j - 1])
            turned = nodes.aligned(frame, joint - joints[j - 1] if j else joint)
            own = nodes.multiplied(nodes.inverted(frame), turned) if j else turned
            if bones:
                own = nodes.multiplied(own, bones[j])
                own = nodes.multiplied(nodes.inverted(bones[j]), own) if j else own
            rotations.append(own)
            frame = turned
    return rotations
