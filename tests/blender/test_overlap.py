# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains that share bones, and targets that hang on their chain by roundabout ways."""

import bpy

from tests.blender.rigs import (
    add_chain,
    distance_left,
    make_armature,
    make_empty,
    make_tail,
    set_chain,
    tail_bones,
    update,
)


def test_chains_that_share_bones_say_so():
    armature = make_tail(5)
    long = add_chain(armature, "bone4", 5, (1.0, 1.5, 2.0)).name
    short = add_chain(armature, "bone1", 2, (0.0, 1.0, 0.8)).name
    bpy.ops.pose.fabrik_solve()
    for name in (long, short):
        chain = armature.fabrik.chains[name]
        assert (chain.status == "REACHED") == (distance_left(armature, chain) < 1e-4), name


def is_refused() -> bool:
    """Solve; tell whether that is refused because a target depends on the chain."""
    try:
        bpy.ops.pose.fabrik_solve()
    except RuntimeError as error:
        assert "depends on the chain" in str(error)
        return True
    return False


def test_a_vertex_parent_on_a_mesh_the_armature_deforms_depends_on_the_chain():
    armature = make_tail(3)
    mesh = bpy.data.meshes.new("skin")
    mesh.from_pydata([(0, 0, 2.5)], [], [])
    skin = bpy.data.objects.new("skin", mesh)
    bpy.context.scene.collection.objects.link(skin)
    skin.vertex_groups.new(name="bone2").add([0], 1.0, "REPLACE")
    skin.modifiers.new("Armature", "ARMATURE").object = armature
    target = make_empty("target", (0.5, 0.5, 0.0))
    target.parent, target.parent_type, target.parent_vertices = skin, "VERTEX", (0, 0, 0)
    chain = set_chain(armature, "bone2", 3, target)
    update()
    assert is_refused() or distance_left(armature, chain) < 1e-4, chain.status


def test_a_target_bone_that_another_bones_ik_turns_depends_on_the_chain():
    armature = make_armature([*tail_bones(3), *tail_bones(3, "ctrl", (2.0, 0.0, 0.0))])
    constraint = armature.pose.bones["ctrl2"].constraints.new("IK")
    constraint.target, constraint.subtarget = armature, "bone finger"
    chain = set_chain(armature, "bone2", 3, armature)
    chain.subtarget = "ctrl1"
    update()
    is_solved = not is_refused() and chain.status == "REACHED"
    assert not is_solved or distance_left(armature, chain) < 1e-4, distance_left(armature, chain)
