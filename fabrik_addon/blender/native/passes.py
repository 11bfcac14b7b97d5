# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""FABRIK's two passes as nodes (Aristidou & Lasenby 2011, Algorithm 1).

The root is at the origin and doesn't move, and the tip is where the last link ends that points from the joint before it
to the target: neither needs a node. Lengths are vectors of three equal components, as multiplying nodes want them.
"""

from __future__ import annotations

from typing import Any

from .nodes import Nodes, Value
from .shared_groups import shared_group

Joints = list[Value]
"""Positions of the joints between root and tip."""

_INLINE = 5
"""Links up to which a sweep is cheaper where it is needed than in a group of its own."""


def backward_pass(nodes: Nodes, joints: Joints, lengths: list[Value], target: Value) -> Joints:
    """Put the tip on the target and pull every joint after it, up to the one next to the root (stage 1)."""
    after: Joints = [target]
    for joint, length in zip(joints[::-1], lengths[:0:-1], strict=True):
        after.insert(0, nodes.multiply_add(nodes.normalized(joint - after[0]), length, after[0]))
    return after[:-1]


def forward_pass(nodes: Nodes, joints: Joints, lengths: list[Value]) -> Joints:
    """Start from the fixed root and pull every joint after it (stage 2)."""
    after: Joints = [nodes.normalized(joints[0]) * lengths[0]]
    for joint, length in zip(joints[1:], lengths[1:-1], strict=True):
        after.append(nodes.multiply_add(nodes.normalized(joint - after[-1]), length, after[-1]))
    return after


def swept(nodes: Nodes, joints: Joints, lengths: list[Value], target: Value) -> Joints:
    """Return the joints after one sweep, backward and forward."""
    if len(lengths) > _INLINE:
        return list(nodes.call(_sweep_group(len(lengths)), [target, *joints, *lengths]))
    return forward_pass(nodes, backward_pass(nodes, joints, lengths, target), lengths)


def _sweep_group(count: int) -> Any:
    """Return the group of one sweep: target, joints, lengths → joints."""

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        joints = nodes.inputs("Joint", count - 1)
        lengths = nodes.inputs("Length", count)
        with nodes.frame("Backward pass: tip to the target"):
            pulled = backward_pass(nodes, joints, lengths, target)
        with nodes.frame("Forward pass: root stays"):
            nodes.outputs("Joint", forward_pass(nodes, pulled, lengths))

    return shared_group(f"FABRIK sweep, {count} links", fill)


def tip_error(nodes: Nodes, joints: Joints, last_length: Value, target: Value) -> Value:
    """Return the distance from the tip to the target after a sweep: the last link points at the target."""
    return nodes.scalar('ABSOLUTE', nodes.distance(joints[-1], target) - last_length)
