# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inputs of a geometry nodes modifier, which Blender 5.2 keeps elsewhere than 5.0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import bpy

if TYPE_CHECKING:
    from bpy.types import Object, UILayout

_IS_OLD = bpy.app.version < (5, 2, 0)

Modifier: TypeAlias = Any
"""A geometry nodes modifier; ``Any``, because the stub, of Blender 5.0, lacks its properties of 5.2."""

InputValue: TypeAlias = "float | tuple[float, ...] | Object | None"

Item: TypeAlias = Any
"""An input or output in a group's interface; ``Any``, because the stub gives items no attributes of sockets."""


def group_inputs(modifier: Modifier) -> list[Item]:
    """Return the inputs of a modifier's group."""
    items = modifier.node_group.interface.items_tree
    return [item for item in items if item.item_type == 'SOCKET' and item.in_out == 'INPUT']


def rotation_outputs(modifier: Modifier) -> list[Item]:
    """Return the outputs of a modifier's group that are rotations."""
    return _outputs(modifier, "NodeSocketRotation")


def scale_outputs(modifier: Modifier) -> list[Item]:
    """Return the outputs of a modifier's group that are matrices which scale."""
    return _outputs(modifier, "NodeSocketMatrix")


def _outputs(modifier: Modifier, kind: str) -> list[Item]:
    items = modifier.node_group.interface.items_tree
    return [item for item in items if item.in_out == 'OUTPUT' and item.socket_type == kind]


def draw_input(layout: UILayout, modifier: Modifier, identifier: str, name: str) -> None:
    """Show a group's input in a panel."""
    if _IS_OLD:
        layout.prop(modifier, f'["{identifier}"]', text=name)
    else:
        layout.prop(getattr(modifier.properties.inputs, identifier), "value", text=name)


def input_value(modifier: Modifier, identifier: str) -> InputValue:
    """Return what a group's input is."""
    value = modifier[identifier] if _IS_OLD else getattr(modifier.properties.inputs, identifier).value
    return tuple(value) if hasattr(value, "__len__") else value


def set_input(modifier: Modifier, identifier: str, value: object) -> None:
    """Set what a group's input is."""
    if _IS_OLD:
        modifier[identifier] = value
    else:
        getattr(modifier.properties.inputs, identifier).value = value


def set_output_name(modifier: Modifier, identifier: str, name: str) -> None:
    """Set the name of the attribute that a group's output is stored as."""
    if _IS_OLD:
        modifier[f"{identifier}_attribute_name"] = name
    else:
        getattr(modifier.properties.outputs, identifier).attribute_name = name


def input_path(modifier: Modifier, identifier: str) -> str:
    """Return the path from the object to a group's input, for drivers and keys."""
    place = f'["{identifier}"]' if _IS_OLD else f".properties.inputs.{identifier}.value"
    return f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"]{place}'
