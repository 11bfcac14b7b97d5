# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws shapes in a 3D viewport, in the theme's colours. Needs a window: there is no GPU in the background."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import gpu
import numpy as np
from mathutils import Vector

from ...core import Array
from .overlay_shapes import ROUND, Color, Layout, Reach, Shapes
from .stroke_shader import Brush, Pens, Strokes, free_strokes, lines, vertex_buffer

if TYPE_CHECKING:
    from bpy.types import Context


def colors_of(context: Context) -> dict[str, Color]:
    """Return the theme's colours for all that is drawn."""
    theme = context.preferences.themes[0]
    view, interface = theme.view_3d, theme.user_interface
    red = _with(interface.axis_x)
    return {
        'link': _with(view.bone_pose),
        'joint': _with(view.bone_pose_active),
        'pole': _with(interface.gizmo_secondary),
        'limit': _with(interface.axis_z, 0.8),
        'at_limit': _with(red, 0.9),
        'pin': _with(interface.gizmo_primary),
        'reach': _with(interface.gizmo_hi),
        'NONE': _with(interface.gizmo_hi),
        'REACHED': _with(interface.axis_y),
        'OUT_OF_REACH': _with(view.object_active),
        'LIMITED': red,
        'STALLED': red,
        'outline': _with(view.wire, 0.55),
    }


def _with(color: Any, alpha: float = 1.0) -> Color:
    red, green, blue, *_ = color[:]
    return red, green, blue, alpha


def brush_of(context: Context, colors: Mapping[str, Color]) -> Brush:
    """Return what draws in the viewport that is being drawn."""
    region = context.region
    return Brush((region.width, region.height), context.preferences.system.ui_scale, colors)


class Drawing:
    """What is drawn of an armature, on the GPU."""

    def __init__(self, layout: Layout) -> None:
        """Take what stays."""
        self._pens = Pens(layout.rows, layout.styles) if len(layout.rows) else None
        self._corners = layout.faces.ravel()
        self._strokes: Strokes | None = None
        self._faces: Any = None
        self._reaches: Sequence[Reach] = ()

    def update(self, shapes: Shapes) -> None:
        """Take shapes of that layout."""
        if self._pens is not None:
            self._strokes = self._pens.strokes(shapes.points, shapes.stroke_colors)
        if len(self._corners):
            self._faces = _face_batch(shapes.points[self._corners], shapes.face_colors)
        self._reaches = shapes.reaches

    def draw(self, context: Context, brush: Brush, colors: Mapping[str, Color]) -> None:
        """Draw it."""
        if self._faces is not None:
            self._faces.draw(_face_shader())
        if self._strokes is not None:
            brush.draw(self._strokes)
        if self._reaches:
            _draw_reaches(context, brush, self._reaches, colors)


@cache
def _face_shader() -> Any:
    return gpu.shader.from_builtin('SMOOTH_COLOR')


def _face_batch(corners: Array, colors: Array) -> Any:
    types: Any = gpu.types
    points, shades = corners.astype(np.float32), np.repeat(colors.astype(np.float32), 3, axis=0)
    return types.GPUBatch(type='TRIS', buf=vertex_buffer(("pos", points), ("color", shades)))


def _draw_reaches(context: Context, brush: Brush, reaches: Sequence[Reach], colors: Mapping[str, Color]) -> None:
    """Draw reaches as the circles by which a viewer sees spheres."""
    place = context.region_data.view_matrix.inverted_safe()
    reach, soft = colors['reach'], colors['OUT_OF_REACH']
    for center, least, greatest, begin in reaches:
        circles = [(greatest, _with(reach, 0.6))]
        if least > 1e-3 * greatest:
            circles.append((least, _with(reach, 0.4)))
        if begin < (1.0 - 1e-3) * greatest:
            circles.append((begin, _with(soft, 0.7)))
        place.translation = center.tolist()
        with gpu.matrix.push_pop():  # type: ignore[attr-defined]
            gpu.matrix.multiply_matrix(place)
            before = 1.0
            for radius, color in circles:
                gpu.matrix.scale_uniform(radius / before)
                before = radius
                brush.draw(_circle(color))


@lru_cache(maxsize=8)
def _circle(color: Color) -> Strokes:
    angles = np.linspace(0.0, math.tau, 2 * ROUND + 1)
    points = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
    return lines(points[:-1], points[1:], 1.5, color)


def draw_axis(context: Context, brush: Brush, origin: Vector, direction: Vector, name: str) -> None:
    """Draw an axis through a point, along a unit vector, in the colour of X, Y or Z."""
    color = getattr(context.preferences.themes[0].user_interface, f"axis_{name.lower()}")
    far = direction * (10.0 * context.region_data.view_distance + 10.0)
    ends = np.array([(origin - far)[:], (origin + far)[:]])
    brush.draw(lines(ends[:1], ends[1:], 1.5, _with(color, 0.8)))


def free_drawing() -> None:
    """Give back what is kept on the GPU; Blender has none any more when Python ends."""
    _circle.cache_clear()
    _face_shader.cache_clear()
    free_strokes()
