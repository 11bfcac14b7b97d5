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


def shared_group(name: str, fill: Callable[[Nodes], None], **variant: bool) -> GeometryNodeTree:
    """Return the node group of a name, made by ``fill`` unless this file has it.

    Args:
        variant: which variant of the group it is: the words that are true are part of the name.
    """
    name = ", ".join([name, *(word for word, is_so in variant.items() if is_so)])
    key = f"{VERSION} {name}"
    found = group_with(key)
    if found is None:
        found = new_group(name, fill)
        found[MARK] = key
    return found


def group_with(mark: str) -> GeometryNodeTree | None:
    """Return the node group of this file that has a mark."""
    trees = (tree for tree in bpy.data.node_groups if tree.library is None and tree.get(MARK) == mark)
    return cast("GeometryNodeTree | None", next(trees, None))


def new_group(name: str, fill: Callable[[Nodes], None]) -> GeometryNodeTree:
    """Return a new node group, made by ``fill``: a part of one chain's own with its numbers in it."""
    tree = cast("GeometryNodeTree", bpy.data.node_groups.new(name, 'GeometryNodeTree'))
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
