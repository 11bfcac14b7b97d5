# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The overlay in 3D viewports: drawn while an armature shows it or a drag runs, and else not even registered.

What is drawn is built when something has changed, not at every redraw. The handlers only note that something has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bpy
import gpu
from bpy.app.handlers import persistent
from mathutils import Vector

from ..properties import settings_of
from .draw import Batch, batches_of, colors_of, draw_axis, draw_batches, draw_reaches, free_drawing, outline_of
from .read import read_armature, read_places
from .shapes import Palette, Reach, shapes_of

if TYPE_CHECKING:
    from bpy.types import Context, Object

    from ..drag.session import DragSession


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
        self.reaches: list[Reach] = []


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
        _overlay.palettes, _overlay.batches, _overlay.reaches = [], [], []
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
        try:
            _build(context)
        except ReferenceError:
            # A script has deleted something in mid-drag.
            _overlay.has_new_settings = True
            _build(context)
        _overlay.is_stale = _overlay.has_new_settings = False
    gpu.state.blend_set('ALPHA')
    gpu.state.depth_test_set('NONE')
    try:
        draw_batches(context, _overlay.batches)
        draw_reaches(context, _overlay.reaches)
        if _overlay.axis is not None:
            draw_axis(context, *_overlay.axis)
    finally:
        gpu.state.blend_set('NONE')
        gpu.state.line_width_set(1.0)
        gpu.state.point_size_set(1.0)


def _build(context: Context) -> None:
    session = _overlay.session if _overlay.session is not None and _overlay.session.is_intact() else None
    if _overlay.has_new_settings:
        colors = colors_of(context)
        _overlay.palettes = [Palette(read_armature(obj, session), colors) for obj in _armatures(context, session)]
    shapes = [shapes_of(palette, read_places(palette.view, session)) for palette in _overlay.palettes]
    _overlay.batches = batches_of(shapes, outline_of(context))
    _overlay.reaches = [reach for part in shapes for reach in part.reaches]


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
    free_drawing()
