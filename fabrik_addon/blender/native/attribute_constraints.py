# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""WRITE: the constraints by which bones take what a solver's point has."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from .custom_properties import CONSTRAINT

if TYPE_CHECKING:
    from bpy.types import GeometryAttributeConstraint, Object, PoseBone


def constraint_name(chain_name: str) -> str:
    """Return the name of the constraints that rotate a chain's bones."""
    return f"{CONSTRAINT}{chain_name}"


def stretch_name(chain_name: str) -> str:
    """Return the name of the constraints that scale bones for a chain."""
    return f"{CONSTRAINT}{chain_name} stretch"


def attribute_constraint(bone: PoseBone, name: str, solver: Object, attribute: str) -> GeometryAttributeConstraint:
    """Let a bone take an attribute of a solver, in its own space: what it inherits is added by Blender."""
    constraint = cast("GeometryAttributeConstraint", bone.constraints.new('GEOMETRY_ATTRIBUTE'))
    constraint.name = name
    constraint.target = solver
    constraint.attribute_name = attribute
    constraint.domain, constraint.sample_index = 'POINT', 0
    constraint.apply_target_transform = False
    constraint.owner_space = 'LOCAL'
    return constraint
