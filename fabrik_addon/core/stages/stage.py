# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a stage is, the goal that it gets and the solution that it returns, as components."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from ..math.operations import Component, Condition, Operations, Vector
from ..math.quaternions import Quaternion
from ..math.vectors import choose_each
from ..model.chain_start import NearSolution, StartPose
from ..problem import Options


class ChainGoal(NamedTuple):
    """The goals of one plain chain as components, in armature space."""

    target: Vector
    pole: Vector | None
    pole_angle: float
    """Radians by which the pole is rotated about the line from the root to the target."""
    rotation: Quaternion | None
    """Frame that the last bone should take."""


class ComponentSolution(NamedTuple):
    """A solution as components: floats for one pose, where building arrays would cost as much as the solve."""

    batch: tuple[int, ...]
    points: list[Vector]
    """Joints, in armature space."""
    frames: list[Quaternion]
    """Of the bones, in armature space."""
    error: Component
    """Distance from tip to target over the chain's length."""
    iterations: Component
    """Iterations used: sweeps or steps; of FABRIK and of two bones within limits the number of starts."""
    status: Component
    """Values of ``Status``."""
    stretch: Component
    """Factor by which the links are longer than the chain's."""
    near: NearSolution | None = None
    """Where the search for a target near this one starts, if that isn't from ``frames``."""

    @property
    def numbers(self) -> tuple[Component, Component, Component, Component]:
        """Error, iterations, status and stretch."""
        return self.error, self.iterations, self.status, self.stretch

    @property
    def next_start(self) -> NearSolution:
        """Where the search for a target near this one starts (``StartPose.near``)."""
        return self.near or NearSolution(self.frames)


Stage: TypeAlias = Callable[[Operations, StartPose, ChainGoal, Options], ComponentSolution]
"""(ops, start, goal, options): solve for the part of the goal that this stage and the stages after it are about."""


def choose_solution(
    ops: Operations, where: Condition, yes: ComponentSolution, no: ComponentSolution
) -> ComponentSolution:
    """Choose between two solutions, batch item by batch item."""
    points, frames = choose_each(ops, where, yes.points, no.points), choose_each(ops, where, yes.frames, no.frames)
    error, iterations, status, stretch = ops.choose(where, yes.numbers, no.numbers)
    near = None if no.batch else (yes if where else no).near
    return ComponentSolution(no.batch, points, frames, error, iterations, status, stretch, near)
