# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stages of a solve of one chain: translation of the root, stretch of the links, tip rotation, position."""
