# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``scripts/bench.py`` measures, one module for each kind of row, and how it is printed."""
