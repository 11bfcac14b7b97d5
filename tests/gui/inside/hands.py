# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two pairs of hands on mouse and keyboard: Blender's own event simulation, and xdotool's real X events.

Places are Blender's: pixels of the window from its bottom left. Blender reads events between two steps of a scenario
only, so whoever uses a hand yields after it.
"""

from __future__ import annotations

import subprocess
from typing import Any

import bpy


def window() -> Any:
    return bpy.context.window_manager.windows[0]


class Simulated:
    """Window.event_simulate; Blender started with --enable-event-simulate ignores real events."""

    DIGITS = ("ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE")
    NAMES = {str(digit): name for digit, name in enumerate(DIGITS)}
    NAMES |= {".": "PERIOD", "-": "MINUS", " ": "SPACE", "BACKSPACE": "BACK_SPACE"}

    def __init__(self) -> None:
        self.x = self.y = 0
        self.held: dict[str, bool] = {}

    def _event(self, kind: str, value: str, **options: Any) -> None:
        window().event_simulate(type=kind, value=value, x=self.x, y=self.y, **self.held, **options)

    def move(self, x: float, y: float) -> None:
        self.x, self.y = int(x), int(y)
        self._event("MOUSEMOVE", "NOTHING")

    def push(self, x: int, y: int) -> None:
        """Go on from where the pointer is, over the window's edge."""
        self.move(self.x + x, self.y + y)

    def down(self, button: str = "LEFTMOUSE") -> None:
        self._event(button, "PRESS")

    def up(self, button: str = "LEFTMOUSE") -> None:
        self._event(button, "RELEASE")

    def wheel(self, up: bool) -> None:
        self._event("WHEELUPMOUSE" if up else "WHEELDOWNMOUSE", "PRESS")

    def hold(self, modifier: str) -> None:
        self.held[modifier] = True
        self._event("LEFT_" + modifier.upper(), "PRESS")

    def let_go(self, modifier: str) -> None:
        self.held.pop(modifier)
        self._event("LEFT_" + modifier.upper(), "RELEASE")

    def key(self, name: str, *modifiers: str) -> None:
        for modifier in modifiers:
            self.hold(modifier)
        is_text = len(name) == 1 and not {"ctrl", "alt"} & set(modifiers)
        self._event(self.NAMES.get(name, name), "PRESS", **({"unicode": name.lower()} if is_text else {}))
        self._event(self.NAMES.get(name, name), "RELEASE")
        for modifier in reversed(modifiers):
            self.let_go(modifier)


class Real:
    """xdotool; the window is at the top left of a screen without a window manager."""

    BUTTONS = {"LEFTMOUSE": 1, "MIDDLEMOUSE": 2, "RIGHTMOUSE": 3}
    NAMES = {"ESC": "Escape", "RET": "Return", "TAB": "Tab", " ": "space", ".": "period", "-": "minus"}
    NAMES |= {"PAGE_UP": "Prior", "PAGE_DOWN": "Next", "BACKSPACE": "BackSpace", "F3": "F3", "RIGHT_ARROW": "Right"}

    @staticmethod
    def _do(*words: object) -> None:
        subprocess.run(["xdotool", *map(str, words)], check=True)

    def move(self, x: float, y: float) -> None:
        self._do("mousemove", int(x), window().height - 1 - int(y))

    def push(self, x: int, y: int) -> None:
        """Go on from where the pointer is; at the window's edge Blender puts it elsewhere."""
        self._do("mousemove_relative", "--", x, -y)

    def down(self, button: str = "LEFTMOUSE") -> None:
        self._do("mousedown", self.BUTTONS[button])

    def up(self, button: str = "LEFTMOUSE") -> None:
        self._do("mouseup", self.BUTTONS[button])

    def wheel(self, up: bool) -> None:
        self._do("click", 4 if up else 5)

    def hold(self, modifier: str) -> None:
        self._do("keydown", modifier)

    def let_go(self, modifier: str) -> None:
        self._do("keyup", modifier)

    def key(self, name: str, *modifiers: str) -> None:
        name = self.NAMES.get(name, name.lower() if len(name) == 1 else name)
        self._do("key", "+".join([*modifiers, name]))
