# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Joint limits: what is reached within them, by us and by Blender's own IK set up the same way in the same process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from bpy.types import Object

from fabrik_addon.blender.rig.snapshot import take_snapshot
from fabrik_addon.blender.rig.targets_and_poles import goals_at
from fabrik_addon.blender.solving.solve_chain_bones import solve_snapshot
from fabrik_addon.blender.solving.solve_chains import solve_chains
from fabrik_addon.blender.solving.write_channels import write_channels
from fabrik_addon.core import (
    Chain,
    ComponentSolution,
    Goals,
    Pose,
    Solution,
    StartPose,
    plain_chain,
    solve,
    solve_components,
    start_from,
)
from fabrik_addon.core.math.operations import ARRAY, quiet
from fabrik_addon.core.model.constrained_chain import coordinates_of, place
from fabrik_addon.core.within_limits.least_rotation import Termination, rotate_least

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
from .limit_sets import (
    CLAVICLE_ARM,
    LEG,
    LEG_AND_FOOT,
    SETS,
    TAIL,
    ConstrainedBones,
    angle_of,
    feasible_swings,
    feasible_targets,
    inverse,
    own_turns,
    posed,
    product,
    worst_violation,
)
from .problems import Array, Effort, directions, generator, targets_within, unit
from .report import Row, Table, median_p95, microseconds, spread
from .restarts import RESTARTS, best_errors
from .solving import times_in_turn

NEAR = 1e-3
"""Error that counts as reached: what Blender's own IK is content with."""

FEASIBLE = 1e-4
"""Radians outside a limit that Blender's single precision may make of none."""

KNEE = math.radians(10.0)
"""Bend of the last bone with which Blender's own IK starts if there is a pole."""

POLE_ANGLE = math.radians(-90.0)
"""Blender's own, for a knee that rotates about +X."""

MOST_MILLISECONDS = {2: 1.0, 3: 1.0, 6: 4.0, 10: 4.0}
"""By number of bones."""

CORE_MEDIAN, CORE_P95 = 250.0, 1000.0
"""Microseconds of one solve in the core, of the chains of ``LIMBS``."""

LIMBS = ("arm", "leg", "finger")

MOST_MEAN = 4.0
"""Milliseconds, mean, of a solve whose target no feasible pose reaches."""

STEP = 0.01
"""Length of a step along a path, over the chain's length."""

SMOOTH = 3.0
"""Times the median step that a bone may rotate."""

LEAST_TURN_STARTS = 60
"""Random feasible poses from which the pose with the least rotation is searched."""

TURNED = 0.1
"""Degrees from the target's rotation that count as taken."""

RADII = (0.1, 0.05, 0.03)
"""Radii of the targets' circles, over the chain's length: the largest that feasible poses reach is taken."""


@dataclass(frozen=True)
class Found:
    """What came of a set of targets."""

    errors: Array
    frames: Array
    """(T, B, 4)"""
    joints: Array
    """(T, J, 3)"""

    @property
    def hits(self) -> int:
        """Targets reached."""
        return int(np.sum(self.errors <= NEAR))


def reach_table(effort: Effort) -> Table:
    """Targets that a feasible pose reaches, from the rest pose."""
    rows, totals = [], [0, 0, 0]
    for constrained in SETS:
        targets = feasible_targets(constrained, effort.targets)
        ours, own = _ours(constrained, targets), _own(constrained, targets)
        worst = _degrees(constrained, ours), _degrees(constrained, own)
        ok = ours.hits >= math.ceil(constrained.must * len(targets) / 100) and worst[0] <= math.degrees(FEASIBLE)
        count = len(targets)
        cells = (constrained.name, f"{ours.hits}/{count}", f"{constrained.must} of 100", f"{own.hits}/{count}", *worst)
        rows.append(Row(cells, ok))
        totals = [before + more for before, more in zip(totals, (ours.hits, own.hits, count), strict=True)]
    return Table(
        title="Joint limits: targets of feasible poses",
        must=f"reached within {NEAR:g} as often as the row says, no bone outside its limits by more than 1e-4 radians",
        measured=f"{totals[0]}/{totals[2]} (Blender's own IK: {totals[1]})",
        columns=(
            "chain",
            "reached",
            "must be at least",
            "Blender's own",
            "worst violation, degrees",
            "Blender's own violation, degrees",
        ),
        rows=tuple(rows),
        note="Targets are the tips of random poses within the limits, by forward kinematics; every solve starts from "
        "rest. Both are measured on the pose that Blender evaluates.",
    )


def pole_table(effort: Effort) -> Table:
    """A leg with limits and a pole, one that agrees with them and one that may not."""
    rng = generator("limits", "pole")
    poses = posed(LEG, feasible_swings(rng, LEG, effort.targets)).positions
    targets = poses[:, -1]
    consistent = poses[:, 1] + unit(_aside(poses[:, 1], targets))
    arbitrary = 2.0 * directions(rng, len(targets))
    rows = []
    for name, poles in (("consistent", consistent), ("arbitrary", arbitrary)):
        found = _ours(LEG, targets, poles), _own(LEG, targets, poles, POLE_ANGLE)
        off = [np.degrees(_angles_to_pole(one.joints, poles)) for one in found]
        worst = [_degrees(LEG, one) for one in found]
        count = len(targets)
        ok = found[0].hits >= math.ceil(0.99 * count) and worst[0] <= math.degrees(FEASIBLE)
        if name == "consistent":
            ok = ok and int(np.sum(off[0] < 90.0)) >= math.ceil(0.99 * count)
        for who, one, angles_off, violation, verdict in zip(
            ("ours", "Blender's own"), found, off, worst, (ok, None), strict=True
        ):
            median, high, most = spread(angles_off)
            sides = f"{np.sum(angles_off < 90.0)}/{count}"
            degrees = f"{median:.1f} / {high:.1f} / {most:.1f}"
            rows.append(Row((name, who, f"{one.hits}/{count}", sides, degrees, violation), verdict))
    return Table(
        title="Joint limits with a pole: the leg",
        must="99 of 100 reached and within the limits; with a consistent pole the knee is on its side",
        measured=", ".join(f"{row.cells[2]} ({row.cells[0]}, {row.cells[1]})" for row in rows),
        columns=(
            "pole",
            "whose",
            "reached",
            "knee on its side",
            "degrees from knee to pole median / p95 / max",
            "worst violation, degrees",
        ),
        rows=tuple(rows),
        note="A consistent pole is where the knee points in the feasible pose that the target is taken from. Blender's "
        "own IK has the pole angle that is right for this leg, -90 degrees, and starts with its knee bent by 10 "
        "degrees: with a pole it never bends a straight one. Ours starts straight and needs no angle.",
    )


def violation_table(effort: Effort) -> Table:
    """How far any bone is outside its limits, whatever the target, the pole and the status."""
    rows, worst, worst_own = [], 0.0, 0.0
    for constrained in SETS:
        rng = generator("limits", "violation", constrained.name)
        targets = targets_within(rng, 0.05, 1.3, effort.targets)
        poles = 2.0 * directions(rng, effort.targets)
        core = [_core(constrained, targets), _core(constrained, targets, poles)]
        ours = [_ours(constrained, targets), _ours(constrained, targets, poles)]
        own = [_own(constrained, targets), _own(constrained, targets, poles)]
        in_core, in_blender, of_own = (max(_degrees(constrained, one) for one in found) for found in (core, ours, own))
        ok = in_core <= math.degrees(1e-9) and in_blender <= math.degrees(FEASIBLE)
        rows.append(Row((constrained.name, in_core, in_blender, of_own), ok))
        worst, worst_own = max(worst, in_blender), max(worst_own, of_own)
    return Table(
        title="Joint limits kept",
        must="no bone outside its limits by more than 1e-9 radians in the core, 1e-4 in Blender",
        measured=f"{worst:.1g} degrees at most (Blender's own IK: {worst_own:.0f})",
        columns=("chain", "core, degrees", "in Blender, degrees", "Blender's own, degrees"),
        rows=tuple(rows),
        note="Targets in all directions at reach 0.05 to 1.3, most of them reached by no feasible pose, without a pole "
        "and with one in a random direction.",
    )


def nearest_table(effort: Effort) -> Table:
    """Targets that no feasible pose reaches, beside many descents from random feasible poses."""
    rows, worst, slowest = [], 0.0, 0.0
    for constrained in SETS:
        rng = generator("limits", "nearest", constrained.name)
        targets, best, beaten = _without_feasible_pose(constrained, rng, effort.targets)
        start = time.perf_counter()
        ratios = _core(constrained, targets).errors / best
        milliseconds = 1000.0 * (time.perf_counter() - start) / len(targets)
        median, high, most = spread(ratios)
        cells = (
            constrained.name,
            len(targets),
            f"{median:.4f} / {high:.4f} / {most:.4f}",
            int(np.sum(ratios > 1.02)),
            beaten,
            f"{milliseconds:.1f}",
        )
        rows.append(Row(cells, most <= 1.02 and milliseconds <= MOST_MEAN))
        worst, slowest = max(worst, most), max(slowest, milliseconds)
    return Table(
        title="Joint limits: no feasible pose reaches the target",
        must=f"error at most 1.02 times the best of {RESTARTS} least squares from random feasible poses; a solve takes "
        f"at most {MOST_MEAN:g} ms (mean)",
        measured=f"{worst:.3f} times at most, {slowest:.1f} ms at most",
        columns=(
            "chain",
            "targets",
            "error over the best, median / p95 / max",
            "over 1.02",
            "reached by a random restart, not by us",
            "ms a solve, mean",
        ),
        rows=tuple(rows),
        note="Targets in all directions at reach 0.1 to 1.2 that no restart reaches.",
    )


def time_table(effort: Effort) -> Table:
    """Time from a moved target to the updated pose, within limits."""
    register()
    rows, ratios, slowest, slowest_p95 = [], [], 0.0, 0.0
    for constrained in SETS:
        targets = feasible_targets(constrained, effort.targets)
        core, ours, own = _timed(constrained, targets, max(1, effort.timed_runs // 5))
        ratio = spread(ours)[0] / spread(own)[0]
        most = MOST_MILLISECONDS[constrained.count]
        is_limb = constrained.name in LIMBS
        median, high, _ = spread(np.array(core) * 1e6)
        in_core = not is_limb or (median <= CORE_MEDIAN and high <= CORE_P95)
        slowest = max(slowest, median) if is_limb else slowest
        slowest_p95 = max(slowest_p95, high) if is_limb else slowest_p95
        cells = (
            constrained.name,
            microseconds(core),
            microseconds(ours),
            microseconds(own),
            f"{ratio:.1f}",
            f"{1000.0 * most:.0f}",
            f"{CORE_MEDIAN:.0f} / {CORE_P95:.0f}" if is_limb else "",
        )
        rows.append(Row(cells, in_core and 1000.0 * spread(ours)[0] <= most))
        ratios.append(ratio)
    return Table(
        title="Time within joint limits",
        must="median at most 1 ms for 3 bones, 4 ms for 10, from the moved target to the updated pose; in the core an "
        f"arm, a leg or a finger at most {CORE_MEDIAN:.0f} / {CORE_P95:.0f} µs (median / p95)",
        measured=f"{min(ratios):.1f} to {max(ratios):.1f} times Blender's own; in the core {slowest:.0f} / "
        f"{slowest_p95:.0f} µs",
        columns=(
            "chain",
            "core alone, µs median / p95",
            "ours, µs median / p95",
            "Blender's own, µs median / p95",
            "ratio of medians",
            "must be at most, µs",
            "core must be at most, µs",
        ),
        rows=tuple(rows),
        note="As a drag does it: update, read the target, solve, write, update; both start from rest and take turns.",
    )


def path_table(effort: Effort) -> Table:
    """How evenly bones rotate while a target goes round in small steps, with limits and without."""
    rows, worst, over, total = [], [0.0, 0.0], [0, 0], 0
    for constrained in SETS:
        paths = _circles(constrained, max(1, effort.targets // 20))
        own = max(_evenness(_own(constrained, path).frames) for path in paths)
        nearest = max(_evenness(_least_turned(constrained, path)) for path in paths)
        free = plain_chain(np.full(constrained.count, 1.0 / constrained.count))
        for limits, chain in (("on", constrained.chain()), ("off", free)):
            from_rest, from_before = (
                [_path_evenness(chain, constrained, path, goes_on) for path in paths] for goes_on in (False, True)
            )
            cells = (
                constrained.name,
                limits,
                len(paths),
                f"{max(from_rest):.1f}",
                sum(ratio > SMOOTH for ratio in from_rest),
                f"{max(from_before):.1f}",
                sum(ratio > SMOOTH for ratio in from_before),
                f"{nearest:.1f}" if limits == "on" else "",
                f"{own:.1f}" if limits == "on" else "",
            )
            rows.append(Row(cells, max(*from_rest, *from_before) <= SMOOTH))
            total += len(paths)
            for which, ratios in enumerate((from_rest, from_before)):
                worst[which] = max(worst[which], *ratios)
                over[which] += sum(ratio > SMOOTH for ratio in ratios)
    return Table(
        title="Smooth paths within joint limits",
        must=f"no bone rotates more than {SMOOTH:g} times as far in a step as the bone that rotates most does in the "
        "median step",
        measured=f"from rest {worst[0]:.1f} times at most, over on {over[0]} of {total} paths; from the frame before "
        f"{worst[1]:.1f} times, over on {over[1]}",
        columns=(
            "chain",
            "limits",
            "paths",
            "every frame from rest",
            "paths over",
            "every frame from the one before",
            "paths over",
            "least rotation of many restarts, from rest",
            "Blender's own, from rest",
        ),
        rows=tuple(rows),
        note=f"Targets move along circles of radius {RADII[0]:g} of the length, less where feasible poses don't reach "
        f"the whole circle, in steps of {STEP:g}. Without limits the same circles. For comparison: the pose with the "
        f"least rotation from rest, for every target the best of least squares from {LEAST_TURN_STARTS} random "
        "feasible poses. Where it jumps, two poses have equal rotation, and no rule that stays near the rest pose is "
        "continuous there.",
    )


def rotation_table(effort: Effort) -> Table:
    """Targets with rotations that feasible poses have, from the rest pose and along paths from the pose before."""
    rows, totals, over = [], [0, 0, 0], 0
    for constrained in (CLAVICLE_ARM, LEG_AND_FOOT, TAIL):
        rng = generator("limits", "rotation", constrained.name)
        poses = posed(constrained, feasible_swings(rng, constrained, effort.targets))
        targets, rotations = poses.positions[:, -1], poses.rotations[:, -1]
        met, angles = [], []
        for found in (_ours(constrained, targets, None, rotations), _own(constrained, targets, None, 0.0, rotations)):
            angles.append(np.degrees(angle_of(product(inverse(found.frames[:, -1]), rotations))))
            met.append(int(np.sum((found.errors <= NEAR) & (angles[-1] <= TURNED))))
        times, ratios, moves = _with_rotations(constrained, poses, rng, max(1, effort.targets // 10))
        count = len(targets)
        cells = (
            constrained.name,
            f"{met[0]}/{count}",
            f"{spread(angles[0])[1]:.1f} / {spread(angles[0])[2]:.1f}",
            f"{met[1]}/{count}",
            f"{spread(angles[1])[1]:.1f} / {spread(angles[1])[2]:.1f}",
            median_p95(times),
            f"{sum(ratio > SMOOTH for ratio in ratios)}/{len(ratios)}",
            f"{max(ratios):.1f}",
            median_p95(moves),
        )
        rows.append(Row(cells, met[0] >= met[1]))
        totals = [before + more for before, more in zip(totals, (met[0], met[1], count), strict=True)]
        over += sum(ratio > SMOOTH for ratio in ratios)
    return Table(
        title="Joint limits: targets with the rotations of feasible poses",
        must=f"as often within {NEAR:g} of the target and {TURNED:g} degrees of its rotation as Blender's own IK",
        measured=f"{totals[0]}/{totals[2]} (Blender's own IK: {totals[1]}); a bone rotates by more than {SMOOTH:g} "
        f"times the median step's largest rotation on {over} paths",
        columns=(
            "chain",
            "both reached",
            "degrees off, p95 / max",
            "Blender's own",
            "its degrees off, p95 / max",
            "core, ms a solve from rest, median / p95",
            f"paths with more than {SMOOTH:g} times",
            "worst path",
            "core, ms a move, median / p95",
        ),
        rows=tuple(rows),
        note="Targets are position and rotation of the last bone in random poses within the limits. Paths are those of "
        "the last bone as the swings of all bones go round an ellipse within the limits in 120 moves; the "
        "poses of some end at a limit where other poses go on.",
    )


def _with_rotations(
    constrained: ConstrainedBones, poses: Pose, rng: np.random.Generator, paths: int
) -> tuple[Array, list[float], Array]:
    """Return milliseconds of solves from rest, how evenly bones rotate along paths, and milliseconds of its moves."""
    at_rest = start_from(constrained.chain(), constrained.rest())
    times: list[float] = []
    moves: list[float] = []
    ratios: list[float] = []

    def timed(start: StartPose, joints: Array, frames: Array, kept: list[float]) -> ComponentSolution:
        begin = time.perf_counter()
        found = solve_components(start, Goals(joints[-1:], rotations=frames[-1:]))
        kept.append(1000.0 * (time.perf_counter() - begin))
        return found

    for joints, frames in zip(poses.positions, poses.rotations, strict=True):
        timed(at_rest, joints, frames, times)
    angles = np.linspace(0.0, 2.0 * np.pi, 121)[:, None, None]
    for _ in range(paths):
        middle, onward, aside = 0.4 * feasible_swings(rng, constrained, 3)
        path = posed(constrained, middle + np.cos(angles) * onward + np.sin(angles) * aside)
        start = start_from(constrained.chain(), posed(constrained, middle + onward))
        made = []
        for joints, frames in zip(path.positions, path.rotations, strict=True):
            found = timed(start, joints, frames, moves)
            start = replace(start, near=found.next_start)
            made.append(found.frames)
        ratios.append(_evenness(np.array(made)))
    return np.array(times), ratios, np.array(moves)


# Ours and Blender's own


def limit_bones(obj: Object, constrained: ConstrainedBones) -> None:
    """Set the bones' own IK limits."""
    for bone, joint in zip(obj.pose.bones, constrained.ranges, strict=True):
        for axis, (lower, upper) in zip("xyz", joint, strict=True):
            if lower == upper == 0.0:
                setattr(bone, f"lock_ik_{axis}", True)
            elif math.isfinite(lower):
                setattr(bone, f"use_ik_limit_{axis}", True)
                setattr(bone, f"ik_min_{axis}", math.radians(lower))
                setattr(bone, f"ik_max_{axis}", math.radians(upper))


def _frames_of(obj: Object) -> Array:
    return np.array([bone.matrix.to_quaternion()[:] for bone in obj.pose.bones])


def blenders_own_hits(constrained: ConstrainedBones, targets: Array) -> int:
    """Return how many targets Blender's own IK reaches from rest."""
    return _own(constrained, targets).hits


def _ours(
    constrained: ConstrainedBones, targets: Array, poles: Array | None = None, rotations: Array | None = None
) -> Found:
    register()
    new_scene()
    obj, target = make_armature(constrained.rest().positions), make_target()
    limit_bones(obj, constrained)
    chain = add_chain(obj, target)
    chain.tolerance = NEAR / 10.0

    def pose() -> None:
        solve_chains(view_layer(), obj, [chain])

    if poles is not None:
        chain.pole_target = make_target()
    if rotations is not None:
        chain.use_rotation, chain.rotation_offset = True, (1.0, 0.0, 0.0, 0.0)
    return _pose_each(obj, target, chain.pole_target, targets, poles, pose, rotations)


def _own(
    constrained: ConstrainedBones,
    targets: Array,
    poles: Array | None = None,
    pole_angle: float = 0.0,
    rotations: Array | None = None,
) -> Found:
    new_scene()
    obj, target = make_armature(constrained.rest().positions), make_target()
    limit_bones(obj, constrained)
    constrain(obj, target)
    obj.pose.bones[LAST].constraints[0].use_rotation = rotations is not None
    pole = None
    if poles is not None:
        constraint = obj.pose.bones[LAST].constraints[0]
        constraint.pole_target = pole = make_target()
        constraint.pole_angle = pole_angle

    def pose() -> None:
        if pole is not None:
            # Where a pole is set a straight knee never bends: that isn't what is compared here.
            obj.pose.bones[LAST].rotation_quaternion = (math.cos(KNEE / 2.0), math.sin(KNEE / 2.0), 0.0, 0.0)
        view_layer().update()

    return _pose_each(obj, target, pole, targets, poles, pose, rotations)


def _pose_each(
    obj: Object,
    target: Object,
    pole: Object | None,
    targets: Array,
    poles: Array | None,
    action: Callable[[], None],
    rotations: Array | None = None,
) -> Found:
    errors, frames, joints = [], [], []
    target.rotation_mode = 'QUATERNION'
    for number, position in enumerate(targets):
        rest(obj)
        target.location = position.tolist()
        if poles is not None:
            pole.location = poles[number]
        if rotations is not None:
            target.rotation_quaternion = rotations[number].tolist()
        action()
        joints.append(joints_of(obj))
        frames.append(_frames_of(obj))
        errors.append(float(np.linalg.norm(joints[-1][-1] - position)))
    return Found(np.array(errors), np.array(frames), np.array(joints))


def _core(constrained: ConstrainedBones, targets: Array, poles: Array | None = None) -> Found:
    chain, pose = constrained.chain(), constrained.rest()
    solved = []
    for number, target in enumerate(targets):
        solved.append(solve(chain, pose, Goals(target[None], poles=None if poles is None else poles[number][None])))
    return Found(
        errors=np.array([one.error[0] for one in solved]),
        frames=np.array([one.pose.rotations[:-1] for one in solved]),
        joints=np.array([one.pose.positions for one in solved]),
    )


def _degrees(constrained: ConstrainedBones, found: Found) -> float:
    return math.degrees(worst_violation(constrained, found.frames))


def _timed(constrained: ConstrainedBones, targets: Array, runs: int) -> list[list[float]]:
    new_scene()
    joints = constrained.rest().positions
    obj, target = make_armature(joints), make_target()
    own_obj, own_target = make_armature(joints), make_target()
    for one in (obj, own_obj):
        limit_bones(one, constrained)
    constrain(own_obj, own_target)
    layer = view_layer()
    layer.update()
    snapshot = take_snapshot(layer, obj, add_chain(obj, target))
    chain, pose = constrained.chain(), constrained.rest()

    def core(position: Array) -> Solution:
        return solve(chain, pose, Goals(position[None]))

    def ours(position: Array) -> None:
        target.location = position.tolist()
        layer.update()
        write_channels(
            solve_snapshot(snapshot, goals_at(obj.matrix_world.inverted(), target.matrix_world.translation)).channels
        )
        layer.update()

    def own(position: Array) -> None:
        own_target.location = position.tolist()
        layer.update()

    return times_in_turn((core, ours, own), list(targets), runs)


# Poles


def _aside(points: Array, line: Array) -> Array:
    along = unit(line)
    made: Array = points - along * np.sum(points * along, axis=-1, keepdims=True)
    return made


def _angles_to_pole(joints: Array, poles: Array) -> Array:
    """Return the angle between knee and pole about the line from root to tip."""
    knee, pole = _aside(joints[:, 1], joints[:, -1]), _aside(poles, joints[:, -1])
    made: Array = np.arctan2(np.linalg.norm(np.cross(knee, pole), axis=-1), np.sum(knee * pole, axis=-1))
    return made


# How near any pose can come


def _without_feasible_pose(
    constrained: ConstrainedBones, rng: np.random.Generator, count: int
) -> tuple[Array, Array, int]:
    """Return targets (T, 3) that no restart reaches, how near one comes, and how many others only restarts reach."""
    kept: list[Array] = []
    nearest: list[float] = []
    beaten = 0
    while len(kept) < count:
        targets = targets_within(rng, 0.1, 1.2, count)
        best = best_errors(constrained, targets, rng)
        is_reached = best <= NEAR
        beaten += int(np.sum(_core(constrained, targets[is_reached]).errors > NEAR)) if is_reached.any() else 0
        kept += list(targets[~is_reached])
        nearest += best[~is_reached].tolist()
    return np.array(kept[:count]), np.array(nearest[:count]), beaten


# Paths


def _circles(constrained: ConstrainedBones, count: int) -> list[Array]:
    """Return circles (frames, 3) that feasible poses reach everywhere."""
    rng = generator("limits", "path", constrained.name)
    circles: list[Array] = []
    for radius in RADII:
        angles = np.arange(0.0, 2.0 * np.pi, STEP / radius)[:, None]
        for _ in range(20 * count):
            middle = posed(constrained, feasible_swings(rng, constrained, 1)).positions[0, -1]
            around, across = directions(rng, 2)
            across = unit(np.cross(np.cross(around, across), around))
            circle = middle + radius * (np.cos(angles) * around + np.sin(angles) * across)
            if best_errors(constrained, circle, rng, 40).max() <= 1e-4:
                circles.append(circle)
            if len(circles) == count:
                return circles
    return circles


def _path_evenness(chain: Chain, constrained: ConstrainedBones, path: Array, goes_on: bool) -> float:
    pose = constrained.rest()
    if goes_on:
        pose = solve(chain, pose, Goals(path[0][None])).pose
    frames = []
    for target in path:
        found = solve(chain, pose, Goals(target[None])).pose
        frames.append(found.rotations[:-1])
        pose = found if goes_on else pose
    return _evenness(np.array(frames))


def _least_turned(constrained: ConstrainedBones, path: Array) -> Array:
    """Return the frames (T, B, 4) of the feasible poses at targets (T, 3) with the least rotation, of many restarts."""
    swings = feasible_swings(generator("limits", "least turn", constrained.name), constrained, LEAST_TURN_STARTS)
    start = start_from(constrained.chain(), constrained.rest(), (len(path) * len(swings),))
    assert start.constrained_chain is not None  # all sets have limits
    at_rest = coordinates_of(ARRAY, start.constrained_chain, start.frames)
    coordinates: list[Any] = [  # Any: no type says that a tuple made by a loop has three components
        tuple(np.tile(swings[:, j, axis], len(path)) for axis in range(3)) for j in range(constrained.count)
    ]
    x, y, z = np.repeat(path, len(swings), axis=0).T
    with quiet():
        pose = place(ARRAY, start.constrained_chain, coordinates)
        found, errors = rotate_least(ARRAY, pose, at_rest, (x, y, z), Termination(1e-4, 60))
    off = np.square(np.array(found.coordinates) - np.array(at_rest)).sum(axis=(0, 1))
    best = np.where(errors <= 1e-4, off, np.inf).reshape(len(path), -1).argmin(axis=1)
    chosen = best + np.arange(len(path)) * len(swings)
    frames = np.moveaxis(np.array([np.broadcast_arrays(*frame) for frame in found.frames]), -1, 0)
    made: Array = frames[chosen]
    return made


def _evenness(frames: Array) -> float:
    """Return the farthest that any bone rotates in a step, over the median step's; frames (T, B, 4)."""
    turns = own_turns(frames)
    steps = angle_of(product(inverse(turns[:-1]), turns[1:])).max(axis=-1)
    median = float(np.median(steps))
    return float(steps.max()) / median if median > 0.0 else math.inf
