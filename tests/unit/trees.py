# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees, targets that they can reach, and what the laws measure on them, over numpy's matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fabrik_addon.core import Chain, Pose, plain_chain
from fabrik_addon.core.model.tree_state import State
from fabrik_addon.core.tasks.task_stack import TaskStack
from tests.unit.chains import Array, matrix, quaternion, unit


def tree_chain(parents: list[int], tips: list[int], positions: Array, **fields: object) -> Chain:
    """The tree of joints at some places, without limits."""
    ahead = np.maximum(parents, 0)
    lengths = np.linalg.norm(positions - positions[ahead], axis=1)
    chain = plain_chain(np.ones(len(parents) - 1))
    made = replace(chain, parents=np.array(parents), lengths=lengths, tips=np.array(tips), weights=np.ones(len(tips)))
    return replace(made, **fields)  # type: ignore[arg-type]


def random_tree(rng: np.random.Generator, joints: int) -> tuple[Chain, Pose]:
    """A tree whose leaves are effectors, in a random pose; where it branches is up to chance."""
    parents = [-1, *(int(rng.integers(max(0, j - 4), j)) for j in range(1, joints))]
    steps = rng.uniform(0.3, 1.0, (joints, 1)) * unit(rng.normal(size=(joints, 3)) + np.array([0.0, 0.0, 0.8]))
    positions = np.zeros((joints, 3))
    for j in range(1, joints):
        positions[j] = positions[parents[j]] + steps[j]
    tips = [j for j in range(joints) if j not in parents]
    frames = np.array([quaternion(random_matrix(rng, np.pi)) for _ in range(joints)])
    return tree_chain(parents, tips, positions), Pose(positions, frames)


def y_tree(trunk: int = 3, arm: int = 3) -> tuple[Chain, Pose]:
    """A trunk with two arms, bent a little, links one long and along the bones' y axes."""
    parents, positions = [-1], [np.zeros(3)]
    for i in range(trunk):
        positions.append(positions[-1] + unit([0.1 * (-1) ** i, 0.0, 1.0]))
        parents.append(i)
    tips = []
    for side in (1.0, -1.0):
        above = trunk
        for i in range(arm):
            positions.append(positions[above] + unit([side, 0.1 * (-1) ** i, 0.4]))
            parents.append(above)
            above = len(positions) - 1
        tips.append(above)
    places = np.array(positions)
    frames = np.zeros((len(places), 4))
    frames[:, 0] = 1.0
    return tree_chain(parents, tips, places), Pose(places, frames)


def standing_body() -> tuple[Chain, Pose]:
    """Return a body of 11 joints with the root at its hips: tips are the feet and the end of an arm."""
    parents = [-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 9]
    legs = [[0.1, -0.06, 0.55], [-0.1, -0.06, 0.55]], [[0.1, 0, 0.1], [-0.1, 0, 0.1]]
    hips = [[0, 0, 1], [0.1, 0, 1], [-0.1, 0, 1], [0, 0, 1.3]]
    positions = np.array([*hips, *legs[0], [0, 0, 1.6], *legs[1], [0.25, 0.05, 1.5], [0.5, 0, 1.45]], float)
    pose = Pose(positions, np.tile([1.0, 0.0, 0.0, 0.0], (len(parents), 1)))
    return tree_chain(parents, [7, 8, 10], positions), pose


def leg_with_foot(knee: float = 0.03) -> tuple[Chain, Pose]:
    """A leg with its knee in front, which is -Y, by a distance, and a foot with an effector of its own below it."""
    positions = np.array([[0.0, 0.0, 0.9], [0.0, -knee, 0.5], [0.0, 0.02, 0.08], [0.0, -0.12, 0.02]])
    chain = tree_chain([-1, 0, 1, 2], [2, 3], positions, starts=np.array([0, 2]))
    return chain, Pose(positions, np.tile([1.0, 0.0, 0.0, 0.0], (4, 1)))


def random_matrix(rng: np.random.Generator, most: float) -> Array:
    """A rotation by up to an angle about any axis (Rodrigues)."""
    x, y, z = unit(rng.normal(size=3))
    k = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    angle = rng.uniform(0.0, most)
    return np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * k @ k


def posed(rng: np.random.Generator, chain: Chain, pose: Pose, most: float) -> Array:
    """Where the joints are after every bone has turned at random, by up to an angle, in its parent's frame."""
    places = pose.positions.copy()
    coordinates = [np.eye(3)] * len(places)
    for j, parent in enumerate(chain.parents.tolist()):
        if parent >= 0:
            places[j] = places[parent] + coordinates[parent] @ (pose.positions[j] - pose.positions[parent])
            coordinates[j] = coordinates[parent] @ random_matrix(rng, most)
        else:
            coordinates[j] = random_matrix(rng, most)
    return places


def position_errors(chain: Chain, positions: Array, targets: Array) -> Array:
    """Distances (E,) from effectors to targets, over the length of the whole tree."""
    return np.linalg.norm(positions[chain.tips] - targets, axis=-1) / chain.lengths.sum()


def shape_error(chain: Chain, before: Pose, after: Pose) -> float:
    """By how much any joint isn't where its parent bone carries it, over the tree's length."""
    worst = 0.0
    for j, parent in enumerate(chain.parents.tolist()):
        if parent < 0:
            continue
        own = matrix(before.rotations[parent]).T @ (before.positions[j] - before.positions[parent])
        carried = after.positions[parent] + matrix(after.rotations[parent]) @ own
        worst = max(worst, float(np.abs(carried - after.positions[j]).max()))
    return worst / float(chain.lengths.sum())


def second_derivative(stack: TaskStack, state: State, forces: Array, one: Array, other: Array) -> float:
    """The mixed second derivative of ``f . r`` along two changes of a state, f a constant."""
    step = 1e-4
    values = [
        float(forces @ stack.residual(stack.coordinates.applied(state, step * (a * one + b * other))))
        for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))
    ]
    return (values[0] - values[1] - values[2] + values[3]) / (4.0 * step * step)
