# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inverse kinematics of chains and trees, in numpy and the standard library: importable without Blender."""

from .goals.pole import pole_for
from .math.operations import Array
from .model.chain_start import StartPose, start_from
from .model.tree_start import StartTree, start_tree
from .problem import Chain, FabrikError, Goals, Options, Pose, Solution, Status, plain_chain
from .solve import ComponentSolution, solve, solve_components, solve_from, with_root_fixed
from .solve_tree import TreeSolution, solve_tree_components
from .solvers.table import SOLVERS, solver_for, solver_for_tree

__all__ = [
    "SOLVERS",
    "Array",
    "Chain",
    "ComponentSolution",
    "FabrikError",
    "Goals",
    "Options",
    "Pose",
    "Solution",
    "StartPose",
    "StartTree",
    "Status",
    "TreeSolution",
    "plain_chain",
    "pole_for",
    "solve",
    "solve_components",
    "solve_from",
    "solve_tree_components",
    "solver_for",
    "solver_for_tree",
    "start_from",
    "start_tree",
    "with_root_fixed",
]
