# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The overlay in 3D viewports: drawn while an armature shows it or a drag runs, and else not even registered.

What is drawn is built when something has changed, not at every redraw. The handlers only note that something has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import bpy
import gpu
import numpy as np
from bpy.app.handlers import persistent
from gpu_extras.batch import batch_for_shader
from mathutils import Matrix, Vector

from ..core import Floats
from .overlay_read import read_armature, read_places
from .overlay_shapes import ROUND, Color, Palette, Shapes, shapes_of
from .properties import settings_of

if TYPE_CHECKING:
    from bpy.types import Context, Object

    from .drag import DragSession


@dataclass(frozen=True)
class Batch:
    """Something to draw."""

    shader: Any
    batch: Any
    width: float
    """Of lines, size of points: in pixels."""


class _Overlay:
    """What is registered, and what was built: there is one overlay in a Blender."""

    def __init__(self) -> None:
        self.handle: object | None = None
        self.session: DragSession | None = None
        self.axis: tuple[Vector, Vector, str] | None = None
        self.key: object = None
        self.is_stale = True
        self.has_new_settings = True
        self.palettes: list[Palette] = []
        self.batches: list[Batch] = []
        self.spheres: list[tuple[Matrix, float, float, float]] = []
        self.circle: Any = None


_overlay = _Overlay()


def show_drag(session: DragSession) -> None:
    """Draw the chain of a drag, whether or not its armature shows the overlay."""
    _overlay.session = session
    _sync()


def show_axis(origin: Vector, direction: Vector, name: str) -> None:
    """Draw an axis that a drag is locked to: through a point, along a unit vector; its name is X, Y or Z."""
    _overlay.axis = (origin, direction, name)


def hide_axis() -> None:
    """Draw no axis any more."""
    _overlay.axis = None


def hide_drag() -> None:
    """End what ``show_drag`` began."""
    _overlay.session = _overlay.axis = None
    _sync()


def note_move() -> None:
    """Say that a drag has moved its chain: its settings are what they were."""
    _overlay.is_stale = True


def note_settings() -> None:
    """Say that a drag has other bones, or other ends hold still."""
    _overlay.is_stale = _overlay.has_new_settings = True


def sync_overlay() -> None:
    """Draw from now on, or stop to, as the armatures there are say."""
    _sync()


def is_drawn() -> bool:
    """Tell whether anything is registered to draw."""
    return _overlay.handle is not None


def _sync() -> None:
    is_wanted = _overlay.session is not None or any(
        obj.type == 'ARMATURE' and settings_of(obj).show_overlay for obj in bpy.data.objects
    )
    if is_wanted and _overlay.handle is None and not bpy.app.background:
        _overlay.handle = bpy.types.SpaceView3D.draw_handler_add(_draw, (), 'WINDOW', 'POST_VIEW')
        bpy.app.handlers.depsgraph_update_post.append(_note_update)
        bpy.app.handlers.frame_change_post.append(_note_frame)
    elif not is_wanted and _overlay.handle is not None:
        bpy.types.SpaceView3D.draw_handler_remove(_overlay.handle, 'WINDOW')
        bpy.app.handlers.depsgraph_update_post.remove(_note_update)
        bpy.app.handlers.frame_change_post.remove(_note_frame)
        _overlay.handle = None
        _overlay.palettes, _overlay.batches, _overlay.spheres = [], [], []
    _overlay.is_stale = _overlay.has_new_settings = True
    _redraw()


def _redraw() -> None:
    for window in bpy.context.window_manager.windows if bpy.context.window_manager else ():
        for area in window.screen.areas:
            if area.type == 'VIEW_3D':
                area.tag_redraw()


@persistent  # type: ignore[untyped-decorator]
def _note_update(*_args: object) -> None:
    _overlay.is_stale = True
    # A drag's own updates change no settings, and come with every move of the mouse.
    _overlay.has_new_settings |= _overlay.session is None


@persistent  # type: ignore[untyped-decorator]
def _note_frame(*_args: object) -> None:
    _overlay.is_stale = True


@persistent  # type: ignore[untyped-decorator]
def _note_other_data(*_args: object) -> None:
    """After undo, redo and loading nothing that was kept is there any more."""
    _overlay.palettes = []
    _sync()


def _draw() -> None:
    context = bpy.context
    space: Any = context.space_data
    if not space.overlay.show_overlays or not space.overlay.show_bones:
        return
    key = (context.scene.session_uid, context.view_layer.name)
    if _overlay.is_stale or key != _overlay.key:
        _overlay.has_new_settings |= key != _overlay.key
        _overlay.key = key
        _build(context)
        _overlay.is_stale = _overlay.has_new_settings = False
    gpu.state.blend_set('ALPHA')
    gpu.state.depth_test_set('NONE')
    try:
        _draw_batches(context)
    finally:
        gpu.state.blend_set('NONE')
        gpu.state.line_width_set(1.0)
        gpu.state.point_size_set(1.0)


def _build(context: Context) -> None:
    session = _overlay.session if _overlay.session is not None and _overlay.session.is_intact() else None
    if _overlay.has_new_settings:
        colors = _colors(context)
        _overlay.palettes = [Palette(read_armature(obj, session), colors) for obj in _armatures(context, session)]
    shapes = [shapes_of(palette, read_places(palette.view, session)) for palette in _overlay.palettes]
    _overlay.batches = _batches(shapes, _outline(context))
    _overlay.spheres = [
        (Matrix.Translation(Vector(center.tolist())), least, greatest, begin)
        for part in shapes
        for center, least, greatest, begin in part.spheres
    ]


def _armatures(context: Context, session: DragSession | None) -> list[Object]:
    return [
        obj
        for obj in context.view_layer.objects
        if obj.type == 'ARMATURE'
        and (settings_of(obj).show_overlay or (session is not None and session.armature == obj))
        and obj.visible_get()
        and obj.mode != 'EDIT'
        and obj.data.pose_position == 'POSE'
    ]


def _colors(context: Context) -> dict[str, Color]:
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


def _outline(context: Context) -> Color:
    wire = context.preferences.themes[0].view_3d.wire
    return wire[0], wire[1], wire[2], 0.55


def _batches(shapes: list[Shapes], outline: Color) -> list[Batch]:
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


def _draw_batches(context: Context) -> None:
    scale = context.preferences.system.ui_scale
    viewport: Any = gpu.state.viewport_get()
    viewport = viewport[2:]
    for batch in _overlay.batches:
        _set_width(batch.shader, batch.width * scale, viewport)
        batch.batch.draw(batch.shader)
    _draw_spheres(context, scale, viewport)
    if _overlay.axis is not None:
        _draw_axis(context, scale, viewport)


def _set_width(shader: Any, width: float, viewport: Any) -> None:
    shader.bind()
    if shader.name.startswith("gpu_shader_3D_polyline"):
        shader.uniform_float("lineWidth", width)
        shader.uniform_float("viewportSize", viewport)
    else:
        gpu.state.point_size_set(width)


def _draw_spheres(context: Context, scale: float, viewport: Any) -> None:
    """Draw reaches as the circles by which a viewer sees spheres."""
    if not _overlay.spheres:
        return
    shader = gpu.shader.from_builtin('POLYLINE_UNIFORM_COLOR')
    if _overlay.circle is None:
        angles = np.linspace(0.0, math.tau, 2 * ROUND)
        points = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
        _overlay.circle = batch_for_shader(shader, 'LINE_STRIP', {"pos": points.astype(np.float32)})
    theme = context.preferences.themes[0]
    reach, soft = theme.user_interface.gizmo_hi, theme.view_3d.object_active
    facing = context.region_data.view_matrix.to_3x3().inverted_safe().to_4x4()
    outline = _outline(context)
    for center, least, greatest, begin in _overlay.spheres:
        circles = [(greatest, (*reach[:3], 0.5))]
        if least > 1e-3 * greatest:
            circles.append((least, (*reach[:3], 0.35)))
        if begin < (1.0 - 1e-3) * greatest:
            circles.append((begin, (*soft[:3], 0.6)))
        for radius, color in circles:
            with gpu.matrix.push_pop():  # type: ignore[attr-defined]
                gpu.matrix.multiply_matrix(center @ facing @ Matrix.Scale(radius, 4))
                for wider, shade in ((2.0, outline), (0.0, color)):
                    _set_width(shader, (1.5 + wider) * scale, viewport)
                    shader.uniform_float("color", (*shade[:3], min(shade[3], color[3])))
                    _overlay.circle.draw(shader)


def _draw_axis(context: Context, scale: float, viewport: Any) -> None:
    assert _overlay.axis is not None  # asked for when there is one
    origin, direction, name = _overlay.axis
    color = getattr(context.preferences.themes[0].user_interface, f"axis_{name.lower()}")
    shader = gpu.shader.from_builtin('POLYLINE_UNIFORM_COLOR')
    far = direction * (10.0 * context.region_data.view_distance + 10.0)
    batch = batch_for_shader(shader, 'LINES', {"pos": [(origin - far)[:], (origin + far)[:]]})
    _set_width(shader, 1.5 * scale, viewport)
    shader.uniform_float("color", (*color[:3], 0.8))
    batch.draw(shader)


_DATA_HANDLERS = ("undo_post", "redo_post", "load_post")


def register() -> None:
    for name in _DATA_HANDLERS:
        getattr(bpy.app.handlers, name).append(_note_other_data)
    # Switched on over a file that is open: what is in it can't be asked before Blender is done with registering.
    bpy.app.timers.register(_sync, first_interval=0.0)


def unregister() -> None:
    if bpy.app.timers.is_registered(_sync):
        bpy.app.timers.unregister(_sync)
    for name in _DATA_HANDLERS:
        getattr(bpy.app.handlers, name).remove(_note_other_data)
    if _overlay.handle is not None:
        bpy.types.SpaceView3D.draw_handler_remove(_overlay.handle, 'WINDOW')
        bpy.app.handlers.depsgraph_update_post.remove(_note_update)
        bpy.app.handlers.frame_change_post.remove(_note_frame)
    _overlay.__init__()  # type: ignore[misc]
