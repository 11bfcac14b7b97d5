# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: which settings of chains and bones are animated by curves (of the action and of NLA strips) or by drivers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..rig.properties import chosen_chains, settings_of
from .stored_channels import TRANSFORM_CHANNELS

if TYPE_CHECKING:
    from bpy.types import Action, Object, PoseBone

    from ..rig.properties import FabrikChain


def chains_to_bake(armature: Object, only_active: bool) -> list[FabrikChain]:
    """Return the chains to bake: the enabled ones, and those whose setting *enabled* is animated or driven.

    A chain that is disabled at the present frame may be enabled at another one, and is then baked at that frame.

    Args:
        armature: object with the chains.
        only_active: the active chain alone.

    Raises:
        FabrikError: there are no such chains.
    """
    paths = animated_paths(armature)
    chains = [
        chain
        for chain in settings_of(armature).chains
        if chain.enabled or "enabled" in animated_settings(paths, armature, chain.name)
    ]
    return chosen_chains(armature, only_active) if only_active or not chains else chains


def animated_paths(armature: Object) -> set[str]:
    """Return the data paths of the animated and the driven properties of an armature object; muted curves don't count.

    NLA strips count whether or not they are muted: the paths may be more than what is evaluated, never fewer.
    """
    animation = armature.animation_data
    if animation is None:
        return set()
    actions = [animation.action] + [strip.action for track in animation.nla_tracks for strip in track.strips]
    paths = {curve.data_path for curve in animation.drivers if not curve.mute}
    for action in actions:
        paths.update(_paths_of(action) if action else ())
    return paths


def animated_settings(paths: Iterable[str], armature: Object, chain_name: str) -> set[str]:
    """Return the names of a chain's settings that are among some data paths.

    Args:
        paths: of the animated and driven properties, as ``animated_paths`` returns them.
        armature: object with the chain.
        chain_name: of the chain.
    """
    prefix = f"fabrik.chains[{settings_of(armature).chains.find(chain_name)}]."
    return {path.removeprefix(prefix) for path in paths if path.startswith(prefix)}


def has_animated_settings(paths: Iterable[str], bone: PoseBone) -> bool:
    """Tell whether a bone has animated properties that decide how it is solved: locks, limits, constraints and so on.

    Its channels (location, rotation, scale) don't count: they are read anew at every frame. Custom properties and those
    of bendy bones don't count either: no joint depends on them.
    """
    prefix = bone.path_from_id()
    return any(path.startswith(prefix) and not _is_channel_or_display(path) for path in paths)


def _is_channel_or_display(path: str) -> bool:
    name = path.rpartition(".")[2]
    return name in TRANSFORM_CHANNELS or path.endswith('"]') or name.startswith("bbone")


def _paths_of(action: Action) -> Iterator[str]:
    for layer in action.layers:
        for strip in layer.strips:
            for bag in strip.channelbags:  # type: ignore[attr-defined]  # key-frame strips are the only type so far
                yield from (curve.data_path for curve in bag.fcurves if not curve.mute)
