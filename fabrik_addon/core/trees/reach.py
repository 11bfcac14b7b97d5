# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""By how much targets are beyond the reach of the links on the way to them."""

import math
from collections.abc import Sequence

from ..math.operations import Vector
from ..model.skeleton import Tree
from ..model.tree_start import StartTree
from ..tasks.position_task import PositionTask

ROUNDING = 1e-12
"""Distance, in the tree's units, that is rounding."""


def excess_over_reach(
    start: StartTree, positions: Sequence[PositionTask], pinned: Sequence[bool], is_root_fixed: bool
) -> list[float]:
    """Return by how much the links on the way are too short, or too unequal, to reach each target.

    Of a joint that is to meet another one they are the links between both, which close no ring if one of them is longer
    than all others together. Roots that move hang on no anchor: they may come as near to each other as they have to.
    """
    tree = start.tree
    fixed: list[tuple[int, Vector]] = [(0, start.points[0])] if is_root_fixed else []
    fixed += [
        (position.joint, position.target)
        for position, pin in zip(positions, pinned, strict=True)
        if pin and position.target is not None
    ]
    found = []
    for position in positions:
        most = 0.0
        if position.target is not None:
            for joint, point in fixed:
                if joint != position.joint:
                    base, lengths = lengths_between(tree, joint, position.joint)
                    distance = math.dist(position.target, start.points[base] if joint == 0 else point)
                    most = max(most, distance - sum(lengths), 2.0 * max(lengths) - sum(lengths) - distance)
        elif is_root_fixed or not tree.structure.is_anchor:
            _, lengths = lengths_between(tree, position.meets, position.joint)
            most = 2.0 * max(lengths) - sum(lengths)
        found.append(most if most > ROUNDING else 0.0)
    return found


def lengths_between(tree: Tree, first: int, last: int) -> tuple[int, list[float]]:
    """Return the lengths of the links from one joint to another, and the joint where they start.

    The links of an anchor hold nothing: from an anchor the way starts at the root that hangs on the anchor.
    """
    structure = tree.structure
    one, other = [first, *structure.above[first]], [last, *structure.above[last]]
    way = [joint for joint in one if joint not in other] + [joint for joint in other if joint not in one]
    if structure.is_anchor and first == 0:
        base = next(joint for joint in way if structure.parents[joint] == 0)
        return base, [tree.lengths[joint] for joint in way if joint != base] or [0.0]
    return first, [tree.lengths[joint] for joint in way] or [0.0]
