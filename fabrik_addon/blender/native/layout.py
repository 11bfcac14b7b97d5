# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the nodes of a group lie in the editor: frames beside each other, in each the nodes by what they need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

_COLUMN = 230.0
_GAP = 120.0
"""Between frames."""

_COLLAPSED = 46.0
"""Height of a collapsed node with the space around it."""

_HEADER, _SOCKET = 70.0, 23.0
"""Heights in a node that isn't collapsed."""


def layout(
    nodes: Sequence[Any], collapsed: Iterable[Any], links: Iterable[tuple[Any, Any]]
) -> list[tuple[float, float]]:
    """Return the place of every node.

    Args:
        nodes: of the tree, frames among them; those of one frame were made together.
        collapsed: the ones that are drawn small.
        links: from one node to another.
    """
    small = set(collapsed)
    needs: dict[Any, list[Any]] = defaultdict(list)
    for before, after in links:
        needs[after].append(before)
    groups: dict[Any, list[Any]] = {}
    for node in nodes:
        if node.bl_idname != "NodeFrame":
            groups.setdefault(_outermost(node), []).append(node)
    order = [group for key, group in groups.items() if key is not None]
    loose = groups.get(None, [])
    first = [node for node in loose if node.bl_idname == "NodeGroupInput"]
    last = [node for node in loose if node.bl_idname == "NodeGroupOutput"]
    others = [node for node in loose if node not in first and node not in last]
    places: dict[Any, tuple[float, float]] = {}
    left = 0.0
    for group in (first, *order, others, last):
        left = _place(group, needs, small, left, places) if group else left
    return [places.get(node, (0.0, 0.0)) for node in nodes]


def _outermost(node: Any) -> Any:
    frame = node.parent
    while frame is not None and frame.parent is not None:
        frame = frame.parent
    return frame


def _place(
    group: list[Any], needs: dict[Any, list[Any]], small: set[Any], left: float, places: dict[Any, tuple[float, float]]
) -> float:
    """Place the nodes of one frame from left to right; return where the next frame begins."""
    members = set(group)
    columns: dict[Any, int] = {}
    for node in group:  # made after what they need
        columns[node] = 1 + max((columns.get(before, -1) for before in needs[node] if before in members), default=-1)
    heights: dict[int, float] = defaultdict(float)
    for node in group:
        column = columns[node]
        places[node] = (left + column * _COLUMN, -heights[column])
        sockets = len(node.inputs) + len(node.outputs)
        heights[column] += _COLLAPSED if node in small else _HEADER + _SOCKET * sockets
    return left + (1 + max(columns.values())) * _COLUMN + _GAP
