# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: bones, their channels, limits and stretch, and what overrides them. Nothing here writes a pose."""
