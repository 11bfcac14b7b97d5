# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The events of a turn: mouse and keys change the pointer (``turn_pointer``), and its rotation turns the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mathutils import Quaternion

from .drag_header import turn_text
from .modal_events import DrawKey, ModalEvents
from .turn_pointer import TurnPointer

if TYPE_CHECKING:
    from bpy.types import Context, Event, Scene, UnitSettings
    from mathutils import Vector

    from .body_turn import BodyTurn
    from .view_projection import View


class TurnEvents(ModalEvents):
    """A turn in a 3D viewport."""

    pointer: TurnPointer
    session: BodyTurn

    def __init__(self, context: Context, event: Event, session: BodyTurn) -> None:
        super().__init__(context, event, session)
        self.is_snapping = self.is_snapping and context.scene.tool_settings.use_snap_rotate

    def _begin_pointer(self, view: View, pixel: Vector) -> None:
        self.pointer = TurnPointer(view, pixel, self.session.start_position, self.session.axes)

    @property
    def _is_moved(self) -> bool:
        return self.session.turned != Quaternion()

    def _press(self, _context: Context, event: Event) -> bool:
        if event.type in {'X', 'Y', 'Z'}:
            self.pointer.press_axis("XYZ".index(event.type))
        elif event.type == 'C':
            self.pointer.lock = None
        elif event.type == 'TAB' and event.shift:
            self.is_snapping = not self.is_snapping
        else:
            return self._type(event)
        return True

    def _move(self, context: Context) -> None:
        settings = context.scene.tool_settings
        step = settings.snap_angle_increment_3d_precision if self._is_precise else settings.snap_angle_increment_3d
        rotation = self.pointer.rotation(step if self.snaps else 0.0)
        if rotation != self.session.turned:
            self.session.turn(context.view_layer, rotation)
            self._note_move(context)

    def header(self, _units: UnitSettings) -> str:
        """Return the text in the header."""
        return turn_text(self.session, self.pointer)

    @property
    def locked_axis(self) -> Vector | None:
        """The unit vector about which the point is turned, world space; None without a locked axis."""
        return None if self.pointer.lock is None else self.pointer.axis

    def _draw_own_keys(self, draw_key: DrawKey, _scene: Scene) -> None:
        draw_key("Precise", 'EVENT_SHIFT')
        draw_key("Snap", 'EVENT_CTRL')
