# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the elbow of a human's arm points, by where the hand is: a linear model, fitted to captured motion.

That the posture of an arm is nearly a linear function of the place of the hand is a finding of Soechting and Flanders
(1989, Journal of Neurophysiology 62(2)). Here it is the direction in which the elbow is off the line from shoulder to
wrist, ``v = a + B n``, of which the part across n counts, with n the direction from shoulder to wrist; both are seen
from the chest. So the model has no angle that jumps by a turn, and one direction of n only without an answer.
"""

import numpy as np

from ..math.operations import Array

SWIVEL_MODEL = np.array(
    [[0.173, 0.047, -0.155], [0.033, 0.649, -0.030], [-0.529, 0.136, 0.797], [0.141, -0.402, -0.147]]
)
"""(4, 3) a and the columns of B of a left arm, along x to the left, y backward, z upward.

Least squares of the elbow's direction over the 15 motions of a human that pybullet 3.2.7 has, a boxer and CMU 01_03,
with equal weights of these three sources; ``scripts/fit_elbows.py`` repeats the fit. The mean angle between the
direction of the model and the captured one is 19, 13 and 14 degrees there, and 23 and 22 degrees in the motions that
the fit has not seen, CMU 01_01's jump and its other frames. From rest by hands, feet, head and hips alone the elbows of
these were off by 40 and 42 degrees without the model.
"""


def swivel_model(axes: Array) -> Array:
    """Return the model in another frame (4, 3).

    Args:
        axes: (3, 3) in its columns the directions outward, backward and upward in that frame. Outward is to the left
            for a left arm and to the right for a right one.
    """
    return np.vstack([axes @ SWIVEL_MODEL[0], axes @ SWIVEL_MODEL[1:] @ axes.T])
