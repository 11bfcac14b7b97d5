# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw posed rigs with their chains, targets and poles, and render them side by side.

A renderer shows no armatures and no empties, so every bone, target and pole is drawn as a mesh. The meshes are in a
scene of their own; the rig's scene isn't changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import bmesh
import bpy
from bpy_extras.object_utils import world_to_camera_view
from mathutils import Euler, Matrix, Vector

WIDTH, HEIGHT = 1320, 880
_CAPTION_BAND = 0.13  # part of the height kept free below the figures
_SAMPLES = 16

# Okabe and Ito's colours, told apart by colour-blind people too.
_CHAIN_COLOURS = ("#E69F00", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442")
_BONE_COLOUR = "#A4A9B2"
_TEXT_COLOUR = "#30343B"
_BACKGROUND = "#E4E8EE"

_CAMERA_AZIMUTH = math.radians(38)  # from the front (-Y) to the rig's left: a stride seen from the front is flat
_CAMERA_ELEVATION = math.radians(9)
_FIELD_OF_VIEW = math.radians(24)  # a long lens: both figures are seen from nearly the same side


@dataclass(frozen=True)
class DrawnBone:
    """A bone in world space, and the number of its chain (None if it belongs to none)."""

    head: Vector
    tail: Vector
    x_axis: Vector
    chain: int | None


@dataclass(frozen=True)
class DrawnChain:
    """The points of a chain that are drawn, in world space."""

    tip: Vector
    middle: Vector
    target: Vector
    pole: Vector | None


@dataclass(frozen=True)
class Figure:
    """A posed rig and the words below it."""

    label: str
    bones: tuple[DrawnBone, ...]
    chains: tuple[DrawnChain, ...]


def chain_bones(armature: bpy.types.Object, chain: bpy.types.PropertyGroup) -> list[bpy.types.PoseBone]:
    """Return the bones of a chain from its root to its tip."""
    tip = armature.pose.bones[chain.tip]
    bones = [tip, *tip.parent_recursive]
    return bones[: chain.chain_count or None][::-1]


def chain_joints(armature: bpy.types.Object, chain: bpy.types.PropertyGroup) -> list[Vector]:
    """Return the joints of a chain from its root to its tip, in world space."""
    bones = chain_bones(armature, chain)
    joints = [armature.matrix_world @ bone.head for bone in bones]
    return [*joints, armature.matrix_world @ bones[-1].tail] if chain.use_tail else joints


def look_at(armature: bpy.types.Object, label: str) -> Figure:
    """READ: the present pose of a rig, with its targets and poles."""
    world = armature.matrix_world
    chains = list(armature.fabrik.chains)
    number = {bone.name: index for index, chain in enumerate(chains) for bone in chain_bones(armature, chain)}
    bones = tuple(
        DrawnBone(world @ bone.head, world @ bone.tail, world.to_3x3() @ bone.x_axis, number.get(bone.name))
        for bone in armature.pose.bones
    )
    return Figure(label, bones, tuple(_look_at_chain(armature, chain) for chain in chains))


def _look_at_chain(armature: bpy.types.Object, chain: bpy.types.PropertyGroup) -> DrawnChain:
    joints = chain_joints(armature, chain)
    pole = chain.pole_target
    return DrawnChain(
        tip=joints[-1],
        middle=joints[len(joints) // 2],
        target=joints[-1] if chain.use_pin else chain.target.matrix_world.translation.copy(),
        pole=pole.matrix_world.translation.copy() if pole else None,
    )


def render(figures: Sequence[Figure], path: Path) -> None:
    """Render the figures side by side into a PNG file."""
    scene = bpy.data.scenes.new("Picture")
    right, up, back = _camera_axes()
    points = [point for figure in figures for point in _points(figure)]
    size = max(_extent(points, axis) for axis in (right, up, back))
    ground = min(point.z for point in points)
    step = _extent(points, right) + 0.12 * size

    framed: list[Vector] = []
    middles: list[Vector] = []
    for index, figure in enumerate(figures):
        offset = right * index * step
        own = [point + offset for point in _points(figure)]
        _draw_figure(scene, figure, offset, size)
        framed += own
        middles.append(sum(own, Vector()) / len(own))
    _draw_ground(scene, ground, size)
    _add_lights(scene)
    camera = _add_camera(scene, framed)
    for figure, middle in zip(figures, middles, strict=True):
        across = world_to_camera_view(scene, camera, middle).x
        _caption(scene, camera, figure.label, (across, 0.085), 0.034)
    has_poles = any(chain.pole for figure in figures for chain in figure.chains)
    key = ["cube: target", *(["ball: pole"] if has_poles else []), "dashes: still to go"]
    if len(figures) < 3:  # in a strip the figures are too narrow for it
        _caption(scene, camera, "     ".join(key), (0.5, 0.03), 0.018)
    _use_cycles(scene, path)
    bpy.ops.render.render(write_still=True, scene=scene.name)


def _points(figure: Figure) -> Iterable[Vector]:
    for bone in figure.bones:
        yield bone.head
        yield bone.tail
    for chain in figure.chains:
        yield chain.target
        if chain.pole:
            yield chain.pole


def _extent(points: Sequence[Vector], axis: Vector) -> float:
    along = [point.dot(axis) for point in points]
    return max(along) - min(along)


# Meshes


def _draw_figure(scene: bpy.types.Scene, figure: Figure, offset: Vector, size: float) -> None:
    for number in [None, *range(len(figure.chains))]:
        bones, balls = bmesh.new(), bmesh.new()
        for bone in figure.bones:
            if bone.chain == number:
                _add_bone(bones, bone, offset)
                radius = 0.05 * (bone.tail - bone.head).length
                _add_ball(balls, bone.head + offset, radius)
                _add_ball(balls, bone.tail + offset, radius)
        colour = _BONE_COLOUR if number is None else _chain_colour(number)
        _place(scene, bones, colour, smooth=False)
        _place(scene, balls, colour, smooth=True)

    for number, chain in enumerate(figure.chains):
        boxes = bmesh.new()
        target = chain.target + offset
        bmesh.ops.create_cube(boxes, size=0.036 * size, matrix=Matrix.Translation(target))
        # From the tip to a target that isn't reached; none where the tip is at its target.
        _add_dashes(boxes, chain.tip + offset, target, 0.0022 * size)
        _place(scene, boxes, _chain_colour(number), smooth=False)
        if chain.pole:
            pole = chain.pole + offset
            balls = bmesh.new()
            _add_ball(balls, pole, 0.014 * size)
            _add_rod(balls, pole, chain.middle + offset, 0.0014 * size)
            _place(scene, balls, _chain_colour(number), smooth=True)


def _add_bone(mesh: bmesh.types.BMesh, bone: DrawnBone, offset: Vector) -> None:
    """Add Blender's octahedral bone: a tenth of the length wide, a tenth of the length up."""
    axis = bone.tail - bone.head
    across = bone.x_axis.normalized() * axis.length * 0.1
    along = axis.cross(across).normalized() * axis.length * 0.1
    belt = bone.head + offset + axis * 0.1
    corners = (across + along, along - across, -across - along, across - along)
    ring = [mesh.verts.new(belt + corner) for corner in corners]
    head, tail = mesh.verts.new(bone.head + offset), mesh.verts.new(bone.tail + offset)
    for corner, following in zip(ring, [*ring[1:], ring[0]], strict=True):
        mesh.faces.new((corner, following, tail))
        mesh.faces.new((following, corner, head))


def _add_ball(mesh: bmesh.types.BMesh, centre: Vector, radius: float) -> None:
    bmesh.ops.create_icosphere(mesh, subdivisions=3, radius=radius, matrix=Matrix.Translation(centre))


def _add_rod(mesh: bmesh.types.BMesh, start: Vector, end: Vector, radius: float) -> None:
    axis = end - start
    if axis.length > radius:
        turn = axis.to_track_quat("Z", "Y").to_matrix().to_4x4()
        matrix = Matrix.Translation((start + end) / 2) @ turn
        bmesh.ops.create_cone(
            mesh, cap_ends=True, segments=12, radius1=radius, radius2=radius, depth=axis.length, matrix=matrix
        )


def _add_dashes(mesh: bmesh.types.BMesh, start: Vector, end: Vector, radius: float) -> None:
    count = int((end - start).length / (10 * radius))
    for index in range(count):
        _add_rod(mesh, start.lerp(end, index / count), start.lerp(end, (index + 0.55) / count), radius)


def _caption(
    scene: bpy.types.Scene, camera: bpy.types.Object, words: str, place: tuple[float, float], height: float
) -> None:
    """Draw text in front of the camera.

    Args:
        scene: of the picture.
        camera: of the scene.
        words: the text.
        place: of the text's middle, in shares of the picture's size from its lower left corner.
        height: of the letters, in shares of the picture's width.
    """
    distance = 1.5 * camera.data.clip_start
    width = 2 * distance * math.tan(_FIELD_OF_VIEW / 2)
    x = (place[0] - 0.5) * width
    y = (place[1] - 0.5) * width * HEIGHT / WIDTH + camera.data.shift_y * width
    curve = bpy.data.curves.new(words, 'FONT')
    curve.body = words
    curve.size = height * width
    curve.align_x = 'CENTER'
    curve.align_y = 'CENTER'
    curve.materials.append(_glow(_TEXT_COLOUR))
    text = bpy.data.objects.new(words, curve)
    text.matrix_world = camera.matrix_world @ Matrix.Translation((x, y, -distance))
    text.visible_shadow = False
    scene.collection.objects.link(text)


def _draw_ground(scene: bpy.types.Scene, height: float, size: float) -> None:
    plane = bmesh.new()
    bmesh.ops.create_grid(plane, size=40 * size, matrix=Matrix.Translation((0, 0, height)))
    ground = _place(scene, plane, _BACKGROUND, smooth=False)
    ground.is_shadow_catcher = True  # the background everywhere but in the shadows: no horizon


def _place(scene: bpy.types.Scene, shape: bmesh.types.BMesh, colour: str, *, smooth: bool) -> bpy.types.Object:
    mesh = bpy.data.meshes.new("Picture")
    bmesh.ops.recalc_face_normals(shape, faces=list(shape.faces))
    for face in shape.faces:
        face.smooth = smooth
    shape.to_mesh(mesh)
    shape.free()
    mesh.materials.append(_material(colour, roughness=0.45))
    drawn = bpy.data.objects.new("Picture", mesh)
    scene.collection.objects.link(drawn)
    return drawn


def _chain_colour(number: int) -> str:
    return _CHAIN_COLOURS[number % len(_CHAIN_COLOURS)]


def _material(colour: str, *, roughness: float) -> bpy.types.Material:
    material = bpy.data.materials.get(colour)
    if material is None:
        material = bpy.data.materials.new(colour)
        shader = material.node_tree.nodes["Principled BSDF"]
        shader.inputs["Base Color"].default_value = _linear(colour)
        shader.inputs["Roughness"].default_value = roughness
    return material


def _glow(colour: str) -> bpy.types.Material:
    """Return a material that emits its colour, independent of the lights."""
    material = _material(colour, roughness=1.0)
    shader = material.node_tree.nodes["Principled BSDF"]
    shader.inputs["Emission Color"].default_value = _linear(colour)
    shader.inputs["Emission Strength"].default_value = 1.0
    shader.inputs["Base Color"].default_value = (0.0, 0.0, 0.0, 1.0)
    return material


def _linear(colour: str) -> tuple[float, float, float, float]:
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return (*(((value + 0.055) / 1.055) ** 2.4 for value in (red, green, blue)), 1.0)


# Camera, light and renderer


def _camera_turn() -> Matrix:
    return Euler((math.pi / 2 - _CAMERA_ELEVATION, 0, _CAMERA_AZIMUTH)).to_matrix()


def _camera_axes() -> tuple[Vector, Vector, Vector]:
    right, up, back = _camera_turn().col
    return right.copy(), up.copy(), back.copy()


def _add_camera(scene: bpy.types.Scene, points: Sequence[Vector]) -> bpy.types.Object:
    """Add a camera at the least distance from which all points are in view, above the band for captions."""
    right, up, back = _camera_axes()
    centre = Vector()
    for axis in (right, up, back):
        along = [point.dot(axis) for point in points]
        centre += axis * (max(along) + min(along)) / 2
    half_width = math.tan(_FIELD_OF_VIEW / 2) * 0.93  # leaves a margin
    half_height = half_width * HEIGHT / WIDTH * (1 - _CAPTION_BAND)
    distance = max(
        (point - centre).dot(back)
        + max(abs((point - centre).dot(right)) / half_width, abs((point - centre).dot(up)) / half_height)
        for point in points
    )
    camera = bpy.data.cameras.new("Picture")
    camera.angle = _FIELD_OF_VIEW
    camera.shift_y = -_CAPTION_BAND / 2 * HEIGHT / WIDTH
    camera.clip_start = distance / 100
    camera.clip_end = 100 * distance
    seen_from = bpy.data.objects.new("Picture", camera)
    seen_from.matrix_world = Matrix.Translation(centre + back * distance) @ _camera_turn().to_4x4()
    scene.collection.objects.link(seen_from)
    scene.camera = seen_from
    return seen_from


def _add_lights(scene: bpy.types.Scene) -> None:
    sun = bpy.data.lights.new("Picture", 'SUN')
    sun.energy = 3.2
    sun.angle = math.radians(12)  # soft shadows
    placed = bpy.data.objects.new("Picture", sun)
    placed.rotation_euler = (math.radians(38), math.radians(-18), math.radians(10))
    scene.collection.objects.link(placed)
    scene.world = bpy.data.worlds.new("Picture")
    background = scene.world.node_tree.nodes["Background"]
    background.inputs["Color"].default_value = _linear(_BACKGROUND)
    background.inputs["Strength"].default_value = 0.85


def _use_cycles(scene: bpy.types.Scene, path: Path) -> None:
    scene.render.engine = 'CYCLES'  # type: ignore[assignment]  # the stubs list the engines that aren't add-ons alone
    scene.cycles.device = 'CPU'
    scene.cycles.samples = _SAMPLES
    scene.cycles.use_denoising = True
    scene.cycles.denoising_quality = 'FAST'  # flat colours need no better, and it halves the time
    scene.cycles.denoising_prefilter = 'FAST'
    scene.cycles.max_bounces = 2
    scene.render.resolution_x = WIDTH
    scene.render.resolution_y = HEIGHT
    scene.render.image_settings.file_format = 'PNG'
    scene.render.image_settings.color_mode = 'RGB'
    scene.render.image_settings.compression = 100
    scene.render.filepath = str(path)
    scene.view_settings.view_transform = "Standard"  # the colours as they were chosen
