# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""How smoothly a chain follows a target that moves in small steps: from the same pose each time, or from the last."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from bpy.types import Object

from fabrik_addon.core import Chain, Goals, Pose, plain_chain, solve
from fabrik_addon.core.goals.pole_angle import to_blender

from .blender_chain import LAST, constrain, joints_of, make_armature, make_target, new_scene, view_layer
from .native_chain import rest_problem
from .problems import RESTS, Array, Effort, directions, generator, lay, link_lengths, pose_along, rest_joints, unit
from .report import Row, Table

STEP = 1e-4
"""How far the target moves from frame to frame, over the chain's length."""


POLE = np.array([0.0, -2.0, 0.5])

PATH_STEPS = 240
"""Steps of a closed path."""

PATHS = 50
"""Closed paths of each kind."""

NEAREST, FARTHEST = 0.05, 0.99
"""Reach of targets on the seeded paths."""

MOST_TURN = 3.0
"""Largest rotation of a bone in a step over Blender's own largest, or over our median step's, whichever is more."""


def ellipse(rng: np.random.Generator, step: float, frames: int) -> tuple[Array, Array]:
    """Return a path (frames, 3) from reach 0.6 to 0.97 and back, in steps of at most ``step``, and its normal (3,)."""
    around, across = directions(rng, 2)
    across = np.cross(np.cross(around, across), around)
    across /= np.linalg.norm(across)
    angles = step / 0.97 * np.arange(frames)[:, None]
    return 0.6 * np.cos(angles) * around + 0.97 * np.sin(angles) * across, np.cross(around, across)


def step_table(effort: Effort) -> Table:
    """The farthest that any joint moves from one frame to the next."""
    rows, worst, worst_own = [], 0.0, 0.0
    frames = 80 * effort.targets
    for count in (2, 3, 5, 10, 20):
        for rest in RESTS:
            joints = rest_joints(count, rest)
            path, normal = ellipse(generator("steps", count, rest), STEP, frames)
            free = _farthest(_solved(joints, path, None))
            with_pole = _farthest(_solved(joints, path, 3.0 * normal))
            own = _farthest(_own(joints, path))
            rows.append(Row((count, rest, free, with_pole, own)))
            worst, worst_own = max(worst, free, with_pole), max(worst_own, own)
    return Table(
        title="Continuity: a target that moves in small steps",
        must=f"for comparison: how far a joint jumps when the target moves by {STEP:g} of the chain's length",
        measured=f"{worst:.1g} at most (Blender's own IK: {worst_own:.1g})",
        columns=("links", "rest pose", "farthest move of a joint", "with a pole", "Blender's own, no pole"),
        rows=tuple(rows),
        note=f"{frames} frames along an ellipse of reach 0.6 to 0.97. Every frame starts from the rest pose, as "
        "Blender's own IK does.",
    )


def _solved(joints: Array, path: Array, pole: Array | None) -> Array:
    chain, pose = plain_chain(link_lengths(joints)), pose_along(joints)
    poses = Pose(*(np.repeat(array[None], len(path), axis=0) for array in (pose.positions, pose.rotations)))
    poles = None if pole is None else np.tile(pole, (len(path), 1, 1))
    return solve(chain, poses, Goals(path[:, None, :], poles=poles)).pose.positions


def _own(joints: Array, path: Array) -> Array:
    new_scene()
    obj, target = make_armature(joints), make_target()
    constrain(obj, target)
    poses = []
    for position in path:
        target.location = position
        view_layer().update()
        poses.append(joints_of(obj))
    return np.array(poses)


def _farthest(poses: Array) -> float:
    return float(np.linalg.norm(np.diff(poses, axis=0), axis=-1).max())


def pole_path_table(effort: Effort) -> Table:
    """The largest rotation of a bone in one step, on closed paths, of chains that bend toward a pole."""
    rows = []
    worst, reached, held = 0.0, True, True
    for kind, make in (("loop", _loop), (f"reach {NEAREST:g} to {FARTHEST:g}", _seeded_path)):
        paths = [make(generator("pole paths", kind, number)) for number in range(max(2, PATHS * effort.targets // 100))]
        for count in (2, 3, 5, 8, 12, 30):
            obj, own = _bent_armature(count)
            chain, pose = rest_problem(obj)
            largest, largest_before, largest_own, medians, ratios = 0.0, 0.0, 0.0, [], []
            for path in paths:
                at_rest, before = _with_pole(chain, pose, path), _from_before(chain, pose, path)
                turns, turns_before = _turns(at_rest.rotations), _turns(before.rotations)
                blender = float(_turns(own(path)).max())
                allowed = max(blender, float(np.median(turns)))
                ratios.append(float(max(turns.max(), turns_before.max())) / allowed)
                for poses in (at_rest, before):
                    reached &= bool((np.linalg.norm(poses.positions[:, -1] - path, axis=1) <= 1e-4).all())
                    held &= bool(_heights(poses.positions).min() > -1e-6)
                largest, largest_before = (
                    max(largest, float(turns.max())),
                    max(largest_before, float(turns_before.max())),
                )
                largest_own = max(largest_own, blender)
                medians.append(float(np.median(turns)))
            worst = max(worst, *ratios)
            cells = (count, kind, float(np.median(medians)), largest, largest_before, largest_own, max(ratios))
            rows.append(Row(cells, bool(max(ratios) <= MOST_TURN)))
    return Table(
        title="Closed paths with a pole",
        must=f"no bone rotates by more than {MOST_TURN:g} times Blender's largest rotation on the same path, or our "
        "median step's, in a step; all targets reached, all joints on the pole's side",
        measured=f"{worst:.2g} times at most; {'all' if reached else 'NOT all'} reached, "
        f"{'all' if held else 'NOT all'} on the pole's side",
        columns=(
            "links",
            "path",
            "median step's largest rotation, degrees",
            "largest, from rest",
            "largest, from the pose before",
            "Blender's own",
            "over the larger of Blender's and our median",
        ),
        rows=(*rows, Row(("all", "reached and on the pole's side", 0.0, 0.0, 0.0, 0.0, 0.0), reached and held)),
        note=f"Equal links on a gentle arc toward the pole; {PATH_STEPS} steps. Both kinds of path are closed: a loop "
        "in front of the chain as a hand's or a foot's, and one that goes all ways, near to the root and far.",
    )


def _bent_armature(count: int) -> tuple[Object, Callable[[Array], Array]]:
    """Return an armature on a gentle arc toward the pole, and a function from a path to Blender's own rotations."""
    new_scene()
    headings = np.linspace(0.15, -0.15, count)
    links = np.stack([0.0 * headings, -np.sin(headings), np.cos(headings)], axis=1)
    obj, target, pole = make_armature(lay(np.full(count, 1.0 / count), links)), make_target(), make_target()
    pole.location = POLE.tolist()
    constrain(obj, target)
    constraint = obj.pose.bones[LAST].constraints[0]
    constraint.pole_target = pole
    constraint.pole_angle = to_blender(rest_problem(obj)[1], 0.0, POLE)

    def own(path: Array) -> Array:
        rotations = []
        for position in path:
            target.location = position
            view_layer().update()
            rotations.append([bone.matrix.to_quaternion()[:] for bone in obj.pose.bones])
        return np.array(rotations)

    return obj, own


def _loop(rng: np.random.Generator) -> Array:
    a, b, c = rng.uniform(0.6, 1.4, 3)
    t = np.linspace(0.0, 2.0 * np.pi, PATH_STEPS + 1)
    return np.stack([0.45 * a * np.cos(t), 0.25 * b * np.sin(t) - 0.1, 0.45 + 0.2 * c * np.sin(2.0 * t)], axis=1)


def _seeded_path(rng: np.random.Generator) -> Array:
    """Return a closed path all about the root that keeps away from the line through the root and the pole."""
    t = np.linspace(0.0, 2.0 * np.pi, PATH_STEPS + 1)
    middle, half = 0.5 * (FARTHEST + NEAREST), 0.5 * (FARTHEST - NEAREST)
    reach = middle + half * np.cos(rng.integers(1, 3) * t + rng.uniform(0.0, 2.0 * np.pi))
    line = unit(POLE)
    across = unit(np.cross(line, rng.normal(size=3)))
    round_the_line = np.cos(t)[:, None] * across + np.sin(t)[:, None] * np.cross(line, across)
    tilt = rng.uniform(0.0, 1.0) * np.sin(rng.integers(1, 3) * t + rng.uniform(0.0, 2.0 * np.pi))
    path: Array = reach[:, None] * unit(round_the_line + tilt[:, None] * line)
    return path


def _with_pole(chain: Chain, pose: Pose, path: Array) -> Pose:
    poses = Pose(*(np.repeat(array[None], len(path), axis=0) for array in (pose.positions, pose.rotations)))
    return solve(chain, poses, Goals(path[:, None, :], poles=np.tile(POLE, (len(path), 1, 1)))).pose


def _from_before(chain: Chain, pose: Pose, path: Array) -> Pose:
    poses = []
    for target in path:
        pose = solve(chain, pose, Goals(target[None], poles=POLE[None])).pose
        poses.append(pose)
    return Pose(np.array([each.positions for each in poses]), np.array([each.rotations for each in poses]))


def _turns(rotations: Array) -> Array:
    """Return the largest angle (S - 1,) by which a bone rotates in each step, degrees, of frames (S, B, 4)."""
    cosines = np.abs(np.sum(rotations[1:] * rotations[:-1], axis=-1))
    turns: Array = np.degrees(2.0 * np.arccos(np.clip(cosines, 0.0, 1.0))).max(axis=1)
    return turns


def _heights(positions: Array) -> Array:
    """Return how far inner joints (S, J - 2) are to the pole's side of the line root-tip."""
    line = unit(positions[:, -1] - positions[:, 0])
    side = POLE - line * (line @ POLE)[:, None]
    heights: Array = np.einsum("sjc,sc->sj", positions[:, 1:-1] - positions[:, :1], unit(side))
    return heights
