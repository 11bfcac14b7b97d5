# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Safeguarded Anderson acceleration of FABRIK's sweeps (Peng et al. 2018, arXiv:1805.05715).

A sweep is a fixed-point map g of the inner joints x, with the residual ``f = g(x) - x``. With ``df_i`` and ``dg_i`` the
last ``DEPTH`` differences between successive residuals and between successive outputs, the next input is ``g(x) - sum
theta_i dg_i``, where theta minimises ``|f - sum theta_i df_i|^2``: of all combinations of the last outputs the one
whose combined residual is smallest. The safeguard: a sweep after which the error is greater than after the last
accepted sweep is rejected; the next input is the output of that accepted sweep, and all differences before it are
dropped.

Near full extension one sweep of FABRIK reduces the error by a few per cent only: without acceleration it needs hundreds
of sweeps.
"""

from operator import mul

from ..math.operations import TINY, Component, Components, Operations, Selection, add_up

DEPTH = 3
"""Differences kept: more cost more time than they save, on 3 to 100 links."""

REGULARISATION = 1e-10
"""Share of the trace of the Gram matrix ``df_i . df_j`` that is added to its diagonal: parallel residuals make the
matrix singular."""


class Mixing:
    """The history of one solve: the last accepted output and residual, and the differences of those before."""

    def __init__(self, ops: Operations) -> None:
        self._ops = ops
        self._output: Components | None = None
        self._residual: Components = []
        self._error: Component = 0.0
        self._output_steps: list[Components] = []
        self._residual_steps: list[Components] = []

    def next_input(self, given: Components, output: Components, error: Component) -> Components:
        """Return the input of the next sweep, given the input x and the output g(x) of the last one.

        The error is that of the output: any measure that grows with the distance from tip to target.
        """
        ops = self._ops
        residual = [g - x for g, x in zip(output, given, strict=True)]
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
            # Differences of zero have no part in the combination: the next input is the last accepted output itself.
            zeros = [0.0 * g for g in output]
            self._output_steps = [ops.choose(worse, zeros, step) for step in self._output_steps]
            self._residual_steps = [ops.choose(worse, zeros, step) for step in self._residual_steps]
            output = ops.choose(worse, self._output, output)
            residual = ops.choose(worse, self._residual, residual)
            error = ops.where(worse, self._error, error)
        self._output, self._residual, self._error = output, residual, error
        mixed = list(output)
        for weight, step in zip(self._weights(residual), self._output_steps, strict=True):
            mixed = [m - weight * s for m, s in zip(mixed, step, strict=True)]
        return mixed

    def gather(self, items: Selection) -> None:
        """Go on with some batch items only."""
        gather = self._ops.gather
        if self._output is not None:
            self._output, self._residual = gather(items, self._output), gather(items, self._residual)
            (self._error,) = gather(items, [self._error])
            self._output_steps = [gather(items, step) for step in self._output_steps]
            self._residual_steps = [gather(items, step) for step in self._residual_steps]

    def _weights(self, residual: Components) -> list[Component]:
        """Return theta, which minimises ``|f - sum theta_i df_i|^2``, by the normal equations (at most 3 x 3).

        The Gram matrix is factored as L D L^T in place, lower triangle only: Cholesky's factors without square roots.
        """
        steps = self._residual_steps
        size = len(steps)
        gram = [[_dot(steps[i], steps[j]) for j in range(i + 1)] for i in range(size)]
        rest = [_dot(step, residual) for step in steps]
        damping = REGULARISATION * add_up(gram[i][i] for i in range(size)) + TINY
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
