# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drags: of a chain, a body or a control, without events (base_drag); their events (drag_events) and their display."""

from .base_drag import Grab
from .chain_drag import ChainDrag

__all__ = ["ChainDrag", "Grab"]
