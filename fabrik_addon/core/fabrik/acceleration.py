# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Safeguarded Anderson mixing of FABRIK's sweeps (Peng et al. 2018, arXiv:1805.05715).

Near full extension a sweep only shortens the error by a few per cent: plain FABRIK then needs hundreds. A sweep is a
fixed-point map g of the inner joints, so the next input may be any combination of the last outputs. Mixing takes
the one whose combined residual f = g(x) - x is least, and is kept only where the sweep after it brought the tip closer.
"""

from __future__ import annotations

from operator import mul

from ..math.operations import TINY, Component, Components, Operations, add_up

DEPTH = 3
"""Residuals looked back at; measured on 3 to 100 links, more cost more than it saved."""

REGULARISATION = 1e-10
"""Share of the Gram matrix's trace added to its diagonal, so that parallel residuals don't blow up."""


class Mixing:
    """The history of one solve: the accepted outputs and residuals, and how they differed from the ones before."""

    def __init__(self, ops: Operations) -> None:
        self._ops = ops
        self._output: Components | None = None
        self._residual: Components = []
        self._error: Component = 0.0
        self._output_steps: list[Components] = []
        self._residual_steps: list[Components] = []

    def next_input(self, state: Components, output: Components, error: Component) -> Components:
        """Return the inner joints to sweep next.

        Args:
            state: the flat components that were swept.
            output: what the sweep made of them.
            error: of the sweep's output; any measure that grows with the tip's distance to the target.
        """
        ops = self._ops
        residual = [g - x for g, x in zip(output, state, strict=True)]
        if self._output is None:
            self._output, self._residual, self._error = output, residual, error
            return output
        worse = error > self._error
        output_step = [a - b for a, b in zip(output, self._output, strict=True)]
        residual_step = [a - b for a, b in zip(residual, self._residual, strict=True)]
        self._output_steps.append(output_step)
        self._residual_steps.append(residual_step)
        del self._output_steps[:-DEPTH], self._residual_steps[:-DEPTH]
        if ops.any(worse):
            # Back to the last accepted output, with a history that is all zeros: the next step is a plain sweep.
            nothing = [0.0 * g for g in output]
            self._output_steps = [ops.choose(worse, nothing, step) for step in self._output_steps]
            self._residual_steps = [ops.choose(worse, nothing, step) for step in self._residual_steps]
            output = ops.choose(worse, self._output, output)
            residual = ops.choose(worse, self._residual, residual)
            error = ops.where(worse, self._error, error)
        self._output, self._residual, self._error = output, residual, error
        mixed = list(output)
        for weight, step in zip(self._weights(residual), self._output_steps, strict=True):
            mixed = [m - weight * s for m, s in zip(mixed, step, strict=True)]
        return mixed

    def gather(self, items: Component) -> None:
        """Forget the lanes that are done."""
        keep = self._ops.gather
        if self._output is not None:
            self._output, self._residual = keep(items, self._output), keep(items, self._residual)
            (self._error,) = keep(items, [self._error])
            self._output_steps = [keep(items, step) for step in self._output_steps]
            self._residual_steps = [keep(items, step) for step in self._residual_steps]

    def _weights(self, residual: Components) -> list[Component]:
        """Solve the least squares |residual - sum weight_i residual_step_i| by its normal equations (at most 3 x 3)."""
        steps = self._residual_steps
        size = len(steps)
        gram = [[_dot(steps[i], steps[j]) for j in range(i + 1)] for i in range(size)]
        rest = [_dot(step, residual) for step in steps]
        damping = REGULARISATION * add_up(gram[i][i] for i in range(size)) + TINY
        # Cholesky without square roots, lower triangle in place: gram = L D L^T.
        for j in range(size):
            for k in range(j):
                gram[j][j] = gram[j][j] - gram[j][k] * gram[j][k] * gram[k][k]
            gram[j][j] = self._ops.maximum(gram[j][j], 0.0) + damping
            for i in range(j + 1, size):
                for k in range(j):
                    gram[i][j] = gram[i][j] - gram[i][k] * gram[j][k] * gram[k][k]
                gram[i][j] = gram[i][j] / gram[j][j]
        for i in range(size):
            for k in range(i):
                rest[i] = rest[i] - gram[i][k] * rest[k]
        for i in range(size - 1, -1, -1):
            rest[i] = rest[i] / gram[i][i]
            for k in range(i + 1, size):
                rest[i] = rest[i] - gram[k][i] * rest[k]
        return rest


def _dot(a: Components, b: Components) -> Component:
    return add_up(map(mul, a, b))
