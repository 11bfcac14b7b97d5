# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the nodes of a group lie in the editor: frames line by line, in each the nodes by what they need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpy.types import Node

_COLUMN = 230.0

_FOLD = 6
"""Columns of a frame, which then goes on below."""

_ROW_FRAMES = 3
"""Such frames beside each other."""

_GAP = 120.0
"""Between frames."""

_COLLAPSED = 46.0
"""Height of a collapsed node with the space around it."""

_HEADER_HEIGHT, _SOCKET_HEIGHT = 70.0, 23.0
"""Heights in a node that isn't collapsed."""


def layout(
    nodes: Sequence[Node], collapsed: Iterable[Node], links: Iterable[tuple[Node, Node]]
) -> list[tuple[float, float]]:
    """Return the place of every node.

    Args:
        nodes: of the tree, frames among them; those of one frame were made together.
        collapsed: the ones that are drawn small.
        links: from one node to another.
    """
    small = set(collapsed)
    needs: dict[Node, list[Node]] = defaultdict(list)
    for before, after in links:
        needs[after].append(before)
    groups: dict[Node | None, list[Node]] = {}
    for node in nodes:
        if node.bl_idname != "NodeFrame":
            groups.setdefault(_outermost(node), []).append(node)
    order = [group for key, group in groups.items() if key is not None]
    loose = groups.get(None, [])
    first = [node for node in loose if node.bl_idname == "NodeGroupInput"]
    last = [node for node in loose if node.bl_idname == "NodeGroupOutput"]
    others = [node for node in loose if node not in first and node not in last]
    places: dict[Node, tuple[float, float]] = {}
    widest = _ROW_FRAMES * _FOLD * _COLUMN
    left = top = lowest = 0.0
    for group in (first, *order, others, last):
        if not group:
            continue
        placed, width, height = _inside(group, needs, small)
        if left > 0.0 and left + width > widest and group is not last:
            left, top, lowest = 0.0, lowest - _GAP, lowest - _GAP
        places |= {node: (left + x, top + y) for node, (x, y) in placed.items()}
        left, lowest = left + width + _GAP, min(lowest, top - height)
    return [places.get(node, (0.0, 0.0)) for node in nodes]


def _outermost(node: Node) -> Node | None:
    frame = node.parent
    while frame is not None and frame.parent is not None:
        frame = frame.parent
    return frame


def _inside(
    group: list[Node], needs: dict[Node, list[Node]], small: set[Node]
) -> tuple[dict[Node, tuple[float, float]], float, float]:
    """Return the places of the nodes of one frame, from left to right and line by line, and its width and height."""
    members = set(group)
    columns: dict[Node, int] = {}
    # Nodes are made after what they need, but for the group's inputs.
    group = sorted(group, key=lambda node: node.bl_idname != "NodeGroupInput")
    for node in group:
        columns[node] = 1 + max((columns.get(before, -1) for before in needs[node] if before in members), default=-1)
    heights: dict[int, float] = defaultdict(float)
    offsets: dict[Node, float] = {}
    for node in group:
        offsets[node] = heights[columns[node]]
        sockets = sum(not socket.hide for socket in (*node.inputs, *node.outputs))
        heights[columns[node]] += _COLLAPSED if node in small else _HEADER_HEIGHT + _SOCKET_HEIGHT * sockets
    count = 1 + max(columns.values())
    lines = [max(heights[column] for column in range(i, min(i + _FOLD, count))) for i in range(0, count, _FOLD)]
    tops = [sum(lines[:i]) + _GAP / 3.0 * i for i in range(len(lines))]
    places = {
        node: ((column % _FOLD) * _COLUMN, -tops[column // _FOLD] - offsets[node]) for node, column in columns.items()
    }
    return places, min(count, _FOLD) * _COLUMN, tops[-1] + lines[-1]
