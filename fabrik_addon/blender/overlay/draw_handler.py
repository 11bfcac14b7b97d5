# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The overlay in 3D viewports: drawn while an armature shows it or a drag runs, and else not even registered.

What is drawn is built when something has changed, not at every redraw: the handlers note that bones have moved,
settings say themselves when they are set. What nobody tells, animated settings or other colours of the theme, is looked
at with every few redraws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import bpy
import gpu
from bpy.app.handlers import persistent
from bpy.types import Armature, Object
from mathutils import Vector

from ..rig.last_results import last_change
from ..rig.properties import OVERLAY_HANDLERS, SETTINGS_HANDLERS, settings_of
from .draw_shapes import Drawing, brush_of, colors_of, draw_axis, free_drawing
from .overlay_shapes import Color, Layout
from .read_overlay import in_drag, read_armature, read_limits, read_places, read_settings, read_standing

if TYPE_CHECKING:
    from bpy.types import Context, Depsgraph, DepsgraphUpdate, Scene

    from .drag_protocol import Dragged
    from .read_overlay import BoneLimits, Places
    from .stroke_shader import Brush


_SELDOM = 8
"""Redraws after which settings are looked at whether or not somebody has said that they changed."""


@dataclass
class _News:
    """What may be another one since what is drawn was built."""

    bones: bool = True
    objects: bool = True
    """Their places."""
    limits: bool = True
    settings: bool = True


class _Figure:
    """One armature, as it is drawn."""

    def __init__(self, armature: Object, session: Dragged | None, colors: dict[str, Color]) -> None:
        self.view = read_armature(armature, session)
        self._colors = colors
        self._standing = read_standing(self.view)
        self._limits: tuple[BoneLimits, ...] | None = None
        self._places: Places | None = None
        self._is_new = True

    def has_settings_of(self, armature: Object) -> bool:
        """Tell whether it is still what an armature's settings describe; notice how its chains are doing."""
        if self.view.settings != read_settings(armature):
            return False
        standing = read_standing(self.view)
        self._is_new |= standing != self._standing
        self._standing = standing
        return True

    def update(self, session: Dragged | None, news: _News) -> None:
        """Build what is drawn if it isn't what it was."""
        if not (news.bones or self._is_new):
            return
        self._is_new = False
        limits = read_limits(self.view) if self._limits is None or news.limits else self._limits
        if self._limits is None or len(limits) != len(self._limits):
            self._layout = Layout(self.view, self._colors, len(limits))
            self._drawing = Drawing(self._layout)
        self._limits = limits
        places = read_places(self.view, limits, session, None if news.objects else self._places)
        self._places = places
        standing = self._standing if session is None else in_drag(self.view, self._standing, session)
        self._drawing.update(self._layout.shapes(places, standing))

    def draw(self, context: Context, brush: Brush) -> None:
        """Draw it unless it is hidden in this viewport, or not in its local view."""
        space: Any = context.space_data
        if self.view.armature.visible_in_viewport_get(space):
            self._drawing.draw(context, brush, self._colors)


class _Overlay:
    """What is registered, and what was built: there is one overlay in a Blender."""

    def __init__(self) -> None:
        self.handle: object | None = None
        self.session: Dragged | None = None
        self.axis: tuple[Vector, Vector, str] | None = None
        self.forget()

    def forget(self) -> None:
        """Forget all that was built: armatures, chains or bones may be other ones."""
        self.key: object = None
        self.colors: dict[str, Color] = {}
        self.armatures: list[Object] = []
        self.figures: list[_Figure] = []
        self.news = _News()
        self.results = 0
        """Up to which they were looked at."""
        self.redraws = 0
        """Since settings were looked at."""


_overlay = _Overlay()


def show_drag(session: Dragged) -> None:
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
    _overlay.news.bones = True


def note_chain() -> None:
    """Say that a setting of a chain is another one."""
    if _overlay.handle is not None:
        _overlay.news.settings = True
        _redraw()


def note_bones() -> None:
    """Say that a drag has other bones, or other ends hold still."""
    _overlay.forget()


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
    _overlay.forget()
    _redraw()


def _redraw() -> None:
    for window in bpy.context.window_manager.windows if bpy.context.window_manager else ():
        for area in window.screen.areas:
            if area.type == 'VIEW_3D':
                area.tag_redraw()


@persistent  # type: ignore[untyped-decorator]
def _note_update(_scene: Scene, depsgraph: Depsgraph) -> None:
    if depsgraph.id_type_updated('SCENE'):
        _overlay.forget()  # there may be other objects, or bones with other parents
        return
    _note_moves(depsgraph)
    # From an update limits can't be told from poses; a drag changes none.
    _overlay.news.limits |= _overlay.session is None
    if depsgraph.id_type_updated('ARMATURE') or depsgraph.id_type_updated('OBJECT'):
        _overlay.news.settings |= any(map(_may_be_settings, depsgraph.updates))


def _note_moves(depsgraph: Depsgraph) -> None:
    """Note that bones have moved, and whether an object has: what hangs on a bone says so too."""
    news = _overlay.news
    news.bones = True
    news.objects = news.objects or any(
        update.is_updated_transform and isinstance(update.id, Object) for update in depsgraph.updates
    )


def _may_be_settings(update: DepsgraphUpdate) -> bool:
    """Tell whether something else than bones has changed: a bone's name, or settings, which look like a transform."""
    if isinstance(update.id, Armature):
        return not update.is_updated_transform
    return update.is_updated_transform and isinstance(update.id, Object) and update.id.type == 'ARMATURE'


@persistent  # type: ignore[untyped-decorator]
def _note_frame(_scene: Scene, depsgraph: Depsgraph) -> None:
    _note_moves(depsgraph)


@persistent  # type: ignore[untyped-decorator]
def _note_other_data(*_args: object) -> None:
    """After undo, redo and loading nothing that was kept is there any more."""
    _sync()


def _draw() -> None:
    context = bpy.context
    space: Any = context.space_data
    if not space.overlay.show_overlays or not space.overlay.show_bones:
        return
    try:
        _build(context)
    except (ReferenceError, KeyError):
        # A script has deleted an object, or a bone, and not yet said so.
        _overlay.forget()
        _build(context)
    gpu.state.blend_set('ALPHA')
    gpu.state.depth_test_set('NONE')
    try:
        brush = brush_of(context, _overlay.colors)
        for figure in _overlay.figures:
            figure.draw(context, brush)
        if _overlay.axis is not None:
            draw_axis(context, brush, *_overlay.axis)
    finally:
        gpu.state.blend_set('NONE')


def _build(context: Context) -> None:
    """Bring what is drawn up to date."""
    session = _overlay.session if _overlay.session is not None and _overlay.session.is_intact() else None
    key = context.scene.session_uid, context.view_layer.name, session
    if key != _overlay.key:
        _overlay.forget()
        _overlay.key = key
        _overlay.armatures = _armatures(context, session)
    shown = [armature for armature in _overlay.armatures if _is_shown(armature)]
    figures = _overlay.figures
    is_same = [figure.view.armature for figure in figures] == shown
    news = _overlay.news
    news.settings |= _overlay.results != last_change()
    _overlay.results = last_change()
    _overlay.redraws += 1
    if news.settings or not is_same or _overlay.redraws > _SELDOM:
        colors = colors_of(context)
        is_same &= colors == _overlay.colors and all(map(_Figure.has_settings_of, figures, shown))
        _overlay.colors, _overlay.redraws = colors, 0
        news.limits = True
    if not is_same:
        figures = _overlay.figures = [_Figure(armature, session, _overlay.colors) for armature in shown]
    for figure in figures:
        figure.update(session, news)
    _overlay.news = _News(False, False, False, False)


def _armatures(context: Context, session: Dragged | None) -> list[Object]:
    return [
        obj
        for obj in context.view_layer.objects
        if obj.type == 'ARMATURE'
        and (settings_of(obj).show_overlay or (session is not None and session.armature == obj))
    ]


def _is_shown(armature: Object) -> bool:
    return armature.visible_get() and armature.mode != 'EDIT' and armature.data.pose_position == 'POSE'


_DATA_HANDLERS = ("undo_post", "redo_post", "load_post")


def register() -> None:
    SETTINGS_HANDLERS.append(note_chain)
    OVERLAY_HANDLERS.append(sync_overlay)
    for name in _DATA_HANDLERS:
        getattr(bpy.app.handlers, name).append(_note_other_data)
    # Switched on over a file that is open: what is in it can't be asked before Blender is done with registering.
    bpy.app.timers.register(_sync, first_interval=0.0)


def unregister() -> None:
    SETTINGS_HANDLERS.remove(note_chain)
    OVERLAY_HANDLERS.remove(sync_overlay)
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
