# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain's joint limits, for nodes: every bone is a ball joint, a hinge, or two hinges in one place. Computes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mathutils import Quaternion, Vector

from ...core import FabrikError
from ...core.model.joint_limits import JointLimits, hinge_axis


@dataclass(frozen=True)
class Hinge:
    """A joint with one axis, in the bone's own frame."""

    bone: int
    axis: int
    lower: float
    upper: float
    """Radians; infinite where it is free."""
    rest: Quaternion
    """In the frame of the joint before it."""
    link: Vector
    """To the next joint, over the chain's length; none to another hinge of the same bone."""


@dataclass(frozen=True)
class Ball:
    """A joint with three axes, within its limits."""

    bone: int
    limits: JointLimits
    rest: Quaternion
    link: Vector


Joints: TypeAlias = tuple[Hinge | Ball, ...]
"""A chain's joints with limits, root first; the hinges of one bone follow each other."""


def constrained_joints_of(
    limits: Sequence[JointLimits], rests: Sequence[Quaternion], links: Sequence[Vector], names: Sequence[str]
) -> Joints | None:
    """Return a chain's limits; None where no joint has any.

    Args:
        limits: of the bones, root first.
        rests: frames of the bones, each in that of the bone before.
        links: in the frames of their bones, over the chain's length.
        names: of the bones.

    Raises:
        FabrikError: limits that the nodes can't represent.
    """
    if all(each.is_free for each in limits):
        return None
    joints: list[Hinge | Ball] = []
    for number, (each, rest, link, name) in enumerate(zip(limits, rests, links, names, strict=True)):
        _check(each, name)
        joints += _joints(number, each, rest, link)
    return tuple(joints)


def _check(limits: JointLimits, name: str) -> None:
    lower, upper = limits.lower[1], limits.upper[1]
    if math.isfinite(upper - lower) and max(-lower, upper) > math.pi + 1e-6:
        raise FabrikError(f"the twist of bone '{name}' may go beyond half a turn: a native rig can't keep to that")
    if limits.reaches_half_turn and any(
        low > 0.0 or high < 0.0 for low, high in zip(limits.lower, limits.upper, strict=True)
    ):
        raise FabrikError(
            f"limits of bone '{name}' go beyond half a turn and leave out rest: a native rig can't do that"
        )


def _joints(number: int, limits: JointLimits, rest: Quaternion, link: Vector) -> list[Hinge | Ball]:
    axis = hinge_axis(limits)
    if axis is not None:
        return [_hinge(number, axis, limits, rest, link)]
    axis = _swing_axis(limits)
    if axis is None:
        return [Ball(number, limits, rest, link)]
    # A swing about one axis after a twist.
    return [
        _hinge(number, axis, limits, rest, Vector()),
        _hinge(number, 1, limits, Quaternion(), link),
    ]


def _swing_axis(limits: JointLimits) -> int | None:
    """Return the only axis about which a bone that may twist swings, or None."""
    at_rest = [limits.locked[axis] and limits.lower[axis] == 0.0 for axis in (0, 2)]
    if at_rest[0] == at_rest[1] or limits.locked[1]:
        return None
    return 2 if at_rest[0] else 0


def _hinge(number: int, axis: int, limits: JointLimits, rest: Quaternion, link: Vector) -> Hinge:
    lower, upper = limits.lower[axis], limits.upper[axis]
    if axis != 1:
        lower, upper = 2.0 * math.asin(lower), 2.0 * math.asin(upper)
    return Hinge(number, axis, lower, upper, rest, link)
