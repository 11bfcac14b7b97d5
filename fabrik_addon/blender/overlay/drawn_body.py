# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The body of one armature in the overlay: every role in its colour, doubtful parts marked, handles as points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np

from .overlay_shapes import Color, StrokeKind
from .read_body import BodyView, read_body, read_body_settings, read_gaze, read_world_ends
from .stroke_shader import StrokeBuffers

if TYPE_CHECKING:
    from bpy.types import Context, Object, SpaceView3D

    from .stroke_shader import StrokeRenderer

ROLE_COLORS = {
    'HIPS': (9, 'select'),
    'SPINE': (2, 'normal'),
    'CHEST': (2, 'active'),
    'NECK': (14, 'active'),
    'HEAD': (5, 'active'),
    'CLAVICLE': (11, 'active'),
    'UPPER_ARM': (4, 'active'),
    'FOREARM': (4, 'select'),
    'HAND': (6, 'active'),
    'FINGER': (11, 'select'),
    'THIGH': (3, 'active'),
    'SHIN': (3, 'normal'),
    'FOOT': (7, 'active'),
    'TOE': (7, 'normal'),
    'TAIL': (13, 'active'),
    'FIN': (8, 'active'),
    'LIMB': (12, 'active'),
}
"""Colour of each role: number of the theme's bone colour set, and which of the set's colours."""

_SMALL = {'FINGER', 'TOE'}
"""Roles whose joints are so near to each other that their points would hide the lines."""

_WIDTH, _SMALL_WIDTH, _HANDLE_SIZE, _DOUBT_SIZE = 5.0, 3.0, 12.0, 18.0
"""Width of a part's line, diameters of the points of handles and of doubtful places; pixels."""

_FREE_OPACITY = 0.35
"""Opacity of a handle that keeps no place."""

_GAZE_WIDTH, _LOOK_SIZE = 1.5, 8.0
"""Width of the line from a head to what it looks at, and diameter of the point there; pixels."""


class DrawnBody:
    """The strokes of a body, and the settings from which they were made."""

    def __init__(self, armature: Object) -> None:
        self.armature = armature
        self._settings: object = None
        self._buffers: StrokeBuffers | None = None

    def draw(self, context: Context, renderer: StrokeRenderer, colors: Mapping[str, Color]) -> None:
        """Draw the body unless there is none, or the armature is hidden in this viewport."""
        space = cast("SpaceView3D", context.space_data)
        if not self.armature.visible_in_viewport_get(space):
            return
        gaze = read_gaze(self.armature)
        settings = (*read_body_settings(self.armature), len(gaze) > 0)
        if settings != self._settings:
            self._settings = settings
            self._make(context, colors, read_body(self.armature, *settings[:2]), settings[2])
        if self._buffers is not None:
            points = np.concatenate([read_world_ends(self.armature), gaze])
            renderer.draw(self._buffers.strokes(points, self._colors))

    def _make(self, context: Context, colors: Mapping[str, Color], view: BodyView, looks: bool) -> None:
        """Make rows, styles and colours of the strokes."""
        count = len(self.armature.pose.bones)
        rows = np.concatenate(
            [
                np.stack([view.bones, view.bones + count], axis=1),
                np.repeat(view.doubts, 2).reshape(-1, 2),
                np.repeat(view.handles, 2).reshape(-1, 2),
                2 * count + np.array([[0, 1], [1, 1]] if looks else []).reshape(-1, 2).astype(int),
            ]
        )
        doubts, points = len(view.doubts), len(view.handles)
        is_small = [role in _SMALL for role in view.roles]
        kinds = [
            *(StrokeKind.LINE if small else StrokeKind.LINK for small in is_small),
            *[StrokeKind.POINT] * (doubts + points),
            *([StrokeKind.DASHES, StrokeKind.POINT] if looks else []),
        ]
        widths = [_SMALL_WIDTH if small else _WIDTH for small in is_small]
        widths += [_DOUBT_SIZE] * doubts + [_HANDLE_SIZE] * points + ([_GAZE_WIDTH, _LOOK_SIZE] if looks else [])
        sets = context.preferences.themes[0].bone_color_sets
        of_roles = {role: (*getattr(sets[number - 1], name)[:], 1.0) for role, (number, name) in ROLE_COLORS.items()}
        of_handles = {
            'pinned': colors['pin'],
            'held': colors['joint'],
            'free': (*colors['joint'][:3], _FREE_OPACITY),
        }
        self._colors = np.array(
            [
                *(of_roles[role] for role in view.roles),
                *[colors['at_limit']] * doubts,
                *(of_handles[state] for state in view.states),
                *([colors['pole']] * 2 if looks else []),
            ]
        )
        self._buffers = None
        if len(rows):
            self._buffers = StrokeBuffers(rows, np.stack([widths, kinds], axis=1).astype(float))
