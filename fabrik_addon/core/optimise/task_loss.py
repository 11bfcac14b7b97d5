# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loss of tasks that are weighed against each other: what a residual costs, and with what force its task pulls.

Of positions and rotations of the first level (pins and planted feet) and of preferences it is ``rho(r) = w r^2``; of
the others, whose force is bounded, the pseudo-Huber loss

    rho(r) = 2 F delta (sqrt(1 + (r / delta)^2) - 1),   delta = F / w

which is ``w r^2`` near the target and whose slope far away is 2 F.

Without the bound F a target beyond reach pulls in proportion to its distance, a hundred times harder than the posture
task: the pose becomes the nearest one of a set that isn't convex, and jumps. In a drag of a body's hips below where the
legs allow them a bone rotated by 17.6 times the median move's largest rotation in one move; with F by 4.1 times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..math.operations import Array
from .look_at_task import LOOK_AT_FORCE, LOOK_AT_WEIGHT, LookAtTask
from .task_stack import TaskStack
from .tasks import PoleTask


class Firmness(NamedTuple):
    """How firmly tasks are held against the posture task, whose weights are P."""

    weights: Sequence[float]
    """w of the levels, cost for each squared unit of the tree; the last one of all levels after it."""
    most_forces: Sequence[float]
    """F of the levels."""
    nearly_met: float
    """Length of a task's residual, in the tree's units, up to which the task is met exactly at the end."""
    most_exact: float
    """Largest change of a coordinate (radians, or units of a shift) by which tasks are met exactly at the end."""


OF_BODY = Firmness((1e8, 1e5, 1e3, 1e2), (math.inf, 500.0, 100.0, 30.0), 3e-3, 0.05)
"""Of a body. Targets of the second level that are within reach need forces of less than 250 in the drags of the bench,
most of them less than 100. A drag out of reach made a thigh jump by 8.6 degrees in one of 80 moves where a hand's last
8 mm took 0.12."""

OF_CHAINS = Firmness((1e8, 3e4, 1e5), (math.inf, 250.0, 100.0), 2e-3, 0.03)
"""Of chains with pins whose root moves: rotations and poles are met to 0.1 degrees where they can be; with a weight of
1e3 chains bent up to 9 degrees beside their poles.

On seeded paths of Rigify's human with w = 1e5 and F = 500 of the targets a thigh rotated by up to 4.1 times the median
step's largest rotation where the legs straighten, the head led beyond reach, with 3e4 and 250 by 1.8. ``nearly_met``
makes up for the smaller w: with 1e-3 feet at the end of their reach stay 1e-3 off their targets, with 2e-3 1e-4. With
``most_exact`` = 0.05 a spine rotated by 19 degrees in the step in which a hand's target comes within reach, with 0.03
by 13."""

POLE_FORCE = 20.0
"""F of poles. With 100, that of rotations, a leg that was led past its pole twisted up to its limits to bend toward the
pole, and slipped back by 17 degrees in one step: 3 of 50 seeded paths of Rigify's human, none with 20. Poles within
reach of the limits are met with 10, too."""


@dataclass(frozen=True)
class Loss:
    """The loss of the tasks."""

    spans: Sequence[slice]
    """Rows of each task, or one row where each row of a task has a loss of its own (``LookAtTask``)."""
    weights: Sequence[float]
    most_forces: Sequence[float]
    are_stiff: Sequence[bool]
    """Which of them are looks or poles: the derivative of their force counts as W (``softening``)."""

    def of(self, residual: Array) -> tuple[float, Array]:
        """Return the loss of all tasks, and W (M,)."""
        found, weights = 0.0, np.empty(len(residual))
        for span, weight, force in zip(self.spans, self.weights, self.most_forces, strict=True):
            rows = residual[span]
            square = float(rows @ rows)
            if force == math.inf:
                found += weight * square
                weights[span] = weight
            else:
                distance = force / weight
                root = math.sqrt(1.0 + square / (distance * distance))
                found += 2.0 * force * distance * (root - 1.0)
                weights[span] = weight / root
        return found, weights

    def softening(self, jacobian: Array, residual: Array, weights: Array) -> Array:
        """Return by how much half the second derivatives of the loss are less than ``J^T W J`` (N + S, N + S).

        The force of a task is ``W r`` with ``W = w / sqrt(1 + (r / delta)^2)``, and its derivative by r is
        ``W - W^3 / F^2 r r^T``: far from the target the force hardly grows with the distance. With the derivative W a
        hand's path beyond reach (bench row "bake-body", "low") took 10 steps from frame to frame instead of 2.7, and
        descents ended up to 0.45 degrees short of their minima instead of 0.06. The derivative of a look is W: its
        small bound leaves nearly nothing of the difference, and *Bake Body* used up its steps 18 degrees off. So is
        that of a pole, whose arc has second derivatives that K lacks: a knee that was led past its pole rotated by 14
        degrees in one step instead of 6.
        """
        pulls = [
            math.sqrt(weights[span.start] ** 3) / force * (residual[span] @ jacobian[span])
            for span, force, is_stiff in zip(self.spans, self.most_forces, self.are_stiff, strict=True)
            if not is_stiff and force < math.inf
        ]
        stacked = np.array(pulls).reshape(-1, jacobian.shape[1])
        found: Array = stacked.T @ stacked
        return found


def loss_of(stack: TaskStack, firmness: Firmness, most_weight: float) -> Loss:
    """Return the loss of a descent's tasks, of which none has a weight above ``most_weight``."""
    spans, weights, most_forces, are_stiff = [], [], [], []
    row = 0
    for number, level in enumerate(stack.levels):
        own = min(number, len(firmness.weights) - 1)
        for task, _ in level:
            weight, force, size = firmness.weights[own], firmness.most_forces[own], task.rows
            if isinstance(task, LookAtTask):
                weight, force, size = LOOK_AT_WEIGHT, LOOK_AT_FORCE, 1
            elif isinstance(task, PoleTask):
                force = POLE_FORCE
            for first in range(row, row + task.rows, size):
                spans.append(slice(first, first + size))
                weights.append(min(most_weight, weight))
                most_forces.append(force)
                are_stiff.append(isinstance(task, (LookAtTask, PoleTask)))
            row += task.rows
    for task, _ in stack.preferences:
        spans.append(slice(row, row + task.rows))
        weights.append(1.0)
        most_forces.append(math.inf)
        are_stiff.append(False)
        row += task.rows
    return Loss(spans, weights, most_forces, are_stiff)
