# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of one armature in the overlay: built, updated and drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from .draw_shapes import GpuShapes
from .overlay_shapes import Color, Layout
from .read_overlay import read_armature, read_limits, read_positions, read_settings, read_states, with_drag_state

if TYPE_CHECKING:
    from bpy.types import Context, Object, SpaceView3D

    from .changes import Changes
    from .drag_protocol import Dragged
    from .read_overlay import BoneLimits, WorldPositions
    from .stroke_shader import StrokeRenderer


class DrawnArmature:
    """The shapes of one armature, and the data from which they were built."""

    def __init__(self, armature: Object, session: Dragged | None, colors: dict[str, Color]) -> None:
        self.view = read_armature(armature, session)
        self._colors = colors
        self._states = read_states(self.view)
        self._limits: tuple[BoneLimits, ...] | None = None
        self._positions: WorldPositions | None = None
        self._is_outdated = True

    def has_settings_of(self, armature: Object) -> bool:
        """Return whether an armature's settings are those of the shapes; note a change of its chains' states."""
        if self.view.settings != read_settings(armature):
            return False
        states = read_states(self.view)
        self._is_outdated |= states != self._states
        self._states = states
        return True

    def update(self, session: Dragged | None, changes: Changes) -> None:
        """Build the shapes if bones have moved or the chains' states have changed."""
        if not (changes.bones or self._is_outdated):
            return
        self._is_outdated = False
        limits = read_limits(self.view) if self._limits is None or changes.limits else self._limits
        if self._limits is None or len(limits) != len(self._limits):
            self._layout = Layout(self.view, self._colors, len(limits))
            self._gpu_shapes = GpuShapes(self._layout)
        self._limits = limits
        places = read_positions(self.view, limits, session, None if changes.objects else self._positions)
        self._positions = places
        states = self._states if session is None else with_drag_state(self.view, self._states, session)
        self._gpu_shapes.update(self._layout.shapes(places, states))

    def draw(self, context: Context, renderer: StrokeRenderer) -> None:
        """Draw the shapes unless the armature is hidden in this viewport or not part of its local view."""
        space = cast("SpaceView3D", context.space_data)
        if self.view.armature.visible_in_viewport_get(space):
            self._gpu_shapes.draw(context, renderer, self._colors)
