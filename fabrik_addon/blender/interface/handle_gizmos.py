# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Handles in the viewport: flat shapes of one size on the screen, each of which begins an operator when it is pressed.

A group of handles is a ``GizmoGroup`` that inherits ``HandleGroup`` and says what it shows (``handles``). The operator
does what the mouse asks for: axis locks, numbers, undo and cancel are the operator's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

import bpy
import gpu
from bpy.types import Gizmo, GizmoGroup, SpaceView3D
from mathutils import Matrix, Vector

if TYPE_CHECKING:
    from bpy.types import Context

HandleShape = Literal['SQUARE', 'CIRCLE', 'MARK']
HandleColor = Literal['gizmo_primary', 'gizmo_secondary', 'axis_x', 'axis_y']

_Corner = tuple[float, float, float]
"""Corner of a triangle, in the plane of a handle."""

_SIZE = 0.15
"""Radius of a handle over Blender's own gizmo size (75 pixels, a preference): 11 pixels."""

_INNER, _DOT, _HELD_DOT, _HIT = 0.72, 0.2, 0.45, 0.6
"""Over the radius of a handle: of the hole in its frame, of the dot in its middle, of the dot of a handle that keeps
its place, of the disc that is hit by a square about the mouse."""

_HOTSPOT = 10.0
"""Half of the side of that square in Blender, in pixels."""

BACKING = 0.16
"""Width of the dark rim on both sides of a frame and around a dot, over the radius: on a white mesh a bright handle
would be lost without it."""

BACKING_COLOR = (0.0, 0.0, 0.0, 0.5)

_MARK_SIZE = 0.8
"""Radius of a mark, over the radius of a handle."""

_SEGMENTS = 24
ALPHA, PALE = 0.9, 0.4
PALE_SIZE = 0.7
"""Size of a pale handle, over that of the others."""


@dataclass(frozen=True)
class Handle:
    """One handle, and the operator that it begins."""

    position: Vector
    """World space."""
    shape: HandleShape
    color: HandleColor
    """Name of the theme's colour."""
    operator: str = ""
    """``bl_idname`` of the operator; empty of a mark, which the mouse goes through."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Properties of the operator."""
    is_held: bool = False
    """Whether it keeps its place: its dot is larger."""
    is_pale: bool = False
    """Whether it is drawn small and with little opacity: it does nothing until it is used."""

    @property
    def key(self) -> tuple[object, ...]:
        """The fields that decide the look and the operator of a handle: all but the position."""
        return self.shape, self.color, self.is_held, self.is_pale, self.operator, *self.options.items()


def _regular(count: int, radius: float) -> list[_Corner]:
    """Return the corners of a regular polygon; that with four has vertical and horizontal edges."""
    first = math.pi / 4.0 if count == 4 else 0.0
    angles = [first + math.tau * number / count for number in range(count)]
    return [(radius * math.cos(angle), radius * math.sin(angle), 0.0) for angle in angles]


def _frame(outer: Sequence[_Corner], inner: Sequence[_Corner]) -> list[_Corner]:
    """Return the triangles between two polygons with as many corners."""
    following = [*range(1, len(outer)), 0]
    pairs = zip(range(len(outer)), following, strict=True)
    return [point for a, b in pairs for point in (outer[a], outer[b], inner[b], outer[a], inner[b], inner[a])]


def _disc(corners: Sequence[_Corner]) -> list[_Corner]:
    return [
        point for a, b in zip(corners, [*corners[1:], corners[0]], strict=True) for point in ((0.0, 0.0, 0.0), a, b)
    ]


def triangles_of(handle: Handle, rim: float = 0.0) -> list[_Corner]:
    """Return the triangles of a handle: a frame with a dot in its middle, each wider by a rim.

    A square is larger than a circle by its corners. A mark is a disc with two opposite quarters, as drawings have it at
    a center of mass.
    """
    if handle.shape == 'MARK':
        return _quartered(rim)
    count, size = (4, 1.2) if handle.shape == 'SQUARE' else (_SEGMENTS, 1.0)
    frame = _frame(_regular(count, size * (1.0 + rim)), _regular(count, size * (_INNER - rim)))
    return frame + _disc(_regular(_SEGMENTS, (_HELD_DOT if handle.is_held else _DOT) + rim))


def _quartered(rim: float) -> list[_Corner]:
    """Return the triangles of a ring and of two opposite quarters of its disc; with a rim those of the whole disc."""
    corners = _regular(_SEGMENTS, _MARK_SIZE + rim)
    if rim:
        return _disc(corners)
    triangles = _disc(corners)
    quarter = 3 * (_SEGMENTS // 4)
    ring = _frame(corners, _regular(_SEGMENTS, _MARK_SIZE - BACKING))
    return ring + triangles[:quarter] + triangles[2 * quarter : 3 * quarter]


def reach_in_pixels(context: Context) -> float:
    """Return the distance from the middle of a handle within which the mouse hits it, in pixels."""
    preferences = context.preferences
    scale = preferences.system.ui_scale
    return _SIZE * _HIT * preferences.view.gizmo_size * scale + _HOTSPOT * preferences.system.pixel_size


class FABRIK_GT_handle(Gizmo):
    """A handle; its group sets what is drawn"""

    bl_idname = "FABRIK_GT_handle"

    __slots__ = ("backing", "drawn", "hit", "key")

    def setup(self) -> None:
        if not hasattr(self, "hit"):
            self.hit = self.new_custom_shape('TRIS', _disc(_regular(_SEGMENTS, _HIT)))
            self.backing: Any = None  # Any: so the stub has it for custom shapes
            self.drawn: Any = None
            self.key: tuple[object, ...] = ()

    def draw(self, _context: Context) -> None:
        batch, shader = self.backing
        shader.uniform_float("color", (*BACKING_COLOR[:3], BACKING_COLOR[3] * self.alpha))
        gpu.state.blend_set('ALPHA')
        with gpu.matrix.push_pop():  # type: ignore[attr-defined]
            gpu.matrix.multiply_matrix(self.matrix_world)
            batch.draw(shader)
        gpu.state.blend_set('NONE')
        self.draw_custom_shape(self.drawn)

    def draw_select(self, _context: Context, select_id: int) -> None:  # type: ignore[override]
        self.draw_custom_shape(self.hit, select_id=select_id)

    def show(self, context: Context, handle: Handle) -> None:
        """Take the look and the operator of a handle."""
        theme = context.preferences.themes[0].user_interface
        self.color, self.color_highlight = getattr(theme, handle.color), theme.gizmo_hi
        if self.key == handle.key:
            return
        self.key = handle.key
        self.drawn = self.new_custom_shape('TRIS', triangles_of(handle))
        self.backing = self.new_custom_shape('TRIS', triangles_of(handle, BACKING))
        self.alpha = PALE if handle.is_pale else ALPHA
        self.alpha_highlight = ALPHA
        self.scale_basis = _SIZE * (PALE_SIZE if handle.is_pale else 1.0)
        self.use_draw_modal = True
        self.hide_select = not handle.operator
        if self.hide_select:
            return
        properties = self.target_set_operator(handle.operator)
        for name, value in handle.options.items():
            setattr(properties, name, value)


def can_show_handles(context: Context) -> bool:
    """READ: whether the active object is an armature that is posed and seen in this viewport, so that it has handles.

    What is hidden, in no local view of this viewport or of a type that it doesn't show has none, as with Blender's own.
    Outside a viewport what is visible in the view layer counts.
    """
    armature, space = context.object, context.space_data
    return (
        context.mode == 'POSE'
        and armature is not None
        and armature.library is None
        and armature.data.pose_position == 'POSE'
        and (armature.visible_in_viewport_get(space) if isinstance(space, SpaceView3D) else armature.visible_get())
    )


class HandleGroup(GizmoGroup):
    """The handles of a group; its subclasses set ``bl_idname``, ``bl_label`` and say what is shown."""

    bl_space_type = 'VIEW_3D'
    bl_region_type = 'WINDOW'
    # SHOW_MODAL_ALL: the other handles stay while one is dragged.
    bl_options = {'3D', 'PERSISTENT', 'SHOW_MODAL_ALL'}

    @classmethod
    def handles(cls, context: Context) -> list[Handle]:
        """Return what is shown."""
        raise NotImplementedError

    def setup(self, context: Context) -> None:
        self.draw_prepare(context)

    def draw_prepare(self, context: Context) -> None:
        """Bring the handles up to date: called at every redraw of a viewport, so that they follow playback and undo.

        There are none where ``poll`` says no: while one of them is dragged Blender doesn't ask it, and the armature
        may be deleted.
        """
        handles = self.handles(context) if self.poll(context) else []
        while len(self.gizmos) < len(handles):
            self.gizmos.new(FABRIK_GT_handle.bl_idname)
        view_rotation = context.region_data.view_matrix.to_3x3().normalized().transposed().to_4x4()
        for number, gizmo in enumerate(cast("Iterable[FABRIK_GT_handle]", self.gizmos)):
            gizmo.hide = number >= len(handles)
            if not gizmo.hide:
                gizmo.show(context, handles[number])
                gizmo.matrix_basis = Matrix.Translation(handles[number].position) @ view_rotation


register, unregister = bpy.utils.register_classes_factory((FABRIK_GT_handle,))  # type: ignore[misc]
