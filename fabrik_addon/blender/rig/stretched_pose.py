# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The joints of a chain whose bones are stretched. Computes on what was read.

Link ``i`` is ``a_i + k_i b_i``, with ``b_i`` what the bone's Y scale ``k_i`` lengthens and ``a_i`` what it doesn't
(``bone_stretch.Link``). Where ``a_i`` isn't 0 stretch rotates the link as well as lengthening it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from mathutils import Vector

from ...core import Array, Chain, Pose, start_from
from ...core.math.operations import SCALAR
from ...core.model.frame_transport import aim_frame
from .chain_bones import ChainBones


def stretched_positions(bones: ChainBones, root: Array, factors: Sequence[float]) -> Array:
    """Return a chain's joints (J, 3) in its present pose for stretch factors ``k_i`` of its bones."""
    point = Vector(root.tolist())
    heads = [point.copy()]
    for link, factor in zip(bones.links, factors, strict=True):
        point = point + link.aside + factor * link.along
        heads.append(point)
    return np.array([heads[i][:] for i in (*bones.free, -1)])


def aimed_at_shown_links(bones: ChainBones, chain: Chain, pose: Pose) -> Pose | None:
    """Return a chain's pose with links of their own lengths that point where the stretched links do.

    None where stretch rotates no link. A solve that stretches bones rotates them back by as much as stretch rotates
    their links; a solve that started from the links of the bones' frames would next time bend in another plane.
    """
    stretch = bones.stretch
    if stretch is None or not stretch.is_stretched or all(link.is_straight for link in bones.links):
        return None
    start = start_from(chain, pose)
    stretched = stretched_positions(bones, pose.positions[0], stretch.factors)
    links = np.diff(stretched, axis=0)
    links *= (chain.lengths[1:] / np.linalg.norm(links, axis=1))[:, None]
    positions = stretched[0] + np.vstack([np.zeros(3), np.cumsum(links, axis=0)])
    frames = [
        aim_frame(SCALAR, frame, frame, link, ends, axis)
        for frame, link, ends, axis in zip(
            start.frames, start.links, pairwise(positions.tolist()), start.x_axes, strict=False
        )
    ]
    return Pose(positions, np.array([*frames, frames[-1]]), pose.base)
