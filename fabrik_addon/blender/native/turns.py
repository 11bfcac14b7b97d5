# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""From joints to the bones' own rotations, as nodes: FromTo down the chain as ``core.frames``."""

from __future__ import annotations

from typing import Any

from .groups import shared_group
from .nodes import Nodes, Value
from .passes import Joints


def turns_group(count: int, is_offset: bool) -> Any:
    """Return the group: joints, tip, frames → the bones' own rotations.

    A link's frame has its +Y along the link. Inputs: the first link's frame before it is turned (``Start``), for every
    other link its frame at rest in the one before (``Rest``) and, where links don't lie along their bones (offset),
    every bone's frame in that of its link (``Bone``). The first rotation is that of the whole frame, the others are
    relative to the bone before.
    """

    def fill(nodes: Nodes) -> None:
        joints: Joints = [*nodes.inputs("Joint", count - 1), nodes.input("Tip")]
        frame = nodes.input("Start", "NodeSocketRotation")
        rests = nodes.inputs("Rest", count - 1, "NodeSocketRotation")
        bones = nodes.inputs("Bone", count, "NodeSocketRotation") if is_offset else [None] * count
        rotations: list[Value] = []
        for j, joint in enumerate(joints):
            with nodes.frame(f"Link {j + 1}"):
                if j:
                    frame = nodes.multiplied(frame, rests[j - 1])
                turned = nodes.aligned(frame, joint - joints[j - 1] if j else joint)
                own = nodes.multiplied(nodes.inverted(frame), turned) if j else turned
                if is_offset:
                    own = nodes.multiplied(own, bones[j])
                    own = nodes.multiplied(nodes.inverted(bones[j]), own) if j else own
                rotations.append(own)
                frame = turned
        nodes.outputs("Rotation", rotations, "NodeSocketRotation")

    return shared_group(f"FABRIK bone rotations, {count} links{', offset' if is_offset else ''}", fill)
