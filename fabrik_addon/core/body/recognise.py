# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""From bone names, parents and rest positions to the parts of a body."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..math.operations import Array
from .bone_names import NameReading, read_names
from .part import OpenRole, Part, Recognition, Role, Side
from .rest_skeleton import RestSkeleton, read_skeleton

LEAST_CONFIDENCE = 0.5
"""A part that is less sure is left open."""


def recognise(
    names: Sequence[str],
    parents: Sequence[int],
    heads: ArrayLike,
    tails: ArrayLike,
    usable: Sequence[bool] | None = None,
) -> Recognition:
    """Return the parts of a body.

    Args:
        names: (B,) bone names.
        parents: (B,) index of each bone's parent, -1 for none.
        heads: (B, 3) rest positions of the heads, in any unit and with any axis up.
        tails: (B, 3) rest positions of the tails.
        usable: (B,) whether each bone may take part, the bones that can be posed for example; None is all.

    Raises:
        FabrikError: the input is not a skeleton; see ``read_skeleton``.
    """
    skeleton = read_skeleton(names, parents, heads, tails, usable)
    readings, _convention = read_names(skeleton.names)
    roles = _roles_by_name(skeleton, readings)
    up, forward = _directions(skeleton, readings, roles)
    parts, opened = [], []
    for place in _in_order(skeleton):
        if place not in roles:
            continue
        reading, role = readings[place], roles[place]
        confidence = reading.weight * 0.8
        if confidence < LEAST_CONFIDENCE:
            opened.append(OpenRole(role, reading.side or Side.CENTER, f"{skeleton.names[place]}: its name is unsure"))
        else:
            parts.append(Part(role, reading.side or Side.CENTER, 0, skeleton.bones[place], confidence))
    return Recognition(tuple(parts), tuple(opened), "human", up, forward)


def _in_order(skeleton: RestSkeleton) -> list[int]:
    """Return the bones depth first, so that those of a limb follow each other."""
    stack, order = [place for place, parent in enumerate(skeleton.parents) if parent < 0][::-1], []
    while stack:
        order.append(stack.pop())
        stack.extend(reversed(skeleton.children[order[-1]]))
    return order


def _roles_by_name(skeleton: RestSkeleton, readings: list[NameReading]) -> dict[int, Role]:
    """Return the role of each bone whose name tells it, that of the spine's by where the limbs start."""
    roles = {
        place: next(iter(each.roles)) for place, each in enumerate(readings) if len(each.roles) == 1 and not each.twist
    }
    limbs = {
        kind: [p for p, role in roles.items() if role in kind]
        for kind in ((Role.THIGH,), (Role.CLAVICLE, Role.UPPER_ARM))
    }
    hips, chest = (skeleton.common_ancestor(line) if len(line) > 1 else -1 for line in limbs.values())
    between = set(skeleton.path(hips, chest)) if hips >= 0 and chest >= 0 else set()
    for place, each in enumerate(readings):
        if len(each.roles) < 2 or Role.SPINE not in each.roles:
            continue
        role = Role.SPINE
        if place == chest:
            role = Role.CHEST
        elif place == hips:
            role = Role.HIPS
        elif place not in between and chest >= 0 and chest in skeleton.ancestors(place):
            last = not any(len(readings[child].roles) > 1 for child in skeleton.children[place])
            role = Role.HEAD if last else Role.NECK
        elif place not in between and hips >= 0:
            role = Role.TAIL
        if role in each.roles:
            roles[place] = role
    return roles


def _directions(skeleton: RestSkeleton, readings: list[NameReading], roles: dict[int, Role]) -> tuple[Array, Array]:
    """Return up and forward: up from the feet to the head, forward with the left side at ``up x forward``."""
    centre = skeleton.heads.mean(axis=0)
    above = [skeleton.heads[p] for p, role in roles.items() if role in (Role.HEAD, Role.NECK)] or [centre]
    below = [skeleton.heads[p] for p, role in roles.items() if role is Role.FOOT] or [centre]
    up = _nearest_axis(np.mean(above, axis=0) - np.mean(below, axis=0), np.array([0.0, 0.0, 1.0]))
    left = [skeleton.heads[p] for p in roles if readings[p].side is Side.LEFT] or [centre]
    right = [skeleton.heads[p] for p in roles if readings[p].side is Side.RIGHT] or [centre]
    across = np.mean(left, axis=0) - np.mean(right, axis=0)
    forward = np.cross(across, up)
    length = float(np.linalg.norm(forward))
    return up, forward / length if length > 0.0 else np.roll(up, 1)


def _nearest_axis(direction: Array, otherwise: Array) -> Array:
    """Return the axis, with its sign, that is nearest to a direction."""
    if not np.abs(direction).max() > 0.0:
        return otherwise
    axis = np.zeros(3)
    most = int(np.abs(direction).argmax())
    axis[most] = np.sign(direction[most])
    return axis
