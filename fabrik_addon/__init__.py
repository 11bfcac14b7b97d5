# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""FABRIK IK: pose bone chains of an armature by inverse kinematics.

``core`` is the mathematics and runs without Blender; ``blender`` is the only package that imports ``bpy``.
"""


def register() -> None:
    """Add the properties, operators and panels to Blender."""
    from . import blender

    blender.register()


def unregister() -> None:
    """Take everything ``register`` added out of Blender again."""
    from . import blender

    blender.unregister()
