# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loss of tasks that are weighed against each other: what a residual costs, and with what force its task pulls.

Of swivels, and of all tasks but poles and looks in levels whose F is infinite, such as that of pins and planted feet,
it is ``rho(r) = w r^2``; of the others, whose force is bounded, the pseudo-Huber loss

    rho(r) = 2 F delta (sqrt(1 + (r / delta)^2) - 1),   delta = F / w

which is ``w r^2`` near the target and whose derivative far away is 2 F.

Without the bound F a target beyond reach pulls in proportion to its distance, a hundred times harder than the posture
task: the pose becomes the nearest one of a set that isn't convex, and jumps. In a drag of a body's hips below where the
legs allow them a bone rotated by 17.6 times the median move's largest rotation in one move; with F by 4.1 times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..math.operations import Array, Component
from .look_at_task import LOOK_AT_FORCE, LOOK_AT_WEIGHT, LookAtTask
from .pole_task import PoleTask
from .task_stack import TaskStack


class Firmness(NamedTuple):
    """How firmly tasks are held against the posture task, whose weights are P."""

    weights: Sequence[float]
    """w of the levels, cost for each squared unit of the tree; the last one of all levels after it."""
    most_forces: Sequence[float]
    """F of the levels; poles in them have ``POLE_FORCE``, looks ``LOOK_AT_FORCE``."""
    nearly_met: float
    """Length of a task's residual, in the tree's units, up to which the task is met exactly at the end."""
    most_exact: float
    """Largest change of a coordinate (radians, or units of a shift) by which tasks are met exactly at the end."""
    is_met_alone: bool = False
    """Whether a position that is nearly met is met exactly beside others that aren't.

    Without that one of 100 Ys with one target beyond reach missed the other one by 1.4e-4 of the length of its bones,
    with it by 6e-8 at most."""
    most_away: float = math.inf
    """Distance, in the tree's units, from which on targets that rotations and poles keep away are brought nearer."""
    is_strict: bool = False
    """Whether targets come as near by weight as the first level lets them: then nothing that can't be met exactly in
    the end is brought nearer."""
    far_from_met: float = 100.0
    """Length of a task's residual, over ``nearly_met``, from which on none of it is met exactly."""
    ends_early: bool = False
    """Whether goals that two steps don't bring much nearer are left there (``exact_steps.PROMISING``). A foot of a body
    that was dragged into the floor came 9.6e-4 of the height below it, without that 4e-5."""
    brings_targets: bool = False
    """Whether targets are met exactly where rotations below them would have to change by more than ``most_exact``. The
    hips of Rigify's human, led straight down by 0.3 to 0.5 m, stayed 0.8 to 2 mm above their target without that, held
    by the feet's rotations."""
    from_far: Firmness | None = None
    """Weights and forces of a descent that comes before that with this one where the pose to start from
    may be far from the solution; None: none does."""


_BODY_FROM_FAR = Firmness((3e4, 3e4, 1e3, 1e2), (math.inf, 500.0, 100.0, 30.0), 3e-3, 0.05, brings_targets=True)

OF_BODY = _BODY_FROM_FAR._replace(weights=(1e8, 1e5, 1e3, 1e2), from_far=_BODY_FROM_FAR)
"""Of a body. Targets of the second level that are within reach need forces of less than 250 in the drags of the bench.
A drag out of reach made a thigh jump by 8.6 degrees in one of 80 moves, where the last 8 mm of a
hand's way took 0.12 degrees.

With w = 1e8 of the first level each step keeps to the curved set of poses that meet it, and ends where a limit crosses
that set: of 24 captured poses (bench row "body-reconstruction") 9 ended with a handle more than 0.02 of the height off
its target, 0 after a first descent by 1e2 (a trial). Of 300 feasible poses of a body with straight limbs, turned
far, 3 aren't found after one by 3e4, 8 by 1e4."""

_CHAINS_FROM_FAR = Firmness((1e8, 3e4, 1e5), (math.inf, 250.0, 400.0), 2e-3, 0.0195, most_away=2e-5, ends_early=True)

OF_CHAINS = _CHAINS_FROM_FAR._replace(most_forces=(math.inf, 250.0, 40.0), from_far=_CHAINS_FROM_FAR)
"""Of chains with pins: rotations and poles are met to 0.1 degrees where they can be; with a weight of
1e3 chains bent up to 9 degrees beside their poles. A force on a joint is weaker on the effector beyond it by its lever:
with F = 100 rotations beyond the limits of hands took them from their targets by up to 0.058 of a human's height,
with 40 by 0.020, before ``weighted_solution`` brought them back. With 20 a foot that was led beyond reach turned over:
6 of 50 seeded paths (bench row "body-paths") had a step with up to 56 times the median's rotation, with 40 none had
one with more than 3 times.

On seeded paths of Rigify's human with w = 1e5 and F = 500 of the targets a thigh rotated by up to 4.1 times the median
step's largest rotation where the legs straighten, the head led beyond reach, with 3e4 and 250 by 1.8. ``nearly_met``
makes up for the smaller w: with 1e-3 feet at the end of their reach stay 1e-3 off their targets, with 2e-3 1e-5.
``most_exact`` keeps the step in which a hand's target comes within reach to 3 times the median step's rotation.

From the reference pose steps with F = 40 of the rotations don't converge where a leg without limits is bent far: the
foot rotates away from its goal, and the knee stays anywhere about the line from hip to ankle. On 4 of 48 seeded paths
of hands, feet and head, each pose solved from rest, a bone rotated by 72 to 132 degrees in one step. After a descent
with F = 400 none rotated by more than 3 times the median step's rotation; with F = 100 one did."""

OF_FIXED_CHAINS = Firmness(
    (1e9, 7.5e6, 1e5),
    (math.inf, 4e3, 40.0),
    2e-3,
    0.2,
    is_strict=True,
    far_from_met=30.0,
    from_far=_CHAINS_FROM_FAR._replace(weights=(1e8, 3e5, 1e5), most_forces=(math.inf, 2e3, 100.0)),
)
"""Of chains with pins whose root is fixed, which can't come after the target.

Bounded forces of targets that exclude each other cancel out: the sum of their distances hardly tells how far each one
is, so the posture task must. With F = 1.6e4 a hand led low beyond reach, the head at its target, had two minima up to 5
degrees apart on a part of its path, and a step rotated a bone by up to 4.3 times the median step's largest rotation,
with 4e3 by 2.1; the sum is 1 % larger. ``nearly_met`` and ``most_exact`` bring what F leaves of a target within reach
near full extension, where the posture task pulls with up to 6e3: with 3e-4 and 0.035 a head stayed 1.8 mm off.

With ``far_from_met`` = 100 a hand that was led low, without limits and with poles, rotated a bone by 4.2 times the
median step's rotation in one step, with 30 by 2: here what isn't met is left where it is, and few targets that are far
can be met in part.

The force of a foot's rotation must be larger than the posture task pulls where the leg is bent far: with F = 25 a foot
led up in front of the body rotated away from its goal, by up to 72 degrees in one step, on 5 of 20 seeded paths, with
40 on none.

With w = 7.5e6 alone steps from the reference pose end in any of several minima: a hand led across the body, with its
rotation, rotated a bone by up to 24 times the median step's rotation in a step of its target, in 38 ms. After a descent
with ``from_far`` it is 1.5 times, in 19 ms. In it F of rotations is 100: with 40 two of 48 seeded paths had steps of 75
and 87 degrees, in which a foot rotated away from its goal, with 200 one had a step of 22 degrees. With w = 3e4 and F =
250 of the targets the second descent began too far from its minimum: 6.5 times where a hand was led low."""

_OF_ONE_CHAIN_FROM_FAR = OF_FIXED_CHAINS._replace(weights=(1e7, 1e5), most_forces=(math.inf, 400.0), from_far=None)

OF_ONE_CHAIN = _OF_ONE_CHAIN_FROM_FAR._replace(most_forces=(math.inf, 60.0), from_far=_OF_ONE_CHAIN_FROM_FAR)
"""Of the target of one chain, and of its rotation. With the weights and forces of ``OF_FIXED_CHAINS`` moves of a spine
beyond reach took 7.0 steps instead of 4.5, and on 84 paths of seven chains in a drag 18 had a jump instead of 15. With
F = 400 of the rotation also from the move before, a leg whose foot can't take its rotation had several places to stay:
of 24 drags of a foot and a hand 18 had a jump, the largest of 49 degrees; with F = 100, 60 and 40 these were 16, 15 and
13, the largest of 15.5. Of 1,200 frames of bakes to rotations that limits allow 41, 40, 38 and 52 were off by more than
0.1 degrees. ``from_far`` has 400: 141 of 150 such rotations of an arm are met from rest then, and 136 if F is 100 from
there, too."""

_TREES_FROM_FAR = Firmness((3e4, 3e4, 1e5), (250.0, 250.0, 40.0), 2e-3, 0.05, is_met_alone=True)

OF_TREES = _TREES_FROM_FAR._replace(weights=(3e5, 3e5, 1e5), from_far=_TREES_FROM_FAR)
"""Of chains without pins: of targets that are nearly met where the descent starts, of the others, and of rotations and
poles. The pull of a target far beyond reach, F times the root of ``tree_problem.LEAST_WEIGHT``, leaves the others
``nearly_met``: with w = 1e5 an arm of a Y missed its target by more than 1e-4 of the length of the bones, with 3e4 by
4.5e-4.

Forces of targets that exclude each other are at their bounds but within delta = F / w of the targets, where they change
sides: with w = 3e5 alone descents from rest of a hand that is led low beside a fixed root, without limits, used up
their steps anywhere in a narrow valley, and bones rotated by up to 54 times the median step's rotation where the path
is in steps of a quarter, with ``from_far`` by 2."""

POLE_FORCE = 20.0
"""F of poles on chains with up to two inner joints; the arc adds up all inner joints, and with more they share ``2 F``.
With F on each of six, two chains that share a trunk and have one pole, to which they can't both bend, were kept 3e-3
units from targets within reach, and bones rotated by up to 57 degrees in a step of 0.02 links; with F / 3 by 1.3. With
F / 2 on each of two, a drag of a hand of Rigify's human was 3.9 degrees off on the way back, instead of 0.05.

With 100 a leg that was led past its pole twisted up to its limits to bend toward the pole, and
slipped back by 17 degrees in one step: 3 of 50 seeded paths of Rigify's human, none with 20. Poles within reach of the
limits are met with 10, too."""

KEPT_BEND_FORCE = 1.5
"""F of bends that chains without poles keep, of residuals times the root of their weight: 33 of ``phi f h``, less than
F of targets and of rotations, which have a higher priority. On two of twelve seeded closed paths of Rigify's human
without limits and poles (bench row "body-paths") knees jump from one side to the other with 0.5 and 0.65, with 0.8 and
more on none."""


@dataclass(frozen=True)
class Loss:
    """The loss of T tasks, or of the single rows of tasks of which each row has a loss of its own (``LookAtTask``)."""

    sizes: Sequence[int]
    """Rows of each task."""
    weights: Array
    """(T,) w."""
    most_forces: Array
    """(T,) F; infinite where the loss is w r^2."""
    are_stiff: Sequence[bool]
    """Which of them are looks or stiff poles: the derivative of their force counts as o (``softening``)."""
    are_poles_stiff: bool = False
    """Whether poles are so, and have no part in K: in descents that don't begin with the forces of a solution near it.

    With their softening and their part in K from rest, far from the solution, K was indefinite in more steps: bones of
    Rigify's human beside a fixed root took 34 ms instead of 15 (bench row "body-path"). Without both in a descent that
    begins with the forces moves took 14 evaluations of the cost instead of 10; with one of them alone paths past a pole
    opened, or a knee rotated by 14 degrees in one step instead of 6."""

    @cached_property
    def _starts(self) -> NDArray[np.intp]:
        """(T,) first row of each task."""
        return np.cumsum([0, *self.sizes])[:-1]

    @cached_property
    def _tasks(self) -> NDArray[np.intp]:
        """(M,) task of each row."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def row_weights(self) -> Array:
        """(M,) w of each row."""
        return self.weights.take(self._tasks)

    @cached_property
    def _soft(self) -> tuple[NDArray[np.intp], Array]:
        """Which tasks have a force whose derivative isn't o (``softening``), and 1 / F of those."""
        rows = np.flatnonzero(np.isfinite(self.most_forces) & ~np.array(self.are_stiff, bool))
        return rows, 1.0 / self.most_forces[rows]

    def of(self, residual: Array) -> tuple[Component, Array]:
        """Return the loss of all tasks, and Omega (..., M), for residuals (..., M).

        ``2 F delta (s - 1) = 2 w r^2 / (s + 1)`` with ``s = sqrt(1 + (r / delta)^2)``, which is 1 where F is infinite.
        """
        if not self.sizes:
            return residual.sum(-1), residual  # a Y, whose targets are held, took 0.1 ms more without this
        squares = np.add.reduceat(residual * residual, self._starts, -1)
        roots = np.sqrt(1.0 + squares * np.square(self.weights / self.most_forces))
        found = (2.0 * self.weights * squares / (roots + 1.0)).sum(-1)
        return found, (self.weights / roots).take(self._tasks, -1)

    def softening(self, jacobian: Array, residual: Array, weights: Array) -> Array:
        """Return G (..., T', N + S): half the second derivatives of the loss are ``J^T Omega J - G^T G``.

        A row of G is of one of the T' tasks whose forces are bounded, and not stiff. The force of a task is ``o r``
        with ``o = w / sqrt(1 + (r / delta)^2)``, and its derivative by r is ``o - o^3 / F^2 r r^T``: far from the
        target the force hardly grows with the distance. With the derivative o a hand's path beyond reach (bench row
        "bake-body", "low") took 10 steps from frame to frame instead of 2.7, and descents ended up to 0.45 degrees
        short of their minima instead of 0.06. The derivative of a look is o: its small bound leaves nearly nothing of
        the difference, and *Bake Body* used up its steps 18 degrees off.
        """
        soft, inverse_forces = self._soft
        if not soft.size:
            return jacobian[..., :0, :]
        pulls = np.add.reduceat(residual[..., None] * jacobian, self._starts, -2).take(soft, -2)
        pulls *= (weights.take(self._starts[soft], -1) ** 1.5 * inverse_forces)[..., None]
        return pulls

    def are_crossed(self, residual: Array, left: Array) -> NDArray[np.bool_]:
        """Tell of each row of ``softening`` whether its task's residual changes sides with a step.

        Args:
            residual: (..., M) before the step.
            left: (..., M) that the step leaves in its model.
        """
        products = np.add.reduceat(residual * left, self._starts, -1)
        crossed: NDArray[np.bool_] = products.take(self._soft[0], -1) < 0.0
        return crossed


def loss_of(stack: TaskStack, firmness: Firmness, are_poles_stiff: bool = False) -> Loss:
    """Return the loss of a descent's tasks."""
    found: list[tuple[int, float, float, bool]] = []
    for number, level in enumerate(stack.levels):
        own = min(number, len(firmness.weights) - 1)
        for task, _ in level:
            weight, force, size = firmness.weights[own], firmness.most_forces[own], task.rows
            if isinstance(task, LookAtTask):
                weight, force, size = LOOK_AT_WEIGHT, LOOK_AT_FORCE, 1
            elif isinstance(task, PoleTask):
                force = 2.0 * POLE_FORCE / max(2, len(task.joints) - 2)
            is_stiff = isinstance(task, LookAtTask) or (are_poles_stiff and isinstance(task, PoleTask))
            found += [(size, weight, force, is_stiff)] * (task.rows // size)
    for task, _ in stack.preferences:
        force = KEPT_BEND_FORCE if isinstance(task, PoleTask) else math.inf
        found.append((task.rows, 1.0, force, False))
    sizes, weights, most_forces, are_stiff = zip(*found, strict=True) if found else ((), (), (), ())
    return Loss(sizes, np.array(weights), np.array(most_forces), are_stiff, are_poles_stiff)
