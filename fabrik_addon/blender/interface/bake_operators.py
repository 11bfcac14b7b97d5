# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bake operator: from its dialog it bakes between events and can be cancelled; from a script it bakes at once."""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, FloatProperty
from bpy.types import Operator

from ...core import FabrikError
from ..rig.wording import counted
from ..translation.messages import in_interface, report
from .chain_panel import draw_switched
from .frame_range_mixin import FrameRangeMixin
from .operator_mixins import OnlyActiveMixin

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event

    from ..bake.group_track import BakedChain

_SECONDS_PER_EVENT = 0.05
"""Seconds of baking between two events."""


class POSE_OT_fabrik_bake(FrameRangeMixin, OnlyActiveMixin, Operator):
    """Solve the chains at every frame and insert keyframes on their bones"""

    bl_idname = "pose.fabrik_bake"
    bl_label = "Bake Chains"

    only_keyed: BoolProperty(
        name="Only Keyed Frames",
        description="Insert keyframes only at frames with a keyframe on the bones, the targets, the poles, or on "
        "objects and bones that move these",
        default=False,
    )
    smart: BoolProperty(
        name="Smart",
        description="Remove keyframes as long as no bone's rotation changes by more than the tolerance",
        default=False,
    )
    tolerance: FloatProperty(
        name="Tolerance",
        description="Largest change of a bone's rotation at a frame whose keyframe Smart removes",
        default=math.radians(0.1),
        min=math.radians(0.001),
        soft_max=math.radians(5.0),
        subtype='ANGLE',
        precision=3,
    )

    # No annotations: Blender takes the annotations of an operator for its properties.
    _work = None
    _timer = None
    _has_window = False

    def invoke(self, context: Context, event: Event) -> set[OperatorReturnItems]:
        self._has_window = True
        return super().invoke(context, event)

    def draw(self, _context: Context) -> None:
        layout = self.layout
        self.draw_range().active = not self.only_keyed
        layout.prop(self, "only_active")
        layout.prop(self, "only_keyed")
        draw_switched(layout, self, "smart", "tolerance", heading="Smart")

    def execute(self, context: Context) -> set[OperatorReturnItems]:
        try:
            self._work = self._begin(context)
            if self._has_window:
                self._has_window = False  # the redo panel executes again, without a dialog
                return self._go_modal(context)
            while True:
                next(self._work)
        except StopIteration as done:
            return self._report(context, done.value)
        except FabrikError as error:
            report(self, {'ERROR'}, str(error))
            return {'CANCELLED'}

    def modal(self, context: Context, event: Event) -> set[OperatorReturnItems]:
        if event.type == 'ESC':
            self.cancel(context)
            return {'CANCELLED'}
        if event.type != 'TIMER' or self._work is None:
            return {'RUNNING_MODAL'}
        until = time.perf_counter() + _SECONDS_PER_EVENT
        try:
            done = next(self._work)
            while time.perf_counter() < until:
                done = next(self._work)
        except StopIteration as result:
            self._end_modal(context)
            return self._report(context, result.value)
        except FabrikError as error:
            self._end_modal(context)
            report(self, {'ERROR'}, str(error))
            return {'CANCELLED'}
        context.window_manager.progress_update(done)
        context.workspace.status_text_set(in_interface(f"Baking: {done:.0%}    Esc: cancel"))
        return {'RUNNING_MODAL'}

    def cancel(self, context: Context) -> None:
        """Stop the bake, which restores everything; Blender calls this too when the window closes."""
        if self._work is not None:
            self._work.close()
        self._end_modal(context)

    def _begin(self, context: Context) -> Generator[float, None, list[BakedChain]]:
        from ..animation.animated_settings import chains_to_bake
        from ..animation.frame_range import FrameRange
        from ..animation.keyed_frames import frames_to_bake
        from ..bake.bake_chains import bake_chains

        armature = context.object
        chains = chains_to_bake(armature, self.only_active)
        span = self.span(context)
        frames = frames_to_bake(context.scene, armature, chains, span, self.step, self.only_keyed)
        if not frames:
            raise FabrikError(f"Nothing is keyed from frame {span[0]} to {span[1]}: disable Only Keyed Frames")
        tolerance = self.tolerance if self.smart else None
        return bake_chains(FrameRange(context.scene, context.view_layer, armature, frames, span), chains, tolerance)

    def _go_modal(self, context: Context) -> set[OperatorReturnItems]:
        manager = context.window_manager
        manager.progress_begin(0.0, 1.0)
        self._timer = manager.event_timer_add(0.01, window=context.window)
        manager.modal_handler_add(self)
        return {'RUNNING_MODAL'}

    def _end_modal(self, context: Context) -> None:
        if self._timer is not None:
            context.window_manager.event_timer_remove(self._timer)
            context.window_manager.progress_end()
            context.workspace.status_text_set(None)
        self._timer = self._work = None

    def _report(self, context: Context, baked: list[BakedChain]) -> set[OperatorReturnItems]:
        from ..bake.bake_report import sentence_of, show_result

        context.view_layer.update()  # a result is stored with the pose that Blender shows
        for chain in baked:
            show_result(context.object, chain)
            if sentence := sentence_of(chain):
                report(self, {'WARNING'}, f"Chain '{chain.name}': {sentence}")
        over = counted(baked[0].frames, "frame")
        report(self, {'INFO'}, f"Baked {counted(len(baked), 'chain')} over {over}")
        return {'FINISHED'}


register, unregister = bpy.utils.register_classes_factory((POSE_OT_fabrik_bake,))  # type: ignore[misc]
