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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import environment

if __name__ == "__main__":
    environment.enter()

import bpy
import numpy as np
from mathutils import Matrix, Vector

sys.path.insert(0, str(environment.ROOT))
import fabrik_addon
import picture

MOTION = environment.ROOT / "tests/data/cmu_01_01_jump.bvh"
POSES = 7
"""Poses in the strip."""


@dataclass(frozen=True)
class CapturedLimb:
    """A limb of the human and the captured one it follows: last bones, two bones each."""

    name: str
    tip: str
    captured: str
    is_arm: bool


LIMBS = (
    CapturedLimb("left arm", "forearm.L", "LeftForeArm", True),
    CapturedLimb("right arm", "forearm.R", "RightForeArm", True),
    CapturedLimb("left leg", "shin.L", "LeftLeg", False),
    CapturedLimb("right leg", "shin.R", "RightLeg", False),
)
TORSO = (("torso", "spine.003", "Spine1"), ("head", "spine.006", "Head"))
"""Chains of three bones, and the captured bones whose tails they follow."""

TURNS = {"spine": "Hips", "foot.L": "LeftFoot", "foot.R": "RightFoot", "spine.006": "Head"}
"""Bones of the human that turn as captured ones do."""


def main() -> None:
    """Retarget, save, render, and say how near every target was reached."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--motion", type=Path, default=MOTION, metavar="FILE", help="a .bvh file with CMU's names")
    parser.add_argument("--output", type=Path, default=environment.ROOT / "out", metavar="DIR", help="default: out")
    parser.add_argument("--no-render", action="store_true", help="only the .blend file")
    arguments = parser.parse_args()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    fabrik_addon.register()
    captured, human = _import(arguments.motion), _add_human()
    last = round(captured.animation_data.action.frame_range[1])
    scene: Any = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, last
    _fit(captured, human)
    targets = _targets_of(captured, last)
    _key_turns(human, captured, last, ("spine",), with_location="spine")
    for name, tip, source in TORSO:
        target = _empty(f"{name} target", 'CUBE')
        _follow(human, captured, target, tip, source, last)
        _reach(human, name, tip, 3, target, None)
    _bake(human, last)
    for limb in LIMBS:
        target, pole = targets[limb.captured]
        if limb.is_arm:
            _move_to_shoulder(human, captured, limb, (target, pole), last)
        _reach(human, limb.name, limb.tip, 2, target, pole)
    _bake(human, last)
    _key_turns(human, captured, last, ("foot.L", "foot.R", "spine.006"))
    worst = _report(human, last)

    output: Path = arguments.output.resolve() / f"{arguments.motion.stem}.blend"
    output.parent.mkdir(parents=True, exist_ok=True)
    bpy.context.preferences.filepaths.save_version = 0  # no .blend1 beside it
    bpy.ops.wm.save_as_mainfile(filepath=str(output), copy=True)
    print(f"saved     {output}", flush=True)
    if not arguments.no_render:
        picture.HEIGHT = 460  # a strip
        picture.render(_strip(human, last), output.with_suffix(".png"))
        print(f"rendered  {output.with_suffix('.png')}", flush=True)
    sys.stdout.flush()
    os._exit(int(worst > 0.05))  # bpy can hang in a plain exit


def _import(path: Path) -> Any:
    bpy.ops.preferences.addon_enable(module="io_anim_bvh")
    bpy.ops.import_anim.bvh(filepath=str(path), rotate_mode='QUATERNION')
    captured: Any = bpy.context.object
    captured.name = "captured"
    return captured


def _add_human() -> Any:
    bpy.ops.preferences.addon_enable(module="rigify")
    bpy.ops.object.armature_human_metarig_add()
    human: Any = bpy.context.object
    human.name = "human"
    return human


def _fit(captured: Any, human: Any) -> None:
    """Scale the captured skeleton to the human's legs, and put it where the human stands at the first frame."""
    ours = sum(human.data.bones[name].length for name in ("thigh.L", "shin.L"))
    theirs = sum(captured.data.bones[name].length for name in ("LeftUpLeg", "LeftLeg"))
    captured.scale = (ours / theirs,) * 3
    _go_to(1)
    feet = [captured.matrix_world @ captured.pose.bones[name].head for name in ("LeftFoot", "RightFoot")]
    own = [human.matrix_world @ human.pose.bones[name].head for name in ("foot.L", "foot.R")]
    captured.location += (own[0] + own[1]) / 2 - (feet[0] + feet[1]) / 2
    _go_to(1)


def _targets_of(captured: Any, last: int) -> dict[str, tuple[Any, Any]]:
    """Give the captured limbs chains, and key their targets and poles from the motion."""
    for limb in LIMBS:
        target, pole = _empty(f"{limb.name} target", 'CUBE'), _empty(f"{limb.name} pole", 'SPHERE')
        _go_to(1)
        knee = captured.matrix_world @ captured.pose.bones[limb.captured].head
        pole.location = knee + Vector((0.0, 0.5 if limb.is_arm else -0.5, 0.0))
        _chain(captured, limb.name, limb.captured, 2, target, pole)
    _in_pose_mode(captured, lambda: bpy.ops.pose.fabrik_snap_target(use_range=True, frame_start=1, frame_end=last))
    return {chain.tip: (chain.target, chain.pole_target) for chain in captured.fabrik.chains}


def _reach(human: Any, name: str, tip: str, count: int, target: Any, pole: Any) -> None:
    for chain in human.fabrik.chains:
        if chain.name in {"torso", "head"} and name not in {"torso", "head"}:
            chain.enabled = False  # done
    _chain(human, name, tip, count, target, pole)


def _bake(human: Any, last: int) -> None:
    _in_pose_mode(human, lambda: bpy.ops.pose.fabrik_bake(frame_start=1, frame_end=last))


def _follow(human: Any, captured: Any, target: Any, tip: str, source: str, last: int) -> None:
    """Key a target to where a captured bone's tail is, as far from the human's hips as its own body is longer."""
    bones, others = human.data.bones, captured.data.bones
    ours = (bones[tip].tail_local - bones["spine"].head_local).length
    theirs = (others[source].tail_local - others["Hips"].head_local).length * captured.scale[0]
    for frame in range(1, last + 1):
        _go_to(frame)
        hips = captured.matrix_world @ captured.pose.bones["Hips"].head
        away = captured.matrix_world @ captured.pose.bones[source].tail - hips
        target.location = human.matrix_world @ human.pose.bones["spine"].head + away * ours / theirs
        target.keyframe_insert("location", frame=frame)


def _move_to_shoulder(human: Any, captured: Any, limb: CapturedLimb, empties: tuple[Any, ...], last: int) -> None:
    """Parent an arm's target and pole to an empty that takes the captured shoulder to the human's."""
    ours, theirs = human.pose.bones[limb.tip], captured.pose.bones[limb.captured]
    scale = (ours.length + ours.parent.length) / (theirs.length + theirs.parent.length) / captured.scale[0]
    carrier = _empty(f"{limb.name} shoulder", 'PLAIN_AXES')
    carrier.scale = (scale,) * 3
    for frame in range(1, last + 1):
        _go_to(frame)
        own, other = human.matrix_world @ ours.parent.head, captured.matrix_world @ theirs.parent.head
        carrier.location = own - scale * other
        carrier.keyframe_insert("location", frame=frame)
    for empty in empties:
        empty.parent = carrier


def _key_turns(human: Any, captured: Any, last: int, names: tuple[str, ...], with_location: str = "") -> None:
    """Turn bones by as much as captured ones are turned from their rest, frame by frame."""
    for frame in range(1, last + 1):
        _go_to(frame)
        for name in names:
            bone, source = human.pose.bones[name], captured.pose.bones[TURNS[name]]
            turn = (source.matrix @ source.bone.matrix_local.inverted()).to_quaternion()
            world = captured.matrix_world.to_quaternion()
            turn = world @ turn @ world.conjugated()
            place = bone.head
            if name == with_location:
                joints = [
                    captured.matrix_world @ captured.pose.bones[side].head for side in ("LeftUpLeg", "RightUpLeg")
                ]
                rest = human.data.bones
                above = rest[name].head_local - (rest["thigh.L"].head_local + rest["thigh.R"].head_local) / 2
                place = human.matrix_world.inverted() @ ((joints[0] + joints[1]) / 2) + turn @ above
            bone.matrix = Matrix.LocRotScale(place, turn @ bone.bone.matrix_local.to_quaternion(), None)
            bone.keyframe_insert("rotation_quaternion", frame=frame)
            if name == with_location:
                bone.keyframe_insert("location", frame=frame)


def _report(human: Any, last: int) -> float:
    """Print how near the tips are to their targets at the worst frame; return the worst of all, over its length."""
    worst = 0.0
    print(f"\n{'chain':12} worst frame   tip off, over the chain's length")
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


def _strip(human: Any, last: int) -> list[picture.Figure]:
    """Return poses from the motion, each moved back to where the first one stands."""
    figures = []
    for frame in np.linspace(1, last, POSES).astype(int):
        _go_to(int(frame))
        drawn = picture.look_at(human, f"{frame}")
        hips = human.matrix_world @ human.pose.bones["spine"].head
        back = Vector((-hips.x, -hips.y, 0.0))
        bones = tuple(replace(bone, head=bone.head + back, tail=bone.tail + back) for bone in drawn.bones)
        chains = tuple(
            replace(chain, tip=chain.tip + back, middle=chain.middle + back, target=chain.target + back, pole=None)
            for chain in drawn.chains
        )
        figures.append(picture.Figure(drawn.label, bones, chains))
    return figures


def _chain(armature: Any, name: str, tip: str, count: int, target: Any, pole: Any) -> None:
    chain = armature.fabrik.chains.add()
    chain.name, chain.tip, chain.chain_count, chain.target, chain.pole_target = name, tip, count, target, pole


def _in_pose_mode(armature: Any, work: Callable[[], Any]) -> None:
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode='POSE')
    work()
    bpy.ops.object.mode_set(mode='OBJECT')


def _empty(name: str, display: str) -> Any:
    empty: Any = bpy.data.objects.new(name, None)
    empty.empty_display_type, empty.empty_display_size = display, 0.05
    bpy.context.scene.collection.objects.link(empty)
    return empty


def _go_to(frame: int) -> None:
    bpy.context.scene.frame_set(frame)


if __name__ == "__main__":
    main()
