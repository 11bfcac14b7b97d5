# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node groups that several chains use: made once, found again, removed with their last user."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import bpy

from .custom_properties import MARK, VERSION
from .nodes import Nodes

if TYPE_CHECKING:
    from bpy.types import GeometryNodeTree


def shared_group(name: str, fill: Callable[[Nodes], None]) -> GeometryNodeTree:
    """Return the node group of a name, made by ``fill`` unless this file has it."""
    key = f"{VERSION} {name}"
    for tree in bpy.data.node_groups:
        if tree.library is None and tree.get(MARK) == key:
            return cast("GeometryNodeTree", tree)
    return _made(name, key, fill)


def new_group(name: str, fill: Callable[[Nodes], None]) -> GeometryNodeTree:
    """Return a new node group, made by ``fill``: a part of one chain's own with its numbers in it."""
    return _made(name, VERSION, fill)


def _made(name: str, mark: str | int, fill: Callable[[Nodes], None]) -> GeometryNodeTree:
    tree = cast("GeometryNodeTree", bpy.data.node_groups.new(name, 'GeometryNodeTree'))
    tree[MARK] = mark
    nodes = Nodes(tree)
    fill(nodes)
    nodes.arrange()
    return tree


def remove_unused_groups() -> None:
    """Remove the groups we made that nothing uses any more, and then those that only they used."""
    while True:
        unused = [tree for tree in bpy.data.node_groups if tree.get(MARK) and tree.users == 0 and tree.library is None]
        if not unused:
            return
        for tree in unused:
            bpy.data.node_groups.remove(tree)
