# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws shapes in a 3D viewport, in the theme's colours. Needs a window: there is no GPU in the background."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import gpu
import numpy as np
from gpu_extras.batch import batch_for_shader
from mathutils import Matrix, Vector

from ...core import Floats
from .shapes import ROUND, Color, Reach, Shapes

if TYPE_CHECKING:
    from bpy.types import Context


@dataclass(frozen=True)
class Batch:
    """Something to draw."""

    shader: Any
    batch: Any
    width: float
    """Of lines, size of points: in pixels."""


def colors_of(context: Context) -> dict[str, Color]:
    """Return the theme's colours for all that is drawn."""
    theme = context.preferences.themes[0]
    view, interface = theme.view_3d, theme.user_interface

    def opaque(color: Any) -> Color:
        return color[0], color[1], color[2], 1.0

    return {
        'link': opaque(view.bone_pose),
        'joint': opaque(view.bone_pose_active),
        'pole': opaque(interface.gizmo_secondary),
        'limit': (*opaque(interface.axis_z)[:3], 0.8),
        'at_limit': (*opaque(interface.axis_x)[:3], 0.9),
        'pin': opaque(interface.gizmo_primary),
        'NONE': opaque(interface.gizmo_hi),
        'REACHED': opaque(interface.axis_y),
        'OUT_OF_REACH': opaque(view.object_active),
        'LIMITED': opaque(interface.axis_x),
        'STALLED': opaque(interface.axis_x),
    }


def outline_of(context: Context) -> Color:
    """Return the colour around lines and points, which makes them stand out on any background."""
    wire = context.preferences.themes[0].view_3d.wire
    return wire[0], wire[1], wire[2], 0.55


def batches_of(shapes: list[Shapes], outline: Color) -> list[Batch]:
    """Return all there is to draw, farthest behind first."""
    found: list[Batch] = []
    faces = [part for shape in shapes for part in shape.faces]
    if faces:
        found.append(_batch('SMOOTH_COLOR', 'TRIS', *_joined(faces), 0.0))
    for lines, width in (
        ([part for shape in shapes for part in shape.thin_lines], 1.5),
        ([part for shape in shapes for part in shape.lines], 3.0),
    ):
        if lines:
            points, colors = _joined(lines)
            found.append(_batch('POLYLINE_SMOOTH_COLOR', 'LINES', points, _darkened(colors, outline), width + 2.0))
            found.append(_batch('POLYLINE_SMOOTH_COLOR', 'LINES', points, colors, width))
    for dots, size in (
        ([part for shape in shapes for part in shape.marks], 12.0),
        ([part for shape in shapes for part in shape.joints], 7.0),
    ):
        if dots:
            points, colors = _joined(dots)
            found.append(_batch('POINT_FLAT_COLOR', 'POINTS', points, _darkened(colors, outline), size + 3.0))
            found.append(_batch('POINT_FLAT_COLOR', 'POINTS', points, colors, size))
    return found


def _joined(parts: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    points, colors = zip(*parts, strict=True)
    return np.concatenate(points).astype(np.float32), np.concatenate(colors).astype(np.float32)


def _darkened(colors: Floats, outline: Color) -> Floats:
    """Return the outline's colour, as opaque as others are."""
    dark = np.empty_like(colors)
    dark[:] = outline
    dark[:, 3] *= colors[:, 3]
    return dark


def _batch(name: str, kind: str, points: Floats, colors: Floats, width: float) -> Batch:
    shader: Any = gpu.shader.from_builtin(name)
    content: Any = {"pos": points, "color": colors}
    return Batch(shader, batch_for_shader(shader, kind, content), width)


def draw_batches(context: Context, batches: list[Batch]) -> None:
    """Draw lines, points and faces."""
    scale, viewport = _scale_and_viewport(context)
    for batch in batches:
        _set_width(batch.shader, batch.width * scale, viewport)
        batch.batch.draw(batch.shader)


def _scale_and_viewport(context: Context) -> tuple[float, Any]:
    viewport: Any = gpu.state.viewport_get()
    return context.preferences.system.ui_scale, viewport[2:]


def _set_width(shader: Any, width: float, viewport: Any) -> None:
    shader.bind()
    if shader.name.startswith("gpu_shader_3D_polyline"):
        shader.uniform_float("lineWidth", width)
        shader.uniform_float("viewportSize", viewport)
    else:
        gpu.state.point_size_set(width)


def draw_reaches(context: Context, reaches: Sequence[Reach]) -> None:
    """Draw reaches as the circles by which a viewer sees spheres."""
    if not reaches:
        return
    scale, viewport = _scale_and_viewport(context)
    shader, circle = _circle()
    theme = context.preferences.themes[0]
    reach, soft, outline = theme.user_interface.gizmo_hi, theme.view_3d.object_active, outline_of(context)
    facing = context.region_data.view_matrix.to_3x3().inverted_safe().to_4x4()
    for center, least, greatest, begin in reaches:
        circles = [(greatest, (*reach[:3], 0.5))]
        if least > 1e-3 * greatest:
            circles.append((least, (*reach[:3], 0.35)))
        if begin < (1.0 - 1e-3) * greatest:
            circles.append((begin, (*soft[:3], 0.6)))
        place = Matrix.Translation(Vector(center.tolist())) @ facing
        for radius, color in circles:
            with gpu.matrix.push_pop():  # type: ignore[attr-defined]
                gpu.matrix.multiply_matrix(place @ Matrix.Scale(radius, 4))
                for wider, shade in ((2.0, outline), (0.0, color)):
                    _set_width(shader, (1.5 + wider) * scale, viewport)
                    shader.uniform_float("color", (*shade[:3], min(shade[3], color[3])))
                    circle.draw(shader)


@cache
def _circle() -> tuple[Any, Any]:
    shader: Any = gpu.shader.from_builtin('POLYLINE_UNIFORM_COLOR')
    angles = np.linspace(0.0, math.tau, 2 * ROUND)
    points: Any = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1).astype(np.float32)
    return shader, batch_for_shader(shader, 'LINE_STRIP', {"pos": points})


def free_drawing() -> None:
    """Give back what is kept on the GPU; Blender has none any more when Python ends."""
    _circle.cache_clear()


def draw_axis(context: Context, origin: Vector, direction: Vector, name: str) -> None:
    """Draw an axis through a point, along a unit vector, in the colour of X, Y or Z."""
    scale, viewport = _scale_and_viewport(context)
    color = getattr(context.preferences.themes[0].user_interface, f"axis_{name.lower()}")
    shader: Any = gpu.shader.from_builtin('POLYLINE_UNIFORM_COLOR')
    far = direction * (10.0 * context.region_data.view_distance + 10.0)
    batch = batch_for_shader(shader, 'LINES', {"pos": [(origin - far)[:], (origin + far)[:]]})
    _set_width(shader, 1.5 * scale, viewport)
    shader.uniform_float("color", (*color[:3], 0.8))
    batch.draw(shader)
