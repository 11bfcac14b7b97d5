# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: which bones a native rig scales so that a chain's links lengthen and nothing else does.

Blender hands a bone's stretch down as ``bones.bone_stretch`` says. So the first bone is scaled along Y, the others take
that over, and what hangs on the chain takes it back. Each bone's scale is multiplied by powers of one factor, whatever
its own channels say.
"""

from __future__ import annotations

from dataclasses import dataclass

from bpy.types import PoseBone

from ...core import FabrikError
from ..bones.bone_stretch import ALIGNED, NOTHING, SKEWING
from ..rig.chain_bones import ChainBones

Powers = tuple[float, float, float]
"""Of the factor, for each axis of a bone."""

_SAME = 1e-5


@dataclass(frozen=True)
class StretchedBones:
    """The bones that a native rig scales for a chain's stretch, and those that would be skewed by it."""

    now: float
    """Factor by which the bones' channels lengthen them already."""
    scaled: tuple[tuple[PoseBone, Powers], ...]
    """The bones whose scale is multiplied."""
    hanging: tuple[PoseBone, ...]
    """The bones that hang on a bone of the chain, and would be skewed unless their Inherit Scale is Aligned."""


def read_stretched_bones(bones: ChainBones) -> StretchedBones | None:
    """Return the bones that a native rig scales for a chain's stretch; None where the chain doesn't stretch.

    Raises:
        FabrikError: the chain can be stretched, but not by a native rig.
    """
    stretch = bones.stretch
    if stretch is None:
        return None
    if 0 not in bones.free:
        raise FabrikError(
            f"the rotation of its first bone '{bones.bones[0].name}' is locked: a native rig can't stretch it"
        )
    for bone, link in zip(bones.bones, bones.links, strict=False):
        if not link.is_straight:
            raise FabrikError(
                f"bone '{bone.name}' doesn't lie along its link: a native rig can't stretch it, bake instead"
            )
    if abs(stretch.above - 1.0) > _SAME:
        raise FabrikError(
            f"it hangs on bone '{bones.bones[0].parent.name}', which is stretched: a native rig can't carry that"
        )
    first, *others = stretch.factors
    for bone, factor in zip(bones.bones[1:], others, strict=True):
        if abs(factor - first) > _SAME * first:
            raise FabrikError(
                f"bone '{bone.name}' isn't stretched as far as '{bones.bones[0].name}': a native rig stretches a "
                "chain's bones evenly, so make their Y scales alike"
            )
    scaled = [(bones.bones[0], (0.0, 1.0, 0.0))]
    scaled += [(bone, _powers(bone, 1.0)) for bone in bones.bones[1:]]
    scaled += [(child, _powers(child, 0.0)) for _, child in stretch.children]
    hanging = (*bones.bones[1:], *(child for _, child in stretch.children))
    return StretchedBones(
        now=first,
        scaled=tuple((bone, powers) for bone, powers in scaled if any(powers)),
        hanging=hanging,
    )


def powers_of(stretched: StretchedBones) -> list[Powers]:
    """Return the powers there are, each once."""
    return list(dict.fromkeys(powers for _, powers in stretched.scaled))


def _powers(bone: PoseBone, desired: float) -> Powers:
    """Return what a bone's own scale is multiplied by for its stretch to be a power of its parent's."""
    mode = bone.bone.inherit_scale
    if mode in NOTHING:
        return 0.0, desired, 0.0
    if mode == 'AVERAGE':
        return -1.0 / 3.0, desired - 1.0 / 3.0, -1.0 / 3.0
    assert mode == ALIGNED or mode in SKEWING  # which becomes Aligned
    return 0.0, desired - 1.0, 0.0
