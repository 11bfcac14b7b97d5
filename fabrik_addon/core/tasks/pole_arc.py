# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The arc from a chain's bend to its pole: the value of a pole task, and its first and second derivatives.

With the chord c from the root to the tip, ``e = c / |c|``, the sum b of the inner joints and the pole g, both from the
root, a vector v is ``s e + rho u``, with u across the chord, and ``n = e x u``. The angle phi from the pole, rotated by
the pole angle, to the bend is within +-pi, and the value is ``phi f h``:

- ``h = sqrt(rho_b^2 + r^2) - r``, with the rounding r: the length of the bend, but for a nearly straight chain.
- ``f = t^2 (3 - 2 t)``, where t grows from 0 to 1 while ``rho_g / |g|``, the sine of the angle between chord and pole,
  grows from the first number of ``fade`` to the second: near the chord the pole's direction across it turns fast, and
  on the chord there is none.

Changes of v and c change rho and phi by

    alpha_v = u.(dv - s / |c| dc)
    beta_v = n.(dv - s / |c| dc) / rho      (d phi = beta_b - beta_g)

and with

    omega_v = e.(dv - s / |c| dc) + rho / (2 |c|) u.dc

the second derivatives of rho are ``rho beta_v^2 - 2 u.dc omega_v / |c|``, and those of phi the difference between
``-2 alpha_v beta_v / rho - 2 n.dc omega_v / (rho |c|)`` of b and of g. They follow from the change of the frame
(e, u, n) with v and c. (The angle of v alone has no second derivatives by c: their antisymmetric part, the curvature of
the sphere of the directions of c, is that of b and of g alike.)
"""

import math
from typing import NamedTuple, TypeAlias

from ..math.operations import TINY, Component, Operations, Vector
from ..math.vectors import combination, scale

LEAST_BEND = 1e-6
"""Length of a chord, or distance of a bend or a pole from it, in the tree's units, up to which there is no angle."""

Change: TypeAlias = tuple[Vector, Vector, Vector]
"""How a number changes with b, c and g."""


class _Arm(NamedTuple):
    """A vector v from the root, seen from the chord."""

    along: Component
    """s."""
    across: Component
    """rho, at least ``LEAST_BEND``."""
    u: Vector
    n: Vector
    e: Vector
    chord: Component
    """|c|."""

    def change(self, axis: Vector) -> tuple[Vector, Vector]:
        """Return how ``axis.(dv - s / |c| dc)`` changes with v and c."""
        return axis, scale(axis, -self.along / self.chord)

    def curvature(self, turned: Component, raised: Component) -> list[tuple[tuple[Vector, Vector], ...]]:
        """Return pairs of rows l and r by v and c: with ``l r^T + r l^T`` added up, second derivatives.

        They are those of the angle of v times ``turned``, and of rho times ``raised``.
        """
        none = scale(self.e, 0.0 * self.chord)
        steeper = combination(-turned / self.across, self.u, 0.5 * raised, self.n)
        aside = combination(-turned / (self.across * self.chord), self.n, -raised / self.chord, self.u)
        along, by_chord = self.change(self.e)
        omega = along, combination(1.0, by_chord, 0.5 * self.across / self.chord, self.u)
        return [(self.change(steeper), self.change(scale(self.n, 1.0 / self.across))), ((none, aside), omega)]


class PoleArc(NamedTuple):
    """The arc at a pose; the components of many poses are arrays (F,)."""

    angle: Component
    """phi; 0 where f is 0."""
    height: Component
    """``f h``, in the tree's units."""
    bend: _Arm
    """Of b."""
    pole: _Arm
    """Of g."""
    distance: Component
    """|g|."""
    t: Component
    fade: Component
    """f."""
    width: float
    """Of the sines between which t grows."""
    size: Component
    """rho_b, from 0 on."""
    root: Component
    """``sqrt(rho_b^2 + r^2)``."""
    rounding: float
    ops: Operations

    @property
    def is_fading(self) -> bool:
        """Whether f changes with the sine, at one pose at least."""
        return bool(self.ops.any((self.t > 0.0) & (self.t < 1.0)))

    @property
    def _by_sine(self) -> Component:
        """Its derivative f' by the sine."""
        return 6.0 * self.t * (1.0 - self.t) / self.width

    @property
    def slopes(self) -> tuple[Component, Component]:
        """``f h'`` and ``h f'``: how ``f h`` changes with rho_b, and with the sine of the angle from chord to pole."""
        return self.fade * self.size / (self.root + TINY), (self.root - self.rounding) * self._by_sine

    @property
    def seconds(self) -> tuple[Component, Component, Component]:
        """``f h''``, ``f' h'`` and ``h f''``: the second derivatives of ``f h`` by both."""
        t, root, by_sine = self.t, self.root, self._by_sine
        by_sine_twice = self.ops.where(by_sine > 0.0, (6.0 - 12.0 * t) / (self.width * self.width), 0.0)
        by_bend_twice = self.fade * self.rounding * self.rounding / (root * root * root + TINY)
        return by_bend_twice, by_sine * self.size / (root + TINY), (root - self.rounding) * by_sine_twice

    def of_angle(self) -> Change:
        """Return how phi changes with b, c and g."""
        (at_bend, by_chord), (at_pole, less) = (
            arm.change(scale(arm.n, 1.0 / arm.across)) for arm in (self.bend, self.pole)
        )
        return at_bend, combination(1.0, by_chord, -1.0, less), scale(at_pole, -1.0)

    def of_sine(self) -> Change:
        """Return how the sine ``rho_g / |g|`` changes with b, c and g."""
        pole, share = self.pole, self.pole.along / (self.distance * self.distance)
        none, at_chord = scale(pole.e, 0.0 * share), scale(pole.change(pole.u)[1], 1.0 / self.distance)
        turn = combination(pole.along, pole.u, -pole.across, pole.e)
        return none, at_chord, scale(turn, share / self.distance)

    def of_bend(self) -> Change:
        """Return how rho_b changes with b, c and g."""
        return *self.bend.change(self.bend.u), scale(self.bend.e, 0.0 * self.distance)

    def gradient(self, is_height_constant: bool) -> Change:
        """Return how ``phi f h`` changes with b, c and g."""
        bend, pole, distance = self.bend, self.pole, self.distance
        raised, drawn = (0.0 if is_height_constant else self.angle * slope for slope in self.slopes)
        at_bend = combination(self.height / bend.across, bend.n, raised, bend.u)
        at_pole = combination(-self.height / pole.across, pole.n, drawn / distance, pole.u)
        at_chord = combination(-bend.along / bend.chord, at_bend, -pole.along / pole.chord, at_pole)
        if not self.is_fading:
            return at_bend, at_chord, at_pole
        outward = combination(pole.along / distance, pole.e, pole.across / distance, pole.u)
        return at_bend, at_chord, combination(1.0, at_pole, -drawn * pole.across / (distance * distance), outward)

    def curvature(self) -> list[tuple[Change, Change]]:
        """Return pairs of rows l and r: ``l r^T + r l^T``, added up, are the second derivatives of ``phi f h``."""
        by_bend, by_both, by_sine = (self.angle * second for second in self.seconds)
        of_bend, of_pole = self.of_bend(), self.angle * self.slopes[1] / self.distance
        none = scale(self.bend.e, 0.0 * self.distance)
        bends = self.bend.curvature(self.height, self.angle * self.slopes[0])
        poles = self.pole.curvature(-self.height, of_pole)
        found: list[tuple[Change, Change]] = [
            *(((*left, none), (*right, none)) for left, right in bends),
            *(((none, left[1], left[0]), (none, right[1], right[0])) for left, right in poles),
        ]
        if not self.is_fading:
            of_height = _times(self.slopes[0], of_bend)
            return [*found, (self.of_angle(), of_height), (_times(0.5 * by_bend, of_bend), of_bend)]
        of_sine = self.of_sine()
        return [
            *found,
            (self.of_angle(), _sum(self.slopes[0], of_bend, self.slopes[1], of_sine)),
            (_sum(0.5 * by_bend, of_bend, by_both, of_sine), of_bend),
            (_times(0.5 * by_sine, of_sine), of_sine),
            *self._of_distance(of_pole / self.distance),
        ]

    def _of_distance(self, share: Component) -> list[tuple[Change, Change]]:
        """Return the part of ``curvature`` of ``rho_g / |g|`` that is from |g|, times ``|g|^2 share``.

        With ``d = |g|``, d' its change, and t the axis across g in the plane of g and c, that is
        ``share (rho / d (2 d'^2 - (n.dg)^2 - (t.dg)^2) - 2 alpha_g d')``.
        """
        (along, across, u, n, e, _), distance = self.pole, self.distance
        none, ratio = scale(e, 0.0 * share), across / distance
        outward = combination(along / distance, e, ratio, u)
        turned = combination(along / distance, u, -ratio, e)
        at_pole, at_chord = self.pole.change(u)
        drawn = combination(-share, at_pole, share * ratio, outward)
        pairs = [((none, scale(at_chord, -share), drawn), outward)]
        pairs += [((none, none, scale(axis, -0.5 * share * ratio)), axis) for axis in (n, turned)]
        return [(left, (none, none, right)) for left, right in pairs]


def _times(p: Component, a: Change) -> Change:
    """Return ``p a``."""
    of_b, of_c, of_g = (scale(one, p) for one in a)
    return of_b, of_c, of_g


def _sum(p: Component, a: Change, q: Component, b: Change) -> Change:
    """Return ``p a + q b``."""
    of_b, of_c, of_g = (combination(p, one, q, other) for one, other in zip(a, b, strict=True))
    return of_b, of_c, of_g


def pole_arc(ops: Operations, bcg: Change, angle: Component, rounding: float, fade: tuple[float, float]) -> PoleArc:
    """Return the arc of a bend, a chord and a pole.

    Args:
        bcg: b, c and g, in the tree's units.
        rounding: r, in the tree's units.
        fade: sines of the angle from chord to pole up to which f is 0, and from which on it is 1.
    """
    (bx, by, bz), (cx, cy, cz), (gx, gy, gz) = bcg
    # Vector by vector, with the functions of ``vectors``, this takes half as long again, at every evaluation of a cost.
    chord = ops.sqrt(cx * cx + cy * cy + cz * cz) + TINY
    ex, ey, ez = cx / chord, cy / chord, cz / chord
    along_b, along_g = bx * ex + by * ey + bz * ez, gx * ex + gy * ey + gz * ez
    bx, by, bz = bx - along_b * ex, by - along_b * ey, bz - along_b * ez
    gx, gy, gz = gx - along_g * ex, gy - along_g * ey, gz - along_g * ez
    size, aside = ops.sqrt(bx * bx + by * by + bz * bz), ops.sqrt(gx * gx + gy * gy + gz * gz)
    has_angle = ops.minimum(ops.minimum(size, aside), chord) > LEAST_BEND
    wide, far = ops.maximum(size, LEAST_BEND), ops.maximum(aside, LEAST_BEND)
    bx, by, bz, gx, gy, gz = bx / wide, by / wide, bz / wide, gx / far, gy / far, gz / far
    nx, ny, nz = ey * gz - ez * gy, ez * gx - ex * gz, ex * gy - ey * gx
    phi = ops.atan2(bx * nx + by * ny + bz * nz, bx * gx + by * gy + bz * gz) - angle
    phi = phi - math.tau * ops.round(phi / math.tau)
    distance = ops.sqrt(far * far + along_g * along_g)
    none, whole = fade
    t = ops.minimum(1.0, ops.maximum(0.0, (far / distance - none) / (whole - none)))
    t = ops.where(has_angle, t, 0.0)
    f, root = t * t * (3.0 - 2.0 * t), ops.sqrt(size * size + rounding * rounding)
    e = ex, ey, ez
    bend = _Arm(along_b, wide, (bx, by, bz), (ey * bz - ez * by, ez * bx - ex * bz, ex * by - ey * bx), e, chord)
    pole = _Arm(along_g, far, (gx, gy, gz), (nx, ny, nz), e, chord)
    phi = ops.where(f > 0.0, phi, 0.0)
    return PoleArc(phi, f * (root - rounding), bend, pole, distance, t, f, whole - none, size, root, rounding, ops)
