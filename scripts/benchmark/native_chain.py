# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Armatures of one chain with a native rig, and the same chain for the core."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import bpy
import numpy as np
from bpy.types import Object

from fabrik_addon.blender.native.build_rig import build_rig
from fabrik_addon.blender.native.eligibility import eligible_chains
from fabrik_addon.blender.rig.properties import FabrikChain
from fabrik_addon.core import Chain, Pose, plain_chain

from .blender_chain import make_target, new_scene, view_layer
from .problems import Array, Effort, link_lengths
from .report import microseconds, spread

POLE = np.array([0.8, -0.9, 0.3])


def make_native(obj: Object, *chains: FabrikChain) -> None:
    """Make chains of an armature native rigs."""
    assert bpy.context.scene is not None
    for each in eligible_chains(view_layer(), obj, chains):
        build_rig(bpy.context.scene, obj, each.settings, each.rest)
    view_layer().update()


def pole_target() -> Object:
    """Return an empty at the pole."""
    target = make_target()
    target.location = POLE.tolist()
    return target


def rest_problem(obj: Object) -> tuple[Chain, Pose]:
    """Return the chain that an armature is, and its rest pose."""
    bones = obj.data.bones
    joints = np.array([*(bone.head_local[:] for bone in bones), bones[-1].tail_local[:]], float)
    frames = [bone.matrix_local.to_quaternion()[:] for bone in bones]
    return plain_chain(link_lengths(joints)), Pose(joints, np.array([*frames, frames[-1]]))


def side_by_side(
    make: Mapping[str, Callable[[], Object]], move: Callable[[Object, int], None], number: int, effort: Effort
) -> tuple[str, str, float]:
    """Return the time of an update of two rigs in words, and how many times the second's the first's is.

    Args:
        make: two functions, each makes a rig and returns its target.
        move: puts a target where it should be for a number.
        number: how many times.
        effort: how often.
    """
    times: dict[str, list[float]] = {name: [] for name in make}
    for _ in range(max(1, effort.timed_runs // 5)):
        for name, kept in times.items():
            new_scene()
            target = make[name]()
            view_layer().update()
            for i in range(number):
                move(target, i)
                start = time.perf_counter()
                view_layer().update()
                kept.append(time.perf_counter() - start)
    first, second = times.values()
    return microseconds(first), microseconds(second), spread(first)[0] / spread(second)[0]


def farthest(ours: Array, theirs: Array) -> float:
    """Return by how much joints differ at most."""
    return float(np.abs(ours - theirs).max())
