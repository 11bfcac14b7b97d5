# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole solve in Blender: target moved, rig read, solved, written, updated; beside Blender's own IK constraint."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from bpy.types import Object
from mathutils import Vector

from fabrik_addon.blender.rig.snapshot import take_snapshot
from fabrik_addon.blender.rig.targets_and_poles import goals_at
from fabrik_addon.blender.solving.solve_chain_bones import solve_snapshot
from fabrik_addon.blender.solving.solve_chains import solve_chains
from fabrik_addon.blender.solving.write_channels import write_channels

from .blender_chain import (
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
from .path_rows import ellipse
from .problems import RESTS, Array, Effort, generator, link_lengths, rest_joints, targets_within
from .report import Row, Table, microseconds, spread
from .solving import times_in_turn

Move = Callable[[Vector], None]
"""Moves a target and updates the pose."""

MOST_RATIOS = {3: 1.5, 10: 1.5, 30: 1.0}
"""Our time over Blender's own, by number of links."""

STEP = 0.01
"""Length of a step along a path, over the chain's length."""

_TIME_NOTE = f"""\
Two copies of one bent chain in one scene, the same targets one after another, taking turns. Random targets have reach
0.2 to 0.95; a path moves on by {STEP:g} of the chain's length each time. Both start every solve from the pose the rig
had before. A *drag* reads the chain once, before the first move, and is given the target's position; for every move it
solves, writes, and updates target and pose together, as one update does for the constraint. *One solve* is what the
Solve button does: it updates, reads and checks everything again, and measures the error on the evaluated pose. The
verdict is about random targets, as in the other rows; on a path the constraint has less to do, because no target is
near the root."""


def pose_table(effort: Effort) -> Table:
    """What a solve leaves in Blender: the tip's error, the lengths, and what a second solve changes."""
    register()
    rows = []
    total = reached = 0
    worst_stretch = worst_move = 0.0
    for count in effort.counts:
        for shape in RESTS:
            new_scene()
            obj, target = make_armature(rest_joints(count, shape)), make_target()
            chain = add_chain(obj, target)
            lengths = link_lengths(rest_joints(count, shape))
            errors, stretches, moves = [], [], []
            for position in targets_within(generator("blender", count, shape), 0.2, 0.95, effort.targets):
                rest(obj)
                target.location = position
                solve_chains(view_layer(), obj, [chain])
                joints = joints_of(obj)
                errors.append(float(np.linalg.norm(joints[-1] - position)))
                stretches.append(float(np.abs(link_lengths(joints) / lengths - 1.0).max()))
                solve_chains(view_layer(), obj, [chain])
                moves.append(float(np.abs(joints_of(obj) - joints).max()))
            hits = int(np.sum(np.array(errors) <= 1e-4))
            ok = hits == len(errors) and max(stretches) <= 1e-5 and max(moves) <= 1e-6
            rows.append(Row((count, shape, f"{hits}/{len(errors)}", max(errors), max(stretches), max(moves)), ok))
            total, reached = total + len(errors), reached + hits
            worst_stretch, worst_move = max(worst_stretch, *stretches), max(worst_move, *moves)
    return Table(
        title="In Blender, after the pose is written and evaluated",
        must="all reached at 1e-4, link lengths kept to 1e-5, and solving again moves nothing by more than 1e-6",
        measured=f"{reached}/{total} reached, lengths kept to {worst_stretch:.1g}, moved by {worst_move:.1g} at most",
        columns=(
            "links",
            "rest pose",
            "reached",
            "worst error",
            "largest relative change of a length",
            "moved by solving again",
        ),
        rows=tuple(rows),
        note="Reach 0.2 to 0.95. Blender keeps channels and matrices in single precision.",
    )


def time_table(effort: Effort) -> Table:
    """Time from a moved target to the updated pose."""
    register()
    rows, ratios = [], []
    for count, most in MOST_RATIOS.items():
        for path in ("random", "path"):
            targets = _targets(count, path, effort.targets)
            ours, own, ratio = _compare(count, targets, _drag, effort.timed_runs)
            is_judged = path == "random"
            judged = (f"{ratio:.2f}", most if is_judged else "")
            rows.append(Row((count, path, "drag", ours, own, *judged), ratio <= most if is_judged else None))
            ratios += [f"{ratio:.2f} ({count} links)"] if is_judged else []
            ours, own, ratio = _compare(count, targets, _one_shot, effort.timed_runs)
            rows.append(Row((count, path, "one solve", ours, own, f"{ratio:.2f}", "")))
    return Table(
        title="Time from moved target to updated pose",
        must="at most 1.5 times Blender's own IK constraint at 3 and 10 links, faster at 30",
        measured=", ".join(ratios),
        columns=(
            "links",
            "targets",
            "what is timed",
            "ours, µs median / p95",
            "Blender's own, µs median / p95",
            "ratio of medians",
            "must be at most",
        ),
        rows=tuple(rows),
        note=_TIME_NOTE,
    )


def _targets(count: int, path: str, number: int) -> Array:
    rng = generator("time", count, path)
    if path == "random":
        return targets_within(rng, 0.2, 0.95, number)
    return ellipse(rng, STEP, number)[0]


def _compare(
    count: int, targets: Array, make: Callable[[Object, Object], tuple[Move, Move]], runs: int
) -> tuple[str, str, float]:
    """Time ours and Blender's own, taking turns; return both as text and the ratio of their medians."""
    new_scene()
    joints = rest_joints(count, "bent")
    obj, target = make_armature(joints), make_target()
    own_obj, own_target = make_armature(joints), make_target()
    constrain(own_obj, own_target)
    view_layer().update()
    ours, put_back = make(obj, target)

    def own(position: Vector) -> None:
        own_target.location = position
        view_layer().update()

    places = [Vector(target_at) for target_at in targets.tolist()]
    first, second, _ = times_in_turn((ours, own, put_back), places, max(1, runs // 3))
    return microseconds(first), microseconds(second), spread(first)[0] / spread(second)[0]


def _drag(obj: Object, target: Object) -> tuple[Move, Move]:
    chain = add_chain(obj, target)
    layer = view_layer()
    snapshot = take_snapshot(layer, obj, chain)
    to_armature = obj.matrix_world.inverted()

    def move(position: Vector) -> None:
        target.location = position
        goals = goals_at(to_armature, position)
        write_channels(solve_snapshot(snapshot, goals).channels)
        layer.update()

    return move, lambda _position: None


def _one_shot(obj: Object, target: Object) -> tuple[Move, Move]:
    chain = add_chain(obj, target)
    layer = view_layer()

    def move(position: Vector) -> None:
        target.location = position
        solve_chains(layer, obj, [chain])

    def put_back(_position: Vector) -> None:
        rest(obj)
        layer.update()

    return move, put_back
