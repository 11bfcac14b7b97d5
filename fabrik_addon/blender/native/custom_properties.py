# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Custom properties by which we know what we made."""

from __future__ import annotations

MARK = "fabrik_native"
"""On all of it."""

VERSION = 1
"""What the mark says: groups of another version are left to the chains that use them."""

CHAIN, HAD_ANIMATION = "fabrik_chain", "fabrik_had_animation"
"""On a solver: its chain's name, and whether its armature had animation data before there were native rigs."""

INHERITED = "fabrik_inherited"
"""On a bone of an armature that inherits scale otherwise because its chain is stretched: how it did before."""

CONSTRAINT = "FABRIK "
"""What the names of constraints begin with."""

SOLVER = "fabrik_solver"
"""On a helper: its solver."""
