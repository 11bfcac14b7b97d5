# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stretch: all links of a chain lengthened by one factor, where its tip can't reach the target with the rigid links.

A pose whose links are all longer by a factor f is the pose with the rigid links, scaled by f about the chain's root.
The chain is therefore solved with its rigid links, and the pose found is scaled until its tip is nearest to the target
(``stretch_factor``). Softness moves the target of the rigid chain and thereby decides its angles; the scaling brings
the tip back to the target itself (Nicholson 2007, "soft IK").
"""

from ..math.operations import TINY, Component, Operations, Vector
from ..math.vectors import dot

STRETCH_SOLVES = 4
"""Bound on the further solves of a chain that a pole, a rotation or joint limits keep from pointing at its target; one
is usual."""

STRETCH_GAIN = 0.8
"""Ratio of the error of a further solve to the error before it, below which one more is made."""

STRETCH_ROUNDING = 1e-6
"""Share of the error by which a further solve must lessen it to be taken: poses whose errors differ by rounding alone
may differ visibly in the joints that limits and target leave undetermined."""


def stretch_factor(ops: Operations, tip: Vector, target: Vector, most: float) -> Component:
    """Return the factor f, 1 to ``most``, that minimises ``|f p - t|`` (from the root): ``p . t / p . p``, clamped."""
    nearest = dot(tip, target) / (dot(tip, tip) + TINY)
    return ops.minimum(ops.maximum(nearest, 1.0), most)
