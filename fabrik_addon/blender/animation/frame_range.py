# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The range of frame numbers that Blender has."""

from __future__ import annotations

LAST_FRAME = 1048574
"""Blender's own bound of frames; the first is as far below zero."""

FIRST_FRAME = -LAST_FRAME
