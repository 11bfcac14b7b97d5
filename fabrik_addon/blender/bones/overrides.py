# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: what changes a bone after its channels, or its channels: constraints and drivers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from .rotation_channel import channel_name

if TYPE_CHECKING:
    from bpy.types import ID, Constraint, Object, PoseBone

ChainConstraint: TypeAlias = "tuple[PoseBone, Constraint, list[PoseBone]]"
"""A bone, its IK or Spline IK constraint, and all bones that it rotates."""

Acts: TypeAlias = "Callable[[Constraint], bool]"
"""Which constraints count: those that act now (``is_active``), or at some frames."""

_CHAIN_TYPES = {'IK', 'SPLINE_IK'}

SCALING_TYPES = {'COPY_SCALE', 'LIMIT_SCALE', 'MAINTAIN_VOLUME'}
"""Constraints that leave a bone's rotation as it is."""


BODY_LIMITS = "FABRIK Limits"
"""Name of the constraints that keep joint limits in a library override.

Blender 5.0 and 5.2 save a constraint that was added to an override, and none of the bone's IK limits. The constraint is
muted: Blender leaves poses and keys as they are, as it does with IK limits.
"""


WHOLE_INFLUENCE = 0.999
"""Influence from which a constraint that replaces the pose leaves nothing of what was before it."""


def replaces_pose(constraint: Constraint) -> bool:
    """Tell whether a constraint, if it is active, leaves nothing of the pose before it."""
    return (
        constraint.type == 'COPY_TRANSFORMS'
        and constraint.influence >= WHOLE_INFLUENCE
        and constraint.mix_mode == 'REPLACE'  # type: ignore[attr-defined]
    )


def driven_paths(owner: ID) -> set[str]:
    """Return the data paths of a data-block's driven properties; muted drivers don't count."""
    animation = getattr(owner, "animation_data", None)
    return {curve.data_path for curve in animation.drivers if not curve.mute} if animation else set()


def is_active(constraint: Constraint) -> bool:
    """Tell whether a constraint is evaluated and has an influence."""
    return constraint.enabled and constraint.influence > 0.0 and is_complete(constraint)


def is_complete(constraint: Constraint) -> bool:
    """Tell whether a constraint is evaluated where it is enabled and has an influence."""
    # Blender skips a constraint that isn't valid, but still calls one valid whose target was deleted.
    return constraint.is_valid and not _lacks_target(constraint)


def constraint_goals(constraint: Constraint) -> Iterator[tuple[Object, str]]:
    """Yield target and pole of a constraint, where it has them, each with the name of its bone or vertex group."""
    for object_name, bone_name in (("target", "subtarget"), ("pole_target", "pole_subtarget")):
        goal = getattr(constraint, object_name, None)
        if goal is not None:
            yield goal, getattr(constraint, bone_name, "")


def _lacks_target(constraint: Constraint) -> bool:
    if constraint.type == 'ARMATURE':
        return not any(entry.target for entry in constraint.targets)  # type: ignore[attr-defined]
    if constraint.type == 'PIVOT' or (constraint.type == 'ACTION' and constraint.use_eval_time):  # type: ignore[attr-defined]
        return False
    return getattr(constraint, "target", constraint) is None


def is_limit(constraint: Constraint) -> bool:
    """Tell whether a constraint limits a bone's own rotation, in its own space, or keeps the limit in an override."""
    return (
        constraint.type == 'LIMIT_ROTATION'
        and constraint.owner_space == 'LOCAL'
        and (constraint.name == BODY_LIMITS or (is_active(constraint) and constraint.influence == 1.0))
    )


def chain_constraints(armature: Object, acts: Acts = is_active) -> Iterator[ChainConstraint]:
    """Yield the IK and Spline IK constraints that act."""
    for owner in armature.pose.bones:
        for constraint in owner.constraints:
            if constraint.type in _CHAIN_TYPES and acts(constraint):
                length = constraint.chain_count or len(armature.pose.bones)
                use_tail = constraint.type == 'SPLINE_IK' or constraint.use_tail
                rotated = [owner, *owner.parent_recursive] if use_tail else list(owner.parent_recursive)
                yield owner, constraint, rotated[:length]


def overrides_of(
    armature: Object,
    bones: Sequence[PoseBone],
    use_limits: bool,
    use_stretch: bool = False,
    moving_root: PoseBone | None = None,
    rotating: Iterable[ChainConstraint] | None = None,
    acts: Acts = is_active,
) -> tuple[str, ...]:
    """Return the bones of a chain that constraints rotate after their channels, or whose channels are driven, in words.

    Args:
        bones: of the chain.
        use_limits: whether the solver keeps to Limit Rotation constraints, so that they override nothing.
        use_stretch: whether the bones' scale is written too, so that what changes it counts.
        moving_root: the bone among them whose location is written too.
        rotating: the armature's ``chain_constraints``, where they are read already.
        acts: which constraints count.
    """
    found = [
        f"bone '{bone.name}' (constraint '{constraint.name}')"
        for bone in bones
        for constraint in bone.constraints
        if acts(constraint)
        and constraint.type not in _CHAIN_TYPES
        and (use_stretch or constraint.type not in SCALING_TYPES)
        and not (use_limits and is_limit(constraint))
    ]
    names = {bone.name for bone in bones}
    for owner, constraint, rotated in chain_constraints(armature, acts) if rotating is None else rotating:
        hit = next((bone.name for bone in rotated if bone.name in names), None)
        if hit is not None:
            found.append(f"bone '{hit}' (constraint '{constraint.name}' of bone '{owner.name}')")
    driven = driven_paths(armature)
    for bone in bones if driven else ():
        written = [channel_name(bone), "scale"] if use_stretch else [channel_name(bone)]
        written += ["location"] if bone == moving_root else []
        if any(bone.path_from_id(name) in driven for name in written):
            found.append(f"bone '{bone.name}' (driver)")
    return tuple(found)


def is_posed_by_native_rig(bone: PoseBone) -> bool:
    """Tell whether a bone takes its rotation from geometry nodes, as in a native rig: its own one has no effect."""
    return any(
        constraint.type == 'GEOMETRY_ATTRIBUTE'
        and is_active(constraint)
        and constraint.influence >= WHOLE_INFLUENCE
        and constraint.mix_rot  # type: ignore[attr-defined]
        and constraint.mix_mode == 'REPLACE'  # type: ignore[attr-defined]
        for constraint in bone.constraints
    )


def holder_of(bone: PoseBone) -> str:
    """Return what holds a bone's place or rotation whatever its channels say, in words; empty if nothing does.

    That is a constraint that replaces one of them, or a driver of its location, which what constraints add to a pose
    doesn't make up for.
    """
    for constraint in bone.constraints:
        if is_active(constraint) and _replaces_place_or_rotation(constraint):
            return f"constraint '{constraint.name}'"
    armature: Object = bone.id_data  # type: ignore[assignment]  # the stub has the base class of all data-blocks
    return "a driver" if bone.path_from_id("location") in driven_paths(armature) else ""


def _replaces_place_or_rotation(constraint: Constraint) -> bool:
    if replaces_pose(constraint):
        return True
    has_all_axes = all(getattr(constraint, f"use_{axis}", False) for axis in "xyz")
    if constraint.influence < WHOLE_INFLUENCE or not has_all_axes:
        return False
    if constraint.type == 'COPY_ROTATION':
        return constraint.mix_mode == 'REPLACE'  # type: ignore[attr-defined]
    return constraint.type == 'COPY_LOCATION' and not constraint.use_offset  # type: ignore[attr-defined]


def bones_with_overrides(armature: Object) -> dict[str, str]:
    """Return what turns each bone after its channels, or drives them, in words, by the bones' names.

    Limit Rotation constraints in local space turn no bone that keeps to them.
    """
    found: dict[str, str] = {}
    for bone in armature.pose.bones:
        for constraint in bone.constraints:
            is_turning = constraint.type not in _CHAIN_TYPES and constraint.type not in SCALING_TYPES
            if is_turning and is_active(constraint) and not is_limit(constraint):
                found.setdefault(bone.name, f"constraint '{constraint.name}'")
    for owner, constraint, rotated in chain_constraints(armature):
        for bone in rotated:
            found.setdefault(bone.name, f"constraint '{constraint.name}' of bone '{owner.name}'")
    driven = driven_paths(armature)
    for bone in armature.pose.bones if driven else ():
        if bone.path_from_id(channel_name(bone)) in driven:
            found.setdefault(bone.name, "a driver")
    return found
