# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: chains and their settings, targets, poles, and what depends on them. Nothing here writes a pose."""
