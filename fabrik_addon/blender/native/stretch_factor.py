# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""LinkInputs that lengthen where the target is out of reach, as nodes: as ``core.goals.link_stretch``.

A pose whose links are longer by one factor is the same pose, scaled about its root. So the chain is solved with its own
lengths, for the farthest target that softness and these lengths reach, and the factor is the distance of the target
over the distance of that one. A pole gives the bend plane alone, which scaling does not change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .bend_plane import ease_into_extension
from .link_inputs import LinkInputs
from .nodes import NUMBER, Nodes, Value
from .read_bone_stretch import Powers
from .shared_groups import shared_group
from .solver_group import Goal

if TYPE_CHECKING:
    from bpy.types import GeometryNodeTree


def stretch_factor(nodes: Nodes, goal: Goal, links: LinkInputs, most: Value) -> tuple[Value, Value]:
    """Return the factor by which links lengthen, and the share of the target's distance that they reach without.

    Args:
        goal: of the chain.
        most: largest factor.
    """
    # A single link has nothing to ease.
    softness = goal.softness if len(links.lengths) > 1 else 0.0
    values = [nodes.length(goal.target), links.total, softness, most]
    factor, share = nodes.call(_factor_group(), values, "Stretch")
    return factor, share


def _factor_group() -> GeometryNodeTree:
    def fill(nodes: Nodes) -> None:
        distance, total, softness, most = (
            nodes.input(name, NUMBER) for name in ("Distance", "Chain length", "Softness", "Most")
        )
        with nodes.frame("Distance that the chain reaches without stretch"):
            eased, is_eased = ease_into_extension(nodes, distance, softness, total)
            reached = nodes.switch(is_eased, eased, distance, 'FLOAT')
        with nodes.frame("Factor of the lengths"):
            nodes.output("Factor", nodes.minimum(nodes.maximum(distance / reached, 1.0), most), NUMBER)
            nodes.output("Share", reached / distance, NUMBER)

    return shared_group("FABRIK stretch", fill)


def scales(nodes: Nodes, factor: Value, all_powers: list[Powers]) -> list[Value]:
    """Return the scale matrices that powers of a factor make."""
    made = {power: nodes.scalar('POWER', factor, power) for powers in all_powers for power in powers if power != 0.0}
    return [nodes.scale_matrix(nodes.combine(*(made.get(p, 1.0) for p in powers))) for powers in all_powers]
