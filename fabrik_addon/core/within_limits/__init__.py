# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""How one chain reaches its target within joint limits, bends toward its pole and rotates least.

``shape_family`` has the poses of a chain by the distance from root to tip, for the tables of native rigs.
"""
