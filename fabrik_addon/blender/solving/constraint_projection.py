# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Projection of a solved chain onto what its bones can do: axes that are locked, bones that are sheared or uneven.

The solver takes every bone for a rigid link with a ball joint, perhaps within limits. Where a bone isn't, its channels
give another rotation or another length than the solver found, and the tip is off its target. (Where two locks at 0
leave a hinge, that is a limit to the solver, and the pose isn't projected: ``rotates_freely``.) So, in this order:

1. Links of bones that aren't rigid are aimed at the solution's, each in its parent frame.
2. Damped least squares (Levenberg 1944, Marquardt 1963) on the bones' own rotations: ``dq = J^T (J J^T + d I)^-1 r``,
   with ``r`` the position residual over chain length and ``J`` by finite differences through the feasible channels, so
   that it is 0 for what is locked. Skipped where the error is rounding.
3. Where the tip is at the target: damped least squares on the angles that bend and last bone are off pole and
   rotation, in the null space of the tip's Jacobian (Liegeois 1977).
4. If the pose of steps 1 to 3 isn't nearer than the present pose (``_is_nearer``), the present pose is kept, or where
   its tip is off the target brought nearer by steps 2 and 3. Else the solver solves again from the pose of steps 1 to
   3, and its solution is projected by steps 1 to 3, while each projection is nearer than the one before. The next solve
   takes the same steps, and mostly keeps the pose.

A move of a drag starts steps 2 and 3 from the feasible pose of the move before, the first one from the pose at hand,
and rotates back toward the reference pose in what they leave free (``followed``): without that 27 of 34 random chains
with locks were off their pose by more than half a degree after one round, with it five are. Where steps 2 and 3 don't
reach the target, and a solve with steps 1 to 4 does, or comes to half of their error, the move has the pose of that
solve. The same holds for frames of a bake between which the bones' own rotations don't change. With each move solved by
steps 1 to 4 bones of 18 of 33 random chains with locks and a pole rotated in a move by more than 3 times the median
move's largest rotation; now those of 9 of 35 do (of 40 chains, those that are at their targets at first).

For the position alone the solver solves once: with up to 15 further solves, each from the feasible pose before, a chain
of four sheared bones with an unreachable target took 270 ms instead of 37, and 62 of 148 random chains were at their
targets instead of 65.

Read from Blender: the matrix of the bone above the chain. Nothing is written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...core import Array, ComponentSolution, Goals, Options, StartPose, Status, solve_components, start_from
from ...core.fabrik.pole_shape import NEARLY_STRAIGHT, reach_in_shape
from ...core.goals.pole import rotate_pole
from ...core.math.factorisation import damped_inverse
from ...core.math.operations import SCALAR, TINY
from ...core.math.vectors import first_direction
from ...core.solvers.fabrik_solver import POLE_GAIN
from ...core.within_limits.bend_toward_pole import POINTED, angle_to_pole
from ...core.within_limits.least_rotation import FIRST_GUESS
from ..bones.bone_kinematics import basis_with, parent_frame, pose_matrices
from ..bones.bone_rotations import bone_parent_frames, bone_rotations
from ..bones.feasible_channels import feasible_channels, rotations_differ
from ..bones.rotation_channel import Channel
from ..rig.chain_bones import ChainBones, bone_matrices, chain_bases, read_pose

if TYPE_CHECKING:
    from bpy.types import PoseBone

_POSITION_PRECISION = 1e-7
"""Distance from tip to target over chain length that is single precision's rounding."""

_MOST_DAMPED_STEPS = 40
"""Steps of damped least squares, at most."""

_SLOW_PROJECTION, _MOST_SLOW_STEPS = 0.995, 6
"""Ratio of the error after a step to that before, above which a step is slow; so many in a row end the descent. With
three a second press of Solve changed 64 of 399 random chains, most of them beyond reach, with six it changes 41."""

_NEARER = 0.95
"""Ratio of the errors of two poses whose tips are off the target, below which one is nearer."""

_QUICK = 0.5
"""Ratio of the error after a step to that before, below which the next step's Jacobian isn't computed but updated."""

_STILL = 1e-5
"""Share of the squared error that a step takes away by its Jacobian, below which no step brings the tip nearer."""

_FURTHER_PROJECTIONS = 8
"""Further projections toward pole and rotation, at most, each from the solution of another solve."""

_ANGLE_STEPS, _RETURN_STEPS = 12, 3
"""Steps toward pole and rotation, at most, and those that bring the tip back to the target after each."""

_STEPS_BACK = 3
"""Steps, at most, that also go back toward the reference pose, without pole and rotation; with these it is one step.

With one, 11 of 28 random chains with locks that were dragged out and back had poses more than 0.1 degrees apart, with
three six; with a pole 15 of 33 had either way."""

_LEAST_ANGLE_DAMPING = 1e-6
"""Least damping d of a step toward pole and rotation; that of ``J J^T`` in the projector onto the null space of J."""

_DIFFERENCE = 1e-3
"""Rotation (radians) of the finite differences: small beside a bend, large beside single precision."""

_LARGEST_ROTATION = 0.6
"""Rotation (radians) of one bone in one step, at most: over larger ones the Jacobian isn't constant, and with half of
it the steps of 30 sheared chains ended 1.07 times as far from their targets."""

_AXIS_VECTORS = (Vector((1.0, 0.0, 0.0)), Vector((0.0, 1.0, 0.0)), Vector((0.0, 0.0, 1.0)))

_FIRST_DAMPING, _LEAST_PROJECTION_DAMPING, _MOST_DAMPING = 1e-3, 1e-9, 1e6
"""``d``: at first, at least, at most. It is divided by 5 after a step that brings the tip nearer, else
multiplied by 8 and the step is tried again from the same pose."""


@dataclass(frozen=True)
class ProjectedPose:
    """A chain's feasible pose."""

    rotations: list[Quaternion]
    """Own rotations of all bones."""
    channels: tuple[tuple[PoseBone, Channel], ...]
    """Of the bones that rotate."""
    error: float
    """Distance from tip to target over chain length."""
    iterations: int
    status: int
    """Of the last solve."""
    residual: Vector
    """From the tip to the target, in armature space."""


def project_onto_constraints(
    bones: ChainBones, goals: Goals, options: Options, solution: ComponentSolution, rotations: list[Quaternion]
) -> ProjectedPose:
    """Return the feasible pose with the tip as near to the target as least squares bring it.

    Args:
        goals: target and pole.
        options: iterations at most, error that counts as reached.
        solution: of the solver, from the bones' present pose.
        rotations: the bones' own that it gives.
    """
    if not bones.is_rigid:
        rotations = _aimed_rotations(bones, solution, rotations)
    iterations, status = int(cast(int, solution.iterations)), int(cast(int, solution.status))
    return _descended(bones, goals, options, rotations, iterations, status)


def _descended(
    bones: ChainBones, goals: Goals, options: Options, rotations: Sequence[Quaternion], iterations: int, status: int
) -> ProjectedPose:
    """Return the feasible pose to which steps 2 and 3 lead from own rotations of all bones.

    Args:
        iterations: of the solve that gave the rotations.
        status: of that solve.
    """
    here = _at_target(bones, goals.targets[0], options, rotations)
    return _projected(_toward_pole_and_rotation(bones, goals, options, here), iterations, status)


def _projected(pose: _FeasiblePose, iterations: int, status: int) -> ProjectedPose:
    residual = Vector((pose.length * pose.residual).tolist())
    return ProjectedPose(pose.rotations, pose.channels, pose.error, iterations, status, residual)


def _at_target(bones: ChainBones, target: Array, options: Options, rotations: Sequence[Quaternion]) -> _FeasiblePose:
    """Return the feasible pose of own rotations of all bones, with the tip brought to the target (3,) (step 2)."""
    here = _feasible_pose_at(bones, target, rotations)
    return here if here.error <= 10.0 * _POSITION_PRECISION else _least_squares(bones, target, options, here)


def followed(bones: ChainBones, goals: Goals, options: Options, before: Sequence[Quaternion]) -> ProjectedPose:
    """Return the feasible pose that goes on from that of the move before, rotated back toward the reference pose.

    In a step back no bone rotates about an own axis by more than the largest such rotation since the move before: a
    pose that came another way, over a place beyond reach, returns move by move.

    Args:
        before: own rotations of all bones in the move before.
    """
    here = _at_target(bones, goals.targets[0], options, before)
    off = _angle_off(bones, goals, here.rotations)
    moved = float(np.abs(_rotation_vectors(bones, before, here.rotations)).max())
    found = _toward_pole_and_rotation(bones, goals, options, here, moved)
    if _angle_off(bones, goals, found.rotations) > max(POINTED, off):
        found = _toward_pole_and_rotation(bones, goals, options, here)
    return _projected(found, 0, Status.REACHED)


def refined_projection(bones: ChainBones, goals: Goals, options: Options, found: ProjectedPose) -> ProjectedPose:
    """Return the present pose where a projected one isn't nearer, else that one, projected further.

    Otherwise what locks and limits leave of target, pole and rotation would change the pose each time that it is solved
    again.
    """
    present = present_pose(bones, goals)
    if present is not None and not _is_nearer(bones, goals, options, found, present):
        if present.error > options.tolerance:
            return _descended(bones, goals, options, bones.rotations, found.iterations, found.status)
        away = (Vector(goals.targets[0].tolist()) - bones.bones[0].head).length
        # Within the softness zone the desired tip is short of the target.
        if options.softness == 0.0 or away <= (1.0 - options.softness) * _joints(bones, present.rotations)[1]:
            return present
    return projected_further(bones, goals, options, found)


def projected_further(bones: ChainBones, goals: Goals, options: Options, found: ProjectedPose) -> ProjectedPose:
    """Return a projected pose, projected further while that brings it nearer to pole and rotation.

    Sheared bones off their target stay as they are: each projection of four takes 8 ms.
    """
    for _ in range(_FURTHER_PROJECTIONS if bones.has_locks or found.error <= options.tolerance else 0):
        if _angle_off(bones, goals, found.rotations) <= POINTED:
            break
        further = _projected_once_more(bones, goals, options, found)
        if not _is_nearer(bones, goals, options, further, found):
            break
        found = further
    return found


def _is_nearer(bones: ChainBones, goals: Goals, options: Options, found: ProjectedPose, other: ProjectedPose) -> bool:
    """Tell whether a pose is nearer to the target than another one, or as near and nearer to pole and rotation."""
    error, other_error = max(found.error, options.tolerance), max(other.error, options.tolerance)
    if error < _NEARER * other_error or other_error < _NEARER * error:
        return error < other_error
    return not is_as_good(bones, goals, other, found)


def feasible_pose(
    bones: ChainBones, rotations: Sequence[Quaternion]
) -> tuple[tuple[tuple[PoseBone, Channel], ...], list[Quaternion]]:
    """Return the feasible channels of the bones that rotate, and the own rotations of all bones with them."""
    desired = [rotations[i] for i in bones.free]
    channels, given = feasible_channels(bones.tree.constraints, desired, bones.free_rotations)
    return tuple(zip(bones.tree.bones, channels, strict=True)), bones.with_free(given)


def _start(bones: ChainBones, rotations: Sequence[Quaternion]) -> StartPose:
    return start_from(*read_pose(bones, bone_matrices(bones, rotations), rotations))


def _rotations_of(
    bones: ChainBones, start: StartPose, rotations: Sequence[Quaternion], solution: ComponentSolution
) -> list[Quaternion]:
    """Return the own rotations of all bones in a solution that started from given rotations."""
    free = [rotations[i] for i in bones.free]
    frames = bone_parent_frames(bones.tree.rotation_parents, start.frames, free)
    return bones.with_free(bone_rotations(frames, solution.frames))


def _projected_once_more(bones: ChainBones, goals: Goals, options: Options, found: ProjectedPose) -> ProjectedPose:
    """Return the projection that starts from a projected pose, as solving again would.

    The solve has too few iterations to search within limits from other starts: with all iterations three of the slowest
    random chains with a pole took 1.4 to 1.9 times as long, and none of them came nearer to its pole. Channels are
    those of the projected pose: of the two sets of Euler angles of a rotation, locks keep values of the nearer one.
    With the present pose's channels the next Solve found another pose.
    """
    own_channels = list(bones.own_channels)
    for i, (_, (_, values)) in zip(bones.free, found.channels, strict=True):
        own_channels[i] = own_channels[i]._replace(present=values)
    here = replace(bones, rotations=tuple(found.rotations), own_channels=tuple(own_channels))
    start = _start(here, found.rotations)
    few = replace(options, iterations=min(FIRST_GUESS, options.iterations))
    solution = solve_components(start, goals, few)
    rotations = _rotations_of(here, start, found.rotations, solution)
    further = project_onto_constraints(here, goals, options, solution, rotations)
    return replace(further, iterations=found.iterations + further.iterations)


def present_pose(bones: ChainBones, goals: Goals) -> ProjectedPose | None:
    """Return the present pose, measured without stretch, or None where locks or limits don't allow it."""
    here = _feasible_pose_at(bones, goals.targets[0], bones.rotations)
    if any(map(rotations_differ, here.rotations, bones.rotations)):
        return None
    return _projected(here, 0, Status.REACHED)


def is_as_good(bones: ChainBones, goals: Goals, present: ProjectedPose, found: ProjectedPose) -> bool:
    """Tell whether the present pose is as near to pole and rotation as one that was found.

    Without the comparison of the rotation a second press of Solve rotated bones of 42 of 52 random chains of four bones
    with locks or Limit Rotation constraints.
    """
    angle = _angle_off(bones, goals, present.rotations)
    return angle <= POINTED or POLE_GAIN * angle <= _angle_off(bones, goals, found.rotations)


def _joints(bones: ChainBones, rotations: Sequence[Quaternion]) -> tuple[Array, float]:
    """Return the joints (J, 3) and the length of the chain for other rotations of its bones."""
    positions = bones.tree.joints(bone_matrices(bones, rotations))
    return positions, _length_of(positions)


def _length_of(positions: Array) -> float:
    links = np.diff(positions, axis=0)
    return float(np.sqrt((links * links).sum(axis=1)).sum())


def _angle_off(bones: ChainBones, goals: Goals, rotations: Sequence[Quaternion]) -> float:
    """Return the root of the sum of the squared angles (radians) that bend and last bone are off."""
    return math.hypot(*_angles_off(bones, goals, rotations))


def _angles_off(bones: ChainBones, goals: Goals, rotations: Sequence[Quaternion]) -> list[float]:
    """Return the angle (radians) that the bend is off the pole, and the rotation vector that the last bone is off."""
    off = [] if goals.poles is None else [_angle_to_pole(bones, goals, rotations)]
    if goals.rotations is not None:
        shown = bone_matrices(bones, rotations)[-1].to_quaternion()
        off += _rotation_vector(Quaternion(goals.rotations[0].tolist()) @ shown.inverted())
    return off


def _rotation_vector(q: Quaternion) -> list[float]:
    """Return the rotation vector (radians) of a rotation, at most half a turn long."""
    w, *vector = q[:]
    sine = math.hypot(*vector)
    angle = math.copysign(2.0 * math.atan2(sine, abs(w)), w)
    return [angle * part / max(sine, TINY) for part in vector]


def _angle_to_pole(bones: ChainBones, goals: Goals, rotations: Sequence[Quaternion]) -> float:
    """Return the angle (radians) from the pole to the bend, about the line from the root to the end of the bend.

    The bend is that of all links; with a rotation, which the last bone takes, that of the links before it, if there are
    two or more.
    """
    assert goals.poles is not None  # called for goals with a pole only
    positions, length = _joints(bones, rotations)
    points = (np.vstack([positions, goals.poles]) - positions[0]) / length
    *joints, pole = [(x, y, z) for x, y, z in points.tolist()]
    if goals.rotations is not None and len(joints) > 3:
        joints.pop()
    if goals.pole_angles is not None:
        along = first_direction(SCALAR, [joints[-1], joints[1]])
        pole = rotate_pole(SCALAR, pole, along, float(goals.pole_angles[0]))
    shape, shaped = bones.pole_shape, []
    if shape and len(shape) == len(joints) - 1:
        links = list(map(math.dist, joints, joints[1:]))
        total = sum(links)
        lengths, away = [link / total for link in links], math.hypot(*joints[-1]) / total
        shaped = reach_in_shape(SCALAR, shape, lengths, min(away, NEARLY_STRAIGHT))
    return float(cast(float, angle_to_pole(SCALAR, joints, joints[-1], pole, shaped)))


class _FeasiblePose(NamedTuple):
    """A feasible pose of a chain, and where its tip is."""

    channels: tuple[tuple[PoseBone, Channel], ...]
    rotations: list[Quaternion]
    """Own rotations of all bones."""
    matrices: list[Matrix]
    """Of ``ChainBones.line``, in armature space."""
    residual: Array
    """From the tip to the target (3,), over the chain's length."""
    error: float
    """Length of the residual."""
    length: float
    """Of the chain, in armature space: sheared bones change it as they rotate."""
    tip: Array
    """(3,)"""


def _feasible_pose_at(bones: ChainBones, target: Array, rotations: Sequence[Quaternion]) -> _FeasiblePose:
    """Return the feasible pose for some rotations, measured from a target (3,)."""
    channels, feasible = feasible_pose(bones, rotations)
    matrices = bone_matrices(bones, feasible)
    positions = bones.tree.joints(matrices)
    length, tip = _length_of(positions), positions[-1]
    residual = (target - tip) / length
    error = math.sqrt(float(residual @ residual))
    return _FeasiblePose(channels, feasible, matrices, residual, error, length, tip)


def _least_squares(
    bones: ChainBones, target: Array, options: Options, here: _FeasiblePose, most_steps: int = _MOST_DAMPED_STEPS
) -> _FeasiblePose:
    """Rotate bones by damped least squares until the tip is at the target or gets no nearer.

    After a quick step the Jacobian is updated, ``J + (dx - J dq) dq^T / (dq . dq)`` with ``dx`` the tip's change by
    the step (Broyden 1965): by finite differences it costs as much as 3 F steps of F bones.

    Toward a target beyond reach, d lengths of the chain from its root, a step is divided by d: where a taut chain turns
    about its root, the squared error's second derivative is d times ``J^T J``. Whole steps swung to and fro about the
    nearest place until they counted as slow: a second press of Solve turned a bone with a locked axis by up to 26
    degrees.
    """
    beyond = max(1.0, float(np.linalg.norm(target - np.array(here.matrices[0].translation[:]))) / here.length)
    damping, slow = _FIRST_DAMPING, 0
    jacobian: Array | None = None
    is_updated = False
    for _ in range(most_steps):
        if here.error <= max(_POSITION_PRECISION, 0.01 * options.tolerance) or slow == _MOST_SLOW_STEPS:
            break
        if jacobian is None:
            jacobian, is_updated = _jacobians(bones, here)[0], False
        change = jacobian.T @ (damped_inverse(jacobian @ jacobian.T, damping) @ here.residual) / beyond
        change *= min(1.0, _LARGEST_ROTATION / (np.abs(change).max() + TINY))
        if not is_updated and here.residual @ jacobian @ change < _STILL * here.error**2:
            break
        trial = _feasible_pose_at(bones, target, _rotated(bones, here.rotations, change.reshape(-1, 3)))
        if trial.error < here.error:
            slow = slow + 1 if trial.error > _SLOW_PROJECTION * here.error else 0
            is_updated = trial.error < _QUICK * here.error
            unpredicted = here.residual - trial.residual - jacobian @ change
            jacobian = jacobian + np.outer(unpredicted, change) / (change @ change) if is_updated else None
            here, damping = trial, max(0.2 * damping, _LEAST_PROJECTION_DAMPING)
        elif is_updated:
            jacobian = None
        elif damping > _MOST_DAMPING:
            break
        else:
            damping *= 8.0
    return here


def _toward_pole_and_rotation(
    bones: ChainBones, goals: Goals, options: Options, here: _FeasiblePose, back: float = 0.0
) -> _FeasiblePose:
    """Rotate bend and last bone to pole and rotation while the tip stays at the target, within the tolerance.

    With e the angles that they are off, A their Jacobian, J that of the tip, c ``_LEAST_ANGLE_DAMPING``,
    ``N = I - J^T (J J^T + c I)^-1 J`` and ``B = A N``, a step is ``dq = -B^T (B B^T + d I)^-1 e``; least squares on the
    position follow. The steps end where the model of one leaves more than ``POLE_GAIN |e|``.

    With ``back`` the first steps also go back toward the reference pose in what is left free then, by
    ``N L^T p - B^T (B B^T + c I)^-1 B N L^T p`` with p the rotation vectors from the pose to the reference pose, L the
    Jacobian of the rotations that limits and locks leave. They don't end by the model.

    Args:
        here: the feasible pose to start from.
        back: largest rotation (radians) of a bone about an own axis toward the reference pose, in one step; 0 is none.
    """
    off, damping = np.array(_angles_off(bones, goals, here.rotations)), _FIRST_DAMPING
    within: Array | None = None
    for step in range(_ANGLE_STEPS if here.error <= options.tolerance else 0):
        angle = math.hypot(*off)
        back = back if step < (1 if off.size else _STEPS_BACK) else 0.0
        if angle <= POINTED and back == 0.0:
            break
        if within is None:
            jacobian, left = _jacobians(bones, here)
            onto_tip = jacobian.T @ damped_inverse(jacobian @ jacobian.T, _LEAST_ANGLE_DAMPING)
            turning = _angles_jacobian(bones, goals, here, off)
            within = turning - (turning @ onto_tip) @ jacobian
        change = -within.T @ (damped_inverse(within @ within.T, damping) @ off)
        change *= min(1.0, _LARGEST_ROTATION / (np.abs(change).max() + TINY))
        gains = math.hypot(*(off + within @ change)) <= POLE_GAIN * angle
        if not gains and back == 0.0:
            break
        change = change if gains else np.zeros_like(change)
        if back > 0.0:
            way = left.T @ _rotation_vectors(bones, here.rotations, bones.rotations)
            way -= onto_tip @ (jacobian @ way)
            way -= within.T @ (damped_inverse(within @ within.T, _LEAST_ANGLE_DAMPING) @ (within @ way))
            if angle <= POINTED and np.abs(way).max() <= POINTED:
                break
            change += min(1.0, back / (np.abs(way).max() + TINY)) * way
        trial = _feasible_pose_at(bones, goals.targets[0], _rotated(bones, here.rotations, change.reshape(-1, 3)))
        trial = _least_squares(bones, goals.targets[0], options, trial, _RETURN_STEPS)
        trial_off = np.array(_angles_off(bones, goals, trial.rotations))
        if trial.error <= options.tolerance and (back > 0.0 or math.hypot(*trial_off) < POLE_GAIN * angle):
            here, off, damping, within = trial, trial_off, max(0.2 * damping, _LEAST_ANGLE_DAMPING), None
        else:
            damping = 8.0 * damping
    return here


def _rotation_vectors(bones: ChainBones, rotations: Sequence[Quaternion], others: Sequence[Quaternion]) -> Array:
    """Return the rotation vectors (3 F,) from own rotations to others, about each bone's own x, y and z."""
    return np.array([part for i in bones.free for part in _rotation_vector(rotations[i].inverted() @ others[i])])


def _angles_jacobian(bones: ChainBones, goals: Goals, pose: _FeasiblePose, off: Array) -> Array:
    """Return the Jacobian (A, 3 F) of the A angles off, by the rotations of ``_jacobians``, toward smaller angles."""
    if not off.size:
        return np.empty((0, 3 * len(bones.free)))
    columns = []
    for i, constraints in zip(bones.free, bones.tree.constraints, strict=True):
        own, rotations = pose.rotations[i], list(pose.rotations)
        for axis in _AXIS_VECTORS:
            for probe in (_DIFFERENCE, -_DIFFERENCE):
                rotations[i] = constraints.rotation(own @ Quaternion(axis, probe), own)
                column = (np.array(_angles_off(bones, goals, rotations)) - off) / probe
                if constraints.allows_all or probe * (column @ off) < 0.0:
                    break
            columns.append(column)
    return np.array(columns).T


def _jacobians(bones: ChainBones, pose: _FeasiblePose) -> tuple[Array, Array]:
    """Return the Jacobian (3, 3 F) of the tip, over chain length, by rotations of each bone about its own x, y and z.

    Where limits or locks change a rotation the column is that of the rotation they leave. The rotation is in the
    direction that brings the tip nearer to the target: a bone at its limit can rotate back. Locks and limits together
    allow a share of it, counted from the pose itself: counted from the pose before the solve, the column was of another
    direction, and two of 300 random chains ended up to a fifth farther from their targets.

    Returns:
        the Jacobian, and the Jacobian (3 F, 3 F) of the rotations that limits and locks leave.
    """
    columns, left = [], np.eye(3 * len(bones.free))
    for number, (i, constraints) in enumerate(zip(bones.free, bones.tree.constraints, strict=True)):
        own, tip_jacobian = pose.rotations[i], _tip_jacobian(bones, pose, i)
        columns.append(tip_jacobian)
        if constraints.allows_all:
            continue
        probes = np.where(pose.residual @ tip_jacobian < 0.0, -_DIFFERENCE, _DIFFERENCE).tolist()
        for axis, (direction, probe) in enumerate(zip(_AXIS_VECTORS, probes, strict=True)):
            given = constraints.rotation(own @ Quaternion(direction, probe), own)
            # Twice the vector part is the rotation (radians); to_exponential_map() makes 0 of it in single precision.
            w, *vector = (own.inverted() @ given)[:]
            left[3 * number : 3 * number + 3, 3 * number + axis] = [math.copysign(2.0, w) / probe * v for v in vector]
    return np.hstack(columns) @ left, left


def _tip_jacobian(bones: ChainBones, pose: _FeasiblePose, i: int) -> Array:
    """Return the Jacobian (3, 3) of the tip, over chain length, by rotations of bone i about its own x, y and z.

    With the bone's matrix ``M = S R(q) D(s)``, s its scale, and the tip at p in its frame, the column of the axis e is
    ``M D(s)^-1 (e x D(s) p)`` where all that hangs on the bone moves with it. Elsewhere it is a finite difference.
    """
    tip, matrix, scales = pose.tip, pose.matrices[i], np.array(bones.scales[i][:])
    if scales.all() and i >= bones.first_carried_whole:
        x, y, z = (scales * np.array((matrix.inverted_safe() @ Vector(tip.tolist()))[:])).tolist()
        across = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
        made: Array = np.array(matrix.to_3x3()) @ (across / scales[:, None]) / pose.length
        return made
    bases = chain_bases(bones, pose.rotations)[i:]
    parent = _parent_matrix(bones, pose.matrices, i)
    columns = []
    for axis in _AXIS_VECTORS:
        bases[0] = basis_with(bones.bones[i], pose.rotations[i] @ Quaternion(axis, _DIFFERENCE), bones.scales[i])
        matrices = [*pose.matrices[:i], *pose_matrices(bones.line[i:], bases, above=parent)]
        columns.append((bones.tree.joints(matrices)[-1] - tip) / (_DIFFERENCE * pose.length))
    return np.array(columns).T


def _rotated(bones: ChainBones, rotations: Sequence[Quaternion], vectors: Array) -> list[Quaternion]:
    """Return the own rotations of all bones with those that rotate multiplied by rotation vectors (F, 3)."""
    rotated = list(rotations)
    for i, row in zip(bones.free, vectors.tolist(), strict=True):
        vector = Vector(row)
        if vector.length > 0.0:
            rotated[i] = rotated[i] @ Quaternion(vector.normalized(), vector.length)
    return rotated


def _aimed_rotations(bones: ChainBones, solution: ComponentSolution, rotations: list[Quaternion]) -> list[Quaternion]:
    """Return rotations continued, root first, until each link points where the solution's does.

    The shortest rotation is taken in the parent frame ``S``: for a link ``l`` and where it should point ``d``, both in
    armature space, ``q' = FromTo(S^-1 l, S^-1 d) q``. Where ``S`` has shear or uneven scale the rotation in
    armature space is none of the bone's.
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
