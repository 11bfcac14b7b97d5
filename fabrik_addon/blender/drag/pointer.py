# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""From mouse and keys to a place in the world: view plane, locked axes and planes, steps, typed numbers. Computes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from mathutils import Matrix, Vector

from .view import View

PRECISE = 0.1
"""What a pixel counts for while Shift is held, as in Blender's own transform."""

_AXES = "XYZ"


@dataclass(frozen=True)
class Lock:
    """What keeps a drag to an axis, or to the plane across it."""

    axis: int
    is_plane: bool
    space: Literal['GLOBAL', 'LOCAL']

    @property
    def text(self) -> str:
        """In words, as in Blender's header."""
        if self.is_plane:
            return f"locking {self.space.lower()} {_AXES[self.axis]}"
        return f"along {self.space.lower()} {_AXES[self.axis]}"


@dataclass
class NumberInput:
    """Up to three numbers that are typed, Tab goes to the next."""

    texts: list[str] = field(default_factory=lambda: ["", "", ""])
    place: int = 0

    @property
    def is_on(self) -> bool:
        """Whether anything was typed."""
        return any(self.texts)

    def type(self, character: str) -> bool:
        """Take a digit, point or sign; tell whether it was one."""
        text = self.texts[self.place]
        if character == "-":
            self.texts[self.place] = text[1:] if text.startswith("-") else "-" + text
        elif character in ".,":
            if "." not in text:
                self.texts[self.place] = text + "."
        elif len(character) == 1 and character in "0123456789":
            self.texts[self.place] = text + character
        else:
            return False
        return True

    def next(self, count: int) -> None:
        """Go to the next of a number of numbers."""
        self.place = (self.place + 1) % count

    def erase(self) -> None:
        """Take back the last character; where there is none, that of the last number."""
        if not self.texts[self.place]:
            self.place = max((place for place, text in enumerate(self.texts) if text), default=0)
        self.texts[self.place] = self.texts[self.place][:-1]

    def clear(self) -> None:
        """Forget all that was typed."""
        self.texts, self.place = ["", "", ""], 0

    def values(self) -> tuple[float, float, float]:
        """Return the numbers; what was not typed, or is no number yet, is 0."""
        x, y, z = (_number(text) for text in self.texts)
        return x, y, z


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


class DragPointer:
    """Where mouse and keys say that what is dragged should be."""

    def __init__(self, view: View, pixel: Vector, start: Vector, axes: Matrix) -> None:
        """Begin where things are.

        Args:
            view: the 3D view.
            pixel: where the mouse is.
            start: where in the world what is dragged is.
            axes: its own, as columns of a rotation matrix in the world.
        """
        self.start = start.copy()
        self.lock: Lock | None = None
        self.numbers = NumberInput()
        self._axes = axes.copy()
        self._view = view
        self._base = start.copy()  # where it was when the view was last turned
        self._origin = self._pixel_of(start)  # where that is in the view
        self._mouse = pixel.copy()
        # How far the mouse went since: whole pixels, so that the way back adds up to nothing.
        self._way = Vector((0.0, 0.0))
        self._precise_way = Vector((0.0, 0.0))

    def set_view(self, view: View, pixel: Vector) -> None:
        """Go on from where it is in another view; the mouse that turned it moved nothing else."""
        if view == self._view:
            return
        self._base = self.position()
        self._view = view
        self._origin = self._pixel_of(self._base)
        self._mouse = pixel.copy()
        self._way, self._precise_way = Vector((0.0, 0.0)), Vector((0.0, 0.0))

    def set_mouse(self, pixel: Vector, is_precise: bool) -> None:
        """Follow the mouse."""
        if is_precise:
            self._precise_way += pixel - self._mouse
        else:
            self._way += pixel - self._mouse
        self._mouse = pixel.copy()

    @property
    def _virtual(self) -> Vector:
        """The pixel where the mouse would be if it had started at what is dragged."""
        return self._origin + self._way + PRECISE * self._precise_way

    def press_axis(self, axis: int, is_plane: bool) -> None:
        """Lock an axis or plane: first the world's, then its own, then none, as in Blender's own transform."""
        spaces = {None: 'GLOBAL', Lock(axis, is_plane, 'GLOBAL'): 'LOCAL', Lock(axis, is_plane, 'LOCAL'): None}
        space = spaces.get(self.lock, 'GLOBAL')
        self.lock = None if space is None else Lock(axis, is_plane, space)  # type: ignore[arg-type]
        self.numbers.place = min(self.numbers.place, self.number_count - 1)

    @property
    def number_count(self) -> int:
        """How many numbers can be typed."""
        return 3 if self.lock is None else 2 if self.lock.is_plane else 1

    @property
    def directions(self) -> list[Vector]:
        """The unit vectors that it can move along."""
        axes = Matrix.Identity(3) if self.lock is None or self.lock.space == 'GLOBAL' else self._axes
        columns = [axes.col[i].copy() for i in range(3)]
        if self.lock is None:
            return columns
        if self.lock.is_plane:
            return [column for i, column in enumerate(columns) if i != self.lock.axis]
        return [columns[self.lock.axis]]

    def position(self) -> Vector:
        """Return where the mouse, or what was typed, puts it."""
        directions = self.directions
        if self.numbers.is_on:
            offset = Vector((0.0, 0.0, 0.0))
            for direction, value in zip(directions, self.numbers.values(), strict=False):
                offset += direction * value
            return self.start + offset
        if not (any(self._way[:]) or any(self._precise_way[:])):
            return self.confined(self._base)
        if self.lock is None:
            moved = self._view.point_at(self._virtual, self._base) - self._view.point_at(self._origin, self._base)
        elif self.lock.is_plane:
            normal = Vector(directions[0].cross(directions[1]))  # type: ignore[arg-type]
            moved = self._view.on_plane(self._virtual, self._base, normal)
            moved = moved - self._view.on_plane(self._origin, self._base, normal)
        else:
            (axis,) = directions
            way = self._view.along_axis(self._virtual, self._base, axis)
            moved = axis * (way - self._view.along_axis(self._origin, self._base, axis))
        return self.confined(self._base + moved)

    def confined(self, position: Vector) -> Vector:
        """Return the point nearest to a position that the locked axis or plane has."""
        if self.lock is None:
            return position.copy()
        offset = position - self.start
        kept = Vector((0.0, 0.0, 0.0))
        for direction in self.directions:
            kept += direction * offset.dot(direction)
        return self.start + kept

    def stepped(self, position: Vector, step: float, from_start: bool) -> Vector:
        """Return the nearest position in whole steps, along each direction that it can move along.

        Args:
            position: in the world.
            step: length.
            from_start: whether steps count from the start, or from the world's origin.
        """
        origin = self.start if from_start else Vector((0.0, 0.0, 0.0))
        found = position.copy()
        for direction in self.directions:
            way = (found - origin).dot(direction)
            found += direction * (step * round(way / step) - way)
        return found

    @property
    def ray(self) -> tuple[Vector, Vector]:
        """Where the line under the mouse starts in the world, and its direction."""
        return self._view.ray_at(self._virtual, self._base)

    def _pixel_of(self, point: Vector) -> Vector:
        middle = Vector((0.5 * self._view.width, 0.5 * self._view.height))
        return self._view.pixel_of(point) or middle
