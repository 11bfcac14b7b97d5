# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native rigs: a chain's solver compiled into geometry nodes, so that it follows its target in any Blender."""
