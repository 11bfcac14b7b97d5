# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Of all legal poses whose tip is at a target, the one that turns least from a pose at hand.

Least squares by themselves end at whichever pose they come by, and a target that moves a little can make that another
one. The pose that turns least is a continuous function of the target, up to where another is as near. A step of damped
least squares gives the tip what it wants and all that is left, the null space of the Jacobian, to the way home
(Liegeois 1977). Turns are weighed by the joints' weights: a stiff one turns less.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..math.operations import TINY, Component, Condition, Operations, Vector
from ..math.vectors import Parts, choose_parts, distance_between, dot
from ..model.constrained_chain import ConstrainedChain, Placed, place
from ..model.joint_limits import SwingTwist, clamp
from .bounded_least_squares import Columns, block_all, descend, jacobian_columns, normal_solution
from .damped_steps import shortened

FIRST_DAMPING = 0.5
"""Of the first step, in units of the squared length: it falls with every step that helps."""

LEAST_DAMPING, MOST_DAMPING = 1e-7, 1e4
"""Less is rounding; with more no step would help any more."""

STILL = 1e-4
"""Square of the share of a gap that the free axes still see: below it the tip comes no nearer."""

PATIENCE, WORTH_IT = 8, 0.5
"""Steps that must bring a tip nearer by this factor: what comes on more slowly is caught between limits."""

NEARLY = 0.02
"""Distance from the target at which a step may lose some of it on the way home: the next one makes it up."""

LEAST_STRIDE, MOST_STRIDE = 0.1, 6.0
"""Share of the way home that a step takes, as far as the tip allows: it turns out how limbs bend that way."""

GROWTH = 6.0
"""A stride is at most so many times the one before."""

SETTLED = 1e-3
"""Turn, half-sines or radians, that is no more worth a step on the way home."""


def rotate_least(
    ops: Operations,
    constrained_chain: ConstrainedChain,
    start: Sequence[SwingTwist],
    reference: Sequence[SwingTwist],
    target: Vector,
    tolerance: float,
    steps: int,
) -> tuple[list[SwingTwist], Placed, Component]:
    """Bring the tip to the target with the least turn from home that there is near the start.

    A lane whose target is out of any limb's reach is left where it starts.

    Args:
        ops: the lanes' operations.
        limb: the bones.
        start: turns to begin with; allowed by limits.
        home: turns to stay near to. A lane that starts there with its tip at the target stays to the last bit.
        target: where the tip should be.
        tolerance: distance from tip to target that counts as reached.
        steps: at most.

    Returns:
        turns after, where the bones then are, distance from tip to target.
    """
    coordinates = list(start)
    placed = place(ops, constrained_chain, coordinates)
    error = distance_between(ops, placed.joints[-1], target)
    damping: Component = FIRST_DAMPING + 0.0 * error
    stride: Component = 1.0 + 0.0 * error
    step_before: list[list[Component]] | None = None
    stride_before, was_near_before = stride, error < 0.0
    at_home: Condition = error >= 0.0
    for here, there in zip(coordinates, reference, strict=True):
        for a, b in zip(here, there, strict=True):
            at_home = at_home & (a == b)
    done = at_home & (error <= tolerance)
    if steps >= PATIENCE:
        # Farther than the limb is long: whoever calls starts elsewhere. With fewer steps nobody does.
        done = done | (dot(target, target) > (1.0 + tolerance) * (1.0 + tolerance))
    is_caught: Condition = False
    before = nearest = error
    for step in range(1, steps + 1):
        if ops.all(done):
            break
        (gx, gy, gz), (x, y, z) = target, placed.joints[-1]
        # Once it is there only the way home counts: on the verge of what a limb reaches the rest hides its side.
        open_part = ops.where(error <= tolerance, 0.0, 1.0)
        residual = (open_part * (gx - x), open_part * (gy - y), open_part * (gz - z))
        # What had to leave home to find its way isn't drawn back before it has.
        pull = ops.where(at_home | (error <= NEARLY), stride, 0.0)
        change, longest, is_still = _step(
            ops, constrained_chain, coordinates, reference, placed, residual, damping, pull
        )
        trial = [
            clamp(ops, limits, (x + dx, twist + dt, z + dz))
            for limits, (x, twist, z), (dx, dt, dz) in zip(constrained_chain.limits, coordinates, change, strict=True)
        ]
        trial_placed = place(ops, constrained_chain, trial)
        trial_error = distance_between(ops, trial_placed.joints[-1], target)
        is_near = trial_error <= NEARLY
        better = ((trial_error < error) | is_near) & ops.negate(done)
        if ops.all(better):
            coordinates, placed = trial, trial_placed
        elif ops.any(better):
            coordinates = [choose_parts(ops, better, a, b) for a, b in zip(trial, coordinates, strict=True)]
            placed = _choose(ops, better, trial_placed, placed)
        helps = better & (is_near | (trial_error < 0.999 * error))
        # Near the target it is the way home that was too long, where it leads astray; else the way there.
        was_near = error <= NEARLY
        if step_before is not None and ops.any(was_near & was_near_before):
            fitting = _fitting(ops, step_before, change, stride_before, stride)
            next_stride = ops.where(was_near & was_near_before, fitting, stride)
        else:
            next_stride = stride
        next_stride = ops.where(was_near & ops.negate(helps), 0.5 * stride, next_stride)
        step_before, stride_before, stride, was_near_before = change, stride, next_stride, was_near & helps
        damping = ops.where(
            helps, ops.maximum(0.2 * damping, LEAST_DAMPING), ops.where(was_near, damping, 6.0 * damping)
        )
        error = ops.where(better, trial_error, error)
        is_caught = is_caught | (is_still & (error > NEARLY))
        nearest = ops.minimum(nearest, error)
        if step % PATIENCE == 0:
            is_caught = is_caught | (nearest > ops.maximum(WORTH_IT * before, tolerance))
            before = nearest
        done = done | ((error <= tolerance) & (longest <= SETTLED)) | is_caught | (damping > MOST_DAMPING)
    if ops.any((error > tolerance) & (error <= NEARLY)):
        # Steps may have run out on the way home.
        coordinates, placed, error, _ = descend(ops, constrained_chain, coordinates, target, tolerance, steps // 4)
    return coordinates, placed, error


def _fitting(
    ops: Operations,
    before: Sequence[Sequence[Component]],
    step: Sequence[Sequence[Component]],
    stride_before: Component,
    stride: Component,
) -> Component:
    """Return the stride with which the step before would have come all the way, as this one tells.

    Of the next step the secant equation asks as much (Barzilai & Borwein 1988): strides as short as the sharpest bend
    of all legal poses that reach would take three times as many steps.
    """
    size = product = 0.0 * stride
    for joint, next_joint in zip(before, step, strict=True):
        for a, b in zip(joint, next_joint, strict=True):
            size, product = size + a * a, product + a * b
    left = product * stride_before / (size * stride + TINY)
    fits = stride_before / ops.maximum(1.0 - left, 1.0 / GROWTH)
    return ops.maximum(ops.minimum(fits, MOST_STRIDE), LEAST_STRIDE)


def _step(
    ops: Operations,
    constrained_chain: ConstrainedChain,
    coordinates: Sequence[SwingTwist],
    reference: Sequence[SwingTwist],
    placed: Placed,
    residual: Vector,
    damping: Component,
    pull: Component,
) -> tuple[list[list[Component]], Component, Condition]:
    """Return how far each bone should turn, the farthest of it before it was cut, and whether it is no use."""
    zero = 0.0 * damping
    # The way home rides along with the tip's response, so that what limits take away is taken from both.
    columns: list[Columns] = [
        [
            None if r is None else (*r, pull * (there - here))
            for r, here, there in zip(joint, turn, desired, strict=True)
        ]
        for joint, turn, desired in zip(
            jacobian_columns(ops, constrained_chain, coordinates, placed), coordinates, reference, strict=True
        )
    ]
    change: list[list[Component]] = []
    y: Vector = residual
    for _ in range(3):
        mx = my = mz = zero
        for joint in columns:
            for column in joint:
                if column is not None:
                    rx, ry, rz, way = column
                    mx, my, mz = mx + way * rx, my + way * ry, mz + way * rz
        rest = (residual[0] - mx, residual[1] - my, residual[2] - mz)
        y = normal_solution(ops, columns, constrained_chain.weights, rest, damping)
        a, b, c = y
        change = [
            [
                zero if r is None else r[3] + weight * (r[0] * a + r[1] * b + r[2] * c)
                for r, weight in zip(joint, weights, strict=True)
            ]
            for joint, weights in zip(columns, constrained_chain.weights, strict=True)
        ]
        if not block_all(ops, constrained_chain, coordinates, columns, change):
            break
    share, longest = shortened(ops, change, zero)
    # Damping times y is what the step leaves of the gap: all of it where no free axis moves the tip that way.
    left = damping * ops.sqrt(dot(y, y)) / (ops.sqrt(dot(residual, residual)) + TINY)
    is_still = (1.0 - left) * ops.maximum(damping, 1.0) < STILL
    return [[share * part for part in joint_change] for joint_change in change], longest, is_still


def _choose(ops: Operations, where: Condition, yes: Placed, no: Placed) -> Placed:
    def chosen(a: Sequence[Parts], b: Sequence[Parts]) -> list[Parts]:
        return [choose_parts(ops, where, p, q) for p, q in zip(a, b, strict=True)]

    return Placed(chosen(yes.parents, no.parents), chosen(yes.frames, no.frames), chosen(yes.joints, no.joints))
