# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring captured motion onto Rigify's human: import a BVH file, key targets from it, bake, and render a strip.

The captured skeleton gets chains of its own, and Snap Targets keys targets and poles from its motion. The human's legs
then reach for the same targets; its arms for theirs, moved to its own shoulders and scaled to its own arms. The strip
shows the human alone; the saved file has both.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import environment

if __name__ == "__main__":
    environment.enter()

import bpy
import numpy as np
from bpy.types import Object
from mathutils import Matrix, Vector

sys.path.insert(0, str(environment.ROOT))
import fabrik_addon
import picture
from mannequin import make_mannequin

MOTION = environment.ROOT / "tests/data/cmu_01_01_jump.bvh"
POSES = 7
"""Poses in the strip."""


@dataclass(frozen=True)
class ArmOrLeg:
    """A chain of two bones of the human, and the captured chain of two bones whose motion it takes."""

    name: str
    tip: str
    """Last bone of the human's chain."""
    captured: str
    """Last bone of the captured chain."""
    is_arm: bool


ARMS_AND_LEGS = (
    ArmOrLeg("left arm", "forearm.L", "LeftForeArm", True),
    ArmOrLeg("right arm", "forearm.R", "RightForeArm", True),
    ArmOrLeg("left leg", "shin.L", "LeftLeg", False),
    ArmOrLeg("right leg", "shin.R", "RightLeg", False),
)
TORSO = (("torso", "spine.003", "Spine1"), ("head", "spine.006", "Head"))
"""Chains of three bones, and the captured bones whose tails are their targets."""

COPIED_ROTATIONS = {"spine": "Hips", "foot.L": "LeftFoot", "foot.R": "RightFoot", "spine.006": "Head"}
"""Bones of the human that are rotated as captured bones are."""

_WORST_ERROR = 0.05
"""Distance from tip to target over chain length, at the worst frame, above which the script exits with 1."""


def main() -> None:
    """Retarget, save, render, and print the largest error of every chain."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--motion", type=Path, default=MOTION, metavar="FILE", help="a .bvh file with CMU's names")
    parser.add_argument("--output", type=Path, default=environment.ROOT / "out", metavar="DIR", help="default: out")
    parser.add_argument("--no-render", action="store_true", help="only the .blend file")
    arguments = parser.parse_args()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    fabrik_addon.register()
    captured, human = _import(arguments.motion), _add_human()
    last = round(captured.animation_data.action.frame_range[1])
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, last
    _fit(captured, human)
    targets = _targets_of(captured, last)
    _key_rotations(human, captured, last, ("spine",), with_location="spine")
    for name, tip, source in TORSO:
        target = _empty(f"{name} target", 'CUBE')
        _key_target(human, captured, target, (tip, source), last)
        _chain(human, name, tip, 3, target, None)
    _bake(human, last)
    for chain in human.fabrik.chains:
        chain.enabled = False  # the torso is baked
    for part in ARMS_AND_LEGS:
        target, pole = targets[part.captured]
        if part.is_arm:
            _move_to_shoulder(human, captured, part, (target, pole), last)
        _chain(human, part.name, part.tip, 2, target, pole)
    _bake(human, last)
    _key_rotations(human, captured, last, ("foot.L", "foot.R", "spine.006"))
    worst = _report(human, last)

    output: Path = arguments.output.resolve() / f"{arguments.motion.stem}.blend"
    output.parent.mkdir(parents=True, exist_ok=True)
    bpy.context.preferences.filepaths.save_version = 0  # no .blend1 beside it
    bpy.ops.wm.save_as_mainfile(filepath=str(output), copy=True)
    print(f"saved     {output}", flush=True)
    if not arguments.no_render:
        picture.render(_strip(human, last), output.with_suffix(".png"), picture.View(1320, 460))
        print(f"rendered  {output.with_suffix('.png')}", flush=True)
    sys.stdout.flush()
    os._exit(int(worst > _WORST_ERROR))  # Blender as a module can hang in a plain exit


def _import(path: Path) -> Object:
    bpy.ops.preferences.addon_enable(module="io_anim_bvh")
    bpy.ops.import_anim.bvh(filepath=str(path), rotate_mode='QUATERNION')
    assert bpy.context.object is not None
    captured = bpy.context.object
    captured.name = "captured"
    return captured


def _add_human() -> Object:
    bpy.ops.preferences.addon_enable(module="rigify")
    bpy.ops.object.armature_human_metarig_add()
    assert bpy.context.object is not None
    human = bpy.context.object
    human.name = "human"
    return human


def _fit(captured: Object, human: Object) -> None:
    """Scale the captured skeleton to the human's legs, and put it where the human stands at the first frame."""
    ours = sum((human.data.bones[name].length for name in ("thigh.L", "shin.L")), 0.0)
    theirs = sum((captured.data.bones[name].length for name in ("LeftUpLeg", "LeftLeg")), 0.0)
    captured.scale = (ours / theirs,) * 3
    _go_to(1)
    feet = [captured.matrix_world @ captured.pose.bones[name].head for name in ("LeftFoot", "RightFoot")]
    own = [human.matrix_world @ human.pose.bones[name].head for name in ("foot.L", "foot.R")]
    captured.location += (own[0] + own[1]) / 2 - (feet[0] + feet[1]) / 2
    _go_to(1)


def _targets_of(captured: Object, last: int) -> dict[str, tuple[Object, Object]]:
    """Give the captured arms and legs chains, and key their targets and poles from the motion."""
    for part in ARMS_AND_LEGS:
        target, pole = _empty(f"{part.name} target", 'CUBE'), _empty(f"{part.name} pole", 'SPHERE')
        _go_to(1)
        knee = captured.matrix_world @ captured.pose.bones[part.captured].head
        pole.location = knee + Vector((0.0, 0.5 if part.is_arm else -0.5, 0.0))
        _chain(captured, part.name, part.captured, 2, target, pole)
    _in_pose_mode(captured, lambda: bpy.ops.pose.fabrik_key_targets(frame_start=1, frame_end=last))
    return {chain.tip: (chain.target, chain.pole_target) for chain in captured.fabrik.chains}


def _bake(human: Object, last: int) -> None:
    _in_pose_mode(human, lambda: bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=last))


def _key_target(human: Object, captured: Object, target: Object, names: tuple[str, str], last: int) -> None:
    """Key a target at ``h + (x - c) l / m``: the tail ``x`` of a captured bone, brought to the human's proportions.

    ``c`` and ``h`` are the captured and the human hips, ``m`` and ``l`` the distances from hips to tail at rest.

    Args:
        human: armature that is to move.
        captured: armature with the motion.
        target: to be keyed.
        names: of the human's bone that shall reach the target, and of the captured bone.
        last: frame.
    """
    tip, source = names
    bones, others = human.data.bones, captured.data.bones
    ours = (bones[tip].tail_local - bones["spine"].head_local).length
    theirs = (others[source].tail_local - others["Hips"].head_local).length * captured.scale[0]
    for frame in range(1, last + 1):
        _go_to(frame)
        hips = captured.matrix_world @ captured.pose.bones["Hips"].head
        away = captured.matrix_world @ captured.pose.bones[source].tail - hips
        target.location = human.matrix_world @ human.pose.bones["spine"].head + away * ours / theirs
        target.keyframe_insert("location", frame=frame)


def _move_to_shoulder(human: Object, captured: Object, arm: ArmOrLeg, empties: tuple[Object, ...], last: int) -> None:
    """Parent an arm's target and pole to an empty that maps the captured shoulder to the human's.

    The empty is keyed at ``s - k c`` with the scale ``k``: the ratio of the arms' lengths, with ``c`` and ``s`` the
    captured and the human shoulder.
    """
    ours, theirs = human.pose.bones[arm.tip], captured.pose.bones[arm.captured]
    scale = (ours.length + ours.parent.length) / (theirs.length + theirs.parent.length) / captured.scale[0]
    parent = _empty(f"{arm.name} shoulder", 'PLAIN_AXES')
    parent.scale = (scale,) * 3
    for frame in range(1, last + 1):
        _go_to(frame)
        own, other = human.matrix_world @ ours.parent.head, captured.matrix_world @ theirs.parent.head
        parent.location = own - scale * other
        parent.keyframe_insert("location", frame=frame)
    for empty in empties:
        empty.parent = parent


def _key_rotations(human: Object, captured: Object, last: int, names: tuple[str, ...], with_location: str = "") -> None:
    """Key bones at their rest rotation times the rotation of a captured bone from its rest, frame by frame.

    Args:
        human: armature that is to move.
        captured: armature with the motion.
        last: frame.
        names: of the human's bones.
        with_location: name of the bone between the hip joints, whose location is keyed as well.
    """
    for frame in range(1, last + 1):
        _go_to(frame)
        for name in names:
            bone, source = human.pose.bones[name], captured.pose.bones[COPIED_ROTATIONS[name]]
            rotation = (source.matrix @ source.bone.matrix_local.inverted()).to_quaternion()
            world = captured.matrix_world.to_quaternion()
            rotation = world @ rotation @ world.conjugated()
            head = bone.head
            if name == with_location:
                joints = [
                    captured.matrix_world @ captured.pose.bones[side].head for side in ("LeftUpLeg", "RightUpLeg")
                ]
                rest = human.data.bones
                above = rest[name].head_local - (rest["thigh.L"].head_local + rest["thigh.R"].head_local) / 2
                head = human.matrix_world.inverted() @ ((joints[0] + joints[1]) / 2) + rotation @ above
            bone.matrix = Matrix.LocRotScale(head, rotation @ bone.bone.matrix_local.to_quaternion(), None)
            bone.keyframe_insert("rotation_quaternion", frame=frame)
            if name == with_location:
                bone.keyframe_insert("location", frame=frame)


def _report(human: Object, last: int) -> float:
    """Print the largest distance from tip to target of every enabled chain, over its length; return the largest."""
    worst = 0.0
    print(f"\n{'chain':12} worst frame   tip to target, over the chain's length")
    for chain in human.fabrik.chains:
        if not chain.enabled:
            continue
        off = []
        for frame in range(1, last + 1):
            _go_to(frame)
            joints = picture.chain_joints(human, chain)
            length = sum((b - a).length for a, b in itertools.pairwise(joints))
            off.append((joints[-1] - chain.target.matrix_world.translation).length / length)
        print(f"{chain.name:12} {1 + int(np.argmax(off)):11d}   {max(off):.1e}", flush=True)
        worst = max(worst, *off)
    return worst


def _strip(human: Object, last: int) -> list[picture.Figure]:
    """Return poses from the motion, each moved horizontally so that the hips are above the origin."""
    figures = []
    solids = make_mannequin(human)
    for frame in np.linspace(1, last, POSES).astype(int):
        _go_to(int(frame))
        hips = human.matrix_world @ human.pose.bones["spine"].head
        figure = picture.look_at(human, f"{frame}", solids)
        figures.append(figure.moved(Matrix.Translation((-hips.x, -hips.y, 0.0))))
    return figures


def _chain(armature: Object, name: str, tip: str, count: int, target: Object, pole: Object | None) -> None:
    chain = armature.fabrik.chains.add()
    chain.name, chain.tip, chain.chain_count, chain.target, chain.pole_target = name, tip, count, target, pole


def _in_pose_mode(armature: Object, work: Callable[[], object]) -> None:
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode='POSE')
    work()
    bpy.ops.object.mode_set(mode='OBJECT')


def _empty(name: str, display: Literal['CUBE', 'PLAIN_AXES', 'SPHERE']) -> Object:
    empty = bpy.data.objects.new(name, None)
    empty.empty_display_type, empty.empty_display_size = display, 0.05
    bpy.context.scene.collection.objects.link(empty)
    return empty


def _go_to(frame: int) -> None:
    bpy.context.scene.frame_set(frame)


if __name__ == "__main__":
    main()
