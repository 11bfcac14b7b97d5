# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Least squares on joint coordinates within joint limits, for a chain and for a tree."""
