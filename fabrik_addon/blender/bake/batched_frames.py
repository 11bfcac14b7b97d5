# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One chain over many frames as one batch: for chains that are alone in their group and whose bones turn freely.

What ``take_snapshot`` reads at a frame is read here as a row of numbers, and all rows are solved at once. What a row
can't say - locked axes, sheared bones, links that change their length, settings that are animated - is left to the
group's own reading, frame by frame.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from mathutils import Matrix, Quaternion, Vector
from numpy.typing import NDArray

from ...core import Array, Goals, Pose, solve_components, start_from
from ...core.math.operations import ARRAY
from ...core.math.quaternion_arrays import blend, conjugate, multiply
from ...core.model.joint_limits import clamp_rotation, joint_limits
from ..animation.animated_settings import animated_paths, animated_settings, has_animated_settings
from ..rig.bone_kinematics import turns_rigidly
from ..rig.chain_bones import ChainBones, chain_matrices
from ..rig.overrides import is_active
from ..rig.rotation_channel import rotation_of
from ..rig.snapshot import Snapshot
from ..rig.targets import position_in_world, rotation_in_armature
from ..solving.chain_groups import Group

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

    from ..rig.properties import FabrikChain

Row = list[float]

_SAME = 3e-6
"""Relative difference of lengths that is single precision's."""


@dataclass(frozen=True)
class SolvedRows:
    """What came of a batch: one entry for each row."""

    rotations: Array
    """(F, B, 4) of the bones that can turn, their own."""
    error: Array
    """(F,) distance from tip to target over chain length."""
    status: NDArray[np.int64]
    """(F,) values of ``Status``."""
    is_solved: NDArray[np.bool_]
    """(F,) whether the row could say it all; where it couldn't the other entries mean nothing."""


@dataclass(frozen=True)
class PlainChain:
    """A chain that rows can say all of, with what is the same at all frames."""

    snapshot: Snapshot
    """As it was read at the first frame."""
    can_shear: bool
    """Whether its bones may change their shape from frame to frame."""

    @cached_property
    def names(self) -> list[str]:
        """Of its bones and, where it ends at a head, the one after them."""
        return [bone.name for bone in self.snapshot.bones.line]

    def read(self, armature: Object, settings: FabrikChain, to_armature: Matrix) -> Row | None:
        """Return a frame as a row, or None where a row can't say it.

        Args:
            armature: evaluated at the frame.
            settings: of the chain, evaluated: what they point to is evaluated too.
            to_armature: from the world into the armature's space.
        """
        at_first = self.snapshot.bones
        found = armature.pose.bones
        line = [found[name] for name in self.names]
        if self.can_shear:
            parents = (bone.parent.matrix if bone.parent else None for bone in line)
            if not all(map(turns_rigidly, line[: len(at_first.bones)], parents)):
                return None
        matrices = chain_matrices(at_frame(at_first, line)) if at_first.is_constrained else [b.matrix for b in line]
        row: Row = []
        for i in at_first.free:
            row.extend(matrices[i].translation[:])
        last = matrices[-1]
        end = last @ Vector((0.0, line[-1].bone.length, 0.0)) if at_first.use_tail else last.translation
        row.extend(end[:])
        for i in at_first.free:
            row.extend(matrices[i].to_quaternion()[:])
        for bone in line[: len(at_first.bones)]:
            row.extend(rotation_of(bone)[:])
        row.append(settings.influence)
        row.extend((to_armature @ position_in_world(settings.target, settings.subtarget, "target"))[:])
        if self.snapshot.goals.poles is not None:
            row.extend((to_armature @ position_in_world(settings.pole_target, settings.pole_subtarget, "pole"))[:])
        if self.snapshot.goals.rotations is not None:
            desired = rotation_in_armature(armature, settings.target, settings.subtarget)
            row.extend((desired @ Quaternion(settings.rotation_offset[:]).normalized())[:])
        return row

    def solve(self, rows: list[Row]) -> SolvedRows:
        """Solve all frames at once."""
        snapshot, chain = self.snapshot, self.snapshot.chain
        free, count = len(snapshot.bones.free), len(snapshot.bones.bones)
        widths = [3 * (free + 1), 4 * free, 4 * count, 1, 3]
        widths += [3] if snapshot.goals.poles is not None else []
        widths += [4] if snapshot.goals.rotations is not None else []
        parts = np.split(np.array(rows), np.cumsum(widths)[:-1], axis=1)
        frames = len(rows)
        positions = parts[0].reshape(frames, free + 1, 3)
        own = parts[2].reshape(frames, count, 4)
        # Bones that all grow by the same share are the same chain in other units.
        root = positions[:, :1].copy()
        links = np.linalg.norm(np.diff(positions, axis=1), axis=2)
        grown = links.sum(axis=1) / chain.total_length
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.abs(links / grown[:, None] - np.array(chain.links)).max(axis=1)
            is_solved = off <= _SAME * chain.total_length
            is_solved &= np.isfinite(np.array(rows)).all(axis=1)
        which = np.flatnonzero(is_solved)
        solved = self._solve_same(parts, positions, own, root, grown, which) if which.size else None
        rotations = own[:, list(snapshot.bones.free)].copy()
        error, status = np.zeros(frames), np.zeros(frames, np.int64)
        if solved is not None:
            rotations[which], error[which], status[which] = solved
        return SolvedRows(rotations, error, status, is_solved)

    def _solve_same(
        self,
        parts: list[Array],
        positions: Array,
        own: Array,
        root: Array,
        grown: Array,
        which: NDArray[np.int64],
    ) -> tuple[Array, Array, NDArray[np.int64]]:
        """Solve frames with links of the same lengths; return rotations of the free bones, errors and statuses."""
        snapshot, chain = self.snapshot, self.snapshot.chain
        bones, own, root = snapshot.bones, own[which], root[which]
        unit = 1.0 / grown[which, None, None]

        def placed(points: Array) -> Array:
            return root + (points - root) * unit

        frames = parts[1][which].reshape(len(which), -1, 4)
        before = own[:, list(bones.free)]
        base = multiply(frames[:, 0], conjugate(before[:, 0])) if bones.limits is not None else None
        pose = Pose(placed(positions[which]), np.concatenate([frames, frames[:, -1:]], axis=1), base)
        has_pole = snapshot.goals.poles is not None
        goals = Goals(
            placed(parts[4][which, None]),
            rotations=parts[-1][which, None] if snapshot.goals.rotations is not None else None,
            poles=placed(parts[5][which, None]) if has_pole else None,
            pole_angles=snapshot.goals.pole_angles,
        )
        solution = solve_components(start_from(chain, pose), goals, snapshot.options)
        after = [np.stack(np.broadcast_arrays(*frame), axis=-1) for frame in solution.frames]
        rotations = np.empty_like(before)
        parent_turn: Array | None = None
        for i, inherits in enumerate(chain.inherits_list):
            back = conjugate(frames[:, i])
            extra = after[i]
            if inherits and parent_turn is not None:
                extra = multiply(conjugate(parent_turn), extra)
            # A bone's own rotation takes what its turn has more than its parent's.
            rotations[:, i] = multiply(before[:, i], multiply(back, extra))
            parent_turn = multiply(after[i], back)
        influence = parts[3][which]
        if (influence < 1.0).any():
            blended = blend(before, rotations, influence)
            # On the way between two rotations that limits allow there may be some that they don't.
            blended = np.where(influence[..., None] > 0.0, _within_limits(bones, blended), blended)
            rotations = np.where(influence[..., None] < 1.0, blended, rotations)
        return rotations, np.asarray(solution.error), np.asarray(solution.status)


def _within_limits(bones: ChainBones, rotations: Array) -> Array:
    """Return the rotations nearest to those of the free bones (F, B, 4) that their limits allow."""
    if bones.limits is None:
        return rotations
    columns = []
    for n, i in enumerate(bones.free):
        q = tuple(np.moveaxis(rotations[:, n], -1, 0))
        allowed = clamp_rotation(joint_limits(*bones.limits[i]), q, ARRAY)
        columns.append(np.stack(np.broadcast_arrays(*allowed), axis=-1))
    return np.stack(columns, axis=1)


def plain_chain_of(group: Group, armature: Object) -> PlainChain | None:
    """Return a group's chain as one that rows can say all of, or None where they can't.

    Args:
        group: read at the first frame.
        armature: its object.
    """
    snapshot = group.snapshots[0]
    if len(group.snapshots) != 1 or snapshot.target_bone in snapshot.moving:
        return None
    bones = snapshot.bones
    if armature.fabrik.chains[bones.chain_name].use_pin:  # type: ignore[attr-defined]
        return None
    if snapshot.options.moves_root or snapshot.options.stretch_max > 1.0 or bones.has_locks:
        return None
    above = (*bones.line, *bones.bones[0].parent_recursive)
    animated = animated_paths(armature)
    if animated_settings(animated, armature, bones.chain_name) - {"influence", "enabled"}:
        return None
    if any(has_animated_settings(animated, bone) for bone in bones.line):
        return None
    can_shear = armature.animation_data is not None and bool(armature.animation_data.nla_tracks)
    can_shear |= any(path.endswith(".scale") for path in animated)
    can_shear |= any(is_active(constraint) for bone in above for constraint in bone.constraints)
    return PlainChain(snapshot, can_shear)


def at_frame(bones: ChainBones, line: list[PoseBone]) -> ChainBones:
    """Return the same bones, evaluated at another frame."""
    return replace(bones, bones=tuple(line[: len(bones.bones)]), end=line[-1])
