# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Targets within reach are met, and those beyond reach pull: Newton steps along the poses that meet the former.

With h the residuals of the targets within reach, and r_k those of the targets beyond reach with the losses rho_k
(``task_loss``), whose forces are bounded, the pose is the minimum of

    E(q) = sum_k rho_k(|r_k|) + (q0 - q)^T P (q0 - q)    where h(q) = 0

which is that of ``weighted_descent`` to 0.1 degrees, as long as no force that holds a target exceeds ``MOST_HOLDING``.
A step is that of ``posture_step``, with ``q0 - q`` replaced by ``q0 - q + P^-1 J_p^T f``, f the pulls' forces. It takes
half the time of a step by weight, as no matrix of all coordinates is inverted. A step is accepted if it lowers the
exact penalty function ``E + PENALTY |h|`` (Nocedal and Wright, section 15.4), and where it doesn't, is corrected once
for the curvature of h (section 15.6). The last step (``LAST``) is taken without that test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..math.factorisation import damped_inverse
from ..math.operations import Array
from ..model.tree_motions import TreeMotions
from .bounded_step import bounded_step
from .posture_step import Pull, curved_posture
from .prioritised_descent import CONVERGED_TASKS, CURVED_DAMPING, LEAST_DAMPING, LONGEST, PROJECTOR, SHORTEST
from .task_loss import OF_TREES, loss_of
from .task_stack import TaskStack
from .tasks import State

PENALTY = 2.0 * OF_TREES.most_forces[0]
"""Of the length of h in the penalty function, which is exact while 2 mu, mu the forces that hold h at 0, is less."""

CONVERGED = 3e-4
"""Largest change of a coordinate in a step that counts as none."""

LAST = 5e-3
"""Largest change of a coordinate in a step after which none is taken: with 1e-3 a Y took 0.2 ms more, and poses from
rest and from the pose before were apart by at most 0.10 degrees, as with this (12 seeded paths)."""

FIRST_RADIUS = 0.5
"""Largest length of the first step. With 1 a Y took 0.4 ms more, a hand 0.3 (medians of 100)."""

MOST_HOLDING = 60.0
"""Largest force mu on a target within reach up to which both descents end in one pose: by weight its bound is F = 250.
With 200 a Y within limits was 0.64 degrees off after one round of its target, with this 0.01."""


class Pulled(NamedTuple):
    """Where a descent with pulls has ended."""

    state: State
    steps: int
    are_held: bool
    """Whether the descent has converged, and no target within reach is held by more than ``MOST_HOLDING``."""


@dataclass
class _Solve:
    """A step without limits (``bounded_step.Solve``); keeps what the last call has found."""

    stack: TaskStack
    at_state: tuple[TreeMotions, Array]
    """Motions and J of the state."""
    damping: float
    pull: Pull
    back: Array = field(init=False)
    """(N + S, M1) pseudo-inverse of the rows of h."""
    are_held: bool = False
    """Whether no target within reach is held by more than ``MOST_HOLDING``."""
    is_whole: bool = False
    """Whether the step along the poses that meet h is precise (``curved_posture``)."""

    def __call__(self, jacobian: Array, residual: Array, weights: Array, toward: Array) -> tuple[Array, Array]:
        """Return the part of a step that meets the targets within reach, and that along the poses that meet them."""
        first, pulls = self.stack.spans
        rows = jacobian[first]
        weighted = rows * weights
        normal = weighted @ rows.T
        least = PROJECTOR * float(normal.trace()) + 1e-12
        inverse, damped = damped_inverse(normal, np.array([least, least + self.damping]))
        change, self.back = (damped @ residual[first]) @ weighted, weighted.T @ inverse
        pulled = toward * (weights > 0.0) + weights * (self.pull.forces @ jacobian[pulls])
        forces = (self.stack.metric * pulled) @ -self.back
        task = rows, self.back, change
        along = pulled - self.back @ (rows @ pulled)
        self.are_held = bool(np.linalg.norm(forces.reshape(-1, 3), axis=-1).max(initial=0.0) <= MOST_HOLDING)
        along, self.is_whole = curved_posture(self.stack, self.at_state, task, weights, pulled, along, self.pull)
        return change, along


class _Here(NamedTuple):
    """A state, and what it costs."""

    state: State
    residual: Array
    toward: Array
    """q0 - q (N + S,)."""
    weights: Array
    """W of the rows of the pulls."""
    error: float
    """|h|."""
    cost: float
    """Of the penalty function."""


def descend_pulled(stack: TaskStack, start: State, reference: State, steps: int) -> Pulled:
    """Bring a pose to the least cost of the pulls and the posture task among those that meet the first level.

    Args:
        stack: of two levels: the targets within reach, and those beyond.
        start: near the first level, within limits.
        reference: q0.
        steps: at most.
    """
    first, pulls = stack.spans
    loss = loss_of(stack.below_first_level, OF_TREES, math.inf)

    def at(state: State) -> _Here:
        residual, toward = stack.residual(state), stack.to_reference(state, reference)
        of_pulls, weights = loss.of(residual[pulls])
        error = math.sqrt(residual[first] @ residual[first])
        cost = float(of_pulls + toward @ (stack.metric * toward)) + PENALTY * error
        return _Here(state, residual, toward, weights, error, cost)

    here, radius, taken, solve = at(start), FIRST_RADIUS, 0, None
    for _ in range(steps):
        if solve is None:
            motions = stack.motions(here.state)
            jacobian = stack.jacobian(here.state, motions)
            rows, pulling = jacobian[pulls], here.residual[pulls]
            stiffness = (rows.T * here.weights) @ rows - loss.softening(rows, pulling, here.weights)
            pull = Pull(here.weights * pulling, radius, stiffness)
            damping = min(CURVED_DAMPING, here.error) * here.error + LEAST_DAMPING
            solve = _Solve(stack, (motions, jacobian), damping, pull)
            by_tasks, along = bounded_step(stack, here.state, jacobian, here.residual, solve, here.toward)
            change, gained = by_tasks + along, jacobian[first] @ by_tasks
            length, largest = math.sqrt(change @ change), float(np.abs(change).max())
        if solve.is_whole and gained @ gained <= CONVERGED_TASKS**2 and largest <= CONVERGED:
            return Pulled(here.state, taken, solve.are_held)
        share = min(1.0, radius / length)
        trial = at(stack.applied(here.state, share * change))
        if trial.cost >= here.cost:
            left = trial.residual[first] - (here.residual[first] - share * gained)
            correction = solve.back @ left
            if correction @ correction < (share * length) ** 2:
                trial = at(stack.applied(trial.state, correction))
        if solve.is_whole and share == 1.0 and largest <= LAST:
            return Pulled(trial.state, taken + 1, solve.are_held)
        if trial.cost < here.cost:
            radius = min(LONGEST, max(radius, 2.0 * share * length))
            here, solve, taken = trial, None, taken + 1
        else:
            radius = 0.3 * share * length
            if radius < SHORTEST:
                break
    return Pulled(here.state, taken, False)
