# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The projection of a 3D view: from the world to pixels, and from pixels to axes and planes. Computes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from mathutils import Matrix, Vector

if TYPE_CHECKING:
    from bpy.types import Event, Region, RegionView3D

_LEAST_VIEW_SINE = 0.05
"""Sine of the angle between the line of sight and an axis, or a plane, below which the intersection isn't used.

The position along the axis changes by 1 / sine for each unit across the view: below 0.05 a pixel would move the dragged
point 20 times as far as it moves on the screen.
"""

_FARTHEST = 100.0
"""Greatest distance along an axis, over the distance from the viewer: near its vanishing point it would be infinite."""


@dataclass(frozen=True)
class View:
    """A 3D view; pixels count from the bottom left."""

    perspective: Matrix
    """(4, 4) from world space to the view's clip space."""
    world: Matrix
    """(4, 4) from the view's local space to world space."""
    is_perspective: bool
    width: int
    height: int

    @cached_property
    def _inverse(self) -> Matrix:
        return self.perspective.inverted_safe()

    @cached_property
    def right(self) -> Vector:
        """Unit vector to the right on the screen, world space."""
        return self.world.to_3x3().col[0].normalized()

    @cached_property
    def up(self) -> Vector:
        """Unit vector upward on the screen, world space."""
        return self.world.to_3x3().col[1].normalized()

    def pixel_of(self, point: Vector) -> Vector | None:
        """Return the pixel of a point in world space; None if the point is behind the viewer."""
        clip = self.perspective @ point.to_4d()
        if clip.w <= 1e-9:
            return None
        return Vector((0.5 * self.width * (1.0 + clip.x / clip.w), 0.5 * self.height * (1.0 + clip.y / clip.w)))

    def point_at(self, pixel: Vector, depth: Vector) -> Vector:
        """Return the point under a pixel that has the same depth in the view as another point; both in world space."""
        clip = self.perspective @ depth.to_4d()
        x, y = 2.0 * pixel.x / self.width - 1.0, 2.0 * pixel.y / self.height - 1.0
        return (self._inverse @ Vector((x * clip.w, y * clip.w, clip.z, clip.w))).to_3d()

    def ray_at(self, pixel: Vector, depth: Vector) -> tuple[Vector, Vector]:
        """Return start and unit direction of the line of sight under a pixel, away from the viewer, world space."""
        point = self.point_at(pixel, depth)
        if self.is_perspective:
            eye = self.world.to_translation()
            return eye, (point - eye).normalized()
        forward = -self.world.to_3x3().col[2].normalized()
        return point - forward * (2.0 * (point - self.world.to_translation()).length + 1e3), forward

    def along_axis(self, pixel: Vector, origin: Vector, axis: Vector) -> float:
        """Return how far along a unit axis the point is that is nearest to the line of sight under a pixel.

        With the axis `o + s a`, the line of sight `e + t d`, `w = e - o` and `c = a·d`, the nearest points of two lines
        give `s = (w·a - c w·d) / (1 - c²)`. If the axis points at the viewer (`1 - c²` near 0) the position up the
        screen is taken instead.
        """
        start, direction = self.ray_at(pixel, origin)
        cosine = axis.dot(direction)
        sine_squared = 1.0 - cosine * cosine
        if sine_squared < _LEAST_VIEW_SINE * _LEAST_VIEW_SINE:
            return (self.point_at(pixel, origin) - origin).dot(self.up)
        between = start - origin
        found = (between.dot(axis) - cosine * between.dot(direction)) / sine_squared
        farthest = _FARTHEST * (self.world.to_translation() - origin).length + 1e-6
        return min(max(found, -farthest), farthest)

    def on_plane(self, pixel: Vector, origin: Vector, normal: Vector) -> Vector:
        """Return the intersection of a plane with the line of sight under a pixel, world space.

        With the plane `(x - o)·n = 0` and the line of sight `e + t d`: `t = (o - e)·n / d·n`. A plane seen edge on
        (`d·n` near 0), or behind the viewer, has no such point: there the movement parallel to the screen is projected
        on the plane.
        """
        start, direction = self.ray_at(pixel, origin)
        sine = direction.dot(normal)
        if abs(sine) >= _LEAST_VIEW_SINE:
            distance = (origin - start).dot(normal) / sine
            if distance > 0.0:
                return start + direction * distance
        offset = self.point_at(pixel, origin) - origin
        return origin + offset - normal * offset.dot(normal)


def mouse_in(region: Region, event: Event) -> Vector:
    """READ: where the mouse is in a region, in pixels from its lower left corner."""
    return Vector((event.mouse_x - region.x, event.mouse_y - region.y))


def mouse_at_press(region: Region, event: Event) -> Vector:
    """READ: where the mouse was when the button was pressed, of an event that drags; else where the mouse is."""
    if event.value != 'CLICK_DRAG':
        return mouse_in(region, event)
    return Vector((event.mouse_prev_press_x - region.x, event.mouse_prev_press_y - region.y))


def view_of(region: Region, region_3d: RegionView3D) -> View:
    """Read the projection of a region of a 3D viewport."""
    return View(
        region_3d.perspective_matrix.copy(),
        region_3d.view_matrix.inverted_safe(),
        region_3d.is_perspective,
        max(region.width, 1),
        max(region.height, 1),
    )
