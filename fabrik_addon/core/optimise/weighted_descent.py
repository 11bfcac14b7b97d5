# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A descent of the cost of tasks by weight and the posture task: Newton steps with a Levenberg-Marquardt damping.

The step and the cost that it reduces are those of ``newton_step`` and ``cost_model``; the step's damping lambda changes
by the ratio of the reduction of the cost to that of the model (Nielsen 1999, with at least 0.1 for 1/3).

Before its cost is compared a trial is corrected to second order (``_Descent._corrected``): pins, and targets that are
nearly met, are stiff, and the set of poses that meet them is curved.
"""

import math
from typing import NamedTuple

import numpy as np

from ..math.operations import TINY, Array, Component, Condition
from ..model.tree_state import State
from ..tasks.task_loss import Firmness, loss_of
from ..tasks.task_stack import TaskStack
from .cost_model import PoseCost, cost_at, dot, forces_at, modelled, with_forces
from .held_descent import LONGEST, Ended
from .newton_step import Step, damped_step

FIRST_LAMBDA, LEAST_LAMBDA, MOST_LAMBDA = 1e-3, 1e-7, 1e8
"""lambda of the first step, its least value, and the one above which a descent ends."""

RAISED_LAMBDA = 1e-4
"""Least lambda that is multiplied where a step doesn't reduce the cost, far from the solution."""

RAISED_NEAR = 1.0
"""``RAISED_LAMBDA`` of a descent that begins near a solution (``Beginning.is_near``). Below 1 a step hardly changes
with lambda: the tasks' part of its matrix is larger than P. With 1e-4 a move of a body with balance took 7.4 trials
(mean of 24 drags) instead of 5.6. Far from the targets the growth from 1e-4 leads to better minima: of 20 poses of a
body with straight limbs, turned far, one more isn't found with 1."""

CONVERGED = 2e-4
"""Largest change of a coordinate, times 1 + lambda, that counts as none: 0.01 degrees. With 1e-6 a move of a drag took
8 steps (median) instead of 3, with 3e-4 bones baked along a hand's closed path were 0.10 degrees off, with this 0.03.
"""

SETTLED, SETTLED_AFTER = 8.5e-4, 5e-6
"""Largest change of a coordinate, times 1 + lambda, after which a step with second derivatives may be the last, and
that times the share e by which its gain is not the model's. The step after it would change no coordinate by more than
2.3e-4 (97 steps of bench row "body-path"). With 3e-5 for the first a hand of Rigify's human that is led beyond reach
beside a fixed root, and back, rotated bones by up to 0.18 degrees less or more than on the way out (8 paths), with this
by 0.11."""

CORRECTIONS, CORRECTED = 3, 1e-5
"""Corrections of a trial at most (``Step.to_second_order``); and ``off^T Omega off`` over the model's gain, off the
residual minus that of the model, up to which a trial isn't corrected. With corrections to the first level alone paths
of Rigify's human beside a fixed root took 6.0 steps from pose to pose instead of 4.4 (means of seeded paths). With 1e-3
bones of a Y that was solved in a batch of frames were 6.7e-4 radians from where those of the single frames were."""

STIFF = 0.5
"""o over w, ``1 / sqrt(1 + (r / delta)^2)`` at the pose before the step, from which on a trial is corrected to the
task: its force is less than 0.87 of its bound. With all tasks corrected frames of a Y with a pin whose targets are
beyond reach took 10 steps instead of 6.5."""

WELL_MODELLED, MOST_RATIO = 0.25, 1.5
"""Reduction of the cost over that of the model: above which a step without K was a good one, and the largest that
counts (``_Descent._step``)."""

MOST_BALANCED = 1e3
"""Largest force by which the first level's modelled residual, times w, balances the forces of the other tasks. A larger
one is what bounds have kept a step from: then the model's residual counts as 0. Without this presses of Solve for 20
captured poses (bench row "body-reconstruction", the jump) took 9 percent more evaluations of the cost, to poses as near
as with it; of 500 feasible poses of a body with straight limbs, turned far, 4 weren't found without, 5 with it."""


class Beginning(NamedTuple):
    """Where a descent by weight begins."""

    is_near: bool = False
    """Whether lambda is raised from ``RAISED_NEAR``: near a solution, that of the frame before or of a descent with
    other tasks or weights, or where few steps are tried."""
    is_move: bool = False
    """Whether it is near that of the move before, in a drag: the descent ends earlier (``_end_where_settled``)."""
    forces: Array | None = None
    """(M,) of the tasks in that solution (``Ended.forces``). With them the first step has second derivatives, and poles
    have a part in these (``Loss.are_poles_stiff``); of another number of rows they count as unknown."""


FAR, NEAR = Beginning(), Beginning(is_near=True)


def least_cost(
    stack: TaskStack,
    start: State,
    reference: State,
    steps: int,
    firmness: Firmness,
    begins: Beginning = FAR,
    within: float = math.inf,
) -> Ended:
    """Descend to the least cost, as far as a number of trials leads.

    Args:
        stack: tasks by level, and a tree with posture weights; of one pose or of a batch of them, which descend side by
            side, each with a damping of its own, until all have converged.
        start: coordinates and shifts to start from, within limits.
        reference: coordinates and shifts that the posture task stays near to.
        steps: trials at most.
        within: largest difference of a coordinate from the reference pose's, beyond which the descent ends.
    """
    descent = _Descent(stack, start, reference, firmness, begins)
    for _ in range(steps):
        descent.try_step()
        if np.abs(descent.here.toward).max(initial=0.0) > within:
            return Ended(descent.here.state, descent.taken, False, descent.forces)
        if stack.ops.all(descent.is_done):
            break
    return Ended(descent.here.state, descent.taken, descent.is_done, descent.forces)


class _Descent:
    """Where a descent is (``here``, after the last step that was taken), and what it knows from the steps before."""

    def __init__(self, stack: TaskStack, start: State, reference: State, firmness: Firmness, begins: Beginning) -> None:
        self._stack, self._ops, self._reference, self._firmness = stack, stack.ops, reference, firmness
        known = begins.forces
        if known is not None and known.shape != stack.row_weights.shape:
            known = None
        self._loss = loss_of(stack, firmness, are_poles_stiff=known is None)
        self._is_move = begins.is_move
        self._least_raised = RAISED_NEAR if begins.is_near else RAISED_LAMBDA
        self.here = here = cost_at(stack, self._loss, start, reference)
        self.is_done = here.cost < 0.0
        self._damping, self._growth, self.taken = (
            self._ops.where(self.is_done, first, first) for first in (FIRST_LAMBDA, 2.0, 0)
        )
        self._active = np.zeros((*stack.batch, 2, here.toward.shape[-1]), bool)
        """Which coordinates the step before took to their upper, and to their lower limits."""
        self._leaves_out_curvature = self._stiffens = True
        self._model = modelled(stack, here)
        self.forces = here.weights * here.residual if known is None else known
        if known is not None:
            self._model = with_forces(stack, self._loss, self._model, known)

    def try_step(self) -> None:
        """Take a step if it reduces the cost, and change lambda by the ratio of the actual to the modelled reduction.

        The last step, by which no coordinate changes by more than ``CONVERGED``, is taken without another evaluation:
        on closed paths of a hand, dragged once each way, bones were 0.08 degrees apart without it, 0.02 with it. As the
        last pose of a batch takes its last step, the poses that have ended before take one more, of up to ``SETTLED``:
        of 100 frames one was 0.15 degrees off without it.
        """
        ops = self._ops
        step, is_stiffened = self._step()
        if step is None:
            self._adapt_damping(self.is_done & False)
            return
        largest = (1.0 + self._damping) * np.abs(step.change).max(-1, initial=0.0)
        self.is_done = self.is_done | (step.is_optimal & (largest <= CONVERGED))
        self._active, change = step.active, step.change
        if ops.all(self.is_done):
            last = (change.T * ops.where(largest <= SETTLED, 1.0, 0.0)).T
            self.here = self.here._replace(state=self._stack.coordinates.applied(self.here.state, last))
            return
        change = (change.T * ops.minimum(1.0, LONGEST / (np.sqrt((change * change).sum(-1)) + TINY))).T
        is_gain, ratio = self._moved(step, change)
        if self._model.curvature is not None and not (step.is_whole or ops.any(is_gain & (ratio > WELL_MODELLED))):
            self._leaves_out_curvature = False
        if is_stiffened and ops.any(ratio >= MOST_RATIO):
            self._stiffens = False
        if ops.any(is_gain):
            self._end_where_settled(step, is_gain, ratio, largest)
            if ops.all(self.is_done):
                return
            self._model = modelled(self._stack, self.here)
            self.forces = forces_at(self._stack, self._model, self.forces)
            self._model = with_forces(self._stack, self._loss, self._model, self.forces)
        self._adapt_damping(is_gain, ratio)

    def _step(self) -> tuple[Step | None, bool]:
        """Return the next step, and whether it is with a stiffened model, which it leaves; it may raise lambda.

        Models that have been wrong once mostly are so again at the next pose:

        1. After a step without K that has gained less than ``WELL_MODELLED`` of what its model gains, no step is
           without K. Otherwise solves from rest of Rigify's human beside a fixed root, a hand led low (bench row
           "body-path"), took 14 percent more evaluations of the cost.
        2. After a step with a stiffened model that has gained ``MOST_RATIO`` of what that gains, none is stiffened.
           Otherwise two targets that are farther apart than the links between them took up to 78 steps instead of 29
           (60 Ys).
        """

        def step() -> Step | None:
            self._damping, found = damped_step(
                self._stack, self._model, self._damping, self._active, self._leaves_out_curvature
            )
            return found

        found = step()
        if not self._stiffens or found is None or not found.is_whole:
            return found, False
        stiffer = self._model.stiffened(self._loss, found.change)
        if stiffer is None:
            return found, False
        self._model = stiffer
        return step(), True

    def _moved(self, step: Step, change: Array) -> tuple[Condition, Component]:
        """Take a change of the coordinates, of the poses whose cost it reduces.

        Returns:
            which those are, and the reduction of the cost over that of the model, at most ``MOST_RATIO``.
        """
        ops, here = self._ops, self.here
        model = self._model if step.is_whole else self._model._replace(curvature=None)
        left = model.left(change)
        gain = model.gain(self._stack, change, left)
        left = self._with_first_balanced(left)
        there = self._corrected(step, self._stack.coordinates.applied(here.state, change), left, CORRECTED * gain)
        is_gain: Condition = (there.cost < here.cost) & ops.negate(self.is_done)
        less_cost = ops.maximum(here.cost - there.cost, 0.0)
        ratio = ops.minimum(less_cost / ops.maximum(gain, 1e-200), MOST_RATIO)
        if ops.any(is_gain):
            self.here = self._chosen(is_gain, there, here)
            self.taken = ops.where(is_gain, self.taken + 1, self.taken)
            forces = self._loss.of(left)[1] * left
            self.forces = np.asarray(ops.where(is_gain, forces.T, self.forces.T)).T
        return is_gain, ratio

    def _with_first_balanced(self, left: Array) -> Array:
        """Return residuals of the model, of the first level 0 where w |r| exceeds ``MOST_BALANCED``."""
        first, found = self._stack.first_rows, left.copy()
        is_balanced = dot(left[..., first], left[..., first]) <= (MOST_BALANCED / self._firmness.weights[0]) ** 2
        found.T[first] = self._ops.where(is_balanced, found.T[first], 0.0 * found.T[first])
        return found

    def _corrected(self, step: Step, trial: State, left: Array, most: Component) -> PoseCost:
        """Return a trial whose residuals are nearer to those of the model, as long as that reduces the cost.

        Off a curved set of poses that meet stiff tasks a straight step increases their cost by more than it reduces
        that of the others. Tasks whose forces are near their bounds (``STIFF``) aren't stiff.

        Args:
            left: (..., M) residuals that the model leaves.
            most: ``off^T Omega off`` up to which a trial isn't corrected.
        """
        ops, weights = self._ops, self.here.weights
        is_stiff = weights > STIFF * self._loss.row_weights
        there = cost_at(self._stack, self._loss, trial, self._reference)
        for _ in range(CORRECTIONS):
            off = (there.residual - left) * is_stiff
            is_off = dot(weights * off, off) > most
            if not ops.any(is_off):
                break
            corrected = self._stack.coordinates.applied(there.state, step.to_second_order(self._model, off))
            nearer = cost_at(self._stack, self._loss, corrected, self._reference)
            is_gain = is_off & (nearer.cost < there.cost)
            if not ops.any(is_gain):
                break
            there = self._chosen(is_gain, nearer, there)
        return there

    def _chosen(self, condition: Condition, yes: PoseCost, no: PoseCost) -> PoseCost:
        """Return one of two costs of each pose."""
        if self._ops.all(condition):
            return yes
        residual = np.where(np.asarray(condition)[..., None], yes.residual, no.residual)
        return cost_at(self._stack, self._loss, yes.state.where(condition, no.state), self._reference, residual)

    def _end_where_settled(self, step: Step, is_gain: Condition, ratio: Component, largest: Component) -> None:
        """End the descent after a step d whose gain is that of the model but for a share e, where ``e |d|`` is small.

        Along d the step after it would be e d. In a drag that may count as no change; after a step with second
        derivatives it must be smaller. Without that a move takes one more evaluation of J.
        """
        after = self._ops.maximum(ratio - 1.0, 1.0 - ratio) * largest
        is_near = step.is_whole & (largest <= SETTLED) & (after <= SETTLED_AFTER)
        self.is_done = self.is_done | (is_gain & step.is_optimal & (is_near | (after <= CONVERGED) & self._is_move))

    def _adapt_damping(self, is_gain: Condition, ratio: Component = 0.0) -> None:
        """Raise lambda after a step that wasn't taken, and change it by the ratio of the reductions after another."""
        ops, damping = self._ops, self._damping
        less = ops.maximum(damping * ops.maximum(0.1, 1.0 - (2.0 * ratio - 1.0) ** 3), LEAST_LAMBDA)
        raised = ops.where(self.is_done, damping, ops.maximum(damping, self._least_raised) * self._growth)
        self._damping = ops.where(is_gain, less, raised)
        self._growth = ops.where(is_gain, 2.0, 2.0 * self._growth)
        if not ops.all(is_gain):
            self._active = self._active & np.asarray(is_gain)[..., None, None]
        self.is_done = self.is_done | (self._damping > MOST_LAMBDA)
