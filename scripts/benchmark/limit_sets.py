# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains with joint limits, feasible poses of them, and how far a pose is outside its limits.

Written over numpy's quaternions, with nothing of the core but its data types: the core is checked independently. At
rest a chain is straight along +Y, one long, and its bones' frames are the armature's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabrik_addon.core import Chain, Pose, plain_chain

from .problems import Array, generator

Range = tuple[float, float]
"""Smallest and largest angle about an axis, degrees."""

FREE: Range = (-np.inf, np.inf)
LOCKED: Range = (0.0, 0.0)
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class ConstrainedBones:
    """A chain of equal bones."""

    name: str
    ranges: tuple[tuple[Range, Range, Range], ...]
    """About each bone's x, y and z."""
    must: int
    """Targets of a hundred to be reached at 1e-3."""

    @property
    def count(self) -> int:
        """Bones."""
        return len(self.ranges)

    @property
    def lower(self) -> Array:
        """(J, 3) radians; the tip has its parent's."""
        return self._ends(0)

    @property
    def upper(self) -> Array:
        """(J, 3) radians; the tip has its parent's."""
        return self._ends(1)

    def _ends(self, end: int) -> Array:
        rows = [[ends[end] for ends in joint] for joint in (*self.ranges, self.ranges[-1])]
        made: Array = np.radians(np.array(rows, float))
        return made

    def chain(self, stiffness: Array | None = None) -> Chain:
        """Return the chain with its limits."""
        lengths = np.full(self.count, 1.0 / self.count)
        return plain_chain(lengths, limits=(self.lower, self.upper), stiffness=stiffness)

    def rest(self) -> Pose:
        """Return the pose at rest."""
        joints = np.outer(np.linspace(0.0, 1.0, self.count + 1), (0.0, 1.0, 0.0))
        return Pose(joints, np.tile(IDENTITY, (self.count + 1, 1)))


def _hinges(count: int, ends: Range) -> tuple[tuple[Range, Range, Range], ...]:
    first = (ends, FREE, LOCKED)
    return (first, *[(ends, LOCKED, LOCKED)] * (count - 1))


def _alternating(count: int) -> tuple[tuple[Range, Range, Range], ...]:
    about_x, about_z = ((-60.0, 60.0), LOCKED, LOCKED), (LOCKED, LOCKED, (-60.0, 60.0))
    return tuple((about_x, about_z)[j % 2] for j in range(count))


def _ball(swing: float, twist: float) -> tuple[Range, Range, Range]:
    return (-swing, swing), (-twist, twist), (-swing, swing)


ARM = ConstrainedBones("arm", (_ball(60.0, 45.0), ((0.0, 140.0), LOCKED, LOCKED)), 99)
FINGER = ConstrainedBones("finger", _hinges(3, (0.0, 140.0)), 99)
TENTACLE = ConstrainedBones("tentacle", _hinges(10, (0.0, 140.0)), 95)
CLAVICLE_ARM = ConstrainedBones(
    "clavicle and arm",
    (_ball(20.0, 20.0), ((-90.0, 60.0), (-60.0, 60.0), (-60.0, 60.0)), ((0.0, 140.0), LOCKED, LOCKED)),
    99,
)
LEG_AND_FOOT = ConstrainedBones(
    "leg and foot",
    (_ball(70.0, 40.0), ((0.0, 150.0), LOCKED, LOCKED), ((-50.0, 30.0), (-10.0, 10.0), (-20.0, 20.0))),
    99,
)
TAIL = ConstrainedBones("tail", (_ball(40.0, 20.0),) * 8, 99)
LEG = ConstrainedBones("leg", (_ball(60.0, 30.0), ((0.0, 150.0), LOCKED, LOCKED)), 99)

SETS = (
    ARM,
    FINGER,
    TENTACLE,
    *(ConstrainedBones(f"alternating hinges, {count}", _alternating(count), 100) for count in (3, 6, 10)),
    *(ConstrainedBones(f"balls, {count}", (_ball(30.0, 20.0),) * count, 100) for count in (3, 6, 10)),
    LEG,
)


# Quaternions (..., 4)


def product(a: Array, b: Array) -> Array:
    """Return the product of quaternions: the rotation b followed by the rotation a."""
    aw, av, bw, bv = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    vector = aw * bv + bw * av + np.cross(av, bv)
    return np.concatenate([aw * bw - np.sum(av * bv, axis=-1, keepdims=True), vector], axis=-1)


def inverse(q: Array) -> Array:
    """Return the inverse of unit quaternions."""
    return q * (1.0, -1.0, -1.0, -1.0)


def turned(q: Array, vectors: Array) -> Array:
    """Return vectors (..., 3) rotated by unit quaternions."""
    part = 2.0 * np.cross(q[..., 1:], vectors)
    made: Array = vectors + q[..., :1] * part + np.cross(q[..., 1:], part)
    return made


def angle_of(q: Array) -> Array:
    """Return the angles of rotations, from 0 to pi."""
    made: Array = 2.0 * np.arctan2(np.linalg.norm(q[..., 1:], axis=-1), np.abs(q[..., 0]))
    return made


def turn_by(swing_x: Array, twist: Array, swing_z: Array) -> Array:
    """Return rotations of a swing (half-sines along x and z) after a twist (radians) about y."""
    zero = np.zeros_like(swing_x)
    swing = np.stack([np.sqrt(np.maximum(1.0 - swing_x**2 - swing_z**2, 0.0)), swing_x, zero, swing_z], axis=-1)
    return product(swing, np.stack([np.cos(twist / 2.0), zero, np.sin(twist / 2.0), zero], axis=-1))


# Feasible poses


def feasible_swings(rng: np.random.Generator, constrained: ConstrainedBones, count: int) -> Array:
    """Return feasible poses (count, bones, 3): half-sine about x, twist, half-sine about z; even over every range."""
    lower, upper = constrained.lower[:-1], constrained.upper[:-1]
    made = np.zeros((count, constrained.count, 3))
    for j in range(constrained.count):
        for axis in range(3):
            low, high = _parameter(lower[j, axis], axis), _parameter(upper[j, axis], axis)
            made[:, j, axis] = rng.uniform(low, high, count)
        if np.all(lower[j, ::2] < upper[j, ::2]):
            radius, around = np.sqrt(rng.uniform(0.0, 1.0, count)), rng.uniform(-np.pi, np.pi, count)
            for axis, part in ((0, np.cos(around)), (2, np.sin(around))):
                low, high = _parameter(lower[j, axis], axis), _parameter(upper[j, axis], axis)
                made[:, j, axis] = radius * part * np.where(part > 0.0, high, -low)
    return made


def _parameter(angle: float, axis: int) -> float:
    bounded = float(np.clip(angle, -np.pi, np.pi))
    return bounded if axis == 1 else float(np.sin(0.5 * bounded))


def posed(constrained: ConstrainedBones, swings: Array) -> Pose:
    """Return the pose for swings and twists (..., bones, 3), by forward kinematics."""
    turns = turn_by(swings[..., 0], swings[..., 1], swings[..., 2])
    frame = np.broadcast_to(IDENTITY, turns[..., 0, :].shape)
    joints, frames = [np.zeros((*turns.shape[:-2], 3))], []
    for j in range(constrained.count):
        frame = product(frame, turns[..., j, :])
        frames.append(frame)
        joints.append(
            joints[-1] + turned(frame, np.broadcast_to((0.0, 1.0 / constrained.count, 0.0), joints[-1].shape))
        )
    return Pose(np.stack(joints, axis=-2), np.stack([*frames, frame], axis=-2))


def feasible_targets(constrained: ConstrainedBones, count: int) -> Array:
    """Return targets (count, 3), the same for all that are compared: the tips of feasible poses."""
    return posed(constrained, feasible_swings(generator("limits", constrained.name), constrained, count)).positions[
        :, -1
    ]


# How far outside


def own_turns(frames: Array) -> Array:
    """Return the bones' own rotations (..., B, 4) of frames (..., B, 4) that are all the armature's at rest."""
    parents = np.concatenate([np.broadcast_to(IDENTITY, frames[..., :1, :].shape), frames[..., :-1, :]], axis=-2)
    return product(inverse(parents), frames)


def violation(lower: Array, upper: Array, turns: Array) -> Array:
    """Return by how many radians rotations (..., 4) are outside limits (..., 3).

    Where x and z are both limited around rest the swing has four quarter ellipses, else each axis is for itself.
    """
    w, x, y, z = np.moveaxis(turns, -1, 0)
    twist = 2.0 * np.arctan2(y, w)
    twist = (twist + np.pi) % (2.0 * np.pi) - np.pi
    size = np.hypot(w, y) + 1e-300
    swing_x, swing_z = (w * x + y * z) / size, (w * z - y * x) / size
    outside = np.maximum(0.0, np.maximum(twist - upper[..., 1], lower[..., 1] - twist))
    half_lower, half_upper = (np.sin(0.5 * np.clip(ends, -np.pi, np.pi)) for ends in (lower, upper))
    for axis, value in ((0, swing_x), (2, swing_z)):
        nearest = np.clip(value, half_lower[..., axis], half_upper[..., axis])
        outside = np.maximum(outside, np.abs(_angle(value) - _angle(nearest)))
    is_ellipse = np.all(np.isfinite(lower[..., ::2]) | np.isfinite(upper[..., ::2]), axis=-1)
    is_ellipse &= np.all((lower[..., ::2] <= 0.0) & (upper[..., ::2] >= 0.0), axis=-1)
    is_ellipse &= np.all(lower[..., ::2] < upper[..., ::2], axis=-1)
    radius_x = np.where(swing_x > 0.0, half_upper[..., 0], -half_lower[..., 0])
    radius_z = np.where(swing_z > 0.0, half_upper[..., 2], -half_lower[..., 2])
    share = np.hypot(swing_x / np.maximum(radius_x, 1e-9), swing_z / np.maximum(radius_z, 1e-9))
    swing = np.hypot(swing_x, swing_z)
    across = _angle(swing) - _angle(swing / np.maximum(share, 1.0))
    made: Array = np.where(is_ellipse, np.maximum(outside, across), outside)
    return made


def _angle(half_sine: Array) -> Array:
    made: Array = 2.0 * np.arcsin(np.clip(half_sine, -1.0, 1.0))
    return made


def worst_violation(constrained: ConstrainedBones, frames: Array) -> float:
    """Return by how many radians the worst bone of poses, frames (..., B, 4), is outside a chain's limits."""
    return float(violation(constrained.lower[:-1], constrained.upper[:-1], own_turns(frames)).max())
