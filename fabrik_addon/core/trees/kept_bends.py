# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains of a tree that keep the plane in which they bend, as a chain by itself does.

The posture task alone doesn't hold a bend: where a foot of Rigify's human is led up and forward by 0.3 m, without
limits and poles, thigh and foot rotate less in all with the knee bent backward than with the knee bent forward.

So the direction in which such a chain bends in the pose at hand, across its chord from root to tip, is carried along by
the shortest rotation from the chord to the line from the root to where the tip is brought: a function of the target
alone. A pole far away in that direction is a preference beside the posture task (``TaskStack.preferences``), after all
targets, rotations and poles. Its weight falls to 0 where that direction turns fast with the target: near the root, and
in the direction opposite to the chord, where each direction across is as near.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from ..math.operations import SCALAR, Vector
from ..math.quaternions import Quaternion, conjugate, from_to, multiply, rotate
from ..math.vectors import add, dot, relative_to, scale
from ..model.tree_start import StartTree
from ..tasks.orientation_task import OrientationTask
from ..tasks.pole_task import POLE_ROUNDING, ZIGZAG, PoleTask
from ..tasks.position_task import PositionTask

KEPT_BEND_WEIGHT = 500.0
"""Weight of the squared residual of a kept bend beside the posture task. Where the posture task pulls to both sides of
the plane a knee has two minima up to 45 degrees beside it with 100: one of 50 seeded closed paths of Rigify's human
(bench row "body-paths", no limits, no poles, beyond) had a step with 16 times the median step's largest rotation, with
300 and more 1.1 times. With 1000 one of 300 feasible poses of random trees was missed that others reach."""

LEAST_KEPT = 3e-3
"""Distance of the bend from the chord, and length of the chord, in the tree's units, below which a chain has no plane
in which it bends."""

NEAR_ROOT = 0.1
"""Distance of the target from the chain's root, in the tree's units, below which the weight falls."""

FAR = 100.0
"""Distance of the pole, in the tree's units: wherever the root is, its direction across the chord is the same."""


def kept_bends(
    start: StartTree,
    positions: Sequence[PositionTask],
    rotations: dict[int, OrientationTask],
    with_pole: Collection[int],
) -> list[tuple[PoleTask, float]]:
    """Return the pole tasks, with their weights, by which chains without poles keep the planes in which they bend.

    They are those of chains of two bones and more whose first bone has no limits, and carries no other effector than
    those that the last bone carries, too.

    Args:
        positions: position task of each effector.
        rotations: orientation tasks, by effector.
        with_pole: effectors whose chains have poles.
    """
    chain, structure, found = start.chain, start.tree.structure, list[tuple[PoleTask, float]]()
    carried = [structure.above[position.joint] for position in positions]
    for number, position in enumerate(positions):
        if number in with_pole or position.target is None:
            continue
        way, target = start.way(chain.start_joints[number], position.joint), position.target
        if number in rotations and rotations[number].axis is None and len(way) > 3:
            way, target = before_last_link(start, way, target, rotations[number].frame)
        if len(way) < 3 or not structure.limits[way[0]].is_free:
            continue
        if any(way[0] in above and way[-2] not in above for above in carried):
            continue
        task = PoleTask(way, target, 0.0, POLE_ROUNDING)
        bend, deviation = task.deviations(start.placed)
        root, bent = start.placed.joints[way[0]], task.arc(start.placed).bend
        aim = relative_to(target, root, 1.0)
        distance = math.hypot(*aim)
        if min(bend, bent.chord) < LEAST_KEPT or bend < ZIGZAG * deviation or not distance:
            continue
        direction = rotate(from_to(SCALAR, bent.e, aim, bent.u), bent.u)
        t = max(0.0, min(1.0, 1.0 + float(dot(bent.e, aim)) / distance, distance / NEAR_ROOT))
        kept = replace(task, pole=add(root, scale(direction, FAR)))
        found.append((kept, KEPT_BEND_WEIGHT * t * t * (3.0 - 2.0 * t)))
    return found


def before_last_link(start: StartTree, way: list[int], target: Vector, frame: Quaternion) -> tuple[list[int], Vector]:
    """Return the joints before the last one of a way, and where the last of these is with the last bone in a frame.

    The frame holds the last link, so it is the links before it that bend.
    """
    link = relative_to(start.points[way[-1]], start.points[way[-2]], 1.0)
    held = rotate(multiply(frame, conjugate(start.frames[way[-2]])), link)
    return way[:-1], relative_to(target, held, 1.0)
