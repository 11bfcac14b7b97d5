# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Projection of a solved chain onto what its bones can do: axes that are locked, bones that are sheared or uneven.

The solver takes every bone for a rigid link with a ball joint. Where a bone isn't, its channels give another rotation
or another length than the solver found, and the tip is off its target. So, in this order:

1. Restarts: the solver starts again from the pose that the feasible channels give, until the tip gets no nearer. Links
   of bones that aren't rigid are aimed at the solution's first, each in its parent frame.
2. Damped least squares (Levenberg 1944, Marquardt 1963) on the bones' own rotations: ``dq = J^T (J J^T + d I)^-1 r``,
   with ``r`` the position residual over chain length and ``J`` by finite differences through the feasible channels, so
   that it is 0 for what is locked. Skipped where the error is rounding or the target is out of reach.
3. Further projections, each from the pose before, while the error or else the angle to the pole falls: they leave
   local minima. The present pose is kept where it is feasible and as good: solving again changes nothing.

Both read from Blender the matrix of the bone above the chain, and write nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...core import Array, ComponentSolution, Goals, Options, StartPose, Status, solve_components, start_from
from ...core.goals.pole import turn_pole
from ...core.math.operations import SCALAR
from ...core.math.vectors import first_direction
from ...core.optimise.pole_task import POINTED, pole_angle
from ...core.solvers.fabrik_solver import POLE_GAIN
from ..rig.bone_kinematics import parent_frame
from ..rig.bone_rotations import bone_parent_frames, bone_rotations
from ..rig.chain_bones import ChainBones, bone_matrices, read_pose
from ..rig.rotation_channel import Channel
from .feasible_channels import feasible_channels

if TYPE_CHECKING:
    from bpy.types import PoseBone

_RESTARTS = 16
"""Solves from the feasible pose, at most."""

_POSITION_PRECISION = 1e-7
"""Distance from tip to target over chain length that is single precision's rounding."""

_IDLE = 0.98
"""Ratio of a restart's error to the smallest one so far above which it counts as idle; three in a row end them."""

_SLOW = 0.5
"""The same ratio above which restarts end where the error is within the tolerance already."""

_MOST_DAMPED_STEPS = 40
"""Steps of damped least squares, at most."""

_PROJECTIONS = 3
"""Further projections of a chain in a local minimum, each from where the one before ended, at most."""

_POLE_PROJECTIONS = 8
"""Further projections that turn the bend to the pole, at most: locks undo about half of each."""

_SAME_COMPONENTS = 1e-4
"""Difference of two quaternions' components that is the rounding of Euler angles."""

_PROBE = 1e-3
"""Turn (radians) of the finite differences: small beside a bend, large beside single precision."""

_LARGEST_TURN = 0.3
"""Turn (radians) of one bone in one step, at most: over larger turns the Jacobian isn't constant."""

_FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1e-3, 1e-9, 1e6
"""``d``: at first, at least, at most. It is divided by 5 after a step that brings the tip nearer, else multiplied by 8
and the step is tried again from the same pose."""


@dataclass(frozen=True)
class ProjectedPose:
    """A chain's feasible pose."""

    rotations: list[Quaternion]
    """Of all bones, their own."""
    channels: tuple[tuple[PoseBone, Channel], ...]
    """Of the bones that turn."""
    error: float
    """Distance from tip to target over chain length."""
    sweeps: int
    status: int
    """Of the last solve."""
    residual: Vector
    """From the tip to the target, in armature space."""


def project_onto_constraints(
    bones: ChainBones, goals: Goals, options: Options, solution: ComponentSolution, rotations: list[Quaternion]
) -> ProjectedPose:
    """Return the feasible pose with the tip as near to the target as restarts and least squares bring it.

    Args:
        bones: of the chain.
        goals: target and pole.
        options: sweeps at most, error that counts as reached.
        solution: of the solver, from the bones' present pose.
        rotations: the bones' own that it gives.
    """
    best: ProjectedPose | None = None
    sweeps = idle = 0
    for _ in range(_RESTARTS):
        sweeps += int(cast(int, solution.sweeps))
        if not bones.is_rigid:
            rotations = _aimed_rotations(bones, solution, rotations)
        channels, rotations = feasible_pose(bones, rotations)
        start = _start(bones, rotations)
        residual = goals.targets[0] - start.pose.positions[-1]
        error = float(np.linalg.norm(residual)) / start.chain.total_length
        # Within the tolerance the restarts go on while each halves the error: solving again then changes nothing.
        is_slow = best is not None and error > _SLOW * best.error
        idle = idle + 1 if best is not None and error > _IDLE * best.error else 0
        if best is None or error < best.error:
            status = int(cast(int, solution.status))
            best = ProjectedPose(rotations, channels, error, sweeps, status, Vector(residual.tolist()))
        if error <= _POSITION_PRECISION or idle == 3 or (is_slow and best.error <= options.tolerance):
            break
        solution = solve_components(start, goals, options)
        rotations = _rotations_of(bones, start, rotations, solution)
    assert best is not None  # _RESTARTS is more than 0
    if best.error > 10.0 * _POSITION_PRECISION and not (bones.is_rigid and best.status == Status.OUT_OF_REACH):
        best = _least_squares(bones, goals, options, best)
    return replace(best, sweeps=sweeps)


def refined_projection(bones: ChainBones, goals: Goals, options: Options, found: ProjectedPose) -> ProjectedPose:
    """Return a projected pose, projected further while that brings it nearer to the target, then to the pole.

    Where the present pose is feasible and as good, that is returned: otherwise the residual that locks and limits leave
    would change the pose each time that it is solved again.
    """
    for _ in range(_PROJECTIONS):
        further = found if found.error <= options.tolerance else _projected_further(bones, goals, options, found)
        if further.error > POLE_GAIN * found.error:
            break
        found = further
    for _ in range(_POLE_PROJECTIONS if goals.poles is not None and found.error <= options.tolerance else 0):
        angle = _angle_to_pole(bones, goals, found.rotations)
        bent = found if angle <= POINTED else _projected_further(bones, goals, options, found)
        if bent.error > options.tolerance or _angle_to_pole(bones, goals, bent.rotations) > POLE_GAIN * angle:
            break
        found = bent
    return found if goals.rotations is not None else _present_pose_if_as_good(bones, goals, options, found)


def feasible_pose(
    bones: ChainBones, rotations: Sequence[Quaternion]
) -> tuple[tuple[tuple[PoseBone, Channel], ...], list[Quaternion]]:
    """Return the feasible channels of the bones that turn, and the own rotations of all bones with them."""
    tree, desired = bones.tree, [rotations[i] for i in bones.free]
    channels, given = feasible_channels(tree.bones, desired, tree.limits, bones.free_rotations)
    return tuple(zip(tree.bones, channels, strict=True)), bones.with_free(given)


def _start(bones: ChainBones, rotations: Sequence[Quaternion]) -> StartPose:
    return start_from(*read_pose(bones, bone_matrices(bones, rotations), rotations))


def _rotations_of(
    bones: ChainBones, start: StartPose, rotations: Sequence[Quaternion], solution: ComponentSolution
) -> list[Quaternion]:
    """Return the own rotations of all bones in a solution that started from given rotations."""
    free = [rotations[i] for i in bones.free]
    frames = bone_parent_frames(bones.tree.rotation_parents, start.frames, free)
    return bones.with_free(bone_rotations(frames, solution.frames))


def _projected_further(bones: ChainBones, goals: Goals, options: Options, found: ProjectedPose) -> ProjectedPose:
    """Return the projection that starts from a projected pose, as solving again would."""
    here = replace(bones, rotations=tuple(found.rotations))
    start = _start(here, found.rotations)
    solution = solve_components(start, goals, options)
    rotations = _rotations_of(here, start, found.rotations, solution)
    further = project_onto_constraints(here, goals, options, solution, rotations)
    return replace(further, sweeps=found.sweeps + further.sweeps)


def _present_pose_if_as_good(bones: ChainBones, goals: Goals, options: Options, found: ProjectedPose) -> ProjectedPose:
    """Return the present pose if it is feasible, at its target, and its bend as near to the pole as what was found."""
    channels, feasible = feasible_pose(bones, bones.rotations)
    if any(_difference(given, own) > _SAME_COMPONENTS for given, own in zip(feasible, bones.rotations, strict=True)):
        return found
    positions, length = _joints(bones, feasible)
    root, tip, target = (Vector(point.tolist()) for point in (positions[0], positions[-1], goals.targets[0]))
    residual = target - tip
    error = residual.length / length
    if options.softness > 0.0 and (target - root).length > (1.0 - options.softness) * length:
        return found  # within the softness zone the desired tip is short of the target
    angle = 0.0 if goals.poles is None else _angle_to_pole(bones, goals, feasible)
    is_as_good = angle <= POINTED or POLE_GAIN * angle <= _angle_to_pole(bones, goals, found.rotations)
    if error > options.tolerance or not is_as_good:
        return found
    return ProjectedPose(feasible, channels, error, 0, int(Status.REACHED), residual)


def _difference(a: Quaternion, b: Quaternion) -> float:
    """Return the largest difference of two rotations' components."""
    sign = -1.0 if a.dot(b) < 0.0 else 1.0
    return max(abs(x - sign * y) for x, y in zip(a[:], b[:], strict=True))


def _joints(bones: ChainBones, rotations: Sequence[Quaternion]) -> tuple[Array, float]:
    """Return the joints (J, 3) and the length of the chain for other rotations of its bones."""
    positions = bones.tree.joints(bone_matrices(bones, rotations))
    lengths = np.zeros(len(positions))
    lengths[1:] = np.linalg.norm(positions[1:] - positions[:-1], axis=1)
    return positions, float(lengths.sum())


def _tip(bones: ChainBones, rotations: Sequence[Quaternion]) -> tuple[Vector, float]:
    """Return the tip and the length of the chain for other rotations of its bones."""
    positions, length = _joints(bones, rotations)
    return Vector(positions[-1].tolist()), length


def _angle_to_pole(bones: ChainBones, goals: Goals, rotations: Sequence[Quaternion]) -> float:
    """Return the angle (radians) from the pole to the bend, about the line from the root to the tip."""
    assert goals.poles is not None  # called for goals with a pole only
    positions, length = _joints(bones, rotations)
    points = (np.vstack([positions, goals.poles]) - positions[0]) / length
    *joints, pole = [(x, y, z) for x, y, z in points.tolist()]
    if goals.pole_angles is not None:
        along = first_direction(SCALAR, [joints[-1], joints[1]])
        turned = turn_pole(SCALAR, pole, along, float(goals.pole_angles[0]))
        return float(cast(float, pole_angle(SCALAR, joints, joints[-1], turned)))
    return float(cast(float, pole_angle(SCALAR, joints, joints[-1], pole)))


def _least_squares(bones: ChainBones, goals: Goals, options: Options, best: ProjectedPose) -> ProjectedPose:
    """Turn bones by damped least squares until the tip is at the target or gets no nearer."""
    target = Vector(goals.targets[0].tolist())
    rotations, channels, damping = best.rotations, best.channels, _FIRST_DAMPING
    tip, length = _tip(bones, rotations)
    jacobian: Array | None = None
    for _ in range(_MOST_DAMPED_STEPS):
        residual = np.array((target - tip) / length)
        if np.linalg.norm(residual) <= max(_POSITION_PRECISION, 0.01 * options.tolerance):
            break
        if jacobian is None:
            jacobian = _jacobian(bones, rotations, tip, length)
        normal = jacobian @ jacobian.T + damping * np.eye(3)
        turns = jacobian.T @ np.linalg.solve(normal, residual)
        turns *= min(1.0, _LARGEST_TURN / (np.abs(turns).max() + 1e-300))
        trial_channels, trial = feasible_pose(bones, _turned(bones, rotations, turns.reshape(-1, 3)))
        trial_tip, trial_length = _tip(bones, trial)
        if (target - trial_tip).length / trial_length < (target - tip).length / length:
            rotations, channels, tip, length, jacobian = trial, trial_channels, trial_tip, trial_length, None
            damping = max(0.2 * damping, _LEAST_DAMPING)
        elif damping > _MOST_DAMPING:
            break
        else:
            damping *= 8.0
    error = (target - tip).length / length
    if error >= best.error:
        return best
    return replace(best, rotations=rotations, channels=channels, error=error, residual=target - tip)


def _jacobian(bones: ChainBones, rotations: list[Quaternion], tip: Vector, length: float) -> Array:
    """Return the tip's response (3, 3 F), over chain length, to the turn of each bone about its own x, y and z."""
    columns = []
    for row in range(len(bones.free)):
        for axis in range(3):
            turns = np.zeros((len(bones.free), 3))
            turns[row, axis] = _PROBE
            _, probed = feasible_pose(bones, _turned(bones, rotations, turns))
            moved, _ = _tip(bones, probed)
            columns.append((moved - tip) / (_PROBE * length))
    return np.array(columns).T


def _turned(bones: ChainBones, rotations: Sequence[Quaternion], turns: Array) -> list[Quaternion]:
    """Return the own rotations of all bones with those that turn multiplied by rotation vectors (F, 3)."""
    turned = list(rotations)
    for i, turn in zip(bones.free, turns.tolist(), strict=True):
        vector = Vector(turn)
        if vector.length > 0.0:
            turned[i] = turned[i] @ Quaternion(vector.normalized(), vector.length)
    return turned


def _aimed_rotations(bones: ChainBones, solution: ComponentSolution, rotations: list[Quaternion]) -> list[Quaternion]:
    """Return rotations turned on, root first, until each link points where the solution's does.

    The shortest turn is taken in the parent frame ``S``: for a link ``l`` and where it should point ``d``, both in
    armature space, ``q' = FromTo(S^-1 l, S^-1 d) q``. Where ``S`` has shear or uneven scale the turn in armature space
    is none of the bone's.
    """
    points = [Vector(point) for point in cast("list[tuple[float, float, float]]", solution.points)]
    aimed = list(rotations)
    for row, i in enumerate(bones.free):
        matrices = bone_matrices(bones, aimed)
        joints = [Vector(point) for point in bones.tree.joints(matrices).tolist()]
        to_parent = parent_frame(bones.bones[i], _parent_matrix(bones, matrices, i)).inverted_safe()
        link = to_parent @ (joints[row + 1] - joints[row])
        desired = to_parent @ (points[row + 1] - points[row])
        if link.length > 0.0 and desired.length > 0.0:
            aimed[i] = link.rotation_difference(desired) @ aimed[i]
    return aimed


def _parent_matrix(bones: ChainBones, matrices: Sequence[Matrix], i: int) -> Matrix | None:
    if i > 0:
        return matrices[i - 1]
    above = bones.bones[0].parent
    return above.matrix if above else None
