# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native rigs within joint limits: what they reach beside the core, what they violate, and Blender's own in time."""

from __future__ import annotations

import math

import numpy as np
from bpy.types import Object

from fabrik_addon.core import Goals, solve

from .blender_chain import add_chain, constrain, joints_of, make_armature, make_target, new_scene, register, view_layer
from .limit_rows import NEAR, limit_bones
from .limit_sets import SETS, ConstrainedBones, feasible_targets, worst_violation
from .native_chain import make_native, side_by_side
from .problems import Array, Effort
from .report import Row, Table

MOST_VIOLATED = 1e-3
"""Degrees."""

LEAST_SHARE = 0.9
"""Of the core's hits."""


def limits_table(effort: Effort) -> Table:
    """Targets that a feasible pose reaches."""
    register()
    rows, totals = [], [0, 0, 0]
    for constrained in SETS:
        targets = feasible_targets(constrained, effort.targets)
        hits, violated = _reached(constrained, targets)
        chain, rest = constrained.chain(), constrained.rest()
        core = sum(bool(solve(chain, rest, Goals(target[None])).error[0] <= NEAR) for target in targets)

        def move(target: Object, number: int, targets: Array = targets) -> None:
            target.location = targets[number]

        make = {
            "native": lambda constrained=constrained: _native_chain(constrained)[1],
            "own": lambda constrained=constrained: _own_chain(constrained),
        }
        ours, own, ratio = side_by_side(make, move, len(targets), effort)
        cells = (
            constrained.name,
            f"{hits}/{len(targets)}",
            f"{core}/{len(targets)}",
            violated,
            ours,
            own,
            f"{ratio:.1f}",
        )
        rows.append(Row(cells, hits >= LEAST_SHARE * core and violated <= MOST_VIOLATED))
        totals = [before + more for before, more in zip(totals, (hits, core, len(targets)), strict=True)]
    return Table(
        title="Native rig within joint limits: targets of feasible poses",
        must=f"reached within {NEAR:g} nine times of ten where the core does, limits kept to {MOST_VIOLATED:g} degrees",
        measured=f"{totals[0]}/{totals[2]} (the core: {totals[1]})",
        columns=(
            "chain",
            "reached",
            "the core",
            "worst violation, degrees",
            "native, µs median / p95",
            "Blender's own, µs median / p95",
            "ratio",
        ),
        rows=tuple(rows),
        note="Chains that are straight at rest, the hardest start there is. Targets are the tips of random poses "
        "within the limits, which bend alternating hinges and many balls otherwise than their table does: there least "
        "squares take the most steps.",
    )


def _native_chain(constrained: ConstrainedBones) -> tuple[Object, Object]:
    """Return an armature with a native rig, and its target."""
    obj, target = make_armature(constrained.rest().positions), make_target()
    limit_bones(obj, constrained)
    make_native(obj, add_chain(obj, target))
    return obj, target


def _own_chain(constrained: ConstrainedBones) -> Object:
    """Return the target of a chain with Blender's own IK."""
    obj, target = make_armature(constrained.rest().positions), make_target()
    limit_bones(obj, constrained)
    constrain(obj, target)
    return target


def _reached(constrained: ConstrainedBones, targets: Array) -> tuple[int, float]:
    """Return how many targets a native rig reaches, and by how many degrees bones leave their limits at most."""
    new_scene()
    obj, target = _native_chain(constrained)
    hits, frames = 0, []
    for position in targets:
        target.location = position
        view_layer().update()
        hits += bool(np.linalg.norm(joints_of(obj)[-1] - position) <= NEAR)
        frames.append([bone.matrix.to_quaternion()[:] for bone in obj.pose.bones])
    return hits, math.degrees(worst_violation(constrained, np.array(frames)))
