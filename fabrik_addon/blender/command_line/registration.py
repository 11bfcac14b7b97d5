# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds the command ``fabrik`` to Blender's command line."""

from __future__ import annotations

from collections.abc import Sequence

import bpy

NAME = "fabrik"


def _run(argv: Sequence[str]) -> int:
    from .run_command import run

    return run(argv)


_registered: list[object] = []


def register() -> None:
    _registered.append(bpy.utils.register_cli_command(NAME, _run))


def unregister() -> None:
    bpy.utils.unregister_cli_command(_registered.pop())
