# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a solve of a tree (``solve_tree``) is made of: goals as tasks, starts, reference pose, and the solution.

Tasks are held (``without_pins``) or weighed against each other (``by_weight``).
"""
