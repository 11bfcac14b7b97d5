# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The methods there are: name to method. A new one is a module and a line at the end of this table."""

from __future__ import annotations

from ..problem import Chain, FabrikError, Options
from .ccd import CCD
from .fabrik_method import FABRIK
from .jacobian import JACOBIAN_DLS, JACOBIAN_PINV, JACOBIAN_TRANSPOSE
from .method import Method
from .two_bone import TWO_BONE

SOLVERS: dict[str, Method] = {
    "FABRIK": FABRIK,
    "TWO_BONE": TWO_BONE,
    "CCD": CCD,
    "JACOBIAN_TRANSPOSE": JACOBIAN_TRANSPOSE,
    "JACOBIAN_PINV": JACOBIAN_PINV,
    "JACOBIAN_DLS": JACOBIAN_DLS,
}
"""Files keep a method's place in this table: new ones go to its end."""


def method_for(chain: Chain, options: Options) -> Method:
    """Return the method that options ask for.

    Raises:
        FabrikError: there is none of this name, or it can't solve such a chain.
    """
    method = _named(options)
    if refusal := method.refusal(chain):
        raise FabrikError(refusal)
    return method


def method_for_tree(options: Options) -> Method:
    """Return the method that options ask for, for several effectors or a loop.

    Raises:
        FabrikError: there is none of this name, or it takes one chain with one target only.
    """
    method = _named(options)
    if not method.solves_trees:
        able = ", ".join(other.label for other in SOLVERS.values() if other.solves_trees)
        raise FabrikError(f"{method.label} can't reach several targets at once or close a loop: choose {able}")
    return method


def _named(options: Options) -> Method:
    if options.solver not in SOLVERS:
        raise FabrikError(f"there is no solver '{options.solver}': there are {', '.join(SOLVERS)}")
    return SOLVERS[options.solver]
