# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a method of solving is: the seam between ``solve`` and FABRIK or its relatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ..math.operations import Component, Vector
from ..math.quaternions import Quaternion
from ..model.chain_start import StartPose
from ..optimise.tree_least_squares import StackedRule
from ..problem import Chain, Options


class Found(NamedTuple):
    """Where a method leaves a chain; root at the origin, units of the chain's length."""

    points: list[Vector]
    """Joints from the root."""
    frames: list[Quaternion]
    """Of the bones, in armature space."""
    sweeps: Component
    """Iterations used."""


Reach: TypeAlias = Callable[[Any, StartPose, Vector, Vector | None, Options], Found]
"""(ops, start, target, pole or None, options): bring the tip to the target. Target and pole are seen from the root, in
units of the chain's length."""


@dataclass(frozen=True)
class Method:
    """One way to solve a chain."""

    label: str
    good_for: str
    """When to choose it, in one line."""
    reach: Reach
    refusal: Callable[[Chain], str] = lambda chain: ""
    """Why it can't solve a chain, in words; empty if it can."""
    solves_trees: bool = False
    """Whether it reaches several targets at once, and closes loops."""
    stacked: StackedRule | None = None
    """How it steps toward several targets at once; None sweeps first, as FABRIK does."""
