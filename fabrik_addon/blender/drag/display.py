# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a drag shows while it runs, and takes away again: header, status bar, mouse pointer, overlay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
from bpy.app.handlers import persistent

from ..overlay.handler import hide_axis, hide_drag, note_bones, note_move, show_axis, show_drag
from .gesture import DragGesture

if TYPE_CHECKING:
    from bpy.types import Context, Header

_UNDO = ("undo_post", "redo_post")


class DragDisplay:
    """The marks of a running drag on Blender's windows."""

    def __init__(self, context: Context, gesture: DragGesture) -> None:
        """Show them."""
        self.is_lost = False
        """Whether an undo has replaced what is dragged."""
        self._gesture = gesture
        self._is_shown = True
        self._area = context.area.as_pointer()
        self._window = context.window
        self._workspace = context.workspace.name

        @persistent  # type: ignore[untyped-decorator]
        def lose(*_args: object) -> None:
            self.is_lost = True

        self._lose = lose
        for name in _UNDO:
            getattr(bpy.app.handlers, name).append(lose)
        self._said: object = None
        context.window.cursor_modal_set('SCROLL_XY')
        show_drag(gesture.session)
        self.refresh(context)

    def refresh(self, context: Context) -> None:
        """Say how it stands."""
        context.area.header_text_set(self._gesture.header_text(context))
        pointer = self._gesture.pointer
        if pointer.lock is not None and not pointer.lock.is_plane:
            show_axis(pointer.start, pointer.directions[0], "XYZ"[pointer.lock.axis])
        else:
            hide_axis()
        note_move()
        context.area.tag_redraw()
        if self._gesture.said_of_keys != self._said:
            self._said = self._gesture.said_of_keys
            note_bones()
            gesture = self._gesture

            def draw_keys(header: Header, _context: Context) -> None:
                gesture.draw_keys(header.layout)

            # The status bar is in no screen's areas: this is what has it drawn anew.
            context.workspace.status_text_set(draw_keys)

    def end(self) -> None:
        """Take all of it away, once."""
        if not self._is_shown:
            return
        self._is_shown = False
        for name in _UNDO:
            getattr(bpy.app.handlers, name).remove(self._lose)
        hide_drag()
        manager = bpy.context.window_manager
        for window in manager.windows if manager is not None else ():
            window.cursor_modal_restore()
            for area in window.screen.areas:
                if area.as_pointer() == self._area:
                    area.header_text_set(None)
        workspace = bpy.data.workspaces.get(self._workspace)
        if workspace is None and bpy.data.workspaces:
            workspace = bpy.data.workspaces[0]  # the status bar's own drawing is put back through any
        if workspace is not None:
            workspace.status_text_set(None)
