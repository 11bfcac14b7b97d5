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

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...core import FabrikError, Goals, Options
from ...core.body.posture import (
    FLAT_BOUND,
    FLAT_WEIGHT,
    HELD,
    HELD_WEIGHT,
    LOOKING,
    LOOKING_WEIGHTS,
    MOST_TURNED_WEIGHT,
    PINNED,
    POSTURE_WEIGHTS,
    PULLED,
)
from ..bones.ancestors import with_ancestors
from ..bones.armature_bones import ArmatureBones
from ..bones.influences import require_effect
from ..bones.overrides import holder_of, overrides_of
from ..bones.rotation_channel import is_finite, is_locked
from ..bones.shared_joints import one_bone_per_joint
from ..rig.body_properties import body_of
from ..rig.chain_bones import ChainBones, ChainSpec, all_locked, chain_matrices, read_bones, read_pose
from ..rig.dependencies import followed_bones
from ..rig.followed_object import frame_at
from ..rig.snapshot import Snapshot
from ..rig.targets_and_poles import armature_to_world, check_evaluated
from .body_following import Follows, following_bones
from .body_look_at import Look, look_of
from .planted_feet import lifted_weight, toes_of, upward, upward_over_height

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone, ViewLayer

    from ..rig.body_properties import FabrikHandle

_SINGLE = {'HIPS', 'CHEST', 'HEAD', 'CLAVICLE', 'UPPER_ARM', 'FOREARM', 'HAND', 'THIGH', 'SHIN', 'FOOT'}
"""Roles of which only the first bone of several in a line turns: the others divide it for its twist."""


LOOK_CHAIN = "Look At"
"""Name of the chain of a head that looks at something."""


@dataclass(frozen=True)
class Pull:
    """Where a handle of a body is pulled."""

    handle: str
    """Name of the handle."""
    position: Vector | None = None
    """In armature space; None leaves it where the rest of the body takes it."""
    rotation: Quaternion | None = None
    """Of the handle's bone, in armature space; None leaves it free."""
    bone: str = ""
    """Of a handle that isn't one of the body's; empty of one that is."""
    use_tail: bool = True
    """Whether such a handle is at its bone's tail."""


@dataclass(frozen=True)
class _BodyBones:
    """The bones of a body for one pull."""

    all_bones: ArmatureBones
    root: PoseBone
    turning: set[str]
    """Names of the bones that rotate."""
    holder: str
    """What holds the root, in words; empty if nothing does."""


@dataclass(frozen=True)
class _AddedHandle:
    """A handle that isn't one of the body's, for one pull; the attributes are those of ``FabrikHandle``."""

    name: str
    bone: str
    use_tail: bool
    slack: float = 0.0
    use_pin = use_position = use_rotation = False
    target = None
    priority = PULLED


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


def rotation_name(handle: str) -> str:
    """Return the name of the chain that has the rotation of a handle."""
    return f"{handle} (rotation)"


def handle_of_bone(armature: Object, bone: str) -> FabrikHandle | None:
    """Return the first handle of a body at a bone; None if there is none."""
    return next((one for one in body_of(armature).handles if one.bone == bone), None)


def find_handle(armature: Object, name: str) -> FabrikHandle:
    """Return a handle of an armature's body by its own name or that of its bone.

    Raises:
        FabrikError: there is no such handle.
    """
    handles = body_of(armature).handles
    handle = handles.get(name) or (handle_of_bone(armature, name) if name else None)
    if handle is None:
        if not handles:
            raise FabrikError(f"'{armature.name}' has no body: press Make Body first")
        if not name:
            raise FabrikError("Select a bone with a handle")
        raise FabrikError(f"The body of '{armature.name}' has no handle '{name}'")
    return handle


def handle_bone(armature: Object, handle: FabrikHandle | _AddedHandle) -> PoseBone:
    """Return the bone of a handle.

    Raises:
        FabrikError: there is none any more.
    """
    bone = armature.pose.bones.get(handle.bone)
    if bone is None:
        raise FabrikError(
            f"Handle '{handle.name}': there is no bone '{handle.bone}' in '{armature.name}' any more: "
            "choose another bone, or press Find Again"
        )
    return bone


def handle_place(armature: Object, handle: FabrikHandle | _AddedHandle) -> Vector:
    """Return where a handle is, in armature space.

    Raises:
        FabrikError: its bone isn't there any more.
    """
    bone = handle_bone(armature, handle)
    return (bone.tail if handle.use_tail else bone.head).copy()


def following_objects(armature: Object) -> set[str]:
    """Return the names of the pinned handles of a body that follow an object."""
    return {one.name for one in body_of(armature).handles if one.use_pin and one.target is not None}


def _followed_frame(view_layer: ViewLayer, armature: Object, handle: FabrikHandle | _AddedHandle) -> Matrix | None:
    """Return place and rotation of a handle that follows an object, in armature space; None of one that doesn't.

    Raises:
        FabrikError: the object follows a bone of the armature, Blender doesn't evaluate it, or it is nowhere.
    """
    if handle.target is None:
        return None
    check_evaluated(view_layer, handle.target, f"Handle '{handle.name}': its object '{handle.target.name}'")
    followed = followed_bones(handle.target, "", armature)
    if followed:
        way = next(iter(followed.values()))
        raise FabrikError(
            f"Handle '{handle.name}' follows '{handle.target.name}', which follows {way}: choose another object"
        )
    offset = Matrix([handle.target_offset[row : row + 4] for row in range(0, 16, 4)])
    frame = armature_to_world(armature).inverted() @ frame_at(handle.target, offset)
    if not (is_finite(handle.target.matrix_world) and is_finite(frame)):
        name = f"Handle '{handle.name}': its object '{handle.target.name}'"
        raise FabrikError(f"{name} has a position that is not a finite number")
    return frame


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
        pull.handle: _AddedHandle(pull.handle, pull.bone, pull.use_tail)
        if pull.bone
        else find_handle(armature, pull.handle)
        for pull in pulls
    }
    for one in pulled.values():
        require_effect(armature, one.bone)
    held = [one for one in body_of(armature).handles if one.name not in pulled and _is_held(one)]
    roles = _roles(armature)
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
        own = _desired(view_layer, armature, handle, places.get(handle.name), is_looking)
        if not is_pulled:
            own = _without_what_stays(read, handle, own)
        toes = None if is_pulled else toes_of(armature, handle, read.turning)
        priority = PINNED if handle.use_pin else PULLED if is_pulled else handle.priority
        try:
            if toes is not None:
                planted[handle.bone] = toes
                snapshots += _planted_by_toes(read, handle, toes)
                continue
            found = _snapshots_of(read, handle, own, priority)
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
) -> _BodyBones:
    """Return the bones of a body for a pull in which some bones follow; a root that the rig holds doesn't turn."""
    holder = holder_of(root)
    turning = {name for name in _turning(armature, roles) if name in following}
    if holder:
        turning.discard(root.name)
    elif root_follows:
        turning.add(root.name)
    return _BodyBones(ArmatureBones(armature), root, turning, holder)


def _lifted(
    armature: Object, handle: FabrikHandle | _AddedHandle, pull: Pull, found: Sequence[Snapshot]
) -> Sequence[Snapshot]:
    """Return the chains of a handle that is pulled: a lifted foot keeps its rotation less (``lifted_weight``)."""
    if isinstance(handle, _AddedHandle) or pull.position is None or pull.rotation is not None:
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
    longest = max((one.chain.total_length for one in snapshots), default=0.0)
    found = []
    for one in snapshots:
        if not one.bones.use_tail and len(one.bones.bones) == 1:
            tolerance = one.options.tolerance * longest / one.chain.total_length
            one = replace(one, options=replace(one.options, tolerance=tolerance))
        found.append(one)
    return tuple(found)


def _desired(
    view_layer: ViewLayer, armature: Object, handle: FabrikHandle | _AddedHandle, pull: Pull | None, is_looking: bool
) -> Pull:
    """Return where a handle should be: where it is pulled, at the object that it follows, or where it is.

    Args:
        view_layer: with the armature and what is followed.
        armature: with the body.
        handle: of the body, or added to it.
        pull: of the handle; None of one that isn't pulled.
        is_looking: whether the handle's bone is the head that looks at a point: the look decides its rotation.
    """
    position, rotation = (None, None) if pull is None else (pull.position, pull.rotation)
    if handle.use_pin and pull is None and (frame := _followed_frame(view_layer, armature, handle)) is not None:
        position, rotation = frame.to_translation(), frame.to_quaternion()
    if position is None and (handle.use_pin or handle.use_position):
        position = handle_place(armature, handle)
    if rotation is None and (handle.use_pin or (handle.use_rotation and not is_looking)):
        rotation = handle_bone(armature, handle).matrix.to_quaternion()
    return Pull(handle.name, position, rotation)


def _without_what_stays(body: _BodyBones, handle: FabrikHandle | _AddedHandle, pull: Pull) -> Pull:
    """Return where a held handle should be, without the place and the rotation that no bone that turns could change."""
    bone = body.all_bones.armature.pose.bones[handle.bone]
    above = [one.name in body.turning for one in _line_to_root(body, bone)]
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


def _looking(body: _BodyBones, look: Look) -> Snapshot:
    """Return the chain from the body's root to the head that looks; the look itself is a task of the whole tree."""
    return replace(_without_task(body, LOOK_CHAIN, look.head), priority=LOOKING)


def _without_task(body: _BodyBones, name: str, bone: PoseBone) -> Snapshot:
    """Return the chain from the body's root to a bone that should be nowhere."""
    snapshot = _snapshot(body, _bones(body, name, bone, True), Goals(np.array([bone.tail[:]])))
    return replace(snapshot, has_position=False)


def _with_a_link(body: _BodyBones, snapshots: Sequence[Snapshot]) -> Sequence[Snapshot]:
    """Return chains of which one leads on from the root: the tree of a root that is pulled alone has no link."""
    if any(one.bones.end != body.root for one in snapshots):
        return snapshots
    bones = body.all_bones.armature.pose.bones
    others = (bones[name] for name in body.turning if body.root in with_ancestors(bones[name])[1:])
    other = min(others, key=lambda bone: bone.name, default=None)
    return snapshots if other is None else [*snapshots, _without_task(body, other.name, other)]


def _planted_by_toes(body: _BodyBones, handle: FabrikHandle, toes: PoseBone) -> list[Snapshot]:
    """Return the chains of a planted foot: its toes stay, and its heel lifts where the leg is too short otherwise.

    Pinned are the place and the rotation of the toes and the axis about which the heel lifts. The rotation of the foot
    comes after the handle that is pulled. That the heel doesn't sink is a row of the floor task (``read_floor``).
    """
    armature = body.all_bones.armature
    foot = armature.pose.bones[handle.bone]
    along, rotation = toes.head - foot.head, foot.matrix.to_quaternion()
    axis = rotation.inverted() @ upward(armature).cross(along).normalized()
    place = Pull(handle.name, toes.head.copy(), toes.matrix.to_quaternion())
    ball = _AddedHandle(f"{handle.name} (toes)", toes.name, use_tail=False, slack=handle.slack)
    found = _snapshots_of(body, ball, place, PINNED)
    (flat,) = _snapshots_of(body, handle, Pull(handle.name, rotation=rotation), HELD)
    sideways = replace(flat, bones=replace(flat.bones, chain_name=f"{handle.name} (axis)"), is_pinned=True)
    goals = replace(flat.goals, rotation_axes=np.array([axis[:]]))
    bounded = replace(flat.goals, rotation_bounds=np.array([FLAT_BOUND]))
    return [
        *found,
        replace(flat, goals=bounded, weight=FLAT_WEIGHT),
        replace(sideways, goals=goals, priority=PINNED),
    ]


def _is_held(handle: FabrikHandle) -> bool:
    """Tell whether a handle keeps something; one whose part was set to no bone has nothing to keep."""
    return bool(handle.bone) and (handle.use_pin or handle.use_position or handle.use_rotation)


def _roles(armature: Object) -> dict[str, str]:
    """Return the role of each bone that has one.

    Raises:
        FabrikError: a part's bone isn't there any more.
    """
    found = {}
    for part in body_of(armature).parts:
        if not part.bone:
            continue
        if part.bone not in armature.pose.bones:
            raise FabrikError(
                f"Part '{part.name}': there is no bone '{part.bone}' in '{armature.name}' any more: "
                "choose another bone, or press Find Again"
            )
        found[part.bone] = part.role
    return found


def turning_bones(armature: Object) -> set[str]:
    """Return the names of the bones that turn: those with a role, without those that divide another one.

    Raises:
        FabrikError: a part's bone isn't there any more.
    """
    return _turning(armature, _roles(armature))


def _turning(armature: Object, roles: Mapping[str, str]) -> set[str]:
    bones = armature.pose.bones
    return {
        name
        for name, role in roles.items()
        if not (role in _SINGLE and bones[name].parent is not None and roles.get(bones[name].parent.name) == role)
    }


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
        if all(bone in way for way in ways) and not (bone.bone.use_connect and bone.parent):
            return bone
    raise FabrikError(f"The handles of '{armature.name}' have no bone in common: parent the parts of its body to one")


def _snapshots_of(body: _BodyBones, handle: FabrikHandle | _AddedHandle, pull: Pull, priority: int) -> list[Snapshot]:
    """Return the chain of a handle's position and that of its rotation, whichever the handle has.

    A position at a bone's head is one of the chain that ends there, in which the bone doesn't turn.
    """
    armature = body.all_bones.armature
    bone = armature.pose.bones[handle.bone]
    found = []
    if pull.position is not None:
        # A chain of the root bone alone that ends at its head has no link: it is read with the tail as its end.
        is_at_root = bone == body.root and not handle.use_tail
        bones = _bones(body, handle.name, bone, handle.use_tail or is_at_root)
        has_slack = handle.slack > 0.0 and priority != PULLED
        slack = np.array([handle.slack / armature_to_world(armature).median_scale]) if has_slack else None
        goals = Goals(np.array([pull.position[:]]), slack=slack)
        snapshot = _snapshot(body, bones, goals)
        found.append(replace(snapshot, bones=replace(bones, use_tail=False)) if is_at_root else snapshot)
    if pull.rotation is not None:
        carrier = _carrier(body, bone)
        for one in (bone, carrier):
            if is_locked(one):
                raise FabrikError(f"the rotation of bone '{one.name}' is locked: unlock it, or switch its Rotation off")
        name = rotation_name(handle.name)
        rotation = carried_rotation(pull.rotation, bone, carrier)
        goals = Goals(np.array([carrier.tail[:]]), rotations=np.array([rotation[:]]))
        snapshot = _snapshot(body, _bones(body, name, carrier, True), goals)
        found.append(replace(snapshot, has_position=False, weight=HELD_WEIGHT if priority == HELD else 1.0))
    return [replace(one, priority=priority, is_pinned=priority == PINNED) for one in found]


def carried_rotation(rotation: Quaternion, bone: PoseBone, carrier: PoseBone) -> Quaternion:
    """Return the rotation of a carrier with which a bone that is rigid with it has a rotation, in armature space.

    ``C' = B' B^-1 C``, with B and C the rotations of the bone and of its carrier that are shown.
    """
    if carrier == bone:
        return rotation
    return rotation @ bone.matrix.to_quaternion().inverted() @ carrier.matrix.to_quaternion()


def _carrier(body: _BodyBones, bone: PoseBone) -> PoseBone:
    """Return the bone with which another one rotates: itself, or the last one above it that turns.

    A bone that divides a shin, say, is rigid with the shin. With the desired rotation of such a bone taken for that of
    the one above it planted feet rotated by 59 degrees, and hips that were pulled down by 2 cm fell by 25.
    """
    return next((one for one in _line_to_root(body, bone) if one.name in body.turning), bone)


def _line_to_root(body: _BodyBones, bone: PoseBone) -> list[PoseBone]:
    """Return a bone and its ancestors up to a body's root.

    Raises:
        FabrikError: it doesn't move with the root.
    """
    line = with_ancestors(bone)
    if body.root not in line:
        raise FabrikError(f"bone '{bone.name}' doesn't move with bone '{body.root.name}', from which the body starts")
    return line[: line.index(body.root) + 1]


def _bones(body: _BodyBones, name: str, bone: PoseBone, use_tail: bool) -> ChainBones:
    """Return the bones of a chain from a body's root to a bone; those without a role don't turn."""
    bones = tuple(reversed(_line_to_root(body, bone)[0 if use_tail else 1 :]))
    spec = ChainSpec(name, bone.name, len(bones), use_tail, use_limits=True)
    found = read_bones(body.all_bones.armature, spec, body.all_bones, bones)
    turning = [i for i, one in enumerate(found.bones) if one.name in body.turning]
    if not turning and body.holder:
        raise FabrikError(f"{body.holder} holds bone '{body.root.name}', from which the body starts: mute it")
    if not turning:
        raise FabrikError("none of the bones that follow moves it: let the whole body follow")
    free = tuple(i for i in turning if not is_locked(found.bones[i]))
    if not free:
        raise all_locked([found.bones[i] for i in turning])
    return replace(found, free=free)


def _snapshot(body: _BodyBones, bones: ChainBones, goals: Goals) -> Snapshot:
    # The chain alone has one bone only of those that start at the same place; the body's tree has all of them.
    names = {bone.name for bone in bones.bones}
    first = {bone.name for bone in one_bone_per_joint([bones.bones[i] for i in bones.free], names)}
    alone = replace(bones, free=tuple(i for i in bones.free if bones.bones[i].name in first))
    chain, pose = read_pose(alone, chain_matrices(alone), alone.rotations)
    overridden: tuple[str, ...] = ()
    if bones.is_constrained:
        rotating = body.all_bones.chain_constraints
        overridden = overrides_of(body.all_bones.armature, bones.line, use_limits=True, rotating=rotating)
    return Snapshot(
        bones=bones,
        chain=chain,
        pose=pose,
        goals=goals,
        options=Options(moves_root=True),
        influence=1.0,
        overridden=overridden,
        moving=body.all_bones.moving_with(bones.bones[0]),
        followed=frozenset(),
    )
