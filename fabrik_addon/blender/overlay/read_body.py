# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: what the overlay draws of an armature's body: parts, places of doubt, handles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...core import Array
from ...core.body.part import LEAST_CONFIDENCE, Role
from ...core.math.operations import IntegerArray
from ..rig.body_properties import body_of
from .read_overlay import read_ends, transformed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bpy.types import Object

_LINES = (
    (Role.HIPS, Role.SPINE, Role.CHEST, Role.NECK, Role.HEAD),
    (Role.CHEST, Role.CLAVICLE, Role.UPPER_ARM, Role.FOREARM, Role.HAND, Role.FINGER),
    (Role.HIPS, Role.THIGH, Role.SHIN, Role.FOOT, Role.TOE),
)
"""Roles that follow each other: a part that was left open is marked at the next one that was found."""

PartSettings = tuple[tuple[str, str, str, float], ...]
"""Role, side, bone and confidence of each part."""

HandleSettings = tuple[tuple[str, bool, bool, bool], ...]
"""Bone of each handle, whether at its tail, whether it keeps its place, whether it is pinned."""


@dataclass(frozen=True)
class BodyView:
    """The P parts with a bone, D doubtful places and H handles of a body."""

    roles: tuple[str, ...]
    """(P,)"""
    bones: IntegerArray
    """(P,) indices of the parts' bones in the armature."""
    doubts: IntegerArray
    """(D,) points to mark, as indices into the armature's bone heads followed by its bone tails."""
    handles: IntegerArray
    """(H,) points of the handles, as ``doubts``."""
    states: tuple[str, ...]
    """(H,) how each handle is drawn: 'pinned', 'held' or 'free'."""


def read_body_settings(armature: Object) -> tuple[PartSettings, HandleSettings]:
    """Return the settings that decide what is drawn of a body."""
    body = body_of(armature)
    return (
        tuple((part.role, part.side, part.bone, part.confidence) for part in body.parts),
        tuple((one.bone, one.use_tail, one.use_position, one.use_pin) for one in body.handles),
    )


def read_body(armature: Object, parts: PartSettings, handles: HandleSettings) -> BodyView:
    """Return what is drawn of a body; parts and handles whose bones are gone are left out."""
    names = {bone.name: number for number, bone in enumerate(armature.pose.bones)}
    found = [(role, names[bone]) for role, _, bone, _ in parts if bone in names]
    doubts = [names[bone] for _, _, bone, confidence in parts if bone in names and confidence < LEAST_CONFIDENCE]
    doubts += [
        place
        for role, side, bone, _ in parts
        if not bone and (place := _neighbour(role, side, parts, names)) is not None
    ]
    shown = [handle for handle in handles if handle[0] in names]
    return BodyView(
        roles=tuple(role for role, _ in found),
        bones=np.array([number for _, number in found], int),
        doubts=np.array(doubts, int),
        handles=np.array([names[bone] + len(names) * use_tail for bone, use_tail, _, _ in shown], int),
        states=tuple('pinned' if pin else 'held' if held else 'free' for _, _, held, pin in shown),
    )


def _neighbour(role: str, side: str, parts: PartSettings, names: Mapping[str, int]) -> int | None:
    """Return the bone of the part nearest to one that was left open, the next one outward first."""
    for line in _LINES:
        if role not in line:
            continue
        place = [*line].index(Role(role))
        for other in (*line[place + 1 :], *line[:place][::-1]):
            for found, its_side, bone, _ in parts:
                if found == other and bone in names and its_side in {side, 'CENTER'}:
                    return names[bone]
    return None


def read_world_ends(armature: Object) -> Array:
    """Read the heads and then the tails (2 B, 3) of an armature's bones, world space."""
    return transformed(read_ends(armature), np.array(armature.matrix_world))


def read_gaze(armature: Object) -> Array:
    """Read from where the head of a body looks and at what (2, 3), world space; (0, 3) where it looks at nothing."""
    body = body_of(armature)
    bones = armature.pose.bones
    head = next((part.bone for part in body.parts if part.role == Role.HEAD and part.bone in bones), None)
    if not body.use_look_at or head is None:
        return np.empty((0, 3))
    start = armature.matrix_world @ bones[head].head.lerp(bones[head].tail, 0.5)
    target = body.look_target
    return np.array([start[:], body.look_location[:] if target is None else target.matrix_world.translation[:]])
