# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Descent of the tip's distance from a target by steps of the Jacobian, each accepted only where it falls.

J is the Jacobian of the tip's position by the joints' axes, W the diagonal matrix of the axes' weights, r the residual
``target - tip``. All methods change the axes by W J^T y and differ in y alone, which is found from r and the 3 x 3
matrix J W J^T, whatever the chain's length. Damped least squares solve (J W J^T + damping) y = r (Wampler 1986;
Nakamura & Hanafusa 1986; Buss 2004), with more damping after a step that was not accepted (Levenberg-Marquardt).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from ..math.operations import TINY, Component, Condition, Operations, Vector
from ..math.quaternions import Quaternion, multiply, rotate
from ..math.vectors import choose_each, cross, distance_between, dot, subtract
from ..model.constrained_chain import ConstrainedPose

LONGEST_DAMPED_STEP = 0.5
"""Largest change of one axis in one step, half-sine or radians: the Jacobian is that of the start of the step."""

Symmetric: TypeAlias = tuple[Component, Component, Component, Component, Component, Component]
"""xx, yy, zz, xy, xz, yz of a symmetric matrix."""

Solve: TypeAlias = Callable[[Operations, Symmetric, Vector, Component], Vector]
"""(ops, J W J^T, residual, control): y."""


@dataclass(frozen=True)
class Rule:
    """How a step is found, and how its control, one number for each batch item, changes after it.

    The control is the damping, or the share of the step that is taken.
    """

    solution: Solve
    first: float
    """The control of the first step."""
    least_gain: float
    """Share of the residual that a step must take away to be a success."""
    after_success: Callable[[Operations, Component], Component]
    """(ops, control): the control after a success."""
    after_failure: float
    """Factor of the control after any other step."""
    is_spent: Callable[[Component], Condition]
    """Whether the descent ends at a control."""


_Pose = TypeVar("_Pose", ConstrainedPose, "FreeChain")


def descend_to(
    ops: Operations,
    pose: _Pose,
    stepped: Callable[[_Pose, Vector, Component], _Pose],
    target: Vector,
    tolerance: float,
    steps: int,
    rule: Rule,
) -> tuple[_Pose, Component, Component]:
    """Step until the tip is at the target or gets no nearer; return the pose, the distance, and the steps used.

    ``stepped`` returns the pose after the rule's step for a residual ``target - tip`` and a control.
    """
    error = distance_between(ops, pose.tip, target)
    control, used = rule.first + 0.0 * error, 0.0 * error
    for _ in range(steps):
        going = (error > tolerance) & ops.negate(rule.is_spent(control))
        if not ops.any(going):
            break
        used = used + going
        trial = stepped(pose, subtract(target, pose.tip), control)
        trial_error = distance_between(ops, trial.tip, target)
        better = (trial_error < error) & going
        if ops.all(better):
            pose = trial
        elif ops.any(better):
            pose = trial.where(ops, better, pose)
        is_success = better & (trial_error <= (1.0 - rule.least_gain) * error)
        control = ops.where(is_success, rule.after_success(ops, control), rule.after_failure * control)
        error = ops.where(better, trial_error, error)
    return pose, error, used


def damped_solution(_ops: Operations, normal: Symmetric, residual: Vector, damping: Component) -> Vector:
    """Solve ``(normal + damping) y = residual`` by L D L^T: the determinant may be rounding noise, pivots are not."""
    xx, yy, zz, xy, xz, yz = normal
    xx, yy, zz = xx + damping, yy + damping, zz + damping
    a, b = xy / xx, xz / xx
    d, e = yy - a * xy, yz - a * xz
    c = e / d
    gx, gy, gz = residual
    gy = gy - a * gx
    z = (gz - b * gx - c * gy) / (zz - b * xz - c * e)
    y = gy / d - c * z
    return gx / xx - a * y - b * z, y, z


DAMPED = Rule(
    solution=damped_solution,
    first=1e-3,
    least_gain=1e-3,
    after_success=lambda ops, damping: ops.maximum(0.2 * damping, 1e-7),
    after_failure=6.0,
    is_spent=lambda damping: damping > 1e4,
)
"""Damped least squares: the control is the damping, the square of the literature's lambda."""


@dataclass(frozen=True)
class FreeChain:
    """A chain of joints that rotate any way; root at the origin."""

    points: list[Vector]
    """Joints from the root."""
    links: list[Vector]
    """From each joint to the next."""

    @property
    def tip(self) -> Vector:
        """The last joint."""
        return self.points[-1]

    def stepped(self, ops: Operations, residual: Vector, control: Component, solution: Solve) -> FreeChain:
        """Return the chain after one step.

        A rotation w of a joint moves the tip by w x r, r being the arm from joint to tip. So the joint's part of
        J J^T is |r|^2 - r r^T, and J^T y rotates it by r x y.
        """
        tx, ty, tz = self.points[-1]
        xx = yy = zz = xy = xz = yz = 0.0 * control
        arms = []
        for px, py, pz in self.points[:-1]:
            x, y, z = arm = tx - px, ty - py, tz - pz
            arms.append(arm)
            xx, yy, zz = xx + x * x, yy + y * y, zz + z * z
            xy, xz, yz = xy - x * y, xz - x * z, yz - y * z
        y_of_step = solution(ops, (yy + zz, xx + zz, xx + yy, xy, xz, yz), residual, control)
        vectors = [cross(arm, y_of_step) for arm in arms]
        longest = 0.0 * control
        for vector in vectors:
            longest = ops.maximum(longest, dot(vector, vector))
        half = 0.5 * ops.minimum(LONGEST_DAMPED_STEP / (ops.sqrt(longest) + TINY), 1.0)
        x = y = z = 0.0 * control
        points, links = [(x, y, z)], []
        q: Quaternion | None = None
        for (wx, wy, wz), link in zip(vectors, self.links, strict=True):
            # (1, w / 2), normalised: the rotation by a rotation vector w to second order.
            wx, wy, wz = half * wx, half * wy, half * wz
            w = 1.0 / ops.sqrt(1.0 + wx * wx + wy * wy + wz * wz)
            rotation = w, wx * w, wy * w, wz * w
            q = rotation if q is None else multiply(q, rotation)
            dx, dy, dz = link = rotate(q, link)
            links.append(link)
            x, y, z = x + dx, y + dy, z + dz
            points.append((x, y, z))
        return FreeChain(points, links)

    def where(self, ops: Operations, condition: Condition, other: FreeChain) -> FreeChain:
        """Return this chain in the batch items where a condition holds, the other one elsewhere."""
        points = choose_each(ops, condition, self.points, other.points)
        return FreeChain(points, choose_each(ops, condition, self.links, other.links))


def descend_freely(
    ops: Operations, chain: FreeChain, target: Vector, tolerance: float, steps: int, rule: Rule
) -> tuple[FreeChain, Component, Component]:
    """Rotate joints without limits until the tip is at the target or gets no nearer (``descend_to``)."""

    def stepped(chain: FreeChain, residual: Vector, control: Component) -> FreeChain:
        return chain.stepped(ops, residual, control, rule.solution)

    return descend_to(ops, chain, stepped, target, tolerance, steps, rule)
