# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Skeletons, start poses, joint limits, forward kinematics, and the frames of bones whose joints have moved."""
