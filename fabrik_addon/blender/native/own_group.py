# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node groups that hold a chain's own numbers: one for the modifier, and in it one that does the work."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, cast

from bpy.types import PoseBone

from .custom_properties import MARK, VERSION
from .nodes import Nodes
from .shared_groups import group_with, new_group

if TYPE_CHECKING:
    from bpy.types import GeometryNodeTree


def own_group(name: str, content: Sequence[object], fill: Callable[[Nodes], None]) -> GeometryNodeTree:
    """Return a modifier's node group, made by ``fill`` unless this file has one with the same content.

    Chains that are the same in all their numbers, as those of copied characters are, share it: what many modifiers use
    stays in the processor's cache, and with 80 chains that halves the time of a frame.

    Args:
        name: of the group, if it is made.
        content: all that ``fill`` depends on; numbers, bones, and dataclasses and sequences of them.
        fill: adds inputs, nodes and outputs.
    """
    key = f"{VERSION} {hashlib.sha256(_spelled(content).encode()).hexdigest()}"
    found = group_with(key)
    if found is None:
        found = _around(name, new_group(f"{name} bones", fill))
        found[MARK] = key
    return found


def _spelled(value: object) -> str:
    """Return a value in words, whatever is in it, with numbers to the digits that single precision has."""
    if isinstance(value, float):
        return f"{value + 0.0:.7g}"  # minus zero is zero
    if value is None or isinstance(value, (str, int)):
        return repr(value)
    if isinstance(value, PoseBone):
        return repr(value.name)
    if is_dataclass(value):
        return _spelled([getattr(value, field.name) for field in fields(value)])
    return f"[{' '.join(map(_spelled, cast('Iterable[object]', value)))}]"


def _around(name: str, solver: GeometryNodeTree) -> GeometryNodeTree:
    """Return the group of a modifier that calls another one and does nothing else.

    Blender keeps account of every value in a modifier's own group, which takes time, but of none in those it calls.
    """
    tree = solver.copy()
    tree.name, tree.is_modifier = name, True
    tree.nodes.clear()
    nodes = Nodes(tree)
    nodes.pass_on(solver)
    nodes.output("Geometry", nodes.input("Geometry", "NodeSocketGeometry"), "NodeSocketGeometry")
    for item in [item for item in tree.interface.items_tree if item.name == "Geometry"]:
        tree.interface.move(item, 0)
    nodes.arrange()
    return tree
