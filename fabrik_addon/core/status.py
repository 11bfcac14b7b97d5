# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a solve ends: its error and its statuses, without numpy, for what Blender imports when it starts."""

from enum import IntEnum


class FabrikError(ValueError):
    """Input that can't be solved. The message names the bone or the chain and the fault."""


class Status(IntEnum):
    """Outcome of a solve for one effector."""

    REACHED = 0
    """The error is at most the tolerance."""
    OUT_OF_REACH = 1
    """The target is too far from the root, or too near to it, for the lengths of the links, or in a tree other targets
    keep the effector away."""
    LIMITED = 2
    """No pose within the joint limits and locks was found that reaches the target."""
    STALLED = 3
    """The iterations ended with a larger error, and neither lengths nor limits are known to be the cause: in a tree the
    steps were used up, and another solve goes on; of one chain that FABRIK solves, a defect."""
