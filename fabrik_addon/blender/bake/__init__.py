# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many frames: read without the rest of the scene, solved together, written as keys."""
