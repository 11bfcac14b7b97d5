# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What bringing a chain back to its locks, limits and shear costs, in evaluations: these are the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object
from mathutils import Vector

from fabrik_addon.blender.rig.chain_bones import ChainBones
from fabrik_addon.blender.rig.snapshot import take_snapshot
from fabrik_addon.blender.solving import constraint_projection, feasible_pose, solve_chain_bones
from fabrik_addon.core import Status
from tests.blender.rigs import (
    ROTATION_MODES,
    bones_of,
    clear_scene,
    joints_of,
    links_of,
    make_empty,
    make_tail,
    random_direction,
    random_rotation,
    set_chain,
    set_rotation,
    update,
)


def sheared_tail(seed: int) -> tuple[Object, Any]:
    """Make four sheared bones within limits, whose target is beyond their reach and has a rotation."""
    rng = np.random.default_rng(seed)
    clear_scene()
    armature = make_tail(4)
    chain = set_chain(armature, "bone3", 4, make_empty("target"))
    chain.use_limits = chain.use_rotation = True
    for bone in bones_of(armature, chain):
        bone.rotation_mode = str(rng.choice(ROTATION_MODES))
        bone.scale = rng.uniform(0.5, 2.0, 3)
        for axis in "xyz":
            setattr(bone, f"use_ik_limit_{axis}", True)
            setattr(bone, f"ik_min_{axis}", -rng.uniform(0.1, 1.5))
            setattr(bone, f"ik_max_{axis}", rng.uniform(0.1, 1.5))
        set_rotation(bone, random_rotation(rng, 0.3))
    update()
    away = float(rng.uniform(1.05, 2.0) * links_of(armature, chain).sum())
    chain.target.location = Vector(joints_of(armature, chain)[0].tolist()) + away * random_direction(rng)
    chain.target.rotation_euler = rng.uniform(-3.0, 3.0, 3)
    update()
    return armature, chain


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[int]:
    """Count the calls of a module's function, which goes on doing what it does."""
    function: Callable[..., Any] = getattr(module, name)
    calls = [0]

    def counting(*arguments: Any, **named: Any) -> Any:
        calls[0] += 1
        return function(*arguments, **named)

    monkeypatch.setattr(module, name, counting)
    return calls


@pytest.mark.parametrize("seed", range(12))
def test_sheared_bones_with_an_unreachable_target_take_one_solve_and_few_steps(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With further solves there were up to 17, and 1300 poses were tried.

    Shear makes some chains so long that they reach: these are solved further, toward the target's rotation.
    """
    armature, chain = sheared_tail(seed)
    snapshot = take_snapshot(bpy.context.view_layer, armature, chain)
    solves = [
        counted(monkeypatch, constraint_projection, "solve_components"),
        counted(monkeypatch, solve_chain_bones, "solve_components"),
    ]
    poses = counted(monkeypatch, feasible_pose, "feasible_pose")

    solved = solve_chain_bones.solve_snapshot(snapshot)

    most = 1 + constraint_projection._FURTHER_PROJECTIONS * (solved.status is Status.REACHED)
    assert sum(count for (count,) in solves) <= most
    assert poses[0] <= 60 * most


@pytest.mark.parametrize("seed", range(4))
def test_the_tips_jacobian_is_that_of_small_rotations(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The closed form, for bones that move with their parents, against finite differences."""
    armature, chain = sheared_tail(seed)
    bones = take_snapshot(bpy.context.view_layer, armature, chain).bones
    pose = feasible_pose.feasible_pose_at(bones, np.zeros(3), bones.rotations)
    found = [feasible_pose._tip_jacobian(bones, pose, i) for i in bones.free]
    monkeypatch.setattr(ChainBones, "first_carried_whole", len(bones.line))
    for i, jacobian in zip(bones.free, found, strict=True):
        np.testing.assert_allclose(jacobian, feasible_pose._tip_jacobian(bones, pose, i), atol=2e-3)
