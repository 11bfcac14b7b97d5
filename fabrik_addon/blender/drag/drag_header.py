# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text in the header of the viewport during a drag: the dragged chain, in the scene's units."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mathutils import Vector

from ..rig.properties import STATUS_NAMES
from ..rig.wording import counted, length_text
from ..translation.messages import in_interface

if TYPE_CHECKING:
    from bpy.types import UnitSettings
    from mathutils import Quaternion

    from .base_drag import BaseDrag
    from .body_turn import BodyTurn
    from .mouse_to_world import DragPointer
    from .turn_pointer import TurnPointer

_REACHED_ANGLE = 0.1
"""Angle from the desired rotation, in degrees, below which a turn counts as reached."""

_ROUNDING = 5e-7
"""Difference of two positions, over their distance from the world's origin, that may come from single precision."""


def waiting_text(session: BaseDrag) -> str:
    """Return what to do to begin a drag that a button started."""
    return in_interface(f"Drag in the viewport to move {_point(session)}")


def header_text(session: BaseDrag, pointer: DragPointer, units: UnitSettings, key_error: str = "") -> str:
    """Return the dragged point, the distance from its start, the status, and how many other chains are off.

    The reasons of a status are in the report at the drag's end: here, where the header is cut at the viewport's width,
    they would push the rest out of it.

    Args:
        session: the drag.
        pointer: its lock and typed numbers.
        units: of the scene.
        key_error: why the last key had no effect; shown in place of the status.
    """
    offset = session.position - session.start_position
    least = _ROUNDING * session.position.length
    seen = [part if abs(part) > least else 0.0 for part in offset[:]]
    moved = f"D: {length_text(units, offset.length)} ({', '.join(length_text(units, part) for part in seen)})"
    if pointer.numbers.is_on:
        texts = pointer.numbers.texts[: pointer.number_count]
        active = pointer.numbers.active
        moved += f" [{', '.join(f'{text}|' if i == active else text or '0' for i, text in enumerate(texts))}]"
    if pointer.lock is not None:
        moved += f" {pointer.lock.text}"
    bones = f", {counted(session.chain_count, 'bone')}" if session.chain_count else ""
    parts = [_point(session) + bones, moved, key_error or _status(session, units)]
    if session.others_off:
        parts.append(f"{counted(session.others_off, 'other chain')} off")
    return "    ".join(map(in_interface, parts))


def turn_text(session: BodyTurn, pointer: TurnPointer) -> str:
    """Return the turned bone, the angle and its axis, and how far the bone is from the desired rotation."""
    if pointer.numbers.is_on:
        turned = f"Rot: [{pointer.numbers.texts[0]}|]"
    else:
        turned = f"Rot: {math.degrees(_angle_of(session.turned, pointer.axis)):.2f}°"
    if pointer.lock is not None:
        turned += f" {pointer.lock.text}"
    left = math.degrees(session.angle_left)
    return "    ".join(
        map(in_interface, [_point(session), turned, f"{left:.1f}° off" if left > _REACHED_ANGLE else "Reached"])
    )


def _angle_of(rotation: Quaternion, axis: Vector) -> float:
    """Return the angle of a rotation about an axis, radians."""
    return 2.0 * math.atan2(Vector(rotation[1:]).dot(axis), rotation.w)


def _point(session: BaseDrag) -> str:
    return f"{session.grab.role.title()} of '{session.grab.chain}'" if session.grab.chain else f"'{session.grab.bone}'"


def _status(session: BaseDrag, units: UnitSettings) -> str:
    if session.result is None:
        return "Not Moved" if session.position == session.start_position else "Moved"
    name = STATUS_NAMES[session.result.status]
    return name if session.result.status == 'REACHED' else f"{name}, {length_text(units, session.distance_left)} off"
