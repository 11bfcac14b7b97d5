# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains whose bones don't turn as the solver thinks: some axes locked, or sheared and unevenly scaled.

First the solver starts again from where the bones really end up, then damped least squares on the bones' own rotations
take what is left, by the tip's measured response to every turn. Reads where the chain hangs; writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Quaternion, Vector

from ...core import Array, ComponentSolution, Goals, Options, Status, solve_components, start_from
from ...core.goals.pole import turn_pole
from ...core.math.operations import SCALAR
from ...core.math.vectors import first_direction
from ...core.optimise.pole_task import POINTED, pole_angle
from ...core.solvers.fabrik_solver import POLE_GAIN
from ..rig.bone_kinematics import parent_space
from ..rig.chain_bones import ChainBones, bone_matrices, read_pose
from ..rig.local_rotations import own_rotations, parent_frames_of
from ..rig.rotation_channel import Channel
from .feasible_channels import feasible_channel

if TYPE_CHECKING:
    from bpy.types import PoseBone

ROUNDS = 16
"""Solves at most."""

SETTLED = 1e-7
"""Distance from tip to target over chain length that single precision has no more to add to."""

STEPS = 40
"""Steps of damped least squares at most."""

ROUNDS_AGAIN = 3
"""Times that a chain that is caught starts anew at most, from where that was."""

LEANINGS = 8
"""Times that a chain is bent nearer to its pole at most: what locks undo of it is about half each time."""

_SAME = 1e-4
"""Difference of a rotation's parts that is rounding, between Euler angles and quaternions."""

_PROBE = 1e-3
"""Turn (radians) by which the tip's response is measured: small beside a bend, large beside single precision."""

_LONGEST_STEP = 0.3
"""Turn (radians) of one bone in one step at most: farther off the response is another."""


@dataclass(frozen=True)
class ProjectedPose:
    """Where a chain ended up."""

    rotations: list[Quaternion]
    channels: tuple[tuple[PoseBone, Channel], ...]
    error: float
    """Distance from tip to target over chain length."""
    sweeps: int
    status: int
    """What the last solve said."""
    gap: Vector
    """From the tip to the target, in armature space."""


def project_onto_constraints(
    bones: ChainBones, goals: Goals, options: Options, solution: ComponentSolution, rotations: list[Quaternion]
) -> ProjectedPose:
    """Bring the tip to the target in spite of what the bones make of their rotations.

    Args:
        bones: of the chain.
        goals: target and pole.
        options: sweeps at most, error that counts as reached.
        solution: of the solver, from the bones' present pose.
        rotations: the bones' own that should give it.
    """
    best: ProjectedPose | None = None
    sweeps = idle = 0
    for _ in range(ROUNDS):
        sweeps += int(solution.sweeps)
        if not bones.is_rigid:
            rotations = _aimed_rotations(bones, solution, rotations)
        channels, rotations = feasible_channels(bones, rotations)
        start = start_from(*read_pose(bones, bone_matrices(bones, rotations), rotations))
        gap = np.linalg.norm(start.pose.positions[-1] - goals.targets[0])
        error = float(gap) / start.chain.total_length
        # Within the tolerance go on while it pays, so that solving again has nothing left to do.
        stuck = best is not None and error > 0.5 * best.error
        idle = idle + 1 if best is not None and error > 0.98 * best.error else 0
        if best is None or error < best.error:
            left = Vector((goals.targets[0] - start.pose.positions[-1]).tolist())
            best = ProjectedPose(rotations, channels, error, sweeps, int(solution.status), left)
        if error <= SETTLED or idle == 3 or (stuck and best.error <= options.tolerance):
            break
        solution = solve_components(start, goals, options)
        turned = replace(bones, rotations=tuple(rotations))
        rotations = own_rotations(turned, parent_frames_of(turned, start), solution)
    assert best is not None  # ROUNDS is more than 0
    if best.error > 10.0 * SETTLED and not (bones.is_rigid and best.status == Status.OUT_OF_REACH):
        best = _least_squares(bones, goals, options, best)
    return replace(best, sweeps=sweeps)


def lean_or_stay(bones: ChainBones, goals: Goals, options: Options, found: ProjectedPose) -> ProjectedPose:
    """Return what was found, gone on from while that pays, to the target and the pole; or the present pose, if as good.

    What locks and limits keep from the last digits of it, or from its pole, must not wander when it is solved again.
    """
    for _ in range(ROUNDS_AGAIN):
        again = found if found.error <= options.tolerance else _settled_again(bones, goals, options, found)
        if again.error > POLE_GAIN * found.error:
            break
        found = again
    for _ in range(LEANINGS if goals.poles is not None and found.error <= options.tolerance else 0):
        off = _off_pole(bones, goals, found.rotations)
        bent = found if off <= POINTED else _settled_again(bones, goals, options, found)
        if bent.error > options.tolerance or _off_pole(bones, goals, bent.rotations) > POLE_GAIN * off:
            break
        found = bent
    return found if goals.rotations is not None else _or_as_it_is(bones, goals, options, found)


def _settled_again(bones: ChainBones, goals: Goals, options: Options, found: ProjectedPose) -> ProjectedPose:
    """Settle from where bones have come to be, as solving again would."""
    here = replace(bones, rotations=tuple(found.rotations))
    start = start_from(*read_pose(here, bone_matrices(here, found.rotations), found.rotations))
    solution = solve_components(start, goals, options)
    again = project_onto_constraints(
        here, goals, options, solution, own_rotations(here, parent_frames_of(here, start), solution)
    )
    return replace(again, sweeps=found.sweeps + again.sweeps)


def _or_as_it_is(bones: ChainBones, goals: Goals, options: Options, found: ProjectedPose) -> ProjectedPose:
    """Return the present pose, if it is legal, at its target, and bends as near to the pole as what was found."""
    channels, possible = feasible_channels(bones, bones.rotations)
    if any(_apart(given, own) > _SAME for given, own in zip(possible, bones.rotations, strict=True)):
        return found
    chain, pose = read_pose(bones, bone_matrices(bones, possible), possible)
    root, tip, target = (Vector(point.tolist()) for point in (pose.positions[0], pose.positions[-1], goals.targets[0]))
    left, length = target - tip, chain.total_length
    error = left.length / length
    if options.softness > 0.0 and (target - root).length > (1.0 - options.softness) * length:
        return found  # so far out it is softness that holds the tip
    off = 0.0 if goals.poles is None else _off_pole(bones, goals, possible)
    is_as_good = off <= POINTED or POLE_GAIN * off <= _off_pole(bones, goals, found.rotations)
    if error > options.tolerance or not is_as_good:
        return found
    return ProjectedPose(possible, channels, error, 0, int(Status.REACHED), left)


def _apart(a: Quaternion, b: Quaternion) -> float:
    """Return the largest difference of two rotations' parts."""
    sign = -1.0 if a.dot(b) < 0.0 else 1.0
    return max(abs(x - sign * y) for x, y in zip(a[:], b[:], strict=True))


def _off_pole(bones: ChainBones, goals: Goals, rotations: Sequence[Quaternion]) -> float:
    """Return the angle (radians) from the pole to the bend of a chain with some rotations."""
    assert goals.poles is not None  # asked for chains with a pole only
    chain, pose = read_pose(bones, bone_matrices(bones, rotations), rotations)
    points = (np.vstack([pose.positions, goals.poles]) - pose.positions[0]) / chain.total_length
    *joints, pole = [(x, y, z) for x, y, z in points.tolist()]
    if goals.pole_angles is not None:
        along = first_direction(SCALAR, [joints[-1], joints[1]])
        pole = turn_pole(SCALAR, pole, along, float(goals.pole_angles[0]))
    return float(pole_angle(SCALAR, joints, joints[-1], pole))


def _least_squares(bones: ChainBones, goals: Goals, options: Options, best: ProjectedPose) -> ProjectedPose:
    """Turn bones by damped least squares (Levenberg-Marquardt) until the tip is at the target or gets no nearer."""
    target = Vector(goals.targets[0].tolist())
    rotations, channels, damping = best.rotations, best.channels, 1e-3
    tip, length = _tip(bones, rotations)
    column: Array | None = None
    for _ in range(STEPS):
        gap = np.array((target - tip) / length)
        if np.linalg.norm(gap) <= max(SETTLED, 0.01 * options.tolerance):
            break
        if column is None:
            column = _response(bones, rotations, tip, length)
        normal = column @ column.T + damping * np.eye(3)
        turns = column.T @ np.linalg.solve(normal, gap)
        turns *= min(1.0, _LONGEST_STEP / (np.abs(turns).max() + 1e-300))
        trial_channels, trial = feasible_channels(bones, _turned(bones, rotations, turns.reshape(-1, 3)))
        trial_tip, trial_length = _tip(bones, trial)
        if (target - trial_tip).length / trial_length < (target - tip).length / length:
            rotations, channels, tip, length, column = trial, trial_channels, trial_tip, trial_length, None
            damping = max(0.2 * damping, 1e-9)
        elif damping > 1e6:
            break
        else:
            damping *= 8.0
    error = (target - tip).length / length
    return (
        best
        if error >= best.error
        else replace(best, rotations=rotations, channels=channels, error=error, gap=target - tip)
    )


def _response(bones: ChainBones, rotations: list[Quaternion], tip: Vector, length: float) -> Array:
    """Return how the tip moves with every free bone's turn about its own x, y, z: (3, 3 F), over chain length."""
    columns = []
    for row in range(len(bones.free)):
        for axis in range(3):
            turns = np.zeros((len(bones.free), 3))
            turns[row, axis] = _PROBE
            _, probed = feasible_channels(bones, _turned(bones, rotations, turns))
            moved, _ = _tip(bones, probed)
            columns.append((moved - tip) / (_PROBE * length))
    return np.array(columns).T


def _turned(bones: ChainBones, rotations: Sequence[Quaternion], turns: Array) -> list[Quaternion]:
    """Turn each free bone by a rotation vector (F, 3) in its own space."""
    turned = list(rotations)
    for i, turn in zip(bones.free, turns.tolist(), strict=True):
        vector = Vector(turn)
        if vector.length > 0.0:
            turned[i] = turned[i] @ Quaternion(vector.normalized(), vector.length)
    return turned


def feasible_channels(
    bones: ChainBones, rotations: Sequence[Quaternion]
) -> tuple[tuple[tuple[PoseBone, Channel], ...], list[Quaternion]]:
    """Return the channels for rotations, within limits and with what is locked as it is, and what they really give."""
    possible, channels = list(rotations), []
    for i in bones.free:
        bone = bones.bones[i]
        limits = None if bones.limits is None else bones.limits[i]
        channel, possible[i] = feasible_channel(bone, rotations[i], limits, bones.rotations[i])
        channels.append((bone, channel))
    return tuple(channels), possible


def _tip(bones: ChainBones, rotations: Sequence[Quaternion]) -> tuple[Vector, float]:
    """Return where the tip is and how long the chain is with other rotations."""
    chain, pose = read_pose(bones, bone_matrices(bones, rotations), rotations)
    return Vector(pose.positions[-1].tolist()), chain.total_length


def _aimed_rotations(bones: ChainBones, solution: ComponentSolution, rotations: list[Quaternion]) -> list[Quaternion]:
    """Turn rotations on until each link points exactly where it should, in whatever space its parent gives it."""
    points = [Vector(point) for point in solution.points]
    aim_frame = list(rotations)
    for row, i in enumerate(bones.free):
        matrices = bone_matrices(bones, aim_frame)
        joints = [Vector(point) for point in read_pose(bones, matrices, aim_frame)[1].positions.tolist()]
        parent = matrices[i - 1] if i else (bones.bones[0].parent.matrix if bones.bones[0].parent else None)
        to_parent_space = parent_space(bones.bones[i], parent).inverted_safe()
        link = to_parent_space @ (joints[row + 1] - joints[row])
        desired = to_parent_space @ (points[row + 1] - points[row])
        if link.length > 0.0 and desired.length > 0.0:
            aim_frame[i] = link.rotation_difference(desired) @ aim_frame[i]
    return aim_frame
