# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The methods there are: name to method. A new one is a module and a line at the end of this table."""

from __future__ import annotations

from .fabrik_method import FABRIK
from .method import Method
from .problem import FabrikError, Options

SOLVERS: dict[str, Method] = {
    "FABRIK": FABRIK,
}
"""Files keep a method's place in this table: new ones go to its end."""


def method_of(options: Options) -> Method:
    """Return the method that options ask for.

    Raises:
        FabrikError: there is none of this name.
    """
    if options.solver not in SOLVERS:
        raise FabrikError(f"there is no solver '{options.solver}': there are {', '.join(SOLVERS)}")
    return SOLVERS[options.solver]
