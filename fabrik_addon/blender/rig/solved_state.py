# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the pose, goals and settings that the status of a chain belongs to, as values that can be compared later.

Undo, a frame change, another bone's motion, a moved or deleted target, a removed constraint, an edited joint limit:
Blender reports each of them in another way, or not at all. So a status isn't discarded by an event; it is shown only
while the chain's present state equals the state in which it was stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...core import Array, FabrikError
from ..bones.bone_limits import UNLIMITED, limits_of
from .chain_bones import ChainSettings, bones_of_chain

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone
    from mathutils import Matrix

_SAME_STATE = 1e-5
"""Largest difference of two equal states: of positions over chain length, and of the components of unit axes.

Above the rounding of single precision (6e-8) for a chain a hundred of its lengths from the armature's origin, and a
tenth of the default tolerance of a chain.
"""


_SETTINGS = (
    *("use_tail", "use_pin", "use_rotation", "pole_angle", "weight", "influence", "softness", "use_stretch"),
    *("stretch_max", "root_motion", "use_limits", "solver", "iterations", "tolerance"),
)
"""Properties of a chain on which its status depends, beside those that name its bones and goals."""


@dataclass(frozen=True)
class SolvedState:
    """The pose, the goals and the settings of a chain at one time."""

    settings: tuple[object, ...]
    """Settings of the chain, and locks, limits and constraints of its bones."""
    matrices: tuple[Matrix, ...]
    """Copies of the matrices of the bones and goals in armature space."""
    length: float
    """Sum of the bones' lengths."""

    @cached_property
    def values(self) -> Array:
        """(N,) the matrices row by row, with positions over chain length.

        Computed when two states are compared, which a panel does: a solve and a drag only store the state.
        """
        rows: list[float] = []
        for matrix in self.matrices:
            for row in matrix[:3]:
                rows += row[:]
        values = np.array(rows).reshape(-1, 4)
        values[:, 3] /= self.length
        return values.ravel()

    def equals(self, other: SolvedState | None) -> bool:
        """Return whether both are the same pose with the same goals."""
        if other is None or self.settings != other.settings or len(self.matrices) != len(other.matrices):
            return False
        return bool(np.abs(self.values - other.values).max() <= _SAME_STATE)


def read_state(chain: ChainSettings, bones: Sequence[PoseBone] = ()) -> SolvedState | None:
    """Read the present state of a chain, as Blender evaluated it last; None if it has no such bones.

    Args:
        chain: its settings.
        bones: of the chain, where ``bones_of_chain`` has just read them.
    """
    armature, use_tail = chain.id_data, chain.use_tail
    if not bones:
        try:
            bones = bones_of_chain(armature, chain)
        except FabrikError:
            return None
    to_armature = armature.matrix_world.inverted_safe()
    line = bones if use_tail else (*bones, armature.pose.bones[chain.tip])
    # Copies: the matrix that a bone returns changes with the bone.
    matrices: list[Matrix] = [bone.matrix.copy() for bone in line]
    settings: list[object] = [getattr(chain, name) for name in _SETTINGS]
    settings += [line[-1].name, tuple(chain.rotation_offset)]
    settings += [_bone_settings(bone, chain.use_limits) for bone in bones]
    for goal, bone_name in ((chain.target, chain.subtarget), (chain.pole_target, chain.pole_subtarget)):
        if goal is None:
            settings.append(None)
            continue
        settings.append((goal.session_uid, bone_name, _is_in_view_layer(goal)))
        bone = goal.pose.bones.get(bone_name) if goal.type == 'ARMATURE' else None
        matrices.append(to_armature @ (goal.matrix_world if bone is None else goal.matrix_world @ bone.matrix))
    return SolvedState(tuple(settings), tuple(matrices), sum(bone.length for bone in bones))


def _bone_settings(bone: PoseBone, use_limits: bool) -> tuple[object, ...]:
    """Return what constrains or overrides a bone."""
    return (
        bone.name,
        (tuple(bone.lock_rotation), bone.lock_rotation_w, bone.lock_rotations_4d),
        limits_of(bone) if use_limits else UNLIMITED,
        [(constraint.name, constraint.mute, constraint.influence) for constraint in bone.constraints],
    )


def _is_in_view_layer(obj: Object) -> bool:
    """Return whether an object is in the view layer: one deleted in the viewport still exists, as the chain uses it.

    ``ViewLayer.objects`` is searched one by one: 57 µs among 3000 objects, where these calls take 2 µs.
    """
    return obj.visible_get() or obj.hide_get()
