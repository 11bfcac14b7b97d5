# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Masses of a body's segments, and where their centers of mass are, by role.

After Winter (Biomechanics and Motor Control of Human Movement, 4th edition, 2009, table 4.1). Animals have the same
roles by homology, and the same shares.
"""

from collections import Counter
from collections.abc import Sequence

SEGMENT_MASSES = {'HIPS': 0.142, 'SPINE': 0.139, 'CHEST': 0.216, 'HEAD': 0.081}
SEGMENT_MASSES |= {'UPPER_ARM': 0.028, 'FOREARM': 0.016, 'HAND': 0.006, 'THIGH': 0.1, 'SHIN': 0.0465, 'FOOT': 0.0145}
"""Share of the whole mass: of one limb's segment, and of the trunk's, head and neck together, by role."""

PROXIMAL_DISTANCES = {'UPPER_ARM': 0.436, 'FOREARM': 0.430, 'HAND': 0.506, 'THIGH': 0.433, 'SHIN': 0.433, 'FOOT': 0.500}
"""Distance of a segment's center of mass from its proximal end over its length; 0.5 of the trunk's bones and the head,
whose bones' ends aren't the ones that were measured."""

HALF_FOOT_BREADTH = 0.5 * 0.055 / 0.152
"""Half the breadth of a foot over its length, of which the breadth is 0.055 of the body's height and the length 0.152
(Drillis and Contini 1966, in Winter, figure 4.1)."""

HEEL = 0.0488 / 0.1300
"""Distance of the heel behind the ankle over that of the joint of the toes before it, along the floor: those of the
lower limb of Delp et al. (1990), OpenSim's gait2392."""


def shares_of_mass(segments: Sequence[tuple[str, str, int]]) -> list[float]:
    """Return each bone's share of the whole mass, given its role, its side and the number of its limb.

    Several bones of one segment have equal parts of it.
    """
    counts = Counter(segments)
    masses = [SEGMENT_MASSES.get(segment[0], 0.0) / counts[segment] for segment in segments]
    whole = sum(masses)
    return [mass / whole for mass in masses] if whole > 0.0 else masses


def proximal_distance(role: str) -> float:
    """Return the distance of a bone's center of mass from its head over its length."""
    return PROXIMAL_DISTANCES.get(role, 0.5)
