# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames: the bounds of Blender's frame numbers, and a range of frames with what is read and keyed there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpy.types import Object, Scene, ViewLayer

LAST_FRAME = 1048574
"""The last frame number that a scene can have: Blender's MAXFRAMEF."""

FIRST_FRAME = -LAST_FRAME
"""The first frame number that can be baked: Blender's MINAFRAMEF, the bound of frames with negative numbers."""


@dataclass(frozen=True)
class FrameRange:
    """An armature over frames of a scene: what is read there, and where keys go."""

    scene: Scene
    view_layer: ViewLayer
    """Of the scene, with the armature."""
    armature: Object
    frames: Sequence[float]
    """Ascending; may lie between whole frames."""
    span: tuple[float, float]
    """First and last frame between which the keys of a curve are replaced."""
