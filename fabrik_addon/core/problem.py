# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Types of a solve's input and output: frozen dataclasses of arrays.

Positions are in armature space and Blender units, angles in radians, quaternions (w, x, y, z), bone axes +Y. Batch axes
come first. A joint is the head of a bone or the end of a chain. A plain chain has no branches and one effector, its
end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .math.operations import SCALAR, Array, IntegerArray, ScalarVector
from .math.quaternions import rotation_fault
from .status import FabrikError as FabrikError
from .status import Status as Status

PoleShape: TypeAlias = tuple[ScalarVector, ...]
"""A plain chain's links in the pose through which its poses with a pole pass: along the line root-tip, toward the pole
rotated by the pole angle, and across both; root first, in units of the chain's length."""


@dataclass(frozen=True)
class Chain:
    """A tree of J joints and rigid links, E of the joints effectors. Link j ends at joint j."""

    parents: IntegerArray
    """(J,) index of each joint's parent, smaller than its own; -1 at the root, which is joint 0."""
    lengths: Array
    """(J,) length of the link that ends at each joint; 0 at the root."""
    tips: IntegerArray
    """(E,) indices of the effectors."""
    weights: Array
    """(E,) weight of each effector's residual, relative to the others, where not all targets can be reached."""
    lower: Array
    """(J, 3) smallest angles about each joint's own x, y, z axes, radians; -inf is no limit."""
    upper: Array
    """(J, 3) largest angles about each joint's own x, y, z axes, radians; +inf is no limit."""
    rest: Array
    """(J, 4) rest frame of the bone that starts at each joint, relative to its parent's."""
    inherits: NDArray[np.bool_]
    """(J,) whether the bone inherits its parent's rotation; otherwise its rest frame is in armature space."""
    stiffness: Array
    """(J, 3) stiffness about each joint's own x, y, z axes, 0 to 0.99: its steps are scaled by ``1 - stiffness``."""
    names: tuple[str, ...] = field(default=())
    """(J,) names of the bones that start at the joints, for messages; a tip without a bone has its parent's name."""
    starts: IntegerArray | None = None
    """(E,) joint at which each effector's own chain starts; None is the root for all. The effector's error is
    over the length of its own chain, and its pole is for the joints of its own chain."""
    roots: tuple[int, ...] = (0,)
    """Joints that are translated with ``Options.moves_root``: joint 0, or the children of an anchor."""
    posture_weights: Array | None = None
    """(J,) weight of each bone's rotation in a tree's posture task, of a root's also of its translation; None is what
    follows from the links that hang on each bone (``Tree.carried_lengths``)."""
    euler_orders: tuple[str, ...] = ()
    """(J,) 'XYZ', for example, of a joint whose limits are of Euler angles of that order; '' of swing and twist. None
    are given where there are none; a plain chain that has any is solved as a tree."""
    has_anchor: bool = False
    """Whether joint 0 is an anchor: the parent of several roots, with no bone, no rotation, and links that don't count
    as part of any chain."""
    pole_shape: PoleShape = ()
    """Of a plain chain of three links or more that bends toward a pole to both sides or in several planes
    (``fabrik.pole_shape``); empty where its poses with a pole are planar."""

    def __post_init__(self) -> None:
        """Refuse limits that no angle meets, numbers outside their range, and a link without length.

        The rotation of a link without length would move no joint; a body's bones may start at one place.
        """
        if len(self.lengths) < 2:
            raise FabrikError("a chain needs at least one link")
        for parent, length in zip(self.parents.tolist(), self.lengths.tolist(), strict=True):
            may_be_none = self.posture_weights is not None and length == 0.0
            if parent >= 0 and not (0.0 < length < np.inf or may_be_none):
                raise FabrikError(f"the link that starts at {self.name(parent)} has length {length:g}, not more than 0")
        # Comparisons with NaN are false: NaN is refused, too.
        is_range = (self.lower <= self.upper) & (self.lower < np.inf) & (self.upper > -np.inf)
        for joint, axis in zip(*np.nonzero(~is_range), strict=True):
            where = f"{self.name(joint)} about {'XYZ'[axis]}"
            ends = f"{self.lower[joint, axis]} and {self.upper[joint, axis]} radians"
            raise FabrikError(f"the limits of {where} are {ends}: the smallest angle must be at most the largest")
        for joint, axis in zip(*np.nonzero(~((self.stiffness >= 0.0) & (self.stiffness < 1.0))), strict=True):
            where, stiffness = f"{self.name(joint)} about {'XYZ'[axis]}", self.stiffness[joint, axis]
            raise FabrikError(f"the stiffness of {where} is {stiffness:g}: it must be at least 0 and less than 1")
        for joint, order in enumerate(self.euler_orders):
            if order and sorted(order) != ["X", "Y", "Z"]:
                raise FabrikError(f"the order of the Euler angles of {self.name(joint)} is '{order}', not X, Y and Z")
        for joint, rest in enumerate(self.rest.tolist()):
            if fault := rotation_fault(SCALAR, rest):
                raise FabrikError(f"the rest frame of {self.name(joint)} {fault}")
        for number, weight in enumerate(self.weights.tolist()):
            if not 0.0 <= weight < math.inf:
                raise self.refusal(number, "weight", f"is {weight:g}: it must be at least 0, and finite")

    @cached_property
    def is_plain(self) -> bool:
        """Whether this is a chain without branches whose only effector is its end."""
        last = len(self.lengths) - 1
        return bool(self.tips.tolist() == [last] and self.parents.tolist() == list(range(-1, last)))

    @cached_property
    def without_tip(self) -> Chain:
        """This plain chain without its last bone; its pole shape stays (``own_pole_shape``)."""
        names = ("parents", "lengths", "lower", "upper", "rest", "inherits", "stiffness", "names")
        return replace(self, tips=self.tips - 1, **{name: getattr(self, name)[:-1] for name in names})

    @cached_property
    def own_pole_shape(self) -> PoleShape:
        """The pole shape where it has as many links as this plain chain, three or more; else empty.

        A chain whose last bone takes the target's rotation has the pole shape of the chain without that bone.
        """
        return self.pole_shape if 3 <= len(self.pole_shape) == len(self.links) else ()

    @cached_property
    def start_joints(self) -> list[int]:
        """(E,) joint at which each effector's own chain starts."""
        return [0] * len(self.tips) if self.starts is None else self.starts.tolist()

    @cached_property
    def has_limits(self) -> bool:
        """Whether a bone of this plain chain has a limit or is stiff."""
        # Counting takes a quarter of the time of ``any``.
        bounds = np.isfinite(self.lower[:-1]) | np.isfinite(self.upper[:-1])
        return bool(np.count_nonzero(bounds) or np.count_nonzero(self.stiffness))

    @cached_property
    def inherits_list(self) -> list[bool]:
        """(J - 1,) whether each bone of a plain chain inherits its parent's rotation."""
        return self.inherits[:-1].tolist()

    @cached_property
    def links(self) -> list[float]:
        """(J - 1,) lengths of a plain chain's links, root first."""
        return self.lengths[1:].tolist()

    @cached_property
    def total_length(self) -> float:
        """Length of a plain chain: the sum of its links' lengths."""
        return float(self.lengths.sum())

    def name(self, joint: int) -> str:
        """Return what a joint's bone is called in messages."""
        return f"bone '{self.names[joint]}'" if self.names else f"joint {joint}"

    def refusal(self, number: int, what: str, fault: str = "is not a finite number") -> FabrikError:
        """Return the error that names what is wrong with an effector's own chain."""
        return FabrikError(f"the {what} of the chain that ends at {self.name(int(self.tips[number]))} {fault}")


@dataclass(frozen=True)
class Pose:
    """Positions of the joints and frames of the bones."""

    positions: Array
    """(..., J, 3)"""
    rotations: Array
    """(..., J, 4) frame of the bone that starts at each joint; at a tip, of the bone that ends there."""
    base: Array | None = None
    """(..., 4) rest frame of the first bone in armature space, from which its limits count; None is ``Chain.rest[0]``,
    or in a tree with a locked first bone that bone's frame."""


@dataclass(frozen=True)
class Balance:
    """The center of mass of a body and the region of the floor over which it should be, for one pose."""

    bones: IntegerArray
    """(B,) joints at which the bones with masses start."""
    masses: Array
    """(B,) share of the whole mass that moves with each of them."""
    centers: Array
    """(B, 3) center of each of these masses, from the bone's joint and in the bone's frame."""
    up: Array
    """(3,) against gravity, a unit vector."""
    support: Array
    """(P, 3) points that stay on the floor: the region is their convex hull, seen along ``up``."""
    stance: Array
    """(P, 3) points that are on the floor before: a pose whose center of mass isn't over their hull isn't standing."""
    priority: int
    """Level of the task, as those of ``Goals.priorities``."""


@dataclass(frozen=True)
class Floor:
    """Points of a body that shouldn't go below heights, for one pose."""

    bones: IntegerArray
    """(P,) joints at which the points' bones start."""
    points: Array
    """(P, 3) from the bones' joints, in the bones' frames."""
    up: Array
    """(3,) direction against gravity, a unit vector."""
    heights: Array
    """(P,) along ``up``, of the plane that is below each point."""
    priority: int
    """Level of the task, as those of ``Goals.priorities``."""


@dataclass(frozen=True)
class LookAt:
    """The head of a body and the point at which it looks, for one pose."""

    bone: int
    """Joint at which the head's bone starts."""
    eyes: Array
    """(3,) from where it looks, from the bone's joint and in the bone's frame."""
    forward: Array
    """(3,) where it looks, in the bone's frame, a unit vector."""
    left: Array
    """(3,) to its left, in the bone's frame, a unit vector perpendicular to ``forward``."""
    point: Array
    """(3,) at which it looks."""
    axes: Array
    """(3, 3) forward, left and upward for the trunk on which the neck hangs, unit vectors, as rows."""
    turning: IntegerArray
    """(K,) joints at which the bones start that turn for it: head, neck, chest, spine."""
    priority: int
    """Level of the task, as those of ``Goals.priorities``."""


@dataclass(frozen=True)
class Swivel:
    """Where the elbow of an arm points, by the direction of the hand."""

    joints: tuple[int, int, int]
    """Shoulder, elbow and wrist."""
    bone: int
    """Joint at which the bone of the chest starts."""
    model: Array
    """(4, 3) in the frame of that bone: a and the columns of B, of the elbow's direction ``a + B n``."""


@dataclass(frozen=True)
class Goals:
    """Desired positions, rotations and poles of the effectors."""

    targets: Array
    """(..., E, 3)"""
    rotations: Array | None = None
    """(..., E, 4) desired frames of the bones that end at the effectors; None is none."""
    poles: Array | None = None
    """(..., E, 3) points toward which the effectors' chains bend; None is none."""
    pole_angles: Array | None = None
    """(E,) rotation of each pole about the line from the root to the target, radians; None is 0."""
    pole_shapes: tuple[PoleShape, ...] | None = None
    """Of a tree, the pole shape of each effector's own chain, empty where it has none; None is empty for all."""
    pole_joints: IntegerArray | None = None
    """(E,) number, on the way of each effector's own chain, of the one joint that should bend toward its pole about the
    line through its neighbours; 0 for all inner joints together. None is 0 for all."""
    with_rotations: NDArray[np.bool_] | None = None
    """(E,) which effectors have a desired rotation, where ``rotations`` is given; None is all."""
    rotation_axes: Array | None = None
    """(E, 3) in the frame of each bone with a desired rotation the axis that alone should be where the rotation brings
    it, a unit vector; 0 for the whole rotation. None is 0 for all."""
    rotation_bounds: Array | None = None
    """(E,) angle (radians) from which on the cost of each desired rotation grows in proportion to the angle, and not to
    its square; None is infinite for all."""
    with_poles: NDArray[np.bool_] | None = None
    """(E,) which effectors have a pole, where ``poles`` is given; None is all."""
    softness: Array | None = None
    """(E,) softness of each effector of a tree, as ``Options.softness`` is of a chain; None is 0."""
    pinned: NDArray[np.bool_] | None = None
    """(E,) effectors whose targets have priority where not all targets can be reached; None is none."""
    with_positions: NDArray[np.bool_] | None = None
    """(E,) which effectors have a target; the others have a rotation alone. None is all."""
    priorities: IntegerArray | None = None
    """(E,) level of each effector's position task in a tree, the smallest first. The rotation of a pinned effector is
    on the same level, that of another one on the next; poles don't count. None is the order pins, targets, poles and
    rotations."""
    slack: Array | None = None
    """(E,) distance from its target within which each effector of a tree may be anywhere; None is 0."""
    meets: IntegerArray | None = None
    """(E,) joint that each effector has to meet instead of its target, -1 for none: effector and joint approach each
    other, in inverse proportion to their weights. None is none for all."""
    balance: Balance | None = None
    """Of a body, with ``priorities``; None leaves the center of mass free."""
    floor: Floor | None = None
    """Of a body, with ``priorities``; None lets all points go anywhere."""
    look_at: LookAt | None = None
    """Of a body, with ``priorities``; None lets the head turn anywhere."""
    swivels: tuple[Swivel, ...] = ()
    """Of a body's arms, with ``priorities``; below all targets, beside the posture task."""


@dataclass(frozen=True)
class Options:
    """Method, bounds and tolerance of a solve."""

    iterations: int = 64
    """Largest number of iterations."""
    tolerance: float = 1e-4
    """Largest error of a reached target: distance from tip to target over the chain's length."""
    softness: float = 0.0
    """Share of the chain's length over which it eases into full extension, 0 to 1 (``goals.softness``)."""
    moves_root: bool = False
    """Whether the root is translated where a target can't be reached: a chain's by the vector from tip to target, a
    tree's as least squares give it."""
    solver: str = "FABRIK"
    """Name of the solver, one of ``solvers.table.SOLVERS``."""
    stretch_max: float = 1.0
    """Largest factor by which all links are lengthened where the tip can't reach its target otherwise; 1 is rigid."""
    most_turn: float = math.inf
    """Most that a bone of a body rotates, radians: from the solution of the frame before, or from the pose at hand."""
    most_turn_beyond: float = math.inf
    """``most_turn`` where a target of a body with balance is beyond reach."""
    is_move: bool = False
    """Whether a body is solved for a move of a drag, whose next move goes on from there: a few steps do."""
    continues: bool = False
    """Whether a body's goals are those of the frame before, so that the descent goes on from where that one ended."""
    is_back: bool = False
    """Whether a body comes back to the pose at hand, whatever its goals, as far as ``most_turn`` lets it."""

    def __post_init__(self) -> None:
        """Refuse values with which nothing can be solved."""
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
    """Result of a solve: the pose, and how near it is to the goals."""

    pose: Pose
    error: Array
    """(..., E) distance from tip to target over the chain's length."""
    iterations: IntegerArray
    """(..., E) iterations used."""
    status: IntegerArray
    """(..., E) values of :class:`Status`."""
    stretch: Array
    """(..., 1) factor by which the pose's links are longer than the chain's, 1 to ``Options.stretch_max``."""


def plain_chain(
    lengths: Array | list[float],
    names: tuple[str, ...] = (),
    rest: Array | None = None,
    inherits: NDArray[np.bool_] | None = None,
    limits: tuple[Array, Array] | None = None,
    stiffness: Array | None = None,
) -> Chain:
    """Return the plain chain of links that follow each other, with one effector at the end.

    Args:
        lengths: (J - 1,) of the links, root first.
        names: (J - 1,) of the bones.
        rest: (J, 4) rest frames; None is the identity for all: the bones lie in one line.
        inherits: (J,) whether each bone inherits its parent's rotation; None is all.
        limits: (J, 3) smallest and largest angles about the bones' own axes, radians; None is no limits.
        stiffness: (J, 3) about the bones' own axes, 0 to 0.99; None is 0.
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
