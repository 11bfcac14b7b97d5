# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: bones that start at the same joint. Only one of them rotates; a link between them would have no length."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from .bone_limits import limits_of

if TYPE_CHECKING:
    from bpy.types import PoseBone

_SHARED_DISTANCE = 1e-6
"""Distance of two heads, over the bones' lengths and their distance from the origin, that is rounding."""


def one_bone_per_joint(bones: Sequence[PoseBone], limited: AbstractSet[str]) -> list[PoseBone]:
    """Return bones without those that start where another one of them does.

    It is the upper bone that rotates, so that its other children come along, unless its limits leave it no axis or the
    lower bone doesn't rotate with it.

    Args:
        bones: that can rotate, parents first.
        limited: names of the bones whose limits count.
    """
    kept: dict[str, PoseBone] = {}
    for bone in bones:
        above = bone.parent
        while above is not None and above.name not in kept:
            above = above.parent
        if above is not None and share_joint(above, bone):
            if _rotates_with(bone, above) and _can_rotate(above, above.name in limited):
                continue
            del kept[above.name]
        kept[bone.name] = bone
    return list(kept.values())


def share_joint(bone: PoseBone, other: PoseBone) -> bool:
    """Tell whether two bones start at the same point, at rest and in the pose."""
    rest, other_rest = bone.bone, other.bone
    head = rest.head_local
    scale = max(rest.length + other_rest.length, head.length)
    # At rest too: a scale of 0 brings heads together that are not one joint.
    if (head - other_rest.head_local).length > _SHARED_DISTANCE * scale:
        return False
    return (bone.head - other.head).length <= _SHARED_DISTANCE * max(scale, bone.head.length)


def _rotates_with(bone: PoseBone, above: PoseBone) -> bool:
    """Tell whether a bone takes over the rotation of one of its parents."""
    link: PoseBone | None = bone
    while link is not None and link != above:
        if not link.bone.use_inherit_rotation:
            return False
        link = link.parent
    return link is not None


def _can_rotate(bone: PoseBone, is_limited: bool) -> bool:
    """Tell whether a bone's limits leave it any axis to rotate about."""
    return not is_limited or any(low < high for low, high in zip(*limits_of(bone), strict=True))
