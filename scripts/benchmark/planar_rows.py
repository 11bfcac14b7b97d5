# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A planar arm of three hinges that follows a target along a line, to where it can reach and to where it can't."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fabrik_addon.core import SOLVERS, Goals, Options, Pose, plain_chain, solve
from fabrik_addon.core.solvers.names import SOLVER_NAMES

from .problems import Array, Effort
from .report import Row, Table

LINKS = np.array([15.0, 10.0, 5.0])
ANGLES = np.array([math.pi / 8.0, math.pi / 4.0, math.pi / 4.0])
"""Of each link to the one before it, the first to +x."""

WITHIN = np.array([-20.0, 5.0])
BEYOND = np.array([-35.0, 5.0])
FRAMES = 21

FOLLOWS = 1e-3
"""Distance from the path, over the arm's length, that counts as on it."""

BOUNDED = 0.5
"""Turn (radians) of a joint from one frame to the next that is still smooth."""

ITERATIONS = 2000
"""Enough for all of them, transpose included."""


@dataclass(frozen=True)
class Followed:
    """An arm along a path."""

    angles: Array
    """(F + 1, 3) of the hinges, the start's first."""
    errors: Array
    """(F,) distance from the tip to where it could be at best, over the arm's length."""

    @property
    def largest_step(self) -> float:
        """Largest rotation (radians) of a joint from a frame to the next."""
        return float(np.abs(_wrapped(np.diff(self.angles, axis=0))).max())


def planar_table(_effort: Effort) -> Table:
    """Every solver along both paths, and the pseudo-inverse as the textbook has it: one undamped step a frame."""
    rows, worst, largest = [], 0.0, 0.0
    for goal, name in ((WITHIN, "(-20, 5)"), (BEYOND, "(-35, 5), out of reach")):
        for solver, method in SOLVERS.items():
            if method.refusal(plain_chain(LINKS)):
                continue
            followed = follow(solver, goal)
            off, step = float(followed.errors.max()), followed.largest_step
            must_be_smooth = solver == "JACOBIAN_DLS"
            ok = off <= FOLLOWS and (step <= BOUNDED or not must_be_smooth)
            rows.append(Row((name, SOLVER_NAMES[solver].label, off, math.degrees(step)), ok))
            worst = max(worst, off)
            largest = max(largest, step) if must_be_smooth else largest
        undamped = follow_undamped(goal)
        rows.append(
            Row((name, "one undamped step a frame", float(undamped.errors.max()), math.degrees(undamped.largest_step)))
        )
    return Table(
        title="A planar arm of three hinges",
        must=f"the tip follows the path to {FOLLOWS:g} of the arm's length, and damped least squares rotate no joint "
        f"by more than {math.degrees(BOUNDED):.0f} degrees from a frame to the next",
        measured=f"off the path by {worst:.1g} at most, damped least squares rotate {math.degrees(largest):.1f} "
        "degrees",
        columns=("target", "solver", "farthest off the path", "largest rotation of a joint in a frame, degrees"),
        rows=tuple(rows),
        note=f"""\
Links of 15, 10 and 5 from angles of 22.5, 45 and 45 degrees; the target goes there on a straight line in {FRAMES}
frames, and each frame starts from the one before. Out of reach the path ends, for the arm, where it is straight: off
the path is then the distance from the nearest point it can reach. There J loses rank, and the undamped step goes
wild.""",
    )


def path_to(goal: Array) -> Array:
    """Return where the target is in every frame (F, 2), after the start."""
    start = _joints(ANGLES)[-1]
    shares = np.arange(1, FRAMES + 1)[:, None] / FRAMES
    path: Array = start + shares * (goal - start)
    return path


def follow(solver: str, goal: Array) -> Followed:
    """Solve frame after frame with one of the solvers; the arm's joints are hinges about z."""
    free = np.array([0.0, 0.0, np.inf])
    chain = plain_chain(LINKS, limits=(np.tile(-free, (4, 1)), np.tile(free, (4, 1))))
    angles, tips = [ANGLES], []
    for point in path_to(goal):
        goals = Goals(np.array([[*point, 0.0]]))
        solution = solve(chain, _pose(angles[-1]), goals, Options(ITERATIONS, 1e-4, solver=solver))
        directions = np.diff(solution.pose.positions[:, :2], axis=0)
        headings = np.arctan2(directions[:, 1], directions[:, 0])
        angles.append(_wrapped(np.diff(headings, prepend=0.0)))
        tips.append(solution.pose.positions[-1, :2])
    return Followed(np.array(angles), _off(np.array(tips), path_to(goal)))


def follow_undamped(goal: Array) -> Followed:
    """Take one step of the pseudo-inverse a frame, without damping, cut or limit (resolved rates, Whitney 1969)."""
    angles, tips = [ANGLES], []
    for point in path_to(goal):
        joints = _joints(angles[-1])
        arms = joints[-1] - joints[:-1]
        jacobian = np.stack([-arms[:, 1], arms[:, 0]])
        step = np.linalg.pinv(jacobian, rcond=1e-15) @ (point - joints[-1])
        angles.append(angles[-1] + step)
        tips.append(_joints(angles[-1])[-1])
    return Followed(np.array(angles), _off(np.array(tips), path_to(goal)))


def _off(tips: Array, path: Array) -> Array:
    """Return how far tips are from the nearest points to the path that the arm can reach, over its length."""
    length = LINKS.sum()
    distances = np.linalg.norm(path, axis=1, keepdims=True)
    nearest = path * np.minimum(1.0, length / distances)
    off: Array = np.linalg.norm(tips - nearest, axis=1) / length
    return off


def _joints(angles: Array) -> Array:
    headings = np.cumsum(angles)
    links = LINKS[:, None] * np.stack([np.cos(headings), np.sin(headings)], axis=1)
    return np.vstack([np.zeros(2), np.cumsum(links, axis=0)])


def _pose(angles: Array) -> Pose:
    joints = np.column_stack([_joints(angles), np.zeros(len(angles) + 1)])
    half = 0.5 * (np.cumsum(angles) - 0.5 * math.pi)  # bones lie along +y
    zeros = np.zeros(len(half))
    frames = np.column_stack([np.cos(half), zeros, zeros, np.sin(half)])
    return Pose(joints, np.vstack([frames, frames[-1:]]))


def _wrapped(angles: Array) -> Array:
    wrapped: Array = (angles + math.pi) % math.tau - math.pi
    return wrapped
