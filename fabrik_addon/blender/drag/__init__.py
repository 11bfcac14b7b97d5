# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drag: a session without events (drag_session), its events (drag_events), its display (drag_display)."""

from .drag_session import DragSession, Grab

__all__ = ["DragSession", "Grab"]
