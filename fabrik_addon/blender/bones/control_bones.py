# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the bones of a control rig: which control a bone follows, and which controls are moved instead of rotated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...core import FabrikError
from .influences import replacing_constraint, source_bones
from .overrides import SCALING_TYPES, chain_constraints, is_active
from .rotation_channel import is_locked

if TYPE_CHECKING:
    from bpy.types import Constraint, Object, PoseBone

_SAME_PLACE = 1e-3
"""Distance of two joints, over a bone's length, below which they are one."""


@dataclass(frozen=True)
class _Line:
    """Where the walk from a bone to its control ends."""

    bone: PoseBone
    owners: tuple[Constraint, ...] = ()
    """The constraints that pose it; none where it has channels of its own."""
    sources: tuple[str, ...] = ()
    """Names of the bones that it follows."""


def control_of(armature: Object, name: str) -> str:
    """Return the bone to drag for a bone: itself, or the control that a bone without own channels follows in a line.

    Raises:
        FabrikError: several bones or a solver pose it; the message names them.
    """
    line = _follow(armature, name)
    if not line.owners:
        return line.bone.name
    controls = _controls(armature, line, {name})
    through = "" if line.bone.name == name else f" follows bone '{line.bone.name}', which"
    by = " and ".join(f"'{one.name}'" for one in line.owners)
    constraint = "constraint" if len(line.owners) == 1 else "constraints"
    instead = " or ".join(f"'{control}'" for control in dict.fromkeys(controls))
    objects = dict.fromkeys(obj.name for one in line.owners for obj in _target_objects(one))
    others = " and ".join(f"'{other}'" for other in objects)
    remedy = f"drag {instead}" if instead else f"it follows {others}"
    raise FabrikError(f"Bone '{name}'{through} is posed by {constraint} {by}: {remedy}")


def _controls(armature: Object, line: _Line, seen: set[str]) -> list[str]:
    """Return the names of the controls that the bones of a line's sources follow, through further lines.

    What the target of an IK constraint follows is moved. So of a control whose location is locked, as that of a heel,
    it is the control that carries it.
    """
    found, is_ik = [], any(one.type == 'IK' for one in line.owners)
    for source in line.sources:
        if source in seen:
            continue
        seen.add(source)
        above = _follow(armature, source)
        while is_ik and not above.owners and all(above.bone.lock_location) and above.bone.parent is not None:
            above = _follow(armature, above.bone.parent.name)
        further = _controls(armature, above, seen) if above.owners else [above.bone.name]
        found += further or [source]
    return found


def _follow(armature: Object, name: str) -> _Line:
    """Walk from a bone to the one that it follows, until a bone has channels of its own or several owners."""
    bone, seen = armature.pose.bones[name], {name}
    while _is_driven(armature, bone) or (bone.name != name and not _swings(bone)):
        owners = list(_posing(armature, bone))
        sources = [source for one in owners for source in source_bones(armature, one)]
        if not owners and bone.parent is not None:
            sources = [bone.parent.name]
        is_line = len(owners) <= 1 and len(sources) == 1 and not any(one.type == 'IK' for one in owners)
        if not is_line:
            # A tweak bone that a walk has come to has channels of its own: it can be dragged itself.
            return _Line(bone, tuple(owners), tuple(sources)) if _is_driven(armature, bone) else _Line(bone)
        if sources[0] in seen:
            return _Line(armature.pose.bones[name])
        seen.add(sources[0])
        bone = armature.pose.bones[sources[0]]
    return _Line(bone)


def _is_driven(armature: Object, bone: PoseBone) -> bool:
    """Tell whether a bone's own channels leave its direction and place to others.

    They are all locked as those of mechanism bones are, or a constraint replaces them, or an IK constraint rotates the
    bone, which can't swing by itself.
    """
    is_mechanism = is_locked(bone) and all(bone.lock_location) and all(bone.lock_scale)
    if is_mechanism or replacing_constraint(bone) is not None:
        return True
    return not _swings(bone) and any(bone in turned for _owner, _constraint, turned in chain_constraints(armature))


def _swings(bone: PoseBone) -> bool:
    """Tell whether a bone can rotate about an axis across its length; a tweak bone can't."""
    return not (bone.lock_rotation[0] and bone.lock_rotation[2])


def _target_objects(constraint: Constraint) -> list[Object]:
    entries = getattr(constraint, "targets", [constraint])
    return [entry.target for entry in entries if getattr(entry, "target", None) is not None]


def _posing(armature: Object, bone: PoseBone) -> Iterator[Constraint]:
    """Yield the active constraints that pose a bone after something else, without those that a later one replaces."""
    constraints, replacing = list(bone.constraints), replacing_constraint(bone)
    for constraint in constraints[constraints.index(replacing) if replacing is not None else 0 :]:
        is_other = constraint.type in {*SCALING_TYPES, 'IK'}  # that of IK poses the bones of chain_constraints
        if not is_other and is_active(constraint) and _target_objects(constraint):
            yield constraint
    for _owner, constraint, turned in chain_constraints(armature):
        if bone in turned:
            yield constraint


def is_free_control(armature: Object, name: str) -> bool:
    """Tell whether a bone is moved when it is dragged, because rotating it would not bring its end anywhere of use.

    Its location is free, it deforms nothing, and no other bone begins at its tail as one link of a limb does. Besides
    it is a target or pole of an IK constraint, or it or its parents can't rotate (a tweak, a root), or it has a shape
    of its own and lies on no deforming bone: a torso or a chest, but not a head or a shoulder.
    """
    bone = armature.pose.bones[name]
    if bone.bone.use_deform or any(bone.lock_location) or bone.bone.use_connect:
        return False
    if any(bone in turned for _owner, _constraint, turned in chain_constraints(armature)):
        return False
    if _is_target(armature, bone):
        return True
    if _continues(bone):
        return False
    if not _swings(bone) or all(is_locked(parent) for parent in bone.parent_recursive):
        return True
    return bone.custom_shape is not None and not _lies_on_deforming_bone(armature, bone)


def _is_target(armature: Object, bone: PoseBone) -> bool:
    """Tell whether an IK constraint has a bone, or one that is rigid with it, as its target or pole."""
    rigid, waiting = {bone.name}, [bone]
    while waiting:
        for child in waiting.pop().children:
            if is_locked(child) and not any(is_active(one) for one in child.constraints):
                rigid.add(child.name)
                waiting.append(child)
    constraints = (one for owner in armature.pose.bones for one in owner.constraints if one.type == 'IK')
    return any(not rigid.isdisjoint(source_bones(armature, one)) for one in constraints)


def _continues(bone: PoseBone) -> bool:
    """Tell whether a bone of a limb begins at a bone's tail."""
    tail, near = bone.bone.tail_local, _SAME_PLACE * bone.bone.length
    below = [bone]
    while below:
        for child in below.pop().children:
            if not is_locked(child) and (child.bone.head_local - tail).length <= near:
                return True
            if is_locked(child):
                below.append(child)
    return False


def _lies_on_deforming_bone(armature: Object, bone: PoseBone) -> bool:
    near, ends = _SAME_PLACE * bone.bone.length, (bone.bone.head_local, bone.bone.tail_local)
    return any(
        other.use_deform
        and any(
            (other.head_local - head).length <= near and (other.tail_local - tail).length <= near
            for head, tail in (ends, ends[::-1])
        )
        for other in armature.data.bones
    )
