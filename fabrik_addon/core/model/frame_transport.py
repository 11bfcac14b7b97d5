# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Frame transport: the bones' frames after their joints have moved, without twist.

From the root to the tip, with ``R(a, b)`` the shortest rotation from direction a to b (``from_to``), l_i and l'_i the
link of bone i before and after, d_i the rotation of bone i in armature space, and d_0 that of the bend plane, if any:

    d_i = R(d_(i-1) l_i, l'_i) d_(i-1)        frame after = d_i (frame before)

So each bone takes the rotation of its parent and in addition only what its own link needs: it doesn't twist about it. A
bone that doesn't inherit its parent's rotation takes ``R(l_i, l'_i)``.
"""

from collections.abc import Sequence

from ..math.operations import Operations, Vector
from ..math.quaternions import Quaternion, conjugate, from_to, multiply, rotate
from ..math.vectors import subtract


def transport_frames(
    ops: Operations,
    links: Sequence[Vector],
    joints: Sequence[Vector],
    frames: Sequence[Quaternion],
    hints: Sequence[Vector],
    inherits: Sequence[bool],
    rotation: Quaternion | None,
) -> list[Quaternion]:
    """Return the bones' frames after their joints have moved.

    Args:
        links: l_i, vectors from each joint to the next before.
        joints: joints after, root first: one more than bones.
        frames: of the bones before, in the space of the links.
        hints: axes of rotations by 180 degrees, where a link reverses its direction.
        inherits: whether each bone inherits its parent's rotation.
        rotation: d_0, rotation of the bend plane; None is none.
    """
    transported = []
    delta = rotation
    ax, ay, az = joints[0]
    for link, (bx, by, bz), frame, hint, inherit in zip(links, joints[1:], frames, hints, inherits, strict=False):
        delta = transport_rotation(ops, delta if inherit else None, link, (bx - ax, by - ay, bz - az), hint)
        transported.append(multiply(delta, frame))
        ax, ay, az = bx, by, bz
    return transported


def transport_rotation(
    ops: Operations, parent_rotation: Quaternion | None, link: Vector, desired: Vector, hint: Vector
) -> Quaternion:
    """Return d_i: ``R(d_(i-1) l_i, l'_i) d_(i-1)``, or ``R(l_i, l'_i)`` without a rotation of the parent to take."""
    if parent_rotation is None:
        return from_to(ops, link, desired, hint)
    return multiply(from_to(ops, rotate(parent_rotation, link), desired, hint), parent_rotation)


def aim_frame(
    ops: Operations, before: Quaternion, frame: Quaternion, link: Vector, ends: tuple[Vector, Vector], hint: Vector
) -> Quaternion:
    """Return a bone's frame after the shortest further rotation that points its link from one joint to the next.

    ``R(f b^-1 l, l') f``: for frames that were already rotated, by an influence or by limits, and no longer fit the
    joints.

    Args:
        before: b, the bone's frame in another pose.
        frame: f, the bone's frame now.
        link: l, vector of its link in the other pose.
        ends: the joints from which and to which the link l' has to point now.
        hint: axis of a rotation by 180 degrees, where the link reverses its direction.
    """
    direction = rotate(frame, rotate(conjugate(before), link))
    return multiply(from_to(ops, direction, subtract(ends[1], ends[0]), hint), frame)
