# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames evaluated without the rest of the scene: the same as going there, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object

from fabrik_addon.blender.animation.evaluated_frames import frames_of
from tests.blender.rigs import enter_pose_mode, leave_mode, make_armature, make_empty, make_tail, tail_bones, update
from tests.blender.test_bake import go_to, key_motion, key_path

FRAMES = [1.0, 4.0, 9.5, 13.0, 24.0, 3.0]
PATH = [(1.0, 1.0, 1.5), (-1.0, 0.5, 1.8), (0.2, -1.2, 2.0), (1.0, 0.0, 0.9)]


def make_rig() -> tuple[Object, Object]:
    armature = make_tail(3)
    key_motion(armature, ["bone0", "bone1", "bone2"])
    target = make_empty("target")
    key_path(target, PATH)
    return armature, target


def parents(armature: Object, target: Object) -> None:
    root, other = make_empty("root"), make_tail(2, "Other", "other", (3.0, 0.0, 0.0))
    key_path(root, PATH)
    key_motion(other, ["other0", "other1"])
    armature.parent = root
    target.parent, target.parent_type, target.parent_bone = other, "BONE", "other1"
    target.matrix_parent_inverse = target.matrix_world.inverted()


def constraints(armature: Object, target: Object) -> None:
    lead, path = make_empty("lead"), bpy.data.curves.new("path", "CURVE")
    key_path(lead, PATH)
    path.dimensions, path.use_path = "3D", True
    spline = path.splines.new("POLY")
    spline.points.add(2)
    for point, place in zip(spline.points, PATH, strict=False):
        point.co = (*place, 1.0)
    rail = bpy.data.objects.new("rail", path)
    bpy.context.scene.collection.objects.link(rail)
    rail.keyframe_insert("location", frame=1)
    rail.location.x = 2.0
    rail.keyframe_insert("location", frame=24)
    armature.constraints.new("COPY_LOCATION").target = lead
    follow = target.constraints.new("FOLLOW_PATH")
    follow.target, follow.use_fixed_location, follow.offset_factor = rail, True, 0.4
    damped = armature.pose.bones["bone1"].constraints.new("DAMPED_TRACK")
    damped.target, damped.influence = lead, 0.5
    ik = armature.pose.bones["bone twig"].constraints.new("IK")
    ik.target, ik.chain_count = lead, 2


def drivers(armature: Object, target: Object) -> None:
    lead = make_empty("lead")
    key_path(lead, PATH)
    lead["amount"] = 0.0
    for frame, value in ((1, 0.0), (24, 2.0)):
        lead["amount"] = value
        lead.keyframe_insert('["amount"]', frame=frame)
    curve = armature.pose.bones["bone0"].driver_add("location", 0)
    variable = curve.driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = lead, '["amount"]'
    curve.driver.expression = "var * 2 + 0.01 * frame"
    turned = target.driver_add("delta_location", 2)
    variable = turned.driver.variables.new()
    variable.type = "TRANSFORMS"
    variable.targets[0].id, variable.targets[0].transform_type = lead, "LOC_X"
    turned.driver.expression = "var"


def driver_on_the_scene(armature: Object, _target: Object) -> None:
    scene = bpy.context.scene
    for frame, value in ((1, 0.0), (24, 2.0)):
        scene["amount"] = value
        scene.keyframe_insert('["amount"]', frame=frame)
    curve = armature.pose.bones["bone0"].driver_add("location", 0)
    variable = curve.driver.variables.new()
    variable.targets[0].id_type = "SCENE"
    variable.targets[0].id, variable.targets[0].data_path = scene, '["amount"]'
    curve.driver.expression = "var"


def driver_on_the_active_scene(armature: Object, _target: Object) -> None:
    driver_on_the_scene(armature, _target)
    variable = armature.animation_data.drivers[0].driver.variables[0]
    variable.type = "CONTEXT_PROP"
    variable.targets[0].data_path = '["amount"]'


def vertex_parent_on_a_deformed_mesh(armature: Object, target: Object) -> None:
    other = make_armature(tail_bones(3, "other", (3.0, 0.0, 0.0)), "Other")
    key_motion(other, ["other0", "other1"])
    mesh = bpy.data.meshes.new("skin")
    mesh.from_pydata([(3, 0, 2.5), (3, 1, 2.5), (4, 0, 2.5)], [], [(0, 1, 2)])
    skin = bpy.data.objects.new("skin", mesh)
    bpy.context.scene.collection.objects.link(skin)
    skin.vertex_groups.new(name="other2").add([0, 1, 2], 1.0, "REPLACE")
    skin.modifiers.new("Armature", "ARMATURE").object = other
    skin.modifiers.new("Subdivision", "SUBSURF").levels = 2
    target.parent, target.parent_type, target.parent_vertices = skin, "VERTEX_3", (0, 1, 2)
    armature.pose.bones["bone1"].constraints.new("SHRINKWRAP").target = skin


def time_remapping(_armature: Object, _target: Object) -> None:
    bpy.context.scene.render.frame_map_old, bpy.context.scene.render.frame_map_new = 100, 150


def seconds(_armature: Object, target: Object) -> None:
    """The target on a vertex that geometry nodes move by the scene's time in seconds."""
    bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = 60, 1.5
    nodes = node_group("seconds")
    kinds = ("NodeGroupInput", "GeometryNodeSetPosition", "NodeGroupOutput", "GeometryNodeInputSceneTime")
    given, moved, out, time = (nodes.nodes.new(kind) for kind in kinds)
    nodes.links.new(given.outputs[0], moved.inputs["Geometry"])
    nodes.links.new(time.outputs["Seconds"], moved.inputs["Offset"])
    nodes.links.new(moved.outputs[0], out.inputs[0])
    put_on_point(target, nodes)


def node_group(name: str) -> Any:
    nodes = bpy.data.node_groups.new(name, "GeometryNodeTree")
    for in_out in ("INPUT", "OUTPUT"):
        nodes.interface.new_socket("Geometry", in_out=in_out, socket_type="NodeSocketGeometry")
    return nodes


def put_on_point(target: Object, nodes: Any) -> None:
    """Parent the target to a vertex that geometry nodes move."""
    mesh = bpy.data.meshes.new("point")
    mesh.from_pydata([(0, 0, 2.5)], [], [])
    point = bpy.data.objects.new("point", mesh)
    bpy.context.scene.collection.objects.link(point)
    point.modifiers.new("Nodes", "NODES").node_group = nodes
    target.animation_data_clear()
    target.parent, target.parent_type, target.parent_vertices = point, "VERTEX", (0, 0, 0)


def followed_track(_armature: Object, target: Object) -> None:
    """The target on a track of the scene's clip, seen by its camera, which a marker changes."""
    scene = bpy.context.scene
    scene.render.resolution_x, scene.render.pixel_aspect_y = 1000, 1.5
    image = bpy.data.images.new("frame", 64, 64)
    image.filepath_raw, image.file_format = str(Path(bpy.app.tempdir) / "frame.png"), "PNG"
    image.save()
    scene.active_clip = bpy.data.movieclips.load(image.filepath_raw)
    track = scene.active_clip.tracking.tracks.new(name="track", frame=1)
    for frame in range(1, 25):
        track.markers.insert_frame(frame, co=(0.2 + 0.02 * frame, 0.4))
    for number, frame in enumerate((1, 12)):
        camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
        scene.collection.objects.link(camera)
        camera.location, camera.rotation_euler = (float(number), -6.0, 2.0), (1.5, 0.0, 0.0)
        scene.timeline_markers.new("camera", frame=frame).camera = camera
    target.animation_data_clear()
    constraint = target.constraints.new("FOLLOW_TRACK")
    constraint.use_active_clip, constraint.track = True, "track"


def rigid_body(_armature: Object, target: Object) -> None:
    bpy.ops.rigidbody.world_add()
    mesh = bpy.data.meshes.new("ball")
    mesh.from_pydata([(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)], [], [(0, 1, 2), (0, 2, 3), (0, 3, 1), (1, 3, 2)])
    ball = bpy.data.objects.new("ball", mesh)
    bpy.context.scene.collection.objects.link(ball)
    leave_mode()
    bpy.context.view_layer.objects.active = ball
    bpy.ops.rigidbody.object_add()
    target.animation_data_clear()
    target.parent = ball


def constrained_to_a_rigid_body(armature: Object, target: Object) -> None:
    rigid_body(armature, target)
    ball, target.parent = target.parent, None
    target.constraints.new("COPY_LOCATION").target = ball


def constrained_to_an_object_with_python(_armature: Object, target: Object) -> None:
    lead = make_empty("lead")
    lead.driver_add("location", 0).driver.expression = "0.1 * len('%' * int(frame))"
    target.constraints.new("COPY_LOCATION").target = lead


def cloth_in_wind(_armature: Object, target: Object) -> None:
    leave_mode()
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=2, y_subdivisions=2, size=1.0, location=(0.0, 0.0, 2.5))
    cloth = bpy.context.object
    cloth.modifiers.new("Cloth", "CLOTH")
    bpy.ops.object.effector_add(type="WIND", location=(0.0, -3.0, 2.5), rotation=(-1.5, 0.0, 0.0))
    bpy.context.object.field.strength = 500.0
    target.animation_data_clear()
    target.parent, target.parent_type, target.parent_vertices = cloth, "VERTEX", (8, 0, 0)


def simulation_nodes(_armature: Object, target: Object) -> None:
    """The target on a vertex that a simulation zone moves from frame to frame."""
    nodes = node_group("simulation")
    given, out = (nodes.nodes.new(kind) for kind in ("NodeGroupInput", "NodeGroupOutput"))
    start, end = (nodes.nodes.new(f"GeometryNodeSimulation{kind}") for kind in ("Input", "Output"))
    start.pair_with_output(end)
    moved = nodes.nodes.new("GeometryNodeSetPosition")
    moved.inputs["Offset"].default_value = (0.1, 0.0, 0.0)
    nodes.links.new(given.outputs[0], start.inputs["Geometry"])
    nodes.links.new(start.outputs["Geometry"], moved.inputs["Geometry"])
    nodes.links.new(moved.outputs[0], end.inputs["Geometry"])
    nodes.links.new(end.outputs["Geometry"], out.inputs[0])
    put_on_point(target, nodes)


def frame_handler(armature: Object, _target: Object) -> None:
    name = armature.name

    def turn(scene: Any, *_: Any) -> None:
        bpy.data.objects[name].location.x = 0.1 * scene.frame_current

    bpy.app.handlers.frame_change_pre.append(turn)


def nla_strips(armature: Object, _target: Object) -> None:
    animation = armature.animation_data
    action, slot = animation.action, animation.action_slot
    for start in (1, 12):
        strip = animation.nla_tracks.new().strips.new("strip", start, action)
        strip.action_slot, strip.scale, strip.blend_type = slot, 0.5, "COMBINE"
    animation.action = None


CASES = [
    lambda *_: None,
    parents,
    constraints,
    drivers,
    driver_on_the_scene,
    driver_on_the_active_scene,
    vertex_parent_on_a_deformed_mesh,
    time_remapping,
    seconds,
    followed_track,
    rigid_body,
    constrained_to_a_rigid_body,
    constrained_to_an_object_with_python,
    cloth_in_wind,
    simulation_nodes,
    frame_handler,
    nla_strips,
]
ALONE = {parents, constraints, drivers, vertex_parent_on_a_deformed_mesh, time_remapping, nla_strips, CASES[0]}
SIMULATED = {rigid_body, constrained_to_a_rigid_body, cloth_in_wind, simulation_nodes}
"""What goes from frame to frame."""
ALONE |= {seconds, followed_track}
"""What needs no more than the objects and what they depend on."""


def places(armature: Object, target: Object) -> list[Any]:
    world = [np.array(obj.matrix_world) for obj in (armature, target)]
    return [*world, *(np.array(bone.matrix) for bone in armature.pose.bones)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.strip("<>"))
def test_a_frame_is_what_going_there_makes_of_it(case: Callable[[Object, Object], None]) -> None:
    armature, target = make_rig()
    case(armature, target)
    scene = bpy.context.scene
    stops = [*map(float, range(1, 9))] if case in SIMULATED else FRAMES
    try:
        go_to(1)
        desired = []
        for frame in stops:
            go_to(frame)
            desired.append(places(armature, target))
        go_to(2)
        before, scenes = places(armature, target), len(bpy.data.scenes)
        with frames_of(scene, bpy.context.view_layer, [armature, target]) as frames:
            assert (len(bpy.data.scenes) > scenes) == (case in ALONE)
            for frame, there in zip(stops, desired, strict=True):
                frames.go_to(frame)
                for found, desired in zip(
                    places(frames.evaluated(armature), frames.evaluated(target)), there, strict=True
                ):
                    assert np.array_equal(found, desired), (case.__name__, frame)
        update()
        assert scene.frame_current == 2 and len(bpy.data.scenes) == scenes
        for found, desired in zip(places(armature, target), before, strict=True):
            assert np.array_equal(found, desired)
    finally:
        bpy.app.handlers.frame_change_pre.clear()


@pytest.mark.parametrize("keep_override", [False, True])
def test_a_rig_from_another_file(tmp_path: Path, keep_override: bool) -> None:
    armature, target = make_rig()
    parents(armature, target)
    go_to(1)
    desired = []
    for frame in FRAMES:
        go_to(frame)
        desired.append(places(armature, target))
    leave_mode()
    library = str(tmp_path / "rig.blend")
    bpy.ops.wm.save_as_mainfile(filepath=library, copy=True)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(library, link=True) as (_, data):
        data.objects = ["Rig", "target", "root", "Other"]
    for obj in data.objects:
        bpy.context.scene.collection.objects.link(obj)
    update()
    armature, target = data.objects[:2]
    if keep_override:
        armature = armature.override_create(remap_local_usages=True)
        enter_pose_mode(armature)
    with frames_of(bpy.context.scene, bpy.context.view_layer, [armature, target]) as frames:
        for frame, there in zip(FRAMES, desired, strict=True):
            frames.go_to(frame)
            for found, desired in zip(places(frames.evaluated(armature), frames.evaluated(target)), there, strict=True):
                assert np.array_equal(found, desired), frame


def test_a_mesh_that_the_armature_deforms_is_not_evaluated() -> None:
    armature, target = make_rig()
    mesh = bpy.data.meshes.new("skin")
    mesh.from_pydata([(0, 0, 2.5)], [], [])
    skin = bpy.data.objects.new("skin", mesh)
    bpy.context.scene.collection.objects.link(skin)
    skin.modifiers.new("Armature", "ARMATURE").object = armature
    skin.parent = armature
    update()
    with frames_of(bpy.context.scene, bpy.context.view_layer, [armature, target]) as frames:
        frames.go_to(5)
        names = {used.name for used in frames.view_layer.depsgraph.ids}
    assert "Rig" in names and "skin" not in names
