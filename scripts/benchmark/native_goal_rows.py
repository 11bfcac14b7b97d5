# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native rigs that stretch or take the target's rotation: beside the core from rest, and Blender's own in time."""

from __future__ import annotations

import math

import numpy as np
from bpy.types import Object

from fabrik_addon.core import Goals, Options, solve
from fabrik_addon.core.math.quaternion_arrays import angle_between

from .blender_chain import (
    LAST,
    add_chain,
    constrain,
    joints_of,
    make_armature,
    make_target,
    new_scene,
    register,
    view_layer,
)
from .native_chain import POLE, farthest, make_native, pole_target, rest_problem, side_by_side
from .problems import Array, Effort, generator, rest_joints, targets_within
from .report import Row, Table

COUNTS = (2, 3, 5, 10)
MOST_STRETCH = 1.5
MOST_TURNED = math.radians(0.25)
"""Angle by which the tip's rotation may be farther from the desired one than the core's: see the table's note."""


def rotation_table(effort: Effort) -> Table:
    """Joints, tip rotations and time of native rigs that take the target's rotation."""
    register()
    rows, hits, total = [], 0, 0
    for count in COUNTS:
        for has_pole in (False, True):
            apart, farther, turned = _differences(count, has_pole, effort.targets)
            good = int(np.sum((farther <= 1e-4) & (turned <= MOST_TURNED)))
            same = int(np.sum(apart <= 1e-4))
            ours, own, ratio = _times(count, has_pole, effort)
            cells = (count, "pole" if has_pole else "", f"{good}/{len(apart)}", f"{same}/{len(apart)}")
            ok = good == len(apart)
            rows.append(Row((*cells, float(apart.max()), ours, own, f"{ratio:.2f}"), ok))
            hits, total = hits + good, total + len(apart)
    return Table(
        title="Native rig whose tip takes the target's rotation, beside the core from the rest pose",
        must="the tip as near as the core's to its target, to 1e-4 of the length, and to its rotation, to 0.25 degrees",
        measured=f"{hits}/{total} as near",
        columns=(
            "links",
            "",
            "as near",
            "same joints",
            "farthest joint",
            "native, µs median / p95",
            "Blender's own, µs median / p95",
            "ratio",
        ),
        rows=tuple(rows),
        note=_NOTE,
    )


_NOTE = """\
Bent chains, reach 0.2 to 0.95. Rotations are up to 1.5 radians from how the tip lies at rest. Joints are the same where
they are within 1e-4 of the length. Of two links the core lets the first be a millionth off its length, which at a
grazing angle brings the second one up to 0.2 degrees nearer to the rotation. Without a pole chains of three links or
more bend otherwise than the core's, and their tips are nearer to the rotation where it is out of reach."""


def _goals(count: int, effort_targets: int) -> list[tuple[Array, Array]]:
    """Return targets, each with a rotation to be made on top of the tip's at rest."""
    rng = generator("native rotation", count)
    made = []
    for position in targets_within(rng, 0.2, 0.95, effort_targets):
        axis, angle = rng.normal(size=3), rng.uniform(0.0, 1.5)
        half = axis / np.linalg.norm(axis) * math.sin(0.5 * angle)
        made.append((position, np.array([math.cos(0.5 * angle), *half])))
    return made


def _rotating_chain(count: int, has_pole: bool) -> tuple[Object, Object]:
    """Return an armature with a native rig, and its target."""
    obj, target = make_armature(rest_joints(count, "bent")), make_target()
    target.rotation_mode = 'QUATERNION'
    chain = add_chain(obj, target)
    chain.use_limits, chain.use_rotation = False, True
    chain.rotation_offset = obj.data.bones[-1].matrix_local.to_quaternion()
    chain.pole_target = pole_target() if has_pole else None
    make_native(obj, chain)
    return obj, target


def _differences(count: int, has_pole: bool, number: int) -> tuple[Array, Array, Array]:
    """Return by how much joints differ from the core's, and by how much the tip is farther from what it should be.

    That is from its target and, in radians, from its rotation; for each target.
    """
    new_scene()
    obj, target = _rotating_chain(count, has_pole)
    chain, pose = rest_problem(obj)
    at_rest = obj.data.bones[-1].matrix_local.to_quaternion()
    apart, farther, turned = [], [], []
    for position, rotation in _goals(count, number):
        target.location, target.rotation_quaternion = position.tolist(), rotation.tolist()
        view_layer().update()
        desired = target.matrix_world.to_quaternion() @ at_rest
        goals = Goals(position[None], np.array([desired[:]]), POLE[None] if has_pole else None)
        found = solve(chain, pose, goals).pose
        ours = joints_of(obj)
        apart.append(farthest(ours, found.positions))
        away, core_away = (float(np.linalg.norm(joints[-1] - position)) for joints in (ours, found.positions))
        farther.append(away - core_away)
        reached = np.array([obj.pose.bones[-1].matrix.to_quaternion()[:], found.rotations[-1]])
        left, core_left = angle_between(reached, np.array(desired))
        turned.append(left - core_left)
    return np.array(apart), np.array(farther), np.array(turned)


def _times(count: int, has_pole: bool, effort: Effort) -> tuple[str, str, float]:
    goals = _goals(count, effort.targets)

    def move(target: Object, number: int) -> None:
        position, rotation = goals[number]
        target.location, target.rotation_quaternion = position.tolist(), rotation.tolist()

    make = {
        "native": lambda: _rotating_chain(count, has_pole)[1],
        "own": lambda: _own_rotating_chain(count, has_pole),
    }
    return side_by_side(make, move, len(goals), effort)


def _own_rotating_chain(count: int, has_pole: bool) -> Object:
    """Return the target of a chain with Blender's own IK."""
    obj, target = make_armature(rest_joints(count, "bent")), make_target()
    target.rotation_mode = 'QUATERNION'
    constrain(obj, target)
    constraint = obj.pose.bones[LAST].constraints[0]
    constraint.use_rotation = True
    constraint.pole_target = pole_target() if has_pole else None
    return target


def stretch_table(effort: Effort) -> Table:
    """Joints and time of native rigs that stretch."""
    register()
    rows, hits, total = [], 0, 0
    for count in COUNTS:
        for has_pole in (False, True):
            goals = _far_goals(count, effort.targets)
            apart = _stretched_differences(count, has_pole, goals)
            same = int(np.sum(apart <= 1e-4))
            ends = "all joints" if has_pole or count == 2 else "tip"

            def move(target: Object, number: int, goals: Array = goals) -> None:
                target.location = goals[number]

            make = {
                "native": lambda count=count, has_pole=has_pole: _stretching_chain(count, has_pole)[1],
                "own": lambda count=count, has_pole=has_pole: _own_stretching_chain(count, has_pole),
            }
            ours, own, ratio = side_by_side(make, move, len(goals), effort)
            cells = (count, "pole" if has_pole else "", ends, f"{same}/{len(apart)}", float(apart.max()))
            rows.append(Row((*cells, ours, own, f"{ratio:.2f}"), same == len(apart)))
            hits, total = hits + same, total + len(apart)
    return Table(
        title="Native rig that stretches, beside the core from the rest pose",
        must="tips within 1e-4 of the length of the core's, with a pole all joints; times are printed",
        measured=f"{hits}/{total} the same",
        columns=(
            "links",
            "",
            "compared",
            "same",
            "farthest",
            "native, µs median / p95",
            "Blender's own, µs median / p95",
            "ratio",
        ),
        rows=tuple(rows),
        note="Bent chains that lengthen by half at most, reach 0.2 to 0.95 and 1.01 to 1.7, half of the targets each.",
    )


def _far_goals(count: int, number: int) -> Array:
    rng = generator("native stretch", count)
    near, far = (targets_within(rng, *reach, number // 2) for reach in ((0.2, 0.95), (1.01, 1.7)))
    return np.concatenate([near, far])


def _stretching_chain(count: int, has_pole: bool) -> tuple[Object, Object]:
    """Return an armature with a native rig, and its target."""
    obj, target = make_armature(rest_joints(count, "bent")), make_target()
    chain = add_chain(obj, target)
    chain.use_limits, chain.use_stretch, chain.stretch_max = False, True, MOST_STRETCH
    chain.pole_target = pole_target() if has_pole else None
    make_native(obj, chain)
    return obj, target


def _own_stretching_chain(count: int, has_pole: bool) -> Object:
    """Return the target of a chain with Blender's own IK."""
    obj, target = make_armature(rest_joints(count, "bent")), make_target()
    constrain(obj, target)
    obj.pose.bones[LAST].constraints[0].pole_target = pole_target() if has_pole else None
    for bone in obj.pose.bones:
        bone.ik_stretch = 0.1
    return target


def _stretched_differences(count: int, has_pole: bool, goals: Array) -> Array:
    """Return by how much joints differ from the core's, or tips (without a pole), for each target."""
    new_scene()
    obj, target = _stretching_chain(count, has_pole)
    compared = slice(None) if has_pole or count == 2 else slice(-1, None)
    chain, pose = rest_problem(obj)
    poles = POLE[None] if has_pole else None
    apart = []
    for position in goals:
        target.location = position.tolist()
        view_layer().update()
        found = solve(chain, pose, Goals(position[None], poles=poles), Options(stretch_max=MOST_STRETCH))
        apart.append(farthest(joints_of(obj)[compared], found.pose.positions[compared]))
    return np.array(apart)
