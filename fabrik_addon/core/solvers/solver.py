# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The type of a solver: all solvers have one signature, so that ``solve`` can call any of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ..math.operations import Component, Operations, Vector
from ..math.quaternions import Quaternion
from ..model.chain_start import StartPose
from ..optimise.jacobian_steps import StackedRule
from ..problem import Chain, Options


class SolverResult(NamedTuple):
    """The pose that a solver found for a chain, with the root at the origin and the chain's length as the unit."""

    points: list[Vector]
    """Joints, root first."""
    frames: list[Quaternion]
    """Of the bones, in armature space."""
    iterations: Component
    """Iterations used."""


SolveFunction: TypeAlias = Callable[[Operations, StartPose, Vector, Vector | None, Options], SolverResult]
"""(ops, start, target, pole or None, options): bring the tip to the target and, if there is a pole, the bend toward it.

Target and pole are relative to the root, in units of the chain's length.
"""


@dataclass(frozen=True)
class Solver:
    """One way to solve a chain."""

    solve: SolveFunction
    refusal: Callable[[Chain], str] = lambda chain: ""
    """Returns why the solver can't solve a chain, in words; empty if it can."""
    solves_trees: bool = False
    """Whether the solver can bring several effectors to their targets at once, and close loops."""
    stacked: StackedRule | None = None
    """How the solver steps toward several targets at once; None sweeps over the tree first, as FABRIK does."""
