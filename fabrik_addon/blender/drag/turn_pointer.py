# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rotation that mouse and keys choose, as in Blender's own rotate: about the line of sight, or a locked axis.

The angle is that by which the mouse goes around the turned point on the screen, summed over its movements, so that
several turns are possible. Computes.
"""

from __future__ import annotations

import math

from mathutils import Matrix, Quaternion, Vector

from .mouse_to_world import PRECISE_FACTOR, Lock, NumberInput, next_lock
from .view_projection import View

_LEAST_POINTER_RADIUS = 20.0
"""Distance of the mouse from the turned point, in pixels, below which its direction says nothing: the radius of a
handle, and a little more. A turn mostly begins inside a handle: with 4 the same way of the mouse out of it turned a
hand by 3 or by 145 degrees."""


class TurnPointer:
    """The desired rotation of the turned point, world space."""

    def __init__(self, view: View, pixel: Vector, start: Vector, axes: Matrix) -> None:
        """Begin without a rotation.

        Args:
            view: the 3D view.
            pixel: the mouse in the region, pixels from its bottom left.
            start: position of the turned point, world space.
            axes: local axes of its bone, as columns of a rotation matrix in world space.
        """
        self.start = start.copy()
        self.lock: Lock | None = None
        self.numbers = NumberInput()
        self._axes = axes.copy()
        self._view = view
        self._mouse = pixel.copy()
        self._angle = 0.0

    def set_view(self, view: View, pixel: Vector) -> None:
        """Continue in another view; the way of the mouse while it turned the view turns nothing."""
        if view != self._view:
            self._view, self._mouse = view, pixel.copy()

    def set_mouse(self, pixel: Vector, is_precise: bool) -> None:
        """Add the mouse's way around the turned point; with ``is_precise`` it counts a tenth."""
        center = self._view.pixel_of(self.start) or Vector((0.5 * self._view.width, 0.5 * self._view.height))
        before, after = self._mouse - center, pixel - center
        if after.length < _LEAST_POINTER_RADIUS:
            return
        self._mouse = pixel.copy()
        if before.length >= _LEAST_POINTER_RADIUS:
            turn = math.atan2(before.cross(after), before.dot(after))  # type: ignore[arg-type]
            self._angle += turn * (PRECISE_FACTOR if is_precise else 1.0)

    def press_axis(self, axis: int) -> None:
        """Lock an axis (``next_lock``)."""
        self.lock = next_lock(self.lock, axis, is_plane=False)

    @property
    def axis(self) -> Vector:
        """Unit vector about which the point is turned, world space."""
        if self.lock is None:
            return self._toward_viewer
        axes = Matrix.Identity(3) if self.lock.space == 'GLOBAL' else self._axes
        return axes.col[self.lock.axis].copy()

    @property
    def _toward_viewer(self) -> Vector:
        if self._view.is_perspective:
            return (self._view.world.to_translation() - self.start).normalized()
        return self._view.world.to_3x3().col[2].normalized()

    def angle(self, step: float = 0.0) -> float:
        """Return the angle about the axis, radians: the typed one, else that of the mouse, in whole steps if wanted."""
        if self.numbers.is_on:
            return math.radians(self.numbers.values()[0])
        # The mouse goes around the point as it is seen: about an axis that points away the other way around.
        angle = self._angle if self.axis.dot(self._toward_viewer) >= 0.0 else -self._angle
        return step * round(angle / step) if step else angle

    def rotation(self, step: float = 0.0) -> Quaternion:
        """Return the rotation, world space; its angle in whole steps (radians) if wanted."""
        return Quaternion(self.axis, self.angle(step))
