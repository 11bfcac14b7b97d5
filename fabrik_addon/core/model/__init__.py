# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is solved: the skeleton, its joint limits, its pose, and the frames that follow its links."""
