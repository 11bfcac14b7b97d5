# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains of a tree that bend to the sides of their poles, or away from them: which do, and how they are turned.

From a chain that bends away from its pole a descent leads through the straight chain, where the pole has no side. So
such chains are turned, or bent, to their poles before a descent begins.
"""

import math
from itertools import pairwise

from ..math.operations import SCALAR
from ..math.quaternions import IDENTITY, from_to, multiply, rotate
from ..math.rigid_fit import turned_by
from ..math.vectors import subtract
from ..model.tree_start import coordinates_of_tree
from ..model.tree_state import State
from ..tasks.pole_task import PoleTask
from .tree_problem import TreeProblem

WRONG_SIDE = 0.5 * math.pi
"""Angle (radians) between bend and pole beyond which a chain bends to the wrong side."""

ZIGZAG = 0.3
"""Distance of the inner joints' sum from the chord, over the sum of their distances, below which a chain bends to both
sides alternately, and its bend has no direction."""

LEAST_BENT, WELL_BENT = 0.003, 0.03
"""``f h`` of a chain (``PoleTask.arc``), in the tree's units, from which the chain is rotated to its pole as a whole:
of trees without pins whose targets are within reach, and of all others. A chain stretched straight to a target beyond
reach has no side: a straight arm rotated by 107 degrees in one step of its target without the second."""


def bending_away(problem: TreeProblem, state: State) -> list[int]:
    """Return the effectors whose chains aren't straight, and don't bend to the sides of their poles.

    Of a pole that has no residual only chains that bend to both sides alternately count as bending away.
    """
    found = []
    for number, task in problem.poles.items():
        angle = task.arc(state.placed).angle
        bend, deviation = task.deviations(state.placed)
        if deviation > LEAST_BENT and (SCALAR.abs(angle) > WRONG_SIDE or bend < ZIGZAG * deviation):
            found.append(number)
    return found


def turned_to_poles(problem: TreeProblem, state: State, is_reference: bool = False) -> State:
    """Turn chains that bend to the wrong side about the lines from their roots to their tips, as limits allow.

    That leaves a tip where it is. A chain whose first bone carries other effectors is left alone.

    Without pins the chains of the pose at hand (``is_reference``), which a target that leaves reach doesn't change,
    are turned alike within reach and beyond. Arms of a Y that are bent by 0.02 at rest rotated by 149 degrees, 298
    times the median step's rotation, where a target left reach; so by 1.5 times.
    """
    is_firm = problem.is_weighed or (problem.has_far_target and not is_reference)
    least = WELL_BENT if is_firm else LEAST_BENT
    for task in problem.poles.values():
        bone, tip = task.joints[0], task.joints[-1]
        if any(joint != tip for joint in problem.effectors_beyond(bone)):
            continue
        angle, size, *_ = task.arc(state.placed)
        if SCALAR.abs(angle) <= WRONG_SIDE or size <= least:
            continue
        frames = [*state.placed.frames]
        frames[bone] = turned_by(frames[bone], task.rotation_to_pole(state.placed))
        state = problem.with_bones_at(state, {bone}, coordinates_of_tree(problem.start.tree, frames))
    return state


def bent_to_poles(problem: TreeProblem, state: State) -> State:
    """Return a reference pose turned to its poles, also the chains whose last bones keep a rotation.

    Of these the joints are rotated by R, about the line from root to tip, and the frames are ``FromTo(l_j, R l_j)
    F_j`` of the links l_j, clamped to limits; what hangs on them stays. R itself would rotate the foot of a leg
    that bends away from its pole by half a turn. With the leg as it is the descents of Rigify's human, with pinned
    feet and knees that bend backward by 0.08 m, converged in no frame of a bake, in 84 ms instead of 8 each, and a
    round of a hand's path left the knees off by 2.6 degrees instead of 0.01.
    """
    state = turned_to_poles(problem, state)
    for number, task in problem.poles.items():
        tip, end = task.joints[-1], problem.positions[number].joint
        angle, size, *_ = task.arc(state.placed)
        is_away = SCALAR.abs(angle) > WRONG_SIDE and size > LEAST_BENT
        carried = problem.effectors_beyond(task.joints[0])
        if is_away and end != tip and all(joint in (tip, end) for joint in carried):
            state = _bent_through(problem, state, task)
    return state


def _bent_through(problem: TreeProblem, state: State, task: PoleTask) -> State:
    """Bend one chain to its pole by the shortest rotations of its links (``bent_to_poles``)."""
    rotation = task.rotation_to_pole(state.placed)
    frames, joints = list(state.placed.frames), state.placed.joints
    for joint, following in pairwise(task.joints):
        link = subtract(joints[following], joints[joint])
        bent = from_to(SCALAR, link, rotate(turned_by(IDENTITY, rotation), link), rotation)
        frames[joint] = multiply(bent, frames[joint])
    children = problem.start.tree.structure.children
    bones = {joint for rotated in task.joints[:-1] for joint in (rotated, *children[rotated])}
    return problem.with_bones_at(state, bones, coordinates_of_tree(problem.start.tree, frames))
