# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame range of operators that work on several frames, and the dialog that asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpy.props import IntProperty

from ...core import FabrikError
from ..animation.frame_range import FIRST_FRAME, LAST_FRAME, FrameRange

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event, UILayout


class FrameRangeMixin:
    """Has the options of a frame range, asked for in a dialog; the scene's range is the default."""

    frame_start: IntProperty(
        name="Start Frame", description="First frame of the range", default=1, min=FIRST_FRAME, max=LAST_FRAME
    )
    frame_end: IntProperty(
        name="End Frame", description="Last frame of the range", default=250, min=FIRST_FRAME, max=LAST_FRAME
    )
    step: IntProperty(name="Step", description="Number of frames from one keyframe to the next", default=1, min=1)

    def take_scene_range(self, context: Context) -> None:
        """Set start and end, unless they are given, to the scene's preview range, or to its range without one."""
        scene = context.scene
        start, end = scene.frame_start, scene.frame_end
        if scene.use_preview_range:
            start, end = scene.frame_preview_start, scene.frame_preview_end
        for name, frame in (("frame_start", start), ("frame_end", end)):
            if not self.properties.is_property_set(name):  # type: ignore[attr-defined]
                setattr(self, name, frame)

    def invoke(self, context: Context, _event: Event) -> set[OperatorReturnItems]:
        return self.ask(context, confirm_text="Bake")

    def ask(self, context: Context, confirm_text: str) -> set[OperatorReturnItems]:
        """Show the dialog."""
        self.take_scene_range(context)
        return context.window_manager.invoke_props_dialog(self, confirm_text=confirm_text)

    def draw(self, _context: Context) -> None:
        self.draw_range()

    def draw_range(self) -> UILayout:
        """Draw the range; return the row of the step."""
        layout: UILayout = self.layout  # type: ignore[attr-defined]
        layout.use_property_split = True
        column = layout.column(align=True)
        column.prop(self, "frame_start")
        column.prop(self, "frame_end")
        row = column.row()
        row.prop(self, "step")
        return row

    def span(self, context: Context) -> tuple[int, int]:
        """Return the first and the last frame, of the scene's range unless they are given.

        Raises:
            FabrikError: the last frame is before the first.
        """
        self.take_scene_range(context)
        if self.frame_end < self.frame_start:
            raise FabrikError(f"The end frame {self.frame_end} is before the start frame {self.frame_start}")
        return self.frame_start, self.frame_end

    def frame_range(self, context: Context) -> FrameRange:
        """Return the active armature over every ``step``-th frame of the range.

        Raises:
            FabrikError: the last frame is before the first.
        """
        start, end = self.span(context)
        frames = [float(frame) for frame in range(start, end + 1, self.step)]
        return FrameRange(context.scene, context.view_layer, context.object, frames, (start, end))
