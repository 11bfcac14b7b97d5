# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The attributes of a running drag that the overlay reads, as protocols: ``drag.base_drag.BaseDrag`` has them.

The package ``drag`` imports ``overlay``; the protocols keep ``overlay`` from importing ``drag``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bpy.types import Object
    from mathutils import Vector

    from ..rig.last_results import Result
    from ..rig.snapshot import Snapshot


class Grabbed(Protocol):
    """The dragged point: a bone's tail or head, or the target of a chain."""

    @property
    def bone(self) -> str:
        """Name of the last bone of the dragged chain."""

    @property
    def chain(self) -> str:
        """Name of the chain whose target is dragged; empty where a bone is dragged."""


class Dragged(Protocol):
    """A running drag."""

    armature: Object
    position: Vector
    """Desired position of the dragged point, world space."""

    @property
    def snapshot(self) -> Snapshot | None:
        """The dragged chain; None where a bone is moved and none rotates."""

    @property
    def grab(self) -> Grabbed:
        """The dragged point."""

    @property
    def result(self) -> Result | None:
        """Result of the last solve; None before the first one."""

    @property
    def held(self) -> Collection[str]:
        """Names of the other chains whose ends are held."""

    def is_intact(self) -> bool:
        """Return whether the armature and its bones still exist."""
