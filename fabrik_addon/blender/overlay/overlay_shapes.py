# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines, points and faces of the overlay, for all chains of an armature at once. Computes.

Which there are stays while chains move: they are rows into a table of points, made once. A move makes a new table.
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
from ...core.model.joint_limits import JointLimits
from .read_overlay import ArmatureView, Cone, Places, Standing

Color = tuple[float, float, float, float]

ROUND = 48
"""Segments of a circle."""

CONE = 0.45
"""How long a limit cone is, over its bone's length."""

FAINT = 0.5
"""Share of its opacity that a chain has which is not the active one."""

JOINT = 8.0
"""Pixels that the point of a joint is large."""

_THIN, _THICK, _MARK = 1.5, 3.0, 13.0
"""Pixels that lines are wide, and the points of targets and pins are large."""

_FACE = 0.15
"""Opacity of a cone."""

_OLD = 8
"""Moves after which the chains' lengths, for what counts as reached, are measured again: few chains stretch."""

_SPOKES = 4
"""From the tip of a cone to its rim."""

Reach = tuple[Array, float, float, float]
"""Where a chain's root is (3,), the least and greatest distance of its end, and from where softness holds it back."""


class Kind(IntEnum):
    """What a stroke is."""

    POINT = 0
    LINE = 1
    DASHES = 2
    LINK = 3
    """A line with a joint's point at its start."""


@dataclass(frozen=True)
class Shapes:
    """What is drawn, in the world; which strokes and faces there are is the layout's."""

    points: Array
    """(R, 3) table that the layout's rows are of."""
    stroke_colors: Array
    """(N, 4)"""
    face_colors: Array
    """(T, 4)"""
    reaches: tuple[Reach, ...]
    """Who draws them turns them to the viewer."""


class Layout:
    """What of an armature's chains is drawn, as long as their settings stay.

    Rows are those of a table of points: all joints, the targets, the poles, the heads of cones, the rims of cones.
    """

    def __init__(self, view: ArmatureView, colors: Mapping[str, Color], cones: int) -> None:
        """Lay out chains.

        Args:
            view: the chains.
            colors: for 'link', 'joint', 'pole', 'limit', 'at_limit', 'pin' and each status.
            cones: how many there are.
        """
        self.view = view
        self.cones = cones
        self.colors = colors
        chains, joints = view.chains, len(view.points)
        every = np.arange(len(chains))
        dragged = [row for row, chain in enumerate(chains) if chain.is_dragged]
        self.ends: IntegerArray = view.starts + view.counts - 1
        """(C,) rows of the chains' ends."""
        self.is_active = np.array([chain.is_active for chain in chains], bool)
        """(C,)"""
        self.fades: Array = np.where(self.is_active, 1.0, FAINT)
        """(C,) opacity of each chain."""
        self.with_target: IntegerArray = np.array(sorted({*view.targets.rows, *dragged}), int)
        """(G,) chains with a target: they have gaps."""
        with_pole: IntegerArray = np.array(view.poles.rows, int)
        pinned = every[[chain.is_pinned for chain in chains]]
        targets, poles = joints + every, joints + len(chains) + every
        heads = joints + 2 * len(chains) + np.arange(cones)
        rims = joints + 2 * len(chains) + cones + np.arange(cones * ROUND).reshape(cones, ROUND)
        middles = view.starts + view.counts // 2
        is_end = np.zeros(joints, bool)
        is_end[self.ends] = True
        links = np.arange(joints)[~is_end]
        joint_fades = np.repeat(self.fades, view.counts)

        self._rows: list[IntegerArray] = []
        self._colors: list[Array] = []
        self._styles: list[Array] = []
        spokes = rims[:, :: ROUND // _SPOKES]
        self._rims = self._add(rims, np.roll(rims, -1, axis=1), 'limit', 1.0, _THIN, Kind.LINE)
        self._spokes = self._add(np.repeat(heads, _SPOKES), spokes, 'limit', 1.0, _THIN, Kind.LINE)
        fades = self.fades[with_pole]
        kinds = np.where(self.is_active, Kind.DASHES, Kind.LINE)
        self._add(middles[with_pole], poles[with_pole], 'pole', fades, _THIN, kinds[with_pole])
        self._add(view.starts[with_pole], self.ends[with_pole], 'pole', 0.5 * fades, _THIN, Kind.LINE)
        tips, goals, fades = self.ends[self.with_target], targets[self.with_target], self.fades[self.with_target]
        self._gaps = self._add(tips, goals, 'NONE', fades, _THICK, kinds[self.with_target])
        self._targets = self._add(goals, goals, 'NONE', fades, _MARK, Kind.POINT)
        self._add(self.ends[pinned], self.ends[pinned], 'pin', 1.0, _MARK, Kind.POINT)
        self._add(links, links + 1, 'link', joint_fades[links], _THICK, Kind.LINK)
        self._add(self.ends, self.ends, 'joint', self.fades, JOINT, Kind.POINT)
        self._add(poles[with_pole], poles[with_pole], 'pole', self.fades[with_pole], JOINT, Kind.POINT)
        self.rows: IntegerArray = np.concatenate(self._rows)
        """(N, 2) where strokes start and end, farthest behind first; a point starts where it ends."""
        self.stroke_colors: Array = np.concatenate(self._colors)
        """(N, 4) where nothing is known of how chains are doing."""
        self.styles: Array = np.concatenate(self._styles)
        """(N, 2) width in pixels, and kind."""

        planes = np.stack([view.starts, self.ends, poles], axis=1)[with_pole]
        fans = np.stack([np.repeat(heads, ROUND), rims.ravel(), np.roll(rims, -1, axis=1).ravel()], axis=1)
        self.faces: IntegerArray = np.concatenate([planes, fans])
        """(T, 3) corners."""
        plane_colors = _rows_of(colors['pole'], 0.12 * self.fades[with_pole])
        self.face_colors: Array = np.concatenate([plane_colors, _rows_of(colors['limit'], np.full(len(fans), _FACE))])
        """(T, 4) where nothing is known of how chains are doing."""
        self.active: list[int] = np.flatnonzero(self.is_active).tolist()
        self._key: object = None
        self._standing: Standing | None = None
        self._age = 0

    def _add(
        self,
        starts: IntegerArray,
        ends: IntegerArray,
        color: str,
        fades: Array | float,
        width: float,
        kinds: IntegerArray | Kind,
    ) -> slice:
        """Add strokes; return where they are."""
        rows = np.stack([starts.ravel(), ends.ravel()], axis=1)
        begin = sum(map(len, self._rows))
        self._rows.append(rows)
        self._colors.append(_rows_of(self.colors[color], np.broadcast_to(fades, len(rows))))
        styles = np.empty((len(rows), 2))
        styles[:, 0], styles[:, 1] = width, kinds
        self._styles.append(styles)
        return slice(begin, begin + len(rows))

    def shapes(self, places: Places, standing: Standing) -> Shapes:
        """Return what to draw, given where chains are; with as many cones as it was made for."""
        joints = places.joints
        points = np.concatenate([joints, places.targets, places.poles, *_cone_points(places.cones)])
        reaches = []
        for number in self.active:
            start, end = self.view.starts[number], self.ends[number]
            links = _sizes(joints[start + 1 : end + 1] - joints[start:end])
            greatest = float(links.sum())
            least = max(0.0, 2.0 * float(links.max()) - greatest)
            reaches.append((joints[start], least, greatest, greatest * (1.0 - standing.softnesses[number])))
        return Shapes(points, *self._colors_of(places, standing), tuple(reaches))

    def _colors_of(self, places: Places, standing: Standing) -> tuple[Array, Array]:
        """Return the colours of strokes and faces: the same arrays as before where they are what they were."""
        chosen = self.with_target
        ways = places.targets[chosen] - places.joints[self.ends[chosen]]
        if standing != self._standing or self._age > _OLD:
            self._standing, self._age = standing, 0
            self._tolerances = (np.array(standing.tolerances) * _lengths(self.view, places.joints))[chosen]
        self._age += 1
        is_reached = _sizes(ways) <= self._tolerances
        key = standing.statuses, is_reached.tobytes(), [cone.is_at_limit for cone in places.cones]
        if key != self._key:
            self._key = key
            self._colored = self.stroke_colors.copy(), self.face_colors.copy()
            self._color_gaps(self._colored[0], standing, is_reached)
            if places.cones:
                self._color_cones(*self._colored, places.cones)
        return self._colored

    def _color_gaps(self, colors: Array, standing: Standing, is_reached: NDArray[np.bool_]) -> None:
        """Give targets, and the way to those that aren't reached, the colours of how the chains are doing."""
        statuses = [standing.statuses[number] for number in self.with_target]
        rows = np.array(
            [
                # A pose that has changed since is no result of that solve.
                self.colors['REACHED' if reached else 'NONE' if status == 'REACHED' else status]
                for reached, status in zip(is_reached.tolist(), statuses, strict=True)
            ]
        ).reshape(-1, 4)
        rows[:, 3] *= self.fades[self.with_target]
        colors[self._targets] = rows
        rows[is_reached, 3] = 0.0  # there is no gap
        colors[self._gaps] = rows

    def _color_cones(self, colors: Array, face_colors: Array, cones: tuple[Cone, ...]) -> None:
        rows = np.array([self.colors['at_limit' if cone.is_at_limit else 'limit'] for cone in cones])
        colors[self._rims] = np.repeat(rows, ROUND, axis=0)
        colors[self._spokes] = np.repeat(rows, _SPOKES, axis=0)
        rows[:, 3] *= _FACE
        face_colors[len(face_colors) - len(cones) * ROUND :] = np.repeat(rows, ROUND, axis=0)


def _sizes(ways: Array) -> Array:
    """Return the lengths of vectors (N, 3)."""
    x, y, z = ways.T
    return np.asarray(np.sqrt(x * x + y * y + z * z))


def _lengths(view: ArmatureView, joints: Array) -> Array:
    """Return how long each chain is (C,), given the joints (P, 3) of all."""
    along = np.concatenate([[0.0], np.cumsum(_sizes(joints[1:] - joints[:-1]))])
    return along[view.starts + view.counts - 1] - along[view.starts]


def _rows_of(color: Color, fades: Array) -> Array:
    """Return a colour (N, 4) in several opacities (N,)."""
    rows = np.tile(color, (len(fades), 1))
    rows[:, 3] *= fades
    return rows


def _cone_points(cones: tuple[Cone, ...]) -> tuple[Array, ...]:
    """Return the heads and rims of cones."""
    if not cones:
        return ()
    heads = np.array([cone.head for cone in cones])
    axes = np.array([CONE * cone.length * cone.axes.T for cone in cones])
    rims = np.array([_rim_directions(cone.limits) for cone in cones]) @ axes + heads[:, None]
    return heads, rims.reshape(-1, 3)


@lru_cache(maxsize=256)
def _rim_directions(limits: JointLimits) -> Array:
    return directions_of(rim_of(limits))


def rim_of(limits: JointLimits) -> Array:
    """Return the farthest swings (ROUND, 2) that limits allow, half-sines about x and z, all the way round."""
    (lx, _, lz), (ux, _, uz) = limits.lower, limits.upper
    angles = np.arange(ROUND) * (math.tau / ROUND)
    cosines, sines = np.cos(angles), np.sin(angles)
    if limits.is_ellipse:
        x = np.where(cosines > 0.0, ux, -lx) * cosines
        z = np.where(sines > 0.0, uz, -lz) * sines
    else:
        # Along the sides of the ranges' rectangle.
        largest = np.maximum(np.abs(cosines), np.abs(sines))
        x = 0.5 * (lx + ux) + 0.5 * (ux - lx) * cosines / largest
        z = 0.5 * (lz + uz) + 0.5 * (uz - lz) * sines / largest
    farthest = np.maximum(np.hypot(x, z), 1.0)  # there is no swing by more than half a turn
    return np.stack([x / farthest, z / farthest], axis=1)


def directions_of(swings: Array) -> Array:
    """Return where a bone's +Y points (N, 3) after swings (N, 2), half-sines about x and z."""
    x, z = swings.T
    w = np.sqrt(np.maximum(1.0 - x * x - z * z, 0.0))
    return np.stack([-2.0 * w * z, 1.0 - 2.0 * (x * x + z * z), 2.0 * w * x], axis=1)
