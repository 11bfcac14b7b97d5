# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs to pose, and what tests compare before and after: the tip, the joints, everything that could have changed."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Collection, Object, PoseBone
from hypothesis import HealthCheck, settings
from mathutils import Matrix, Quaternion, Vector

EULER_MODES = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
ROTATION_MODES = ("QUATERNION", "AXIS_ANGLE", *EULER_MODES)
CHANNELS = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}


def examples(count: int) -> settings:
    """The same examples on every machine; a fresh scene is made in the test, since fixtures run once for all."""
    return settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


# Making rigs


@dataclass(frozen=True)
class Bone:
    """A bone to be made; ``parent`` is a name."""

    name: str
    head: Sequence[float]
    tail: Sequence[float]
    parent: str | None = None
    connected: bool = False
    roll: float = 0.0


def make_armature(bones: Sequence[Bone], name: str = "Rig") -> Object:
    """Make an armature object, active and in Pose mode."""
    leave_mode()
    armature = bpy.data.objects.new(name, bpy.data.armatures.new(name))
    bpy.context.scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in bones:
        made = armature.data.edit_bones.new(bone.name)
        made.head, made.tail, made.roll = bone.head, bone.tail, bone.roll
        made.parent = armature.data.edit_bones[bone.parent] if bone.parent else None
        made.use_connect = bone.connected
    bpy.ops.object.mode_set(mode="POSE")
    return armature


def make_tail(count: int = 3, name: str = "Rig", prefix: str = "bone", at: Sequence[float] = (0.0, 0.0, 0.0)) -> Object:
    """Make bones 0 to count - 1, one long, upward, bent a little, with a finger on the tip and a twig on the root."""
    return make_armature(tail_bones(count, prefix, at), name)


def tail_bones(count: int, prefix: str = "bone", at: Sequence[float] = (0.0, 0.0, 0.0)) -> list[Bone]:
    points = [Vector(at) + Vector((0.0, -0.15 * min(i, count - i), float(i))) for i in range(count + 1)]
    bones = [
        Bone(f"{prefix}{i}", points[i], points[i + 1], f"{prefix}{i - 1}" if i else None, connected=i > 0)
        for i in range(count)
    ]
    end = points[-1] + Vector((0.0, 0.3, 0.3))
    bones.append(Bone(f"{prefix} finger", points[-1], end, f"{prefix}{count - 1}"))
    bones.append(
        Bone(f"{prefix} twig", points[1] + Vector((0.5, 0.0, 0.0)), points[1] + Vector((1.0, 0.0, 0.0)), f"{prefix}0")
    )
    return bones


def limit_joints(armature: Object, *names: str) -> None:
    """Limit the rotation of bones about each of their axes."""
    for bone in (armature.pose.bones[name] for name in names):
        for axis in "xyz":
            setattr(bone, f"use_ik_limit_{axis}", True)
            setattr(bone, f"ik_min_{axis}", -0.6)
            setattr(bone, f"ik_max_{axis}", 0.9)


def make_limited_tail_with_pole() -> tuple[Object, Any, list[Vector]]:
    """Make five bones within limits with a chain on them, its pole behind, and a closed path for its target."""
    armature = make_tail(5)
    limit_joints(armature, *(f"bone{i}" for i in range(5)))
    path = []
    for step in range(49):
        angle = math.tau * step / 48
        across = 0.7 * Vector((0.55 * math.cos(angle), 0.4 * math.cos(angle) - 0.8 * math.sin(angle), 0.0))
        path.append(
            Vector((0.8, 0.9, 4.0)) + across + Vector((0.0, 0.0, 0.5 * math.cos(angle) + 0.4 * math.sin(angle)))
        )
    target, pole = make_empty("target", path[0]), make_empty("pole", (4.0, 1.0, 2.0))
    return armature, set_chain(armature, "bone4", 5, target, pole), path


def metarig(name: str) -> Object:
    """Add an armature of Rigify, such as "human_metarig", in Pose mode."""
    bpy.ops.preferences.addon_enable(module="rigify")
    getattr(bpy.ops.object, f"armature_{name}_add")()
    enter_pose_mode(bpy.context.object)
    return bpy.context.object


def through_bvh(armature: Object, folder: Path, **options: Any) -> Object:
    """Replace an armature by what Blender's BVH exporter and importer make of it, in Pose mode."""
    bpy.ops.preferences.addon_enable(module="io_anim_bvh")
    leave_mode()
    path = str(folder / "armature.bvh")
    bpy.ops.export_anim.bvh(filepath=path, frame_start=1, frame_end=2)
    bpy.data.objects.remove(armature)
    bpy.ops.import_anim.bvh(filepath=path, **options)
    enter_pose_mode(bpy.context.object)
    return bpy.context.object


class Saved:
    """Where the session's generated rigs are saved; the fixture ``addon`` says it."""

    folder: Path


def generated_rig(name: str, ik_fk: float = 1.0) -> Object:
    """Open Rigify's rig of a metarig, in Pose mode; limbs follow FK controls (1) or IK controls (0)."""
    bpy.ops.wm.open_mainfile(filepath=_file_of_generated(name), use_scripts=True)
    bpy.ops.preferences.addon_enable(module="rigify")
    armature = bpy.context.object
    enter_pose_mode(armature)
    for limb in ("upper_arm", "thigh"):
        for side in "LR":
            parent = armature.pose.bones.get(f"{limb}_parent.{side}")
            if parent is not None and "IK_FK" in parent:
                parent["IK_FK"] = ik_fk
    armature.update_tag()
    update()
    return armature


def _file_of_generated(name: str) -> str:
    """Return the saved rig that Rigify generates from a metarig, which takes up to 15 seconds the first time."""
    path = Saved.folder / f"{name}.blend"
    if path.exists():
        return str(path)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    metarig(name)
    assert bpy.ops.pose.rigify_generate() == {"FINISHED"}
    unfinished = path.with_name(f"{name}-{os.getpid()}.blend")  # another worker may be at it, too
    bpy.ops.wm.save_as_mainfile(filepath=str(unfinished))
    unfinished.replace(path)
    return str(path)


def make_empty(name: str, location: Sequence[float] = (0.0, 0.0, 0.0)) -> Object:
    empty = bpy.data.objects.new(name, None)
    empty.location = location
    bpy.context.scene.collection.objects.link(empty)
    bpy.context.view_layer.update()
    return empty


def leave_mode() -> None:
    if bpy.context.object is not None and bpy.context.object.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")


def enter_pose_mode(armature: Object) -> None:
    leave_mode()
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")


def clear_scene() -> None:
    """Remove all objects: an empty scene for an example, without the 40 ms of a new file."""
    leave_mode()
    bpy.data.batch_remove([*bpy.data.objects, *bpy.data.armatures, *bpy.data.actions])


def activate(armature: Object, bone: str) -> None:
    armature.data.bones.active = armature.data.bones[bone]


def add_chain(armature: Object, tip: str, count: int, target: Sequence[float] | None = None, **options: Any) -> Any:
    """Add a chain by the operator, and move its target."""
    activate(armature, tip)
    assert bpy.ops.pose.fabrik_chain_add(chain_count=count, **options) == {"FINISHED"}
    chain = armature.fabrik.chains[armature.fabrik.active_index]
    if target is not None:
        chain.target.location = target
    return chain


def set_chain(armature: Object, tip: str, count: int, target: Object | None, pole: Object | None = None) -> Any:
    """Add a chain to the settings, with existing objects."""
    chain = armature.fabrik.chains.add()
    chain.name, chain.tip, chain.chain_count, chain.target, chain.pole_target = tip, tip, count, target, pole
    return chain


# Where things are


def update() -> None:
    bpy.context.view_layer.update()


def change_animated(bone: PoseBone) -> None:
    """Key a bone's rotation, and change it at a frame between the keys."""
    for frame in (1, 10):
        bone.rotation_quaternion = (1.0, 0.1 * frame, 0.0, 0.0)
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    bpy.context.scene.frame_set(5)
    bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.7)


def collect(name: str, *objects: Object) -> Collection:
    """Make a collection of the scene with objects, which stay in theirs, too."""
    collection = bpy.data.collections.new(name)
    bpy.context.scene.collection.children.link(collection)
    for obj in objects:
        collection.objects.link(obj)
    return collection


def layer() -> Any:
    return bpy.context.view_layer


def matrices_of(armature: Object) -> np.ndarray:
    """The bones' matrices (B, 4, 4), armature space."""
    update()
    return np.array([bone.matrix for bone in armature.pose.bones])


def head_of(armature: Object, bone: str) -> Vector:
    """Where a bone's head is, world space."""
    update()
    return armature.matrix_world @ armature.pose.bones[bone].head


def end_of(armature: Object, chain: Any) -> Vector:
    """Where a chain's end is, in the world."""
    tip = armature.pose.bones[chain.tip]
    return armature.matrix_world @ (tip.tail if chain.use_tail else tip.head)


def bones_of(armature: Object, chain: Any) -> list[PoseBone]:
    """The bones of a chain, root first: the parents of the tip."""
    tip = armature.pose.bones[chain.tip]
    walk = [tip, *tip.parent_recursive] if chain.use_tail else list(tip.parent_recursive)
    return walk[: chain.chain_count or None][::-1]


def joints_of(armature: Object, chain: Any) -> np.ndarray:
    """Joints (J, 3) of a chain in armature space."""
    tip = armature.pose.bones[chain.tip]
    heads = [bone.head[:] for bone in bones_of(armature, chain)]
    return np.array([*heads, (tip.tail if chain.use_tail else tip.head)[:]])


def links_of(armature: Object, chain: Any) -> np.ndarray:
    return np.linalg.norm(np.diff(joints_of(armature, chain), axis=0), axis=1)


def distance_left(armature: Object, chain: Any) -> float:
    """Distance from a chain's end to its target in armature space, over the chain's length, as Blender has them."""
    update()
    target = chain.target.matrix_world
    if chain.subtarget:
        target = target @ chain.target.pose.bones[chain.subtarget].matrix
    target_armature = armature.matrix_world.inverted() @ target.translation
    return float(np.linalg.norm(joints_of(armature, chain)[-1] - target_armature[:]) / links_of(armature, chain).sum())


def rotation_channel(bone: PoseBone) -> tuple[float, ...]:
    return tuple(getattr(bone, CHANNELS.get(bone.rotation_mode, "rotation_euler")))


# What could have changed, as text: NaN equals NaN there


def channels_of(bone: PoseBone) -> dict[str, str]:
    names = ("location", "rotation_mode", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")
    return {name: repr(_plain(getattr(bone, name))) for name in names}


def _plain(value: Any) -> Any:
    return value if isinstance(value, str) else tuple(value)


def other_channels_of(bone: PoseBone) -> dict[str, str]:
    """All channels but the one its rotation mode uses."""
    used = CHANNELS.get(bone.rotation_mode, "rotation_euler")
    return {name: value for name, value in channels_of(bone).items() if name != used}


def pose_of(armature: Object) -> dict[str, dict[str, str]]:
    return {bone.name: channels_of(bone) for bone in armature.pose.bones}


def keys_of(action: Any) -> dict[tuple[str, int], list[tuple[float, float]]]:
    """Frame and value of every key of an action."""
    return {
        (curve.data_path, curve.array_index): [tuple(key.co) for key in curve.keyframe_points]
        for layer in action.layers
        for strip in layer.strips
        for bag in strip.channelbags
        for curve in bag.fcurves
    }


def link_action(obj: Object, path: Path) -> None:
    """Let an object have its action from a library."""
    animation: Any = obj.animation_data
    action, name = animation.action, animation.action.name
    bpy.data.libraries.write(str(path), {action}, fake_user=True)
    bpy.data.actions.remove(action)
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.actions = [name]
    animation.action = wanted.actions[0]
    animation.action_slot = animation.action.slots[0]
    update()


def tweak_strip_below_another(obj: Object) -> None:
    """Put an object's action into a strip of the NLA that is tweaked, below one with a copy of the action."""
    animation: Any = obj.animation_data
    lower = animation.nla_tracks.new().strips.new("lower", 1, animation.action)
    lower.action_slot = animation.action_slot
    upper = animation.nla_tracks.new().strips.new("upper", 1, animation.action.copy())
    upper.action_slot = upper.action.slots[0]
    animation.action = None
    upper.select = False
    _tweak(obj, lower)


def tweak_another_action(obj: Object) -> None:
    """Put an empty action into a strip of the NLA that is tweaked: the object's own isn't at hand then."""
    animation: Any = obj.animation_data
    action = bpy.data.actions.new("tweaked")
    strip = animation.nla_tracks.new().strips.new("strip", 1, action)
    strip.action_slot = action.slots.new("OBJECT", obj.name)
    _tweak(obj, strip)


def _tweak(obj: Object, strip: Any) -> None:
    """Tweak a strip of an object's first NLA track."""
    animation: Any = obj.animation_data
    strip.select = animation.nla_tracks[0].select = True
    animation.nla_tracks.active = animation.nla_tracks[0]
    obj.select_set(True)
    _in_nla_editor(bpy.ops.nla.tweakmode_enter, use_upper_stack_evaluation=True)
    assert animation.use_tweak_mode


def stop_tweaking() -> None:
    """Leave the tweak mode of the active object."""
    _in_nla_editor(bpy.ops.nla.tweakmode_exit)


def _in_nla_editor(operator: Any, **options: Any) -> None:
    area = bpy.context.window.screen.areas[0]
    area.type = "NLA_EDITOR"
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(area=area, region=region):
        operator(**options)


def everything() -> dict[str, Any]:
    """Objects and their matrices, bones and their channels, keys, collections, chains and their settings."""
    found: dict[str, Any] = {"collections": sorted(collection.name for collection in bpy.data.collections)}
    for obj in bpy.data.objects:
        found[obj.name_full] = {
            "channels": repr(
                [_plain(getattr(obj, name)) for name in ("location", "rotation_euler", "rotation_quaternion", "scale")]
            ),
            "world": repr([tuple(row) for row in obj.matrix_world]),
            "parent": obj.parent.name_full if obj.parent else "",
        }
        if obj.type == "ARMATURE":
            found[obj.name_full]["pose"] = pose_of(obj)
            chains = obj.fabrik.chains
            found[obj.name_full]["chains"] = [sorted((k, repr(v)) for k, v in _settings(chain)) for chain in chains]
            found[obj.name_full]["active"] = obj.fabrik.active_index
    found["keys"] = {action.name: keys_of(action) for action in bpy.data.actions}
    return found


def _settings(chain: Any) -> Iterator[tuple[str, Any]]:
    for name in ("name", "enabled", "tip", "chain_count", "use_tail", "subtarget", "pole_subtarget", "pole_angle"):
        yield name, getattr(chain, name)
    for name in ("target", "pole_target"):
        yield name, getattr(chain, name) and getattr(chain, name).name_full
    for name in ("iterations", "tolerance", "status", "error", "iterations_used"):
        yield name, getattr(chain, name)


@dataclass(frozen=True)
class UnkeyedEdits:
    """Keyed properties that were edited without a key: of a bone, of its constraint and of a light."""

    armature: Object
    bone: str
    light: Object

    def values(self) -> list[float]:
        """What the properties are now, those of the armature as evaluated too."""
        found = []
        for obj in (self.armature, self.armature.evaluated_get(layer().depsgraph)):
            bone = obj.pose.bones[self.bone]
            found += [bone["a [\"switch\"]"], *bone["pair"], round(bone.constraints[0].influence, 4)]
        return [*found, self.light.data.energy]

    def are_kept(self) -> bool:
        update()
        return self.values() == [0.7, 0.5, 0.25, 0.6] * 2 + [55.0]


def edit_without_key(armature: Object, name: str) -> UnkeyedEdits:
    """Key properties of a bone, of its constraint and of a light at 0, and edit them without a key."""
    bone = armature.pose.bones[name]
    light = bpy.data.objects.new("light", bpy.data.lights.new("light", "POINT"))
    bpy.context.scene.collection.objects.link(light)
    bone["a [\"switch\"]"], bone["pair"] = 0.0, (0.0, 0.0)
    constraint = bone.constraints.new("COPY_ROTATION")
    constraint.target, constraint.influence, light.data.energy = light, 0.0, 10.0
    for path in ('["a [\\"switch\\"]"]', '["pair"]'):
        bone.keyframe_insert(path, frame=1)
    constraint.keyframe_insert("influence", frame=1)
    light.data.keyframe_insert("energy", frame=1)
    update()
    bone["a [\"switch\"]"], bone["pair"], constraint.influence, light.data.energy = 0.7, (0.5, 0.25), 0.6, 55.0
    armature.update_tag()
    edits = UnkeyedEdits(armature, name, light)
    assert edits.are_kept()
    return edits


def error_of(operator: Any, **options: Any) -> str:
    """The error message of an operator that changes nothing."""
    update()
    before = everything()
    with pytest.raises(RuntimeError) as refusal:
        operator(**options)
    update()
    assert everything() == before
    return str(refusal.value).partition("Location:")[0].removeprefix("Error: ").strip()


def warnings_in(capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Printed warnings about chains: in the background Blender prints operators' warnings, also its own about keys."""
    lines = printed(capfd).splitlines()
    return [line.removeprefix("Warning: ") for line in lines if line.startswith("Warning: Chain ")]


def printed(capfd: pytest.CaptureFixture[str]) -> str:
    """What was printed since this was last asked."""
    ctypes.CDLL(None).fflush(None)  # C buffers what goes to a file
    return capfd.readouterr().out


# Random numbers that are the same everywhere


def random_direction(rng: np.random.Generator) -> Vector:
    return Vector(rng.normal(size=3)).normalized()


def random_rotation(rng: np.random.Generator, most: float = math.pi) -> Quaternion:
    return Quaternion(random_direction(rng), rng.uniform(-most, most))


def set_rotation(bone: PoseBone, rotation: Quaternion, turns: int = 0) -> None:
    """Write a rotation into the channel that a bone's mode uses, some full turns on where that can be."""
    if bone.rotation_mode == "QUATERNION":
        bone.rotation_quaternion = -rotation if turns % 2 else rotation
    elif bone.rotation_mode == "AXIS_ANGLE":
        axis, angle = rotation.to_axis_angle()
        bone.rotation_axis_angle = (angle + math.tau * turns, *axis)
    else:
        euler = rotation.to_euler(bone.rotation_mode)
        bone.rotation_euler = (euler.x + math.tau * turns, euler.y, euler.z - math.tau * turns)


def rotation_of(bone: PoseBone) -> Quaternion:
    """A bone's own rotation, by Blender's matrix of its channels."""
    return Matrix(bone.matrix_basis.to_3x3().normalized()).to_quaternion()


def linked(folder: Path, name: str = "Rig") -> Object:
    """Save the file as a library in a folder, and return its armature linked into another file, without an override."""
    leave_mode()
    library = str(folder / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=library)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(library, link=True) as (_, found):
        found.objects = [name]
    rig = bpy.data.objects[name]
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    update()
    return rig


def overridden(folder: Path) -> Object:
    """Return an override of ``linked``, in Pose mode."""
    rig = linked(folder).override_create(remap_local_usages=True)
    enter_pose_mode(rig)
    return rig
