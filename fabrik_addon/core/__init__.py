# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inverse kinematics of chains and trees, in numpy and the standard library: importable without Blender.

Its modules are imported when one of their names is first used: to import all of them, with numpy, takes 80 ms, and
Blender imports this package when it starts.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .status import FabrikError, Status

if TYPE_CHECKING:
    from .goals.pole_path import pole_for
    from .math.operations import Array
    from .model.chain_start import StartPose, start_from
    from .model.tree_start import StartTree, start_tree
    from .problem import Balance, Chain, Floor, Goals, LookAt, Options, Pose, Solution, Swivel, plain_chain
    from .solve_chain import depends_on_near, solve, solve_components, with_root_fixed
    from .solve_chain_frames import solve_chain_frames
    from .solve_tree import solve_tree_components
    from .solve_tree_frames import solve_tree_frames
    from .solvers.table import SOLVERS, solver_for, solver_for_tree
    from .stages.stage import ComponentSolution
    from .trees.solution import TreeSolution

_NAMES = {
    ".goals.pole_path": "pole_for",
    ".math.operations": "Array",
    ".model.chain_start": "StartPose start_from",
    ".model.tree_start": "StartTree start_tree",
    ".problem": "Balance Chain Floor Goals LookAt Options Pose Solution Swivel plain_chain",
    ".solve_chain": "depends_on_near solve solve_components with_root_fixed",
    ".solve_chain_frames": "solve_chain_frames",
    ".solve_tree": "solve_tree_components",
    ".solve_tree_frames": "solve_tree_frames",
    ".solvers.table": "SOLVERS solver_for solver_for_tree",
    ".stages.stage": "ComponentSolution",
    ".trees.solution": "TreeSolution",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
"""The module of each name."""

__all__ = ["FabrikError", "Status", *_MODULE_OF]

if not TYPE_CHECKING:  # a type checker would take every name for one of this package

    def __getattr__(name: str) -> object:
        """Import the module of a name; Python asks for each name once.

        Raises:
            AttributeError: there is no such name.
        """
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_MODULE_OF[name], __name__), name)
        return value
