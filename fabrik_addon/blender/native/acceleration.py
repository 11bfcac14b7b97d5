# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Safeguarded Anderson mixing of sweeps as nodes: what ``core.fabrik.acceleration`` computes, step by step.

Where core sets a history to zero, its steps are kept here and left out by a factor of zero: that is one number for
each step instead of one vector for each joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

from ...core.fabrik.acceleration import DEPTH, REGULARISATION
from .nodes import Nodes, Value
from .passes import Joints, swept, tip_error
from .shared_groups import shared_group

_FIRST = 8
"""Mixed sweeps in the first of two loops: a loop's steps that aren't needed any more cost time too."""

_TINY = 1e-30
"""As TINY in core, in single precision."""

assert DEPTH == 3  # the history is written out


@dataclass(frozen=True)
class _History:
    """What mixing remembers of the sweeps before."""

    state: Joints
    """To sweep next."""
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


def _items(history: _History) -> dict[str, tuple[str, Value]]:
    """Return a history as named values with their kinds."""
    lists: list[tuple[str, str, list[Value]]] = [
        ("State", 'VECTOR', history.state),
        ("Output", 'VECTOR', history.output),
        ("Residual", 'VECTOR', history.residual),
        ("Best error", 'FLOAT', [history.error]),
        *((f"Output step {i}", 'VECTOR', step) for i, step in enumerate(history.output_steps)),
        *((f"Residual step {i}", 'VECTOR', step) for i, step in enumerate(history.residual_steps)),
        ("Product", 'FLOAT', history.products),
        ("Step counts", 'FLOAT', history.counts),
    ]
    return {f"{name} {i + 1}": (kind, value) for name, kind, values in lists for i, value in enumerate(values)}


def _history(nodes: Nodes, bundle: Value, joints: int) -> _History:
    """Return the history in a bundle."""
    nothing = _empty(joints, None, None)
    values = iter(nodes.unbundled(bundle, {name: kind for name, (kind, _) in _items(nothing).items()}))

    def take(count: int) -> list[Value]:
        return list(islice(values, count))

    state, output, residual, (error,) = take(joints), take(joints), take(joints), take(1)
    output_steps = [take(joints) for _ in range(DEPTH)]
    residual_steps = [take(joints) for _ in range(DEPTH)]
    return _History(state, output, residual, error, output_steps, residual_steps, take(3), take(DEPTH))


def _empty(joints: int, vector: Value, number: Value) -> _History:
    none = [vector] * joints
    return _History(none, none, none, number, [none] * DEPTH, [none] * DEPTH, [number] * 3, [number] * DEPTH)


def further_sweeps_group(count: int, plain_sweeps: int, most_sweeps: int) -> Any:
    """Return the group of all sweeps after the plain ones.

    Target, joints, lengths, last length, tolerance, sweeps → joints.
    """

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        inner = nodes.inputs("Joint", count - 1)
        lengths = nodes.inputs("Length", count)
        last_length = nodes.input("Last length", "NodeSocketFloat")
        tolerance = nodes.input("Tolerance", "NodeSocketFloat")
        sweeps = nodes.input("Sweeps", "NodeSocketInt")
        with nodes.frame("First sweep of the history"):
            output = swept(nodes, inner, lengths, target)
            error = tip_error(nodes, output, last_length, target)
            zero = _empty(count - 1, (0.0, 0.0, 0.0), 0.0)
            history = _History(
                state=output,
                output=output,
                residual=_minus(output, inner),
                error=error,
                output_steps=zero.output_steps,
                residual_steps=zero.residual_steps,
                products=zero.products,
                counts=zero.counts,
            )
            state = nodes.bundle(_items(history))
            chain = nodes.bundle(_chain(target, lengths, last_length))
        group = _mixed_sweep_group(count)

        def body(state: Value, error: Value) -> list[Value]:
            is_open = error > tolerance
            better, less = nodes.call(group, [chain, state])
            return [nodes.switch(is_open, better, state, 'BUNDLE'), nodes.switch(is_open, less, error, 'FLOAT')]

        left = nodes.subtract_int(sweeps, plain_sweeps + 1)
        for label, most in (("first", _FIRST), ("more", most_sweeps)):
            with nodes.frame(f"Mixed sweeps, {label}"):
                steps = nodes.switch(error > tolerance, nodes.clamped_int(left, 0, most), 0, 'INT')
                state, error = nodes.repeat(steps, {"State": ('BUNDLE', state), "Error": ('FLOAT', error)}, body)
                left = nodes.subtract_int(left, _FIRST)
        nodes.outputs("Joint", _history(nodes, state, count - 1).output)

    return shared_group(f"FABRIK further sweeps, {count} links", fill)


def _chain(target: Value, lengths: list[Value], last_length: Value) -> dict[str, tuple[str, Value]]:
    items = {f"Length {i + 1}": ('VECTOR', length) for i, length in enumerate(lengths)}
    return {"Target": ('VECTOR', target), "Last length": ('FLOAT', last_length), **items}


def _mixed_sweep_group(count: int) -> Any:
    """Return the group of one mixed sweep: chain and history → history, error."""

    def fill(nodes: Nodes) -> None:
        chain = nodes.input("Chain", "NodeSocketBundle")
        state = nodes.input("State", "NodeSocketBundle")
        with nodes.frame("Sweep"):
            kinds = {name: kind for name, (kind, _) in _chain(None, [None] * count, None).items()}
            target, last_length, *lengths = nodes.unbundled(chain, kinds)
            history = _history(nodes, state, count - 1)
            joints = swept(nodes, history.state, lengths, target)
            error = tip_error(nodes, joints, last_length, target)
        mixed = _mix(nodes, history, joints, error)
        nodes.output("State", nodes.bundle(_items(mixed)), "NodeSocketBundle")
        nodes.output("Error", mixed.error, "NodeSocketFloat")

    return shared_group(f"FABRIK mixed sweep, {count} links", fill)


def _mix(nodes: Nodes, history: _History, output: Joints, error: Value) -> _History:
    """Return the history after one more sweep, with the joints to sweep next."""
    with nodes.frame("History"):
        residual = _minus(output, history.state)
        worse = error > history.error
        kept = 1.0 - nodes.scalar('GREATER_THAN', error, history.error)
        output_steps = [*history.output_steps[1:], _minus(output, history.output)]
        residual_steps = [*history.residual_steps[1:], _minus(residual, history.residual)]
        counts = [*(count * kept for count in history.counts[1:]), kept]
        output = [nodes.switch(worse, a, b) for a, b in zip(history.output, output, strict=True)]
        residual = [nodes.switch(worse, a, b) for a, b in zip(history.residual, residual, strict=True)]
    with nodes.frame("Scalar products"):
        newest = residual_steps[-1]
        products = [*history.products, *(_dot(nodes, step, newest) for step in residual_steps)]
        desired = [_dot(nodes, step, residual) for step in residual_steps]
    with nodes.frame("Mixed joints"):
        mixed = output
        weights = nodes.call(_weights_group(), [*products, *desired, *counts])
        for weight, step in zip(weights, output_steps, strict=True):
            mixed = [nodes.multiply_add(weight, s, m) for m, s in zip(mixed, step, strict=True)]
    return _History(
        state=mixed,
        output=output,
        residual=residual,
        error=nodes.minimum(error, history.error),
        output_steps=output_steps,
        residual_steps=residual_steps,
        products=[products[2], products[4], products[5]],
        counts=counts,
    )


def _weights_group() -> Any:
    """Return the group of the least squares: products, right sides, counts → minus the weights, as vectors.

    A Cholesky decomposition without square roots, as in core. Products are those of residual steps 1-1, 2-1, 2-2, 3-1,
    3-2, 3-3, right sides those of the residual with them.
    """

    def fill(nodes: Nodes) -> None:
        g11, g21, g22, g31, g32, g33 = nodes.inputs("Product", 6, "NodeSocketFloat")
        w1, w2, w3 = nodes.inputs("Right side", 3, "NodeSocketFloat")
        c1, c2, c3 = nodes.inputs("Step counts", 3, "NodeSocketFloat")
        with nodes.frame("Only steps that count"):
            g11, g21, g22 = g11 * c1, g21 * (c1 * c2), g22 * c2
            g31, g32, g33 = g31 * (c1 * c3), g32 * (c2 * c3), g33 * c3
            w1, w2, w3 = w1 * c1, w2 * c2, w3 * c3
            minus = nodes.multiply_add(g11 + g22 + g33, -REGULARISATION, -_TINY)
        with nodes.frame("Cholesky decomposition, pivots negative"):
            d1 = minus - nodes.maximum(g11, 0.0)
            l21, l31 = g21 / d1, g31 / d1
            d2 = minus - nodes.maximum(nodes.multiply_add(l21, g21, g22), 0.0)
            h32 = nodes.multiply_add(l31, g21, g32)
            l32 = h32 / d2
            d3 = minus - nodes.maximum(nodes.multiply_add(l32, h32, nodes.multiply_add(l31, g31, g33)), 0.0)
        with nodes.frame("Solve"):
            w2 = nodes.multiply_add(l21, w1, w2)
            w3 = nodes.multiply_add(l32, w2, nodes.multiply_add(l31, w1, w3))
            v3 = w3 / d3
            v2 = nodes.multiply_add(l32, v3, w2 / d2)
            v1 = nodes.multiply_add(l31, v3, nodes.multiply_add(l21, v2, w1 / d1))
        nodes.outputs("Weight", [nodes.combine(v, v, v) for v in (v1, v2, v3)])

    return shared_group("FABRIK mixing weights", fill)


def _minus(a: Joints, b: Joints) -> Joints:
    return [p - q for p, q in zip(a, b, strict=True)]


def _dot(nodes: Nodes, a: Joints, b: Joints) -> Value:
    """Return the scalar product of two lists of vectors."""
    together = a[0] * b[0]
    for p, q in zip(a[1:], b[1:], strict=True):
        together = nodes.multiply_add(p, q, together)
    return nodes.dot(together, (1.0, 1.0, 1.0))
