# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bend plane as nodes: curl, and joints brought to the pole's side, as ``core.curl`` and ``core.pole``.

In the plane's own coordinates the target is on +Y and the chain bends to +X.
"""

from __future__ import annotations

import math
from typing import Any

from ...core.curl import SHARPEST
from .groups import shared_group
from .nodes import Nodes, Value
from .passes import Joints

_PASSES = 24
"""Of reflections at most, beyond the first."""


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


def _reflect_group(count: int) -> Any:
    """Return the group of one pass of reflections: pole, joints, tip → joints, whether any was reflected."""

    def fill(nodes: Nodes) -> None:
        pole = nodes.input("Pole")
        joints = [*nodes.inputs("Joint", count - 1), nodes.input("Tip")]
        any_away: Value = None
        for j in range(count - 1):
            with nodes.frame(f"Joint {j + 1}"):
                before = joints[j - 1] if j else None
                line = joints[j + 1] if before is None else joints[j + 1] - before
                offset = joints[j] if before is None else joints[j] - before
                wish = pole if before is None else pole - before
                normal = nodes.cross(line, offset)
                is_away = nodes.dot(normal, nodes.cross(line, wish)) < 0.0
                mirrored = nodes.project(offset, line) * 2.0 - offset
                mirrored = mirrored if before is None else mirrored + before
                joints[j] = nodes.switch(is_away, mirrored, joints[j])
                any_away = is_away if any_away is None else any_away | is_away
        nodes.outputs("Joint", joints[:-1])
        nodes.output("Reflected", any_away, "NodeSocketBool")

    return shared_group(f"FABRIK reflections, {count} links", fill)


def point_at_pole_group(count: int) -> Any:
    """Return the group that brings every joint to the pole's side of its neighbours' line: pole, joints, tip → joints."""

    def fill(nodes: Nodes) -> None:
        pole = nodes.input("Pole")
        inner = nodes.inputs("Joint", count - 1)
        tip = nodes.input("Tip")
        results = []
        stops = []
        for number in range(_PASSES):
            with nodes.frame(f"Pass {number + 2}"):
                *inner, reflected = nodes.call(_reflect_group(count), [pole, *inner, tip])
                results.append(inner)
                stops.append(nodes.boolean('NOT', reflected))
        last = nodes.first_true(stops[:-1])
        nodes.outputs("Joint", [nodes.choose(last, each) for each in zip(*results, strict=True)])

    return shared_group(f"FABRIK further reflections, {count} links", fill)


def pointed_at_pole(nodes: Nodes, pole: Value, inner: Joints, tip: Value) -> Joints:
    """Return the inner joints on the pole's side; what one pass can't do others do, where that is needed."""
    count = len(inner) + 1
    *once, reflected = nodes.call(_reflect_group(count), [pole, *inner, tip])
    more = nodes.call(point_at_pole_group(count), [pole, *once, tip])
    return [nodes.switch(reflected, a, b) for a, b in zip(more, once, strict=True)]
