# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains of a tree that keep the plane in which they bend, as a chain by itself does.

The posture task alone doesn't hold a bend: where a foot of Rigify's human is led up and forward by 0.3 m, without
limits and poles, thigh and foot rotate less in all with the knee bent to the wrong side than to its own.

So the direction in which such a chain bends in the pose at hand, across its chord from root to tip, is carried along by
the shortest rotation from the chord to the line from the root to where the tip is brought: for one pose at hand, a
function of targets and rotations alone. A pole far away in that direction is a preference beside the posture task
(``TaskStack.preferences``), with a force that is less than those of targets and rotations. Its weight falls to 0
where the direction turns fast with the target, near the root and opposite to the chord, where each direction across is
as near, and where it turns fast with the pose at hand, of a chain that is nearly straight or bends to both sides.

Beside pins a chain with a pole keeps its plane where the pole has no side, near the line from root to target: the
weight is 1 - f of it, with f of ``pole_arc`` at the target. On 7 of 20 closed paths on which a foot of Rigify's human
without limits is led past the pole of its knee (bench row "body-paths") a bone rotated by up to 12.7 times the median
step's largest rotation in one step without that, with it by at most 1.5 times; within limits on 4 of 40, and on 2. A
chain that bends away from its pole in the pose at hand keeps nothing. Without pins poles are held
(``PoleTask.rounding``), and a kept bend against them led to jumps of 145 degrees instead of 35.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ..math.operations import SCALAR, Vector
from ..math.quaternions import Quaternion, conjugate, from_to, multiply, rotate
from ..math.smooth_step import smooth_step
from ..math.vectors import add, cross, dot, scale, subtract
from ..model.tree_start import StartTree
from ..tasks.orientation_task import OrientationTask
from ..tasks.pole_arc import pole_arc
from ..tasks.pole_task import POLE_ROUNDING, PoleTask
from ..tasks.position_task import PositionTask
from .pole_sides import WRONG_SIDE, ZIGZAG

KEPT_BEND_WEIGHT = 500.0
"""Weight of the squared residual of a kept bend beside the posture task. Where the posture task pulls to both sides of
the plane a knee has two minima up to 45 degrees beside it with 100: one of 50 seeded closed paths of Rigify's human
(bench row "body-paths", no limits, no poles, beyond) had a step with 16 times the median step's largest rotation, with
300 and more 1.1 times. With 1000 one of 300 feasible poses of random trees was missed that others reach."""

NO_BEND, WHOLE_BEND = 1e-4, 1e-3
"""Distances of the bend from the chord, in the tree's units, up to which a chain has no plane in which it bends, and
from which on it has one. A knee of 0.003 in front of a leg is a usual rest pose."""

NO_ZIGZAG = 0.5
"""Distance of the inner joints' sum from the chord, over the sum of their distances, from which on a bend has all of
its weight; up to ``ZIGZAG`` it has none."""

NEAR_ROOT = 0.1
"""Distance of the target from the chain's root, in the tree's units, below which the weight falls."""

FAR = 100.0
"""Distance of the pole, in the tree's units: wherever the root is, its direction across the chord is the same."""


def kept_bends(
    start: StartTree,
    positions: Sequence[PositionTask],
    rotations: Iterable[OrientationTask],
    poles: Mapping[int, PoleTask],
    pinned: Sequence[bool],
    moves_root: bool,
) -> list[tuple[PoleTask, float]]:
    """Return the pole tasks, with their weights, by which chains keep the planes in which they bend.

    They are those of chains of two bones and more whose first bone has no limits, or which have a pole beside pins, and
    whose first bone moves no other effector than those that the last bone moves, too. Beside a pole they are only those
    with a weight.

    Args:
        positions: position task of each effector.
        rotations: those of bones whose whole frames are goals hold these bones.
        poles: the chains' own pole tasks, by effector; one is that of each chain which begins at the same joint.
        pinned: which effectors are pinned.
        moves_root: whether roots move: then they are expected to move by the mean way of the pins (``_mean_shift``).
    """
    structure, found = start.tree.structure, list[tuple[PoleTask, float]]()
    moved = [
        structure.above[joint] for position in positions for joint in (position.joint, position.meets) if joint >= 0
    ]
    oriented = {task.bone: task.frame for task in rotations if task.axis is None}
    shift = _mean_shift(start, positions, pinned) if moves_root else (0.0, 0.0, 0.0)
    pole_of = {start.chain.start_joints[number]: pole for number, pole in poles.items()}
    first_bones = set[int]()
    ends = zip(start.chain.start_joints, positions, strict=True)
    for begin, position in sorted(ends, key=lambda end: end[1].joint):
        if position.target is None:
            continue
        way, target = start.way(begin, position.joint), position.target
        if len(way) > 2 and way[-2] in oriented:
            way, target = before_last_link(start, way, target, oriented[way[-2]])
        pole = pole_of.get(way[0])
        is_kept = structure.limits[way[0]].is_free if pole is None else pole.rounding > 0.0
        if len(way) < 3 or way[0] in first_bones or not is_kept:
            continue
        if any(way[0] in above and way[-2] not in above for above in moved):
            continue
        first_bones.add(way[0])
        root = add(start.placed.joints[way[0]], shift)
        if pole is not None and _has_side(pole, root, target):
            continue
        task, weight = _kept_bend(start, way, root, target, pole)
        if weight or pole is None:  # without a weight it would cost the time of a pole
            found.append((task, weight))
    return found


def _has_side(pole: PoleTask, root: Vector, target: Vector) -> bool:
    """Tell whether f of ``pole_arc`` is 1 for a chord from a root to a target: nothing is left of a kept bend."""
    aim, seen = subtract(target, root), subtract(pole.pole, root)
    return math.hypot(*cross(aim, seen)) >= pole.fade[1] * math.hypot(*aim) * math.hypot(*seen)


def _kept_bend(
    start: StartTree, way: Sequence[int], root: Vector, target: Vector, pole: PoleTask | None
) -> tuple[PoleTask, float]:
    """Return the pole task of a chain with its weight, which may be 0; its root is expected to move to ``root``."""
    task = PoleTask(way, target, 0.0, POLE_ROUNDING)
    bend, deviation = task.deviations(start.placed)
    bent, aim = task.arc(start.placed).bend, subtract(target, root)
    distance = math.hypot(*aim)
    if min(bend, float(bent.chord), distance) <= NO_BEND:
        return task, 0.0
    share = min(
        1.0 + float(dot(bent.e, aim)) / distance,
        distance / NEAR_ROOT,
        (bend - NO_BEND) / (WHOLE_BEND - NO_BEND),
        (bend / deviation - ZIGZAG) / (NO_ZIGZAG - ZIGZAG),
    )
    direction = rotate(from_to(SCALAR, bent.e, aim, bent.u), bent.u)
    weight = KEPT_BEND_WEIGHT * smooth_step(share, 0.0, 1.0)
    if pole is not None:
        seen = subtract(pole.pole, root)
        fade = float(pole_arc(SCALAR, (direction, aim, seen), 0.0, 0.0, pole.fade).fade)
        weight *= 1.0 - fade if pole.off(start.placed) <= WRONG_SIDE else 0.0
    return replace(task, pole=add(root, scale(direction, FAR))), weight


def _mean_shift(start: StartTree, positions: Sequence[PositionTask], pinned: Sequence[bool]) -> Vector:
    """Return the mean of the ways from pins to their targets, or without pins from all effectors to theirs.

    A root that moves is expected to move by that: so a body that is moved as a whole, or whose pins are, keeps its
    bends as they are.
    """
    ways = [
        subtract(position.target, start.placed.joints[position.joint])
        for position, is_pinned in zip(positions, pinned, strict=True)
        if position.target is not None and (is_pinned or not any(pinned))
    ]
    x, y, z = (sum(parts) / len(ways) for parts in zip(*ways, strict=True)) if ways else (0.0, 0.0, 0.0)
    return x, y, z


def before_last_link(start: StartTree, way: list[int], target: Vector, frame: Quaternion) -> tuple[list[int], Vector]:
    """Return the joints before the last one of a way, and where the last of these is with the last bone in a frame.

    The frame holds the last link, so it is the links before it that bend.
    """
    link = subtract(start.points[way[-1]], start.points[way[-2]])
    held = rotate(multiply(frame, conjugate(start.frames[way[-2]])), link)
    return way[:-1], subtract(target, held)
