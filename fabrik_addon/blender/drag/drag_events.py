# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The events of a drag, and the keys in the status bar.

Mouse and keys change the pointer (``mouse_to_world``); the pointer's position, snapped, moves the session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, cast

from mathutils import Vector

from ...core import FabrikError
from ..translation.messages import in_interface
from .base_drag import BaseDrag
from .chain_drag import ChainDrag
from .mouse_to_world import DragPointer
from .snapping import snap_name, snapped
from .view_projection import View, view_of

if TYPE_CHECKING:
    from bpy.types import Context, Event, Region, Scene, SpaceView3D, UILayout

ModalResult = Literal['RUNNING_MODAL', 'PASS_THROUGH', 'FINISHED', 'CANCELLED']

PINS = {'PINNED': "Pinned", 'ALL': "All", 'NONE': "None"}
"""Which other chains' ends are held, in the order in which P goes through them, with the texts of the status bar."""

_CONFIRM = {'LEFTMOUSE', 'RET', 'NUMPAD_ENTER', 'SPACE'}
_CANCEL = {'RIGHTMOUSE', 'ESC'}
_BUTTONS = {'LEFTMOUSE', 'MIDDLEMOUSE', 'RIGHTMOUSE', 'PEN', 'ERASER'}
_NAVIGATION = ('MIDDLEMOUSE', 'NDOF', 'TRACKPAD', 'MOUSEROTATE', 'MOUSESMARTZOOM', 'TIMER', 'WINDOW_DEACTIVATE')
_WHEEL = ('WHEELUPMOUSE', 'WHEELDOWNMOUSE')
# As for the chain length of Blender's own Auto IK: down is longer.
_CHAIN_COUNT_CHANGES = {'PAGE_UP': 1, 'WHEELDOWNMOUSE': 1, 'PAGE_DOWN': -1, 'WHEELUPMOUSE': -1}
_COVERING_REGIONS = {
    'UI': "show_region_ui",
    'TOOLS': "show_region_toolbar",
    'HEADER': "show_region_header",
    'TOOL_HEADER': "show_region_tool_header",
}
"""Regions that may lie over the 3D view, with the setting that shows them."""
_MODIFIERS = {'LEFT_SHIFT', 'RIGHT_SHIFT', 'LEFT_CTRL', 'RIGHT_CTRL'}
_DIGITS = ('ZERO', 'ONE', 'TWO', 'THREE', 'FOUR', 'FIVE', 'SIX', 'SEVEN', 'EIGHT', 'NINE')
_CHARACTERS = {
    **{name: str(digit) for digit, name in enumerate(_DIGITS)},
    **{f"NUMPAD_{digit}": str(digit) for digit in range(10)},
    **dict.fromkeys(('PERIOD', 'COMMA', 'NUMPAD_PERIOD'), "."),
    **dict.fromkeys(('MINUS', 'NUMPAD_MINUS'), "-"),
}


class DragEvents:
    """A drag in a 3D viewport."""

    def __init__(self, context: Context, event: Event, session: BaseDrag) -> None:
        self.session = session
        self.pointer = DragPointer(_view(context), _pixel(context, event), session.start_position, session.axes)
        self.is_snapping = context.scene.tool_settings.use_snap
        self._inverts_snapping = False
        self._is_precise = False
        self._frame = _frame(context)
        self.key_error = ""
        """Why the last key had no effect."""
        # A drag that a pressed button began ends when that button is released, as in Blender's own transform.
        is_pressed = event.type in _BUTTONS and event.value in {'PRESS', 'CLICK_DRAG'}
        self._released_by = event.type if is_pressed else ""
        self.is_waiting = not _is_in_viewport(context, event)
        """Whether the drag was started outside the viewport, by a button, and a click in the viewport is to begin it.

        Begun at the button, the pointer's way to the bone would move the bone by as much.
        """
        self._is_first_click = False

    def handle(self, context: Context, event: Event) -> ModalResult:
        """Handle an event; return the modal operator's result.

        Raises:
            FabrikError: the drag can't continue.
        """
        if event.type.startswith(_NAVIGATION) or _turns_view(context, event):
            return 'PASS_THROUGH'
        if self.is_waiting:
            return self._wait(context, event)
        if event.type in _WHEEL and (self._resizable is None or event.ctrl or event.alt):
            return 'PASS_THROUGH'
        if _frame(context) != self._frame:
            self._frame = _frame(context)
            self.session.restart(context.scene, context.view_layer)
        self.key_error = ""
        self._inverts_snapping, self._is_precise = event.ctrl, event.shift
        self.pointer.set_view(_view(context), _pixel(context, event))
        if event.type == 'MOUSEMOVE':
            self.pointer.set_mouse(_pixel(context, event), event.shift)
        elif event.value == 'RELEASE' and event.type == self._released_by:
            if not self._is_first_click or self.session.position[:] != self.session.start_position[:]:
                return 'FINISHED'
            self._released_by = ""  # clicked, not pressed and dragged: the next click ends the drag
        elif event.value in {'PRESS', 'DOUBLE_CLICK'}:
            if event.type in _CONFIRM:
                return 'FINISHED'
            if event.type in _CANCEL:
                return 'CANCELLED'
            if not self._press(context, event):
                return 'RUNNING_MODAL'
        elif event.type not in _MODIFIERS:
            return 'RUNNING_MODAL'
        self._move(context)
        return 'RUNNING_MODAL'

    def _wait(self, context: Context, event: Event) -> ModalResult:
        """Handle an event before the click in the viewport that begins the drag; a click elsewhere cancels it."""
        if event.value in {'PRESS', 'DOUBLE_CLICK'}:
            if event.type in _CANCEL or (event.type == 'LEFTMOUSE' and not _is_in_viewport(context, event)):
                return 'CANCELLED'
            if event.type == 'LEFTMOUSE':
                session = self.session
                self.pointer = DragPointer(_view(context), _pixel(context, event), session.start_position, session.axes)
                self.is_waiting, self._is_first_click, self._released_by = False, True, event.type
        return 'PASS_THROUGH' if event.type in _WHEEL else 'RUNNING_MODAL'

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
        elif kind in _CHARACTERS and not (event.ctrl or event.alt):
            numbers.type(_CHARACTERS[kind])
        elif kind == 'BACK_SPACE':
            numbers.erase()
        elif kind == 'TAB' and numbers.is_on:
            numbers.next(self.pointer.number_count)
        else:
            return kind in _MODIFIERS
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
        if self._snaps and not self.pointer.numbers.is_on:
            step = context.space_data.overlay.grid_scale_unit * (0.1 if self._is_precise else 1.0)
            depsgraph = context.evaluated_depsgraph_get()
            position = snapped(context.scene, depsgraph, self.pointer, position, self.session.armature, step)
        if position[:] != self.session.position[:]:
            self.session.move(context.view_layer, position)

    @property
    def _snaps(self) -> bool:
        return self.is_snapping != self._inverts_snapping

    @property
    def key_state(self) -> tuple[bool, bool, str, int]:
        """What the status bar shows: whether the drag waits, snapping, held ends, number of bones."""
        return self.is_waiting, self.is_snapping, self.session.pins, self.session.chain_count

    def draw_keys(self, layout: UILayout, scene: Scene) -> None:
        """Draw the keys and what they do, for the status bar."""

        def draw_key(text: str, *icons: str) -> None:
            row = layout.row(align=True)
            for icon in icons[:-1]:
                row.label(text="", icon=icon)
            row.label(text=in_interface(text), icon=icons[-1])

        if self.is_waiting:
            draw_key("Drag", 'MOUSE_LMB')
            draw_key("Cancel", 'MOUSE_RMB')
            return
        draw_key("Confirm", 'MOUSE_LMB')
        draw_key("Cancel", 'MOUSE_RMB')
        draw_key("View", 'MOUSE_MMB')
        draw_key("Axis", 'EVENT_X', 'EVENT_Y', 'EVENT_Z')
        draw_key("Plane", 'EVENT_SHIFT', 'EVENT_X', 'EVENT_Y', 'EVENT_Z')
        draw_key("Precise", 'EVENT_SHIFT')
        draw_key(f"Snap: {snap_name(scene) if self.is_snapping else 'Off'}", 'EVENT_G')
        if isinstance(self.session, ChainDrag):
            draw_key(f"Held Ends: {PINS[self.session.pins]}", 'EVENT_P')
        if self._resizable is not None:
            draw_key(f"Bones: {self.session.chain_count}", 'MOUSE_MMB_SCROLL')


def _view(context: Context) -> View:
    return view_of(context.region, context.region_data)


def _pixel(context: Context, event: Event) -> Vector:
    return Vector((event.mouse_x - context.region.x, event.mouse_y - context.region.y))


def _is_in_viewport(context: Context, event: Event) -> bool:
    """Return whether the mouse is over the 3D view, and not over a sidebar or header that covers a part of it."""
    space = cast("SpaceView3D", context.space_data)
    covering = [
        region
        for region in context.area.regions
        if region.type in _COVERING_REGIONS and getattr(space, _COVERING_REGIONS[region.type])
    ]
    return _is_over(context.region, event) and not any(_is_over(region, event) for region in covering)


def _is_over(region: Region, event: Event) -> bool:
    x, y = event.mouse_x - region.x, event.mouse_y - region.y
    return 0 <= x < region.width and 0 <= y < region.height


def _frame(context: Context) -> float:
    return context.scene.frame_current_final


def _turns_view(context: Context, event: Event) -> bool:
    """Return whether a left click stands for the middle mouse button."""
    return event.type == 'LEFTMOUSE' and event.alt and context.preferences.inputs.use_mouse_emulate_3_button
