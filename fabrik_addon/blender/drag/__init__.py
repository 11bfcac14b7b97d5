# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dragging: a session without events, and the operator that brings mouse and keys to it."""

from .session import DragSession, Grab

__all__ = ["DragSession", "Grab"]
