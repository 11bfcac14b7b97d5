# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may have changed since the overlay's shapes were built."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Changes:
    """Each is true if the shapes that depend on it must be built again."""

    bones: bool = True
    """Poses of bones."""
    objects: bool = True
    """Positions of objects."""
    limits: bool = True
    settings: bool = True
