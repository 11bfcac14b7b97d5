# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The events of a drag, and the keys in the status bar.

Mouse and keys change the pointer (``mouse_to_world``); the pointer's position, snapped, moves the session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...core import FabrikError
from .chain_drag import ChainDrag
from .drag_header import header_text
from .modal_events import DrawKey, ModalEvents
from .mouse_to_world import DragPointer
from .snapping import grid_step, snap_name, snapped

if TYPE_CHECKING:
    from bpy.types import Context, Event, Scene, UnitSettings
    from mathutils import Vector

    from .view_projection import View

PINS = {'PINNED': "Pinned", 'ALL': "All", 'NONE': "None"}
"""Which other chains' ends are held, in the order in which P goes through them, with the texts of the status bar."""

# As for the chain length of Blender's own Auto IK: down is longer.
_CHAIN_COUNT_CHANGES = {'PAGE_UP': 1, 'WHEELDOWNMOUSE': 1, 'PAGE_DOWN': -1, 'WHEELUPMOUSE': -1}


class DragEvents(ModalEvents):
    """A drag in a 3D viewport."""

    pointer: DragPointer

    def _begin_pointer(self, view: View, pixel: Vector) -> None:
        self.pointer = DragPointer(view, pixel, self.session.start_position, self.session.axes)

    @property
    def _is_moved(self) -> bool:
        return self.session.position[:] != self.session.start_position[:]

    def _uses_wheel(self, event: Event) -> bool:
        return self._resizable is not None and not (event.ctrl or event.alt)

    def header(self, units: UnitSettings) -> str:
        """Return the text in the header."""
        return header_text(self.session, self.pointer, units, self.key_error)

    @property
    def locked_axis(self) -> Vector | None:
        """The unit vector along which the dragged point is locked, world space; None without such a lock."""
        lock = self.pointer.lock
        return None if lock is None or lock.is_plane else self.pointer.directions[0]

    def _press(self, context: Context, event: Event) -> bool:
        """Handle a pressed key; return whether the drag uses the key."""
        kind, numbers = event.type, self.pointer.numbers
        session, resizable = self.session, self._resizable
        if kind in {'X', 'Y', 'Z'}:
            self.pointer.press_axis("XYZ".index(kind), event.shift)
        elif kind == 'C':
            self.pointer.lock = None
        elif kind == 'G' or (kind == 'TAB' and event.shift):
            self.is_snapping = not self.is_snapping
        elif kind == 'P' and isinstance(session, ChainDrag):
            self._try(lambda: session.set_pins(context.view_layer, self._next_pins()))
        elif kind in _CHAIN_COUNT_CHANGES and resizable is not None:
            count = resizable.chain_count + _CHAIN_COUNT_CHANGES[kind]
            self._try(lambda: resizable.set_chain_count(context.view_layer, count))
        elif kind == 'TAB' and numbers.is_on:
            numbers.next(self.pointer.number_count)
        else:
            return self._type(event)
        return True

    def _next_pins(self) -> str:
        names = list(PINS)
        return names[(names.index(self.session.pins) + 1) % len(names)]

    @property
    def _resizable(self) -> ChainDrag | None:
        """The session where another number of bones can rotate: where a bone is dragged, not moved."""
        return self.session if isinstance(self.session, ChainDrag) and not self.session.grab.chain else None

    def _try(self, change: Callable[[], None]) -> None:
        """Make a change that a key asked for; an error is shown in the header and the drag continues."""
        try:
            change()
        except FabrikError as error:
            self.key_error = str(error)

    def _move(self, context: Context) -> None:
        position = self.pointer.position()
        if self.snaps and not self.pointer.numbers.is_on:
            step = grid_step(context) * (0.1 if self._is_precise else 1.0)
            depsgraph = context.evaluated_depsgraph_get()
            position = snapped(context.scene, depsgraph, self.pointer, position, self.session.armature, step)
        if position[:] != self.session.position[:]:
            self.session.move(context.view_layer, position)
            self._note_move(context)

    def _draw_own_keys(self, draw_key: DrawKey, scene: Scene) -> None:
        draw_key("Plane", 'EVENT_SHIFT', 'EVENT_X', 'EVENT_Y', 'EVENT_Z')
        draw_key("Precise", 'EVENT_SHIFT')
        draw_key(f"Snap: {snap_name(scene) if self.is_snapping else 'Off'}", 'EVENT_G')
        if isinstance(self.session, ChainDrag):
            draw_key(f"Held Ends: {PINS[self.session.pins]}", 'EVENT_P')
        if self._resizable is not None:
            draw_key(f"Bones: {self.session.chain_count}", 'MOUSE_MMB_SCROLL')
