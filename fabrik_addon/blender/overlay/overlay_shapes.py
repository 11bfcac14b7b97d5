# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines, points and faces of the overlay, for all chains of an armature at once. Computes.

Strokes (lines and points) and faces are rows of indices into a table of positions. The rows are made once, with the
``Layout``; a change of pose makes a new table and, if a status or a limit has changed, new colours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...core import Array
from ...core.math.operations import IntegerArray
from ...core.model.joint_limits import LARGEST_HALF_SINE, JointLimits
from .read_overlay import ArmatureView, ChainStates, Cone, WorldPositions

Color = tuple[float, float, float, float]

CIRCLE_SEGMENTS = 48
"""Segments of a circle."""

CONE_LENGTH = 0.45
"""Length of a limit cone over its bone's length."""

INACTIVE_OPACITY = 0.5
"""Opacity of a chain that isn't the active one."""

JOINT_SIZE = 8.0
"""Diameter of the point of a joint, pixels."""

_THIN, _THICK, _MARK_SIZE = 1.5, 3.0, 13.0
"""Width of thin and thick lines, diameter of the points of targets and pins; pixels."""

_CONE_OPACITY = 0.15
"""Opacity of the faces of a limit cone."""

_POLE_OPACITY = 0.12
"""Opacity of the face of a pole's plane."""

_MOVES_BETWEEN_LENGTHS = 8
"""Changes of pose after which chain lengths are computed again: they change only while a chain stretches."""

_SPOKES = 4
"""Lines from the tip of a limit cone to its rim."""

Reach = tuple[Array, float, float, float]
"""Position of a chain's root (3,), least and greatest distance of its end, distance at which softness begins."""


class StrokeKind(IntEnum):
    """The kinds of strokes; the stroke shader takes them as numbers."""

    POINT = 0
    LINE = 1
    DASHES = 2
    LINK = 3
    """A line with a joint's point at its start."""


@dataclass(frozen=True)
class Shapes:
    """Positions and colours of a layout's strokes and faces."""

    points: Array
    """(R, 3) table of positions, world space, into which the layout's rows point."""
    stroke_colors: Array
    """(N, 4)"""
    face_colors: Array
    """(T, 4)"""
    reaches: tuple[Reach, ...]
    """Drawn as circles parallel to the screen."""


class Layout:
    """The strokes and faces of an armature's chains, valid until a setting changes.

    The table of positions holds P joints, C targets, C poles, the heads of the cones and the rims of the cones, in this
    order.
    """

    def __init__(self, view: ArmatureView, colors: Mapping[str, Color], cones: int) -> None:
        """Make the rows.

        Args:
            colors: for 'link', 'joint', 'pole', 'limit', 'at_limit', 'pin' and each status.
            cones: number of limit cones.
        """
        self.view = view
        self.cones = cones
        self.colors = colors
        chains, joints = view.chains, len(view.points)
        every = np.arange(len(chains))
        dragged = [row for row, chain in enumerate(chains) if chain.is_dragged]
        self.ends: IntegerArray = view.starts + view.counts - 1
        """(C,) rows of the chains' end joints."""
        self.is_active = np.array([chain.is_active for chain in chains], bool)
        """(C,)"""
        self.fades: Array = np.where(self.is_active, 1.0, INACTIVE_OPACITY)
        """(C,) opacity of each chain."""
        self.with_target: IntegerArray = np.array(sorted({*view.targets.rows, *dragged}), int)
        """(G,) chains with a target, or dragged."""
        with_pole: IntegerArray = np.array(view.poles.rows, int)
        poles = joints + len(chains) + every
        heads = joints + 2 * len(chains) + np.arange(cones)
        rims = joints + 2 * len(chains) + cones + np.arange(cones * CIRCLE_SEGMENTS).reshape(cones, CIRCLE_SEGMENTS)

        self._rows: list[IntegerArray] = []
        self._colors: list[Array] = []
        self._styles: list[Array] = []
        # In the order of drawing: later strokes cover earlier ones.
        self._add_cones(heads, rims)
        self._add_pole_lines(with_pole, poles[with_pole])
        self._add_targets(joints + every)
        pinned = every[[chain.is_pinned for chain in chains]]
        self._add(self.ends[pinned], self.ends[pinned], 'pin', 1.0, _MARK_SIZE, StrokeKind.POINT)
        self._add_links()
        self._add(poles[with_pole], poles[with_pole], 'pole', self.fades[with_pole], JOINT_SIZE, StrokeKind.POINT)
        self.rows: IntegerArray = np.concatenate(self._rows)
        """(N, 2) start and end of each stroke; those of a point are the same."""
        self.stroke_colors: Array = np.concatenate(self._colors)
        """(N, 4) with the colour of an unsolved chain for targets."""
        self.styles: Array = np.concatenate(self._styles)
        """(N, 2) width in pixels, and kind."""

        planes = np.stack([view.starts, self.ends, poles], axis=1)[with_pole]
        fans = np.stack([np.repeat(heads, CIRCLE_SEGMENTS), rims.ravel(), np.roll(rims, -1, axis=1).ravel()], axis=1)
        self.faces: IntegerArray = np.concatenate([planes, fans])
        """(T, 3) corners."""
        plane_colors = _rows_of(colors['pole'], _POLE_OPACITY * self.fades[with_pole])
        fan_colors = _rows_of(colors['limit'], np.full(len(fans), _CONE_OPACITY))
        self.face_colors: Array = np.concatenate([plane_colors, fan_colors])
        """(T, 4) with no bone at a limit."""
        self.active: list[int] = np.flatnonzero(self.is_active).tolist()
        self._key: object = None
        self._states: ChainStates | None = None
        self._moves_since_lengths = 0

    def _add_cones(self, heads: IntegerArray, rims: IntegerArray) -> None:
        spokes = rims[:, :: CIRCLE_SEGMENTS // _SPOKES]
        self._rims = self._add(rims, np.roll(rims, -1, axis=1), 'limit', 1.0, _THIN, StrokeKind.LINE)
        self._spokes = self._add(np.repeat(heads, _SPOKES), spokes, 'limit', 1.0, _THIN, StrokeKind.LINE)

    def _add_pole_lines(self, with_pole: IntegerArray, poles: IntegerArray) -> None:
        """Add a line from each chain's middle joint to its pole, and one from its root to its end."""
        middles = self.view.starts + self.view.counts // 2
        fades = self.fades[with_pole]
        self._add(middles[with_pole], poles, 'pole', fades, _THIN, self._dashes_if_active[with_pole])
        self._add(self.view.starts[with_pole], self.ends[with_pole], 'pole', 0.5 * fades, _THIN, StrokeKind.LINE)

    def _add_targets(self, targets: IntegerArray) -> None:
        """Add the targets, and a line from each tip to its target."""
        chosen = self.with_target
        tips, goals, fades = self.ends[chosen], targets[chosen], self.fades[chosen]
        self._error_lines = self._add(tips, goals, 'NONE', fades, _THICK, self._dashes_if_active[chosen])
        self._targets = self._add(goals, goals, 'NONE', fades, _MARK_SIZE, StrokeKind.POINT)

    def _add_links(self) -> None:
        is_end = np.zeros(len(self.view.points), bool)
        is_end[self.ends] = True
        links = np.flatnonzero(~is_end)
        joint_fades = np.repeat(self.fades, self.view.counts)
        self._add(links, links + 1, 'link', joint_fades[links], _THICK, StrokeKind.LINK)
        self._add(self.ends, self.ends, 'joint', self.fades, JOINT_SIZE, StrokeKind.POINT)

    @property
    def _dashes_if_active(self) -> IntegerArray:
        return np.where(self.is_active, int(StrokeKind.DASHES), int(StrokeKind.LINE))

    def _add(
        self,
        starts: IntegerArray,
        ends: IntegerArray,
        color: str,
        fades: Array | float,
        width: float,
        kinds: IntegerArray | StrokeKind,
    ) -> slice:
        """Add strokes between rows of positions; return their rows among all strokes."""
        rows = np.stack([starts.ravel(), ends.ravel()], axis=1)
        begin = sum(map(len, self._rows))
        self._rows.append(rows)
        self._colors.append(_rows_of(self.colors[color], np.broadcast_to(fades, len(rows))))
        styles = np.empty((len(rows), 2))
        styles[:, 0], styles[:, 1] = width, kinds
        self._styles.append(styles)
        return slice(begin, begin + len(rows))

    def shapes(self, places: WorldPositions, states: ChainStates) -> Shapes:
        """Return the shapes at present positions, with as many cones as the layout was made for.

        The greatest distance of an end from its root is the sum of the links `l_i`, the least one
        `max(0, 2 max l_i - sum l_i)`.
        """
        joints = places.joints
        points = np.concatenate([joints, places.targets, places.poles, *_cone_points(places.cones)])
        reaches = []
        for number in self.active:
            start, end = self.view.starts[number], self.ends[number]
            links = _norms(joints[start + 1 : end + 1] - joints[start:end])
            greatest = float(links.sum())
            least = max(0.0, 2.0 * float(links.max()) - greatest)
            reaches.append((joints[start], least, greatest, greatest * (1.0 - states.softnesses[number])))
        return Shapes(points, *self._colors_of(places, states), tuple(reaches))

    def _colors_of(self, places: WorldPositions, states: ChainStates) -> tuple[Array, Array]:
        """Return the colours of strokes and faces: the arrays of the last call if no colour has changed.

        The same array tells ``StrokeBuffers`` that the colours on the GPU are valid.
        """
        chosen = self.with_target
        offsets = places.targets[chosen] - places.joints[self.ends[chosen]]
        if states != self._states or self._moves_since_lengths > _MOVES_BETWEEN_LENGTHS:
            self._states, self._moves_since_lengths = states, 0
            self._tolerances = (np.array(states.tolerances) * _lengths(self.view, places.joints))[chosen]
        self._moves_since_lengths += 1
        is_reached = _norms(offsets) <= self._tolerances
        key = states.statuses, is_reached.tobytes(), [cone.is_at_limit for cone in places.cones]
        if key != self._key:
            self._key = key
            self._colored = self.stroke_colors.copy(), self.face_colors.copy()
            self._color_targets(self._colored[0], states, is_reached)
            if places.cones:
                self._color_cones(*self._colored, places.cones)
        return self._colored

    def _color_targets(self, colors: Array, states: ChainStates, is_reached: NDArray[np.bool_]) -> None:
        """Colour targets, and the lines to targets that aren't reached, by the chains' statuses."""
        statuses = [states.statuses[number] for number in self.with_target]
        rows = np.array(
            [
                # A solve that reached a target which isn't reached now was of another pose: its status is void.
                self.colors['REACHED' if reached else 'NONE' if status == 'REACHED' else status]
                for reached, status in zip(is_reached.tolist(), statuses, strict=True)
            ]
        ).reshape(-1, 4)
        rows[:, 3] *= self.fades[self.with_target]
        colors[self._targets] = rows
        rows[is_reached, 3] = 0.0  # no line to a target that is reached
        colors[self._error_lines] = rows

    def _color_cones(self, colors: Array, face_colors: Array, cones: tuple[Cone, ...]) -> None:
        rows = np.array([self.colors['at_limit' if cone.is_at_limit else 'limit'] for cone in cones])
        colors[self._rims] = np.repeat(rows, CIRCLE_SEGMENTS, axis=0)
        colors[self._spokes] = np.repeat(rows, _SPOKES, axis=0)
        rows[:, 3] *= _CONE_OPACITY
        face_colors[len(face_colors) - len(cones) * CIRCLE_SEGMENTS :] = np.repeat(rows, CIRCLE_SEGMENTS, axis=0)


def _norms(offsets: Array) -> Array:
    """Return the lengths of vectors (N, 3)."""
    x, y, z = offsets.T
    return np.asarray(np.sqrt(x * x + y * y + z * z))


def _lengths(view: ArmatureView, joints: Array) -> Array:
    """Return the length of each chain (C,), given the joints (P, 3) of all."""
    along = np.concatenate([[0.0], np.cumsum(_norms(joints[1:] - joints[:-1]))])
    return along[view.starts + view.counts - 1] - along[view.starts]


def _rows_of(color: Color, fades: Array) -> Array:
    """Return a colour (N, 4) with its opacity multiplied by factors (N,)."""
    rows = np.tile(color, (len(fades), 1))
    rows[:, 3] *= fades
    return rows


def _cone_points(cones: tuple[Cone, ...]) -> tuple[Array, ...]:
    """Return the heads (K, 3) and rims (K * CIRCLE_SEGMENTS, 3) of K cones, world space."""
    if not cones:
        return ()
    heads = np.array([cone.head for cone in cones])
    axes = np.array([CONE_LENGTH * cone.length * cone.axes.T for cone in cones])
    rims = np.array([_rim_directions(cone.limits) for cone in cones]) @ axes + heads[:, None]
    return heads, rims.reshape(-1, 3)


@lru_cache(maxsize=256)
def _rim_directions(limits: JointLimits) -> Array:
    return directions_of(rim_of(limits))


def rim_of(limits: JointLimits) -> Array:
    """Return the boundary of the feasible swings (CIRCLE_SEGMENTS, 2), half-sines about x and z.

    Four quarter ellipses whose half-axes are the bounds, as in Blender's own IK (EllipticLimits), or the rectangle of
    both ranges where rest is outside the limits.
    """
    (lx, _, lz), (ux, _, uz) = limits.lower, limits.upper
    angles = np.arange(CIRCLE_SEGMENTS) * (math.tau / CIRCLE_SEGMENTS)
    cosines, sines = np.cos(angles), np.sin(angles)
    if limits.is_ellipse:
        x = np.where(cosines > 0.0, ux, -lx) * cosines
        z = np.where(sines > 0.0, uz, -lz) * sines
    else:
        # Divided by the larger of both, cosine and sine run along the sides of a square.
        largest = np.maximum(np.abs(cosines), np.abs(sines))
        x = 0.5 * (lx + ux) + 0.5 * (ux - lx) * cosines / largest
        z = 0.5 * (lz + uz) + 0.5 * (uz - lz) * sines / largest
    beyond = np.maximum(np.hypot(x, z) / LARGEST_HALF_SINE, 1.0)
    return np.stack([x / beyond, z / beyond], axis=1)


def directions_of(swings: Array) -> Array:
    """Return the direction of a bone's +Y (N, 3) after swings (N, 2), half-sines about x and z.

    `q = (w, x, 0, z)` takes `(0, 1, 0)` to `(-2 w z, 1 - 2 (x² + z²), 2 w x)`.
    """
    x, z = swings.T
    w = np.sqrt(np.maximum(1.0 - x * x - z * z, 0.0))
    return np.stack([-2.0 * w * z, 1.0 - 2.0 * (x * x + z * z), 2.0 * w * x], axis=1)
