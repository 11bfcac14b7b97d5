# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the joints of a body share a reach, by role: from the limb that is pulled inward to the hips."""

POSTURE_WEIGHTS = {'HIPS': 400.0, 'SPINE': 10.0, 'CHEST': 20.0, 'NECK': 20.0, 'HEAD': 20.0, 'CLAVICLE': 40.0}
"""Weight of a joint's rotation in the posture task, by role; 1 of every other role.

The posture task is the sum of ``weight * angle^2`` over the joints: of two joints that bring a hand to the same place
the one of smaller weight rotates. So a target within the arm's reach rotates the arm, and a target beyond it the
clavicle, the spine and the hips too, whose weight is also that of their translation. That the trunk takes part in a
reach mostly where arm and shoulder blade don't suffice was measured by Kaminski, Bock and Gentile (1995).

Those of hips and clavicles are of the six pairs of 400, 200 and 100 with 8 and 40 that ``scripts/fit_posture.py``
compares by how hips, spine and clavicle share what the arm leaves of captured reaches beyond 1.1 arm's lengths (bench
row "body-reach"). These shares are 0.34 from the captured ones with these, 0.39 with 400 and 8, 0.25 with 100 and 40.
But with 200 for the hips the center of mass came up to 0.01 of the height outside the feet where the hips were led low,
with 400 not at all. In reaches of a jump clavicles turned by up to 30 degrees with 8, with 40 by up to 8; as arms rise,
people's clavicles rise by 11 to 15 degrees at most (Ludewig et al. 2004).

Those of spine, chest, neck and head are of the 22 sets that were compared on 12 poses each of four captured motions,
from rest by six handles: the mean distance of the joints that no handle holds is 0.70 of that by Blender's own IK, with
40 for spine and chest, 10 for the neck and 5 for the head 0.79.
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

Of captured feet on the floor (pybullet's, from rest by six handles) those that kept their rotation were off by 25
degrees (median), those that followed the leg by 36; lifted by 0.1 to 0.3 of the height by 55 and 37, higher by 71 and
43. A bound on the cost of the rotation that falls with h does the same and takes 1.6 times as long for a move.
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
