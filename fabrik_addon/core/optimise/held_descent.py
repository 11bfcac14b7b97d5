# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks of a first level are met, and those below it pull: Newton steps along the poses that meet the first.

With h the residuals of the first level, r_k those of the tasks that pull and rho_k their losses (``task_loss``), whose
forces are bounded, the pose is the minimum of

    E(q) = sum_k rho_k(|r_k|) + (q0 - q)^T P (q0 - q)    where h(q) = 0

which is that of ``weighted_descent`` to 0.1 degrees, as long as no force that holds h exceeds
``held_step.MOST_HOLDING``. With J the Jacobian of h and ``W = P^-1`` a step is the sum of two parts (Siciliano and
Slotine 1991). The first one meets h,

    dq_t = W J^T (J W J^T + lambda I)^-1 h,    lambda = min(``MOST_DAMPING``, |h|) |h|

where lambda stands for the second derivatives that a Gauss-Newton step leaves out, which are proportional to the
residual, too (Fan and Yuan 2005). The second one, z, is in the null space of J: that of ``held_step``, with
``q0 - q + W J_p^T f`` for ``q0 - q``, f the pulls' forces and J_p their Jacobian. No matrix of all coordinates is
inverted: a step takes half the time of one by weight.

A step is accepted if it lowers the exact penalty function ``E + PENALTY |h|`` (Nocedal and Wright, section 15.4), and
where it doesn't, is corrected once for the curvature of h (section 15.6). The last step (``LAST``) is taken without
that test. A pole's residual ``phi f h`` shrinks where its chain straightens, too; so in a step, and in the test of the
pose after it, ``f h`` is that of the pose before the step, and the angle phi alone says how far the chain is from its
pole.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..math.operations import Array
from ..model.tree_state import State
from ..tasks.pole_arc import PoleArc
from ..tasks.pole_task import PoleTask
from ..tasks.task_loss import OF_TREES, loss_of
from ..tasks.task_stack import TaskStack
from .bounded_step import bounded_step
from .held_step import HeldStep

TREE_STEPS = 80
"""Trials of Newton steps at most from one start, of both descents; a target that moves a little needs about five."""

PENALTY = 2.0 * OF_TREES.most_forces[0]
"""Of the length of h in the penalty function, which is exact while 2 mu, mu the forces that hold h at 0, is less."""

MOST_DAMPING, LEAST_DAMPING = 0.2, 1e-8
"""lambda over |h| at most, |h| in the tree's units, and lambda where h is 0."""

LONGEST, SHORTEST = 1.0, 1e-7
"""Largest length of a step: root of the sum of the squared changes (radians, or the tree's units of a root's shift);
and the bound of a step's length below which a descent ends."""

CONVERGED_TASKS = 3e-7
"""Length of J dq_t, in the tree's units, up to which h has converged."""

CONVERGED = 3e-4
"""Largest change of a coordinate in a step that counts as none."""

LAST = 5e-3
"""Largest change of a coordinate in a step after which none is taken: with 1e-3 a Y took 0.2 ms more, and poses from
rest and from the pose before were apart by at most 0.10 degrees, as with this (12 seeded paths)."""

EXACT, CLOSELY_MET = 1e-7, 1e-5
"""Lengths of h, in the tree's units, after the last step: without and with a posture task."""

UNMET, SLOW, MOST_SLOW = 1e-3, 0.1, 3
"""|h|, in the tree's units, above which it isn't met; the share of |h| that a step must take away there; and how many
steps in a row with less end a descent: not all of h can be met. Without that a human whose hand is led low beyond reach
took 80 steps from rest instead of 32."""

FIRST_RADIUS = 0.5
"""Largest length of the first step where tasks pull. With 1 a Y took 0.4 ms more, a tree of five fingers 0.3
(medians of 100)."""


class Ended(NamedTuple):
    """Where a descent has ended; of a batch with the axis of its poses before the others."""

    state: State
    steps: Any
    """How many were accepted: an integer, or an array (F,)."""
    is_converged: Any
    """Whether it ended before its steps were used up: a bool, or an array (F,)."""
    forces: Array | None = None
    """(M,) f of the tasks, of a descent by weight, after the last step that was taken (``cost_model.forces_at``)."""
    are_held: bool = False
    """Of ``descend_held``: whether |h| is at most ``CLOSELY_MET`` at a minimum, and no component of the forces that
    hold h exceeds ``held_step.MOST_HOLDING``."""
    by_weight: State | None = None
    """Where the descent of the next frame starts: the state before what was nearly met was met exactly, which may be
    ``state``; None where nothing was, and of the pose at hand where nothing was solved."""
    of_targets: State | None = None
    """Where the descent without rotations and poles has ended (``to_meet``), of this frame or one before."""


class _Here(NamedTuple):
    """A state, and what it costs."""

    state: State
    residual: Array
    """Of a trial with the poles' ``f h`` of the pose before the step."""
    toward: Array
    """q0 - q (N + S,)."""
    weights: Array
    """Omega of the rows of the pulls."""
    error: float
    """|h|."""
    cost: float
    """Of the penalty function."""
    arcs: list[PoleArc]
    """Of the poles among the tasks that are held."""


def descend_held(
    stack: TaskStack, start: State, reference: State | None, steps: int, most_damping: float = MOST_DAMPING
) -> Ended:
    """Bring a pose to the least cost of the pulls and the posture task among those that meet the first level.

    Args:
        stack: the first level is held, the others and the preferences pull.
        start: within limits.
        reference: q0; None leaves the posture task out.
        steps: trials at most, also of steps that aren't accepted; ``Ended.steps`` counts those that are.
        most_damping: lambda over |h| at most.
    """
    if not len(stack.coordinates.weights):
        return Ended(start, 0, True)
    first, pulls = stack.first_rows, slice(stack.first_rows.stop, None)
    loss = loss_of(replace(stack, levels=stack.levels[1:]), OF_TREES)
    poles = [(task, row) for task, row in stack.other_tasks if isinstance(task, PoleTask) and row < first.stop]

    def with_heights(residual: Array, arcs: list[PoleArc], others: list[PoleArc]) -> Array:
        """Give residuals, in place, the angles of some poles and the ``f h`` of others."""
        for (_, row), (angle, *_), (_, height, *_) in zip(poles, arcs, others, strict=True):
            residual[row] = -angle * height * stack.row_weights[row]
        return residual

    def at(state: State, before: _Here | None = None) -> _Here:
        residual, toward = stack.residual(state), stack.coordinates.to_reference(state, reference)
        arcs = [task.arc(state.placed) for task, _ in poles]
        if before is not None:
            with_heights(residual, arcs, before.arcs)
        of_pulls, weights = loss.of(residual[pulls])
        error = math.sqrt(residual[first] @ residual[first])
        cost = float(of_pulls + toward @ (stack.coordinates.metric * toward)) + PENALTY * error
        return _Here(state, residual, toward, weights, error, cost, arcs)

    def taken_from(there: _Here) -> _Here:
        """Return the pose after a step with the poles' own ``f h``."""
        residual = with_heights(there.residual.copy(), there.arcs, there.arcs)
        error = math.sqrt(residual[first] @ residual[first])
        return there._replace(residual=residual, error=error, cost=there.cost + PENALTY * (error - there.error))

    here, taken, slow, has_step = at(start), 0, 0, False
    radius = FIRST_RADIUS if here.residual[pulls].size else LONGEST
    for _ in range(steps):
        if not has_step:
            motions = stack.motions(here.state)
            jacobian = stack.jacobian(here.state, motions)
            rows, pulling, stiffness = jacobian[pulls], here.residual[pulls], np.zeros(1)
            if pulling.size:
                softening = loss.softening(rows, pulling, here.weights)
                stiffness = (rows.T * here.weights) @ rows - softening.T @ softening
            damping = min(most_damping, here.error) * here.error + LEAST_DAMPING
            solve = HeldStep(stack, motions, jacobian, damping, here.weights * pulling, stiffness, radius)
            by_tasks, along, known = bounded_step(stack, here.state, jacobian, here.residual, solve, here.toward)
            change, gained = by_tasks + along, jacobian[first] @ by_tasks
            length, largest = math.sqrt(change @ change), float(np.abs(change).max())
            has_step = True
        if known.is_precise and gained @ gained <= CONVERGED_TASKS**2 and largest <= CONVERGED:
            return Ended(here.state, taken, True, None, known.are_held and here.error <= CLOSELY_MET)
        share = min(1.0, radius / length)
        trial = at(stack.coordinates.applied(here.state, share * change), here)
        if trial.cost >= here.cost:
            left = trial.residual[first] - (here.residual[first] - share * gained)
            correction = known.back @ left
            if correction @ correction < (share * length) ** 2:
                trial = at(stack.coordinates.applied(trial.state, correction), here)
        is_last = known.is_precise and share == 1.0 and largest <= LAST
        if is_last and trial.error <= (EXACT if reference is None else CLOSELY_MET):
            return Ended(trial.state, taken + 1, True, None, known.are_held)
        if trial.cost < here.cost:
            slow = slow + 1 if trial.error > max(UNMET, (1.0 - SLOW) * here.error) else 0
            if slow >= MOST_SLOW:
                return Ended(trial.state, taken + 1, True)
            radius = min(LONGEST, max(radius, 2.0 * share * length))
            here, has_step, taken = taken_from(trial) if poles else trial, False, taken + 1
        else:
            radius = 0.3 * share * length
            if radius < SHORTEST:
                return Ended(here.state, taken, True)
    return Ended(here.state, taken, False)
