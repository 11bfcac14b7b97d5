# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tasks that are nearly met are met exactly, by short steps from where a descent has ended."""

from dataclasses import replace

import numpy as np

from ..math.factorisation import damped_inverse
from ..math.operations import Array, Component, Condition
from ..model.tree_state import State
from ..tasks.floor_task import CONTACT, FloorTask
from ..tasks.task_stack import TaskStack
from .bounded_least_squares import BOUND_ROUNDS
from .cost_model import bounds_of, product
from .held_descent import descend_held

MEETING_STEPS = 6
"""Steps of ``meet_all`` at most. All of 630 frames of Rigify's human (bench row "bake-body"), with residuals of up to
3.3e-3, were met; with one J for five steps 383 weren't."""

LEAST_MEETING_DAMPING, MEETING_DAMPING = 1e-9, 0.1
"""lambda of those steps over the trace of ``J W J^T``: where all is met, and for each unit of the tree by which the
tasks are off, over the number of their rows. So what can be met is met exactly, and what can't stays where few damped
steps lead, continuous in the targets.

With the first alone, and steps of strict priority where not all was met, these ended unconverged, and poses that are
smooth by weight jumped: on a hand's path beyond reach (bench row "body-path", without pins, low, limits and poles) a
bone rotated in a step by up to 4.4 times the median step's largest rotation, with both by 2.0."""

EXACT_ENOUGH = 2e-6
"""Length of the residual, in the tree's units, from which on no more steps are taken. With 1e-7 a hand led across the
body took 8 percent more time."""

NEARLY_EXACT = 3e-5
"""Length of the residual, in the tree's units, up to which ``meet_all`` has met the tasks."""

PROMISING = 0.6
"""Share of the residual that two steps may leave, up to which more are taken. On paths of Rigify's human (bench rows
"body-path" and "body-paths") what was met had at most 0.44 left after two steps, with the steps of ``meet_slowly`` at
most 0.57, what wasn't met 0.44 to 1.06 (4141 poses). Without ``Firmness.ends_early`` all steps are taken: poses of
trees without pins converge in them, and jump where they are left out."""

EXACT_STEPS = 20
"""Steps of ``meet_slowly`` at most. With 10 a foot
that was dragged into the floor came 5e-4 of the height below it, with 20 4e-5."""


def meet_all(
    stack: TaskStack, start: State, is_strict: bool = False, ends_early: bool = False
) -> tuple[State, Condition]:
    """Return the state near another one in which all tasks are met, and whether they are, to ``NEARLY_EXACT``.

    Steps ``W J^T (J W J^T + lambda)^-1 r``, every second one with the J of the step before it, and lambda in proportion
    to the residual (``MEETING_DAMPING``): the nearest state in the metric W^-1 but for the curvature of the tasks.

    Args:
        is_strict: whether lambda is that of met tasks in all steps: the caller takes the state only if all is met.
        ends_early: whether no more steps are taken where two leave more than ``PROMISING`` of the residual.
    """
    ops, state, residual = stack.ops, start, stack.residual(start)
    squares = first = (residual * residual).sum(-1)
    goes_on: Condition = first >= 0.0
    for number in range(MEETING_STEPS):
        if number % 2 == 0:
            off = np.sqrt(squares) / max(1, residual.shape[-1])
            damping = LEAST_MEETING_DAMPING + (0.0 if is_strict else MEETING_DAMPING) * off
            back = _inverse_within_bounds(stack, state, residual, damping)
        change = product(back, residual)
        state = stack.coordinates.applied(state, (change.T * ops.where(goes_on, 1.0, 0.0)).T)
        residual = stack.residual(state)
        squares = (residual * residual).sum(-1)
        goes_on = goes_on & (squares > EXACT_ENOUGH**2)
        if number == 1 and ends_early:
            goes_on = goes_on & (squares <= PROMISING**2 * first)
        if not ops.any(goes_on):
            break
    return state, squares <= NEARLY_EXACT**2


def _inverse_within_bounds(stack: TaskStack, state: State, residual: Array, damping: Component) -> Array:
    """Return the pseudo-inverse (..., N + S, M) of J over the coordinates that no step takes out of their limits.

    A swing near its ellipse has its coordinates along normal and tangent, as in ``cost_model``.
    """
    down, up, swings = bounds_of(stack, state)
    rows, weights = swings.from_axes(stack.jacobian(state)), stack.coordinates.weights + np.zeros((*stack.batch, 1))
    for _ in range(BOUND_ROUNDS):
        back = _pseudo_inverse(rows, weights, damping)
        change = product(back, residual)
        is_out = (change > up) | (change < down)
        if not is_out.any():
            break
        weights = np.where(is_out, 0.0, weights)
    return swings.to_axes(back.swapaxes(-1, -2)).swapaxes(-1, -2)


def _pseudo_inverse(rows: Array, weights: Array, damping: Component) -> Array:
    """Return ``W J^T (J W J^T + lambda)^-1`` (..., N, M), with the damping, lambda over the trace of ``J W J^T``."""
    weighted = rows * weights[..., None, :]
    normal = weighted @ rows.swapaxes(-1, -2)
    least = damping * normal.trace(axis1=-2, axis2=-1) + 1e-12
    return (damped_inverse(normal, least) @ weighted).swapaxes(-1, -2)


def meet_slowly(stack: TaskStack, state: State) -> State:
    """Return the state to which ``EXACT_STEPS`` steps at most toward all tasks alike lead: they may not all be met."""
    together = stack.with_levels([[task for level in stack.levels for task in level]])
    return descend_held(together, state, None, EXACT_STEPS).state


def within_change(stack: TaskStack, state: State, other: State, most: float) -> State:
    """Return another state, or where a coordinate changes by more than ``most`` to there, a share of the way to it.

    A share of the coordinates' way, not of the residual: near full extension the way grows as the root of the residual,
    and with a share of the residual a spine rotated by 11.5 degrees where 1.7 were allowed.
    """
    largest = largest_change(stack, state, other)
    way = stack.coordinates.to_reference(state, other)
    return stack.coordinates.applied(state, most / largest * way) if largest > most else other


def largest_change(stack: TaskStack, state: State, other: State) -> float:
    """Return the largest change of a coordinate (radians, or units of a shift) from a state to another one."""
    return float(np.abs(stack.coordinates.to_reference(state, other)).max(initial=0.0))


def with_first_level_met(stack: TaskStack, state: State) -> State:
    """Return a state near another one with the first level met to ``EXACT_ENOUGH``, and the floor task if it can be.

    Where the first level and the floor task aren't met, both are met alike; where the first level isn't met after
    that, it is met alone.

    A share of the way between two poses over the floor may go through it: without the floor task a foot that was
    dragged into the floor came 1.3e-3 of the height below it (bench row "body-pulling"), with it 4e-5.
    """
    lower = [each for level in stack.levels[1:] for each in level]
    floor = [(replace(task, heights=task.heights - CONTACT), w) for task, w in lower if isinstance(task, FloorTask)]
    for held in (stack.with_levels([stack.levels[0], floor]), stack.first_level):
        if np.linalg.norm(held.residual(state)) <= EXACT_ENOUGH:
            break
        state = meet_slowly(held, state)
    return state
