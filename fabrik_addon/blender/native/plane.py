# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bend plane as nodes: curl, and joints brought to the pole's side (``core.fabrik.curl``, ``core.poles.pole``).

In the plane's own coordinates the target is on +Y and the chain bends to +X.
"""

from __future__ import annotations

import math
from typing import Any

from ...core.fabrik.curl import SHARPEST
from .groups import shared_group
from .nodes import Nodes, Value
from .passes import Joints


def curl_group(count: int) -> Any:
    """Return the group: distance, chain length, bends, arc of the chord at rest, lengths → joints."""

    def fill(nodes: Nodes) -> None:
        distance = nodes.input("Distance", "NodeSocketFloat")
        total = nodes.input("Chain length", "NodeSocketFloat")
        arc = nodes.input("Arc at rest", "NodeSocketFloat")
        bends = nodes.inputs("Bend", count - 1, "NodeSocketFloat")
        lengths = nodes.inputs("Length", count)
        with nodes.frame("Bends grow as the chord gets shorter"):
            gap = nodes.maximum(1.0 - distance / total, 0.0)
            wish = nodes.sqrt(6.0 * gap) * nodes.multiply_add(gap, math.pi / math.sqrt(6.0) - 1.0, 1.0)
            growth = wish / arc
            angles = [nodes.minimum(bend * growth, SHARPEST) for bend in bends]
            heading = angles[0]
            for angle in angles[1:]:
                heading = heading + angle
            heading = heading * 0.5
        joints: Joints = []
        for j, length in enumerate(lengths):
            with nodes.frame(f"Link {j + 1}"):
                link = nodes.combine(nodes.scalar('SINE', heading), nodes.scalar('COSINE', heading), 0.0)
                joints.append(nodes.multiply_add(link, length, joints[-1]) if joints else link * length)
                if j < len(angles):
                    heading = heading - angles[j]
        with nodes.frame("Tip onto +Y"):
            back = nodes.inverted(nodes.aligned(None, joints[-1]))
            joints = [nodes.rotated(joint, back) for joint in joints[:-1]]
        nodes.outputs("Joint", joints)

    return shared_group(f"FABRIK curl, {count} links", fill)


def _reflect_group() -> Any:
    """Return the group that mirrors a joint at the line of its neighbours if it is on the side away from the pole."""

    def fill(nodes: Nodes) -> None:
        pole, before, joint, following = (nodes.input(name) for name in ("Pole", "Before", "Joint", "After"))
        line, offset = following - before, joint - before
        normal = nodes.cross(line, offset)
        is_away = nodes.dot(normal, nodes.cross(line, pole - before)) < 0.0
        mirrored = before + nodes.project(offset, line) * 2.0 - offset
        nodes.output("Joint", nodes.switch(is_away, mirrored, joint))
        nodes.output("Mirrored", is_away, "NodeSocketBool")

    return shared_group("FABRIK mirror a joint", fill)


def _one_pass(nodes: Nodes, pole: Value, inner: Joints, tip: Value) -> tuple[Joints, Value]:
    """Return the joints after one pass of reflections from the root to the tip, and whether any was mirrored."""
    joints = [(0.0, 0.0, 0.0), *inner, tip]
    mirrored: Value = None
    for j in range(1, len(joints) - 1):
        joints[j], is_mirrored = nodes.call(_reflect_group(), [pole, *joints[j - 1 : j + 2]])
        mirrored = is_mirrored if mirrored is None else mirrored | is_mirrored
    return joints[1:-1], mirrored


def _further_passes_group(count: int) -> Any:
    """Return the group that brings every joint to the pole's side of its neighbours: pole, joints, tip → joints."""

    def fill(nodes: Nodes) -> None:
        pole = nodes.input("Pole")
        inner = nodes.inputs("Joint", count - 1)
        tip = nodes.input("Tip")

        def body(is_open: Value, *joints: Value) -> list[Value]:
            after, mirrored = _one_pass(nodes, pole, list(joints), tip)
            kept = [nodes.switch(is_open, a, b) for a, b in zip(after, joints, strict=True)]
            return [nodes.switch(is_open, mirrored, False, 'BOOLEAN'), *kept]

        start = {f"Joint {j + 1}": ('VECTOR', joint) for j, joint in enumerate(inner)}
        _, *joints = nodes.repeat(count, {"Not done": ('BOOLEAN', True), **start}, body)
        nodes.outputs("Joint", joints)

    return shared_group(f"FABRIK further reflections, {count} links", fill)


def pointed_at_pole(nodes: Nodes, pole: Value, inner: Joints, tip: Value) -> Joints:
    """Return the inner joints on the pole's side; what one pass can't do others do, where that is needed.

    Equal links need at most about as many passes as there are.
    """
    once, mirrored = _one_pass(nodes, pole, inner, tip)
    if len(inner) < 2:
        return once
    more = nodes.call(_further_passes_group(len(inner) + 1), [pole, *once, tip])
    return [nodes.switch(mirrored, a, b) for a, b in zip(more, once, strict=True)]
