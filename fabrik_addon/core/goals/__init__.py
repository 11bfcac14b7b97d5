# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Goals of a solve besides the tip's position: pole, tip rotation, softness, stretch."""
