# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a tree's pose is asked for: tasks with residuals and Jacobians, their stack, their weights and forces."""
