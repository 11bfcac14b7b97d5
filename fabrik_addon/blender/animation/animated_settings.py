# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which settings of chains and bones change in the course of time. Reads Blender."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..rig.properties import chosen_chains, settings_of

if TYPE_CHECKING:
    from bpy.types import Action, Object, PoseBone

    from ..rig.properties import FabrikChain

_CHANNELS = {"location", "rotation_quaternion", "rotation_axis_angle", "rotation_euler", "scale"}


def chains_to_bake(armature: Object, only_active: bool) -> list[FabrikChain]:
    """Return the chains a bake is about: those that are switched on now count, and those that may be at some frame.

    Raises:
        FabrikError: there are none.
    """
    paths = animated_paths(armature)
    chains = [
        chain
        for chain in settings_of(armature).chains
        if chain.enabled or "enabled" in animated_settings(paths, armature, chain.name)
    ]
    return chosen_chains(armature, only_active) if only_active or not chains else chains


def animated_paths(armature: Object) -> set[str]:
    """Return the paths of what is animated or driven on an armature object."""
    animation = armature.animation_data
    if animation is None:
        return set()
    actions = [animation.action] + [strip.action for track in animation.nla_tracks for strip in track.strips]
    paths = {curve.data_path for curve in animation.drivers if not curve.mute}
    for action in actions:
        paths.update(_paths_of(action) if action else ())
    return paths


def animated_settings(paths: Iterable[str], armature: Object, chain_name: str) -> set[str]:
    """Return the names of a chain's settings among the paths of what is animated."""
    prefix = f"fabrik.chains[{settings_of(armature).chains.find(chain_name)}]."
    return {path.removeprefix(prefix) for path in paths if path.startswith(prefix)}


def has_animated_settings(paths: Iterable[str], bone: PoseBone) -> bool:
    """Tell whether anything of a bone is animated that isn't one of its channels, or of no account for where it is."""
    prefix = bone.path_from_id()
    return any(path.startswith(prefix) and not _is_motion(path) for path in paths)


def _is_motion(path: str) -> bool:
    name = path.rpartition(".")[2]
    return name in _CHANNELS or path.endswith('"]') or name.startswith("bbone")


def _paths_of(action: Action) -> Iterator[str]:
    for layer in action.layers:
        for strip in layer.strips:
            for bag in strip.channelbags:  # type: ignore[attr-defined]  # of the only type there is
                yield from (curve.data_path for curve in bag.fcurves if not curve.mute)
