# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: which constraints act at some frame of a bake: on what a chain depends can change from frame to frame.

A hand that takes a prop at frame 10, or a space switch, is a constraint whose influence is keyed. Order and passes of a
bake are the same for all frames: with what chains depend on at the present frame alone a hand whose target follows the
chest from another frame on was baked before the spine that moves the chest, and was off by 54 % of its length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, TypeAlias, cast

from ..animation.animated_settings import chains_with_animated_enabled, switched_constraints
from ..animation.evaluated_frames import frames_of
from ..bones.overrides import Acts, is_active
from ..rig.dependencies import followed_by_chains
from ..rig.properties import settings_of

if TYPE_CHECKING:
    from bpy.types import Constraint, Object

    from ..animation.frame_range import FrameRange
    from ..rig.properties import FabrikChain

_Key: TypeAlias = "tuple[Object, str]"
"""The owner of a constraint, or of its bone, and the constraint's data path."""


def acting_constraints(work: FrameRange, chains: Sequence[FabrikChain]) -> Mapping[str, Acts]:
    """Return which constraints act on a chain at some frame at which it is enabled and has an influence.

    Returns:
        by the chains' names; empty where none that they depend on is switched: those that act now count then.

    Raises:
        FabrikError: a chain has no bones; the message names the chain.
    """
    is_switched = switched_constraints()
    switched: set[_Key] = set()

    def note(constraint: Constraint) -> bool:
        if not is_switched(constraint):
            return is_active(constraint)
        switched.add(_key(constraint))
        return True

    def acts_but(never: Set[_Key]) -> Acts:
        return lambda one: _key(one) not in never and (is_active(one) or is_switched(one))

    followed_by_chains(work.armature, chains, note)
    if not switched:
        return {}
    acting: dict[str, set[_Key]] = {chain.name: set() for chain in chains}
    with_animated_enabled = chains_with_animated_enabled(work.armature, chains)
    goals = [obj for chain in chains for obj in (chain.target, chain.pole_target) if obj is not None]
    with frames_of(work.scene, work.view_layer, [work.armature, *goals]) as at:
        for frame in work.frames:
            at.go_to(frame)
            now = {(owner, path) for owner, path in switched if is_active(at.evaluated(owner).path_resolve(path))}
            settings = settings_of(at.evaluated(work.armature)).chains
            for name, keys in acting.items():
                is_off = name in with_animated_enabled and not settings[name].enabled
                if settings[name].influence and not is_off:
                    keys |= now
    return {name: acts_but(switched - keys) for name, keys in acting.items()}


def _key(constraint: Constraint) -> _Key:
    return cast("Object", constraint.id_data), constraint.path_from_id()
