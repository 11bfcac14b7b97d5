# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the native rigs of an armature, known by the objects its bones' constraints look at, or that its chains hold.

A chain holds its solver by a property. Constraints don't count as users: without the property *Purge Unused Data*
removed the solver of an armature that was appended to a file, which is in no collection there. And a rig whose
constraints were removed by hand, or whose bones Rigify has made anew, wasn't found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import bpy

from .custom_properties import CHAIN, CONSTRAINT, MARK

if TYPE_CHECKING:
    from bpy.types import Constraint, Object, PoseBone

    from ..rig.properties import FabrikChain


def native_constraints(armature: Object) -> Iterator[tuple[PoseBone, Constraint]]:
    """Yield the constraints of native rigs with their bones."""
    for bone in armature.pose.bones:
        for constraint in bone.constraints:
            target = getattr(constraint, "target", None)
            if constraint.type == 'GEOMETRY_ATTRIBUTE' and target is not None and target.get(MARK):
                yield bone, constraint


def solvers_of(armature: Object) -> dict[str, Object]:
    """Return the solvers of an armature by the names of their chains.

    Of several whose chains had the same name, in armatures that were joined, the others are by their own names.
    """
    found: dict[str, Object] = {}
    solvers = [constraint.target for _, constraint in native_constraints(armature)]  # type: ignore[attr-defined]
    for solver in dict.fromkeys([*solvers, *_held_by(armature)]):
        name = str(solver[CHAIN])
        found[solver.name if name in found else name] = solver
    return found


def _held_by(armature: Object) -> list[Object]:
    """Return the solvers that an armature's chains hold; those of a copy are the original's until it has its own."""
    held = (chain.native_rig for chain in armature.fabrik.chains)  # type: ignore[attr-defined]
    return [solver for solver in held if solver is not None and solver.parent == armature and CHAIN in solver]


def solver_of(armature: Object, chain: FabrikChain) -> Object | None:
    """Return the solver of a chain, which may have got another name since the rig was made."""
    solvers = solvers_of(armature)
    if chain.native_rig in solvers.values():
        return chain.native_rig
    # Rigs of earlier versions of the extension are held by no chain.
    held = [other.native_rig for other in armature.fabrik.chains]  # type: ignore[attr-defined]
    solvers = {name: solver for name, solver in solvers.items() if solver not in held}
    if chain.name in solvers:
        return solvers[chain.name]
    names = {other.name for other in armature.fabrik.chains}  # type: ignore[attr-defined]
    for name, solver in solvers.items():
        if name not in names and any(bone.name == _last_bone(armature, chain) for bone in turned_by(armature, solver)):
            return solver
    return None


def _last_bone(armature: Object, chain: FabrikChain) -> str:
    tip = armature.pose.bones.get(chain.tip)
    if tip is None or chain.use_tail:
        return chain.tip
    return tip.parent.name if tip.parent else ""


def turned_by(armature: Object, solver: Object) -> list[PoseBone]:
    """Return the bones of an armature that a solver rotates."""
    found = native_constraints(armature)
    return [bone for bone, constraint in found if constraint.target == solver and constraint.mix_rot]  # type: ignore[attr-defined]


def is_stretching(armature: Object, solver: Object) -> bool:
    """Tell whether a solver scales bones of an armature."""
    return any(each.target == solver and each.mix_scl for _, each in native_constraints(armature))  # type: ignore[attr-defined]


def unused_solvers() -> list[Object]:
    """Return the solvers that no bone follows and no chain of their armature holds, as of one that was deleted."""
    used: set[Object] = set()
    for obj in bpy.data.objects:
        if obj.pose is not None:
            used |= {*solvers_of(obj).values()}
    found = (obj for obj in bpy.data.objects if obj.get(MARK) and obj.get(CHAIN) is not None and obj.library is None)
    return [obj for obj in found if obj not in used]


def broken_constraints(armature: Object) -> list[tuple[PoseBone, Constraint]]:
    """Return the constraints of native rigs whose solver is gone, with their bones."""
    return [
        (bone, constraint)
        for bone in armature.pose.bones
        for constraint in bone.constraints
        if constraint.type == 'GEOMETRY_ATTRIBUTE'
        and constraint.target is None
        and constraint.name.startswith(CONSTRAINT)
    ]
