# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes into a solve and what comes out: frozen dataclasses of arrays.

Positions are in armature space and Blender units, angles in radians, quaternions (w, x, y, z), bone axes +Y. Batch axes
come first. A joint is a bone's head or a chain's end; a plain chain is a tree with one effector.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .math.operations import Array, IntegerArray


class FabrikError(ValueError):
    """Input that can't be solved; the message names the bone or chain and says what is wrong."""


class Status(IntEnum):
    """How a solve ended, one per effector."""

    REACHED = 0
    """The error is within the tolerance."""
    OUT_OF_REACH = 1
    """The target is too far from the root, or too near to it, for these lengths."""
    LIMITED = 2
    """Joint limits or locks keep the effector away."""
    STALLED = 3
    """Gave up short of the tolerance: a defect worth a report."""


@dataclass(frozen=True)
class Chain:
    """The rigid part of the problem: J joints in a tree, E of them effectors. Link j ends at joint j."""

    parents: IntegerArray
    """(J,) parent joint; -1 at the root, which comes first. Parents come before their children."""
    lengths: Array
    """(J,) length of the link that ends at each joint; 0 at the root."""
    tips: IntegerArray
    """(E,) effector joints."""
    weights: Array
    """(E,) share of each effector where several chains meet."""
    lower: Array
    """(J, 3) smallest angle about each joint's own x, y, z; -inf where it is free."""
    upper: Array
    """(J, 3) largest angle about each joint's own x, y, z; +inf where it is free."""
    rest: Array
    """(J, 4) rest frame of the bone that starts at each joint, relative to its parent's."""
    inherits: NDArray[np.bool_]
    """(J,) whether the bone turns with its parent; the rest frame of one that doesn't is in armature space."""
    stiffness: Array
    """(J, 3) share of its turn, 0 to 0.99, that each joint leaves to the others, about its own x, y, z."""
    names: tuple[str, ...] = field(default=())
    """(J,) of the bones that start at the joints, for messages; a tip that starts no bone has its parent's."""
    starts: IntegerArray | None = None
    """(E,) joint at which each effector's own chain starts: its error is over the length from there to the tip, and
    its pole bends what lies between. None is the root for all."""
    roots: tuple[int, ...] = (0,)
    """Joints that shift where the root gives way; others than 0 hang on an anchor."""
    has_anchor: bool = False
    """Whether the first joint is no bone's but what several roots hang on: it can't turn, and its links are no way."""

    def __post_init__(self) -> None:
        """Refuse a link without length: no turn of it moves anything."""
        if len(self.lengths) < 2:
            raise FabrikError("a chain needs at least one link")
        for j, length in enumerate(self.lengths.tolist()):
            parent = int(self.parents[j])
            if parent >= 0 and not 0.0 < length < np.inf:
                raise FabrikError(f"the link that starts at {self.name(parent)} has length {length:g}, not more than 0")

    @cached_property
    def is_plain(self) -> bool:
        """Whether this is one chain without branches whose only effector is its end."""
        last = len(self.lengths) - 1
        return bool(self.tips.tolist() == [last] and self.parents.tolist() == list(range(-1, last)))

    @cached_property
    def without_tip(self) -> Chain:
        """A plain chain without its last bone."""
        return Chain(
            self.parents[:-1],
            self.lengths[:-1],
            self.tips - 1,
            self.weights,
            self.lower[:-1],
            self.upper[:-1],
            self.rest[:-1],
            self.inherits[:-1],
            self.stiffness[:-1],
            self.names[:-1],
        )

    @cached_property
    def has_limits(self) -> bool:
        """Whether a bone isn't free to turn any way, or is stiff."""
        bounded = np.isfinite(self.lower[:-1]).any() or np.isfinite(self.upper[:-1]).any()
        return bool(bounded or self.stiffness.any())

    @cached_property
    def inherits_list(self) -> list[bool]:
        """Whether each bone of a plain chain turns with its parent."""
        return [bool(inherits) for inherits in self.inherits[:-1]]

    @cached_property
    def links(self) -> list[float]:
        """Lengths of a plain chain's links, root first."""
        return [float(length) for length in self.lengths[1:]]

    @cached_property
    def total_length(self) -> float:
        """Length of a plain chain."""
        return float(self.lengths.sum())

    def name(self, joint: int) -> str:
        """Return the name of the bone at a joint, or a number where there are no names."""
        return f"bone '{self.names[joint]}'" if self.names else f"joint {joint}"


@dataclass(frozen=True)
class Pose:
    """Where the joints are."""

    positions: Array
    """(..., J, 3)"""
    rotations: Array
    """(..., J, 4) frame of the bone that starts at each joint; a tip has that of the bone that ends there."""
    base: Array | None = None
    """(..., 4) frame that the first bone turns in, from which its limits count; None is the armature's own."""


@dataclass(frozen=True)
class Goals:
    """Where the effectors should go."""

    targets: Array
    """(..., E, 3)"""
    rotations: Array | None = None
    """(..., E, 4) frames the effectors' bones should take."""
    poles: Array | None = None
    """(..., E, 3) points toward which the chains bend."""
    pole_angles: Array | None = None
    """(E,) turn of each pole about the line from the root to the target; None is 0."""
    with_rotations: NDArray[np.bool_] | None = None
    """(E,) which effectors' rotations are wanted, where there are any; None is all."""
    with_poles: NDArray[np.bool_] | None = None
    """(E,) which effectors have a pole, where there are any; None is all."""
    softness: Array | None = None
    """(E,) part of the reach over which each effector of a tree eases into full extension, 0 to 1; None is 0."""
    pinned: NDArray[np.bool_] | None = None
    """(E,) effectors that come before the others where not all targets can be met; None is none."""
    meets: IntegerArray | None = None
    """(E,) joint that each effector should meet instead of a target, each giving way by the other's weight; -1 is none.
    """


@dataclass(frozen=True)
class Options:
    """How hard to try."""

    iterations: int = 64
    """Sweeps at most."""
    tolerance: float = 1e-4
    """Error that counts as reached: distance from tip to target over chain length."""
    softness: float = 0.0
    """Part of the reach over which the chain eases into full extension, 0 to 1."""
    moves_root: bool = False
    """Whether the root gives way: a chain's by just as much as the tip would stay away from its target, a tree's by
    its share of the way that least squares find."""
    solver: str = "FABRIK"
    """Name of the method, one of ``solvers.SOLVERS``."""
    stretch_max: float = 1.0
    """Factor by which all links may lengthen at most, where the tip can't reach its target without; 1 is rigid."""

    def __post_init__(self) -> None:
        """Refuse to try nothing."""
        if not 0.0 <= self.softness <= 1.0:
            raise FabrikError(f"softness is {self.softness:g}: it must be from 0 to 1")
        if not 1.0 <= self.stretch_max < np.inf:
            raise FabrikError(f"stretch_max is {self.stretch_max:g}: it must be at least 1")
        if self.iterations < 1:
            raise FabrikError(f"iterations is {self.iterations}: it must be at least 1")
        if not self.tolerance > 0.0:
            raise FabrikError(f"tolerance is {self.tolerance:g}: it must be more than 0")


@dataclass(frozen=True)
class Solution:
    """The pose found and what can be said about it."""

    pose: Pose
    error: Array
    """(..., E) distance from tip to target over chain length."""
    iterations: IntegerArray
    """(..., E) sweeps used."""
    status: IntegerArray
    """(..., E) values of :class:`Status`."""
    stretch: Array
    """(..., 1) factor by which the pose's links are longer than the chain's: 1 unless ``Options.stretch_max`` is more
    and the tip can't reach its target without."""


def plain_chain(
    lengths: Array | list[float],
    names: tuple[str, ...] = (),
    rest: Array | None = None,
    inherits: NDArray[np.bool_] | None = None,
    limits: tuple[Array, Array] | None = None,
    stiffness: Array | None = None,
) -> Chain:
    """Return the chain of links end to end, one effector at its end.

    Args:
        lengths: (J - 1,) of the links, root first.
        names: (J - 1,) of the bones.
        rest: (J, 4) rest frames; straight where left out.
        inherits: (J,) whether each bone turns with its parent; all do where left out.
        limits: (J, 3) smallest and largest angles about the bones' own axes; free where left out.
        stiffness: (J, 3) share of a turn that is left to the other bones; none where left out.
    """
    joints = len(lengths) + 1
    straight = np.zeros((joints, 4))
    straight[:, 0] = 1.0
    return Chain(
        parents=np.arange(-1, joints - 1),
        lengths=np.concatenate([[0.0], np.asarray(lengths, float)]),
        tips=np.array([joints - 1]),
        weights=np.ones(1),
        lower=np.full((joints, 3), -np.inf) if limits is None else limits[0],
        upper=np.full((joints, 3), np.inf) if limits is None else limits[1],
        rest=straight if rest is None else rest,
        inherits=np.ones(joints, bool) if inherits is None else inherits,
        stiffness=np.zeros((joints, 3)) if stiffness is None else stiffness,
        names=(*names, names[-1]) if names else (),
    )
