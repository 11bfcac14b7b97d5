# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run one library of inverse kinematics on problems from standard input. Runs in the peers' own environment.

Each is set up as its own documentation says. Input and output are JSON: {"library", "joints", "targets", "tolerance",
"axes", "ends"} and {"tips", "seconds"}; a tip that never came is null.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TypeAlias

LIMIT = 1.0
"""Seconds after which a solve is taken to hang: pyfabrik has no bound on its iterations."""

BALL = ["x", "y", "z"]
"""A ball joint, made of revolute joints: none of these libraries has another kind."""

Points: TypeAlias = list[list[float]]

Axes: TypeAlias = list[list[str]]
"""Names of the hinges' axes of each joint."""

Ends: TypeAlias = list[tuple[float, float]] | None
"""Limits of each joint (radians) where each joint is a hinge."""

Solve: TypeAlias = Callable[[list[float]], Callable[[], Iterable[float]]]
"""From a target to a function that returns the tip: its time is no part of the solve."""

VECTORS = {"x": [1, 0, 0], "y": [0, 1, 0], "z": [0, 0, 1]}


class _TooLong(Exception):
    pass


def main() -> None:
    """Solve every target from the same pose."""
    problem = json.load(sys.stdin)
    joints, tolerance = problem["joints"], problem["tolerance"]
    axes = problem.get("axes") or [BALL] * (len(joints) - 1)
    ends = problem.get("ends")
    links = [[b - a for a, b in zip(*pair, strict=True)] for pair in pairwise(joints)]
    solve = {"pyfabrik": _pyfabrik, "ikpy": _ikpy, "tinyik": _tinyik}[problem["library"]](
        joints, links, axes, ends, tolerance
    )
    signal.signal(signal.SIGALRM, _stop)
    tips: list[list[float] | None] = []
    seconds: list[float] = []
    for target in problem["targets"]:
        signal.setitimer(signal.ITIMER_REAL, LIMIT)
        start = time.perf_counter()
        try:
            answer = solve(target)
            seconds.append(time.perf_counter() - start)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            tips.append([float(value) for value in answer()])
        except (_TooLong, ZeroDivisionError):
            seconds.append(LIMIT)
            tips.append(None)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    json.dump({"tips": tips, "seconds": seconds}, sys.stdout)


def _stop(_number: int, _frame: object) -> None:
    raise _TooLong


def _pyfabrik(joints: Points, _links: Points, _axes: Axes, _ends: Ends, tolerance: float) -> Solve:
    import pyfabrik
    from vectormath import Vector3

    def solve(target: list[float]) -> Callable[[], Iterable[float]]:
        chain = pyfabrik.Fabrik3D([Vector3(*joint) for joint in joints], tolerance)
        chain.move_to(Vector3(*target))
        return lambda: chain.joints[-1]

    return solve


def _ikpy(_joints: Points, links: Points, axes: Axes, ends: Ends, _tolerance: float) -> Solve:
    from ikpy.chain import Chain
    from ikpy.link import OriginLink, URDFLink

    made, mask, offset = [OriginLink()], [False], [0.0, 0.0, 0.0]
    for j, (link, turns) in enumerate(zip(links, axes, strict=True)):
        for axis in turns:
            bounds = tuple(ends[j]) if ends else None
            made.append(URDFLink(f"{j}{axis}", offset, [0, 0, 0], rotation=VECTORS[axis], bounds=bounds))
            mask.append(True)
            offset = [0.0, 0.0, 0.0]
        offset = link
    made.append(URDFLink("tip", offset, [0, 0, 0], joint_type="fixed"))
    chain = Chain(made, active_links_mask=[*mask, False])

    def solve(target: list[float]) -> Callable[[], Iterable[float]]:
        angles = chain.inverse_kinematics(target_position=target)
        return lambda: chain.forward_kinematics(angles)[:3, 3]

    return solve


def _tinyik(_joints: Points, links: Points, axes: Axes, _ends: Ends, _tolerance: float) -> Solve:
    import tinyik

    tokens: list[str | list[float]] = []
    for link, turns in zip(links, axes, strict=True):
        tokens += [*turns, link]

    def solve(target: list[float]) -> Callable[[], Iterable[float]]:
        arm = tinyik.Actuator(tokens)
        arm.ee = target
        return lambda: arm.ee

    return solve


if __name__ == "__main__":
    main()
