# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one path for one pose: group the chains, solve, project onto locks, write the channels, report."""
