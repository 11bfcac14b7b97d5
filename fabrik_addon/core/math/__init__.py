# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Vectors, quaternions, rigid fits, key reduction, and scalar and array operations for all of them."""
