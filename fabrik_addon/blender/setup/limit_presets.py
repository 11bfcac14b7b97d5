# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ and WRITE: presets of joint limits, Python files with one dictionary that is read and never executed.

``ROLES`` has limits by the part of a body that a bone is, for any rig; ``BONES`` the settings of bones by their names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ...core import FabrikError
from ..rig.body_properties import body_of
from ..rig.limb_roles import recognise_all
from .override_limits import LIMIT_SETTINGS, kept_in_override, limits_as_settings
from .usual_limits import BALLS, HINGES, limit_hinge_between, limit_joint

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

LimitSetting: TypeAlias = bool | float


def save_limits(bones: Iterable[PoseBone], path: Path) -> None:
    """Write a preset with the limits of bones by their names."""
    limits = {bone.name: limits_as_settings(bone) for bone in bones}
    path.write_text(f"BONES = {limits!r}\n", encoding="utf-8")


def load_limits(armature: Object, bones: Iterable[PoseBone], path: Path) -> list[str]:
    """Give bones the limits of a preset; return the names of those that it has limits for.

    Raises:
        FabrikError: the file is no preset of joint limits; then nothing has changed.
    """
    roles, by_name = _read(path)
    roles_of_bones = _roles_of(armature) if roles else {}
    limited = []
    for bone in bones:
        limit = roles.get(roles_of_bones.get(bone.name, ""))
        if bone.name not in by_name and limit is None:
            continue
        with kept_in_override(bone):
            if bone.name in by_name:
                for name, value in by_name[bone.name].items():
                    setattr(bone, name, value)
            elif isinstance(limit, str):
                limit_joint(bone, limit)
            elif limit is not None:
                limit_hinge_between(bone, *limit)
        limited.append(bone.name)
    return limited


def _read(path: Path) -> tuple[dict[str, str | list[float]], dict[str, dict[str, LimitSetting]]]:
    """Return the limits by role, and those by the names of bones."""
    try:
        lines = [line for line in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(line, ast.Assign)]
        values = {ast.unparse(line.targets[0]): ast.literal_eval(line.value) for line in lines}
        roles, bones = dict(values.get("ROLES", {})), dict(values.get("BONES", {}))
        is_valid = all(map(_is_limit, roles.values())) and all(map(_are_settings, bones.values()))
    except (OSError, SyntaxError, TypeError, ValueError):
        is_valid, roles, bones = False, {}, {}
    if not is_valid or not (roles or bones):
        raise FabrikError(f"'{path.name}' is no preset of joint limits")
    return roles, bones


def _is_limit(limit: object) -> bool:
    """Tell whether a value is the name of a usual joint, or the angles of the bent and of the straight joint."""
    if isinstance(limit, str):
        return limit in HINGES or limit in BALLS
    return isinstance(limit, list) and len(limit) == 2 and all(isinstance(angle, (int, float)) for angle in limit)


def _are_settings(settings: object) -> bool:
    if not isinstance(settings, dict):
        return False
    return all(name in LIMIT_SETTINGS and isinstance(value, (bool, int, float)) for name, value in settings.items())


def _roles_of(armature: Object) -> dict[str, str]:
    """Return the roles of bones by their names: those of the armature's body, or else what is recognised."""
    parts = body_of(armature).parts
    if parts:
        return {part.bone: part.role for part in parts if part.bone}
    names = armature.pose.bones.keys()
    return {names[part.bone]: str(part.role) for part in recognise_all(armature).parts}
