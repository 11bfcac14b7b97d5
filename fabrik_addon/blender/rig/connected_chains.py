# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: which chains of an armature are solved as one tree, by their settings alone.

``solving.chain_groups`` unites the same chains from snapshots, which need targets that can be read and an evaluated
view layer: settings that belong to a tree are shown and changed while a target may be missing. It also reads on which
bones a target or pole depends through constraints, parents and drivers, and leaves a chain whose target follows the
tree on which its root hangs to be solved after the tree; here that chain counts as one of the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...core import SOLVERS, FabrikError
from .chain_bones import ChainSettings, bones_of_chain


@dataclass(frozen=True)
class _Link:
    """What connects a chain to others."""

    chain: ChainSettings
    bones: frozenset[str]
    above: frozenset[str]
    """Names of the root bone's parents."""
    target_above: frozenset[str]
    """Name of the target bone and of its parents, if it is a bone of the same armature."""

    def is_connected_to(self, other: _Link) -> bool:
        """Return whether both are solved as one: they share bones, one hangs on the other, or both targets do."""
        if self.chain.solver != other.chain.solver:
            return False
        shares = not self.bones.isdisjoint(other.bones)
        hangs = not (self.above.isdisjoint(other.bones) and other.above.isdisjoint(self.bones))
        meets = not (self.target_above.isdisjoint(other.bones) or other.target_above.isdisjoint(self.bones))
        return shares or hangs or meets


def chains_of_tree(chain: ChainSettings, chains: Sequence[ChainSettings]) -> list[ChainSettings]:
    """Return those of an armature's chains that are solved as one tree with a chain, itself among them, in their order.

    A chain that is disabled, can't be read, stretches, has no influence, or whose solver takes single chains, is alone.
    """
    start = _link_of(chain)
    if start is None:
        return [chain]
    waiting = [link for link in map(_link_of, chains) if link is not None and link.chain != chain]
    tree = [start]
    for link in tree:  # grows while it is walked
        connected = [other for other in waiting if link.is_connected_to(other)]
        tree += connected
        waiting = [other for other in waiting if other not in connected]
    members = [link.chain for link in tree]
    return [one for one in chains if one in members]


def _link_of(chain: ChainSettings) -> _Link | None:
    """Read what connects a chain to others; None if it is solved alone."""
    if not chain.enabled or chain.use_stretch or chain.influence == 0.0 or not SOLVERS[chain.solver].solves_trees:
        return None
    armature = chain.id_data
    try:
        bones = bones_of_chain(armature, chain)
    except FabrikError:
        return None
    names = frozenset(bone.name for bone in bones)
    above = frozenset(bone.name for bone in bones[0].parent_recursive)
    target = armature.pose.bones.get(chain.subtarget) if chain.target == armature and not chain.use_pin else None
    followed = () if target is None else (target, *target.parent_recursive)
    return _Link(chain, names, above, frozenset(bone.name for bone in followed))
