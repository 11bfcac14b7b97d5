# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The solvers' names for people, apart from the solvers: Blender reads these when it starts, and without numpy."""

from typing import NamedTuple


class SolverName(NamedTuple):
    """What a person reads about a solver."""

    label: str
    good_for: str
    """When to choose it, in one line."""


SOLVER_NAMES = {
    "FABRIK": SolverName("FABRIK", "Chains of any length: fewest sweeps, whatever the pose and wherever the target"),
    "TWO_BONE": SolverName("Two Bone", "Arms and legs: exact and without iterations; chains of two bones only"),
    "CCD": SolverName("CCD", "Tentacles, tails and hair: the tip end bends first and the root hardly turns"),
    "JACOBIAN_TRANSPOSE": SolverName(
        "Jacobian Transpose", "For comparison: simple and stable, but slow; needs about a thousand iterations"
    ),
    "JACOBIAN_PINV": SolverName(
        "Jacobian Pseudo-Inverse", "For comparison: fewest iterations well within reach, jumps near full extension"
    ),
    "JACOBIAN_DLS": SolverName(
        "Damped Least Squares", "Smooth motion, with the rotation shared by all joints, as in Blender's own IK"
    ),
}
"""By the names of the table of solvers, in its order."""
