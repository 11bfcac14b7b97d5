# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The overlay of chains in 3D viewports: read (read_overlay), made into shapes (overlay_shapes), drawn (draw_*)."""
