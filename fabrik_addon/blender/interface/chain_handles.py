# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The handles of targets and poles in Pose mode: pressed, they are dragged, and their chains are solved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

from ...core import FabrikError
from ..rig.properties import settings_of
from .handle_gizmos import Handle, HandleGroup, can_show_handles

if TYPE_CHECKING:
    from bpy.types import Context, Object


class VIEW3D_GGT_fabrik_chains(HandleGroup):
    """Handles of the targets and poles of the active armature's chains"""

    bl_idname = "VIEW3D_GGT_fabrik_chains"
    bl_label = "FABRIK IK Targets and Poles"

    @classmethod
    def poll(cls, context: Context) -> bool:
        if not can_show_handles(context):
            return False
        settings = settings_of(context.object)
        return settings.show_handles and any(chain.enabled for chain in settings.chains)

    @classmethod
    def handles(cls, context: Context) -> list[Handle]:
        return chain_handles(context.object)


def chain_handles(armature: Object) -> list[Handle]:
    """READ: the handles of an armature's enabled chains; targets and poles that chains share have one."""
    from ..rig.targets_and_poles import position_in_world

    handles: list[Handle] = []
    seen = set()
    for chain in settings_of(armature).chains:
        goals = [('TARGET', chain.target, chain.subtarget), ('POLE', chain.pole_target, chain.pole_subtarget)]
        for point, obj, bone in goals[chain.use_pin :] if chain.enabled else ():
            if obj is None or (obj, bone) in seen:
                continue
            seen.add((obj, bone))
            try:
                position = position_in_world(obj, bone, point.lower())
            except FabrikError:
                continue  # the panel's status says it
            is_pole = point == 'POLE'
            handles.append(
                Handle(
                    position,
                    'CIRCLE' if is_pole else 'SQUARE',
                    'gizmo_secondary' if is_pole else 'gizmo_primary',
                    "pose.fabrik_drag_target",
                    {"chain": chain.name, "point": point},
                )
            )
    return handles


register, unregister = bpy.utils.register_classes_factory((VIEW3D_GGT_fabrik_chains,))  # type: ignore[misc]
