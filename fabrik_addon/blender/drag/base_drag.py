# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all drags share: the dragged point, the channels of the start, and how a drag begins, moves and ends.

Every move restores the channels of the start first, so that no move adds to the one before. After an undo or a new file
the drag's references are invalid: ``is_intact`` is False, and no other method may be called.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...core import FabrikError
from ..bones.rotation_channel import channel_name
from ..rig.targets_and_poles import check_evaluated
from .start_channels import StartChannels

if TYPE_CHECKING:
    from bpy.types import Bone, Object, PoseBone, Scene, ViewLayer
    from mathutils import Matrix, Vector

    from ..rig.last_results import Result
    from ..rig.snapshot import Snapshot
    from ..solving.chain_groups import Group
    from ..solving.solve_chain_bones import SolvedChain


@dataclass(frozen=True)
class Grab:
    """The dragged point: the tail or head of a bone, or the target or pole of a chain."""

    bone: str
    """Name of the last bone of the chain."""
    chain: str = ""
    """Name of the chain whose target or pole is dragged; empty for the bone itself."""
    use_tail: bool = True
    """Whether the bone's tail is dragged; else its head, while the bone keeps its direction in space."""
    is_pole: bool = False
    """Whether the chain's pole is dragged instead of its target."""

    @property
    def role(self) -> str:
        """Which point of the chain is dragged, in a word."""
        return "pole" if self.is_pole else "target"


class BaseDrag(ABC):
    """A dragged point, with the channels that the drag changes as they were at its start."""

    snapshot: Snapshot | None = None
    """The dragged chain; None where the drag isn't that of a chain."""
    result: Result | None = None
    """Result of the last solve; None in the pose at the start, and where nothing is solved."""
    distance_left = 0.0
    """Distance of the dragged point from its desired position after a solve, Blender units."""
    others_off = 0
    """Number of other solved chains whose ends are farther from their goals than their tolerances."""
    is_settled = True
    """Whether ``settle`` would change nothing."""
    left_behind = ""
    """Why the targets of chains that end at the dragged bone don't come along; empty where they do."""
    start_position: Vector
    """Position of the dragged point at the start, world space."""

    def __init__(self, view_layer: ViewLayer, armature: Object, grab: Grab, pins: str) -> None:
        """Begin a drag; nothing changes yet.

        Args:
            armature: object in Pose mode.
            pins: which other chains' ends are held, an item of the operator's property.

        Raises:
            FabrikError: Blender doesn't evaluate the armature, or the point can't be dragged.
        """
        self.armature = armature
        self.grab = grab
        self.pins = pins
        self._start(view_layer)
        self.position = self.start_position.copy()

    def _start(self, view_layer: ViewLayer) -> None:
        view_layer.update()
        check_evaluated(view_layer, self.armature, f"'{self.armature.name}'")
        self._channels = StartChannels()
        self._frame = _scene_of(view_layer).frame_current_final
        self._begin(view_layer)

    @abstractmethod
    def _begin(self, view_layer: ViewLayer) -> None:
        """Read the start pose, updated: record the channels that the drag changes, and set ``start_position``."""

    @property
    def chain_count(self) -> int:
        """Number of bones of the dragged chain; 0 where the drag isn't that of a chain."""
        return 0

    @property
    def held(self) -> frozenset[str]:
        """Names of the other chains whose ends are held."""
        return frozenset()

    @property
    def axes(self) -> Matrix:
        """Local axes of the dragged bone, as columns of a rotation matrix in world space."""
        bone = self.armature.pose.bones[self.grab.bone]
        return (self.armature.matrix_world @ bone.matrix).to_3x3().normalized()

    def is_intact(self) -> bool:
        """Return whether the armature and its bones are still those of the start."""
        try:
            return self.armature.mode != 'EDIT' and self._channels.are_intact()
        except ReferenceError:
            return False

    def move(self, view_layer: ViewLayer, position: Vector) -> None:
        """Bring the dragged point to a position, world space, or to the nearest feasible one.

        Raises:
            FabrikError: the position isn't finite, or the point can't be moved.
        """
        if not math.isfinite(sum(position[:])):
            raise FabrikError("The position is not a finite number")
        self.position = position.copy()
        self._reset()
        if self._pulls_to_start():
            self._pose_at_start(view_layer)
        else:
            self._pose(view_layer, position)

    def _pulls_to_start(self) -> bool:
        """Tell whether the dragged point is pulled to where it was at the start."""
        return self.position[:] == self.start_position[:]

    def _pose_at_start(self, view_layer: ViewLayer) -> None:
        """Keep the restored channels; the next move starts from the pose at the start, not from the move before."""
        view_layer.update()

    def _reset(self) -> None:
        """Restore the channels of the start, without an update; there is no result yet."""
        self.result, self.is_settled = None, True
        self.distance_left, self.others_off, self.left_behind = 0.0, 0, ""
        self._channels.restore()

    @abstractmethod
    def _pose(self, view_layer: ViewLayer, position: Vector) -> None:
        """Change the restored channels so that the dragged point is at a position, world space, and update."""

    def settle(self, view_layer: ViewLayer) -> None:  # noqa: B027 - only some drags have something left to do
        """Go on toward the pose from which a move, which has a largest rotation, stayed away, by a small rotation."""

    def finish(self, view_layer: ViewLayer) -> None:  # noqa: B027 - only some drags have something left to do
        """Go on to that pose at once: for scripts, the redo panel and typed numbers, which show no pose before."""

    def slipped(self, _view_layer: ViewLayer) -> str:
        """Return in words which pin is not held; empty if all are, or where the drag says so elsewhere."""
        return ""

    def confirm(self) -> list[tuple[Object | PoseBone | Bone, str]]:
        """End the drag here; return the changed channels: objects and bones, with the channels' names."""
        return self._channels.changed()

    def cancel(self, view_layer: ViewLayer) -> None:
        """End the drag with every channel as it was at the start, bit for bit; at another frame as that has it."""
        self.restore()
        scene = _scene_of(view_layer)
        if not self.is_at_start_frame(scene):
            scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
        view_layer.update()

    def is_at_start_frame(self, scene: Scene) -> bool:
        """Tell whether a scene is at the frame of the pose at the start."""
        return scene.frame_current_final == self._frame

    def restore(self) -> None:
        """Restore every channel without an update: for a window that closes or a file that loads."""
        self._channels.restore()

    def restart(self, scene: Scene, view_layer: ViewLayer) -> None:
        """Begin anew at the scene's present frame; the dragged point keeps its position if it has been moved.

        Raises:
            FabrikError: at this frame the point can't be dragged; then every channel has the value of the frame.
        """
        is_moved = not self._pulls_to_start()
        self.restore()
        scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
        self._start(view_layer)
        if is_moved:
            self._repeat(view_layer)
        else:
            self.position = self.start_position.copy()

    def _repeat(self, view_layer: ViewLayer) -> None:
        """Move to the same position as before, from another start pose."""
        self.move(view_layer, self.position)

    def _record(self, group: Group) -> None:
        """Record the channels that a solve of a group changes."""
        for snapshot in group.snapshots:
            for i in snapshot.bones.free:
                bone = snapshot.bones.bones[i]
                self._channels.record(bone, channel_name(bone))
        for root in group.moving_roots:
            self._channels.record(root, "location")

    def _write(self, solved: SolvedChain) -> None:
        """Write the channels of a solved chain, without an update."""
        for bone, channel in solved.visible_settings:
            self._channels.write(bone, channel)


def _scene_of(view_layer: ViewLayer) -> Scene:
    return view_layer.id_data  # type: ignore[return-value]  # the stub has the base class of all data-blocks
