# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node groups that several chains use: made once, found again, removed with their last user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy

from .custom_properties import MARK, VERSION
from .nodes import Nodes


def shared_group(name: str, fill: Callable[[Nodes], None]) -> Any:
    """Return the node group of a name, made by ``fill`` unless this file has it."""
    key = f"{VERSION} {name}"
    tree: Any
    for tree in bpy.data.node_groups:
        if tree.library is None and tree.get(MARK) == key:
            return tree
    tree = bpy.data.node_groups.new(name, 'GeometryNodeTree')
    tree[MARK] = key
    nodes = Nodes(tree)
    fill(nodes)
    nodes.arrange()
    return tree


def new_group(name: str, fill: Callable[[Nodes], None]) -> Any:
    """Return a new node group, made by ``fill``: a part of one chain's own with its numbers in it."""
    tree: Any = bpy.data.node_groups.new(name, 'GeometryNodeTree')
    tree[MARK] = VERSION
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
