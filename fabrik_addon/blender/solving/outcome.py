# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: how a solve ended, measured on the pose that Blender shows, with the reason in words."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from mathutils import Quaternion, Vector

from ...core import Status
from ...core.model.joint_limits import axes_at_limit, joint_limits
from ...core.solvers.names import SOLVER_NAMES
from ..bones.bone_limits import euler_limits_of, left_by
from ..bones.rotation_channel import angle_between, has_locks, rotation_from
from ..rig.last_results import Result
from ..rig.wording import length_text
from .solve_chain_bones import SolvedChain

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, Scene, UnitSettings, ViewLayer


_NAMES = {Status.OUT_OF_REACH: "out of reach", Status.LIMITED: "limited", Status.STALLED: "stalled"}

_BALANCED = "Balance keeps the center of mass over the feet: switch it off to go farther"

_SHEARED = "its bones are sheared or unevenly scaled, and change their length as they rotate"

_UNREPORTED_ANGLE = math.radians(0.5)
"""Angle between two rotations (radians) up to which no message names the difference."""


def outcome_of(view_layer: ViewLayer, armature: Object, solved: SolvedChain, later: Sequence[SolvedChain]) -> Result:
    """Return the error of the pose that Blender shows, and the reason where it is more than the tolerance.

    The solver's error is that of rigid bones without constraints, and may be another one.

    Args:
        view_layer: with the armature; lengths are in the units of its scene.
        armature: evaluated since it was written.
        solved: the chain.
        later: the chains that were solved after it, and may have moved it.
    """
    snapshot = solved.snapshot
    bones = snapshot.bones
    tip = bones.end_position
    # A handle at the root of a body has no bones of its own.
    length = (0.0 if bones.is_rigid else _length(solved, tip)) or snapshot.posed.total_length
    target = _target(armature, solved)
    error = math.dist(tip[:], target[:]) / length
    overridden = snapshot.overridden
    stretch = 1.0 + snapshot.influence * (solved.stretch - 1.0)
    if error <= snapshot.options.tolerance:
        return Result(Status.REACHED.name, error, solved.iterations, _rotation_error(solved), overridden, stretch)
    if snapshot.influence < 1.0 and solved.status is Status.REACHED and not overridden:
        # The influence keeps the tip from the target: the status is that of the solve at influence 1.
        return Result(Status.REACHED.name, error, solved.iterations, "", overridden, stretch)

    units = cast("Scene", view_layer.id_data).unit_settings
    off = length_text(units, _world_length(armature, tip - target))
    distance = f"the tip is {off} from where it was pinned" if _is_kept(solved) else f"the tip is {off} from its target"
    status, reasons = solved.status, _rotated_later(solved, later)
    # Where the pose is as near as the solver's, as that of a body whose constraints are made up for, they keep nothing
    # away.
    overriding = overridden if error > solved.error + snapshot.options.tolerance else ()
    if status is Status.OUT_OF_REACH and not (reasons or overriding):
        is_held = bool(solved.together_with) and (snapshot.priority > 0 or _is_near(solved, target))
        message = f"out of reach, {distance}: {_held(solved) if is_held else _reach(units, armature, solved, target)}"
        return Result(status.name, error, solved.iterations, message, overridden)
    if overriding := overriding + snapshot.carried:
        reasons.append("overridden on " + ", ".join(overriding))
    reasons += _constrained_by(solved)
    if status is Status.REACHED and not reasons:
        reasons.append("Blender's single precision allows no smaller error")
    if status is not Status.REACHED and _has_used_iterations(solved):
        label = SOLVER_NAMES[snapshot.options.solver].label
        reasons.append(
            f"{label} has used all of its {solved.iterations} iterations: increase Iterations, or choose FABRIK"
        )
        message = f"{_NAMES[status]}, {distance}: " + " and ".join(reasons)
        return Result(status.name, error, solved.iterations, message, overridden)
    if status is Status.STALLED and not reasons:
        message = f"stalled, {distance} after {solved.iterations} iterations; please report this"
        if solved.solution is not None:  # a tree: least squares have used up their steps
            message = f"stalled, {distance} after {solved.iterations} iterations; solve again to go on"
        return Result(status.name, error, solved.iterations, message, overridden)
    if stretch > 1.0:
        distance += f", stretched to {100.0 * stretch:.4g} %"
    nothing_else = _held(solved) if snapshot.priority else "no pose within the limits was found that is nearer"
    message = f"limited, {distance}: {' and '.join(reasons) or nothing_else}"
    return Result(Status.LIMITED.name, error, solved.iterations, message, overridden)


def slipped_pin(view_layer: ViewLayer, armature: Object, solved: Sequence[SolvedChain], pulled: Container[str]) -> str:
    """Return in words which pin or planted foot of a body is not held, the farthest of several; empty if all are.

    Constraints on bones between those of the body, and locks of single axes, may move it after the solve.

    Args:
        view_layer: with the armature.
        armature: evaluated since it was written.
        solved: the chains of the body.
        pulled: names of the handles that are pulled.
    """
    results = {
        one.snapshot.name: outcome_of(view_layer, armature, one, ())
        for one in solved
        if one.snapshot.is_pinned and one.snapshot.has_position and one.snapshot.name not in pulled
    }
    name = max(results, key=lambda name: results[name].error, default="")
    return f"Handle '{name}': {results[name].message}" if name and results[name].message else ""


def _rotated_later(solved: SolvedChain, later: Sequence[SolvedChain]) -> list[str]:
    """Return which chain rotated a chain's bones after it was solved, in words."""
    names = {bone.name for bone in solved.snapshot.bones.bones}
    others = [other for other in later if not other.snapshot.moving.isdisjoint(names)]
    return [f"chain '{others[-1].snapshot.bones.chain_name}' rotates the same bones"] if others else []


def _constrained_by(solved: SolvedChain) -> list[str]:
    """Return what constrains a chain's bones, in words."""
    found = []
    if at_limit := _at_limit(solved):
        found.append("at their limit are " + ", ".join(at_limit))
    found += _rotation_locks([bone for bone, _ in solved.channels])
    found += _root_locks(solved)
    if not solved.snapshot.bones.is_rigid:
        found.append(_SHEARED)
    if rotated := _rotated_by_constraints(solved):
        found.append("rotated further by " + ", ".join(rotated))
    if _is_balanced(solved):
        found.append(_BALANCED)  # the last, because it says what to do after a colon
    return found


def _rotation_locks(bones: Sequence[PoseBone]) -> list[str]:
    """Return which of some bones have locked rotation axes, in words."""
    locked = [f"'{bone.name}'" for bone in bones if has_locks(bone)]
    return ["rotation is locked on " + ", ".join(locked)] if locked else []


def _root_locks(solved: SolvedChain) -> list[str]:
    """Return which locks keep the root of a body, in words; none of another chain."""
    bones = solved.snapshot.bones
    root = bones.bones[0]
    if not solved.snapshot.priority:
        return []
    is_named = root in [bone for bone, _ in solved.channels]  # with the bones of the chain
    found = [] if is_named else _rotation_locks([root])
    # A body's root moves only where it rotates as well.
    if 0 in bones.free and any(root.lock_location):
        found.append(f"location is locked on '{root.name}'")
    return found


def _has_used_iterations(solved: SolvedChain) -> bool:
    """Tell whether a method that isn't FABRIK took all the iterations it may."""
    options = solved.snapshot.options
    return options.solver != 'FABRIK' and solved.iterations >= options.iterations


def _rotated_by_constraints(solved: SolvedChain) -> list[str]:
    """Return the Limit Rotation constraints that rotate a bone after its channels, in words."""
    if solved.snapshot.bones.limits is None:
        return []
    named = []
    for bone, channel in solved.channels:
        constraints = euler_limits_of(bone)
        own = rotation_from(bone, channel)
        shown = left_by(bone, constraints, own)
        if angle_between(own, shown) > _UNREPORTED_ANGLE:
            named.append(f"'{constraints[-1].name}' of bone '{bone.name}'")
    return named


def _length(solved: SolvedChain, tip: Vector) -> float:
    """Return a chain's length in the pose that is shown: sheared bones change their length as they rotate."""
    bones = solved.snapshot.bones
    joints = [*(bones.bones[i].head for i in bones.free), tip]
    return sum((end - start).length for start, end in pairwise(joints))


def _target(armature: Object, solved: SolvedChain) -> Vector:
    """Return a chain's target in armature space; that of a target bone which the tree moves is where it is now."""
    snapshot = solved.snapshot
    if snapshot.target_bone in snapshot.moving or (snapshot.target_bone and solved.together_with):
        return armature.pose.bones[snapshot.target_bone].head.copy()
    return Vector(snapshot.goals.targets[0].tolist())


def _is_near(solved: SolvedChain, target: Vector) -> bool:
    """Tell whether a target is within reach of a chain from where its root is now."""
    return (target - solved.snapshot.bones.bones[0].head).length < solved.snapshot.posed.total_length


def _held(solved: SolvedChain) -> str:
    """Return in words that the rest of the tree holds a chain."""
    if _is_balanced(solved):
        return _BALANCED
    if solved.snapshot.priority:
        return " and ".join([*_root_locks(solved), "other handles of the body are held, or its limits hold it"])
    names = " and ".join(f"'{name}'" for name in solved.together_with)
    chains = "chain" if len(solved.together_with) == 1 else "chains"
    return f"the bones above its root are held by {chains} {names}"


def _is_kept(solved: SolvedChain) -> bool:
    """Tell whether a chain's end should stay where it was."""
    return solved.snapshot.is_pinned and not solved.snapshot.is_led


def _is_balanced(solved: SolvedChain) -> bool:
    """Tell whether a handle of a body is at the end of a chain that the balance of the body may hold back: no pin."""
    return not solved.snapshot.is_pinned and solved.solution is not None and solved.solution.is_balance_active


def with_rotations(result: Result | None, solved: Sequence[SolvedChain]) -> Result | None:
    """Return a result whose message also names the bones that don't have the rotations of their chains' goals.

    Args:
        result: of a handle of a body; None of one without a position.
        solved: chains for the rotations of handles.
    """
    messages = [result.message] if result is not None and result.message else []
    for one in solved:
        angle = _angle_off(one)
        if angle > _UNREPORTED_ANGLE:
            reasons = " and ".join(_constrained_by(one)) or _held(one)
            bone = one.snapshot.bones.end.name
            messages.append(f"bone '{bone}' is {math.degrees(angle):.3g} degrees from its desired rotation: {reasons}")
    if not messages:
        return result
    if result is None:
        result = Result(Status.LIMITED.name, 0.0, solved[0].iterations, "")
    return replace(result, message="; ".join(messages))


def _angle_off(solved: SolvedChain) -> float:
    """Return the angle (radians) from a tip's rotation to the desired one; 0 where there is none."""
    goals = solved.snapshot.goals
    if goals.rotations is None:
        return 0.0
    return angle_between(Quaternion(goals.rotations[0].tolist()), solved.snapshot.bones.end.matrix.to_quaternion())


def _rotation_error(solved: SolvedChain) -> str:
    """Return in words the angle from a tip's rotation to the desired one; empty where there is none of either."""
    angle = _angle_off(solved)
    if angle <= _UNREPORTED_ANGLE:
        return ""
    goal = "the rotation in which it was pinned" if _is_kept(solved) else "the target's rotation"
    return f"reached, but rotated by {math.degrees(angle):.3g} degrees from {goal}: the position has priority"


def _reach(units: UnitSettings, armature: Object, solved: SolvedChain, target: Vector) -> str:
    """Return in words how far the target is from the root, and how far the bones reach."""
    length, ring = solved.snapshot.posed.total_length, solved.snapshot.target_bone
    if ring in (bone.name for bone in solved.snapshot.bones.bones):
        return f"the bones from '{ring}' on close no ring: one of them is longer than the others together"
    is_tree = bool(solved.together_with)
    root = solved.snapshot.bones.bones[0].head if is_tree else Vector(solved.snapshot.pose.positions[0].tolist())
    away = target - root
    softness, most = solved.snapshot.options.softness, solved.snapshot.options.stretch_max
    if softness > 0.0 and length * (1.0 - softness) < away.length <= most * length:
        return f"softness keeps the tip from its target beyond {100.0 * (1.0 - softness):.3g} % of the reach"
    if not solved.snapshot.bones.is_rigid:
        return _SHEARED
    # In world space, along the way to the target: an object of uneven scale makes a chain longer one way than another.
    distance = _world_length(armature, away)
    scale = (
        distance / math.hypot(*away[:]) if distance > 0.0 else abs(armature.matrix_world.determinant()) ** (1.0 / 3.0)
    )
    # A target at just the chain's length is neither side of it to rounding, but beyond the least.
    least = 2.0 * max(solved.snapshot.posed.links) - length
    if away.length > least:
        bound = f"at most {length_text(units, scale * most * length)}"
        if most > 1.0:
            bound += f", stretched to {100.0 * most:.4g} %"
    else:
        bound = f"at least {length_text(units, scale * least)}"
    return f"that is {length_text(units, distance)} from the root, and these bones reach {bound}"


def _world_length(armature: Object, in_armature: Vector) -> float:
    # The squares of ``Vector.length``, in single precision, are infinite from 2e19 on.
    return math.hypot(*(armature.matrix_world.to_3x3() @ in_armature)[:])


def _at_limit(solved: SolvedChain) -> list[str]:
    """Return the bones at a limit, with the axes, in words."""
    bones = solved.snapshot.bones
    if bones.limits is None:
        return []
    named = []
    rotations = solved.whole or [rotation_from(bone, channel) for bone, channel in solved.channels]
    for i, q in zip(bones.free, rotations, strict=True):
        axes = axes_at_limit(joint_limits(*bones.limits[i]), (q.w, q.x, q.y, q.z))
        if axes:
            named.append(f"'{bones.bones[i].name}' ({' '.join(axes)})")
    return named
