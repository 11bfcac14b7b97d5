# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Safeguarded Anderson mixing of sweeps as nodes: what ``core.acceleration`` computes, step by step.

Where core sets a history to zero, its steps are kept here and left out by a factor of zero: that is one number for
each step instead of one vector for each joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.acceleration import DEPTH, REGULARISATION
from .groups import shared_group
from .nodes import Nodes, Value
from .passes import Joints, sweep, sweep_group

SWEEPS = 4
"""Mixed sweeps in one group: the next group is evaluated only where these didn't reach."""

_TINY = 1e-30
"""As TINY in core, in single precision."""

assert DEPTH == 3  # the history is written out


@dataclass(frozen=True)
class _History:
    """What mixing remembers of the sweeps before."""

    state: Joints
    """Inner joints to sweep next."""
    output: Joints
    """The last accepted ones."""
    residual: Joints
    error: Value
    output_steps: list[Joints]
    """The oldest first; ``DEPTH`` of them, as below."""
    residual_steps: list[Joints]
    products: list[Value]
    """Scalar products of the newer two residual steps: 2 with 2, 3 with 2, 3 with 3."""
    counts: list[Value]
    """Whether a step counts: 1, or 0 where there is none yet or one was thrown away."""


def _flat(history: _History) -> list[tuple[str, str, list[Value]]]:
    """Return a history as named lists of sockets, with what kind of socket they are."""
    vector, number = "NodeSocketVector", "NodeSocketFloat"
    steps = [(f"Output step {i + 1}", vector, step) for i, step in enumerate(history.output_steps)]
    steps += [(f"Residual step {i + 1}", vector, step) for i, step in enumerate(history.residual_steps)]
    return [
        ("State", vector, history.state),
        ("Output", vector, history.output),
        ("Residual", vector, history.residual),
        ("Best error", number, [history.error]),
        *steps,
        ("Product", number, history.products),
        ("Step counts", number, history.counts),
    ]


def _unflat(groups: list[list[Value]]) -> _History:
    state, output, residual, (error,), *steps, products, counts = groups
    return _History(state, output, residual, error, steps[:DEPTH], steps[DEPTH:], products, counts)


def mixing_group(count: int) -> Any:
    """Return the group of some mixed sweeps: target, lengths, tolerance, history → joints, error, history."""

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        lengths = nodes.inputs("Length", count)
        tolerance = nodes.input("Tolerance", "NodeSocketFloat")
        empty: Joints = [None] * (count - 1)
        shape = _History(empty, empty, empty, None, [empty] * DEPTH, [empty] * DEPTH, [None] * 3, [None] * DEPTH)
        history = _unflat([nodes.inputs(name, len(values), kind) for name, kind, values in _flat(shape)])
        swept: list[Joints] = []
        errors: list[Value] = []
        for number in range(SWEEPS):
            with nodes.frame(f"Mixed sweep {number + 1}"):
                joints = sweep(nodes, history.state, lengths, target)
                error = nodes.distance(joints[-1], target)
                history = _mix(nodes, history, joints[:-1], error)
            swept.append(joints)
            errors.append(error)
        with nodes.frame("Stop when reached"):
            last = nodes.first_true([error <= tolerance for error in errors[:-1]])
            joints = [nodes.choose(last, each) for each in zip(*swept, strict=True)]
            error = nodes.choose(last, errors, 'FLOAT')
        nodes.outputs("Joint", joints[:-1])
        nodes.output("Tip", joints[-1])
        nodes.output("Error", error, "NodeSocketFloat")
        for name, kind, values in _flat(history):
            nodes.outputs(name, values, kind)

    return shared_group(f"FABRIK mixed sweeps, {count} links", fill)


def _mix(nodes: Nodes, history: _History, output: Joints, error: Value) -> _History:
    """Return the history after one more sweep, with the joints to sweep next."""
    with nodes.frame("History"):
        residual = [g - x for g, x in zip(output, history.state, strict=True)]
        worse = error > history.error
        kept = 1.0 - nodes.scalar('GREATER_THAN', error, history.error)
        output_steps = [*history.output_steps[1:], _minus(output, history.output)]
        residual_steps = [*history.residual_steps[1:], _minus(residual, history.residual)]
        counts = [*(count * kept for count in history.counts[1:]), kept]
        output = [nodes.switch(worse, a, b) for a, b in zip(history.output, output, strict=True)]
        residual = [nodes.switch(worse, a, b) for a, b in zip(history.residual, residual, strict=True)]
    with nodes.frame("Weights: least squares of the residual"):
        newest = residual_steps[-1]
        p22, p32, p33 = history.products
        products = [p22, p32, p33, *(_dot(nodes, step, newest) for step in residual_steps)]
        wishes = [_dot(nodes, step, residual) for step in residual_steps]
        weights = _weights(nodes, products, wishes, counts)
    with nodes.frame("Mixed joints"):
        mixed = output
        for weight, step in zip(weights, output_steps, strict=True):
            factor = nodes.combine(weight, weight, weight)
            mixed = [nodes.multiply_add(factor, s, m) for m, s in zip(mixed, step, strict=True)]
    return _History(
        state=mixed,
        output=output,
        residual=residual,
        error=nodes.minimum(error, history.error),
        output_steps=output_steps,
        residual_steps=residual_steps,
        products=[p33, products[4], products[5]],
        counts=counts,
    )


def _weights(nodes: Nodes, products: list[Value], wishes: list[Value], counts: list[Value]) -> list[Value]:
    """Return minus the weights of the steps, by a Cholesky decomposition without square roots as in core.

    Args:
        nodes: the tree.
        products: of residual steps 1-1, 2-1, 2-2, 3-1, 3-2, 3-3.
        wishes: products of the residual with them.
        counts: of the steps.
    """
    c1, c2, c3 = counts
    g11, g21, g22 = products[0] * c1, products[1] * (c1 * c2), products[2] * c2
    g31, g32, g33 = products[3] * (c1 * c3), products[4] * (c2 * c3), products[5] * c3
    w1, w2, w3 = (wish * count for wish, count in zip(wishes, counts, strict=True))
    damping = nodes.multiply_add(g11 + g22 + g33, REGULARISATION, _TINY)
    minus = -1.0 * damping
    # Negative pivots, so that every step after them is one multiplication and addition.
    d1 = minus - nodes.maximum(g11, 0.0)
    l21, l31 = g21 / d1, g31 / d1
    d2 = minus - nodes.maximum(nodes.multiply_add(l21, g21, g22), 0.0)
    h32 = nodes.multiply_add(l31, g21, g32)
    l32 = h32 / d2
    d3 = minus - nodes.maximum(nodes.multiply_add(l32, h32, nodes.multiply_add(l31, g31, g33)), 0.0)
    w2 = nodes.multiply_add(l21, w1, w2)
    w3 = nodes.multiply_add(l32, w2, nodes.multiply_add(l31, w1, w3))
    v3 = w3 / d3
    v2 = nodes.multiply_add(l32, v3, w2 / d2)
    v1 = nodes.multiply_add(l31, v3, nodes.multiply_add(l21, v2, w1 / d1))
    return [v1, v2, v3]


def _minus(a: Joints, b: Joints) -> Joints:
    return [p - q for p, q in zip(a, b, strict=True)]


def _dot(nodes: Nodes, a: Joints, b: Joints) -> Value:
    """Return the scalar product of two lists of vectors."""
    together = a[0] * b[0]
    for p, q in zip(a[1:], b[1:], strict=True):
        together = nodes.multiply_add(p, q, together)
    return nodes.dot(together, (1.0, 1.0, 1.0))


def many_sweeps_group(count: int, plain_sweeps: int, most_sweeps: int) -> Any:
    """Return the group of all sweeps after the plain ones: target, joints, lengths, tolerance, sweeps → joints, error."""

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        inner = nodes.inputs("Joint", count - 1)
        lengths = nodes.inputs("Length", count)
        tolerance = nodes.input("Tolerance", "NodeSocketFloat")
        sweeps = nodes.input("Sweeps", "NodeSocketInt")
        with nodes.frame("First sweep of the history"):
            *output, tip, error = nodes.call(sweep_group(count), [target, *inner, *lengths])
            none = [(0.0, 0.0, 0.0)] * (count - 1)
            history = _History(
                output, output, _minus(output, inner), error, [none] * 3, [none] * 3, [0.0] * 3, [0.0] * 3
            )
        results = [[*output, tip, error]]
        stops = []
        group = mixing_group(count)
        values = [value for _, _, each in _flat(history) for value in each]
        for used in range(plain_sweeps + 1, most_sweeps, SWEEPS):
            with nodes.frame(f"Sweeps {used + 1} to {used + SWEEPS}"):
                stops.append((results[-1][-1] <= tolerance) | nodes.compare_int('LESS_EQUAL', sweeps, used))
                found = nodes.call(group, [target, *lengths, tolerance, *values])
            results.append(found[: count + 1])
            values = list(found[count + 1 :])
        with nodes.frame("Stop when reached"):
            last = nodes.first_true(stops)
            kinds = ['VECTOR'] * count + ['FLOAT']
            chosen = [
                nodes.choose(last, each, kind) for kind, each in zip(kinds, zip(*results, strict=True), strict=True)
            ]
        nodes.outputs("Joint", chosen[: count - 1])
        nodes.output("Tip", chosen[-2])
        nodes.output("Error", chosen[-1], "NodeSocketFloat")

    return shared_group(f"FABRIK further sweeps, {count} links", fill)
