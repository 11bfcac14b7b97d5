# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hips, spine, clavicle and arm take of a reach: in captured poses, and in those of a body with the same hands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
from bpy.types import Bone
from mathutils import Matrix, Vector
from numpy.typing import NDArray

from fabrik_addon.blender.bodies.handles import Pull
from fabrik_addon.blender.solving.solve_body import pull_body

from .blender_chain import view_layer
from .body_reconstruction_rows import MOTION, Captured, Motion
from .clips import PINNED, pybullet_clips
from .problems import Array, Effort
from .report import Row, Table

PARTS = ("hips' motion", "hips' rotation", "chest and spine", "clavicle", "arm")
"""In the order from the hips outward."""

REACHES = (0.0, 0.75, 0.9, 1.0, 1.1, 1.25, math.inf)
"""Bounds between which distances of the hand from the shoulder at rest, over the arm's length, are one row."""

BEYOND = 1.1
"""Reach from which on the parts without the arm are compared: below it they take little more than nothing."""

ON_THE_FLOOR, MOST_TILT = 0.06, math.radians(35.0)
"""Of a foot that stands: height over the lowest one of the motion, over the body's height, and angle from flat."""

MOST_MISSED = 5e-3
"""Distance of a hand from its target, over the body's height, above which a body's pose isn't of the same reach."""

FEET, HANDS = ("Foot.L", "Foot.R"), ("Hand.L", "Hand.R")


@dataclass(frozen=True)
class Reaches:
    """Reaches of arms in captured poses, and of the same arms in a body's poses; lengths are over the arm's length."""

    distances: Array
    """(N,) from the shoulder at rest to the captured hand."""
    captured: Array
    """(N, 5) what the ``PARTS`` take."""
    body: Array
    """(N, 5)"""
    missed: Array
    """(N,) distances of the body's hands from the captured ones, over the body's height."""
    joints: Array
    """(N,) mean distance of the body's other joints from the captured ones, over the body's height."""

    def of(self, chosen: NDArray[np.bool_]) -> Reaches:
        """Return some of the reaches."""
        return Reaches(*(getattr(self, each.name)[chosen] for each in fields(self)))

    def beyond_the_arm(self) -> tuple[Array, Array]:
        """Return the shares of what the arm leaves (4,) beyond ``BEYOND``: captured, and of the body."""
        far = self.of((self.distances >= BEYOND) & (self.missed <= MOST_MISSED))
        captured, body = (each[:, :-1].sum(axis=0) for each in (far.captured, far.body))
        return captured / captured.sum(), body / body.sum()


def reach_table(effort: Effort) -> Table:
    """Return what each part takes, by how far the hand is from where the shoulder is at rest."""
    most = 40 if effort.targets >= 100 else 8
    clips = pybullet_clips()
    sources = {"CMU 01_01's jump: not seen": [MOTION]} | ({"pybullet's: seen by the weights": clips} if clips else {})
    rows, farthest = [], 0.0
    for title, paths in sources.items():
        reaches = joined([reaches_of(Motion(path), most) for path in paths])
        for least, end in pairwise(REACHES):
            own = reaches.of((reaches.distances >= least) & (reaches.distances < end))
            if len(own.distances):
                named = f"beyond {least:g}" if end == math.inf else f"{least:g} to {end:g}"
                rows.append(Row((title, named, *_cells(own))))
        captured, body = reaches.beyond_the_arm()
        farthest = max(farthest, float(np.abs(captured - body).max()))
        shares = [f"{one:.0%} / {other:.0%}" for one, other in zip(captured, body, strict=True)]
        rows.append(Row((title, f"without the arm's share, beyond {BEYOND:g}", "", *shares, "", "", "")))
    return Table(
        title="Body: what each part takes of a reach",
        must="printed: how hips, spine and clavicle share what the arm leaves, beside captured motion",
        measured=f"shares of what the arm leaves differ from captured ones by {100.0 * farthest:.0f} points at most",
        columns=(
            "motions",
            "reach over the arm's length",
            "arms",
            *(f"{part}: captured / body" for part in PARTS),
            "hands more than 0.005 of the height off",
            "mean distance of the other joints over height",
        ),
        rows=tuple(rows),
        note="Poses of the motions in which both feet stand, at most "
        f"{most} of each. The body is put at rest between the captured feet, turned about the vertical as they are, "
        "its feet are pulled to their captured places and rotations, and then both hands to their captured places. The "
        "reach is the way from where the shoulder is at rest to the hand. From the hips outward each part is brought "
        "from rest to its pose: the shoulder's motion that it causes, along the reach, over the reach, is its share, "
        "the arm takes the rest, and all shares sum to 1. In rows of several arms the motions are summed first. Where "
        "a part moves the shoulder away from the hand its share is negative. CMU's clavicles don't move; pybullet's "
        f"human ({PINNED}) has none, and has one joint between hips and chest.",
    )


def _cells(own: Reaches) -> list[str | int]:
    captured, body = (each.sum(axis=0) / each.sum() for each in (own.captured, own.body))
    shares = [f"{one:.0%} / {other:.0%}" for one, other in zip(captured, body, strict=True)]
    return [len(own.distances), *shares, int((own.missed > MOST_MISSED).sum()), f"{own.joints.mean():.4f}"]


def joined(parts: Sequence[Reaches]) -> Reaches:
    """Return the reaches of several motions."""
    return Reaches(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Reaches)))


def reaches_of(motion: Motion, most: int) -> Reaches:
    """Return the reaches of both arms in at most so many poses of a motion in which both feet stand."""
    found: list[tuple[float, Array, Array, float, float]] = []
    standing = standing_poses(motion)
    for captured in standing[:: max(1, math.ceil(len(standing) / most))]:
        found += _reaches_in(motion, captured)
    columns = zip(*found, strict=True) if found else [(), np.empty((0, 5)), np.empty((0, 5)), (), ()]
    return Reaches(*(np.array(each) for each in columns))


def _reaches_in(motion: Motion, captured: Captured) -> list[tuple[float, Array, Array, float, float]]:
    """Return the reaches of both arms in a pose, as the fields of ``Reaches``."""
    place, bones = _place(motion, captured), motion.rig.pose.bones
    _pose(motion, captured, place)
    off = {
        name: (bones[name].head - matrix.to_translation()).length / motion.height
        for name, matrix in captured.matrices.items()
    }
    ends = {motion.bone_of(name) for name in (*FEET, *HANDS)}
    joints = float(np.mean([distance for name, distance in off.items() if name not in ends]))
    found = []
    for hand in HANDS:
        distance, parts = _taken(motion, captured.matrices.__getitem__, place, hand)
        _, own = _taken(motion, lambda bone: bones[bone].matrix, place, hand)
        found.append((distance, parts, own, off[motion.bone_of(hand)], joints))
    return found


def standing_poses(motion: Motion) -> list[Captured]:
    """Return the poses of a motion in which both feet are low and flat."""
    feet = [motion.bone_of(name) for name in FEET]
    highest = min(pose.head(foot).z for pose in motion.poses for foot in feet) + ON_THE_FLOOR * motion.height
    return [
        pose
        for pose in motion.poses
        if all(
            pose.head(foot).z < highest and _turn(motion, pose, foot).col[2].z > math.cos(MOST_TILT) for foot in feet
        )
    ]


def _turn(motion: Motion, captured: Captured, bone: str) -> Matrix:
    """Return the rotation (3, 3) of a bone from rest to a captured pose, in armature space."""
    return captured.matrices[bone].to_3x3() @ motion.rig.data.bones[bone].matrix_local.to_3x3().inverted()


def _place(motion: Motion, captured: Captured) -> Matrix:
    """Return the motion from rest to the captured feet: between them, turned about the vertical as they are."""
    feet = [motion.bone_of(name) for name in FEET]
    turns = [_turn(motion, captured, foot) for foot in feet]
    sine, cosine = (sum(each) for each in zip(*((r[1][0] - r[0][1], r[0][0] + r[1][1]) for r in turns), strict=True))
    turn = Matrix.Rotation(math.atan2(sine, cosine), 4, 'Z')
    own = sum((motion.rig.data.bones[foot].head_local for foot in feet), Vector()) / len(feet)
    return Matrix.Translation(sum((captured.head(foot) for foot in feet), Vector()) / len(feet) - turn @ own) @ turn


def _pose(motion: Motion, captured: Captured, place: Matrix) -> None:
    """Pose the body at rest, then by its feet, then by its hands."""
    for bone in motion.rig.pose.bones:
        bone.matrix_basis.identity()
    hips = motion.rig.pose.bones[motion.bone_of("Hips")]
    hips.matrix = place @ hips.bone.matrix_local
    targets = {name: captured.matrices[motion.bone_of(name)] for name in (*FEET, *HANDS)}
    feet = [Pull(name, targets[name].to_translation(), targets[name].to_quaternion()) for name in FEET]
    for pulls in (feet, [Pull(name, targets[name].to_translation()) for name in HANDS]):
        pull_body(view_layer(), motion.rig, pulls)


def _taken(motion: Motion, matrix_of: Callable[[str], Matrix], place: Matrix, hand: str) -> tuple[float, Array]:
    """Return the reach of a hand in a pose, and what the ``PARTS`` take of it (5,), over the arm's length.

    Args:
        motion: with the skeleton at rest.
        matrix_of: the pose, by the names of bones, in armature space.
        place: of the skeleton at rest.
        hand: handle of the hand.
    """
    bones = motion.rig.data.bones
    forearm, end = bones[motion.bone_of(hand.replace("Hand", "Elbow"))], bones[motion.bone_of(hand)]
    arm: Bone = forearm.parent
    chest = next(one.name for one in arm.parent_recursive if motion.roles.get(one.name) in {'CHEST', 'SPINE', 'HIPS'})
    hips = motion.bone_of("Hips")
    length = (forearm.head_local - arm.head_local).length + (end.head_local - forearm.head_local).length

    def shoulder(bone: str) -> Vector:
        """Return the shoulder where it is rigid with a bone."""
        return matrix_of(bone) @ bones[bone].matrix_local.inverted() @ arm.head_local

    at_rest = place @ arm.head_local
    moved = at_rest + matrix_of(hips).to_translation() - place @ bones[hips].head_local
    places = [at_rest, moved, shoulder(hips), shoulder(chest), shoulder(arm.name), matrix_of(end.name).to_translation()]
    reach = places[-1] - at_rest
    along = reach.normalized()
    return reach.length / length, np.array([(after - before).dot(along) / length for before, after in pairwise(places)])
