# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws the overlay's shapes in a 3D viewport, in the theme's colours. Needs a window: background mode has no GPU."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import gpu
import numpy as np
from mathutils import Vector

from ...core import Array
from .overlay_shapes import CIRCLE_SEGMENTS, Color, Layout, Reach, Shapes
from .stroke_shader import StrokeBuffers, StrokeRenderer, Strokes, free_strokes, lines, vertex_buffer

if TYPE_CHECKING:
    from bpy.types import Context
    from gpu.types import GPUBatch, GPUShader


def colors_of(context: Context) -> dict[str, Color]:
    """Return the theme's colours by the names of ``overlay_shapes.Layout``, and 'reach' and 'outline'."""
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
    # Any: the stub has several types for a theme's colour, of three or four components.
    red, green, blue, *_ = color[:]
    return red, green, blue, alpha


def stroke_renderer(context: Context, colors: Mapping[str, Color]) -> StrokeRenderer:
    """Return the renderer of strokes for the viewport that Blender draws."""
    region = context.region
    return StrokeRenderer((region.width, region.height), context.preferences.system.ui_scale, colors)


class GpuShapes:
    """The shapes of an armature on the GPU."""

    def __init__(self, layout: Layout) -> None:
        """Send rows and styles of the layout's strokes to the GPU."""
        self._buffers = StrokeBuffers(layout.rows, layout.styles) if len(layout.rows) else None
        self._corners = layout.faces.ravel()
        self._strokes: Strokes | None = None
        self._faces: GPUBatch | None = None
        self._reaches: Sequence[Reach] = ()

    def update(self, shapes: Shapes) -> None:
        """Send the positions and colours of that layout's shapes to the GPU."""
        if self._buffers is not None:
            self._strokes = self._buffers.strokes(shapes.points, shapes.stroke_colors)
        if len(self._corners):
            self._faces = _face_batch(shapes.points[self._corners], shapes.face_colors)
        self._reaches = shapes.reaches

    def draw(self, context: Context, renderer: StrokeRenderer, colors: Mapping[str, Color]) -> None:
        """Draw faces, then strokes, then reaches."""
        if self._faces is not None:
            self._faces.draw(_face_shader())
        if self._strokes is not None:
            renderer.draw(self._strokes)
        if self._reaches:
            _draw_reaches(context, renderer, self._reaches, colors)


@cache
def _face_shader() -> GPUShader:
    return gpu.shader.from_builtin('SMOOTH_COLOR')


def _face_batch(corners: Array, colors: Array) -> GPUBatch:
    types: Any = gpu.types  # Any: the stub gives the constructors of gpu.types no parameters
    points, shades = corners.astype(np.float32), np.repeat(colors.astype(np.float32), 3, axis=0)
    batch: GPUBatch = types.GPUBatch(type='TRIS', buf=vertex_buffer(("pos", points), ("color", shades)))
    return batch


def _draw_reaches(
    context: Context, renderer: StrokeRenderer, reaches: Sequence[Reach], colors: Mapping[str, Color]
) -> None:
    """Draw each reach, a sphere about the chain's root, as a circle parallel to the screen."""
    to_world = context.region_data.view_matrix.inverted_safe()
    reach, soft = colors['reach'], colors['OUT_OF_REACH']
    for center, least, greatest, begin in reaches:
        circles = [(greatest, _with(reach, 0.6))]
        if least > 1e-3 * greatest:
            circles.append((least, _with(reach, 0.4)))
        if begin < (1.0 - 1e-3) * greatest:
            circles.append((begin, _with(soft, 0.7)))
        to_world.translation = center.tolist()
        with gpu.matrix.push_pop():  # type: ignore[attr-defined]
            gpu.matrix.multiply_matrix(to_world)
            scale = 1.0
            for radius, color in circles:
                gpu.matrix.scale_uniform(radius / scale)
                scale = radius
                renderer.draw(_circle(color))


@lru_cache(maxsize=8)
def _circle(color: Color) -> Strokes:
    angles = np.linspace(0.0, math.tau, 2 * CIRCLE_SEGMENTS + 1)
    points = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
    return lines(points[:-1], points[1:], 1.5, color)


def draw_axis(context: Context, renderer: StrokeRenderer, origin: Vector, direction: Vector, name: str) -> None:
    """Draw a line through a point along a unit vector, world space, in the theme's colour of X, Y or Z."""
    color = getattr(context.preferences.themes[0].user_interface, f"axis_{name.lower()}")
    far = direction * (10.0 * context.region_data.view_distance + 10.0)
    ends = np.array([(origin - far)[:], (origin + far)[:]])
    renderer.draw(lines(ends[:1], ends[1:], 1.5, _with(color, 0.8)))


def free_gpu_shapes() -> None:
    """Free the cached GPU objects while Blender has a GPU: when Python ends it has none."""
    _circle.cache_clear()
    _face_shader.cache_clear()
    free_strokes()
