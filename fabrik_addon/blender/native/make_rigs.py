# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: native rigs made, and made again where chains have one.

The solver of a rig that is made again stays, and with it the keys, drivers and NLA strips of its inputs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..rig.item_animation import bags_of, check_own
from ..solving.stored_values import kept_values
from .build_rig import build_rig
from .changed_inputs import changed_inputs
from .custom_properties import MARK, VERSION
from .find_rigs import solver_of
from .remove_rig import purge, release_bones, remove_made_for

if TYPE_CHECKING:
    from bpy.types import Object, Scene, ViewLayer

    from .eligibility import EligibleChain


def make_rigs(scene: Scene, view_layer: ViewLayer, armature: Object, eligible: Sequence[EligibleChain]) -> None:
    """Make chains follow their targets without us.

    Args:
        scene: where the rigs' objects go.
        armature: object of the chains.
        eligible: the chains, as they rest.

    Raises:
        FabrikError: as in ``release_bones``, and where keys of a rig of an earlier version, whose inputs have other
            identifiers, are in an action that is linked or that animates another object; then nothing has changed.
    """
    solvers = [solver_of(armature, each.settings) for each in eligible]
    # A copy of an armature looks at the original's solver: it gets one of its own, unless the original was deleted.
    again = [solver if solver is not None and solver.parent in (armature, None) else None for solver in solvers]
    for solver in again:
        if solver is not None and solver[MARK] != VERSION and solver.animation_data:
            for bag, slot in bags_of(solver.animation_data).items():
                check_own(bag, slot, solver)
    release_bones(view_layer, armature, [solver for solver in solvers if solver is not None], stay_stretched=False)
    changed = [changed_inputs(solver, each.settings) for solver, each in zip(again, eligible, strict=True)]
    for solver in again:
        if solver is not None:
            remove_made_for(solver)
    with kept_values(view_layer):
        for each, solver, inputs in zip(eligible, again, changed, strict=True):
            build_rig(scene, armature, each.settings, each.rest, solver, inputs)
    purge()
    for each in eligible:
        _name_group(each.settings.native_rig)
    view_layer.update()


def _name_group(solver: Object) -> None:
    """Give a solver's group the name of the one before it, which was numbered while both were there.

    A file that overrides the solver finds the group of its library by its name. Without it Blender 5.2 reset the inputs
    of the override.
    """
    group = solver.modifiers[0].node_group  # type: ignore[attr-defined]  # the stub has the base class
    if re.fullmatch(rf"{re.escape(solver.name)}\.\d+", group.name):
        group.name = solver.name
