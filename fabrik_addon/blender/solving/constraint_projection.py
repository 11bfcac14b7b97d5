# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Projection of a solved chain onto what its bones can do: axes that are locked, bones that are sheared or uneven.

The solver takes every bone for a rigid link with a ball joint, perhaps within limits. Where a bone isn't, its channels
give another rotation or another length than the solver found, and the tip is off its target. (Where two locks at 0
leave a hinge, that is a limit to the solver, and for a position alone the pose isn't projected: ``rotates_freely``.)
So, in this order:

1. Where a bone isn't rigid, all links are aimed at the solution's, each in its parent frame.
2. Damped least squares (Levenberg 1944, Marquardt 1963) on the bones' own rotations:
   ``dq = J^T (J J^T + lambda I)^-1 r``, with ``r`` the position residual over chain length and ``J`` the tip's Jacobian
   times that of the feasible channels (``feasible_pose``), so that it is 0 for what is locked. Skipped where the error
   is rounding.
3. Where the tip is at the target: damped least squares on the angles that bend and last bone are off pole and
   rotation (``angles_off``), in the null space of the tip's Jacobian (Liegeois 1977).
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
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
from mathutils import Quaternion, Vector

from ...core import Array, ComponentSolution, Goals, Options, StartPose, Status, solve_components, start_from
from ...core.math.factorisation import damped_inverse
from ...core.math.operations import TINY
from ...core.solvers.fabrik_solver import POLE_GAIN
from ...core.within_limits.bend_toward_pole import POINTED
from ...core.within_limits.least_rotation import FIRST_GUESS
from ..bones.bone_kinematics import parent_frame
from ..bones.bone_rotations import bone_parent_frames, bone_rotations
from ..bones.feasible_channels import rotations_differ
from ..bones.rotation_channel import Channel
from ..rig.chain_bones import ChainBones, bone_matrices, read_pose
from .angles_off import angle_off, angles_jacobian, angles_off, rotation_vectors
from .feasible_pose import FeasiblePose, feasible_pose_at, jacobians, joints_of, parent_matrix, rotated

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
"""``r.(J dq)`` over ``|r|^2``, with the Jacobian of the pose itself, below which no step brings the tip nearer."""

_FURTHER_PROJECTIONS = 8
"""Further projections toward pole and rotation, at most, each from the solution of another solve."""

_ANGLE_STEPS, _RETURN_STEPS = 12, 3
"""Steps toward pole and rotation, at most, and those that bring the tip back to the target after each."""

_STEPS_BACK = 3
"""Steps, at most, that also go back toward the reference pose, of a chain without pole and rotation; else it is one.

With one, 11 of 28 random chains with locks that were dragged out and back had poses more than 0.1 degrees apart, with
three six; with a pole 15 of 33 had either way."""

_LEAST_ANGLE_DAMPING = 1e-6
"""Least lambda of a step toward pole and rotation, lambda of a step back toward the reference pose, and that of
``J J^T`` in the projector onto the null space of J."""

_LARGEST_ROTATION = 0.6
"""Rotation (radians) about one axis in one step, at most: over larger ones the Jacobian isn't constant, and with half
of it the steps of 30 sheared chains ended 1.07 times as far from their targets."""

_FIRST_DAMPING, _LEAST_PROJECTION_DAMPING, _MOST_DAMPING = 1e-3, 1e-9, 1e6
"""lambda: at first, at least, at most. It is divided by 5 after a step that brings the tip nearer, else
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
    """Of the last solve; ``Status.REACHED`` of a pose that no solve has led to."""
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


def _projected(pose: FeasiblePose, iterations: int, status: int) -> ProjectedPose:
    residual = Vector((pose.length * pose.residual).tolist())
    return ProjectedPose(pose.rotations, pose.channels, pose.error, iterations, status, residual)


def _at_target(bones: ChainBones, target: Array, options: Options, rotations: Sequence[Quaternion]) -> FeasiblePose:
    """Return the feasible pose of own rotations of all bones, with the tip brought to the target (3,) (step 2)."""
    here = feasible_pose_at(bones, target, rotations)
    return here if here.error <= 10.0 * _POSITION_PRECISION else _least_squares(bones, target, options, here)


def followed(bones: ChainBones, goals: Goals, options: Options, before: Sequence[Quaternion]) -> ProjectedPose:
    """Return the feasible pose that goes on from that of the move before, rotated back toward the reference pose.

    In a step back no bone rotates about an own axis by more than the largest such rotation since the move before: a
    pose that came another way, over a place beyond reach, returns move by move.

    Args:
        before: own rotations of all bones in the move before.
    """
    here = _at_target(bones, goals.targets[0], options, before)
    off = angle_off(bones, goals, here.rotations)
    moved = float(np.abs(rotation_vectors(bones, before, here.rotations)).max())
    found = _toward_pole_and_rotation(bones, goals, options, here, moved)
    if angle_off(bones, goals, found.rotations) > max(POINTED, off):
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
        if options.softness == 0.0 or away <= (1.0 - options.softness) * joints_of(bones, present.rotations)[1]:
            return present
    return projected_further(bones, goals, options, found)


def projected_further(bones: ChainBones, goals: Goals, options: Options, found: ProjectedPose) -> ProjectedPose:
    """Return a projected pose, projected further while that brings it nearer to pole and rotation.

    Sheared bones off their target stay as they are: each projection of four takes 8 ms.
    """
    for _ in range(_FURTHER_PROJECTIONS if bones.has_locks or found.error <= options.tolerance else 0):
        if angle_off(bones, goals, found.rotations) <= POINTED:
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
    here = feasible_pose_at(bones, goals.targets[0], bones.rotations)
    if any(map(rotations_differ, here.rotations, bones.rotations)):
        return None
    return _projected(here, 0, Status.REACHED)


def is_as_good(bones: ChainBones, goals: Goals, present: ProjectedPose, found: ProjectedPose) -> bool:
    """Tell whether the present pose is as near to pole and rotation as one that was found.

    Without the comparison of the rotation a second press of Solve rotated bones of 42 of 52 random chains of four bones
    with locks or Limit Rotation constraints.
    """
    angle = angle_off(bones, goals, present.rotations)
    return angle <= POINTED or POLE_GAIN * angle <= angle_off(bones, goals, found.rotations)


def _least_squares(
    bones: ChainBones, target: Array, options: Options, here: FeasiblePose, most_steps: int = _MOST_DAMPED_STEPS
) -> FeasiblePose:
    """Rotate bones by damped least squares until the tip is at the target or gets no nearer.

    After a quick step the Jacobian is updated, ``J + (dx - J dq) dq^T / (dq . dq)`` with ``dx`` the tip's change by
    the step (Broyden 1965): to compute it takes the feasible channels of every bone once about each of its axes.

    Toward a target beyond reach, s lengths of the chain from its root, a step is divided by s: where a taut chain turns
    about its root, the squared error's second derivative is s times ``J^T J``. Whole steps swung to and fro about the
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
            jacobian, is_updated = jacobians(bones, here)[0], False
        change = jacobian.T @ (damped_inverse(jacobian @ jacobian.T, damping) @ here.residual) / beyond
        change *= min(1.0, _LARGEST_ROTATION / (np.abs(change).max() + TINY))
        if not is_updated and here.residual @ jacobian @ change < _STILL * here.error**2:
            break
        trial = feasible_pose_at(bones, target, rotated(bones, here.rotations, change.reshape(-1, 3)))
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
    bones: ChainBones, goals: Goals, options: Options, here: FeasiblePose, back: float = 0.0
) -> FeasiblePose:
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
    off, damping = np.array(angles_off(bones, goals, here.rotations)), _FIRST_DAMPING
    within: Array | None = None
    for step in range(_ANGLE_STEPS if here.error <= options.tolerance else 0):
        angle = math.hypot(*off)
        back = back if step < (1 if off.size else _STEPS_BACK) else 0.0
        if angle <= POINTED and back == 0.0:
            break
        if within is None:
            jacobian, left = jacobians(bones, here)
            onto_tip = jacobian.T @ damped_inverse(jacobian @ jacobian.T, _LEAST_ANGLE_DAMPING)
            turning = angles_jacobian(bones, goals, here, off)
            within = turning - (turning @ onto_tip) @ jacobian
        change = -within.T @ (damped_inverse(within @ within.T, damping) @ off)
        change *= min(1.0, _LARGEST_ROTATION / (np.abs(change).max() + TINY))
        gains = math.hypot(*(off + within @ change)) <= POLE_GAIN * angle
        if not gains and back == 0.0:
            break
        change = change if gains else np.zeros_like(change)
        if back > 0.0:
            way = left.T @ rotation_vectors(bones, here.rotations, bones.rotations)
            way -= onto_tip @ (jacobian @ way)
            way -= within.T @ (damped_inverse(within @ within.T, _LEAST_ANGLE_DAMPING) @ (within @ way))
            if angle <= POINTED and np.abs(way).max() <= POINTED:
                break
            change += min(1.0, back / (np.abs(way).max() + TINY)) * way
        trial = feasible_pose_at(bones, goals.targets[0], rotated(bones, here.rotations, change.reshape(-1, 3)))
        trial = _least_squares(bones, goals.targets[0], options, trial, _RETURN_STEPS)
        trial_off = np.array(angles_off(bones, goals, trial.rotations))
        if trial.error <= options.tolerance and (back > 0.0 or math.hypot(*trial_off) < POLE_GAIN * angle):
            here, off, damping, within = trial, trial_off, max(0.2 * damping, _LEAST_ANGLE_DAMPING), None
        else:
            damping = 8.0 * damping
    return here


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
        to_parent = parent_frame(bones.bones[i], parent_matrix(bones, matrices, i)).inverted_safe()
        link = to_parent @ (joints[row + 1] - joints[row])
        desired = to_parent @ (points[row + 1] - points[row])
        if link.length > 0.0 and desired.length > 0.0:
            aimed[i] = link.rotation_difference(desired) @ aimed[i]
    return aimed
