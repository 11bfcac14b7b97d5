# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the native rigs of an armature, known by the objects its bones' constraints look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .marks import CHAIN, INHERITED, MARK

if TYPE_CHECKING:
    from bpy.types import Constraint, Object, PoseBone


def native_constraints(armature: Object) -> Iterator[tuple[PoseBone, Constraint]]:
    """Yield the constraints of native rigs with their bones."""
    for bone in armature.pose.bones:
        for constraint in bone.constraints:
            target = getattr(constraint, "target", None)
            if constraint.type == 'GEOMETRY_ATTRIBUTE' and target is not None and target.get(MARK):
                yield bone, constraint


def solvers_of(armature: Object) -> dict[str, Object]:
    """Return the solvers of an armature by the names of their chains."""
    return {str(c.target[CHAIN]): c.target for _, c in native_constraints(armature)}  # type: ignore[attr-defined]


def turned_by(armature: Object, solver: Object) -> list[PoseBone]:
    """Return the bones of an armature that a solver turns."""
    found = native_constraints(armature)
    return [bone for bone, constraint in found if constraint.target == solver and constraint.mix_rot]  # type: ignore[attr-defined]


def is_stretching(solver: Object) -> bool:
    """Tell whether a solver lengthens the bones it turns."""
    return solver.get(INHERITED) is not None
