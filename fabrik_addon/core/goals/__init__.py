# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a solve is asked for besides a position: poles, tip rotation, softness, stretch."""
