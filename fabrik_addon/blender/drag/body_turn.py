# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The turn of a handle of a body: its bone is rotated, the handle stays where it is, and the body follows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from mathutils import Quaternion

from ...core import FabrikError
from ...core.trees.tree_problem import UNSEEN_ANGLE
from ..bodies.handles import Pull, find_handle, rotated_in_world
from ..bones.rotation_channel import angle_between
from ..rig.body_properties import body_of
from .body_drag import BodyDrag

if TYPE_CHECKING:
    from bpy.types import Object, ViewLayer
    from mathutils import Vector

    from ..bodies.body_following import Follows
    from ..solving.chain_groups import Group

_BEND_NAMES = {'FOREARM': "an elbow", 'SHIN': "a knee"}
"""What the handle at the head of a bone is, by the bone's role, where it isn't turned: it bends."""

_HIPS_AND_CHEST = {'HIPS', 'CHEST'}
"""Roles whose handles are held in their places only if they keep these. Hips that turn over planted feet sink a little:
with straight legs and the place of the hips held Rigify's human turned by 4 degrees of 20."""


MOST_TURN_RATIO = 2.5
"""Largest rotation of a bone in a move, over that by which the handle is turned in the move.

Where balance or a limit holds the handle back, the bones that come behind would rotate at once: hips that were turned
by 60 degrees in 40 moves took a thigh by 8 degrees in one, 4.6 times the median move's largest rotation."""

FAR_TURN = 0.3
"""Angle of a move (radians) from which on rotations have no bound."""


class BodyTurn(BodyDrag):
    """A handle of a body that is turned, with the channels of the start."""

    def __init__(self, view_layer: ViewLayer, armature: Object, name: str, follows: Follows = 'BODY') -> None:
        """Begin a turn; nothing changes yet.

        Args:
            armature: object in Pose mode, with a body.
            name: of a handle, or of its bone.
            follows: which bones of the body follow.

        Raises:
            FabrikError: the handle can't be turned, or a bone of the body is missing or locked.
        """
        self.turned = Quaternion()
        """The rotation since the start, world space."""
        self.angle_left = 0.0
        """Angle of the handle's bone from its desired rotation, radians."""
        handle = find_handle(armature, name)
        parts = body_of(armature).parts
        role = parts[handle.part].role if handle.part in parts and not handle.use_tail else ""
        self._holds_place = role not in _HIPS_AND_CHEST or handle.use_position or handle.use_pin
        bend = _BEND_NAMES.get(role)
        if bend is not None:
            raise FabrikError(f"Handle '{handle.name}' is at {bend}, which bends: pull it, or turn the hand or foot")
        super().__init__(view_layer, armature, handle.name, follows=follows)

    def _begin(self, view_layer: ViewLayer) -> None:
        self._start_rotation = self._rotation()
        self._solved_turn = Quaternion()
        super()._begin(view_layer)

    def _rotation(self) -> Quaternion:
        """Return the rotation of the handle's bone, in armature space."""
        return self.armature.pose.bones[self.grab.bone].matrix.to_quaternion()

    def _desired(self) -> Quaternion:
        """Return the desired rotation of the handle's bone, in armature space."""
        return rotated_in_world(self._start_rotation, self.turned, self._to_armature)

    def _own_pull(self, position: Vector) -> Pull:
        place = position if self._holds_place else None
        return replace(super()._own_pull(position), position=place, rotation=self._desired())

    def turn(self, view_layer: ViewLayer, rotation: Quaternion) -> None:
        """Pose the body so that the handle is turned since the start, world space, or as far as limits let it."""
        self.turned = rotation.copy()
        self._reset()
        self._pose(view_layer, self.start_position)

    def _reset(self) -> None:
        super()._reset()
        self.angle_left = 0.0

    def _pulls_to_start(self) -> bool:
        return self.turned == Quaternion()

    def _pose_within(self, view_layer: ViewLayer, position: Vector, group: Group) -> float:
        turn = super()._pose_within(view_layer, position, group)
        self.angle_left = angle_between(self._rotation(), self._desired())
        return turn

    def _bounds(self, position: Vector) -> tuple[float, float]:
        angle = angle_between(self._solved_turn, self.turned)
        self._solved_turn = self.turned
        return MOST_TURN_RATIO * angle if 0.0 < angle < FAR_TURN else math.inf, math.inf

    def finish(self, view_layer: ViewLayer) -> None:
        """Turn by the same rotation again where some of it is left: a turn by no angle has no largest rotation."""
        if self.angle_left > UNSEEN_ANGLE:
            self.turn(view_layer, self.turned)
        self.is_settled = True

    def _repeat(self, view_layer: ViewLayer) -> None:
        """Turn the handle as far as before, from another start pose."""
        self.position = self.start_position.copy()
        self.turn(view_layer, self.turned)

    def _kept(self) -> tuple[Pull, ...]:
        """Return what the handles keep from now on: their rotations, and their places if they kept these before."""
        return tuple(replace(pull, position=None) for pull in super()._kept())
