# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the joints of a body share a reach, by role: from the limb that is pulled inward to the hips."""

from __future__ import annotations

POSTURE_WEIGHTS = {
    'HIPS': 400.0,
    'SPINE': 10.0,
    'CHEST': 20.0,
    'NECK': 20.0,
    'HEAD': 20.0,
    'CLAVICLE': 40.0,
}
"""Weight of a joint's rotation in the posture task, by role; 1 of every other role.

The posture task is the sum of ``weight * angle^2`` over the joints: of two joints that bring a hand to the same place
the one of smaller weight rotates. So a target within the arm's reach rotates the arm, and a target beyond it the
clavicle, the spine and the hips too, whose weight is also that of their translation. That the trunk takes part in a
reach mostly where arm and shoulder blade don't suffice was measured by Kaminski, Bock and Gentile (1995).

``scripts/fit_posture.py`` compares those of hips and clavicles by captured reaches (bench row "body-reach"). Smaller
ones for the hips let the center of mass leave the feet where the hips are led low; with 8 clavicles turn by up to 30
degrees, people's by 15 at most (Ludewig et al. 2004).
"""

MOST_TURNED_WEIGHT = 40.0
"""Largest weight of the rotation of a bone that is turned by its handle. With 400 for the hips the posture task holds
them against the turn: over planted feet Rigify's human turned them by 21.5 of 30 degrees, with this weight by all 45 of
45, the limits of legs the same."""

FLAT_WEIGHT, FLAT_BOUND = 10.0, 0.011
"""Weight of the rotation of a planted foot beside the other tasks of its level, and the angle (radians) from which on
the cost of that rotation grows in proportion to the angle."""

LIFTED, LETS_GO = 0.05, 6.0
"""Height h over that of the skeleton up to which a foot that is pulled keeps its rotation, and the power p with which
the weight of that rotation falls above it: ``(LIFTED / h)^p``.

Captured feet on the floor are nearer to one that keeps its rotation, lifted ones to one that follows the leg.
"""

HELD_WEIGHT = 4.0
"""Weight of a rotation that is held, as the head's is: with 1 a far reach of a hand turned the head by 0.7 degrees."""

PINNED, PULLED, HELD = 1, 2, 3
"""Priorities of handles: of pins and planted feet, of the handle that is pulled, of the others."""

LOOKING = 11
"""Priority of a look at a point: below those of all handles, which are at most 9, and of their rotations."""

LOOKING_WEIGHTS = {'SPINE': 40.0, 'CHEST': 40.0, 'NECK': 10.0, 'HEAD': 5.0}
"""Weights of these roles in the posture task of a body whose head looks at a point.

The head turns most in a gaze shift, and the torso contributes little (Sidenmark and Gellersen 2019): with these weights
head and neck of Rigify's human take 84 % of a turn, with ``POSTURE_WEIGHTS`` 37 %.
"""
