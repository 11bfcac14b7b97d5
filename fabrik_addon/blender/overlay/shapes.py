# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines, points and faces of the overlay, for all chains of an armature at once. Computes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...core import Floats
from ...core.limits.joint_limits import JointLimits
from ...core.problem import Integers
from .read import ArmatureView, Places, lengths_of, link_rows

Color = tuple[float, float, float, float]

ROUND = 48
"""Segments of a circle."""

CONE = 0.45
"""How long a limit cone is, over its bone's length."""

FAINT = 0.5
"""Share of its opacity that a chain has which is not the active one."""

_DASHES = 12
"""Of a dashed line: those of the active chain are; each line costs, where there are many chains."""

Reach = tuple[Floats, float, float, float]
"""Where a chain's root is (3,), the least and greatest distance of its end, and from where softness holds it back."""

_Part = tuple[Floats, Floats]
"""Points (N, 3) in the world and their colours (N, 4)."""


@dataclass
class Shapes:
    """What is drawn, in the world."""

    lines: list[_Part] = field(default_factory=list)
    """From each even point to the next."""
    thin_lines: list[_Part] = field(default_factory=list)
    joints: list[_Part] = field(default_factory=list)
    marks: list[_Part] = field(default_factory=list)
    """Larger points: targets and pins."""
    faces: list[_Part] = field(default_factory=list)
    """Three points each."""
    reaches: list[Reach] = field(default_factory=list)
    """Who draws them turns them to the viewer."""


@dataclass(frozen=True)
class Palette:
    """The colours of an armature's chains, as long as their settings stay."""

    view: ArmatureView
    colors: Mapping[str, Color]

    @cached_property
    def is_active(self) -> NDArray[np.bool_]:
        """(C,)"""
        return np.array([chain.is_active for chain in self.view.chains], bool)

    @cached_property
    def fades(self) -> Floats:
        """(C,) opacity of each chain."""
        return np.where(self.is_active, 1.0, FAINT)

    @cached_property
    def links(self) -> Integers:
        """(2 L,) rows of the joints that are ends of links."""
        return link_rows(self.view)

    @cached_property
    def link_colors(self) -> Floats:
        """(2 L, 4)"""
        return self._faded('link', np.repeat(self.fades, self.view.counts)[self.links])

    @cached_property
    def joint_colors(self) -> Floats:
        """(P, 4)"""
        return self._faded('joint', np.repeat(self.fades, self.view.counts))

    def _faded(self, name: str, fades: Floats) -> Floats:
        rows = np.tile(self.colors[name], (len(fades), 1))
        rows[:, 3] *= fades
        return rows


def shapes_of(palette: Palette, places: Places) -> Shapes:
    """Return what to draw of an armature's chains.

    Args:
        palette: the chains, with colours for 'link', 'joint', 'pole', 'limit', 'at_limit', 'pin' and each status.
        places: where they are.
    """
    view, shapes = palette.view, Shapes()
    if not view.chains:
        return shapes
    ends = view.starts + view.counts - 1
    lengths = lengths_of(view, places.joints)
    _add_limits(shapes, places, palette.colors)
    _add_poles(shapes, palette, places, ends)
    shapes.lines.append((places.joints[palette.links], palette.link_colors))
    shapes.joints.append((places.joints, palette.joint_colors))
    _add_gaps(shapes, palette, places, ends, lengths)
    for number, chain in enumerate(view.chains):
        if chain.is_pinned:
            shapes.marks.append((places.joints[ends[number]][None], np.array([palette.colors['pin']])))
        if chain.is_active:
            start, count = view.starts[number], view.counts[number]
            links = np.linalg.norm(np.diff(places.joints[start : start + count], axis=0), axis=1)
            greatest = float(lengths[number])
            least = max(0.0, 2.0 * float(links.max()) - greatest)
            shapes.reaches.append((places.joints[start], least, greatest, greatest * (1.0 - chain.softness)))
    return shapes


def _lines(starts: Floats, ends: Floats, colors: Floats, dashed: NDArray[np.bool_]) -> _Part:
    """Return lines between points (N, 3) in colours (N, 4), some of them dashed (N,)."""
    shares = np.linspace(0.0, 1.0, 2 * _DASHES)
    ways = (ends - starts)[dashed]
    dashes = starts[dashed][:, None] + shares[None, :, None] * ways[:, None]
    plain = np.stack([starts[~dashed], ends[~dashed]], axis=1)
    points = np.concatenate([dashes.reshape(-1, 3), plain.reshape(-1, 3)])
    rows = [np.repeat(colors[dashed], 2 * _DASHES, axis=0), np.repeat(colors[~dashed], 2, axis=0)]
    return points, np.concatenate(rows)


def _add_gaps(shapes: Shapes, palette: Palette, places: Places, ends: Integers, lengths: Floats) -> None:
    """Add targets, and the way to those that aren't reached, in the colours of how the chains are doing."""
    tips = places.joints[ends]
    gaps = np.linalg.norm(places.targets - tips, axis=1) / (lengths + 1e-300)
    has_target = ~np.isnan(gaps)
    is_reached = gaps <= palette.view.tolerances
    rows = np.array(
        [
            # A pose that has changed since is no result of that solve.
            palette.colors['REACHED' if reached else 'NONE' if status == 'REACHED' else status]
            for reached, status in zip(is_reached.tolist(), places.statuses, strict=True)
        ]
    )
    rows[:, 3] *= palette.fades
    shapes.marks.append((places.targets[has_target], rows[has_target]))
    open_gaps = has_target & ~is_reached
    if open_gaps.any():
        dashed = palette.is_active[open_gaps]
        shapes.lines.append(_lines(tips[open_gaps], places.targets[open_gaps], rows[open_gaps], dashed))


def _add_poles(shapes: Shapes, palette: Palette, places: Places, ends: Integers) -> None:
    """Add the lines to the poles, from the chains' middles, and the planes they should bend in."""
    has_pole = ~np.isnan(places.poles[:, 0])
    if not has_pole.any():
        return
    view, poles = palette.view, places.poles[has_pole]
    roots, tips = places.joints[view.starts[has_pole]], places.joints[ends[has_pole]]
    middles = places.joints[(view.starts + view.counts // 2)[has_pole]]
    rows = np.tile(palette.colors['pole'], (len(poles), 1))
    rows[:, 3] *= palette.fades[has_pole]
    pale, half = rows * (1.0, 1.0, 1.0, 0.12), rows * (1.0, 1.0, 1.0, 0.5)
    shapes.faces.append((np.stack([roots, tips, poles], axis=1).reshape(-1, 3), np.repeat(pale, 3, axis=0)))
    shapes.thin_lines.append(_lines(middles, poles, rows, palette.is_active[has_pole]))
    shapes.thin_lines.append((_pairs(roots, tips), np.repeat(half, 2, axis=0)))
    shapes.joints.append((poles, rows))


def _add_limits(shapes: Shapes, places: Places, colors: Mapping[str, Color]) -> None:
    for head, axes, length, limits, is_at_limit in places.cones:
        color = colors['at_limit' if is_at_limit else 'limit']
        rim = head + CONE * length * (directions_of(rim_of(limits)) @ axes.T)
        following = np.roll(rim, -1, axis=0)
        spokes = rim[:: ROUND // 4]
        heads = np.tile(head, (ROUND, 1))
        lines = [_pairs(rim, following), _pairs(heads[: len(spokes)], spokes)]
        _add(shapes.thin_lines, np.concatenate(lines), color)
        _add(shapes.faces, np.stack([heads, rim, following], axis=1).reshape(-1, 3), (*color[:3], 0.15 * color[3]))


def _pairs(starts: Floats, ends: Floats) -> Floats:
    return np.stack([starts, ends], axis=1).reshape(-1, 3)


def _add(parts: list[_Part], points: Floats, color: Sequence[float]) -> None:
    parts.append((points, np.tile(color, (len(points), 1))))


def rim_of(limits: JointLimits) -> Floats:
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


def directions_of(swings: Floats) -> Floats:
    """Return where a bone's +Y points (N, 3) after swings (N, 2), half-sines about x and z."""
    x, z = swings.T
    w = np.sqrt(np.maximum(1.0 - x * x - z * z, 0.0))
    return np.stack([-2.0 * w * z, 1.0 - 2.0 * (x * x + z * z), 2.0 * w * x], axis=1)
