# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native rigs of limbs, spines and tails of Rigify's metarigs: targets reached, jumps, and time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from bpy.types import Object, PoseBone
from mathutils import Quaternion

from fabrik_addon.blender.bones.bone_limits import limits_of
from fabrik_addon.blender.rig.properties import settings_of
from fabrik_addon.blender.setup.usual_limits import limit_joint
from fabrik_addon.core.math.operations import SCALAR
from fabrik_addon.core.math.quaternion_arrays import angle_between
from fabrik_addon.core.model.joint_limits import clamp, joint_limits, rotation_of

from .blender_chain import add_metarig, make_target, new_scene, register, view_layer
from .native_chain import make_native, side_by_side
from .problems import Array, Effort, generator
from .report import Row, Table

CHAINS = (
    ("human", "forearm.L", ("SHOULDER", "ELBOW")),
    ("human", "hand.L", ("SHOULDER", "ELBOW", "WRIST")),
    ("human", "shin.L", ("HIP", "KNEE")),
    ("human", "foot.L", ("HIP", "KNEE", "ANKLE")),
    ("human", "f_index.03.L", ("FINGER",) * 3),
    ("human", "spine.003", ("SPINE",) * 4),
    ("cat", "tail.004", ("TAIL",) * 4),
    ("horse", "tail.005", ("TAIL",) * 5),
    ("wolf", "front_foot.L", ("SHOULDER", "ELBOW", "WRIST")),
    ("horse", "hind_foot.L", ("HIP", "KNEE", "ANKLE")),
)
"""Metarig, last bone of the chain, and the usual limits of its bones."""

STEPS, PATHS = 120, 5

MOST_STEP = 3.0
"""Largest turn of a bone in a step, over that in the median step."""

NEAR = 1e-3
LEAST_REACHED = 0.95
"""Share of the targets."""

FREE = 0.45
"""Half-sines and twist of a bone without limits, at most."""


@dataclass(frozen=True)
class MetarigChain:
    """A chain of a metarig, with usual limits or without."""

    metarig: str
    tip: str
    joints: tuple[str, ...]
    is_limited: bool

    def make(self) -> tuple[Object, list[PoseBone]]:
        """Return a new armature and the chain's bones, root first."""
        new_scene()
        obj = add_metarig(self.metarig)
        bones = [obj.pose.bones[self.tip]]
        while len(bones) < len(self.joints):
            parent = bones[0].parent
            assert parent is not None
            bones.insert(0, parent)
        for bone, joint in zip(bones, self.joints, strict=True):
            bone.rotation_mode = 'QUATERNION'
            if self.is_limited:
                limit_joint(bone, joint)
        return obj, bones

    def native(self) -> tuple[Object, list[PoseBone], Object]:
        """Return a new armature whose chain is a native rig, the bones, and the target."""
        obj, bones = self.make()
        target = make_target()
        chain = settings_of(obj).chains.add()
        chain.name, chain.tip, chain.chain_count = "chain", self.tip, len(bones)
        chain.target, chain.use_limits = target, self.is_limited
        make_native(obj, chain)
        return obj, bones, target

    def own(self) -> Object:
        """Return the target of a new armature whose chain has Blender's own IK."""
        _, bones = self.make()
        target = make_target()
        constraint: Any = bones[-1].constraints.new('IK')  # Any: the stub returns the base class
        constraint.target, constraint.chain_count = target, len(bones)
        return target

    def tips(self, poses: Array) -> Array:
        """Return where the tip is in poses: shares (N, bones, 3) of the ranges of the joint coordinates."""
        obj, bones = self.make()
        found = []
        for pose in poses:
            for bone, shares in zip(bones, pose, strict=True):
                limits = joint_limits(*limits_of(bone))
                ends = np.clip(np.array([limits.lower, limits.upper]), -FREE, FREE) if limits.is_free else None
                lower, upper = (limits.lower, limits.upper) if ends is None else ends
                x, twist, z = (
                    low + share * (high - low) for low, high, share in zip(lower, upper, shares, strict=True)
                )
                w, *axis = rotation_of(SCALAR, clamp(SCALAR, limits, (float(x), float(twist), float(z))))
                bone.rotation_quaternion = (float(w), *map(float, axis))
            view_layer().update()
            found.append((obj.matrix_world @ bones[-1].tail)[:])
        return np.array(found)


def metarig_table(effort: Effort) -> Table:
    """Every chain within usual limits and without."""
    register()
    rows, worst_share, worst_step = [], 1.0, 0.0
    for metarig, tip, joints in CHAINS:
        for is_limited in (False, True):
            chain = MetarigChain(metarig, tip, joints, is_limited)
            rng = generator("metarigs", metarig, tip)
            targets = chain.tips(rng.uniform(0.0, 1.0, (effort.targets, len(joints), 3)))
            share = _share_reached(chain, targets)
            paths = [chain.tips(_swinging(rng, len(joints))) for _ in range(PATHS)]
            turns = [_turns(chain, path) for path in paths]
            step = max(float(each.max() / np.median(each)) for each in turns)

            def move(target: Object, number: int, path: Array = paths[0]) -> None:
                target.location = path[number]

            make = {"native": lambda chain=chain: chain.native()[2], "own": lambda chain=chain: chain.own()}
            ours, own, ratio = side_by_side(make, move, STEPS, effort)
            name = (f"{metarig}, {tip}", len(joints), "limits" if is_limited else "")
            largest = math.degrees(max(float(each.max()) for each in turns))
            cells = (*name, f"{share:.0%}", largest, step, ours, own, f"{ratio:.2f}")
            rows.append(Row(cells, share >= LEAST_REACHED and step <= MOST_STEP))
            worst_share, worst_step = min(worst_share, share), max(worst_step, step)
    return Table(
        title="Native rigs of limbs, spines and tails of Rigify's metarigs",
        must=f"{LEAST_REACHED:.0%} of feasible poses' targets reached, no step over {MOST_STEP:g} times the median's",
        measured=f"{worst_share:.0%} reached, largest step {worst_step:.1f} times the median's",
        columns=(
            "chain",
            "bones",
            "",
            "reached",
            "largest turn in a step, degrees",
            "over the median's",
            "native, µs median / p95",
            "Blender's own, µs median / p95",
            "ratio",
        ),
        rows=tuple(rows),
        note=_NOTE,
    )


_NOTE = f"""\
Targets are the tips of random poses, within the usual limits where there are any. Turns are the largest of a bone along
{PATHS} closed paths of {STEPS} steps, those of the tip of a chain whose joints swing to and fro within their ranges.
What is timed is the first path. 50 to 80 µs of it are Blender's, which evaluates one more object on which bones of a
large armature depend: so long it takes with the modifier switched off."""


def _share_reached(chain: MetarigChain, targets: Array) -> float:
    obj, bones, target = chain.native()
    length = sum(bone.length for bone in bones)
    hits = 0
    for position in targets:
        target.location = position
        view_layer().update()
        tip = np.array((obj.matrix_world @ bones[-1].tail)[:])
        hits += bool(np.linalg.norm(tip - position) <= NEAR * length)
    return hits / len(targets)


def _swinging(rng: np.random.Generator, count: int) -> Array:
    """Return shares (STEPS, bones, 3) of the ranges of joints that swing to and fro."""
    angles = np.linspace(0.0, math.tau, STEPS, endpoint=False)[:, None, None]
    first, second = rng.uniform(0.0, math.tau, (2, count, 3))
    sizes, more = rng.uniform(0.1, 0.25, (2, count, 3))
    shares: Array = 0.5 + sizes * np.sin(angles + first) + more * np.sin(2.0 * angles + second)
    return shares


def _turns(chain: MetarigChain, path: Array) -> Array:
    """Return the largest turn (radians) of a bone against its parent in every step of a closed path."""
    _, bones, target = chain.native()
    frames = []
    for position in path:
        target.location = position
        view_layer().update()
        frames.append([_own_rotation(bone)[:] for bone in bones])
    return angle_between(np.array(frames), np.roll(frames, -1, axis=0)).max(axis=1)


def _own_rotation(bone: PoseBone) -> Quaternion:
    parent = bone.parent
    before = parent.matrix.to_quaternion() if parent is not None else Quaternion()
    return before.conjugated() @ bone.matrix.to_quaternion()
