# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captured poses that a body takes again from its handles alone, beside chains and Blender's own IK constraints."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, fields
from io import StringIO
from itertools import chain, product
from pathlib import Path
from typing import Any, TypeAlias

import bpy
import numpy as np
from bpy.types import Object, PoseBone
from mathutils import Matrix, Vector

from fabrik_addon.blender.bodies.body_snapshots import take_body
from fabrik_addon.blender.bodies.handles import Pull
from fabrik_addon.blender.bones.bone_limits import limits_of
from fabrik_addon.blender.bones.rotation_channel import Setting
from fabrik_addon.blender.rig.body_properties import body_of
from fabrik_addon.blender.rig.properties import settings_of
from fabrik_addon.blender.setup.make_body import make_body
from fabrik_addon.blender.solving.solve_body import body_group
from fabrik_addon.blender.solving.solve_chains import solve_chains, solve_group
from fabrik_addon.blender.solving.write_channels import write_channels
from fabrik_addon.core.math.operations import SCALAR
from fabrik_addon.core.model.joint_limits import hinge_axis, joint_limits, outside_by, swing_twist

from .blender_chain import make_empty, new_scene, register, view_layer
from .clips import PINNED, pybullet_clips
from .problems import Array, Effort
from .report import Row, Table

MOTION = Path(__file__).parents[2] / "tests/data/cmu_01_01_jump.bvh"

CMU = "CMU 01_01's jump: seen by the weights of spine and neck alone"
PYBULLET = "pybullet's: seen by the elbows' model and the weights of hips and clavicles"

ALL_HANDLES = ("Hips", "Head", "Hand.L", "Hand.R", "Foot.L", "Foot.R")

HANDLES = {
    "6: hips, head, hands, feet": ALL_HANDLES,
    "4: hands, feet": ALL_HANDLES[2:],
    "3: head, hands": ALL_HANDLES[1:4],
}

EVERY = 10
"""Of so many frames one is a pose to be taken again."""

LEAST_BEND = 0.02
"""Distance of an elbow or knee from the line between its neighbours, over the body's height, below which it has no
side: a bend of 12 degrees at the elbow, 6 at the knee. The sign of a side is noise there."""

LIMB_BONES = 3
"""Bones of a chain to a hand or a foot, the hand and foot not among them."""

OUTSIDE = 1.0
"""Degrees by which a bone of a captured pose is outside its limits, from which on the pose counts as outside."""

NOT_MEASURED = {'FINGER', 'TOE'}
"""Roles of bones that are no part of any handle's chain."""


@dataclass(frozen=True)
class Captured:
    """A pose of the motion, in armature space."""

    matrices: dict[str, Matrix]
    """Of the parts' bones."""

    def head(self, bone: str) -> Vector:
        """Return where a bone starts."""
        return self.matrices[bone].to_translation()


@dataclass(frozen=True)
class Errors:
    """How far poses are from the captured ones."""

    joints: Array
    """Distances of the joints that are no handles, over the body's height."""
    angles: Array
    """Angles of the bones that are no handles, degrees."""
    sides: Array
    """Whether each elbow and knee that is bent in both poses bends to the wrong side."""
    straight: Array
    """Whether each elbow and knee that is bent in the captured pose is straight in the other."""
    targets: Array
    """Distances of the handles from their targets, over the body's height."""
    outside: Array
    """Whether each captured pose is outside the body's limits."""


def reconstruction_table(effort: Effort) -> Table:
    """Return how near the other joints of captured poses come, by a body, by chains and by Blender's own IK."""
    rows, worst, wrong = [], 0.0, 0.0
    every = EVERY if effort.targets >= 100 else 4 * EVERY
    clips = pybullet_clips()
    for source, paths in ((CMU, [MOTION]), (PYBULLET, clips)):
        for title, found in _errors_of_all(paths, every).items():
            ours, chains, blenders = all_three = [_joined(each) for each in zip(*found, strict=True)]
            ratio = float(ours.joints.mean() / blenders.joints.mean())
            is_judged = title.startswith(next(iter(HANDLES)))
            if is_judged:
                worst, wrong = max(worst, ratio), max(wrong, float(ours.sides.mean()))
            cells = (
                source,
                f"{ours.outside.sum():.0f}/{len(ours.outside)}",
                title,
                *(f"{np.mean(each.joints):.4f}" for each in all_three),
                f"{ratio:.0%}",
                f"{float(ours.joints.mean() / chains.joints.mean()):.0%}",
                *(f"{np.mean(each.angles):.1f}" for each in all_three),
                *(f"{np.mean(each.sides):.1%}" for each in all_three),
                *(f"{np.mean(each.straight):.1%}" for each in all_three),
                *(f"{np.max(each.targets):.4f}" for each in all_three),
            )
            rows.append(Row(cells, ratio <= 0.5 and not ours.sides.any() if is_judged else None))
    if not clips:
        rows.append(Row((PYBULLET, "", f"left out: {PINNED} can't be fetched", *[""] * 16)))
    joints, *others = [
        (f"{title}: body", f"{title}: chains", f"{title}: Blender's IK")
        for title in (
            "mean distance of the other joints over height",
            "mean angle of the other bones, degrees",
            "elbows and knees on the wrong side",
            "bent elbows and knees that are straight",
            "worst handle's distance from its target over height",
        )
    ]
    return Table(
        title="Captured poses from a body's handles",
        must="with six handles half the joint error of Blender's own IK, no elbow or knee on the wrong side",
        measured=f"{worst:.0%} of Blender's joint error, {wrong:.1%} on the wrong side",
        columns=(
            "motions",
            "poses outside limits",
            "handles",
            *joints,
            "body over Blender's IK",
            "body over chains",
            *chain.from_iterable(others),
        ),
        rows=tuple(rows),
        note=f"Each tenth frame of {MOTION.name} and of the {len(clips)} motions of a human in {PINNED}, from the pose "
        "at rest, moved and turned about the vertical to where the handles' targets are. Both have the limits that "
        f"Make Body gives. A captured pose is outside these limits where a bone is by more than {OUTSIDE:g} degree; no "
        "solver can take such a pose exactly. Blender's own IK: constraints from the bones before hands, feet and head "
        "to the hips, Copy Rotation for rotations, the hips set where they are a handle. Chains: FABRIK chains without "
        f"a body, solved together, of {LIMB_BONES} bones to hands and feet, and down to the hips from the head; hips "
        "and rotations as with Blender's IK; where the hips are no handle the root follows. Without rotations the "
        "body's head and feet keep theirs, as Make Body has them, a lifted foot less. A limb has a side where it is "
        "bent in both poses: "
        f"the joint is {LEAST_BEND:g} of the height off the line between its neighbours. On the wrong side the joint "
        "is off that line by more than 90 degrees from where it was: within limits an elbow or knee bends only to the "
        "side of its hinge, but the whole limb may be rotated. One that bends against its hinge in the captured pose "
        "isn't counted. Seen is what was used to find the numbers: the model by which the body's elbows turn is fitted "
        "to all of pybullet's motions (`scripts/fit_elbows.py`), the posture weights of hips and clavicles were "
        "compared on them (`scripts/fit_posture.py`), those of spine, neck and head on the jump.",
    )


def _errors_of_all(paths: Sequence[Path], every: int) -> dict[str, list[tuple[Errors, Errors, Errors]]]:
    """Return the errors of body, chains and Blender's IK, of each motion, by what is given of the handles."""
    found: dict[str, list[tuple[Errors, Errors, Errors]]] = {}
    for path in paths:
        motion = Motion(path)
        poses = motion.poses[::every]
        for (title, names), has_rotations in product(HANDLES.items(), (True, False)):
            given = f"{title}; {'position and rotation' if has_rotations else 'position'}"
            errors = (
                errors_of(motion, poses, names, has_rotations, motion.pose_body),
                errors_of(motion, poses, names, has_rotations, motion.pose_chains),
                errors_of(motion, poses, names, has_rotations, motion.pose_blenders),
            )
            found.setdefault(given, []).append(errors)
    return found


def _joined(parts: Sequence[Errors]) -> Errors:
    return Errors(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Errors)))


PoseByHandles: TypeAlias = Callable[[Mapping[str, Matrix], bool], None]
"""One of a motion's functions that pose its rig."""


def errors_of(
    motion: Motion, poses: Sequence[Captured], names: Sequence[str], has_rotations: bool, pose: PoseByHandles
) -> Errors:
    """Return the errors of all poses that a function makes from the places of some handles."""
    joints: list[float] = []
    angles: list[float] = []
    sides: list[bool] = []
    straight: list[bool] = []
    targets: list[float] = []
    held = {motion.bone_of(name) for name in names}
    for captured in poses:
        motion.rest(captured, names)
        pose({name: captured.matrices[motion.bone_of(name)] for name in names}, has_rotations)
        view_layer().update()
        bones = motion.rig.pose.bones
        for name, matrix in captured.matrices.items():
            distance = (bones[name].head - matrix.to_translation()).length / motion.height
            (targets if name in held else joints).append(distance)
            if name not in held:
                along = bones[name].matrix.to_3x3().col[1]
                angles.append(np.degrees(along.angle(matrix.to_3x3().col[1])))
        wrong, unbent = motion.wrong_sides(captured)
        sides += wrong
        straight += unbent
        motion.remove_constraints()
    outside = [motion.outside(captured) > OUTSIDE for captured in poses]
    return Errors(*(np.array(each, float) for each in (joints, angles, sides, straight, targets, outside)))


class Motion:
    """A captured motion with its skeleton, which has a body and no animation any more."""

    def __init__(self, path: Path) -> None:
        register()
        new_scene()
        bpy.ops.preferences.addon_enable(module="io_anim_bvh")
        with redirect_stdout(StringIO()):  # the importer prints its progress
            bpy.ops.import_anim.bvh(filepath=str(path), rotate_mode='QUATERNION')
        self.rig = _active()
        bpy.ops.object.mode_set(mode='POSE')
        last = round(self.rig.animation_data.action.frame_range[1])
        recorded = []
        for frame in range(1, last + 1):
            bpy.context.scene.frame_set(frame)
            recorded.append({bone.name: bone.matrix.copy() for bone in self.rig.pose.bones})
        self.rig.animation_data_clear()
        for bone in self.rig.pose.bones:
            bone.matrix_basis.identity()
        view_layer().update()
        make_body(self.rig, with_limits=True)
        self.keeping_rotation = {one.name for one in body_of(self.rig).handles if one.use_rotation}
        parts = [part for part in body_of(self.rig).parts if part.bone]
        self.roles = {part.bone: part.role for part in parts if part.role not in NOT_MEASURED}
        self.poses = [Captured({name: matrices[name] for name in self.roles}) for matrices in recorded]
        heights = [bone.head_local.z for bone in self.rig.data.bones]
        self.height = max(heights) - min(heights)

    def bone_of(self, handle: str) -> str:
        """Return the bone of a handle, at whose head the handle is."""
        return str(body_of(self.rig).handles[handle].bone)

    def rest(self, captured: Captured, handles: Sequence[str]) -> None:
        """Pose the rig at rest, moved and turned about the vertical so that the handles are nearest to their targets.

        The angle is that of ``sum_k (a_k x b_k, a_k . b_k)`` of the horizontal parts, both seen from their means.
        """
        bones = [self.rig.data.bones[self.bone_of(name)] for name in handles]
        own = np.array([bone.head_local[:] for bone in bones])
        aims = np.array([captured.head(bone.name)[:] for bone in bones])
        (ax, ay, _), (bx, by, _) = (own - own.mean(axis=0)).T, (aims - aims.mean(axis=0)).T
        turn = Matrix.Rotation(float(np.arctan2((ax * by - ay * bx).sum(), (ax * bx + ay * by).sum())), 4, 'Z')
        move = Matrix.Translation(Vector(aims.mean(axis=0)) - turn @ Vector(own.mean(axis=0)))
        for bone in self.rig.pose.bones:
            bone.matrix_basis.identity()
        hips = self.rig.pose.bones[self.bone_of("Hips")]
        hips.matrix = move @ turn @ hips.bone.matrix_local
        view_layer().update()

    def pose_body(self, targets: Mapping[str, Matrix], has_rotations: bool) -> None:
        """Pose the rig by the handles of its body, all pulled at once."""
        for handle in body_of(self.rig).handles:
            handle.use_position = handle.name in targets
            handle.use_rotation = handle.name in targets and handle.name in self.keeping_rotation
        pulls = [
            Pull(name, matrix.to_translation(), matrix.to_quaternion() if has_rotations else None)
            for name, matrix in targets.items()
        ]
        group = body_group(self.rig, take_body(view_layer(), self.rig, *pulls))
        goals = {snapshot.name: snapshot.goals for snapshot in group.snapshots}
        settings: list[Setting] = [setting for one in solve_group(group, goals) for setting in one.settings]
        write_channels(settings)

    def pose_blenders(self, targets: Mapping[str, Matrix], has_rotations: bool) -> None:
        """Pose the rig by Blender's own constraints."""
        for bone, above_hips, target in self._ends(targets, has_rotations):
            constraint = bone.parent.constraints.new('IK')
            constraint.target = target
            constraint.chain_count = above_hips + int("Hips" not in targets)

    def pose_chains(self, targets: Mapping[str, Matrix], has_rotations: bool) -> None:
        """Pose the rig by FABRIK chains without a body."""
        chains = settings_of(self.rig).chains
        for bone, above_hips, target in self._ends(targets, has_rotations):
            own = chains.add()
            most = above_hips + int("Hips" not in targets)
            own.name, own.tip, own.target = bone.name, bone.parent.name, target
            own.chain_count = most if bone.name == self.bone_of("Head") else min(LIMB_BONES, most)
            own.root_motion = 'FIXED' if "Hips" in targets else 'TRANSLATE'
        solve_chains(view_layer(), self.rig, [*chains])
        chains.clear()

    def _ends(self, targets: Mapping[str, Matrix], has_rotations: bool) -> list[tuple[PoseBone, int, Object]]:
        """Set the hips where they are a handle; return the others' bones, numbers of bones below hips, and targets."""
        hips = self.rig.pose.bones[self.bone_of("Hips")]
        if "Hips" in targets:
            hips.matrix = targets["Hips"] if has_rotations else _moved(hips.matrix, targets["Hips"].to_translation())
        found = []
        for name, matrix in targets.items():
            bone = self.rig.pose.bones[self.bone_of(name)]
            if bone == hips:
                continue
            target = make_empty(name)
            target.matrix_world = self.rig.matrix_world @ matrix
            if has_rotations:
                bone.constraints.new('COPY_ROTATION').target = target
            found.append((bone, bone.parent_recursive.index(hips), target))
        return found

    def remove_constraints(self) -> None:
        """Remove what ``pose_blenders`` and ``pose_chains`` have added."""
        for bone in self.rig.pose.bones:
            for constraint in [*bone.constraints]:
                bone.constraints.remove(constraint)
        for empty in [one for one in bpy.data.objects if one.type == 'EMPTY']:
            bpy.data.objects.remove(empty)

    def outside(self, captured: Captured) -> float:
        """Return the largest angle (degrees) by which a bone whose parent is a part is outside its limits."""
        parts = [bone for bone in self.rig.pose.bones if bone.name in captured.matrices and bone.parent]
        rotations = {bone: _own_rotation(captured, bone) for bone in parts if bone.parent.name in captured.matrices}
        outside = [float(outside_by(joint_limits(*limits_of(bone)), q)) for bone, q in rotations.items()]
        return math.degrees(max(outside))

    def wrong_sides(self, captured: Captured) -> tuple[list[bool], list[bool]]:
        """Return whether elbows and knees that are bent in both poses bend to the other side now.

        The second list: whether those that are bent in the captured pose are straight now. An elbow or knee that
        bends against its hinge in the captured pose is in neither list: no pose within limits has its side.
        """
        wrong, straight = [], []
        least = LEAST_BEND * self.height
        for name in [name for name, role in self.roles.items() if role in {'FOREARM', 'SHIN'}]:
            bone = self.rig.pose.bones[name]
            end = next(child for child in bone.children if child.name in captured.matrices)
            bent = _bend(*(captured.head(each.name) for each in (bone.parent, bone, end)))
            own = _bend(bone.parent.head, bone.head, end.head)
            if bent.length > least and not _bends_against_hinge(captured, bone):
                straight.append(own.length <= least)
                if own.length > least:
                    wrong.append(bent.dot(own) < 0.0)
        return wrong, straight


def _own_rotation(captured: Captured, bone: PoseBone) -> tuple[float, float, float, float]:
    """Return a bone's rotation against its parent in a captured pose, from rest."""
    rest = bone.parent.bone.matrix_local.inverted() @ bone.bone.matrix_local
    pose = captured.matrices[bone.parent.name].inverted() @ captured.matrices[bone.name]
    q = (rest.inverted() @ pose).to_quaternion()
    return q.w, q.x, q.y, q.z


def _bends_against_hinge(captured: Captured, bone: PoseBone) -> bool:
    """Tell whether an elbow or knee is bent to the side to which its limits don't let it, by more than ``OUTSIDE``."""
    limits = joint_limits(*limits_of(bone))
    axis = hinge_axis(limits)
    if axis is None:
        return False
    x, twist, z = (float(part) for part in swing_twist(SCALAR, _own_rotation(captured, bone)))
    bend = math.degrees((2.0 * math.asin(x), twist, 2.0 * math.asin(z))[axis])
    return bend > OUTSIDE if limits.upper[axis] < -limits.lower[axis] else bend < -OUTSIDE


def _active() -> Any:
    """Return the active object; ``Any`` because its data and animation may be None for the type checker alone."""
    return bpy.context.object


def _moved(matrix: Matrix, to: Vector) -> Matrix:
    return Matrix.Translation(to) @ matrix.to_3x3().to_4x4()


def _bend(first: Vector, middle: Vector, last: Vector) -> Vector:
    """Return from the line between two joints to the joint between them."""
    chord = (last - first).normalized()
    return middle - first - (middle - first).dot(chord) * chord
