# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of solvers: name to solver. A new solver is a module and a line at the end of this table."""

from ..problem import Chain, FabrikError, Options
from .ccd import CCD
from .fabrik_solver import FABRIK
from .jacobian import JACOBIAN_DLS, JACOBIAN_PINV, JACOBIAN_TRANSPOSE
from .names import SOLVER_NAMES
from .solver import Solver
from .two_bone import TWO_BONE

SOLVERS: dict[str, Solver] = {
    "FABRIK": FABRIK,
    "TWO_BONE": TWO_BONE,
    "CCD": CCD,
    "JACOBIAN_TRANSPOSE": JACOBIAN_TRANSPOSE,
    "JACOBIAN_PINV": JACOBIAN_PINV,
    "JACOBIAN_DLS": JACOBIAN_DLS,
}
"""Blender files store a solver's place in this table: new ones go to its end."""


def solver_for(chain: Chain, options: Options) -> Solver:
    """Return the solver that the options name, for a plain chain."""
    solver = _named(options)
    if refusal := solver.refusal(chain):
        raise FabrikError(refusal)
    return solver


def solver_for_tree(options: Options) -> Solver:
    """Return the solver that the options name, for several effectors or a loop."""
    solver = _named(options)
    if not solver.solves_trees:
        able = ", ".join(SOLVER_NAMES[name].label for name, other in SOLVERS.items() if other.solves_trees)
        raise FabrikError(
            f"{SOLVER_NAMES[options.solver].label} can't reach several targets at once or close a loop: choose {able}"
        )
    return solver


def _named(options: Options) -> Solver:
    if options.solver not in SOLVERS:
        raise FabrikError(f"there is no solver '{options.solver}': there are {', '.join(SOLVERS)}")
    return SOLVERS[options.solver]
