# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: the order in which armatures are posed: one whose chains depend on bones of another comes after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ...core import FabrikError
from ..animation.animated_settings import acts_at_some_frame
from ..rig.chain_bones import bones_of_chains
from ..rig.dependencies import Node, followed_by_chains

if TYPE_CHECKING:
    from bpy.types import Object

    from ..rig.properties import FabrikChain


def posing_order(chains: Mapping[Object, Sequence[FabrikChain]]) -> tuple[list[Object], list[str]]:
    """Return armatures in the order in which they can be posed, otherwise in the order given.

    Args:
        chains: those that are posed, of each armature.

    Returns:
        the armatures, and a warning for each that is posed before another on which it depends.
    """
    moved: dict[Object, set[Node]] = {
        armature: {(armature, name) for name in bones_of_chains(armature, found)} for armature, found in chains.items()
    }
    follows = {armature: _followed(armature, found) for armature, found in chains.items()}
    order, warnings = [], []
    left = list(chains)
    while left:
        before = {one: [other for other in left if other != one and follows[one] & moved[other]] for one in left}
        first, met = left[0], set()
        while before[first] and first not in met:
            met.add(first)
            first = before[first][0]
        if before[first]:
            names = " and ".join(f"'{other.name}'" for other in before[first])
            warnings.append(
                f"{first.name}: its chains depend on bones of {names}, and these on its own bones: it is posed before "
                "them and may be off afterwards"
            )
        left.remove(first)
        order.append(first)
    return order, warnings


def _followed(armature: Object, chains: Iterable[FabrikChain]) -> set[Node]:
    with suppress(FabrikError):  # the command says what is wrong with the chain
        return followed_by_chains(armature, chains, acts_at_some_frame())
    return set()
