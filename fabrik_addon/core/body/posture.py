# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the joints of a body share a reach, by role: from the limb that is pulled inward to the hips."""

from __future__ import annotations

POSTURE_WEIGHTS = {
    'HIPS': 400.0,
    'SPINE': 40.0,
    'CHEST': 40.0,
    'NECK': 10.0,
    'HEAD': 5.0,
    'CLAVICLE': 8.0,
}
"""Weight of a joint's rotation in the posture task, by role; 1 of every other role.

The posture task is the sum of ``weight * angle^2`` over the joints: of two joints that bring a hand to the same place
the one of smaller weight rotates. So a target within the arm's reach rotates the arm, and a target beyond it first the
clavicle, then the spine, then the hips, whose weight is also that of their translation.

Chosen, and compared with weights fitted to three captured motions (CMU 01_01 and 01_03, and a boxer; of each 14 poses
from rest by six handles, and up to 14 pairs of poses by hands and feet). A search over the weights of ten roles took
8 % off the mean distance of the joints that no handle holds on the frames that it saw, and added 2 % on as many others:
no fit replaces them.
"""

MOST_TURNED_WEIGHT = 40.0
"""Largest weight of the rotation of a bone that is turned by its handle. With the weight of hips the posture task holds
them against the turn: over planted feet Rigify's human turned them by 21.5 of 30 degrees, with this weight by all 45 of
45, the limits of legs the same."""

FLAT_WEIGHT, FLAT_BOUND = 10.0, 0.011
"""Weight of the rotation of a planted foot beside the other tasks of its level, and the angle (radians) from which on
the cost of that rotation grows in proportion to the angle."""

PINNED, PULLED, HELD = 1, 2, 3
"""Priorities of handles: of pins and planted feet, of the handle that is pulled, of the others."""
