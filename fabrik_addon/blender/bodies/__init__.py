# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: bodies, their handles, feet, balance, floor and gaze, as goals of a solve. Nothing here writes a pose."""
