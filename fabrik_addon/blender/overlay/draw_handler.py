# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The overlay's draw handler in 3D viewports: registered while an armature shows the overlay or a drag runs.

Shapes are built again only after a change, not at every redraw. Changes are noted in three ways: by Blender's handlers
(bones and objects that moved, undo, another file, linked data), by the update functions of properties (settings), and
by the drag. Changes that Blender reports in none of them, animated settings and the theme's colours, are found by
comparing every few redraws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import bpy
import gpu
from bpy.app.handlers import persistent
from bpy.types import Armature, Object
from mathutils import Vector

from ..rig.properties import OVERLAY_HANDLERS, settings_of
from ..rig.property_updates import SETTINGS_HANDLERS
from .changes import Changes

if TYPE_CHECKING:
    from bpy.types import Context, Depsgraph, DepsgraphUpdate, Scene, SpaceView3D

    from .drag_protocol import Dragged
    from .drawn_armature import DrawnArmature
    from .drawn_body import DrawnBody
    from .overlay_shapes import Color


_REDRAWS_BETWEEN_CHECKS = 8
"""Redraws after which settings are compared although no change was noted."""


class _Overlay:
    """The state of the draw handler, of which Blender has one for all viewports."""

    def __init__(self) -> None:
        self.handle: object | None = None
        self.session: Dragged | None = None
        self.axis: tuple[Vector, Vector, str] | None = None
        self.forget()

    def forget(self) -> None:
        """Discard all shapes: armatures, chains or bones may be others."""
        self.key: object = None
        self.colors: dict[str, Color] = {}
        self.armatures: list[Object] = []
        self.drawn_armatures: list[DrawnArmature] = []
        self.drawn_bodies: list[DrawnBody] = []
        self.changes = Changes()
        self.results = 0
        """``last_change()`` at the time of the last build."""
        self.redraws = 0
        """Redraws since settings were compared."""


_overlay = _Overlay()


def show_drag(session: Dragged) -> None:
    """Draw the chain of a drag from now on, whether or not its armature shows the overlay."""
    _overlay.session = session
    sync_overlay()


def show_axis(axis: tuple[Vector, Vector, str] | None) -> None:
    """Draw the axis of a drag's lock: through a point, along a unit vector, world space; its name is X, Y or Z.

    None draws no axis any more.
    """
    _overlay.axis = axis


def hide_drag() -> None:
    """Draw the chain of the drag and its axis no more."""
    _overlay.session = _overlay.axis = None
    sync_overlay()


def note_move() -> None:
    """Note that a drag has moved its chain and left all settings as they are."""
    _overlay.changes.bones = True


def note_settings() -> None:
    """Note that a setting of a chain has changed."""
    if is_drawn():
        _overlay.changes.settings = True
        _redraw()


def note_bones() -> None:
    """Note that a drag has other bones or other held ends."""
    _overlay.forget()


def is_drawn() -> bool:
    """Return whether the draw handler is registered."""
    return _overlay.handle is not None


def sync_overlay() -> None:
    """Register or remove the draw handler, by the settings of all armatures."""
    is_needed = _overlay.session is not None or any(
        obj.type == 'ARMATURE' and settings_of(obj).show_overlay for obj in bpy.data.objects
    )
    if is_needed and not is_drawn() and not bpy.app.background:
        _overlay.handle = bpy.types.SpaceView3D.draw_handler_add(_draw, (), 'WINDOW', 'POST_VIEW')
        bpy.app.handlers.depsgraph_update_post.append(_note_update)
        bpy.app.handlers.frame_change_post.append(_note_frame)
    elif not is_needed:
        _remove_handlers()
    _overlay.forget()
    _redraw()


def _remove_handlers() -> None:
    if _overlay.handle is not None:
        bpy.types.SpaceView3D.draw_handler_remove(_overlay.handle, 'WINDOW')
        bpy.app.handlers.depsgraph_update_post.remove(_note_update)
        bpy.app.handlers.frame_change_post.remove(_note_frame)
        _overlay.handle = None


def _redraw() -> None:
    for window in bpy.context.window_manager.windows if bpy.context.window_manager else ():
        for area in window.screen.areas:
            if area.type == 'VIEW_3D':
                area.tag_redraw()


@persistent  # type: ignore[untyped-decorator]
def _note_update(_scene: Scene, depsgraph: Depsgraph) -> None:
    if depsgraph.id_type_updated('SCENE'):
        _overlay.forget()  # objects may have come or gone, bones may have other parents
        return
    _note_moves(depsgraph)
    # An update doesn't show whether a pose or a limit has changed; a drag changes no limit.
    _overlay.changes.limits |= _overlay.session is None
    if depsgraph.id_type_updated('ARMATURE') or depsgraph.id_type_updated('OBJECT'):
        _overlay.changes.settings |= any(map(_may_be_settings, depsgraph.updates))


def _note_moves(depsgraph: Depsgraph) -> None:
    """Note that bones have moved, and whether an object has; an object that hangs on a bone is among the updates."""
    changes = _overlay.changes
    changes.bones = True
    changes.objects = changes.objects or any(
        update.is_updated_transform and isinstance(update.id, Object) for update in depsgraph.updates
    )


def _may_be_settings(update: DepsgraphUpdate) -> bool:
    """Return whether an update may be of a bone's name or of settings; Blender reports settings as a transform."""
    if isinstance(update.id, Armature):
        return not update.is_updated_transform
    return update.is_updated_transform and isinstance(update.id, Object) and update.id.type == 'ARMATURE'


@persistent  # type: ignore[untyped-decorator]
def _note_frame(_scene: Scene, depsgraph: Depsgraph) -> None:
    _note_moves(depsgraph)


@persistent  # type: ignore[untyped-decorator]
def _note_other_data(*_args: object) -> None:
    """Discard all references after undo, redo, loading, linking and appending: Blender has other data.

    A linked armature may show the overlay: without this its library override had none until the next undo or switch.
    """
    sync_overlay()


def _draw() -> None:
    from .draw_shapes import draw_axis, stroke_renderer

    context = bpy.context
    space = cast("SpaceView3D", context.space_data)
    if not space.overlay.show_overlays or not space.overlay.show_bones:
        return
    try:
        _build(context)
    except (ReferenceError, KeyError):
        # A script has deleted an object or a bone, and no update has followed yet.
        _overlay.forget()
        _build(context)
    gpu.state.blend_set('ALPHA')
    gpu.state.depth_test_set('NONE')
    try:
        renderer = stroke_renderer(context, _overlay.colors)
        for body in _overlay.drawn_bodies:
            body.draw(context, renderer, _overlay.colors)
        for drawn in _overlay.drawn_armatures:
            drawn.draw(context, renderer)
        if _overlay.axis is not None:
            draw_axis(context, renderer, *_overlay.axis)
    finally:
        gpu.state.blend_set('NONE')


def _build(context: Context) -> None:
    """Bring the shapes up to date."""
    from ..rig.last_results import last_change
    from .draw_shapes import colors_of
    from .drawn_armature import DrawnArmature
    from .drawn_body import DrawnBody

    session = _overlay.session if _overlay.session is not None and _overlay.session.is_intact() else None
    key = context.scene.session_uid, context.view_layer.name, session
    if key != _overlay.key:
        _overlay.forget()
        _overlay.key = key
        _overlay.armatures = _armatures(context, session)
    shown = [armature for armature in _overlay.armatures if _is_shown(armature)]
    drawn_armatures = _overlay.drawn_armatures
    is_same = [drawn.view.armature for drawn in drawn_armatures] == shown
    changes = _overlay.changes
    changes.settings |= _overlay.results != last_change()
    _overlay.results = last_change()
    _overlay.redraws += 1
    if changes.settings or not is_same or _overlay.redraws > _REDRAWS_BETWEEN_CHECKS:
        colors = colors_of(context)
        is_same &= colors == _overlay.colors and all(map(DrawnArmature.has_settings_of, drawn_armatures, shown))
        _overlay.colors, _overlay.redraws = colors, 0
        changes.limits = True
    if not is_same:
        drawn_armatures = _overlay.drawn_armatures = [
            DrawnArmature(armature, session, _overlay.colors) for armature in shown
        ]
        _overlay.drawn_bodies = [DrawnBody(armature) for armature in shown]
    for drawn in drawn_armatures:
        drawn.update(session, changes)
    _overlay.changes = Changes(False, False, False, False)


def _armatures(context: Context, session: Dragged | None) -> list[Object]:
    return [
        obj
        for obj in context.view_layer.objects
        if obj.type == 'ARMATURE'
        and (settings_of(obj).show_overlay or (session is not None and session.armature == obj))
    ]


def _is_shown(armature: Object) -> bool:
    return armature.visible_get() and armature.mode != 'EDIT' and armature.data.pose_position == 'POSE'


_DATA_HANDLERS = ("undo_post", "redo_post", "load_post", "blend_import_post")


def register() -> None:
    SETTINGS_HANDLERS.append(note_settings)
    OVERLAY_HANDLERS.append(sync_overlay)
    for name in _DATA_HANDLERS:
        getattr(bpy.app.handlers, name).append(_note_other_data)
    # The extension may be enabled while a file is open: bpy.data can be read only after registering.
    bpy.app.timers.register(sync_overlay, first_interval=0.0)


def unregister() -> None:
    from .draw_shapes import free_gpu_shapes

    SETTINGS_HANDLERS.remove(note_settings)
    OVERLAY_HANDLERS.remove(sync_overlay)
    if bpy.app.timers.is_registered(sync_overlay):
        bpy.app.timers.unregister(sync_overlay)
    for name in _DATA_HANDLERS:
        getattr(bpy.app.handlers, name).remove(_note_other_data)
    _remove_handlers()
    _overlay.__init__()  # type: ignore[misc]
    free_gpu_shapes()
