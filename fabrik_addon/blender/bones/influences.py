# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: from which bones of an armature a bone's pose is computed, now and with all switches on, and what switches it.

A constraint that replaces the whole pose (Copy Transforms) hides the parent, the bone's own channels and the
constraints before it while its influence is 1. Rigs switch between FK and IK by a driver on such an influence.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy

from ...core import FabrikError
from .overrides import chain_constraints, constraint_goals, is_active, replaces_pose

if TYPE_CHECKING:
    from bpy.types import ID, Constraint, Object, PoseBone

_PROPERTY = re.compile(r'(?:pose\.bones\["(.*)"\])?\["(.*)"\]$')
"""Data path of a custom property of an object or of a bone."""


@dataclass(frozen=True)
class _Influence:
    """A bone from which another bone's pose is computed."""

    source: str
    constraint: Constraint | None
    """None for the parent."""
    hidden_by: Constraint | None
    """The constraint that replaces what this one does, or itself where it is off; None where it has an effect."""


def influences_on(armature: Object, bone: PoseBone) -> list[_Influence]:
    """Return the bones of the same armature from which a bone's pose is computed, or would be with all switches on."""
    found: list[_Influence] = [_Influence(bone.parent.name, None, None)] if bone.parent else []
    for constraint in bone.constraints:
        is_on = is_active(constraint)
        if is_on and replaces_pose(constraint):
            found = [_Influence(one.source, one.constraint, one.hidden_by or constraint) for one in found]
        found += [
            _Influence(name, constraint, None if is_on else constraint) for name in source_bones(armature, constraint)
        ]
    return found


def replacing_constraint(bone: PoseBone) -> Constraint | None:
    """Return the constraint that leaves nothing of a bone's own channels, or None."""
    return next((one for one in reversed(bone.constraints) if is_active(one) and replaces_pose(one)), None)


def source_bones(armature: Object, constraint: Constraint) -> list[str]:
    """Return the bones of the same armature that a constraint reads: targets and pole."""
    if constraint.type == 'ARMATURE':
        targets = constraint.targets  # type: ignore[attr-defined]
        return [one.subtarget for one in targets if one.target == armature and one.subtarget and one.weight > 0.0]
    return [bone for obj, bone in constraint_goals(constraint) if obj == armature and bone]


def switch_of(armature: Object, names: Collection[str]) -> str:
    """Return in words what switches off some bones, so that no deforming bone follows them; empty where one does.

    Args:
        armature: evaluated.
        names: of the bones that would move.
    """
    edges: dict[str, list[tuple[str, Constraint | None]]] = {}
    for bone in armature.pose.bones:
        for one in influences_on(armature, bone):
            edges.setdefault(one.source, []).append((bone.name, one.hidden_by))
    for owner, constraint, turned in chain_constraints(armature):
        for source in source_bones(armature, constraint):
            edges.setdefault(source, []).extend((bone.name, None) for bone in turned)
        edges.setdefault(owner.name, []).extend((bone.name, None) for bone in turned)
    reached, switches = _reached(edges, names, with_hidden=False)
    if not switches or _any_deforms(armature, reached):
        return ""
    if not _any_deforms(armature, _reached(edges, names, with_hidden=True)[0]):
        return ""
    return _in_words(armature, switches[0])


def require_effect(armature: Object, bone: str) -> None:
    """Refuse a bone that no deforming bone follows at present.

    Raises:
        FabrikError: the message names what switches the bone off.
    """
    switch = switch_of(armature, [bone])
    if switch:
        raise FabrikError(f"Bone '{bone}' has no effect: {switch}")


def _reached(
    edges: dict[str, list[tuple[str, Constraint | None]]], names: Collection[str], with_hidden: bool
) -> tuple[set[str], list[Constraint]]:
    """Return the bones that move with some bones, and the constraints that keep others from moving with them."""
    reached, waiting, switches = set(names), list(names), []
    while waiting:
        for name, hidden_by in edges.get(waiting.pop(), ()):
            if hidden_by is not None:
                switches.append(hidden_by)
                if not with_hidden:
                    continue
            if name not in reached:
                reached.add(name)
                waiting.append(name)
    return reached, switches


def _any_deforms(armature: Object, names: Collection[str]) -> bool:
    return any(armature.data.bones[name].use_deform for name in names)


def _in_words(armature: Object, constraint: Constraint) -> str:
    """Name the property that drives a constraint's influence, or the constraint itself."""
    path = constraint.path_from_id()
    curves = armature.animation_data.drivers if armature.animation_data else ()
    for curve in curves:
        if curve.data_path in (f"{path}.influence", f"{path}.mute", f"{path}.enabled"):
            for variable in curve.driver.variables:
                for source in variable.targets:
                    found = _PROPERTY.match(source.data_path) if variable.type == 'SINGLE_PROP' else None
                    value = _number_at(source.id, source.data_path)
                    if found is not None and value is not None:
                        owner, name = (bpy.utils.unescape_identifier(part or "") for part in found.groups())
                        of = f"bone '{owner}'" if owner else f"'{source.id.name}'"
                        return f"property '{name}' of {of} is {value:.4g}"
    bone = re.match(r'pose\.bones\["(.*?)"\]', path)
    return f"constraint '{constraint.name}' of bone '{bone[1] if bone else ''}' decides otherwise"


def _number_at(owner: ID | None, path: str) -> float | None:
    """Return the number that a driver reads; None where its property is missing, as after a renaming, or is none."""
    try:
        value = owner.path_resolve(path) if owner is not None else None
    except ValueError:
        return None
    return value if isinstance(value, (int, float)) else None
