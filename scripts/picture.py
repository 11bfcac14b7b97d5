# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Render posed mannequins side by side, and draw their handles, pins, targets and poles over them.

The solids are in a scene of their own; the rig's scene isn't changed. What is drawn over the rendered picture is drawn
by Pillow, at the places where the camera sees it.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import bmesh
import bpy
import numpy as np
from bpy.types import Object, PropertyGroup, Scene
from bpy_extras.object_utils import world_to_camera_view
from mathutils import Euler, Matrix, Vector
from PIL import Image, ImageDraw, ImageFont

from fabrik_addon.blender.interface.body_tool import body_handles
from fabrik_addon.blender.interface.handle_gizmos import (
    ALPHA,
    BACKING,
    BACKING_COLOR,
    PALE,
    PALE_SIZE,
    Handle,
    triangles_of,
)
from mannequin import COLOURS, PROP, Solid, linear

_DRAWN_LARGER = 3
"""Factor by which marks are drawn larger than they are shown, so that their edges are smooth."""

_BACKGROUND = "#DDE2E8"
_TEXT_COLOUR = "#2C3138"

# Okabe and Ito's colours, told apart by colour-blind people too.
PULLED, PINNED = "#D55E00", "#F0E442"
_CHAIN_COLOURS = ("#E69F00", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442")

_CAMERA_AZIMUTH = math.radians(35)  # from the front (-Y) to the rig's left: a stride seen from the front is flat
_CAMERA_ELEVATION = math.radians(8)
_FIELD_OF_VIEW = math.radians(20)  # a long lens: all figures are seen from nearly the same side


Shape = Handle | str
"""A handle of the tool Body Pose, which is drawn as the tool draws it, or "disc", "square", "cross" or "dashes"."""


@dataclass(frozen=True)
class Mark:
    """A handle, pin, target or pole that is drawn over the picture, in world space."""

    shape: Shape
    place: Vector
    colour: str
    begin: Vector | None = None
    """Where a dashed line of this colour to the mark begins."""


@dataclass(frozen=True)
class Figure:
    """A posed mannequin, what is drawn over it, and the words below it."""

    label: str
    solids: Sequence[Solid]
    matrices: dict[str, Matrix]
    """From rest in armature space to the pose in world space, by the bones' names."""
    marks: tuple[Mark, ...] = ()
    props: tuple[Matrix, ...] = ()
    """Boxes beside it: each from a cube with edges of length 1 about the origin to world space."""

    def moved(self, matrix: Matrix) -> Figure:
        """Return the figure in another place."""
        marks = (
            replace(mark, place=matrix @ mark.place, begin=None if mark.begin is None else matrix @ mark.begin)
            for mark in self.marks
        )
        return replace(
            self,
            matrices={name: matrix @ own for name, own in self.matrices.items()},
            marks=tuple(marks),
            props=tuple(matrix @ prop for prop in self.props),
        )

    def points(self) -> list[Vector]:
        """Return points that have the figure between them."""
        corners = [
            self.matrices[solid.bone] @ solid.mesh.vertices[number].co
            for solid in self.solids
            for number in range(0, len(solid.mesh.vertices), 10)
        ]
        for prop in self.props:
            corners += [prop @ Vector(corner) for corner in itertools.product((-0.5, 0.5), repeat=3)]
        return corners + [mark.place for mark in self.marks]


@dataclass(frozen=True)
class View:
    """Size of a picture, and from where it is seen."""

    width: int = 1200
    height: int = 700
    azimuth: float = _CAMERA_AZIMUTH
    legend: tuple[tuple[Shape, str, str], ...] = ()
    """Shape, colour and meaning of marks."""
    samples: int = 16
    """Rays for each pixel."""
    band: float = 0.12
    """Part of the height that is kept free below the figures, for words."""

    def axes(self) -> tuple[Vector, Vector, Vector]:
        """Return the directions to the right of the picture, up, and to the camera."""
        right, up, back = self.rotation().col
        return right.copy(), up.copy(), back.copy()

    def rotation(self) -> Matrix:
        """Return the rotation of the camera."""
        return Euler((math.pi / 2 - _CAMERA_ELEVATION, 0, self.azimuth)).to_matrix()


# Reading rigs


def chain_bones(armature: Object, chain: PropertyGroup) -> list[bpy.types.PoseBone]:
    """Return the bones of a chain from its root to its tip."""
    tip = armature.pose.bones[chain.tip]
    bones = [tip, *tip.parent_recursive]
    return bones[: chain.chain_count or None][::-1]


def chain_joints(armature: Object, chain: PropertyGroup) -> list[Vector]:
    """Return the joints of a chain from its root to its tip, in world space."""
    bones = chain_bones(armature, chain)
    joints = [armature.matrix_world @ bone.head for bone in bones]
    return [*joints, armature.matrix_world @ bones[-1].tail] if chain.use_tail else joints


def look_at(armature: Object, label: str, solids: Sequence[Solid], marks: tuple[Mark, ...] = ()) -> Figure:
    """READ: the present pose of a rig as that of a mannequin which was made from it."""
    world = armature.matrix_world
    matrices = {bone.name: world @ bone.matrix @ bone.bone.matrix_local.inverted() for bone in armature.pose.bones}
    return Figure(label, solids, matrices, marks)


def chain_marks(armature: Object) -> tuple[Mark, ...]:
    """READ: targets, with a dashed line from the tip to a target that isn't reached, pins and poles of all chains."""
    marks = []
    for number, chain in enumerate(armature.fabrik.chains):
        colour = _CHAIN_COLOURS[number % len(_CHAIN_COLOURS)]
        joints = chain_joints(armature, chain)
        if chain.use_pin:
            marks.append(Mark("square", joints[-1], PINNED))
        else:
            marks.append(Mark("cross", chain.target.matrix_world.translation.copy(), colour, joints[-1]))
        if chain.pole_target:
            pole = chain.pole_target.matrix_world.translation.copy()
            marks.append(Mark("disc", pole, colour, joints[1 if chain.use_pin else len(joints) // 2]))
    return tuple(marks)


def body_marks(armature: Object, pulled: dict[str, Vector]) -> tuple[Mark, ...]:
    """READ: the handles of a body as the tool Body Pose shows them; a dashed line begins where a pulled one was."""
    return tuple(
        Mark(handle, handle.position, PULLED, pulled.get(handle.options["handle"])) for handle in body_handles(armature)
    )


BODY_LEGEND: tuple[tuple[Shape, str, str], ...] = (
    ("dashes", PULLED, "pulled"),
    (Handle(Vector(), 'SQUARE', 'gizmo_primary', is_held=True), PINNED, "pinned"),
    (Handle(Vector(), 'CIRCLE', 'gizmo_secondary', is_held=True), PULLED, "stays"),
    (Handle(Vector(), 'CIRCLE', 'gizmo_secondary'), PULLED, "follows"),
)
CHAIN_LEGEND = (("cross", "#5A6068", "target"), ("disc", "#5A6068", "pole"), ("square", PINNED, "pinned"))


# Rendering


def render(figures: Sequence[Figure], path: Path, view: View) -> None:
    """Render the figures side by side into a PNG file."""
    row = _side_by_side(figures, view)
    save(Stage(row, view, row).shoot(row), path)


def _side_by_side(figures: Sequence[Figure], view: View) -> list[Figure]:
    """Return the figures one beside the other, with the middle of the row at the origin."""
    right = view.axes()[0]
    gap = 0.12 * max(point.z for figure in figures for point in figure.points())
    extents = [(min(along), max(along)) for figure in figures for along in [[p.dot(right) for p in figure.points()]]]
    edge = -(sum(high - low for low, high in extents) + gap * (len(figures) - 1)) / 2
    placed = []
    for figure, (low, high) in zip(figures, extents, strict=True):
        placed.append(figure.moved(Matrix.Translation(right * (edge - low))))
        edge += high - low + gap
    return placed


def save(image: Image.Image, path: Path) -> None:
    """Write a PNG file of 256 colours.

    The colours are chosen by how much of the picture has them: a strip below it gives those of the marks a share.
    """
    colours = (PULLED, PINNED, *_CHAIN_COLOURS)
    strip = image.height // 12
    sample = Image.new("RGB", (image.width, image.height + strip))
    sample.paste(image)
    for number, colour in enumerate(colours):
        step = image.width // len(colours)
        sample.paste(colour, (number * step, image.height, (number + 1) * step, image.height + strip))
    palette = sample.quantize(256)
    image.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG).save(path, optimize=True)


class Stage:
    """A scene with the solids of figures, light and a camera; used for one picture or for many of the same solids."""

    def __init__(self, figures: Sequence[Figure], view: View, seen: Sequence[Figure]) -> None:
        """Make the scene.

        Args:
            figures: whose solids and props are in it.
            view: size of the pictures, and from where they are seen.
            seen: what the camera has in view, in whichever of the pictures.
        """
        self._view = view
        self._scene = bpy.data.scenes.new("Picture")
        self._solids: list[list[Object]] = [self._add_figure(figure) for figure in figures]
        points = [point for figure in seen for point in figure.points()]
        self._draw_ground(min(point.z for point in points))
        self._camera = _add_camera(self._scene, points, view)
        _add_lights(self._scene)
        _use_cycles(self._scene, view)

    def shoot(self, figures: Sequence[Figure]) -> Image.Image:
        """Render the figures as they are now: of the same solids, in other poses."""
        for figure, objects in zip(figures, self._solids, strict=True):
            for solid, drawn in zip(figure.solids, objects, strict=True):
                drawn.matrix_world = figure.matrices[solid.bone]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "picture.png"
            self._scene.render.filepath = str(file)
            bpy.ops.render.render(write_still=True, scene=self._scene.name)
            image = Image.open(file).convert("RGB")
        return self._draw_over(image, figures)

    def _add_figure(self, figure: Figure) -> list[Object]:
        for prop in figure.props:
            box = bmesh.new()
            bmesh.ops.create_cube(box, size=1.0, matrix=prop)
            bmesh.ops.bevel(box, geom=[*box.edges], offset=0.008, segments=3, profile=0.5, affect='EDGES')
            self._place(_mesh(box), PROP)
        return [self._place(solid.mesh, solid.substance) for solid in figure.solids]

    def _place(self, mesh: bpy.types.Mesh, substance: str) -> Object:
        if not mesh.materials:
            mesh.materials.append(_material(COLOURS.get(substance, substance)))
        drawn = bpy.data.objects.new(mesh.name, mesh)
        self._scene.collection.objects.link(drawn)
        return drawn

    def _draw_ground(self, height: float) -> None:
        plane = bmesh.new()
        bmesh.ops.create_grid(plane, size=100, matrix=Matrix.Translation((0, 0, height)))
        ground = self._place(_mesh(plane), _BACKGROUND)
        ground.is_shadow_catcher = True  # the background everywhere but in the shadows: no horizon
        # Pixels that are half ground and half sky have a light edge: no sky is to be seen beside the ground.
        tube = bmesh.new()
        bmesh.ops.create_cone(tube, segments=64, radius1=100, radius2=100, depth=400, cap_ends=False)
        wall = self._place(_mesh(tube), _BACKGROUND)
        wall.is_shadow_catcher = True
        wall.visible_diffuse = wall.visible_glossy = wall.visible_shadow = False

    def _draw_over(self, image: Image.Image, figures: Sequence[Figure]) -> Image.Image:
        factor = _DRAWN_LARGER
        large = image.resize((image.width * factor, image.height * factor), Image.Resampling.BICUBIC)
        drawn = Image.new("RGBA", large.size)
        pen = _Pen(ImageDraw.Draw(drawn), 0.0095 * large.height)
        for figure in figures:
            for mark in figure.marks:
                if mark.begin is not None:
                    pen.dashes(self._seen(mark.begin, large), self._seen(mark.place, large), mark.colour)
            for mark in figure.marks:
                pen.mark(mark.shape, mark.colour, self._seen(mark.place, large))
            bottom = [self._seen(point, large)[0] for point in figure.points()]
            pen.words(figure.label, ((min(bottom) + max(bottom)) / 2, 0.908 * large.height), 0.042 * large.height)
        for number, (shape, colour, meaning) in enumerate(self._view.legend):
            x = large.width * (0.5 + 0.11 * (number - (len(self._view.legend) - 1) / 2))
            pen.mark(shape, colour, (x - 0.025 * large.width, 0.972 * large.height))
            pen.words(meaning, (x - 0.01 * large.width, 0.972 * large.height), 0.03 * large.height, "lm")
        large = Image.alpha_composite(large.convert("RGBA"), drawn).convert("RGB")
        return large.resize(image.size, Image.Resampling.LANCZOS)

    def _seen(self, point: Vector, image: Image.Image) -> tuple[float, float]:
        seen = world_to_camera_view(self._scene, self._camera, point)
        return seen.x * image.width, (1.0 - seen.y) * image.height


@dataclass(frozen=True)
class _Pen:
    """Draws marks and words; `size` is the radius of a mark in pixels."""

    draw: ImageDraw.ImageDraw
    size: float

    def mark(self, shape: Shape, colour: str, at: tuple[float, float]) -> None:
        size, edge = self.size, round(0.28 * self.size)
        x, y = at
        if isinstance(shape, Handle):
            self._handle(shape, at)
        elif shape == "square":
            self.draw.rectangle((x - size, y - size, x + size, y + size), fill=colour, outline=_TEXT_COLOUR, width=edge)
        elif shape == "cross":
            for width, shade in ((3 * edge, "#FFFFFF"), (2 * edge, colour)):
                for end in ((x - 1.4 * size, y, x + 1.4 * size, y), (x, y - 1.4 * size, x, y + 1.4 * size)):
                    self.draw.line(end, fill=shade, width=width)
        elif shape == "dashes":
            self.dashes((x - 3 * size, y), (x + 1.5 * size, y), colour)
        else:
            self._ring(at, 1.25 * size, colour, "#FFFFFF")

    def _handle(self, handle: Handle, at: tuple[float, float]) -> None:
        theme = bpy.context.preferences.themes[0].user_interface
        size = 1.4 * self.size * (PALE_SIZE if handle.is_pale else 1.0)
        opacity = PALE if handle.is_pale else ALPHA
        rim = (*BACKING_COLOR[:3], BACKING_COLOR[3] * opacity)
        for width, colour in ((BACKING, rim), (0.0, (*getattr(theme, handle.color), opacity))):
            corners = [(at[0] + size * x, at[1] - size * y) for x, y, _z in triangles_of(handle, width)]
            for triangle in zip(*[iter(corners)] * 3, strict=True):
                self.draw.polygon(triangle, fill=tuple(round(255 * part) for part in colour))

    def words(self, words: str, place: tuple[float, float], size: float, anchor: str = "mm") -> None:
        self.draw.text(place, words, fill=_TEXT_COLOUR, font=ImageFont.load_default(size), anchor=anchor)

    def _ring(self, at: tuple[float, float], radius: float, fill: str, outline: str) -> None:
        box = (at[0] - radius, at[1] - radius, at[0] + radius, at[1] + radius)
        self.draw.ellipse(box, fill=fill, outline=outline, width=round(0.35 * self.size))

    def dashes(self, begin: tuple[float, float], end: tuple[float, float], colour: str) -> None:
        start, way = np.array(begin), np.array(end) - np.array(begin)
        count = int(np.linalg.norm(way) / (2.2 * self.size))
        for index in range(count):
            first, last = start + way * index / count, start + way * (index + 0.55) / count
            self.draw.line((*first, *last), fill=colour, width=round(0.35 * self.size))
        if count:
            self._ring(begin, 0.55 * self.size, "#FFFFFF", colour)


def _mesh(shape: bmesh.types.BMesh) -> bpy.types.Mesh:
    mesh = bpy.data.meshes.new("Picture")
    shape.to_mesh(mesh)
    shape.free()
    return mesh


def _material(colour: str) -> bpy.types.Material:
    material = bpy.data.materials.get(colour)
    if material is None:
        material = bpy.data.materials.new(colour)
        shader = material.node_tree.nodes["Principled BSDF"]
        shader.inputs["Base Color"].default_value = linear(colour)
        shader.inputs["Roughness"].default_value = 0.6
    return material


def _add_camera(scene: Scene, points: Sequence[Vector], view: View) -> Object:
    """Add a camera at the least distance from which all points are in view, above the band."""
    band = view.band
    axes = right, up, back = view.axes()
    centre = Vector()
    for axis in axes:
        along = [point.dot(axis) for point in points]
        centre += axis * (max(along) + min(along)) / 2
    larger = max(view.width, view.height)
    half_width = math.tan(_FIELD_OF_VIEW / 2) * 0.96 * view.width / larger  # leaves a margin
    half_height = math.tan(_FIELD_OF_VIEW / 2) * 0.94 * (1 - band) * view.height / larger
    distance = max(
        (point - centre).dot(back)
        + max(abs((point - centre).dot(right)) / half_width, abs((point - centre).dot(up)) / half_height)
        for point in points
    )
    camera = bpy.data.cameras.new("Picture")
    camera.angle = _FIELD_OF_VIEW
    camera.shift_y = -band / 2 * view.height / larger
    camera.clip_start, camera.clip_end = distance / 100, 100 * distance
    seen_from = bpy.data.objects.new("Picture", camera)
    seen_from.matrix_world = Matrix.Translation(centre + back * distance) @ view.rotation().to_4x4()
    scene.collection.objects.link(seen_from)
    scene.camera = seen_from
    return seen_from


def _add_lights(scene: Scene) -> None:
    sun = bpy.data.lights.new("Picture", 'SUN')
    sun.energy = 3.0
    sun.angle = math.radians(20)  # soft shadows
    placed = bpy.data.objects.new("Picture", sun)
    placed.rotation_euler = (math.radians(38), math.radians(-12), math.radians(10))
    scene.collection.objects.link(placed)
    scene.world = bpy.data.worlds.new("Picture")
    background = scene.world.node_tree.nodes["Background"]
    background.inputs["Color"].default_value = linear(_BACKGROUND)
    background.inputs["Strength"].default_value = 1.0


def _use_cycles(scene: Scene, view: View) -> None:
    scene.render.engine = 'CYCLES'  # type: ignore[assignment]  # the stubs list the engines that aren't add-ons alone
    scene.cycles.device = 'CPU'
    scene.cycles.samples = view.samples
    scene.cycles.use_denoising = True
    scene.cycles.denoising_quality = 'FAST'  # flat colours need no better, and it halves the time
    scene.cycles.denoising_prefilter = 'FAST'
    scene.cycles.max_bounces = 2
    scene.render.use_persistent_data = True  # the solids stay where they are in memory from one frame to the next
    scene.render.resolution_x, scene.render.resolution_y = view.width, view.height
    scene.render.image_settings.file_format = 'PNG'
    scene.render.image_settings.color_mode = 'RGB'
    scene.view_settings.view_transform = "Standard"  # the colours as they were chosen
