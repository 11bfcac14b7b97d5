# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the handles of a body as chains of one tree, from the body's root to each handle.

A handle's chain is a ``Snapshot``, as that of a ``FabrikChain`` is, so that a body is solved by the path of all chains.
Bones without a role are rigid with the bone above: twist bones, helpers and the like.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ...core import FabrikError
from ...core.body.posture import HELD, LOOKING, LOOKING_WEIGHTS, MOST_TURNED_WEIGHT, PINNED, POSTURE_WEIGHTS, PULLED
from ..bones.ancestors import with_ancestors
from ..bones.armature_bones import ArmatureBones
from ..bones.influences import require_effect
from ..bones.overrides import holder_of
from ..rig.body_properties import body_of
from ..rig.snapshot import Snapshot
from .body_following import Follows, following_bones
from .body_look_at import Look, look_of
from .handle_chains import BodyBones, line_to_root, planted_by_toes, snapshots_of_handle, without_task
from .handles import AddedHandle, Pull, desired_place, find_handle, handle_bone, handle_place, is_held
from .planted_feet import lifted_weight, toes_of, upward_over_height
from .turning_bones import checked_roles, turning_among

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

    from ..rig.body_properties import FabrikHandle

LOOK_CHAIN = "Look At"
"""Name of the chain of a head that looks at something."""


@dataclass(frozen=True)
class BodySnapshots:
    """The handles of a body that have a task, as chains of one tree."""

    snapshots: tuple[Snapshot, ...]
    root: PoseBone
    """The bone from which all these chains start."""
    posture_weights: Mapping[str, float]
    """By the names of bones."""
    pulled: frozenset[str]
    """Names of the handles that are pulled."""
    balance_priority: int
    """Level of the balance: that of pulled places, or, where a handle is turned, the next one, that of rotations. On
    the level above it balance left 8 of 10 degrees by which hips were turned."""
    root_follows: bool = True
    """Whether the root turns and moves, if it can."""
    look: Look | None = None
    """Of a head that follows."""
    toes: Mapping[str, PoseBone] = field(default_factory=dict)
    """Toes about which planted feet lift their heels, by the names of the feet's bones."""


def take_body(view_layer: ViewLayer, armature: Object, *pulls: Pull, follows: Follows = 'BODY') -> BodySnapshots:
    """Read the body of an armature for the pull of one of its handles, or of several.

    Handles of bones that don't follow are not held: these bones stay where they are, or are carried along.

    Args:
        view_layer: with the armature and what is followed.
        armature: evaluated, with nothing changed since.
        pulls: handles and where they go; none where pinned handles alone come to the objects that they follow, or where
            the head alone looks at something.
        follows: which bones of the body follow.

    Raises:
        FabrikError: a bone of the body is missing or locked, none follows, no deforming bone follows one that is
            pulled, the handles have no bone in common, or Blender doesn't evaluate what is followed or looked at.
    """
    pulled = {
        pull.handle: AddedHandle(pull.handle, pull.bone, pull.use_tail)
        if pull.bone
        else find_handle(armature, pull.handle)
        for pull in pulls
    }
    for one in pulled.values():
        require_effect(armature, one.bone)
    held = [one for one in body_of(armature).handles if one.name not in pulled and is_held(one)]
    roles = checked_roles(armature)
    following = {
        name for one in pulled.values() for name in following_bones(handle_bone(armature, one), roles, follows)
    }
    if follows != 'BODY':
        held = [one for one in held if one.bone in following]
    elif not pulls:
        following = set(roles)
    look = look_of(view_layer, armature)
    if look is not None and look.head.name not in following:
        look = None
    bones = {one.name: handle_bone(armature, one) for one in (*pulled.values(), *held)}
    root = _common_root(armature, [*bones.values(), *([look.head] if look is not None else [])])
    root_follows = follows == 'BODY' or any(roles[name] == 'HIPS' for name in following)
    read = _body_bones(armature, root, roles, following, root_follows)
    places = {pull.handle: pull for pull in pulls}
    snapshots: list[Snapshot] = []
    planted: dict[str, PoseBone] = {}
    for handle in (*pulled.values(), *held):
        is_pulled = handle.name in pulled
        is_looking = look is not None and bones[handle.name] == look.head
        own = desired_place(view_layer, armature, handle, places.get(handle.name), is_looking)
        if not is_pulled:
            own = _without_what_stays(read, handle, own)
        toes = None if is_pulled else toes_of(armature, handle, read.turning)
        priority = PINNED if handle.use_pin else PULLED if is_pulled else handle.priority
        try:
            if toes is not None:
                planted[handle.bone] = toes
                snapshots += planted_by_toes(read, handle, toes)
                continue
            found = snapshots_of_handle(read, handle, own, priority)
        except FabrikError as error:
            raise FabrikError(f"Handle '{handle.name}': {error}") from error
        found = [replace(one, is_led=is_pulled or handle.target is not None) for one in found]
        snapshots += found if handle.name not in places else _lifted(armature, handle, places[handle.name], found)
    if look is not None:
        snapshots.append(_looking(read, look))
    turned = [bones[pull.handle].name for pull in pulls if pull.rotation is not None]
    weights = _posture_weights(roles, root, look is not None, turned)
    balance_priority = HELD if turned else PULLED
    chains = _measured_by_tree(_with_a_link(read, snapshots))
    root_follows = root_follows and not read.holder
    return BodySnapshots(chains, root, weights, frozenset(pulled), balance_priority, root_follows, look, planted)


def _body_bones(
    armature: Object, root: PoseBone, roles: Mapping[str, str], following: Container[str], root_follows: bool
) -> BodyBones:
    """Return the bones of a body for a pull in which some bones follow; a root that the rig holds doesn't turn."""
    holder = holder_of(root)
    turning = {name for name in turning_among(armature, roles) if name in following}
    if holder:
        turning.discard(root.name)
    elif root_follows:
        turning.add(root.name)
    return BodyBones(ArmatureBones(armature), root, turning, holder)


def _lifted(
    armature: Object, handle: FabrikHandle | AddedHandle, pull: Pull, found: Sequence[Snapshot]
) -> Sequence[Snapshot]:
    """Return the chains of a handle that is pulled: a lifted foot keeps its rotation less (``lifted_weight``)."""
    if isinstance(handle, AddedHandle) or pull.position is None or pull.rotation is not None:
        return found
    lift = pull.position - handle_place(armature, handle)
    share = lifted_weight(handle, lift.dot(upward_over_height(armature)))
    return [one if one.has_position else replace(one, weight=share * one.weight) for one in found]


def _measured_by_tree(snapshots: Sequence[Snapshot]) -> tuple[Snapshot, ...]:
    """Return chains of which those without links, at the root's head, have the tolerance of the tree's solver.

    The distance of such a chain's end is over the length of the tree in the solver, ``StartTree.own_lengths``, and over
    that of the root bone where the pose is measured afterwards: of hips that were pulled over planted feet a distance
    that the solver had reached was reported as limited.
    """
    longest = max((one.posed.total_length for one in snapshots), default=0.0)
    found = []
    for one in snapshots:
        if not one.bones.use_tail and len(one.bones.bones) == 1:
            tolerance = one.options.tolerance * longest / one.posed.total_length
            one = replace(one, options=replace(one.options, tolerance=tolerance))
        found.append(one)
    return tuple(found)


def _without_what_stays(body: BodyBones, handle: FabrikHandle | AddedHandle, pull: Pull) -> Pull:
    """Return where a held handle should be, without the place and the rotation that no bone that turns could change."""
    bone = body.all_bones.armature.pose.bones[handle.bone]
    above = [one.name in body.turning for one in line_to_root(body, bone)]
    if handle.target is not None or not above:
        return pull
    moves = any(above if handle.use_tail or bone == body.root else above[1:])
    return replace(pull, position=pull.position if moves else None, rotation=pull.rotation if any(above) else None)


def _posture_weights(
    roles: Mapping[str, str], root: PoseBone, is_looking: bool, turned: Sequence[str]
) -> dict[str, float]:
    """Return the posture weights of bones by their names.

    Args:
        roles: of the bones, by their names.
        root: of the body, which has the weight of hips.
        is_looking: whether the head looks at a point.
        turned: names of the bones that are turned by their handles.
    """
    by_role = POSTURE_WEIGHTS | LOOKING_WEIGHTS if is_looking else POSTURE_WEIGHTS
    weights = {name: by_role.get(role, 1.0) for name, role in roles.items()}
    weights[root.name] = POSTURE_WEIGHTS['HIPS']
    for name in turned:
        weights[name] = min(weights.get(name, MOST_TURNED_WEIGHT), MOST_TURNED_WEIGHT)
    return weights


def _looking(body: BodyBones, look: Look) -> Snapshot:
    """Return the chain from the body's root to the head that looks; the look itself is a task of the whole tree."""
    return replace(without_task(body, LOOK_CHAIN, look.head), priority=LOOKING)


def _with_a_link(body: BodyBones, snapshots: Sequence[Snapshot]) -> Sequence[Snapshot]:
    """Return chains of which one leads on from the root: the tree of a root that is pulled alone has no link."""
    if any(one.bones.end != body.root for one in snapshots):
        return snapshots
    bones = body.all_bones.armature.pose.bones
    others = (bones[name] for name in body.turning if body.root in with_ancestors(bones[name])[1:])
    other = min(others, key=lambda bone: bone.name, default=None)
    return snapshots if other is None else [*snapshots, without_task(body, other.name, other)]


def fault_of_handles(armature: Object) -> str:
    """Return why no handle of a body can be pulled while the others are held; empty where they can."""
    held = [handle for handle in body_of(armature).handles if is_held(handle)]
    try:
        if held:
            _common_root(armature, [handle_bone(armature, handle) for handle in held])
    except FabrikError as error:
        return str(error)
    return ""


def _common_root(armature: Object, bones: Sequence[PoseBone]) -> PoseBone:
    """Return the last bone that all handles and the hips hang on, or one above it that isn't connected to its parent.

    Without hips it is that of all parts: a handle alone would hang on its own bone, and tear that off its limb.

    Raises:
        FabrikError: there is none.
    """
    parts = [(part.role, armature.pose.bones[part.bone]) for part in body_of(armature).parts if part.bone]
    hips = [bone for role, bone in parts if role == 'HIPS']
    top = [bones[0], *bones[0].parent_recursive][-1]
    trunk = hips or [bone for _, bone in parts if top in (bone, *bone.parent_recursive)]
    ways = [with_ancestors(bone) for bone in [*bones, *trunk]]
    for bone in ways[0]:
        if all(bone in way for way in ways) and not bone.bone.use_connect:
            return bone
    raise FabrikError(f"The handles of '{armature.name}' have no bone in common: parent the parts of its body to one")
