# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which point is dragged for a bone, and how many bones rotate: the session that begins with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..bodies.body_following import Follows
from ..bones.control_bones import control_of, is_free_control
from ..bones.influences import require_effect
from ..rig.limb import limb_of
from ..rig.properties import settings_of
from .base_drag import BaseDrag, Grab
from .body_drag import BodyDrag, is_of_body
from .bone_move import BoneMove
from .chain_drag import ChainDrag, chain_to_grab

if TYPE_CHECKING:
    from bpy.types import Object, ViewLayer

    from ..rig.properties import FabrikChain


def begin_drag(
    view_layer: ViewLayer,
    armature: Object,
    bone: str,
    grab: str,
    chain_count: int | None,
    pins: str,
    follows: Follows = 'BODY',
) -> BaseDrag:
    """Begin the drag of a bone, or of the control that it follows.

    Args:
        armature: object in Pose mode.
        bone: name of the bone that was chosen.
        grab: which of its points, one of the items of the operator's property; not 'TARGET'.
        chain_count: number of bones that rotate; None is the limb's.
        pins: which other chains' ends are held.
        follows: what follows a bone of a body.

    Raises:
        FabrikError: the bone can't be dragged, or has no effect.
    """
    view_layer.update()
    name = control_of(armature, bone)
    chain = chain_to_grab(armature, name) if grab == 'AUTO' else None
    chain = chain or _chain_with_target(armature, name)
    if chain is not None:
        return ChainDrag(view_layer, armature, Grab(chain.tip, chain.name), pins=pins)
    if follows != 'LIMB' and chain_count is None and grab in {'AUTO', 'BONE'} and is_of_body(armature, bone):
        return BodyDrag(view_layer, armature, bone, pins, follows)
    require_effect(armature, name)
    is_automatic = grab in {'AUTO', 'BONE'}
    if grab == 'MOVE' or (is_automatic and is_free_control(armature, name)):
        return BoneMove(view_layer, armature, name, pins)
    limb = limb_of(armature, name)
    use_head = limb.is_hand_or_foot if is_automatic else grab == 'HEAD'
    if chain_count is None:
        chain_count = max(1, limb.chain_count + limb.is_hand_or_foot - use_head)
    return ChainDrag(view_layer, armature, Grab(name, use_tail=not use_head), chain_count, pins, limb.still)


def _chain_with_target(armature: Object, bone: str) -> FabrikChain | None:
    """Return the first enabled chain whose target is a bone of its own armature; None if there is none."""
    for chain in settings_of(armature).chains:
        if chain.enabled and chain.target == armature and chain.subtarget == bone and not chain.use_pin:
            return chain
    return None
