# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the joints that a solver found to the bones' own rotations. Computes on what was read, in mathutils.

1. Frames: each bone takes its parent's rotation and, on top of it, the shortest rotation from where its link then
   points to where the link should point, ``D_j = FromTo(D_p l_j, p_{j+1} - p_j) D_p`` and ``F'_j = D_j F_j``. The
   core's ``transport_frames`` is the same in double precision.
2. Local rotations: ``q'_j = q_j (F_j^-1 F_p) (F'_p^-1 F'_j)``, each in the bone's parent frame.

mathutils computes both for one pose: single precision, as all that Blender stores of a pose. The frames of a bake are
(F, 4) arrays, and local rotations of theirs are the same function with another product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import matmul
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, cast

from mathutils import Quaternion, Vector

from ...core import Array, StartPose
from ...core.math.operations import SCALAR, Operations
from ...core.math.quaternions import ScalarQuaternion, from_to
from ...core.math.vectors import dot

if TYPE_CHECKING:
    from ...core.math.operations import Vector as Components3
    from ...core.math.quaternions import Quaternion as Components4

Rotation = TypeVar("Rotation", Quaternion, Array)
"""A mathutils quaternion (one pose) or an array (F, 4) (F poses)."""

_OPPOSITE_COSINE = -0.999999
"""Cosine below which two directions count as opposite: in single precision they have no axis in common, and the core's
``from_to`` takes a given one."""


class ParentFrame(NamedTuple, Generic[Rotation]):
    """The frame in which a bone's own rotation is."""

    parent: int
    """Index of the bone with which it rotates; -1 where it keeps to armature space."""
    offset: Rotation
    """``q_j F_j^-1 F_p``, or ``q_j F_j^-1`` where there is no such bone."""


def parent_frames(
    parents: Sequence[int],
    frames: Sequence[Rotation],
    rotations: Sequence[Rotation],
    multiply: Callable[[Rotation, Rotation], Rotation],
    conjugate: Callable[[Rotation], Rotation],
) -> list[ParentFrame[Rotation]]:
    """Return the frames in which bones' own rotations are, from any one pose.

    Args:
        parents: index of the bone with which each one rotates, or -1.
        frames: ``F_j`` of the bones in armature space.
        rotations: ``q_j``, their own in the same pose.
        multiply: product of two rotations.
        conjugate: inverse of a rotation.
    """
    found = []
    for parent, frame, rotation in zip(parents, frames, rotations, strict=True):
        offset = multiply(rotation, conjugate(frame))
        found.append(ParentFrame(parent, offset if parent < 0 else multiply(offset, frames[parent])))
    return found


def local_rotations(
    parents: Sequence[ParentFrame[Rotation]],
    frames: Sequence[Rotation],
    multiply: Callable[[Rotation, Rotation], Rotation],
    conjugate: Callable[[Rotation], Rotation],
) -> list[Rotation]:
    """Return bones' own rotations for frames in armature space; the arguments are those of ``parent_frames``."""
    return [
        multiply(offset, frame if parent < 0 else multiply(conjugate(frames[parent]), frame))
        for (parent, offset), frame in zip(parents, frames, strict=True)
    ]


def _quaternions(frames: Sequence[Components4]) -> list[Quaternion]:
    """Return frames of one pose as mathutils has them: those of ``transport_in_blender`` are mathutils' already."""
    if isinstance(frames[0], Quaternion):
        return cast("list[Quaternion]", frames)
    return [Quaternion(frame) for frame in cast("list[ScalarQuaternion]", frames)]


def bone_parent_frames(
    parents: Sequence[int], frames: Sequence[Components4], rotations: Sequence[Quaternion]
) -> list[ParentFrame[Quaternion]]:
    """Return ``parent_frames`` of one pose; frames of ends, which come after the bones', are left out."""
    return parent_frames(parents, _quaternions(frames[: len(parents)]), rotations, matmul, Quaternion.conjugated)


def bone_rotations(parents: Sequence[ParentFrame[Quaternion]], frames: Sequence[Components4]) -> list[Quaternion]:
    """Return ``local_rotations`` of one pose; frames of ends are left out."""
    return local_rotations(parents, _quaternions(frames[: len(parents)]), matmul, Quaternion.conjugated)


def transport_in_blender(start: StartPose) -> StartPose:
    """Return the start of one pose whose frames are transported by mathutils: in a quarter of the core's time.

    What single precision loses on one link doesn't add up along the chain, because every link is compared with where
    it should point. A start with joint limits is returned as it is: its frames are solved for, not transported.
    """
    if start.constrained_chain is not None:
        return start
    bones = [
        (
            Vector(link),
            _OPPOSITE_COSINE * cast(float, dot(link, link)),
            Quaternion(frame),
            axis,
            inherits,
        )
        for link, frame, axis, inherits in zip(
            cast("Sequence[tuple[float, float, float]]", start.links),
            cast("Sequence[ScalarQuaternion]", start.frames),
            start.x_axes,
            start.chain.inherits_list,
            strict=False,
        )
    ]

    def transport(
        _ops: Operations, _start: StartPose, points: Sequence[Components3], rotation: Components4 | None
    ) -> list[Components4]:
        delta = None if rotation is None else Quaternion(cast(ScalarQuaternion, rotation))
        frames = []
        (ax, ay, az), *after = cast("Sequence[tuple[float, float, float]]", points)
        # Called at every move of a drag, where a strict zip of three bones takes 0.3 us more.
        for (link, opposite, frame, axis, inherits), (bx, by, bz) in zip(bones, after):  # noqa: B905
            desired = Vector((bx - ax, by - ay, bz - az))
            before = delta if inherits else None
            now = link if before is None else before @ link
            if now.dot(desired) > opposite:
                delta = now.rotation_difference(desired)
            else:
                half_turn = from_to(SCALAR, (now.x, now.y, now.z), (desired.x, desired.y, desired.z), axis)
                delta = Quaternion(cast(ScalarQuaternion, half_turn))
            if before is not None:
                delta = delta @ before
            frames.append(delta @ frame)
            ax, ay, az = bx, by, bz
        # A mathutils quaternion is unpacked and indexed as the tuple is.
        return cast("list[Components4]", frames)

    return replace(start, transport=transport)
