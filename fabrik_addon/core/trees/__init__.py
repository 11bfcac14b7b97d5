# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A solve of a tree with several effectors: its goals as tasks, its starts, its reference pose, and its solution."""
