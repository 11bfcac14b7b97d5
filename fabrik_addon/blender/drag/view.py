# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A 3D view as numbers: where a point of the world is on it, and what of the world is under a pixel. Computes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from mathutils import Matrix, Vector

if TYPE_CHECKING:
    from bpy.types import Region, RegionView3D

_EDGE_ON = 0.05
"""Sine between the view and an axis, or a plane, below which the mouse can't say where on it a point is."""

_FARTHEST = 100.0
"""How far along an axis the mouse can get, over the distance from the viewer."""


@dataclass(frozen=True)
class View:
    """A 3D view; pixels count from the bottom left."""

    perspective: Matrix
    """From the world to the view's clip space."""
    world: Matrix
    """From the view's own space to the world."""
    is_perspective: bool
    width: int
    height: int

    @cached_property
    def _inverse(self) -> Matrix:
        return self.perspective.inverted_safe()

    @cached_property
    def right(self) -> Vector:
        """Unit vector to the right, in the world."""
        return self.world.to_3x3().col[0].normalized()

    @cached_property
    def up(self) -> Vector:
        """Unit vector upward on the screen, in the world."""
        return self.world.to_3x3().col[1].normalized()

    def pixel_of(self, point: Vector) -> Vector | None:
        """Return where a point of the world is; None if that is behind the viewer."""
        clip = self.perspective @ point.to_4d()
        if clip.w <= 1e-9:
            return None
        return Vector((0.5 * self.width * (1.0 + clip.x / clip.w), 0.5 * self.height * (1.0 + clip.y / clip.w)))

    def point_at(self, pixel: Vector, depth: Vector) -> Vector:
        """Return the point under a pixel that is as deep in the view as another point of the world."""
        clip = self.perspective @ depth.to_4d()
        x, y = 2.0 * pixel.x / self.width - 1.0, 2.0 * pixel.y / self.height - 1.0
        return (self._inverse @ Vector((x * clip.w, y * clip.w, clip.z, clip.w))).to_3d()

    def ray_at(self, pixel: Vector, depth: Vector) -> tuple[Vector, Vector]:
        """Return where the line under a pixel starts and its unit direction, away from the viewer."""
        point = self.point_at(pixel, depth)
        if self.is_perspective:
            eye = self.world.to_translation()
            return eye, (point - eye).normalized()
        forward = -self.world.to_3x3().col[2].normalized()
        return point - forward * (2.0 * (point - self.world.to_translation()).length + 1e3), forward

    def along_axis(self, pixel: Vector, origin: Vector, axis: Vector) -> float:
        """Return how far along a unit axis the mouse is: the point of the axis that is nearest to the line under it."""
        start, direction = self.ray_at(pixel, origin)
        cosine = axis.dot(direction)
        sine_squared = 1.0 - cosine * cosine
        if sine_squared < _EDGE_ON * _EDGE_ON:
            # Seen from its end an axis has no length: up is forward.
            return (self.point_at(pixel, origin) - origin).dot(self.up)
        away = start - origin
        found = (away.dot(axis) - cosine * away.dot(direction)) / sine_squared
        # Near its vanishing point the mouse would be infinitely far along it.
        farthest = _FARTHEST * (self.world.to_translation() - origin).length + 1e-6
        return min(max(found, -farthest), farthest)

    def on_plane(self, pixel: Vector, origin: Vector, normal: Vector) -> Vector:
        """Return the point of a plane under the mouse."""
        start, direction = self.ray_at(pixel, origin)
        slope = direction.dot(normal)
        if abs(slope) >= _EDGE_ON:
            distance = (origin - start).dot(normal) / slope
            if distance > 0.0:
                return start + direction * distance
        # Seen edge on a plane is a line: what is left of the way across the view.
        way = self.point_at(pixel, origin) - origin
        return origin + way - normal * way.dot(normal)


def view_of(region: Region, region_3d: RegionView3D) -> View:
    """Read the view of a region."""
    return View(
        region_3d.perspective_matrix.copy(),
        region_3d.view_matrix.inverted_safe(),
        region_3d.is_perspective,
        max(region.width, 1),
        max(region.height, 1),
    )
