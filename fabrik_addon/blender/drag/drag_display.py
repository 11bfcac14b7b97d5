# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The display of a running drag: header, status bar, mouse pointer, overlay, and the timer by which a body settles.

``end`` restores all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
from bpy.app.handlers import persistent

from ..overlay.draw_handler import hide_drag, note_bones, note_move, show_axis, show_drag
from .drag_header import waiting_text
from .modal_events import ModalEvents

if TYPE_CHECKING:
    from bpy.types import Context, Header, Timer

_SETTLE_SECONDS = 0.02
"""Seconds from one step of a body that settles to the next."""

_UNDO_HANDLERS = ("undo_post", "redo_post")


class DragDisplay:
    """Header, status bar, mouse pointer, overlay and timer of a running drag."""

    def __init__(self, context: Context, events: ModalEvents) -> None:
        """Enable all of them; there is no timer yet."""
        self.is_undone = False
        """Whether an undo or redo has replaced the dragged data since the start."""
        self._events = events
        self._is_shown = True
        self._area = context.area.as_pointer()
        self._workspace = context.workspace.name

        @persistent  # type: ignore[untyped-decorator]
        def note_undo(*_args: object) -> None:
            self.is_undone = True

        self._note_undo = note_undo
        for name in _UNDO_HANDLERS:
            getattr(bpy.app.handlers, name).append(note_undo)
        self._shown_state: object = None
        self._timer: Timer | None = None
        context.window.cursor_modal_set('SCROLL_XY')
        show_drag(events.session)
        self.refresh(context)

    def refresh(self, context: Context) -> None:
        """Show the drag's present state."""
        events = self._events
        pointer = events.pointer
        text = waiting_text(events.session) if events.is_waiting else events.header(context.scene.unit_settings)
        context.area.header_text_set(text)
        axis, lock = events.locked_axis, pointer.lock
        show_axis(None if axis is None or lock is None else (pointer.start, axis, "XYZ"[lock.axis]))
        note_move()
        context.area.tag_redraw()
        if events.session.is_settled:
            self._stop_timer()
        elif self._timer is None:
            self._timer = context.window_manager.event_timer_add(_SETTLE_SECONDS, window=context.window)
        if events.key_state != self._shown_state:
            self._shown_state = events.key_state
            note_bones()

            def draw_keys(header: Header, context: Context) -> None:
                events.draw_keys(header.layout, context.scene)

            # The status bar is in no screen's areas, so there is no tag_redraw for it: setting the text redraws it.
            context.workspace.status_text_set(draw_keys)

    def _stop_timer(self) -> None:
        manager = bpy.context.window_manager
        if self._timer is not None and manager is not None:
            manager.event_timer_remove(self._timer)
        self._timer = None

    def end(self) -> None:
        """Restore header, status bar, mouse pointer and overlay, without a timer; a second call does nothing."""
        if not self._is_shown:
            return
        self._is_shown = False
        self._stop_timer()
        for name in _UNDO_HANDLERS:
            getattr(bpy.app.handlers, name).remove(self._note_undo)
        hide_drag()
        manager = bpy.context.window_manager
        for window in manager.windows if manager is not None else ():
            window.cursor_modal_restore()
            for area in window.screen.areas:
                if area.as_pointer() == self._area:
                    area.header_text_set(None)
        workspace = bpy.data.workspaces.get(self._workspace)
        if workspace is None and bpy.data.workspaces:
            workspace = bpy.data.workspaces[0]  # the workspace is renamed: any one restores the status bar
        if workspace is not None:
            workspace.status_text_set(None)
