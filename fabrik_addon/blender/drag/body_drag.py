# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drag of a bone of a body: the whole body follows, as by ``pose.fabrik_body_pull``.

The pose at the start is the reference pose of every move; the solve starts from the solution of the move before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Vector

from ..rig.body_properties import body_of
from ..rig.body_snapshots import Pull, find_handle, handle_of_bone, take_body, turning_bones
from ..rig.targets_and_poles import armature_to_world
from ..solving.outcome import outcome_of
from ..solving.solve_body import body_group
from ..solving.solve_chains import solve_group
from .base_drag import BaseDrag, Grab

if TYPE_CHECKING:
    from bpy.types import Bone, Object, PoseBone, ViewLayer
    from mathutils import Matrix

    from ..solving.solve_chain_bones import SolvedChain


def is_of_body(armature: Object, bone: str) -> bool:
    """Tell whether a bone is a part of the armature's body that can rotate."""
    return bool(body_of(armature).parts) and bone in turning_bones(armature)


class BodyDrag(BaseDrag):
    """A bone of a body that is dragged by its handle, or else by its tail, with the channels of the start."""

    def __init__(
        self, view_layer: ViewLayer, armature: Object, bone: str, pins: str = 'PINNED', handle_name: str = ""
    ) -> None:
        """Begin a drag; nothing changes yet.

        Args:
            view_layer: with the armature.
            armature: object in Pose mode, with a body.
            bone: name of one of the body's bones.
            pins: kept for the redo panel; the body's own handles say what is held.
            handle_name: which of several handles at the bone; the first one unless it is given.

        Raises:
            FabrikError: a bone of the body is missing or locked.
        """
        handle = find_handle(armature, handle_name) if handle_name else handle_of_bone(armature, bone)
        self._is_added = handle is None
        self._name = f"{bone} (dragged)" if handle is None else handle.name
        super().__init__(view_layer, armature, Grab(bone, use_tail=handle is None or handle.use_tail), pins)

    def _begin(self, view_layer: ViewLayer) -> None:
        self._previous: tuple[SolvedChain, ...] = ()
        self._to_armature: Matrix = armature_to_world(self.armature).inverted()
        start = self._place()
        added = self.grab.bone if self._is_added else ""
        pull = Pull(self._name, start, bone=added, use_tail=self.grab.use_tail)
        self._group = body_group(self.armature, take_body(self.armature, pull))
        self._own = next(one for one in self._group.snapshots if one.name == self._name)
        self._record(self._group)
        self.start_position = self.armature.matrix_world @ start

    def _place(self) -> Vector:
        """Return where the dragged point is, in armature space."""
        bone = self.armature.pose.bones[self.grab.bone]
        return (bone.tail if self.grab.use_tail else bone.head).copy()

    def move(self, view_layer: ViewLayer, position: Vector) -> None:
        """Pose the body so that the handle is at a position, world space, or at the nearest feasible one.

        Raises:
            FabrikError: the position isn't finite.
        """
        if position[:] == self.start_position[:]:
            self._previous = ()
        super().move(view_layer, position)

    def _pose(self, view_layer: ViewLayer, position: Vector) -> None:
        goals = replace(self._own.goals, targets=np.array([(self._to_armature @ position)[:]]))
        found = solve_group(self._group, {self._name: goals}, self._previous)
        self._previous = found
        for chain in found:
            self._write(chain)
        view_layer.update()
        own = next(chain for chain in found if chain.snapshot.name == self._name)
        own = own._replace(snapshot=replace(own.snapshot, goals=goals))
        self.result = outcome_of(view_layer, self.armature, own, ())
        self.distance_left = (self.armature.matrix_world @ self._place() - position).length

    def confirm(self) -> list[tuple[Object | PoseBone | Bone, str]]:
        """End the drag here; the handle keeps its place from now on. Return the changed channels with their bones."""
        changed = super().confirm()
        if changed and not self._is_added:
            find_handle(self.armature, self._name).use_position = True
        return changed
