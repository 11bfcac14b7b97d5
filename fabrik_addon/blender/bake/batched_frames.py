# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""One chain over many frames as one batch: for chains that are alone in their group and whose bones rotate freely.

A row holds the numbers that ``take_snapshot`` reads at a frame: joint positions, frames of the links, the bones' own
rotations, influence, target, and where they are used pole and target rotation. The rows of all frames are solved as one
batch (``core.solve_chain_frames``). Locked axes, sheared bones, single links that change their length and animated
settings don't fit into a row: frames with any of them are read as groups and solved one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from mathutils import Matrix, Vector
from numpy.typing import NDArray

from ...core import Array, Goals, Pose, solve_chain_frames, start_from
from ...core.math.operations import ARRAY
from ...core.math.quaternion_arrays import blend, conjugate, multiply
from ...core.model.chain_start import NearSolution
from ...core.model.joint_limits import clamp_rotation, joint_limits
from ...core.stages.stage import ComponentSolution
from ..bones.bone_kinematics import rotates_rigidly
from ..bones.bone_rotations import local_rotations, parent_frames
from ..bones.overrides import is_active
from ..bones.rotation_channel import rotation_of
from ..rig.chain_bones import ChainBones, chain_matrices
from ..rig.snapshot import Snapshot
from ..rig.targets_and_poles import offset_rotation, position_in_world
from ..solving.chain_groups import Group

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

    from ..rig.properties import FabrikChain

Row = list[float]

_SAME_LINKS = 3e-6
"""Difference of link lengths over chain length that comes from single precision."""


@dataclass(frozen=True)
class SolvedRows:
    """The solution of a batch of C chains: one entry for each row."""

    rotations: Array
    """(F, B, 4) own rotations of the ``rotating`` bones, as quaternions."""
    error: Array
    """(F, C) distance from tip to target over chain length."""
    status: NDArray[np.int64]
    """(F, C) values of ``Status``."""
    is_solved: NDArray[np.bool_]
    """(F,) whether the row fits; where it doesn't the other entries are meaningless."""
    locations: Mapping[str, Array] = field(default_factory=dict)
    """(F, 3) locations of the roots that may move, by the bones' names."""
    last: Any = None
    """The last solved frame, what ``solve`` takes as ``before`` for later rows; None where none is solved."""


@dataclass(frozen=True)
class PlainChain:
    """A chain whose frames fit into rows, with what is the same at all frames."""

    snapshot: Snapshot
    """Read at the first frame."""
    can_shear: bool
    """Whether its bones may change their shape from frame to frame."""

    @cached_property
    def names(self) -> list[str]:
        """Of its bones and, where the chain ends at a bone's head, of the bone whose head that is."""
        return [bone.name for bone in self.snapshot.bones.line]

    @property
    def rotating(self) -> Sequence[PoseBone]:
        """The bones that aren't locked."""
        return self.snapshot.bones.tree.bones

    def read(self, armature: Object, chains: Sequence[FabrikChain], to_armature: Matrix) -> Row | None:
        """Return the row of a frame, or None where bones are sheared.

        Args:
            armature: evaluated at the frame.
            chains: settings of the chain alone, on the evaluated armature: the objects that they point to are evaluated
                too.
            to_armature: from the world into the armature's space.
        """
        (settings,) = chains
        at_first = self.snapshot.bones
        found = armature.pose.bones
        line = [found[name] for name in self.names]
        if self.can_shear:
            parents = (bone.parent.matrix if bone.parent else None for bone in line)
            if not all(map(rotates_rigidly, line[: len(at_first.bones)], parents)):
                return None
        matrices = chain_matrices(at_frame(at_first, line)) if at_first.is_constrained else [b.matrix for b in line]
        links = [matrices[i] for i in at_first.free]
        last = matrices[-1]
        end = last @ Vector((0.0, line[-1].bone.length, 0.0)) if at_first.use_tail else last.translation
        row: Row = []
        for matrix in links:
            row += matrix.translation[:]
        row += end[:]
        for matrix in links:
            row += matrix.to_quaternion()[:]
        for bone in line[: len(at_first.bones)]:
            row += rotation_of(bone)[:]
        row.append(settings.influence)
        row += (to_armature @ position_in_world(settings.target, settings.subtarget, "target"))[:]
        if self.snapshot.goals.poles is not None:
            row += (to_armature @ position_in_world(settings.pole_target, settings.pole_subtarget, "pole"))[:]
        if self.snapshot.goals.rotations is not None:
            row += offset_rotation(armature, settings)[:]
        return row

    def solve(self, rows: list[Row], before: NearSolution | None = None) -> SolvedRows:
        """Solve frames as one batch.

        Args:
            rows: of the frames, in order.
            before: ``SolvedRows.last`` of the row solved before these; None where none was.
        """
        snapshot, chain = self.snapshot, self.snapshot.chain
        free, count = len(snapshot.bones.free), len(snapshot.bones.bones)
        widths = [3 * (free + 1), 4 * free, 4 * count, 1, 3]
        widths += [3] if snapshot.goals.poles is not None else []
        widths += [4] if snapshot.goals.rotations is not None else []
        values = np.array(rows)
        parts = np.split(values, np.cumsum(widths)[:-1], axis=1)
        frames = len(rows)
        positions = parts[0].reshape(frames, free + 1, 3)
        own = parts[2].reshape(frames, count, 4)
        rotations = own[:, list(snapshot.bones.free)].copy()
        error, status = np.zeros(frames), np.zeros(frames, np.int64)
        # Links that are all scaled by the same factor are the chain of the first frame in other units.
        links = np.linalg.norm(np.diff(positions, axis=1), axis=2)
        scale = links.sum(axis=1) / chain.total_length
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.abs(links / scale[:, None] - np.array(chain.links)).max(axis=1)
            is_solved = off <= _SAME_LINKS * chain.total_length
            is_solved &= np.isfinite(values).all(axis=1)
        which = np.flatnonzero(is_solved)
        last = None
        if which.size:
            rotations[which], solution, last = self._solve_same(parts, positions, scale, which, before)
            error[which], status[which] = solution.error, solution.status
        return SolvedRows(rotations, error[:, None], status[:, None], is_solved, last=last)

    def _solve_same(
        self,
        parts: list[Array],
        positions: Array,
        scale: Array,
        which: NDArray[np.int64],
        before: NearSolution | None,
    ) -> tuple[Array, ComponentSolution, NearSolution]:
        """Solve frames whose links are those of the first frame times a factor.

        Points are brought into the units of the first frame about each frame's root: ``r + (x - r) / scale``. The own
        rotation of a bone becomes ``q' = q f^-1 t^-1 g`` with ``f`` and ``g`` the frames of its link before and after
        the solve, and ``t = g_p f_p^-1`` the rotation of its parent's link (identity where the bone inherits none).

        Args:
            parts: the columns of all rows, by what they hold.
            positions: (F, J, 3) of the joints.
            scale: (F,) link lengths over those of the first frame.
            which: numbers of the frames to solve.
            before: as of ``solve``.

        Returns:
            rotations of the bones that aren't locked, what was solved, and its last frame.
        """
        snapshot, chain, bones = self.snapshot, self.snapshot.chain, self.snapshot.bones
        root, own = positions[which, :1], parts[2][which].reshape(len(which), -1, 4)
        unit = 1.0 / scale[which, None, None]

        def in_units(points: Array) -> Array:
            return root + (points - root) * unit

        frames = parts[1][which].reshape(len(which), -1, 4)
        read = own[:, list(bones.free)]
        base = multiply(frames[:, 0], conjugate(read[:, 0])) if bones.limits is not None else None
        pose = Pose(in_units(positions[which]), np.concatenate([frames, frames[:, -1:]], axis=1), base)
        has_pole = snapshot.goals.poles is not None
        goals = Goals(
            in_units(parts[4][which, None]),
            rotations=parts[-1][which, None] if snapshot.goals.rotations is not None else None,
            poles=in_units(parts[5][which, None]) if has_pole else None,
            pole_angles=snapshot.goals.pole_angles,
        )
        solution, last = solve_chain_frames(start_from(chain, pose), goals, snapshot.options, before)
        after = np.stack([np.stack(np.broadcast_arrays(*frame), axis=-1) for frame in solution.frames], axis=1)
        rotations = own_rotations(bones.tree.rotation_parents, frames, read, after)
        return _with_influence(bones, read, rotations, parts[3][which]), solution, last


def own_rotations(parents: Sequence[int], frames: Array, own: Array, after: Array) -> Array:
    """Return the bones' own rotations (F, B, 4) with which their frames are (F, B, 4) those after the solve.

    Args:
        parents: index of the bone with which each bone rotates, or -1.
        frames: (F, B, 4) of the bones before.
        own: (F, B, 4) rotations of the bones before.
        after: (F, B, 4) frames of the bones.
    """
    columns = list(np.moveaxis(frames, 1, 0)), list(np.moveaxis(own, 1, 0))
    counted_in = parent_frames(parents, *columns, multiply, conjugate)
    found: Array = np.stack(local_rotations(counted_in, list(np.moveaxis(after, 1, 0)), multiply, conjugate), axis=1)
    return found


def _with_influence(bones: ChainBones, before: Array, rotations: Array, influence: Array) -> Array:
    """Return own rotations (F, B, 4) blended with those before (F, B, 4) by the influence (F, 1) of each frame."""
    if not (influence < 1.0).any():
        return rotations
    blended = blend(before, rotations, influence)
    # Limits aren't convex: a blend of two rotations within them may be outside.
    blended = np.where(influence[..., None] > 0.0, _within_limits(bones, blended), blended)
    return np.where(influence[..., None] < 1.0, blended, rotations)


def _within_limits(bones: ChainBones, rotations: Array) -> Array:
    """Return own rotations (F, B, 4) of the bones that aren't locked, projected onto their joint limits."""
    if bones.limits is None:
        return rotations
    columns = []
    for n, i in enumerate(bones.free):
        q = tuple(np.moveaxis(rotations[:, n], -1, 0))
        allowed = clamp_rotation(joint_limits(*bones.limits[i]), q, ARRAY)
        columns.append(np.stack(np.broadcast_arrays(*allowed), axis=-1))
    return np.stack(columns, axis=1)


def plain_chain_of(group: Group, armature: Object, paths: Iterable[str]) -> PlainChain | None:
    """Return the chain of a group whose frames fit into rows, or None where they don't.

    Args:
        group: read at the first frame, without animated settings besides the chain's influence and whether it is on.
        paths: of the armature's animated properties.
    """
    snapshot = group.snapshots[0]
    if len(group.snapshots) != 1 or snapshot.target_bone in snapshot.moving:
        return None
    bones = snapshot.bones
    if (
        snapshot.is_pinned
        or snapshot.options.moves_root
        or snapshot.options.stretch_max > 1.0
        or bones.has_locks
        or not bones.is_rigid
    ):
        return None
    return PlainChain(snapshot, may_shear(armature, bones.line, paths))


def may_shear(armature: Object, line: Sequence[PoseBone], paths: Iterable[str]) -> bool:
    """Tell whether bones may change their shape from frame to frame.

    Args:
        armature: their object.
        line: the bones, from their root outward.
        paths: of the armature's animated properties.
    """
    if armature.animation_data is not None and bool(armature.animation_data.nla_tracks):
        return True
    above = (*line, *line[0].parent_recursive)
    is_constrained = any(is_active(constraint) for bone in above for constraint in bone.constraints)
    return is_constrained or any(path.endswith(".scale") for path in paths)


def at_frame(bones: ChainBones, line: list[PoseBone]) -> ChainBones:
    """Return a chain's bones as evaluated at another frame.

    Args:
        bones: read at the first frame.
        line: the bones by the same names, evaluated at the other frame.
    """
    return replace(bones, bones=tuple(line[: len(bones.bones)]), end=line[-1])
