# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: chains, the objects they reach for, and the limits of their bones."""
