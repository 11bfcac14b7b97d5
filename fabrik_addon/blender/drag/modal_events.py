# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The events that drags and turns have in common: begin, confirm, cancel, navigation, numbers, other frames."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal, Protocol, cast

from mathutils import Vector

from ..translation.messages import in_interface
from .base_drag import BaseDrag
from .mouse_to_world import DragPointer
from .turn_pointer import TurnPointer
from .view_projection import View, mouse_at_press, mouse_in, view_of

if TYPE_CHECKING:
    from bpy.types import Context, Event, Region, Scene, SpaceView3D, UILayout, UnitSettings

ModalResult = Literal['RUNNING_MODAL', 'PASS_THROUGH', 'FINISHED', 'CANCELLED']

_CONFIRM = {'LEFTMOUSE', 'RET', 'NUMPAD_ENTER', 'SPACE'}
_CANCEL = {'RIGHTMOUSE', 'ESC'}
_BUTTONS = {'LEFTMOUSE', 'MIDDLEMOUSE', 'RIGHTMOUSE', 'PEN', 'ERASER'}
_NAVIGATION = ('MIDDLEMOUSE', 'NDOF', 'TRACKPAD', 'MOUSEROTATE', 'MOUSESMARTZOOM', 'TIMER', 'WINDOW_DEACTIVATE')
_WHEEL = ('WHEELUPMOUSE', 'WHEELDOWNMOUSE')
_COVERING_REGIONS = {
    'UI': "show_region_ui",
    'TOOLS': "show_region_toolbar",
    'HEADER': "show_region_header",
    'TOOL_HEADER': "show_region_tool_header",
}
"""Regions that may lie over the 3D view, with the setting that shows them."""
_REST_SECONDS = 0.1
"""Seconds since the last move from which on the mouse rests, and a body settles."""

_MODIFIERS = {'LEFT_SHIFT', 'RIGHT_SHIFT', 'LEFT_CTRL', 'RIGHT_CTRL'}
_DIGIT_KEYS = ('ZERO', 'ONE', 'TWO', 'THREE', 'FOUR', 'FIVE', 'SIX', 'SEVEN', 'EIGHT', 'NINE')
_CHARACTERS = {
    **{name: str(digit) for digit, name in enumerate(_DIGIT_KEYS)},
    **{f"NUMPAD_{digit}": str(digit) for digit in range(10)},
    **dict.fromkeys(('PERIOD', 'COMMA', 'NUMPAD_PERIOD'), "."),
    **dict.fromkeys(('MINUS', 'NUMPAD_MINUS'), "-"),
}


class DrawKey(Protocol):
    """Draws a key, or several, and what they do."""

    def __call__(self, text: str, *icons: str) -> None:
        """Draw keys by their icons."""


class ModalEvents(ABC):
    """What drags and turns in a 3D viewport have in common."""

    pointer: DragPointer | TurnPointer

    def __init__(self, context: Context, event: Event, session: BaseDrag) -> None:
        self.session = session
        # A button that is pressed and dragged begins the drag some pixels from where it was pressed.
        self._begin_pointer(_view(context), mouse_at_press(context.region, event))
        self.is_snapping = context.scene.tool_settings.use_snap
        self._inverts_snapping = False
        self._is_precise = False
        self._moved_at = 0.0
        """When the session was moved last, seconds of a clock."""
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
        if event.type == 'TIMER':
            self._settle(context)
            return 'PASS_THROUGH'
        if event.type.startswith(_NAVIGATION) or _turns_view(context, event):
            return 'PASS_THROUGH'
        if self.is_waiting:
            return self._wait(context, event)
        if event.type in _WHEEL and not self._uses_wheel(event):
            return 'PASS_THROUGH'
        self._follow_frame(context)
        self.key_error = ""
        self._inverts_snapping, self._is_precise = event.ctrl, event.shift
        self.pointer.set_view(_view(context), mouse_in(context.region, event))
        if event.type == 'MOUSEMOVE':
            self.pointer.set_mouse(mouse_in(context.region, event), event.shift)
        elif event.value == 'RELEASE' and event.type == self._released_by:
            if not self._is_first_click or self._is_moved:
                return 'FINISHED'
            self._released_by = ""  # clicked, not pressed and dragged: the next click ends the drag
        elif event.value in {'PRESS', 'DOUBLE_CLICK'}:
            if event.type in _CONFIRM:
                return 'FINISHED'
            if event.type in _CANCEL:
                return 'CANCELLED'
            if len(event.type) == 1 and (event.ctrl or event.alt or event.oskey):
                return 'RUNNING_MODAL'  # Ctrl Z is no axis
            if not self._press(context, event):
                return 'RUNNING_MODAL'
        elif event.type not in _MODIFIERS:
            return 'RUNNING_MODAL'
        self._move(context)
        return 'RUNNING_MODAL'

    def _follow_frame(self, context: Context) -> None:
        """Let the session begin anew where the scene is at another frame than its pose at the start."""
        if not self.session.is_at_start_frame(context.scene):
            self.session.restart(context.scene, context.view_layer)

    def _note_move(self, context: Context) -> None:
        """Take note that the session was moved; whoever types a number has it at once."""
        self._moved_at = time.monotonic()
        if self.pointer.numbers.is_on:
            self.session.finish(context.view_layer)

    def _settle(self, context: Context) -> None:
        """Let a body settle by a step where the mouse rests; any add-on's timer leads here."""
        is_resting = time.monotonic() - self._moved_at >= _REST_SECONDS
        if is_resting and not self.session.is_settled and self.session.is_at_start_frame(context.scene):
            self.session.settle(context.view_layer)

    def _wait(self, context: Context, event: Event) -> ModalResult:
        """Handle an event before the click in the viewport that begins the drag; a click elsewhere cancels it."""
        if event.value in {'PRESS', 'DOUBLE_CLICK'}:
            self._follow_frame(context)  # an animation may be played meanwhile
            if event.type in _CANCEL or (event.type == 'LEFTMOUSE' and not _is_in_viewport(context, event)):
                return 'CANCELLED'
            if event.type == 'LEFTMOUSE':
                self._begin_pointer(_view(context), mouse_in(context.region, event))
                self.is_waiting, self._is_first_click, self._released_by = False, True, event.type
        return 'PASS_THROUGH' if event.type in _WHEEL else 'RUNNING_MODAL'

    @abstractmethod
    def _begin_pointer(self, view: View, pixel: Vector) -> None:
        """Make the pointer, with the mouse at a pixel."""

    @property
    @abstractmethod
    def _is_moved(self) -> bool:
        """Whether the mouse asks for another pose than that of the start."""

    def _uses_wheel(self, _event: Event) -> bool:
        return False

    @abstractmethod
    def _press(self, context: Context, event: Event) -> bool:
        """Handle a pressed key; return whether it is used."""

    @abstractmethod
    def _move(self, context: Context) -> None:
        """Bring the session to where the pointer is."""

    @abstractmethod
    def header(self, units: UnitSettings) -> str:
        """Return the text in the header."""

    @property
    @abstractmethod
    def locked_axis(self) -> Vector | None:
        """The unit vector that is locked, world space; None without such a lock."""

    def draw_keys(self, layout: UILayout, scene: Scene) -> None:
        """Draw the keys and what they do, for the status bar."""

        def draw_key(text: str, *icons: str) -> None:
            row = layout.row(align=True)
            for icon in icons[:-1]:
                row.label(text="", icon=icon)
            space = "  " if icons[-1] == 'EVENT_CTRL' else ""  # its icon is wider than the others
            row.label(text=space + in_interface(text), icon=icons[-1])

        if self.is_waiting:
            draw_key("Drag", 'MOUSE_LMB')
            draw_key("Cancel", 'MOUSE_RMB')
            return
        draw_key("Confirm", 'MOUSE_LMB')
        draw_key("Cancel", 'MOUSE_RMB')
        draw_key("View", 'MOUSE_MMB')
        draw_key("Axis", 'EVENT_X', 'EVENT_Y', 'EVENT_Z')
        self._draw_own_keys(draw_key, scene)

    @abstractmethod
    def _draw_own_keys(self, draw_key: DrawKey, scene: Scene) -> None:
        """Draw the keys that drags and turns don't share."""

    def _type(self, event: Event) -> bool:
        """Handle a key that types a number; return whether the key is used."""
        numbers = self.pointer.numbers
        if event.type in _CHARACTERS and not (event.ctrl or event.alt):
            numbers.type(_CHARACTERS[event.type])
        elif event.type == 'BACK_SPACE':
            numbers.erase()
        else:
            return event.type in _MODIFIERS
        return True

    @property
    def snaps(self) -> bool:
        """Whether positions or angles snap: Ctrl inverts what the scene says."""
        return self.is_snapping != self._inverts_snapping

    @property
    def key_state(self) -> tuple[bool, bool, str, int]:
        """What the status bar shows: whether the drag waits, snapping, held ends, number of bones."""
        return self.is_waiting, self.is_snapping, self.session.pins, self.session.chain_count


def _view(context: Context) -> View:
    return view_of(context.region, context.region_data)


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
    mouse = mouse_in(region, event)
    return 0 <= mouse.x < region.width and 0 <= mouse.y < region.height


def _turns_view(context: Context, event: Event) -> bool:
    """Return whether a left click stands for the middle mouse button."""
    return event.type == 'LEFTMOUSE' and event.alt and context.preferences.inputs.use_mouse_emulate_3_button
