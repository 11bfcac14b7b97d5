# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of the custom properties that identify the data-blocks of native rigs."""

from __future__ import annotations

MARK = "fabrik_native"
"""On every data-block of a native rig."""

VERSION = 4
"""Value of ``MARK``, to be raised when the nodes of shared groups change: groups of another version stay with the
chains that use them, and no new chain uses them. 3: all but the shortest chains are looked up in tables. 4: an
input has the same identifier in every chain's group."""

CHAIN, HAD_ANIMATION = "fabrik_chain", "fabrik_had_animation"
"""On a solver: its chain's name, and whether its armature had animation data before there were native rigs."""

MADE = "fabrik_made"
"""On a solver: the inputs that its modifier got from the settings of the chain, by name. Others were changed since."""

INHERITED = "fabrik_inherited"
"""On a bone of an armature that inherits scale otherwise because its chain is stretched: how it did before."""

CONSTRAINT = "FABRIK "
"""Prefix of the names of constraints."""

SOLVER = "fabrik_solver"
"""On an empty at a target or pole bone, and on the collection that holds a target: the solver that it is for."""

HOLDER = "fabrik_holder"
"""On a solver: the collection that holds its target. Drivers don't count as users, and Blender saves no collection
without users: of a rig that was appended to another file it is linked to no scene."""
