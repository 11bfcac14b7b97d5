# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: which settings of chains and bones are animated by curves (of the action and of NLA strips) or by drivers."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, cast

from ...core import FabrikError
from ..bones.overrides import Acts, driven_paths, is_active, is_complete
from ..rig.properties import chosen_chains, settings_of
from ..solving.stored_values import TRANSFORM_CHANNELS, curves_of

if TYPE_CHECKING:
    from bpy.types import ID, Constraint, Driver, DriverTarget, FCurve, Object, PoseBone

    from ..rig.properties import FabrikChain


_INHERITANCE = ("use_inherit_rotation", "inherit_scale", "use_local_location", "use_relative_parent")
"""Properties of a bone of the armature's data that say what of its parent's transform it takes."""


def chains_to_bake(armature: Object, only_active: bool) -> list[FabrikChain]:
    """Return the chains to bake: the enabled ones, and those whose setting *enabled* is animated or driven.

    A chain that is disabled at the present frame may be enabled at another one, and is then baked at that frame.

    Args:
        only_active: the active chain alone.

    Raises:
        FabrikError: there are no such chains.
    """
    animated = chains_with_animated_enabled(armature, settings_of(armature).chains)
    chains = [chain for chain in settings_of(armature).chains if chain.enabled or chain.name in animated]
    return chosen_chains(armature, only_active) if only_active or not chains else chains


def animated_paths(armature: Object) -> set[str]:
    """Return the data paths of the animated and the driven properties of an object and its data.

    Those of an armature's data say how bones inherit: ``bones["head"].use_inherit_rotation``. Muted curves don't count.
    NLA strips count whether or not they are muted: the paths may be more than what is evaluated, never fewer.
    """
    owners = [armature] if armature.data is None else [armature, armature.data]
    return {path for owner in owners for path in driven_paths(owner) | {curve.data_path for curve in curves_of(owner)}}


def switched_constraints() -> Acts:
    """Return what tells of a constraint whether curves or drivers switch it on and off, or animate its influence.

    Drivers don't that read nothing but custom properties without curves and drivers: in rigs that Rigify generates
    hundreds of constraints follow such switches between IK and FK. Whatever else a driver reads may change from frame
    to frame, and so may a scripted expression that calls functions. The animation of each owner is read once.
    """
    read: dict[ID, tuple[set[str], dict[str, Driver]]] = {}

    def animation_of(owner: ID) -> tuple[set[str], dict[str, Driver]]:
        if owner not in read:
            animation = getattr(owner, "animation_data", None)
            driven = animation.drivers if animation else ()
            drivers = {curve.data_path: curve.driver for curve in driven if curve.driver and not curve.mute}
            read[owner] = {curve.data_path for curve in curves_of(owner)}, drivers
        return read[owner]

    def is_constant(source: DriverTarget) -> bool:
        path = re.sub(r"\[\d+]$", "", source.data_path)
        keyed, drivers = animation_of(source.id) if source.id is not None else (set(), {})
        return path.endswith('"]') and path not in keyed and path not in drivers

    def changes(driver: Driver) -> bool:
        if driver.type == 'SCRIPTED' and ("frame" in driver.expression or not driver.is_simple_expression):
            return True
        are_properties = all(variable.type == 'SINGLE_PROP' for variable in driver.variables)
        return not are_properties or not all(is_constant(one) for each in driver.variables for one in each.targets)

    def is_switched(constraint: Constraint) -> bool:
        keyed, drivers = animation_of(cast("Object", constraint.id_data))
        paths = [constraint.path_from_id(name) for name in ("influence", "mute", "enabled")]
        return is_complete(constraint) and any(
            path in keyed or (path in drivers and changes(drivers[path])) for path in paths
        )

    return is_switched


def acts_at_some_frame() -> Acts:
    """Return what tells of a constraint whether it acts now, or may act at another frame."""
    is_switched = switched_constraints()
    return lambda constraint: is_active(constraint) or is_switched(constraint)


def is_taken_away(armature: Object, data_path: str, off: float) -> bool:
    """Tell whether a driver, or keys, may take a property with axes farther from what it is now than by ``off``.

    Imported actions have keys on all channels of all bones, and most of them say what is so without them.
    """
    if data_path in driven_paths(armature):
        return True
    values = armature.path_resolve(data_path)
    return any(
        not curve.keyframe_points or curve.modifiers or _farthest(curve, values[curve.array_index]) > off
        for curve in curves_of(armature)
        if curve.data_path == data_path
    )


def _farthest(curve: FCurve, value: float) -> float:
    keys = curve.keyframe_points
    return max(abs(point.y - value) for key in keys for point in (key.co, key.handle_left, key.handle_right))


def animated_settings(paths: Iterable[str], armature: Object, chain_name: str) -> set[str]:
    """Return the names of a chain's settings that are among some data paths.

    Args:
        paths: of the animated and driven properties, as ``animated_paths`` returns them.
    """
    prefix = f"fabrik.chains[{settings_of(armature).chains.find(chain_name)}]."
    return {path.removeprefix(prefix) for path in paths if path.startswith(prefix)}


def chains_with_animated_enabled(armature: Object, chains: Iterable[FabrikChain]) -> set[str]:
    """Return the names of the chains whose setting *enabled* is animated or driven: they may be off at a frame."""
    paths = animated_paths(armature)
    return {chain.name for chain in chains if "enabled" in animated_settings(paths, armature, chain.name)}


def check_one_mode(paths: Container[str], owner: Object | PoseBone) -> None:
    """Check that the rotation mode of a bone or an object isn't among some data paths, those of its animation.

    Raises:
        FabrikError: it is.
    """
    if owner.path_from_id("rotation_mode") in paths:
        raise FabrikError(f"The rotation mode of '{owner.name}' is animated: keys can be made for one mode only")


def has_animated_settings(paths: Iterable[str], bone: PoseBone) -> bool:
    """Tell whether a bone has animated properties that decide how it is solved: locks, limits, constraints and so on.

    Of the properties of the armature's data those count that say what a bone inherits: not that it is hidden.

    Its channels (location, rotation, scale) don't count: they are read anew at every frame. Custom properties and those
    of bendy bones don't count either: no joint depends on them.
    """
    prefix, of_data = bone.path_from_id(), bone.bone.path_from_id()
    inherited = {f"{of_data}.{name}" for name in _INHERITANCE}
    return any(path in inherited or (path.startswith(prefix) and not _is_channel_or_display(path)) for path in paths)


def _is_channel_or_display(path: str) -> bool:
    name = path.rpartition(".")[2]
    return name in TRANSFORM_CHANNELS or path.endswith('"]') or name.startswith("bbone")
