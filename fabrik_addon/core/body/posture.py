# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the joints of a body share a reach, by role: from the limb that is pulled inward to the hips."""

POSTURE_WEIGHTS = {'HIPS': 400.0, 'SPINE': 10.0, 'CHEST': 20.0, 'NECK': 20.0, 'HEAD': 20.0, 'CLAVICLE': 40.0}
"""Weight of a joint's rotation in the posture task, by role; 1 of every other role.

The posture task is the sum of ``weight * angle^2`` over the joints: of two joints that bring a hand to the same place
the one of smaller weight rotates. So a target within the arm's reach rotates the arm, and a target beyond it the
clavicle, the spine and the hips too, whose weight is also that of their translation (Kaminski, Bock and Gentile 1995).

Those of hips and clavicles are fitted to captured reaches (``scripts/fit_posture.py``, bench row "body-reach"), except
that the hips' are large enough to keep the center of mass over the feet where the hips are led low, and the clavicles'
large enough to keep these within the 15 degrees by which people's rise (Ludewig et al. 2004). Those of spine, chest,
neck and head are the best of 22 sets for the joints that no handle holds, in four captured motions.
"""

MOST_TURNED_WEIGHT = 40.0
"""Largest weight of the rotation of a bone that is turned by its handle. With 400 for the hips the posture task holds
them against the turn: over planted feet Rigify's human turned them by 21.5 of 30 degrees."""

FLAT_WEIGHT, FLAT_BOUND = 10.0, 0.011
"""Weight of the rotation of a planted foot beside the other tasks of its level, and the angle (radians) from which on
the cost of that rotation grows in proportion to the angle."""

HEEL_WEIGHT = 1000.0
"""That weight where the heels carry the body: they can't lift then."""

LIFTED, LETS_GO = 0.05, 6.0
"""Height h over that of the skeleton up to which a foot that is pulled keeps its rotation, and the power p with which
the weight of that rotation falls above it: ``(LIFTED / h)^p``.

Of captured feet on the floor those that keep their rotation are off by 25 degrees (median), those that follow the leg
by 36; of feet lifted by 0.1 to 0.3 of the height by 55 and 37.
"""

HELD_WEIGHT = 4.0
"""Weight of a rotation that is held, as the head's is: with 1 a far reach of a hand turned the head by 0.7 degrees."""

PINNED, PULLED, HELD = 1, 2, 3
"""Priorities of handles: of pins and planted feet, of the handle that is pulled, of the others."""

LOOKING = 11
"""Priority of a look at a point: below those of all handles, which are at most 9, and of their rotations."""

LOOKING_WEIGHTS = {'SPINE': 40.0, 'CHEST': 40.0, 'NECK': 10.0, 'HEAD': 5.0}
"""Weights of these roles in the posture task of a body whose head looks at a point: the head turns most in a gaze
shift, and the torso little (Sidenmark and Gellersen 2019)."""
