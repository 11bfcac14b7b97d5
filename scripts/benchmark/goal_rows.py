# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Goals besides a position: the tip's rotation, softness at full extension, stretch out of reach.

All is measured on the pose that Blender evaluates, beside Blender's own IK set up the same way in the same process.
"""

from __future__ import annotations

import math

import bpy
import numpy as np
from bpy.types import Object, PoseBone
from mathutils import Quaternion, Vector

from fabrik_addon.blender.rig.properties import FabrikChain
from fabrik_addon.blender.solving.solve_chains import solve_chains

from .blender_chain import (
    LAST,
    add_chain,
    constrain,
    joints_of,
    make_armature,
    make_target,
    new_scene,
    register,
    rest,
    view_layer,
)
from .problems import RESTS, Array, Effort, directions, generator, link_lengths, rest_joints, targets_within
from .report import Cell, Row, Table

NEAR = 1e-3
"""Error that counts as reached where a rotation is to be taken too: what Blender's own IK is content with."""

TURNED = 0.5
"""Degrees from the target's rotation that count as taken."""

STEP = 0.0005
"""Of a target that moves through full extension, over the chain's length."""

MOST_DEGREES = 0.5
"""By which a knee may rotate in such a step."""

LONGEST = 1.5
"""How long bones may become, in times of their own length."""


def rotation_table(effort: Effort) -> Table:
    """Position and rotation of random poses, without limits."""
    rows, totals = [], [0, 0, 0]
    for count in (3, 6, 10):
        for shape in RESTS:
            places, rotations = _random_goals(count, shape, effort.targets)
            ours = _with_rotation(count, shape, places, rotations, is_own=False)
            own = _with_rotation(count, shape, places, rotations, is_own=True)
            cells: list[Cell] = [count, shape]
            for errors, angles in (ours, own):
                hits = int(np.sum((errors <= NEAR) & (angles <= TURNED)))
                cells += [f"{hits}/{len(errors)}", float(errors.max()), float(angles.max())]
            hits, own_hits = (int(np.sum((errors <= NEAR) & (angles <= TURNED))) for errors, angles in (ours, own))
            rows.append(Row(tuple(cells), hits >= math.ceil(0.99 * len(places))))
            totals = [total + more for total, more in zip(totals, (hits, own_hits, len(places)), strict=True)]
    return Table(
        title="Position and rotation together",
        must=f"99 of 100 within {NEAR:g} of the target and {TURNED:g} degrees of its rotation",
        measured=f"{totals[0]}/{totals[2]} (Blender's own IK: {totals[1]})",
        columns=(
            "links",
            "rest pose",
            "both reached",
            "worst error",
            "worst angle, degrees",
            "Blender's own",
            "its worst error",
            "its worst angle, degrees",
        ),
        rows=tuple(rows),
        note="Targets are the tip's position and rotation in random poses: every bone with a random swing and twist. "
        "Every solve starts from the rest pose.",
    )


def soft_table(_effort: Effort) -> Table:
    """A knee while its target moves out through full extension."""
    rows, steps, hard = [], {}, "without softness"
    path = np.arange(0.8, 1.3, STEP)
    for name, softness, stretch in (
        (hard, 0.0, False),
        ("softness 0.02", 0.02, False),
        ("softness 0.1", 0.1, False),
        ("softness 0.2", 0.2, False),
        ("softness 0.1 and stretch", 0.1, True),
        ("softness 0.2 and stretch", 0.2, True),
    ):
        knees, behind = _through_extension(path, softness, stretch)
        steps[name] = float(np.abs(np.diff(knees)).max())
        judged = None if softness == 0.0 else steps[name] <= MOST_DEGREES and (not stretch or behind <= 1.1e-4)
        rows.append(Row((name, steps[name], behind), judged))
    knees, behind = _through_extension(path, None, False)
    own = float(np.abs(np.diff(knees)).max())
    rows.append(Row(("Blender's own", own, behind)))
    worst = max(step for name, step in steps.items() if name != hard)
    return Table(
        title="Softness at full extension",
        must=f"a knee rotates by at most {MOST_DEGREES:g} degrees while the target moves on by {STEP:g} of the length",
        measured=f"{worst:.2f} degrees at most (without softness {steps[hard]:.2f}, Blender's own IK: {own:.2f})",
        columns=(
            "two links",
            "largest rotation of the knee in one step, degrees",
            "largest distance from tip to target",
        ),
        rows=tuple(rows),
        note="The target moves straight out from 0.8 to 1.3 of the length; every frame starts from the rest pose. With "
        "stretch the tip must also stay at its target, at 1e-4.",
    )


def stretch_table(effort: Effort) -> Table:
    """Targets out of reach for bones that may be half as long again, with bones hanging on them."""
    rows, hits_of_all, total = [], 0, 0
    worst = [0.0, 0.0, 0.0]
    for count in (2, 3, 10):
        for shape in RESTS:
            targets = targets_within(generator("stretch", count, shape), 1.01, LONGEST, effort.targets)
            errors, uneven, misshapen, again = _stretched(count, shape, targets)
            own_errors, own_misshapen = _own_stretched(count, shape, targets)
            hits = int(np.sum(errors <= 1e-4))
            ok = hits == len(targets) and max(uneven, misshapen) <= 1e-5 and again <= 1e-6
            own_hits = int(np.sum(own_errors <= NEAR))
            cells = (count, shape, f"{hits}/{len(targets)}", uneven, misshapen, again, f"{own_hits}/{len(targets)}")
            rows.append(Row((*cells, own_misshapen), ok))
            hits_of_all, total = hits_of_all + hits, total + len(targets)
            worst = [max(before, now) for before, now in zip(worst, (uneven, misshapen, again), strict=True)]
    return Table(
        title="Stretch",
        must="all reached at 1e-4; all links longer by the same factor and their other children unchanged, to 1e-5; "
        "lengths restored within reach, to 1e-6",
        measured=f"{hits_of_all}/{total} reached, factors equal to {worst[0]:.1g}, other children changed by "
        f"{worst[1]:.1g}, lengths restored to {worst[2]:.1g}",
        columns=(
            "links",
            "rest pose",
            "reached",
            "factors differ by",
            "other children changed by",
            "lengths off within reach again",
            "Blender's own at 1e-3",
            "its change of other children",
        ),
        rows=tuple(rows),
        note=f"Targets at reach 1.01 to {LONGEST:g}; bones may become {LONGEST:g} times as long. Every bone of the "
        "chain has a further child, bent by 60 degrees: its change is the largest relative change of an axis' length, "
        "or the largest cosine between two axes. Blender's own IK has IK Stretch 0.1 on all bones, which has no limit.",
    )


# Position and rotation


def _random_goals(count: int, shape: str, targets: int) -> tuple[Array, list[Quaternion]]:
    """Return where the tip is, and how it is rotated, in random poses."""
    new_scene()
    obj = make_armature(rest_joints(count, shape))
    rng = generator("rotation", count, shape)
    places, rotations = [], []
    for _ in range(targets):
        for bone in obj.pose.bones:
            x, z = rng.normal(size=2)
            swing = Quaternion((x, 0.0, z), rng.uniform(-math.pi, math.pi))
            bone.rotation_quaternion = swing @ Quaternion((0.0, 1.0, 0.0), rng.uniform(-math.pi, math.pi))
        view_layer().update()
        places.append(obj.pose.bones[LAST].tail[:])
        rotations.append(obj.pose.bones[LAST].matrix.to_quaternion())
    return np.array(places), rotations


def _with_rotation(
    count: int, shape: str, places: Array, rotations: list[Quaternion], is_own: bool
) -> tuple[Array, Array]:
    """Return errors and angles (degrees) left for goals with a rotation."""
    register()
    new_scene()
    obj, target = make_armature(rest_joints(count, shape)), make_target()
    target.rotation_mode = 'QUATERNION'
    chain: FabrikChain | None = None
    if is_own:
        constrain(obj, target)
        obj.pose.bones[LAST].constraints[0].use_rotation = True
    else:
        chain = add_chain(obj, target)
        chain.use_rotation = True
        chain.rotation_offset = (1.0, 0.0, 0.0, 0.0)
    errors, angles = [], []
    for place, rotation in zip(places, rotations, strict=True):
        target.location, target.rotation_quaternion = place, rotation
        if chain is None:
            view_layer().update()
        else:
            rest(obj)
            solve_chains(view_layer(), obj, [chain])
        tip = obj.pose.bones[LAST]
        errors.append(float((tip.tail - Vector(place)).length))
        left = rotation.conjugated() @ tip.matrix.to_quaternion()
        angles.append(math.degrees(2.0 * math.atan2(math.hypot(left.x, left.y, left.z), abs(left.w))))
    return np.array(errors), np.array(angles)


# Full extension


def _through_extension(path: Array, softness: float | None, stretch: bool) -> tuple[Array, float]:
    """Return the knee's angles (degrees) along a path outward, and how far the tip was behind at most.

    None for softness is Blender's own IK.
    """
    register()
    new_scene()
    joints = np.array([[0.0, 0.0, 0.0], [0.0, -0.15, 0.4770], [0.0, 0.0, 0.9539]])
    joints /= link_lengths(joints).sum()
    obj, target = make_armature(joints), make_target()
    chain: FabrikChain | None = None
    if softness is None:
        constrain(obj, target)
    else:
        chain = add_chain(obj, target)
        chain.softness, chain.use_stretch, chain.stretch_max = softness, stretch, 2.0
    knees, behind = [], 0.0
    for distance in path:
        target.location = (0.0, 0.0, distance)
        if chain is None:
            view_layer().update()
        else:
            rest(obj)
            solve_chains(view_layer(), obj, [chain])
        upper, lower = np.diff(joints_of(obj), axis=0)
        knees.append(math.degrees(math.atan2(float(np.linalg.norm(np.cross(upper, lower))), float(upper @ lower))))
        behind = max(behind, float(np.linalg.norm(joints_of(obj)[-1] - target.location)))
    return np.array(knees), behind


# Stretch


def _with_others(count: int, shape: str) -> tuple[Object, list[PoseBone]]:
    """Return an armature of one chain with a bent bone on each of its bones, and those bones."""
    obj = make_armature(rest_joints(count, shape))
    chained = [bone.name for bone in obj.pose.bones]
    rng = generator("stretch", "others", count, shape)
    bpy.ops.object.mode_set(mode='EDIT')
    for name, aside in zip(chained, directions(rng, count), strict=True):
        bone = obj.data.edit_bones.new(f"{name} other")
        bone.parent = obj.data.edit_bones[name]
        bone.head = bone.parent.tail
        bone.tail = bone.head + 0.3 / count * (bone.parent.vector.normalized() + Vector(1.7 * aside))
    bpy.ops.object.mode_set(mode='OBJECT')
    for bone in obj.pose.bones:
        bone.rotation_mode = 'QUATERNION'
    # In the order of the chain, whatever bones are made in between.
    others = [obj.pose.bones[f"{name} other"] for name in chained]
    for bone in others:
        bone.rotation_quaternion = Quaternion((1.0, 0.3, -0.5), math.radians(60.0))
    view_layer().update()
    return obj, others


def _shapes(bones: list[PoseBone]) -> Array:
    """Return lengths of axes and cosines between them (B, 6)."""
    shapes = []
    for bone in bones:
        axes = np.array(bone.matrix.to_3x3()).T
        lengths = np.linalg.norm(axes, axis=1)
        x, y, z = axes / lengths[:, None]
        shapes.append([*lengths, x @ y, x @ z, y @ z])
    return np.array(shapes)


def _chain_joints(obj: Object, count: int) -> Array:
    names = [*(f"bone{j}" for j in range(count - 1)), LAST]
    bones = [obj.pose.bones[name] for name in names]
    return np.array([*(bone.head[:] for bone in bones), bones[-1].tail[:]])


def _stretched(count: int, shape: str, targets: Array) -> tuple[Array, float, float, float]:
    """Return errors, unevenness of links, change of the others, and what is left of the lengths back in reach."""
    register()
    new_scene()
    obj, others = _with_others(count, shape)
    target = make_target()
    chain = add_chain(obj, target)
    chain.use_stretch, chain.stretch_max = True, LONGEST
    shapes, lengths = _shapes(others), link_lengths(_chain_joints(obj, count))
    near = 0.6 * np.array(targets)
    errors, uneven, misshapen, again = [], 0.0, 0.0, 0.0
    for position, back in zip(targets, near, strict=True):
        for place in (position, back):
            target.location = place
            solve_chains(view_layer(), obj, [chain])
            joints = _chain_joints(obj, count)
            factors = link_lengths(joints) / lengths
            misshapen = max(misshapen, float(np.abs(_shapes(others) - shapes).max()))
            if place is position:
                errors.append(float(np.linalg.norm(joints[-1] - position)))
                uneven = max(uneven, float(factors.max() / factors.min() - 1.0))
            else:
                again = max(again, abs(float(link_lengths(joints).sum()) - float(lengths.sum())))
    return np.array(errors), uneven, misshapen, again


def _own_stretched(count: int, shape: str, targets: Array) -> tuple[Array, float]:
    """Return errors and change of the others for Blender's own IK with stretch."""
    new_scene()
    obj, others = _with_others(count, shape)
    shapes = _shapes(others)
    for bone in obj.pose.bones:
        bone.ik_stretch = 0.1
    target = make_target()
    constrain(obj, target)
    errors, misshapen = [], 0.0
    for position in targets:
        target.location = position
        view_layer().update()
        errors.append(float(np.linalg.norm(_chain_joints(obj, count)[-1] - position)))
        misshapen = max(misshapen, float(np.abs(_shapes(others) - shapes).max()))
    return np.array(errors), misshapen
