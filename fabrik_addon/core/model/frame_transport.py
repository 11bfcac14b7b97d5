# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""From joints to bone rotations: FromTo deltas down the chain."""

from __future__ import annotations

from collections.abc import Sequence

from ..math.operations import Operations, Vector
from ..math.quaternions import Quaternion, from_to, multiply, rotate


def transport_frames(
    ops: Operations,
    links: Sequence[Vector],
    joints: Sequence[Vector],
    frames: Sequence[Quaternion],
    hints: Sequence[Vector],
    inherits: Sequence[bool],
    start: Quaternion | None,
) -> list[Quaternion]:
    """Return the bones' frames after their links have turned.

    Each bone takes its parent's turn and on top of it the shortest one from where its link then points to where it
    should point. So nothing twists, and a bone whose link didn't turn keeps its frame.

    Args:
        ops: the lanes' operations.
        links: before, from each joint to the next.
        joints: after, root first.
        frames: of the bones before.
        hints: axes of half turns, where a link is to point the opposite way.
        inherits: whether each bone takes its parent's turn.
        start: turn of the whole chain before the links' own: that of the bend plane where there is a pole.
    """
    turned = []
    delta = start
    ax, ay, az = joints[0]
    for link, (bx, by, bz), frame, hint, inherit in zip(links, joints[1:], frames, hints, inherits, strict=False):
        desired = (bx - ax, by - ay, bz - az)
        if delta is None or not inherit:
            delta = from_to(ops, link, desired, hint)
        else:
            delta = multiply(from_to(ops, rotate(delta, link), desired, hint), delta)
        turned.append(multiply(delta, frame))
        ax, ay, az = bx, by, bz
    return turned


def aim_frame(
    ops: Operations, before: Quaternion, frame: Quaternion, link: Vector, ends: tuple[Vector, Vector], hint: Vector
) -> Quaternion:
    """Return a bone's frame turned on, as little as need be, so that its link points from one joint to the next.

    Args:
        ops: the lanes' operations.
        before: the bone's frame in a pose where its link is known.
        frame: the bone's frame now.
        link: where its link points in that pose.
        ends: the joints that it should point from and to now.
        hint: axis of a half turn.
    """
    w, x, y, z = before
    (ax, ay, az), (bx, by, bz) = ends
    points = rotate(frame, rotate((w, -x, -y, -z), link))
    return multiply(from_to(ops, points, (bx - ax, by - ay, bz - az), hint), frame)
