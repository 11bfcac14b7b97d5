# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drag of a bone of a body: the whole body follows, as by ``pose.fabrik_body_pull``.

The pose at the start is the reference pose of every move; the solve starts from the solution of the move before.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Vector

from ...core import Goals
from ...core.math.quaternion_arrays import largest_angle
from ..bodies.body_balance import read_support
from ..bodies.body_following import Follows
from ..bodies.body_look_at import eye_channels
from ..bodies.body_snapshots import take_body
from ..bodies.handle_chains import carried_rotation, rotation_name
from ..bodies.handles import Pull, find_handle, handle_bone, handle_of_bone
from ..bodies.planted_feet import lifted_weight, upward_over_height
from ..bodies.turning_bones import turning_bones
from ..bones.rotation_channel import channel_name
from ..rig.body_properties import body_of
from ..rig.targets_and_poles import armature_to_world
from ..setup.body_handles import keep_pulls
from ..solving.corrected_goals import (
    CORRECTED,
    MOST_CORRECTIONS,
    corrected_goals,
    cost_of,
    deviations_of,
    largest_difference,
)
from ..solving.outcome import outcome_of, slipped_pin
from ..solving.rotation_rate import RotationRate
from ..solving.solve_body import body_group, on_its_feet, with_heels_down
from ..solving.solve_chains import solve_group
from .base_drag import BaseDrag, Grab
from .mirrored_pull import other_side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bpy.types import Bone, Object, PoseBone, ViewLayer
    from mathutils import Matrix

    from ...core.math.quaternions import Quaternion
    from ..solving.chain_groups import Group
    from ..solving.solve_chain_bones import SolvedChain


SETTLE_TURN, SETTLED_TURN = math.radians(2.0), 1e-3
"""Largest rotation (radians) of a bone in a step while the mouse rests, and the one up to which the body has settled.

Whoever lets go of the mouse keeps the pose that is shown. With the rest of the way in one step, at the release, a bone
of a body that was led out of reach turned by up to 59 degrees."""

MOST_SETTLE_STEPS = 150
"""Steps at most in which the body settles where the mouse rests; 81 seeded drags took up to 29."""


def is_of_body(armature: Object, bone: str) -> bool:
    """Tell whether a bone is a part of the armature's body that can rotate."""
    return bool(body_of(armature).parts) and bone in turning_bones(armature)


class BodyDrag(BaseDrag):
    """A bone of a body that is dragged by its handle, or else by its tail, with the channels of the start."""

    def __init__(
        self, view_layer: ViewLayer, armature: Object, name: str, pins: str = 'PINNED', follows: Follows = 'BODY'
    ) -> None:
        """Begin a drag; nothing changes yet.

        Args:
            armature: object in Pose mode, with a body.
            name: of a handle, or of one of the body's bones: its first handle, or else its tail is dragged.
            pins: kept for the redo panel; the body's own handles say what is held.
            follows: which bones of the body follow.

        Raises:
            FabrikError: a bone of the body is missing or locked, or no deforming bone follows the dragged one.
        """
        self.follows = follows
        handle = body_of(armature).handles.get(name) or handle_of_bone(armature, name)
        self._handle = Pull(f"{name} (dragged)", bone=name) if handle is None else Pull(handle.name)
        grab = Grab(name) if handle is None else Grab(handle_bone(armature, handle).name, use_tail=handle.use_tail)
        super().__init__(view_layer, armature, grab, pins)

    def _begin(self, view_layer: ViewLayer) -> None:
        self._previous: tuple[SolvedChain, ...] = ()
        self._settle_steps = 0
        self._rate = RotationRate()
        self._to_armature: Matrix = armature_to_world(self.armature).inverted()
        self._other_side = other_side(self.armature, self.grab.bone, self.grab.use_tail)
        start = self._place()
        pulls = self._pulls(start)
        body = take_body(view_layer, self.armature, *pulls, follows=self.follows)
        self._start_pulls, self._upward_over_height = pulls, upward_over_height(self.armature)
        self._group, self._look, self._pulled = body_group(self.armature, body), body.look, body.pulled
        self._before_heels = read_support(self.armature, body.pulled, with_heels=False)
        self._deviations = self._start_deviations = deviations_of(self._group, None)
        self._record(self._group)
        for eye, _ in body.look.eyes if body.look is not None else ():
            self._channels.record(eye, channel_name(eye))
        self.start_position = self.armature.matrix_world @ start
        self._solved_for = start

    def _own_pull(self, position: Vector) -> Pull:
        """Return the pull of the handle to a position in armature space."""
        return replace(self._handle, position=position)

    def _pulls(self, position: Vector) -> tuple[Pull, ...]:
        """Return the pull of the handle to a position in armature space, with X-axis mirror that of the other side."""
        own = self._own_pull(position)
        return (own,) if self._other_side is None else (own, self._other_side.pull(own))

    def _goals(self, position: Vector) -> dict[str, Goals]:
        """Return the goals of the pulled handles' chains for a position in armature space."""
        own = {snapshot.name: snapshot.goals for snapshot in self._group.snapshots}
        carriers = {snapshot.name: snapshot.bones.end for snapshot in self._group.snapshots}
        goals = {}
        for pull in self._pulls(position):
            if pull.position is not None:
                goals[pull.handle] = replace(own[pull.handle], targets=np.array([pull.position[:]]))
            if pull.rotation is not None:
                name = rotation_name(pull.handle)
                bone = self.armature.pose.bones[pull.bone or find_handle(self.armature, pull.handle).bone]
                rotation = carried_rotation(pull.rotation, bone, carriers[name])
                goals[name] = replace(own[name], rotations=np.array([rotation[:]]))
        return goals

    def _place(self) -> Vector:
        """Return where the dragged point is, in armature space."""
        bone = self.armature.pose.bones[self.grab.bone]
        return (bone.tail if self.grab.use_tail else bone.head).copy()

    def _pose_at_start(self, view_layer: ViewLayer) -> None:
        """Come nearer to the pose at the start, as far as a move's largest rotation lets the bones."""
        self._pose(view_layer, self.position)

    def _restores_start(self, view_layer: ViewLayer, most: float) -> bool:
        """Keep the restored channels where that is what the handle is pulled to, and no bone rotates by above ``most``.

        The next move then starts from the pose at the start, not from the move before.

        Returns:
            whether they are kept.
        """
        if not self._pulls_to_start() or self._turn_to(self._group.body_tree.start.frames) > most:
            return False
        self._previous = ()
        self._rate = RotationRate()
        view_layer.update()
        return True

    def _pose(self, view_layer: ViewLayer, position: Vector) -> None:
        most, beyond = self._bounds(self._to_armature @ position)
        if self._restores_start(view_layer, most):
            return
        is_move = math.isfinite(most)
        self._rate.add(self._pose_within(view_layer, position, self._group_within(most, beyond, is_move)))
        self.is_settled, self._settle_steps = False, 0

    def settle(self, view_layer: ViewLayer) -> None:
        """Bring the body nearer to the pose that its goals lead to, each bone by ``SETTLE_TURN`` at most.

        One descent goes on over all of these steps, by as many of its own as a move has. With a new descent in each,
        from the pose that is shown, one took 43 ms (median of 27 seeded drags) where a move took 10, and with as few
        steps 3 of 12 bodies rotated by 0.4 to 0.9 degrees to and fro without end; now it takes 11.
        """
        self._reset()
        if self._restores_start(view_layer, SETTLE_TURN):
            return
        group = self._group_within(SETTLE_TURN, SETTLE_TURN, is_move=True, continues=True)
        turn = self._pose_within(view_layer, self.position, group)
        self._settle_steps += 1
        self.is_settled = turn <= SETTLED_TURN or self._settle_steps >= MOST_SETTLE_STEPS

    def _pose_within(self, view_layer: ViewLayer, position: Vector, group: Group) -> float:
        """Pose the body for a position, world space, by a group; return the largest rotation (radians) of a bone."""
        at = self._to_armature @ position
        goals = self._goals(at)
        # One correction a move: the deviations of the pose before are near those of this one.
        corrected = corrected_goals(group, goals, self._deviations if self._previous else self._start_deviations)
        found = solve_group(self._let_go(group, at), corrected, self._previous)
        solution = found[0].solution
        assert solution is not None  # of a tree
        turn = self._turn_to(solution.frames)
        self._show(view_layer, found, goals)
        return turn

    def _show(self, view_layer: ViewLayer, found: tuple[SolvedChain, ...], goals: Mapping[str, Goals]) -> None:
        """WRITE: a solution, and take note of how near it comes to the goals of the pulled handles' chains."""
        self._previous = found
        # Of Rigify's human 58 channels of all chains are 19 of bones.
        settings = {(bone.name, channel[0]): (bone, channel) for chain in found for bone, channel in chain.settings}
        for bone, channel in settings.values():
            self._channels.write(bone, channel)
        view_layer.update()
        self._deviations = deviations_of(self._group, found[0].solution)
        self._turn_eyes(view_layer)
        name = self._handle.handle
        for own in found:
            if own.snapshot.name == name:
                own = own._replace(snapshot=replace(own.snapshot, goals=goals[name]))
                self.result = outcome_of(view_layer, self.armature, own, ())
        self.distance_left = (self.armature.matrix_world @ self._place() - self.position).length

    def _turn_eyes(self, view_layer: ViewLayer) -> None:
        """Turn the eyes to what is looked at from where the head now is."""
        channels = eye_channels(self._look)
        for eye, channel in channels:
            self._channels.write(eye, channel)
        if channels:
            view_layer.update()

    def _group_within(self, most_turn: float, beyond: float, is_move: bool, continues: bool = False) -> Group:
        """Return the group to solve, with bounds of the largest rotation and where the descent starts (``Options``)."""
        self._group = on_its_feet(self.armature, self._group, self._pulled)
        shown = self._previous[0].solution if self._previous else None
        group = with_heels_down(self._group, self._before_heels, shown)
        tree = group.body_tree
        options = replace(
            tree.options,
            most_turn=most_turn,
            most_turn_beyond=beyond,
            is_move=is_move,
            continues=continues,
            is_back=self._pulls_to_start(),
        )
        return replace(group, tree=replace(tree, options=options))

    def _let_go(self, group: Group, position: Vector) -> Group:
        """Return the group to solve for a position in armature space, in which lifted feet keep their rotation less."""
        tree = group.body_tree
        chain, names = tree.start.chain, [snapshot.name for snapshot in group.snapshots]
        weights = chain.weights.copy()
        for start, pull in zip(self._start_pulls, self._pulls(position), strict=True):
            name = rotation_name(pull.handle)
            if name not in names or pull.bone or pull.rotation is not None:
                continue
            if start.position is not None and pull.position is not None:
                handle = body_of(self.armature).handles[pull.handle]
                height = (pull.position - start.position).dot(self._upward_over_height)
                weights[names.index(name)] *= lifted_weight(handle, height)
        if (weights == chain.weights).all():
            return group
        start_tree = replace(tree.start, chain=replace(chain, weights=weights))
        return replace(group, tree=replace(tree, start=start_tree))

    def _bounds(self, position: Vector) -> tuple[float, float]:
        """Return the largest rotations (radians) of a move to a position in armature space, and take note of it."""
        distance = (position - self._solved_for).length / self._group.body_tree.start.unit
        self._solved_for = position
        within, beyond = self._rate.bounds(distance)
        return within or math.inf, beyond or math.inf  # the last move goes nowhere: it comes to the end of the way

    def _turn_to(self, frames: Sequence[Quaternion]) -> float:
        """Return the largest rotation (radians) of a bone from the solution before, or from the start, to frames."""
        before = self._previous[0].solution if self._previous else None
        shown = self._group.body_tree.start.frames if before is None else before.frames
        return largest_angle(shown, frames)

    def finish(self, view_layer: ViewLayer) -> None:
        """Move to the same position again: a move by no distance has no largest rotation.

        Corrections may diverge where bones are sheared: the pose is kept that comes nearest to the goals, be it that of
        the last move.
        """
        goals = self._goals(self._to_armature @ self.position)
        best = self._previous if self._start_deviations else ()
        least = cost_of(self._group, goals) if best else math.inf
        for _ in range(MOST_CORRECTIONS if self._start_deviations else 1):
            before = self._deviations
            self.move(view_layer, self.position)
            cost = cost_of(self._group, goals)
            if cost < least or not best:  # infinite, where the square of a distance is
                least, best = cost, self._previous
            if largest_difference(self._group, self._deviations, before) <= CORRECTED:
                break
        if best is not self._previous:
            self._show(view_layer, best, goals)
        self.is_settled = True

    def confirm(self) -> list[tuple[Object | PoseBone | Bone, str]]:
        """End the drag here; the handle keeps its place from now on. Return the changed channels with their bones."""
        changed = super().confirm()
        if changed:
            keep_pulls(self.armature, self._kept())
        return changed

    def slipped(self, view_layer: ViewLayer) -> str:
        """Return in words which pin or planted foot is not held; empty if all are."""
        pulled = {pull.handle for pull in self._start_pulls}
        return slipped_pin(view_layer, self.armature, self._previous, pulled)

    def _kept(self) -> tuple[Pull, ...]:
        """Return what the handles keep from now on."""
        return self._pulls(self._place())
