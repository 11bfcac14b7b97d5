# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: whether a chain can become a native rig, and what would be in its way. Nothing here writes to Blender."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...core import FabrikError
from ..animation.animated_settings import animated_paths, animated_settings, is_taken_away
from ..bones.bone_limits import euler_limits_of, is_hinge_by_locks, stiffness_of
from ..bones.overrides import is_complete
from ..bones.rotation_channel import has_locks
from ..rig.chain_bones import ChainBones
from ..rig.connected_chains import chains_of_tree
from ..rig.dependencies import followed_bones, in_words
from ..rig.library_items import LOST_DRIVERS, loses_drivers
from ..rig.properties import settings_of
from ..rig.snapshot import Snapshot, take_snapshot
from ..rig.targets_and_poles import check_independent
from ..solving.chain_groups import Group, solving_order
from .custom_properties import CONSTRAINT
from .find_rigs import is_stretching, solver_of, solvers_of, turned_by
from .rest_chain import RestChain, read_rest_chain

if TYPE_CHECKING:
    from bpy.types import Object, ViewLayer

    from ..rig.properties import FabrikChain

_STILL = 1e-4
"""Change of a scale, or of a location over the bone's length, that keys may make without a warning."""


@dataclass(frozen=True)
class EligibleChain:
    """A chain that can become a native rig."""

    settings: FabrikChain
    rest: RestChain
    warnings: list[str]


def eligible_chains(view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain]) -> list[EligibleChain]:
    """Return what to build for chains.

    Raises:
        FabrikError: which chain can't be a native rig, and why.
    """
    view_layer.update()
    snapshots = [take_snapshot(view_layer, armature, chain) for chain in chains]
    _check_switched(armature, snapshots, chains)
    paths = animated_paths(armature)
    eligible = [_eligible_chain(armature, *each, paths) for each in zip(chains, snapshots, strict=True)]
    own = [solver_of(armature, chain) for chain in chains]
    others = {name: solver for name, solver in solvers_of(armature).items() if solver not in own}
    _check_shared(armature, eligible, others)
    _check_hanging(armature, eligible, others)
    solving_order([Group((each,)) for each in [*snapshots, *_other_snapshots(view_layer, armature, chains)]])
    _warn_of_trees(armature, eligible)
    return eligible


def _check_switched(armature: Object, snapshots: Sequence[Snapshot], chains: Sequence[FabrikChain]) -> None:
    """Refuse chains that depend on themselves through a constraint that is off, or has no influence now.

    Blender's dependency graph has the relation all the same: the rig would be a cycle.
    """
    for snapshot, chain in zip(snapshots, chains, strict=True):
        goals = (("target", chain.target, chain.subtarget), ("pole", chain.pole_target, chain.pole_subtarget))
        for role, obj, bone_name in goals:
            if obj is None:
                continue
            name, follows = in_words(obj, bone_name), followed_bones(obj, bone_name, armature, is_complete)
            try:
                check_independent(role, name, follows, snapshot.moving)
            except FabrikError as error:
                raise FabrikError(
                    f"Chain '{chain.name}': {error}, through a constraint that is off now: a native rig would be a "
                    "dependency cycle"
                ) from error


def _other_snapshots(view_layer: ViewLayer, armature: Object, chains: Sequence[FabrikChain]) -> list[Snapshot]:
    """Return the chains besides some that are native rigs, if their targets can be read."""
    found = []
    for chain in settings_of(armature).chains:
        if chain not in chains and solver_of(armature, chain) is not None:
            with suppress(FabrikError):
                found.append(take_snapshot(view_layer, armature, chain))
    return found


def _warn_of_trees(armature: Object, eligible: Sequence[EligibleChain]) -> None:
    """Warn of the chains that Solve solves as one tree: each native rig reaches for its own target only.

    Without the warning the tip of a forearm was 24 cm off its target, which Solve reaches by bending the spine.
    """
    warned: list[FabrikChain] = []
    for each in eligible:
        tree = chains_of_tree(each.settings, list(settings_of(armature).chains))
        if len(tree) > 1 and each.settings not in warned:
            others = " and ".join(f"'{chain.name}'" for chain in tree if chain != each.settings)
            each.warnings.append(
                f"Solve bends it and {others} as one tree, but native rigs each bend their own bones alone: "
                "a tip may stay away from its target"
            )
            warned += tree


def _check_shared(armature: Object, eligible: Sequence[EligibleChain], others: dict[str, Object]) -> None:
    """Refuse chains of which two would rotate the same bone."""
    taken = {bone.name: name for name, solver in others.items() for bone in turned_by(armature, solver)}
    for each in eligible:
        for bone in each.rest.bones:
            if bone.name in taken:
                other = taken[bone.name]
                raise FabrikError(
                    f"Chain '{each.settings.name}': bone '{bone.name}' follows chain '{other}' already, "
                    "and in native rigs chains can't share bones"
                )
            taken[bone.name] = each.settings.name


def _check_hanging(armature: Object, eligible: Sequence[EligibleChain], others: dict[str, Object]) -> None:
    """Refuse chains that hang on a bone which another one stretches: their solver would be stretched too."""
    stretching = [(name, solver) for name, solver in others.items() if is_stretching(armature, solver)]
    stretched = {bone.name: name for name, solver in stretching for bone in turned_by(armature, solver)}
    for each in eligible:
        if each.rest.stretched is not None:
            stretched |= {bone.name: each.settings.name for bone in each.rest.bones}
    for each in eligible:
        parent = each.rest.bones[0].parent
        if parent is not None and parent.name in stretched:
            raise FabrikError(
                f"Chain '{each.settings.name}': it hangs on bone '{parent.name}', which chain "
                f"'{stretched[parent.name]}' stretches: a native rig can't carry that"
            )


def _eligible_chain(
    armature: Object, settings: FabrikChain, snapshot: Snapshot, paths: AbstractSet[str]
) -> EligibleChain:
    try:
        _check_settings(settings)
        bones = snapshot.bones
        _check_limits(bones)
        has_pole = settings.pole_target is not None
        rest = read_rest_chain(bones, has_pole, settings.use_rotation, settings.tolerance, paths)
    except FabrikError as error:
        raise FabrikError(f"Chain '{settings.name}': {error}") from error
    # Native rigs don't override each other: two that would rotate the same bone are refused.
    overridden = [name for name in snapshot.overridden + snapshot.carried if f"(constraint '{CONSTRAINT}" not in name]
    warnings = [f"also turned by {', '.join(overridden)}"] if overridden else []
    warnings += _animated(armature, settings, rest, paths)
    if loses_drivers(armature):
        warnings.append(LOST_DRIVERS)
    return EligibleChain(settings, rest, warnings)


def _check_settings(settings: FabrikChain) -> None:
    """Refuse settings that nodes can't compute."""
    refused = {
        "a root that follows": settings.root_motion != 'FIXED',
        "a pinned tip": settings.use_pin,
    }
    for name, is_on in refused.items():
        if is_on:
            raise FabrikError(f"a native rig can't carry {name}: disable it, or bake instead")
    if settings.solver != 'FABRIK':
        raise FabrikError("only FABRIK can be a native rig: choose it as the solver, or bake instead")


def _check_limits(bones: ChainBones) -> None:
    """Refuse limits of a bone that nodes can't compute."""
    for i in bones.free:
        bone = bones.bones[i]
        limits = None if bones.limits is None else bones.limits[i]
        if has_locks(bone) and (limits is None or not is_hinge_by_locks(bone, limits)):
            raise FabrikError(
                f"some of the rotation of bone '{bone.name}' is locked, which a native rig can't carry: "
                "unlock it, lock it altogether, or lock the axis in its Inverse Kinematics settings"
            )
        if limits is None:
            continue
        if any(stiffness_of(bone)):
            raise FabrikError(
                f"bone '{bone.name}' has stiffness, which a native rig can't carry: disable Joint Limits, or bake "
                "instead"
            )
        if euler_limits_of(bone):
            raise FabrikError(
                f"bone '{bone.name}' has a Limit Rotation constraint about several axes, which a native rig can't "
                "carry: set the limits in the bone's Inverse Kinematics settings, or bake instead"
            )
        if bones.stretch is not None and np.isfinite(np.array(limits)).any():
            raise FabrikError(
                f"bone '{bone.name}' has joint limits, and a native rig can't carry them together with Stretch: "
                "disable one of them, or bake instead"
            )


def _animated(armature: Object, settings: FabrikChain, rest: RestChain, paths: AbstractSet[str]) -> list[str]:
    """Tell what is animated that a native rig takes to stay as it is."""
    labels = settings.bl_rna.properties
    found = []
    for name in sorted(animated_settings(paths, armature, settings.name)):
        found.append(f"its setting '{labels[name].name}' is animated, but its rig keeps what it is now")
    for bone in rest.bones:
        is_free = bone.bone.use_connect or (bone == rest.bones[0] and rest.root_moves)
        for name, off in (("scale", _STILL), *(() if is_free else (("location", _STILL * bone.length),))):
            path = bone.path_from_id(name)
            if path in paths and is_taken_away(armature, path, off):
                found.append(f"the {name} of bone '{bone.name}' is animated, but its rig keeps what it is now")
    return found
