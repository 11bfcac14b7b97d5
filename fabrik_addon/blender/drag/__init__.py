# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drag: a session without events (drag_session), its events (drag_events), its display (drag_display)."""

from .base_drag import Grab
from .drag_session import DragSession

__all__ = ["DragSession", "Grab"]
