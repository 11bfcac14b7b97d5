# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a tree depends neither on its lengths nor on its pose: which joint hangs on which, and limits, as arrays.

It is found once for all solves of a tree (``tree_structure``).
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ..math.operations import ARRAY, Array
from .joint_limits import LEAST_RADIUS, JointLimits, within_half_turn


@dataclass(frozen=True, eq=False)
class TreeStructure:
    """J joints, parents before children; a bone starts at each that has children.

    L bones have limits or are stiff, B can rotate.
    """

    parents: tuple[int, ...]
    """-1 at the root."""
    inherits: tuple[bool, ...]
    """Whether each bone rotates with its parent."""
    limits: tuple[JointLimits, ...]
    is_free: tuple[bool, ...]
    """Whether each bone may rotate any way, and as readily as any other."""
    roots: tuple[int, ...]
    """Joints that root motion shifts."""
    is_anchor: bool
    """Whether the root is no bone but what several roots hang on."""

    # Joints

    @cached_property
    def children(self) -> list[list[int]]:
        """The joints that hang on each joint's bone."""
        children: list[list[int]] = [[] for _ in self.parents]
        for joint, parent in enumerate(self.parents):
            if parent >= 0:
                children[parent].append(joint)
        return children

    @cached_property
    def bones(self) -> list[int]:
        """The joints at which bones start, parents first."""
        return [joint for joint, children in enumerate(self.children) if children]

    @cached_property
    def above(self) -> list[list[int]]:
        """The joints from each joint's parent up to the root."""
        above: list[list[int]] = []
        for parent in self.parents:
            above.append([parent, *above[parent]] if parent >= 0 else [])
        return above

    @cached_property
    def supporting_bones(self) -> list[list[tuple[int, int]]]:
        """The bones that move each joint as they rotate, each with the joint of it that moves along."""
        found: list[list[tuple[int, int]]] = []
        for joint, above in enumerate(self.above):
            carried = joint
            found.append([])
            for bone in above:
                if not all(self.limits[bone].locked):
                    found[-1].append((bone, carried))
                if not self.inherits[bone]:
                    carried = bone  # what hangs on a bone that doesn't rotate with its parent moves with its head alone
        return found

    @cached_property
    def bone_supports(self) -> list[list[int]]:
        """The bones that rotate the frame of the bone at each joint, itself first."""
        found = []
        for joint, above in enumerate(self.above):
            bone_supports = [joint]
            for bone in above:
                if not self.inherits[bone_supports[-1]]:
                    break
                bone_supports.append(bone)
            found.append(bone_supports)
        return found

    # Forward kinematics

    @cached_property
    def inherited(self) -> NDArray[np.intp]:
        """(J + 1,) joint whose bone's frame each bone inherits; J, whose frame is armature space, for none."""
        count, bones = len(self.parents), set(self.bones)
        found = [
            parent if parent >= 0 and (self.inherits[j] or j not in bones) else count
            for j, parent in enumerate(self.parents)
        ]
        return np.array([*found, count])

    @cached_property
    def rounds(self) -> list[NDArray[np.intp]]:
        """(J + 1,) in each round, the joint whose product comes before that of each joint."""
        found, before = [], self.inherited
        while (before < len(self.parents)).any():
            found.append(before)
            before = before[before]
        return found

    @cached_property
    def parent_rows(self) -> NDArray[np.intp]:
        """(J,) row of each parent among the matrices of ``PlacedTree``."""
        return np.array([len(self.parents) if parent < 0 else parent for parent in self.parents])

    @cached_property
    def ancestry(self) -> Array:
        """(J, J) 1 where the second joint is the first or on the way from the root to it."""
        found = np.eye(len(self.parents))
        for j, parent in enumerate(self.parents):
            if parent >= 0:
                found[j] += found[parent]
        return found

    @cached_property
    def root_rows(self) -> NDArray[np.intp]:
        """(R,) the roots."""
        return np.array(self.roots, np.intp)

    @cached_property
    def shifted(self) -> Array:
        """(J, 3, S) how each joint moves with the roots' shifts."""
        comes_along = self.ancestry[:, self.root_rows]
        return (comes_along[:, None, :, None] * np.eye(3)[:, None]).reshape(len(self.parents), 3, 3 * len(self.roots))

    # Limits

    @cached_property
    def limited(self) -> NDArray[np.intp]:
        """(L,) bones with limits."""
        return np.array([j for j in self.bones if not self.is_free[j]], np.intp)

    @cached_property
    def lower(self) -> Array:
        """(L, 3) smallest swing and twist, or Euler angles."""
        return np.array([self.limits[j].lower for j in self.limited], float).reshape(-1, 3)

    @cached_property
    def upper(self) -> Array:
        """(L, 3) largest swing and twist, or Euler angles."""
        return np.array([self.limits[j].upper for j in self.limited], float).reshape(-1, 3)

    @cached_property
    def euler_rows(self) -> list[tuple[str, NDArray[np.intp]]]:
        """The orders of Euler angles that occur, each with the bones with limits whose coordinates they are."""
        orders = [self.limits[j].order for j in self.limited]
        return [(o, np.array([n for n, own in enumerate(orders) if own == o], np.intp)) for o in {*orders} - {""}]

    @cached_property
    def swing_twist_rows(self) -> NDArray[np.intp]:
        """Which bones with limits have swing and twist as coordinates."""
        return np.array([n for n, j in enumerate(self.limited) if not self.limits[j].order], np.intp)

    @cached_property
    def unbounded_angles(self) -> NDArray[np.intp]:
        """Places in an array (L, 3) of the angles without a lower or an upper limit: twists, and Euler angles."""
        has_order = np.array([bool(self.limits[j].order) for j in self.limited], bool)
        is_angle = np.stack([has_order, np.ones_like(has_order), has_order], axis=1)
        return np.flatnonzero(is_angle & ~np.isfinite(self.upper - self.lower))

    @cached_property
    def turning_twists(self) -> tuple[NDArray[np.intp], Array]:
        """Which bones with limits have twists that full turns bring into the range, and the middles of the ranges."""
        found = np.array([n for n, j in enumerate(self.limited) if self.limits[j].has_turns], np.intp)
        return found, 0.5 * (self.lower[found, 1] + self.upper[found, 1])

    @cached_property
    def ellipses(self) -> NDArray[np.intp]:
        """(E,) which bones with limits have a swing in quarter ellipses."""
        return np.array([n for n, j in enumerate(self.limited) if self.limits[j].is_ellipse], np.intp)

    @cached_property
    def _radii(self) -> tuple[Array, Array]:
        """(E, 2), (E, 2) radii of the ellipses about x and z, in the negative and the positive direction."""
        rows = [[self.limits[j].radii[axis] for axis in (0, 2)] for j in self.limited[self.ellipses]]
        found = np.array(rows, float).reshape(-1, 2, 2)
        return found[..., 0], found[..., 1]

    @cached_property
    def _has_flat_quarters(self) -> bool:
        return any(self.limits[j].has_flat_quarter for j in self.limited)

    @cached_property
    def wide(self) -> NDArray[np.intp]:
        """Which bones with limits, without ellipses, have swings that are kept below ``LARGEST_HALF_SINE``."""
        rows = [self.limits[j] for j in self.limited]
        found = [n for n, own in enumerate(rows) if own.reaches_half_turn and not own.is_ellipse]
        return np.array(found, np.intp)

    def swings(self, limited_coordinates: Array) -> tuple[Array, Array]:
        """Return the swings (E, 2) in ellipses, about x and z, and the radii (E, 2) of the quarters around them."""
        found = limited_coordinates.take(self.ellipses, -2)[..., ::2]
        return found, self.radii_of(found)

    def radii_of(self, swings: Array) -> Array:
        """Return the radii (E, 2) of the quarter ellipses around swings (E, 2)."""
        negative, positive = self._radii
        return np.where(swings > 0.0, positive, negative)

    def within_ellipses(self, swings: Array) -> Array:
        """Return swings (E, 2) moved along their rays from rest into their ellipses, as ``joint_limits.clamp`` does."""
        radii = self.radii_of(swings)
        squares = np.square(swings / radii)
        share = np.sqrt(squares[..., :1] + squares[..., 1:])
        inside: Array = swings / np.maximum(share, 1.0)
        if not self._has_flat_quarters:
            return inside
        lower, upper = (ends[self.ellipses, ::2] for ends in (self.lower, self.upper))
        in_ranges = np.minimum(np.maximum(swings, lower), upper)
        return np.where(radii.min(axis=-1, keepdims=True) <= LEAST_RADIUS, in_ranges, inside)

    def clamped(self, limited_coordinates: Array) -> Array:
        """Return coordinates (L, 3) within limits (``joint_limits.clamp``), Euler angles within their ranges."""
        rows, middles = self.turning_twists
        if rows.size:
            twists = limited_coordinates[..., rows, 1]
            limited_coordinates[..., rows, 1] = twists + math.tau * np.floor((middles - twists) / math.tau + 0.5)
        found = np.minimum(np.maximum(limited_coordinates, self.lower), self.upper)
        if self.wide.size:
            rows = self.wide
            extra = tuple(range(2, found.ndim))
            lower, upper = (np.expand_dims(ends[rows, ::2].T, extra) for ends in (self.lower, self.upper))
            swings = found[..., rows, ::2].T
            found[..., rows, ::2] = np.array(within_half_turn(ARRAY, [*lower], [*upper], *swings)).T
        if self.ellipses.size:
            found[..., self.ellipses, ::2] = self.within_ellipses(limited_coordinates[..., self.ellipses, ::2])
        return found

    # Columns of a Jacobian

    @cached_property
    def turning(self) -> NDArray[np.intp]:
        """(B,) the bones that can rotate."""
        bones = (j for j in self.bones if not all(self.limits[j].locked))
        return np.array([j for j in bones if j or not self.is_anchor], np.intp)

    @cached_property
    def columns(self) -> list[tuple[int, int]]:
        """(N) bone and axis of each coordinate that can change."""
        turning = self.turning.tolist()
        return [(j, k) for j in turning for k in range(3) if not self.limits[j].locked[k]]

    @cached_property
    def flat_columns(self) -> NDArray[np.intp]:
        """(N,) place of each column in an array (J + 1, 3)."""
        return np.array([3 * bone + axis for bone, axis in self.columns], np.intp)

    @cached_property
    def column_bones(self) -> NDArray[np.intp]:
        """(N,) bone of each column."""
        return np.array([bone for bone, _ in self.columns], np.intp)

    @cached_property
    def free_columns(self) -> NDArray[np.intp]:
        """(F, 3) the columns of each free bone that can rotate."""
        found = [number for number, (bone, _) in enumerate(self.columns) if self.is_free[bone]]
        return np.array(found, np.intp).reshape(-1, 3)

    @cached_property
    def limited_columns(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """(C,) numbers of the columns of bones with limits, and (C,) their places in an array (L, 3)."""
        place = {bone: 3 * row for row, bone in enumerate(self.limited.tolist())}
        found = [(n, place[bone] + axis) for n, (bone, axis) in enumerate(self.columns) if bone in place]
        numbers, places = np.array(found, np.intp).reshape(-1, 2).T
        return numbers, places

    @cached_property
    def half_sines(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """(C,) those of ``limited_columns`` that are of swings."""
        numbers, places = self.limited_columns
        are_swings = (places % 3 != 1) & np.isin(places // 3, self.swing_twist_rows)
        return numbers[are_swings], places[are_swings]

    @cached_property
    def share_swing(self) -> Array:
        """(C, C) 1 of two of ``half_sines`` that are of one bone."""
        bones = self.half_sines[1] // 3
        return (bones[:, None] == bones).astype(float)

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """(N,), (N,) smallest and largest value of each column; infinite of free bones."""
        numbers, places = self.limited_columns
        lower, upper = np.full(len(self.columns), -np.inf), np.full(len(self.columns), np.inf)
        lower[numbers], upper[numbers] = self.lower.reshape(-1)[places], self.upper.reshape(-1)[places]
        return lower, upper

    @cached_property
    def swing_columns(self) -> NDArray[np.intp]:
        """(E, 2) columns of x and z of each swing in quarter ellipses."""
        bones = self.limited[self.ellipses].tolist()
        pairs = [[self.columns.index((bone, axis)) for axis in (0, 2)] for bone in bones]
        return np.array(pairs, np.intp).reshape(-1, 2)

    @cached_property
    def weights(self) -> Array:
        """(N,) 1/4 for a half-sine, which is half an angle, so that the metric is that of angles; 1 for an angle."""
        are_half_sines = np.isin(np.arange(len(self.columns)), self.half_sines[0])
        return np.where(are_half_sines, 0.25, 1.0)

    @cached_property
    def carried(self) -> tuple[NDArray[np.intp], Array]:
        """(J, B) the joint that moves as each joint does with a bone, and (J, B, 1) 1 where the joint moves at all."""
        which = np.zeros((len(self.parents), len(self.parents)), np.intp)
        moves = np.zeros(which.shape)
        for joint, supports in enumerate(self.supporting_bones):
            for bone, carried in supports:
                which[joint, bone], moves[joint, bone] = carried, 1.0
        return which[:, self.turning], moves[:, self.turning, None]

    @cached_property
    def turned(self) -> Array:
        """(J, N) 1 where a column rotates the frame of each joint's bone."""
        found = np.zeros((len(self.parents), len(self.parents)))
        for joint, supports in enumerate(self.bone_supports):
            found[joint, supports] = 1.0
        return found[:, self.column_bones]

    @cached_property
    def turns_axes(self) -> Array:
        """(N, N) 1 where the first column rotates the axis of the second one.

        Of two columns of one bone 1/2, but of its swing and twist 1 where the swing is first, else 0: the swing rotates
        the axis of the twist. An Euler angle rotates the axes of the angles before it in the order (``euler_axes``).
        """
        bones = self.column_bones
        of_bone = 0.5 * (bones[:, None] == bones)
        inner = np.array([self._is_inner(bone, axis) for bone, axis in self.columns], float)
        return self.turned[bones].T + of_bone * (np.sign(inner - inner[:, None]) - 1.0)

    def _is_inner(self, bone: int, axis: int) -> int:
        """Return how many other coordinates of the bone rotate the axis of this one; 1 of a twist."""
        order = self.limits[bone].order
        return 2 - order.index("XYZ"[axis]) if order else int(axis == 1 and not self.is_free[bone])

    @cached_property
    def chosen(self) -> NDArray[np.intp]:
        """(N,) place of each column in an array (B, 3)."""
        row = {bone: 3 * number for number, bone in enumerate(self.turning.tolist())}
        return np.array([row[bone] + axis for bone, axis in self.columns], np.intp)


tree_structure = lru_cache(maxsize=16)(TreeStructure)
