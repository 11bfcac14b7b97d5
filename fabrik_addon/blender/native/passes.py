# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""FABRIK's two passes as nodes (Aristidou & Lasenby 2011, Algorithm 1).

The root is at the origin. Lengths are vectors of three equal components, as a node that multiplies vectors wants them.
"""

from __future__ import annotations

from typing import Any

from .groups import shared_group
from .nodes import Nodes, Value

Joints = list[Value]
"""Positions of the joints after the root, the tip last."""


def backward_pass(nodes: Nodes, joints: Joints, lengths: list[Value], target: Value) -> Joints:
    """Put the tip on the target and pull every joint after it, up to the one next to the root (stage 1)."""
    after: Joints = [target]
    for joint, length in zip(joints[-2::-1], lengths[:0:-1], strict=True):
        after.insert(0, nodes.multiply_add(nodes.normalized(joint - after[0]), length, after[0]))
    return after


def forward_pass(nodes: Nodes, joints: Joints, lengths: list[Value]) -> Joints:
    """Start from the fixed root and pull every joint after it, the tip last (stage 2)."""
    after: Joints = [nodes.normalized(joints[0]) * lengths[0]]
    for joint, length in zip(joints[1:], lengths[1:], strict=True):
        after.append(nodes.multiply_add(nodes.normalized(joint - after[-1]), length, after[-1]))
    return after


def sweep(nodes: Nodes, inner: Joints, lengths: list[Value], target: Value) -> Joints:
    """Return all joints after one sweep of the inner ones, backward and forward."""
    with nodes.frame("Backward pass: tip to the target"):
        pulled = backward_pass(nodes, [*inner, target], lengths, target)
    with nodes.frame("Forward pass: root stays"):
        return forward_pass(nodes, pulled, lengths)


def sweep_group(count: int) -> Any:
    """Return the group of one sweep: target, inner joints, lengths → inner joints, tip, distance from tip to target."""

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        inner = nodes.inputs("Joint", count - 1)
        lengths = nodes.inputs("Length", count)
        after = sweep(nodes, inner, lengths, target)
        nodes.outputs("Joint", after[:-1])
        nodes.output("Tip", after[-1])
        nodes.output("Error", nodes.distance(after[-1], target), "NodeSocketFloat")

    return shared_group(f"FABRIK sweep, {count} links", fill)
