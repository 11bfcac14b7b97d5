# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Laws of a solve: link lengths, bends toward the pole, invariance, solved poses."""

from __future__ import annotations

import numpy as np

from fabrik_addon.core import Chain, Goals, Pose, plain_chain, solve

from .problems import Array, Effort, directions, generator, pose_along, random_joints, targets_within
from .report import Row, Table, counts, microseconds
from .solving import TOLERANCE, reached_count, solve_each


def length_table(effort: Effort) -> Table:
    """How well links keep their lengths, over every kind of target."""
    rows, worst = [], 0.0
    for count in effort.counts:
        problems = []
        rng = generator("lengths", count)
        for target in targets_within(rng, 0.0, 1.5, effort.targets):
            lengths = 20 ** rng.uniform(0.0, 1.0, count)
            lengths /= lengths.sum()
            pole = 2.0 * directions(rng, 1)[0] if rng.random() < 0.5 else None
            problems.append((plain_chain(lengths), pose_along(random_joints(rng, lengths, 1.0)), target, pole))
        solved = solve_each(problems)
        rows.append(Row((count, solved.stretch), solved.stretch <= 1e-9))
        worst = max(worst, solved.stretch)
    return Table(
        title="Link lengths in the core",
        must="kept to 1e-9 of each link's length, whatever the target",
        measured=f"{worst:.1g} at most",
        columns=("links", "largest relative change"),
        rows=tuple(rows),
        note="Reach 0 to 1.5, links to 1:20, half of the targets with a pole.",
    )


def pole_table(effort: Effort) -> Table:
    """The direction of every inner joint off the line of its neighbours, against the pole's side of the bend plane."""
    rows, worst = [], 0.0
    for count in (2, 3, 5, 10, 20):
        rng = generator("pole", count)
        problems = []
        lengths = np.full(count, 1.0 / count)
        for target in targets_within(rng, 0.2, 0.95, effort.targets):
            pole = rng.uniform(0.3, 2.0) * directions(rng, 1)[0]
            problems.append((plain_chain(lengths), pose_along(random_joints(rng, lengths, np.pi / 2)), target, pole))
        solved = solve_each(problems)
        without = solve_each([(chain, pose, target, None) for chain, pose, target, _ in problems])
        off = max(
            float(_angles_off_pole(solution.pose.positions, pole).max())
            for solution, (_, _, _, pole) in zip(solved.solutions, problems, strict=True)
        )
        hits = reached_count(solved, TOLERANCE)
        cells = (
            count,
            off,
            f"{hits}/{len(problems)}",
            float(solved.errors.max()),
            counts(solved.sweeps),
            microseconds(solved.seconds),
            microseconds(without.seconds),
        )
        rows.append(Row(cells, off <= 1e-4 and hits == len(problems)))
        worst = max(worst, off)
    return Table(
        title="With a pole, random start poses",
        must="every inner joint within 1e-4 rad of the pole's side of the bend plane, and the tip reached at 1e-4",
        measured=f"{worst:.1g} rad at most, all tips reached" if all(row.ok for row in rows) else f"{worst:.1g} rad",
        columns=(
            "links",
            "farthest off the pole's side, rad",
            "reached",
            "worst error",
            "sweeps median / p95 / max",
            "µs median / p95",
            "µs without a pole",
        ),
        rows=tuple(rows),
    )


def invariance_table(effort: Effort) -> Table:
    """The same problem rotated, moved and scaled."""
    rows, worst = [], 0.0
    for count in (2, 3, 10, 30):
        for with_pole in (False, True):
            rng = generator("invariance", count, with_pole)
            lengths = np.full(count, 1.0 / count)
            most = 0.0
            for target in targets_within(rng, 0.05, 1.2, effort.targets):
                pose = pose_along(random_joints(rng, lengths, 1.0))
                goals = Goals(target[None], poles=2.0 * directions(rng, 1) if with_pole else None)
                most = max(most, _change_when_transformed(rng, lengths, pose, goals))
            rows.append(Row((count, "yes" if with_pole else "no", most), most <= 1e-6))
            worst = max(worst, most)
    return Table(
        title="Invariance: rotated, translated and scaled (1e-3 to 1e3)",
        must="the same joints to 1e-6 of the chain's length",
        measured=f"{worst:.1g} at most",
        columns=("links", "pole", "largest difference of a joint"),
        rows=tuple(rows),
        note="Translated by up to 100 chain lengths.",
    )


def again_table(effort: Effort) -> Table:
    """Solving a pose that is solved already."""
    rows, worst = [], 0.0
    for count in effort.counts:
        rng = generator("again", count)
        lengths = np.full(count, 1.0 / count)
        chain = plain_chain(lengths)
        moves: dict[str, list[float]] = {"as it is": [], "rounded to single precision": []}
        for target in targets_within(rng, 0.2, 0.95, effort.targets):
            goals = Goals(target[None], poles=2.0 * directions(rng, 1) if rng.random() < 0.5 else None)
            solved = solve(chain, pose_along(random_joints(rng, lengths, 1.0)), goals).pose
            rounded = Pose(*(a.astype(np.float32).astype(float) for a in (solved.positions, solved.rotations)))
            for name, pose in zip(moves, (solved, rounded), strict=True):
                again = solve(chain, pose, goals).pose
                moves[name].append(float(np.abs(again.positions - pose.positions).max()))
        for name, moved in moves.items():
            rows.append(Row((count, name, max(moved)), max(moved) <= 1e-6))
            worst = max(worst, *moved)
    return Table(
        title="Solving a solved pose again, in the core",
        must="moves nothing by more than 1e-6 of the chain's length",
        measured=f"{worst:.1g} at most",
        columns=("links", "solved pose", "farthest move of a joint"),
        rows=tuple(rows),
        note="Reach 0.2 to 0.95, half of the targets with a pole.",
    )


def _angles_off_pole(joints: Array, pole: Array) -> Array:
    """Return the angles (J - 2,) between inner joints' offsets from the line of their neighbours and the pole's side.

    With n the normal of the plane of root, tip and pole, and a the unit vector along that line: the side is n x a. Less
    than 1e-9 of an offset, of the pole's distance from the line root-tip or of a line is no direction.
    """
    before, joint, after = joints[:-2], joints[1:-1], joints[2:]
    line = after - before
    size = np.linalg.norm(line, axis=-1, keepdims=True)
    axis = line / np.where(size > 0.0, size, 1.0)
    offset = (joint - before) - axis * np.sum((joint - before) * axis, axis=-1, keepdims=True)
    normal = np.cross(joints[-1] - joints[0], pole - joints[0])
    desired = np.cross(normal / max(float(np.linalg.norm(normal)), 1e-300), axis)
    seen = (np.linalg.norm(offset, axis=-1) > 1e-9) & (np.linalg.norm(normal) > 1e-9)
    angles = np.arctan2(np.linalg.norm(np.cross(offset, desired), axis=-1), np.sum(offset * desired, axis=-1))
    return np.where(seen, angles, 0.0)


def _change_when_transformed(rng: np.random.Generator, lengths: Array, pose: Pose, goals: Goals) -> float:
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rotation *= np.sign(np.linalg.det(rotation))
    factor = 10.0 ** rng.uniform(-3.0, 3.0)
    offset = factor * rng.uniform(0.0, 100.0) * directions(rng, 1)[0]

    def moved(points: Array) -> Array:
        transformed: Array = factor * points @ rotation.T + offset
        return transformed

    turn = _quaternion(rotation)
    frames = np.array([_product(turn, frame) for frame in pose.rotations])
    there_goals = Goals(moved(goals.targets), poles=None if goals.poles is None else moved(goals.poles))
    here = _positions(plain_chain(lengths), pose, goals)
    there = _positions(plain_chain(factor * lengths), Pose(moved(pose.positions), frames), there_goals)
    return float(np.linalg.norm(there - moved(here), axis=-1).max() / factor)


def _positions(chain: Chain, pose: Pose, goals: Goals) -> Array:
    return solve(chain, pose, goals).pose.positions


def _quaternion(m: Array) -> Array:
    w = np.sqrt(max(0.0, 1.0 + np.trace(m))) / 2.0
    if w < 0.1:  # far from the identity the other form is exact
        _, vectors = np.linalg.eigh(m + m.T)
        axis = vectors[:, -1]
        angle_sine = 0.5 * axis @ (m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1])
        angle = np.arctan2(angle_sine, (np.trace(m) - 1.0) / 2.0)
        return np.array([np.cos(angle / 2.0), *(np.sin(angle / 2.0) * axis)])
    found: Array = np.array([w, m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]]) / np.array(
        [1.0, *[4.0 * w] * 3]
    )
    return found


def _product(a: Array, b: Array) -> Array:
    vector = a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *vector])
