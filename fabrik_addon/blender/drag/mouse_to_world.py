# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The world position that mouse and keys choose: view plane, locked axes and planes, steps, typed numbers. Computes.

With `p` the pixel of the dragged point at the start and `d` the mouse's travel in pixels since, the dragged point goes
to the world position under the pixel `p + d`: in the plane through the start that is parallel to the screen, or, with a
lock, on the locked axis or plane. The travel is summed in whole pixels, so that a mouse that returns to its start
returns the dragged point to its start, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from mathutils import Matrix, Vector

from .view_projection import View

PRECISE_FACTOR = 0.1
"""Factor of the mouse's travel while Shift is held, as in Blender's own transform."""

_AXIS_LABELS = "XYZ"


@dataclass(frozen=True)
class Lock:
    """An axis along which a drag moves, or, with ``is_plane``, the axis across whose plane it moves."""

    axis: int
    is_plane: bool
    space: Literal['GLOBAL', 'LOCAL']

    @property
    def text(self) -> str:
        """The lock in words, as Blender's own transform writes it in the header."""
        if self.is_plane:
            return f"locking {self.space.lower()} {_AXIS_LABELS[self.axis]}"
        return f"along {self.space.lower()} {_AXIS_LABELS[self.axis]}"


def next_lock(lock: Lock | None, axis: int, is_plane: bool) -> Lock | None:
    """Return the lock after a key of an axis: first of the world, then the local one, then none, as Blender's own."""
    of_world, local = Lock(axis, is_plane, 'GLOBAL'), Lock(axis, is_plane, 'LOCAL')
    return local if lock == of_world else None if lock == local else of_world


@dataclass
class NumberInput:
    """Up to three numbers typed in mid-drag, one for each direction of movement."""

    texts: list[str] = field(default_factory=lambda: ["", "", ""])
    active: int = 0
    """Index of the number that takes the next character."""

    @property
    def is_on(self) -> bool:
        """Whether anything was typed."""
        return any(self.texts)

    def type(self, character: str) -> bool:
        """Add a digit or a point, or change the sign; return whether the character is one of these."""
        text = self.texts[self.active]
        if character == "-":
            self.texts[self.active] = text[1:] if text.startswith("-") else "-" + text
        elif character in ".,":
            if "." not in text:
                self.texts[self.active] = text + "."
        elif len(character) == 1 and character in "0123456789":
            self.texts[self.active] = text + character
        else:
            return False
        return True

    def next(self, count: int) -> None:
        """Make the next number active; after the last of ``count`` numbers comes the first."""
        self.active = (self.active + 1) % count

    def erase(self) -> None:
        """Delete the last character of the active number; if it is empty, that of the last number that isn't."""
        if not self.texts[self.active]:
            self.active = max((number for number, text in enumerate(self.texts) if text), default=0)
        self.texts[self.active] = self.texts[self.active][:-1]

    def values(self) -> tuple[float, float, float]:
        """Return the three numbers; an empty text, a lone sign and a lone point are 0."""
        x, y, z = (_number(text) for text in self.texts)
        return x, y, z


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


class DragPointer:
    """The desired position of the dragged point, from the mouse's travel, the lock and the typed numbers."""

    def __init__(self, view: View, pixel: Vector, start: Vector, axes: Matrix) -> None:
        """Begin at the dragged point's present position.

        Args:
            view: the 3D view.
            pixel: the mouse in the region, pixels from its bottom left.
            start: position of the dragged point, world space.
            axes: local axes of the dragged bone or object, as columns of a rotation matrix in world space.
        """
        self.start = start.copy()
        self.lock: Lock | None = None
        self.numbers = NumberInput()
        self._axes = axes.copy()
        self._view = view
        self._base = start.copy()  # world position when the view last changed
        self._origin = self._pixel_of(start)  # pixel of that position
        self._mouse = pixel.copy()
        # The mouse's travel since, without and with Shift. Kept apart as whole pixels: a sum that already held the
        # factor 0.1 would be rounded, and the way back would not add up to zero.
        self._travel = Vector((0.0, 0.0))
        self._precise_travel = Vector((0.0, 0.0))

    def set_view(self, view: View, pixel: Vector) -> None:
        """Continue from the present position in another view.

        The mouse may have travelled while it turned the view: that travel moves nothing.
        """
        if view == self._view:
            return
        self._base = self.position()
        self._view = view
        self._origin = self._pixel_of(self._base)
        self._mouse = pixel.copy()
        self._travel, self._precise_travel = Vector((0.0, 0.0)), Vector((0.0, 0.0))

    def set_mouse(self, pixel: Vector, is_precise: bool) -> None:
        """Add the mouse's travel to a pixel; with ``is_precise`` it counts a tenth."""
        if is_precise:
            self._precise_travel += pixel - self._mouse
        else:
            self._travel += pixel - self._mouse
        self._mouse = pixel.copy()

    @property
    def _desired_pixel(self) -> Vector:
        """The pixel of the dragged point plus the mouse's travel."""
        return self._origin + self._travel + PRECISE_FACTOR * self._precise_travel

    def press_axis(self, axis: int, is_plane: bool) -> None:
        """Lock an axis or plane (``next_lock``)."""
        self.lock = next_lock(self.lock, axis, is_plane)
        self.numbers.active = min(self.numbers.active, self.number_count - 1)

    @property
    def number_count(self) -> int:
        """How many numbers can be typed."""
        return 3 if self.lock is None else 2 if self.lock.is_plane else 1

    @property
    def directions(self) -> list[Vector]:
        """The unit vectors along which the lock lets the dragged point move, world space."""
        axes = Matrix.Identity(3) if self.lock is None or self.lock.space == 'GLOBAL' else self._axes
        columns = [axes.col[i].copy() for i in range(3)]
        if self.lock is None:
            return columns
        if self.lock.is_plane:
            return [column for i, column in enumerate(columns) if i != self.lock.axis]
        return [columns[self.lock.axis]]

    def position(self) -> Vector:
        """Return the desired position, world space: from the typed numbers if there are some, else from the mouse."""
        directions = self.directions
        if self.numbers.is_on:
            offset = Vector((0.0, 0.0, 0.0))
            for direction, value in zip(directions, self.numbers.values(), strict=False):
                offset += direction * value
            return self.start + offset
        if not (any(self._travel[:]) or any(self._precise_travel[:])):
            return self.confined(self._base)
        if self.lock is None:
            moved = self._view.point_at(self._desired_pixel, self._base)
            moved = moved - self._view.point_at(self._origin, self._base)
        elif self.lock.is_plane:
            normal = Vector(directions[0].cross(directions[1]))  # type: ignore[arg-type]
            moved = self._view.on_plane(self._desired_pixel, self._base, normal)
            moved = moved - self._view.on_plane(self._origin, self._base, normal)
        else:
            (axis,) = directions
            distance = self._view.along_axis(self._desired_pixel, self._base, axis)
            moved = axis * (distance - self._view.along_axis(self._origin, self._base, axis))
        return self.confined(self._base + moved)

    def confined(self, position: Vector) -> Vector:
        """Return the orthogonal projection of a position on the locked axis or plane through the start."""
        if self.lock is None:
            return position.copy()
        offset = position - self.start
        projected = Vector((0.0, 0.0, 0.0))
        for direction in self.directions:
            projected += direction * offset.dot(direction)
        return self.start + projected

    def stepped(self, position: Vector, step: float, from_start: bool) -> Vector:
        """Return the nearest position in whole steps, along each direction that the lock leaves free.

        Args:
            position: world space.
            step: length of a step, Blender units.
            from_start: whether steps count from the start; else from the world's origin.
        """
        origin = self.start if from_start else Vector((0.0, 0.0, 0.0))
        found = position.copy()
        for direction in self.directions:
            along = (found - origin).dot(direction)
            found += direction * (step * round(along / step) - along)
        return found

    @property
    def ray(self) -> tuple[Vector, Vector]:
        """Start and unit direction of the line of sight through the desired pixel, world space."""
        return self._view.ray_at(self._desired_pixel, self._base)

    def _pixel_of(self, point: Vector) -> Vector:
        # A point behind the viewer has no pixel: the region's middle stands in for it.
        middle = Vector((0.5 * self._view.width, 0.5 * self._view.height))
        return self._view.pixel_of(point) or middle
