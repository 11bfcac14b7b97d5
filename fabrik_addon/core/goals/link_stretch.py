# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links that lengthen, all by one factor, where no pose with the lengths they have brings the tip to its target.

A pose whose links are all longer by one factor is the same pose, scaled about its root. So nothing else needs to know:
a chain is solved as it is, and what is found is scaled until its tip is as near to the target as it gets. Softness
keeps its angles that way, and the tip stays at its target while the chain eases (Nicholson 2007, "soft IK").
"""

from __future__ import annotations

from ..math.operations import TINY, Component, Operations, Vector
from ..math.vectors import dot

ROUNDS = 4
"""Further solves at most for a chain that its limits keep from pointing straight at its target; one is usual."""

WORTH = 0.8
"""Error that a further solve has to leave, over that of the one before, for another one."""

AS_NEAR = 1e-6
"""Share of the error by which two poses may differ by rounding alone: what limits leave free they may differ in."""


def stretch_factor(ops: Operations, tip: Vector, target: Vector, most: float) -> Component:
    """Return the factor, 1 to ``most``, by which a scaled tip comes nearest to the target.

    Args:
        ops: the lanes' operations.
        tip: from the chain's root.
        target: from the chain's root.
        most: largest factor.
    """
    nearest = dot(tip, target) / (dot(tip, tip) + TINY)
    return ops.minimum(ops.maximum(nearest, 1.0), most)
