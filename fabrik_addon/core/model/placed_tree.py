# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pose of a tree: its joints and the frames of its bones, as arrays and as floats."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..math.operations import ARRAY, SCALAR, Array, Operations, Vector
from ..math.quaternion_arrays import multiply
from ..math.quaternions import IDENTITY, Quaternion
from ..math.quaternions import multiply as multiply_components
from .tree_structure import TreeStructure


@dataclass(frozen=True, eq=False)
class PlacedTree:
    """Joints and frames of a tree for some joint coordinates. A joint without a bone has the frame of its parent's."""

    points: Array
    """(J, 3) joints."""
    matrices: Array
    """(J + 1, 3, 3) frames of the bones, by joint, and the identity after them."""
    rotations: Array
    """(J + 1, 4) L of each bone."""
    structure: TreeStructure

    @cached_property
    def quaternions(self) -> Array:
        """(J, 4) frames of the bones, by joint."""
        frames = self.rotations
        for before in self.structure.rounds:
            frames = multiply(frames.take(before, -2), frames)
        return frames[..., :-1, :]

    @cached_property
    def _own_and_found(self) -> tuple[list[list[float]], dict[int, Quaternion]]:
        """L of each bone as floats, and the frames that ``frame`` has found."""
        return self.rotations.tolist(), {}

    def arms(self, bones: int | Sequence[int], offsets: Array) -> Array:
        """Return offsets (..., 3) in the frames of bones, from the bones' joints, in the tree's axes: ``F_b o``."""
        return (self.matrices[bones] @ offsets[..., None])[..., 0]

    def frame(self, bone: int) -> Quaternion:
        """Return the frame of one bone; of one pose F_j = ... L_p(j) L_j, with the products that bones share once."""
        if self.ops is ARRAY:
            return self.frames[bone]
        own, found = self._own_and_found
        frame: Quaternion = IDENTITY
        way = []
        for above in self.structure.bone_supports[bone]:
            if above in found:
                frame = found[above]
                break
            way.append(above)
        for below in reversed(way):
            w, x, y, z = own[below]
            frame = found[below] = multiply_components(frame, (w, x, y, z))
        return frame

    @property
    def ops(self) -> Operations:
        """Operations on the components of joints and frames: floats of one pose, arrays (F,) of F poses."""
        return SCALAR if self.points.ndim == 2 else ARRAY

    @cached_property
    def joints(self) -> list[Vector]:
        """The joints as components."""
        return self.ops.split(self.points, self.points.shape[:-2])

    @cached_property
    def frames(self) -> list[Quaternion]:
        """Frames of the bones, by joint, as components."""
        return self.ops.split(self.quaternions, self.points.shape[:-2])
