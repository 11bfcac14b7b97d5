# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A wooden artist's mannequin made from the bones of a body: one solid for each bone, balls at the joints.

The solids are made at rest, in armature space, with sizes in shares of the body's height, and are rigid with their
bones: a pose is one matrix for each bone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import bpy
import numpy as np
import numpy.typing as npt
from bpy.types import Bone, Object
from mathutils import Vector

from fabrik_addon.blender.setup.make_body import make_body, remove_body
from fabrik_addon.core import FabrikError

_Numbers = npt.NDArray[np.float64]

WOOD, JOINT, HOOF, PROP = "wood", "joint", "hoof", "prop"
COLOURS = {WOOD: "#D6A871", JOINT: "#6B4A33", HOOF: "#5B4231", PROP: "#AEB6C0"}

# Radii at the head, in the middle and at the tail of a bone, in shares of the height.
_HUMAN_RADII = {
    'NECK': (0.026, 0.025, 0.025),
    'CLAVICLE': (0.022, 0.026, 0.028),
    'UPPER_ARM': (0.027, 0.026, 0.019),
    'FOREARM': (0.0195, 0.021, 0.0125),
    'FINGER': (0.0062, 0.0058, 0.0048),
    'THIGH': (0.044, 0.041, 0.026),
    'SHIN': (0.0255, 0.0275, 0.0145),
}
_QUADRUPED_RADII = {
    'CLAVICLE': (0.045, 0.085, 0.085),
    'UPPER_ARM': (0.078, 0.072, 0.05),
    'FOREARM': (0.052, 0.047, 0.028),
    'HAND': (0.026, 0.021, 0.022),
    'FINGER': (0.022, 0.021, 0.022),
    'THIGH': (0.13, 0.12, 0.085),
    'SHIN': (0.082, 0.066, 0.032),
    'FOOT': (0.03, 0.023, 0.024),
    'TOE': (0.023, 0.021, 0.022),
}
_TRUNK_OF_QUADRUPED = (
    # Along the trunk from the hips' head (0) to the chest's end (1): top and belly from the spine, half width.
    (-0.10, 0.03, -0.22, 0.09),
    (0.02, 0.09, -0.31, 0.17),
    (0.18, 0.10, -0.36, 0.195),
    (0.38, 0.10, -0.37, 0.19),
    (0.60, 0.13, -0.36, 0.20),
    (0.78, 0.19, -0.36, 0.19),
    (0.93, 0.16, -0.34, 0.16),
    (1.06, 0.05, -0.25, 0.10),
)


@dataclass(frozen=True)
class Section:
    """An ellipse across a solid: its centre, and half its width along the solid's side and across that."""

    centre: Vector
    width: float
    depth: float


@dataclass(frozen=True)
class Solid:
    """A closed mesh in armature space at rest, and what it is made of."""

    bone: str
    mesh: bpy.types.Mesh
    substance: str


class _Body:
    """READ: the parts of a body at rest, with its directions and its height."""

    def __init__(self, armature: Object) -> None:
        self.bones = armature.data.bones
        self.role = {part.bone: part.role for part in armature.fabrik.body.parts if part.bone}
        ends = [
            point
            for name in self.role or self.bones.keys()
            for point in (self.bones[name].head_local, self.bones[name].tail_local)
        ]
        self.floor = min(point.z for point in [*ends, *(bone.tail_local for bone in self.bones)])
        shoulders, hips = self.pair('UPPER_ARM'), self.pair('THIGH')
        self.is_quadruped = bool(shoulders and hips) and abs((shoulders[0] - hips[0]).z) < abs(
            (shoulders[0] - hips[0]).y
        )
        self.left = (hips[0] - hips[1]).normalized() if hips else Vector((1.0, 0.0, 0.0))
        self.front = self.left.cross(Vector((0.0, 0.0, 1.0)))
        trunk = self.of('HIPS')
        self.height = (trunk[0].head_local.z if self.is_quadruped else max(point.z for point in ends)) - self.floor
        self.half_hips = (hips[0] - hips[1]).length / 2 if hips else 0.05 * self.height
        self.half_shoulders = (shoulders[0] - shoulders[1]).length / 2 if shoulders else 0.1 * self.height

    def of(self, *roles: str) -> list[Bone]:
        return [self.bones[name] for name, role in self.role.items() if role in roles]

    def pair(self, role: str) -> list[Vector]:
        heads = [bone.head_local for bone in self.of(role)[:]]
        return sorted(heads, key=lambda head: -head.x)[:: len(heads) - 1] if len(heads) > 1 else []


def linear(colour: str) -> tuple[float, float, float, float]:
    """Return a colour of the web in the scene's linear space, with full opacity."""
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return (*(((value + 0.055) / 1.055) ** 2.4 for value in (red, green, blue)), 1.0)


def make_mannequin(armature: Object) -> list[Solid]:
    """Make the solids of an armature; where no human and no quadruped is recognised a capsule for each bone."""
    has_body = bool(armature.fabrik.body.parts)
    if not has_body:
        with suppress(FabrikError):
            make_body(armature, with_limits=False)
    body = _Body(armature)
    if not has_body:
        remove_body(armature)
    return _solids(body)


def _solids(body: _Body) -> list[Solid]:
    if body.is_quadruped:
        return _quadruped(body)
    if body.of('THIGH') and body.of('CHEST'):
        return _human(body)
    longest = max(bone.length for bone in body.bones)
    solids = []
    for bone in body.bones:
        if body.role.get(bone.name) or not body.role:
            thickness = min(0.12 * bone.length, 0.05 * longest)
            solids += _limb(bone, (thickness, thickness, 0.7 * thickness), body.left)
    hubs = [
        bone for bone in body.bones if not body.role.get(bone.name) and any(c.name in body.role for c in bone.children)
    ]
    for hub in hubs:
        for bone in (hub, *(child for child in hub.children if child.name not in body.role)):
            solids += _limb(bone, (0.3 * bone.length, 0.45 * bone.length, 0.3 * bone.length), body.left)
    return solids


def _human(body: _Body) -> list[Solid]:
    height = body.height
    solids = []
    for name, role in body.role.items():
        if role in _HUMAN_RADII:
            flat = 0.95 if role in ('CLAVICLE', 'FINGER') else 1.0
            solids += _limb(body.bones[name], tuple(height * radius for radius in _HUMAN_RADII[role]), body.left, flat)
    solids += _human_torso(body) + _human_head(body)
    for hand in body.of('HAND'):
        solids += _hand(body, hand)
    for foot in body.of('FOOT'):
        solids += _human_foot(body, foot)
    return solids


def _human_torso(body: _Body) -> list[Solid]:
    """Pelvis, belly and rib cage, each wider than deep."""
    height, front = body.height, body.front
    hips, spine, chest = body.of('HIPS')[0], body.of('SPINE'), body.of('CHEST')[-1]
    legs = body.of('THIGH')[0].head_local.z
    waist, shoulders = (spine[0] if spine else chest).head_local, chest.tail_local.z
    half_hips, half_shoulders = body.half_hips, body.half_shoulders

    def ring(bone: Bone, z: float, width: float, depth: float, forward: float = 0.0) -> Section:
        middle = bone.head_local + front * forward * height
        return Section(Vector((middle.x, middle.y, z)), width, depth * height)

    pelvis = [
        ring(hips, legs - 0.058 * height, 0.35 * half_hips, 0.030, 0.015),
        ring(hips, legs - 0.03 * height, half_hips + 0.008 * height, 0.052, 0.012),
        ring(hips, legs + 0.008 * height, half_hips + 0.028 * height, 0.057, 0.012),
        ring(hips, waist.z - 0.005 * height, half_hips + 0.02 * height, 0.05, 0.02),
    ]
    solids = [_loft(hips, pelvis, body.left)]
    top = legs + 0.42 * (shoulders - legs)
    for bone in spine:
        reach = bone.tail_local.z - bone.head_local.z
        low, high = bone.head_local.z - 0.25 * reach, min(bone.tail_local.z + 0.25 * reach, top + 0.5 * reach)
        middle = (low + high) / 2
        belly = [
            ring(bone, low, 0.040 * height, 0.028),
            ring(bone, middle, 0.063 * height, 0.044),
            ring(bone, high, 0.040 * height, 0.028),
        ]
        solids.append(_loft(bone, belly, body.left, JOINT if bone == spine[0] and len(spine) > 1 else WOOD))
    ribs = [
        ring(chest, top, 0.056 * height, 0.042, 0.005),
        ring(chest, top + 0.35 * (shoulders - top), 0.83 * half_shoulders, 0.064, 0.008),
        ring(chest, top + 0.68 * (shoulders - top), 0.92 * half_shoulders, 0.064, 0.003),
        ring(chest, top + 0.9 * (shoulders - top), 0.70 * half_shoulders, 0.046, -0.003),
        ring(chest, shoulders + 0.002 * height, 0.34 * half_shoulders, 0.03, -0.004),
    ]
    return [*solids, _loft(chest, ribs, body.left)]


def _human_head(body: _Body) -> list[Solid]:
    """An egg with its narrow end at the chin, and a ridge for the nose, which tells where the head looks."""
    solids = []
    for bone in body.of('HEAD'):
        chin, crown = bone.head_local.z - 0.018 * body.height, bone.tail_local.z
        size = crown - chin

        def ring(
            up: float, width: float, depth: float, forward: float, bone: Bone = bone, chin: float = chin
        ) -> Section:
            size = bone.tail_local.z - chin
            centre = Vector((bone.head_local.x, bone.head_local.y, chin + up * size))
            return Section(centre + body.front * forward * size, width * size, depth * size)

        egg = [ring(0.03, 0.13, 0.13, 0.33), ring(0.25, 0.26, 0.33, 0.19), ring(0.55, 0.345, 0.43, 0.10)]
        egg += [ring(0.78, 0.325, 0.40, 0.08), ring(0.90, 0.26, 0.32, 0.075)]
        nose = [ring(0.34, 0.05, 0.05, 0.52), ring(0.42, 0.052, 0.075, 0.51), ring(0.62, 0.028, 0.03, 0.51)]
        ball = _ball(bone, bone.head_local, 0.12 * size)
        solids += [_loft(bone, egg, body.left, bulge=0.5), _loft(bone, nose, body.left), ball]
    return solids


def _hand(body: _Body, hand: Bone) -> list[Solid]:
    """A palm from the wrist to the knuckles; without fingers in the body a mitten."""
    height = body.height
    wrist, along = hand.head_local, (hand.tail_local - hand.head_local).normalized()
    fingers = [bone for bone in hand.children_recursive if body.role.get(bone.name) == 'FINGER']
    knuckles = [
        bone.head_local for bone in fingers if body.role.get(bone.parent.name if bone.parent else "") != 'FINGER'
    ]
    far = [point for point in knuckles if (point - wrist).dot(along) > 0.03 * height]
    if len(far) > 1:
        aside = (far[0] - far[-1]).normalized()
        end = sum(far, Vector()) / len(far)
        wide = (far[0] - far[-1]).length / 2 + 0.006 * height
        lengths = (0.0, 0.4, 0.8, 1.0)
    else:
        aside, end, wide = body.front, wrist + along * 0.095 * height, 0.021 * height
        lengths = (0.0, 0.3, 0.6, 1.0)
    palm = [
        Section(wrist.lerp(end, share), width * wide, depth * height)
        for share, width, depth in zip(lengths, (0.55, 0.92, 1.0, 0.8), (0.0115, 0.0115, 0.009, 0.0065), strict=True)
    ]
    return [_loft(hand, palm, aside), _ball(hand, wrist, 0.0135 * height)]


def _human_foot(body: _Body, foot: Bone) -> list[Solid]:
    """A foot with a flat sole on the floor, and the toes, where the body has them."""
    height, floor, front = body.height, body.floor, body.front
    ankle, ball = foot.head_local, foot.tail_local
    toes = [bone for bone in foot.children if body.role.get(bone.name) == 'TOE']
    length = (ball - ankle).dot(front)

    def ring(forward: float, top: float, width: float) -> Section:
        middle = ankle + front * forward
        return Section(Vector((middle.x, middle.y, floor + top * height / 2)), width * height, top * height / 2)

    sole = [
        ring(-0.030 * height, 0.028, 0.015),
        ring(-0.012 * height, 0.046, 0.019),
        ring(0.25 * length, 0.050, 0.0205),
        ring(0.6 * length, 0.037, 0.023),
        ring(0.93 * length, 0.026, 0.024),
    ]
    solids = [_loft(foot, sole, body.left, bulge=0.35), _ball(foot, ankle, 0.019 * height)]
    for toe in toes:
        tip = (toe.tail_local - ankle).dot(front)
        front_part = [
            ring(length * 1.02, 0.025, 0.024),
            ring((length + tip) / 2, 0.022, 0.023),
            ring(tip, 0.016, 0.015),
        ]
        solids.append(_loft(toe, front_part, body.left, bulge=0.35))
    return solids


def _quadruped(body: _Body) -> list[Solid]:
    height, solids = body.height, []
    hooves = [bone for bone in body.of('FINGER', 'TOE') if not any(body.role.get(c.name) for c in bone.children)]
    for name, role in body.role.items():
        bone = body.bones[name]
        if bone in hooves:
            solids.append(_hoof(body, bone))
        elif role in _QUADRUPED_RADII:
            flat = 0.75 if role in ('CLAVICLE', 'UPPER_ARM', 'THIGH') else 1.0
            solids += _limb(bone, tuple(height * radius for radius in _QUADRUPED_RADII[role]), body.left, flat)
    solids += _trunk_of_quadruped(body) + _neck_and_head_of_quadruped(body)
    tail = body.of('TAIL')
    for number, bone in enumerate(tail):
        first, last = (0.03 * (1.2 - 0.75 * (number + step) / len(tail)) * height for step in (0, 1))
        solids += _limb(bone, (first, (first + last) / 2, last), body.left)
    return solids


def _trunk_of_quadruped(body: _Body) -> list[Solid]:
    """The barrel, cut into one piece for each bone of the trunk."""
    bones = body.of('HIPS', 'SPINE', 'CHEST')
    start, end = bones[0].head_local, bones[-1].tail_local
    length = (end - start).dot(body.front)
    table = np.array(_TRUNK_OF_QUADRUPED)
    solids = []
    for bone in bones:
        low, high = ((point - start).dot(body.front) / length for point in (bone.head_local, bone.tail_local))
        low = table[0, 0] if bone == bones[0] else low - 0.015
        high = table[-1, 0] if bone == bones[-1] else high + 0.015
        sections = []
        for along in np.linspace(low, high, 9):
            top, belly, width = (float(np.interp(along, table[:, 0], table[:, column])) for column in (1, 2, 3))
            line = start.lerp(end, along)
            centre = Vector((line.x, line.y, start.z + (top + belly) / 2 * body.height))
            sections.append(Section(centre, width * body.height, (top - belly) / 2 * body.height))
        solids.append(_loft(bone, sections, body.left, bulge=0.18))
    return solids


def _neck_and_head_of_quadruped(body: _Body) -> list[Solid]:
    height, neck = body.height, body.of('NECK')
    solids = []
    for number, bone in enumerate(neck):
        first, last = (0.165 - 0.085 * (number + step) / len(neck) for step in (0, 1))
        solids += _limb(bone, (first * height, (first + last) / 2 * height, last * height), body.left, flat=0.6)
    for bone in body.of('HEAD'):
        poll = bone.head_local
        muzzle = max(
            (child.tail_local for child in [bone, *bone.children_recursive]), key=lambda end: (end - poll).length
        )
        size = (muzzle - poll).length
        line = (muzzle - poll).normalized()
        back = line.cross(body.left).normalized()
        shape = (
            (0.0, 0.15, 0.17),
            (0.2, 0.17, 0.21),
            (0.42, 0.15, 0.20),
            (0.7, 0.10, 0.125),
            (0.9, 0.10, 0.115),
            (1.0, 0.07, 0.08),
        )
        skull = [Section(poll + line * along * size, width * size, depth * size) for along, width, depth in shape]
        solids.append(_loft(bone, skull, body.left, bulge=0.5))
        up = back if back.z > 0 else -back
        for side in (-1.0, 1.0):
            base = poll + (line * 0.02 + up * 0.15 + body.left * 0.09 * side) * size
            tip = base + (up * 0.20 - line * 0.14 + body.left * 0.05 * side) * size
            ear = [
                Section(base.lerp(tip, at), wide * size, deep * size)
                for at, wide, deep in ((0.0, 0.035, 0.03), (0.45, 0.05, 0.03), (1.0, 0.006, 0.006))
            ]
            solids.append(_loft(bone, ear, body.left))
    return solids


def _hoof(body: _Body, bone: Bone) -> Solid:
    head, tail = bone.head_local, bone.tail_local
    size = body.height
    foot = Vector((tail.x, tail.y, body.floor)) - body.front * 0.012 * size
    sections = [
        Section(head.lerp(foot, at), wide * size, wide * size)
        for at, wide in ((0.1, 0.026), (0.5, 0.034), (1.0, 0.042))
    ]
    sections = [Section(one.centre, one.width, one.depth * 1.1) for one in sections]
    return _loft(bone, sections, body.left, HOOF, bulge=0.1, axis=Vector((0.0, 0.0, -1.0)))


# Solids of one kind


def _limb(bone: Bone, radii: Sequence[float], side: Vector, flat: float = 1.0) -> list[Solid]:
    """A tapered capsule with a seam at either end; where it is round a ball at the bone's head, too."""
    first, middle, last = radii
    head, tail = bone.head_local, bone.tail_local
    seam = 0.45 / bone.length if flat == 1.0 else 0.0
    gap = min(seam * first, 0.2), min(seam * last, 0.2)
    along = (gap[0], gap[0] + 0.3 * (1 - gap[0] - gap[1]), 0.6, 1 - gap[1])
    sizes = (0.92 * first, (first + 2 * middle) / 3 * 1.04, (2 * middle + last) / 3, 0.95 * last)
    sections = [Section(head.lerp(tail, at), flat * size, size) for at, size in zip(along, sizes, strict=True)]
    axis = (tail - head).normalized()
    across = side if abs(axis.dot(side)) < 0.8 else axis.orthogonal()
    solid = _loft(bone, sections, across, bulge=0.45)
    return [solid, _ball(bone, head, 0.97 * min(first, 1.15 * middle))] if flat == 1.0 else [solid]


def _ball(bone: Bone, centre: Vector, radius: float) -> Solid:
    sections = [
        Section(centre + Vector((0, 0, at * radius)), math.sqrt(1 - at * at) * radius, math.sqrt(1 - at * at) * radius)
        for at in np.sin(np.linspace(-1.45, 1.45, 13))
    ]
    return _loft(bone, sections, Vector((1.0, 0.0, 0.0)), JOINT, bulge=0.1)


def _loft(
    bone: Bone,
    sections: Sequence[Section],
    side: Vector,
    substance: str = WOOD,
    bulge: float = 0.6,
    axis: Vector | None = None,
) -> Solid:
    """Make a solid through ellipses across its axis, with rounded ends.

    Args:
        bone: that carries the solid.
        sections: from one end to the other; between them the surface is a Catmull-Rom spline.
        side: direction of the sections' widths.
        substance: of which it is made.
        bulge: how far the ends are rounded outward, in shares of the last section's smaller radius.
        axis: direction along the solid, that of the line from the first section to the last where none is given.
    """
    along = np.array(axis or (sections[-1].centre - sections[0].centre).normalized())
    width_axis = np.array(side) - along * np.dot(along, np.array(side))
    width_axis /= np.linalg.norm(width_axis)
    depth_axis = np.cross(along, width_axis)
    table = _spline(np.array([(*one.centre[:], one.width, one.depth) for one in sections]), 5)
    rings = [*_cap(table[0], -along, bulge)[::-1], *table, *_cap(table[-1], along, bulge)]
    angles = np.linspace(0.0, 2 * np.pi, 40, endpoint=False)
    points = [
        ring[:3] + np.outer(np.cos(angles) * ring[3], width_axis) + np.outer(np.sin(angles) * ring[4], depth_axis)
        for ring in rings
    ]
    count, around = len(rings), len(angles)
    faces = [
        (r * around + a, r * around + (a + 1) % around, (r + 1) * around + (a + 1) % around, (r + 1) * around + a)
        for r in range(count - 1)
        for a in range(around)
    ]
    ends = [tuple(range(around))[::-1], tuple((count - 1) * around + a for a in range(around))]
    mesh = bpy.data.meshes.new(bone.name)
    mesh.from_pydata(np.concatenate(points).tolist(), [], [*faces, *ends])
    mesh.shade_smooth()
    return Solid(bone.name, mesh, substance)


def _cap(ring: _Numbers, outward: _Numbers, bulge: float) -> list[_Numbers]:
    """Return the ellipses of a rounded end, from the last section outward."""
    depth = bulge * min(ring[3], ring[4])
    return [
        np.array([*(ring[:3] + outward * depth * math.sin(angle)), *(ring[3:] * math.cos(angle))])
        for angle in np.linspace(0.25, 1.5, 6)
    ]


def _spline(points: _Numbers, steps: int) -> _Numbers:
    """Return a Catmull-Rom spline through points: `p(t) = ((2 b) + (c - a) t + ...) / 2` between b and c."""
    padded = np.vstack([2 * points[0] - points[1], points, 2 * points[-1] - points[-2]])
    found = []
    for a, b, c, d in zip(padded, padded[1:], padded[2:], padded[3:], strict=False):
        for t in np.linspace(0.0, 1.0, steps, endpoint=False):
            found.append(
                (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3) / 2
            )
    return np.array([*found, points[-1]])
