# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The legal pose whose tip is nearest to a target, from several starts at once: Newton's method between limits.

Least squares alone take long where no legal pose reaches: what is left of the gap bends their model (Nocedal & Wright,
section 10.3). The whole second derivative costs a chain nothing but products of what it has: turning a joint turns all
that its children do to the tip. Starts lie side by side in arrays, where numpy pays by the call and not by the pose, so
this is written over arrays of poses and bones and not, as all else, over components.

Shapes: S poses of B bones with N free axes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..lanes import MANY, TINY
from .joint_limits import JointLimits, clamp

Array: TypeAlias = NDArray[np.float64]

LONGEST_STEP = 0.7
"""Turn of one axis in one step at most, half-sines or radians."""

ROUNDS = 2
"""Times that a step is made anew with the axes that it would take beyond their limits at them."""

LEAST_PIVOT = 1e-4
"""Of the error's second derivative: less is flat, and a step there would be long for nothing."""

AT_LIMIT = 1e-9
"""Distance from a limit that counts as at it."""


@dataclass(frozen=True)
class Bones:
    """What poses of a limb have in common; root at the origin."""

    rests: Array
    """(S or 1, B, 3, 3) rest frames, each in its parent's; in armature space for the first and for those alone."""
    links: Array
    """(S or 1, B, 3) from head to next joint, in each bone's own frame."""
    inherits: tuple[bool, ...]
    """Whether each bone turns with its parent."""
    limits: tuple[JointLimits, ...]

    def keep(self, poses: NDArray[np.int64]) -> Bones:
        """Return the bones of some poses, by their numbers."""
        if len(self.rests) == 1:
            return self
        return replace(self, rests=self.rests[poses], links=self.links[poses])

    @cached_property
    def axes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(N,), (N,) bone and axis, 0 to 2, of every axis that can turn: swings before the twist that follows them."""
        free = [(bone, axis) for bone, joint in enumerate(self.limits) for axis in (0, 2, 1) if not joint.locked[axis]]
        bones, axes = np.array(free, int).reshape(-1, 2).T
        return bones, axes

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """(N,), (N,) smallest and largest of every free axis."""
        rows = [(self.limits[j].lower[k], self.limits[j].upper[k]) for j, k in zip(*self.axes, strict=True)]
        lower, upper = np.array(rows, float).reshape(-1, 2).T
        return lower, upper

    @cached_property
    def joint_by_joint(self) -> list[int]:
        """Numbers of the bones whose axes' ranges by themselves don't say what is legal."""
        return [j for j, limits in enumerate(self.limits) if limits.is_ellipse or limits.reaches_half_turn]

    @cached_property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(P,), (P,) which free axes are the x and the z of a swing in quarter ellipses."""
        has_ellipse = np.array([limits.is_ellipse for limits in self.limits])
        bone, axis = self.axes
        first = np.flatnonzero((axis == 0) & has_ellipse[bone])
        return first, first + 1

    @cached_property
    def radii(self) -> tuple[Array, Array]:
        """(2, P), (2, P) of those ellipses, in the directions of -x and -z and of x and z."""
        lower, upper = (np.stack([ends[axes] for axes in self.pairs]) for ends in self.ends)
        return -lower, upper

    @cached_property
    def segment(self) -> NDArray[np.int64]:
        """(B,) number of the run of bones, each turning with the one before, that a bone is in."""
        return np.cumsum([j > 0 and not inherits for j, inherits in enumerate(self.inherits)])

    @cached_property
    def follows(self) -> Array:
        """(N, N) 1 where the first axis turns what the second does to the tip, 1/2 where each does a part of it."""
        bones, axes = self.axes
        place = 2 * bones + (axes == 1)
        same_run = self.segment[bones][:, None] == self.segment[bones][None, :]
        before, beside = place[:, None] < place[None, :], place[:, None] == place[None, :]
        made: Array = same_run * (1.0 * before + 0.5 * beside)
        return made


@dataclass(frozen=True)
class _Placed:
    """Poses with what moves their tips."""

    tips: Array
    """(S, 3)"""
    spins: Array
    """(S, N, 3) angular velocity of every free axis."""
    slopes: Array
    """(S, N, 3) how the tip moves with it."""


def tips_of(bones: Bones, turns: Array) -> Array:
    """Return the tips (S, 3) of poses (S, B, 3): half-sine about x, twist, half-sine about z of every bone."""
    return _frames(bones, turns)[2][-1]


def nearest_poses(
    bones: Bones, turns: Array, targets: Array, tolerance: float, steps: int, still: float
) -> tuple[Array, Array]:
    """Bring tips as near to their targets as they come from where they are.

    Args:
        bones: of the poses.
        turns: (S, B, 3) where to start: half-sine about x, twist, half-sine about z; allowed by limits.
        targets: (S, 3).
        tolerance: distance from tip to target at which to stop.
        steps: at most.
        still: share of the error that a step must take away to be followed by another.

    Returns:
        turns after and distances (S,) from tip to target.
    """
    turns = turns.copy()
    errors = np.linalg.norm(targets - tips_of(bones, turns), axis=-1)
    damping = np.full(len(turns), 1e-3)
    going = np.flatnonzero((errors > tolerance) & (len(bones.axes[0]) > 0))
    for _ in range(steps):
        if not going.size:
            break
        part = bones.keep(going)
        trial = _step(part, turns[going], targets[going], damping[going])
        found = np.linalg.norm(targets[going] - tips_of(part, trial), axis=-1)
        gain = errors[going] - found
        better = gain > 0.0
        turns[going[better]], errors[going[better]] = trial[better], found[better]
        damping[going] = np.where(better, np.maximum(0.2 * damping[going], 1e-9), 6.0 * damping[going])
        is_done = (errors[going] <= tolerance) | (better & (gain < still * found)) | (damping[going] > 1e3)
        going = going[~is_done]
    return turns, errors


def _frames(bones: Bones, turns: Array) -> tuple[list[Array], list[Array], list[Array]]:
    """Return the frames (S, 3, 3) that bones turn in and their own, and the joints (S, 3): one more than bones."""
    x, twist, z = np.moveaxis(turns, -1, 0)
    w = np.sqrt(np.maximum(1.0 - x * x - z * z, 0.0))
    cosine, sine = np.cos(0.5 * twist), np.sin(0.5 * twist)
    own = matrices(w * cosine, x * cosine - z * sine, w * sine, x * sine + z * cosine)
    parents: list[Array] = []
    frames: list[Array] = []
    joints: list[Array] = [np.zeros((len(turns), 3))]
    for j, inherits in enumerate(bones.inherits):
        rest = bones.rests[:, j]
        parents.append(frames[-1] @ rest if inherits and frames else np.broadcast_to(rest, own[:, j].shape))
        frames.append(parents[-1] @ own[:, j])
        joints.append(joints[-1] + (frames[-1] @ bones.links[:, j, :, None])[..., 0])
    return parents, frames, joints


def matrices(w: Array, x: Array, y: Array, z: Array) -> Array:
    """Return the matrices (..., 3, 3) of unit quaternions."""
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    wx, wy, wz = w * x, w * y, w * z
    parts = [
        *(1.0 - 2.0 * (yy + zz), 2.0 * (xy - wz), 2.0 * (xz + wy)),
        *(2.0 * (xy + wz), 1.0 - 2.0 * (xx + zz), 2.0 * (yz - wx)),
        *(2.0 * (xz - wy), 2.0 * (yz + wx), 1.0 - 2.0 * (xx + yy)),
    ]
    made: Array = np.stack(parts, axis=-1).reshape(*w.shape, 3, 3)
    return made


def _place(bones: Bones, turns: Array) -> _Placed:
    parents, frames, joints = _frames(bones, turns)
    x, _, z = np.moveaxis(turns, -1, 0)
    w = np.sqrt(np.maximum(1.0 - x * x - z * z, 1e-6))
    local = np.zeros((*x.shape, 3, 3))  # bone by bone, axis by axis, in the frame that the bone turns in
    local[..., 0, :] = np.stack([2.0 * (x * x / w + w), 2.0 * z, 2.0 * x * z / w], axis=-1)
    local[..., 2, :] = np.stack([2.0 * x * z / w, -2.0 * x, 2.0 * (z * z / w + w)], axis=-1)
    spins = local @ np.stack(parents, axis=1).swapaxes(-1, -2)
    spins[..., 1, :] = np.stack(frames, axis=1)[..., 1]
    # What hangs on a bone that doesn't turn with its parent moves with its head alone.
    ends = [joints[-1]] * len(frames)
    for j in range(len(frames) - 2, -1, -1):
        ends[j] = ends[j + 1] if bones.inherits[j + 1] else joints[j + 1]
    arms = np.stack(ends, axis=1) - np.stack(joints[:-1], axis=1)
    bone, axis = bones.axes
    free = spins[:, bone, axis]
    return _Placed(joints[-1], free, _cross(free, arms[:, bone]))


def _cross(a: Array, b: Array) -> Array:
    """Return vector products; numpy's own takes as long as all else here."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def _step(bones: Bones, turns: Array, targets: Array, damping: Array) -> Array:
    """Return turns after one step of Newton's method on the axes that limits leave."""
    placed = _place(bones, turns)
    gap = targets - placed.tips
    bone, axis = bones.axes
    spins, slopes = placed.spins, placed.slopes
    count = len(bone)
    gradient = -(slopes @ gap[:, :, None])[..., 0]
    value = turns[:, bone, axis]
    lower, upper = bones.ends
    least, most = lower - value, upper - value
    fixed = ((most <= AT_LIMIT) & (gradient < 0.0)) | ((least >= -AT_LIMIT) & (gradient > 0.0))
    diagonal = np.repeat(damping[:, None], count, axis=1)
    n, m = bones.pairs
    if n.size:
        # On its ellipse a swing goes along it, which bends: its axes are then that way, and none.
        tangent, curvature, out, is_flat = _along_ellipses(bones, value[:, [n, m]], gradient[:, [n, m]])
        for axes in (n, m):  # what goes beyond is put back as a pair
            least[:, axes] = np.where(is_flat, least[:, axes], -np.inf)
            most[:, axes] = np.where(is_flat, most[:, axes], np.inf)
            fixed[:, axes] &= is_flat
        fixed[:, m] |= out
        along_x, along_z = np.where(out, tangent[:, 0], 1.0), np.where(out, tangent[:, 1], 0.0)
        for vectors in (spins, slopes):
            vectors[:, n] = along_x[..., None] * vectors[:, n] + along_z[..., None] * vectors[:, m]
        gradient[:, n] = along_x * gradient[:, n] + along_z * gradient[:, m]
        diagonal[:, n] += np.where(out, np.maximum(curvature, 0.0), 0.0)

    # d2 tip / da db = spin a x slope b where a turns what b does; here it is taken times the gap.
    bent = spins @ _cross(gap[:, None, :], slopes).swapaxes(-1, -2) * bones.follows
    model = slopes @ slopes.swapaxes(-1, -2) + bent + bent.swapaxes(-1, -2)
    model[:, range(count), range(count)] += diagonal
    change = np.zeros_like(gradient)
    for _ in range(ROUNDS):
        solved = _solve_fixed(model, gradient, change, fixed)
        beyond = ~fixed & ((solved < least) | (solved > most))
        change = np.clip(solved, least, most)
        if not beyond.any():
            break
        fixed |= beyond

    if n.size:
        change[:, m] += along_z * change[:, n]
        change[:, n] *= along_x
    longest = np.abs(change).max(axis=-1, keepdims=True)
    moved = turns.copy()
    moved[:, bone, axis] += change * np.minimum(LONGEST_STEP / (longest + TINY), 1.0)
    with MANY.quiet():
        for j in bones.joint_by_joint:
            limits = bones.limits[j]
            moved[:, j] = np.stack(clamp(MANY, limits, (moved[:, j, 0], moved[:, j, 1], moved[:, j, 2])), axis=-1)
    return moved


def _along_ellipses(
    bones: Bones, swings: Array, gradient: Array
) -> tuple[Array, Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return what swings (S, 2, P) on their ellipses can do.

    Returns:
        the way (S, 2, P) along the ellipse, how the error curves (S, P) along it, whether each is kept to it (S, P),
        and whether its quarter has no width (S, P), so that it keeps to its ranges instead.
    """
    down, up = bones.radii
    radii = np.maximum(np.where(swings > 0.0, up, down), AT_LIMIT)
    is_flat = radii.min(axis=1) <= AT_LIMIT
    share = swings / radii
    out = (
        ~is_flat
        & (np.sum(share * share, axis=1) >= 1.0 - 2.0 * AT_LIMIT)
        & (np.sum(gradient * share / radii, axis=1) < 0.0)
    )
    tangent = radii * share[:, ::-1] * np.array([[-1.0], [1.0]])
    return tangent, -np.sum(gradient * swings, axis=1), out, is_flat


def _solve_fixed(model: Array, slope: Array, change: Array, fixed: NDArray[np.bool_]) -> Array:
    """Return the change (S, N) that is best for an error's model where some axes' change is fixed."""
    held = np.where(fixed, change, 0.0)
    rest = np.where(fixed, held, -slope - (model @ held[..., None])[..., 0])
    reduced = np.where(fixed[:, :, None] | fixed[:, None, :], 0.0, model)
    count = slope.shape[1]
    reduced[:, range(count), range(count)] += fixed
    return _solve(reduced, rest)


def _solve(matrices: Array, right: Array) -> Array:
    """Solve symmetric systems (S, N, N), (S, N) as if they were positive definite, by L D L^T.

    Where the error's model isn't a valley a pivot is negative: its size is taken, and the step still leads down (Gill
    & Murray 1974). Not by LAPACK: numpy's starts threads that cost a thousand times the work for matrices as small.
    """
    count = right.shape[1]
    work = np.concatenate([matrices, right[..., None]], axis=-1)
    for k in range(count):
        row = work[:, k, k + 1 :] / np.maximum(np.abs(work[:, k, k, None]), LEAST_PIVOT)
        work[:, k + 1 :, k + 1 :] -= work[:, k + 1 :, k, None] * row[:, None, :]
        work[:, k, k + 1 :] = row
    solved: Array = work[:, :, count].copy()
    for k in range(count - 1, 0, -1):
        solved[:, :k] -= work[:, :k, k] * solved[:, k, None]
    return solved
