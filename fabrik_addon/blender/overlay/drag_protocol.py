# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the overlay asks of a drag: ``drag.drag_session.DragSession`` is one."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bpy.types import Object
    from mathutils import Vector

    from ..rig.last_results import Result
    from ..rig.snapshot import Snapshot


class Grabbed(Protocol):
    """What a drag holds: a bone's tail, or the target of a chain."""

    @property
    def bone(self) -> str:
        """Name of the last bone of the dragged chain."""

    @property
    def chain(self) -> str:
        """Name of the chain whose target is dragged; empty where a bone's tail is dragged."""


class Dragged(Protocol):
    """A running drag as the overlay reads it."""

    armature: Object
    snapshot: Snapshot
    result: Result | None
    """Result of the last solve; None before the first one."""
    position: Vector
    """Where the dragged point should be, in world space."""

    @property
    def grab(self) -> Grabbed:
        """What the drag holds."""

    @property
    def held(self) -> Collection[str]:
        """Names of the chains whose ends the drag holds still."""

    def is_intact(self) -> bool:
        """Tell whether the armature and its bones still exist."""
