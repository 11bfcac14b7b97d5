# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies of several proportions whose handles are dragged far, and Rigify's human led along seeded closed paths."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any  # armatures and chains: no stub knows Object.fabrik

import bpy
import numpy as np
from mathutils import Vector

from fabrik_addon.blender.bodies.body_balance import center_over_floor
from fabrik_addon.blender.bodies.body_floor import sole_points_of
from fabrik_addon.blender.bodies.handles import handle_of_bone
from fabrik_addon.blender.bones.bone_limits import limits_of
from fabrik_addon.blender.bones.rotation_channel import rotation_of
from fabrik_addon.blender.drag.body_drag import BodyDrag
from fabrik_addon.blender.solving.chain_groups import Group, take_groups
from fabrik_addon.blender.solving.solve_tree_bones import tree_goals
from fabrik_addon.core import TreeSolution, solve_tree_components
from fabrik_addon.core.math import quaternion_arrays
from fabrik_addon.core.model.joint_limits import joint_limits, outside_by

from .blender_chain import new_scene, register, view_layer
from .body_path_rows import (
    LARGEST_RATIO,
    MOST_OPEN,
    angle_between,
    frames_of,
    largest_angle,
    make_empty_at,
    make_human,
)
from .problems import Array, Effort, generator
from .report import Row, Table, median_p95, spread

BODIES: dict[str, tuple[float, float, float]] = {
    "human": (1.0, 1.0, 1.0),
    "short legs": (0.62, 0.8, 0.7),
    "long limbs": (1.25, 0.95, 1.3),
}
"""Factors by which Rigify's human is scaled: along Z below the thighs' heads, along Z above them, along X beyond the
upper arms' heads."""

FOOT, PINNED_HAND = "foot.L", "Hand.R"
"""The bone that is lifted off the floor where it is dragged, and the handle that is pinned in some of the drags."""

DRAGS: dict[str, tuple[str, tuple[float, float, float], float]] = {
    "hand far": ("hand.L", (0.45, -0.35, 0.25), 0.12),
    "hand low": ("hand.L", (0.0, -0.25, -0.45), 0.12),
    "hand across": ("hand.L", (-0.4, -0.2, 0.0), 0.12),
    "hand behind": ("hand.L", (0.0, 0.35, 0.05), 0.12),
    "foot high": (FOOT, (0.05, -0.2, 0.3), 0.1),
    "foot down": (FOOT, (0.08, -0.12, -0.1), 0.08),
    "hips low": ("spine", (0.0, 0.0, -0.22), 0.06),
    "hips aside": ("spine", (0.12, -0.03, -0.08), 0.06),
    "head": ("spine.006", (0.08, -0.18, -0.12), 0.08),
}
"""Bone, the middle of where it is dragged, and half the width of the cube of seeded ends, over the body's height."""

MOVES = 40
"""Moves of a drag, of equal length."""

MOST_MEDIAN, MOST_P95 = 8.0, 16.0
"""Milliseconds of one move of a drag."""

MOST_PIN_DISTANCE, MOST_PIN_ANGLE = 1e-4, 0.1
"""Of what is pinned: distance over the body's height, and degrees."""

MOST_BEHIND = 5e-3
"""Distance of a hand that is led across the body from the mouse, over the body's height."""

MOST_BELOW, MOST_FALLEN = 1e-4, 1e-4
"""Depth of a point of a sole below the floor, and distance of the center of mass from the hull of the feet that carry
the body, over the body's height."""

MOST_OUTSIDE = 1e-6
"""Radians by which a bone's rotation, which Blender holds in single precision, may be outside its limits."""

PATH_STEPS = 60
"""Steps of a closed path."""

PATHS_PAST_POLES = range(100, 180, 2)
"""Numbers of the closed paths of a foot up and past the pole of its knee."""

LED: dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    "left hand": ((-0.15, -0.2, 0.0), (0.45, 0.1, -0.3)),
    "left foot": ((0.0, -0.1, 0.15), (0.1, -0.5, 0.6)),
    "head": ((0.0, -0.08, -0.06), (0.1, -0.4, 0.25)),
    "hips": ((0.0, -0.02, -0.06), (0.15, -0.2, 0.25)),
}
"""Middle of a closed path seen from where its chain ends at rest, in meters: within reach, and beyond."""


@dataclass(frozen=True)
class Drag:
    """What was measured in one drag."""

    turns: Array
    """(N,) largest rotation of a bone in each move, degrees."""
    milliseconds: Array
    """(N,) from each move to the updated pose."""
    pin_distance: float
    """Of planted feet and pinned hands, over the body's height."""
    pin_angle: float
    outside: float
    """Largest angle (radians) by which a bone is outside its limits."""
    below: float
    """Largest depth of a point of a sole below the floor, over the body's height; 0 without a floor."""
    left: Array
    """(N + 1,) distance of the dragged bone from the mouse after each move and at the end, over the body's height."""
    fallen: float
    """Largest distance of the center of mass from the hull of the planted feet, over the body's height; of a foot that
    is dragged at the end, when it doesn't carry the body any more."""
    swayed: float
    """The same at any move."""

    @property
    def ratio(self) -> float:
        """Largest rotation of a bone in a move over the median move's."""
        return float(self.turns.max() / np.median(self.turns))

    @property
    def ratio_within(self) -> float | None:
        """Largest rotation of a bone in a move over the median of the moves within reach; None where none is.

        A move is within reach where the dragged bone ends at most ``MOST_BEHIND`` from the mouse.
        """
        within = self.turns[self.left[:-1] <= MOST_BEHIND]
        return float(self.turns.max() / np.median(within)) if within.size else None

    @property
    def behind(self) -> float:
        """Largest distance of the dragged bone from the mouse that is gone at the drag's end, over the body's height.

        Out of reach the bone is behind at the drag's end too.
        """
        return max(0.0, float(self.left.max() - self.left[-1]))


def pulling_table(effort: Effort) -> Table:
    """Return how far bones rotate in one move of a drag, how well pins hold, and what a move costs."""
    count = 2 * effort.targets
    found: dict[tuple[str, bool], list[Drag]] = {(name, pins): [] for name in DRAGS for pins in (False, True)}
    for body in BODIES:
        armature = make_scaled_body(*BODIES[body])
        settings = armature.fabrik.body
        settings.use_floor, settings.floor_height = True, lowest_sole(armature)
        for number in range(count):
            if list(BODIES)[number % len(BODIES)] == body:
                drag_round, kind = divmod(number // len(BODIES), len(DRAGS))
                name, pins_hand = list(DRAGS)[kind], drag_round % 2 == 1
                settings.handles[PINNED_HAND].use_pin = pins_hand
                found[name, pins_hand].append(drag_far(armature, number, name))
    rows = [_drag_row(name, pins_hand, drags) for (name, pins_hand), drags in found.items() if drags]
    everything = [drag for drags in found.values() for drag in drags]
    jumps = sum(drag.ratio > LARGEST_RATIO for drag in everything)
    times = np.concatenate([drag.milliseconds for drag in everything])
    return Table(
        title=f"Bodies: {count} seeded drags of hands, feet, hips and head",
        must="largest rotation of a bone in a move at most 3 times the median move's; planted feet and pinned hands "
        "within 1e-4 of the height and 0.1 degrees; limits kept; no point of a sole more than 1e-4 of the height below "
        "the floor; center of mass at most 1e-4 of the height outside the feet that carry the body; a hand led across "
        "the body at most 0.005 of the height behind the mouse; a move at most 8 ms (median) and 16 ms (p95)",
        measured=f"more than 3 times in {jumps} of {count}; {_worst(everything, 'pin_distance')} and "
        f"{_worst(everything, 'pin_angle')} degrees at pins; {_worst(everything, 'below')} below the floor; center of "
        f"mass {_worst(everything, 'fallen')} outside; {median_p95(times)} ms",
        columns=(
            "drag",
            "drags with more than 3 times",
            "largest over median, median / worst drag",
            "over the median move within reach, worst drag",
            "pins, distance",
            "pins, degrees",
            "outside limits, radians",
            "below the floor",
            "comes behind, of the height, worst drag",
            "center of mass outside the feet, median / worst drag",
            "at any move, worst drag",
            "move, ms median / p95",
        ),
        rows=tuple(rows),
        note=f"Make Body on Rigify's human and on two of other proportions, with balance, and with a floor on which "
        f"they stand. {MOVES} moves of equal length on an arc from rest to a seeded end, within reach and beyond. Pins "
        "are the feet that aren't dragged, by their toes, and in every other round of the kinds of drags the right "
        "hand, with its rotation. Distances are over the height. The body stands at the start, so that at each move of "
        "a hand, of the hips and of the head a pose has its center of mass over the feet: it is measured at all of "
        "them, and at the end, where the mouse is released. In the drag of a foot it is measured at the end: the "
        "foot carries the body at the start, and the center of mass goes over to the other one while the foot "
        f"leaves the floor. A move is within reach where the dragged bone ends at most {MOST_BEHIND:g} of the height "
        "from the mouse. With the other hand pinned a hand that is led far has 4 to 13 of its 40 moves within "
        "reach, and ends 0.3 to 0.5 of the height beyond, where bones rotate by less, in the median move too. With "
        "twice as many moves, each of half the length, the largest rotation in the nine of these twelve drags with "
        "more than 3 times was 0.50 to 0.57 of what it was with 40: no bone jumped.",
    )


def lowest_sole(armature: Any) -> float:
    """Return the height of the lowest point of a body's soles."""
    up = Vector((0.0, 0.0, 1.0))
    return min(point.z for _, point in sole_points_of(armature, up))


def _worst(drags: Sequence[Drag], name: str) -> str:
    return f"{max(getattr(drag, name) for drag in drags):.1g}"


def _drag_row(name: str, pins_hand: bool, drags: Sequence[Drag]) -> Row:
    ratios = np.array([drag.ratio for drag in drags])
    times = np.concatenate([drag.milliseconds for drag in drags])
    pin, angle = max(drag.pin_distance for drag in drags), max(drag.pin_angle for drag in drags)
    outside = max(drag.outside for drag in drags)
    below, swayed = max(drag.below for drag in drags), max(drag.swayed for drag in drags)
    median, p95, _ = spread(times)
    behind, fallen = max(drag.behind for drag in drags), np.array([drag.fallen for drag in drags])
    is_ok = ratios.max() <= LARGEST_RATIO and pin <= MOST_PIN_DISTANCE and angle <= MOST_PIN_ANGLE
    is_ok &= outside <= MOST_OUTSIDE and median <= MOST_MEDIAN and p95 <= MOST_P95
    is_ok &= below <= MOST_BELOW and fallen.max() <= MOST_FALLEN
    jumps = f"{int((ratios > LARGEST_RATIO).sum())} of {len(drags)}"
    worst = f"{np.median(ratios):.1f} / {ratios.max():.1f}"
    is_ok &= name != "hand across" or behind <= MOST_BEHIND
    falls = f"{np.median(fallen):.2g} / {fallen.max():.2g}"
    title = f"{name}, the other hand pinned" if pins_hand else name
    within = max((drag.ratio_within for drag in drags if drag.ratio_within is not None), default=None)
    cells = (
        title,
        jumps,
        worst,
        "" if within is None else f"{within:.1f}",
        pin,
        angle,
        outside,
        below,
        behind,
        falls,
        swayed,
        median_p95(times),
    )
    return Row(cells, bool(is_ok))


def make_scaled_body(legs: float, trunk: float, arms: float) -> Any:
    """Return Rigify's human, scaled, in Pose mode, with the body that Make Body makes of it."""
    register()
    new_scene()
    bpy.ops.preferences.addon_enable(module="rigify")
    bpy.ops.object.armature_human_metarig_add()  # type: ignore[attr-defined]
    armature: Any = bpy.context.object
    bpy.ops.object.mode_set(mode='EDIT')
    bones = armature.data.edit_bones
    hip, shoulder = bones["thigh.L"].head.z, bones["upper_arm.L"].head.x

    def scaled(point: Vector) -> Vector:
        x, y, z = point[:]
        z = legs * z if z < hip else legs * hip + trunk * (z - hip)
        x += float(np.sign(x)) * (arms - 1.0) * max(0.0, abs(x) - shoulder)
        return Vector((x, y, z))

    ends = {bone.name: (scaled(bone.head), scaled(bone.tail)) for bone in bones}
    for bone in bones:
        bone.head, bone.tail = ends[bone.name]
    bpy.ops.object.mode_set(mode='POSE')
    for pose_bone in armature.pose.bones:
        pose_bone.rotation_mode = 'QUATERNION'
    bpy.ops.pose.fabrik_body_add()  # type: ignore[attr-defined]
    view_layer().update()
    return armature


def drag_far(armature: Any, number: int, name: str) -> Drag:
    """Drag a handle along the arc of a number, then cancel."""
    layer = view_layer()
    bone, middle, width = DRAGS[name]
    rng = generator("body drag", number)
    height = float(max(bone.tail_local.z for bone in armature.data.bones))
    by = height * (np.array(middle) + width * rng.uniform(-1.0, 1.0, 3))
    points = _arc(by, 0.5 * by + 0.1 * height * rng.uniform(-1.0, 1.0, 3))
    pins = [armature.pose.bones[one] for one in _pinned_bones(armature, bone)]
    places = [(pin.head.copy(), pin.matrix.to_quaternion()) for pin in pins]
    limits = {one.name: joint_limits(*limits_of(one)) for one in armature.pose.bones}
    handle = handle_of_bone(armature, bone)
    pulled = set() if handle is None else {handle.name}
    session = BodyDrag(layer, armature, bone)
    turns, times, left, falls = [], [], [], []
    pin_distance = pin_angle = outside = below = 0.0
    before = frames_of(armature)
    for point in [*points, None]:
        begin = time.perf_counter()
        if point is None:
            session.finish(layer)
        else:
            session.move(layer, session.start_position + Vector(point.tolist()))
            times.append(1e3 * (time.perf_counter() - begin))
            after = frames_of(armature)
            turns.append(largest_angle(before, after))
            before = after
        for pin, (place, frame) in zip(pins, places, strict=True):
            pin_distance = max(pin_distance, (pin.head - place).length / height)
            pin_angle = max(pin_angle, angle_between(pin.matrix.to_quaternion(), frame))
        for one in armature.pose.bones:
            q = rotation_of(one)
            outside = max(outside, float(outside_by(limits[one.name], (q.w, q.x, q.y, q.z))))
        left.append(session.distance_left)
        if armature.fabrik.body.use_floor:
            below = max(below, (armature.fabrik.body.floor_height - lowest_sole(armature)) / height)
        center = center_over_floor(armature, pulled)
        falls.append(0.0 if center is None else center.outside / height)
    session.cancel(layer)
    fallen = falls[-1] if bone == FOOT else max(falls)
    turned, taken, distances = np.array(turns), np.array(times), np.array(left) / height
    return Drag(turned, taken, pin_distance, pin_angle, outside, below, distances, fallen, max(falls))


def _pinned_bones(armature: Any, dragged: str) -> list[str]:
    """Return the bones that stay where they are while a bone is dragged: toes of the other feet, and pinned hands."""
    handles = [one.bone for one in armature.fabrik.body.handles if one.use_pin]
    return [f"toe.{side}" for side in "LR" if dragged != f"foot.{side}"] + handles


def _arc(end: Array, middle: Array) -> Array:
    """Return points (MOVES, 3) of equal distances on the parabola from the origin to an end, with a control point."""
    s = np.linspace(0.0, 1.0, 400)[:, None]
    curve = 2.0 * s * (1.0 - s) * middle + s * s * end
    lengths = np.concatenate([[0.0], np.linalg.norm(np.diff(curve, axis=0), axis=1).cumsum()])
    at = np.linspace(0.0, lengths[-1], MOVES + 1)[1:]
    return np.stack([np.interp(at, lengths, curve[:, axis]) for axis in range(3)], axis=1)


def path_table(effort: Effort, goes_on: bool = True) -> Table:
    """Return how continuous the poses along seeded closed paths are, led as in a drag or each solved from rest."""
    count = effort.targets // 2
    settings = list(itertools.product((True, False), (False, True), ("within", "beyond")))
    found: dict[tuple[bool, bool, str], list[_Path]] = {setting: [] for setting in settings}
    for number in range(count):
        setting = settings[number % len(settings)]
        led = list(LED)[number // len(settings) % len(LED)]
        found[setting].append(led_around(number, led, *setting, goes_on=goes_on))
    rows = [_path_row(setting, paths) for setting, paths in found.items() if paths]
    everything = [path for paths in found.values() for path in paths]
    jumps = sum(path.ratio > LARGEST_RATIO for path in everything)
    open_by = max(path.open for path in everything)
    return Table(
        title=f"Rigify's human: {count} seeded closed paths of a hand, a foot, the head and the hips, "
        f"{'each pose from the one before' if goes_on else 'each pose from rest'}",
        must=_PATH_MUST,
        measured=f"more than 3 times in {jumps} of {count}, open by {open_by:.2g} degrees",
        columns=_PATH_COLUMNS,
        rows=tuple(rows),
        note=f"The chains of the row above, and one to the hips. {PATH_STEPS} steps of a closed path of seeded "
        "half-axes, each solved "
        + (
            "from the step before with the pose at rest as the reference pose, as in a drag."
            if goes_on
            else "alone: so that each path closes."
        ),
    )


def past_pole_table(effort: Effort) -> Table:
    """Return how continuous the poses are along closed paths of a foot that is led past the pole of its knee."""
    numbers = PATHS_PAST_POLES[: effort.targets // 2]
    found: dict[tuple[bool, bool, str], list[_Path]] = {}
    for (is_root_fixed, with_poles), number in itertools.product(((False, True), (True, True), (True, False)), numbers):
        with_limits = number // 4 % 2 == 1
        setting = with_limits, with_poles, "up, root fixed" if is_root_fixed else "beyond"
        path = led_around(number, "left foot", with_limits, with_poles, "beyond", is_root_fixed)
        found.setdefault(setting, []).append(path)
    rows = [_path_row(setting, paths) for setting, paths in found.items()]
    everything = [path for paths in found.values() for path in paths]
    ratios, open_by = [path.ratio for path in everything], max(path.open for path in everything)
    return Table(
        title=f"Rigify's human: {len(ratios)} seeded closed paths of a foot, up and past the pole of its knee",
        must=_PATH_MUST,
        measured=f"more than 3 times in {sum(ratio > LARGEST_RATIO for ratio in ratios)} of {len(ratios)}, "
        f"{max(ratios):.1f} times at most, open by {open_by:.2g} degrees",
        columns=_PATH_COLUMNS,
        rows=tuple(rows),
        note="As on the 50 seeded closed paths. On each path the line from hip to ankle points at the pole within 10 "
        "degrees: there the pole's side turns around. With a fixed root the foot, which keeps its rotation, is within "
        "reach all the way.",
    )


_PATH_MUST = (
    "largest rotation of a bone in a step at most 3 times the median step's; the pose closes within 0.5 degrees; pins "
    "within 1e-4 of the height"
)

_PATH_COLUMNS = (
    "limits, poles, reach",
    "paths with more than 3 times",
    "largest over median, median / worst path",
    "open, degrees, worst",
    "pins, worst",
    "core, ms median / p95",
)


@dataclass(frozen=True)
class _Path:
    """What was measured along one closed path."""

    turns: Array
    """(N,) largest rotation of a bone in each step, degrees."""
    milliseconds: Array
    open: float
    """Largest rotation (degrees) of a bone from the pose at the start of the path to that at its end."""
    pin_distance: float
    """Over the body's height."""

    @property
    def ratio(self) -> float:
        """Largest rotation of a bone in a step over the median step's."""
        return float(self.turns.max() / np.median(self.turns))


def _path_row(setting: tuple[bool, bool, str], paths: Sequence[_Path]) -> Row:
    ratios = np.array([path.ratio for path in paths])
    open_by, pin = max(path.open for path in paths), max(path.pin_distance for path in paths)
    with_limits, with_poles, reach = setting
    cells = (
        f"{'yes' if with_limits else 'no'}, {'yes' if with_poles else 'no'}, {reach}",
        f"{int((ratios > LARGEST_RATIO).sum())} of {len(paths)}",
        f"{np.median(ratios):.1f} / {ratios.max():.1f}",
        open_by,
        pin,
        median_p95(np.concatenate([path.milliseconds for path in paths])),
    )
    return Row(cells, bool(ratios.max() <= LARGEST_RATIO and open_by <= MOST_OPEN and pin <= MOST_PIN_DISTANCE))


def led_around(
    number: int,
    led: str,
    with_limits: bool,
    with_poles: bool,
    reach: str,
    is_root_fixed: bool = False,
    goes_on: bool = True,
) -> _Path:
    """Lead a chain of a new human once around the path of a number, each pose from the one before or from rest."""
    group, row, height = _group_led(led, with_limits, with_poles, is_root_fixed)
    read = group.tree
    assert read is not None
    goals = tree_goals(read, group.snapshots, [snapshot.goals for snapshot in group.snapshots])
    path = _closed_path(number, led, reach)
    rest = goals.targets[row].copy()
    leading = PATH_STEPS // 4 if goes_on else 1
    lead_in = [share * path(0.0) for share in np.linspace(0.0, 1.0, leading + 1)[1:]]
    around = [path(2.0 * np.pi * step / PATH_STEPS) for step in range(1, PATH_STEPS + 1)]
    previous: TreeSolution | None = None
    frames, times = [], []
    pin_distance = 0.0
    chain = read.start.chain
    for offset in [*lead_in, *around]:
        targets = goals.targets.copy()
        targets[row] = rest + offset
        before = previous if goes_on else None
        begin = time.perf_counter()
        previous = solve_tree_components(read.start, replace(goals, targets=targets), read.options, before)
        times.append(1e3 * (time.perf_counter() - begin))
        frames.append(np.array(previous.frames))
        ends = np.array(previous.points)[chain.tips]
        assert goals.pinned is not None
        off = np.linalg.norm(ends - targets, axis=1)[goals.pinned]
        pin_distance = max(pin_distance, float(off.max()) / height)
    first = len(lead_in) - 1
    turns = [_largest_turn(a, b) for a, b in itertools.pairwise(frames[first:])]
    open_by = _largest_turn(frames[first], frames[-1])
    return _Path(np.array(turns), np.array(times[first + 1 :]), open_by, pin_distance)


def _group_led(led: str, with_limits: bool, with_poles: bool, is_root_fixed: bool) -> tuple[Group, int, float]:
    """Return the chains of a new human as one group, the row of the chain that is led, and the body's height."""
    obj = make_human(with_limits, with_poles)
    if is_root_fixed:
        obj.fabrik.chains[0].root_motion = 'FIXED'
    if led == "hips":
        hips = obj.fabrik.chains.add()
        hips.name, hips.tip, hips.chain_count = "hips", "spine", 1
        hips.target = make_empty_at("hips", obj.pose.bones["spine"].tail)
    obj.fabrik.chains[led].use_pin = False
    view_layer().update()
    (group,) = take_groups(view_layer(), obj, list(obj.fabrik.chains))
    row = next(number for number, snapshot in enumerate(group.snapshots) if snapshot.name == led)
    return group, row, float(max(bone.tail_local.z for bone in obj.data.bones))


def _closed_path(number: int, led: str, reach: str) -> Callable[[float], Array]:
    """Return the offset (3,) from rest on the path of a number, by an angle from 0 to 2 pi."""
    rng = generator("body path", number)
    near, far = (np.array(middle) for middle in LED[led])
    size = 0.5 * float(np.linalg.norm(near))
    middle = (near if reach == "within" else far) + 0.3 * size * rng.uniform(-1.0, 1.0, 3)
    axes = size * rng.uniform(0.5, 1.2, 3)
    phases = rng.uniform(0.0, 2.0 * np.pi, 3)
    return lambda t: middle + axes * np.sin(np.array([t, t, 2.0 * t]) + phases)


def _largest_turn(a: Array, b: Array) -> float:
    """Return the largest angle (degrees) between quaternions (N, 4) and (N, 4)."""
    return float(np.degrees(quaternion_arrays.angle_between(a, b)).max())
