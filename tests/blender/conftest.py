# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fresh Blender for every test, with the add-on registered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from bpy.types import Object

bpy = pytest.importorskip("bpy")


@pytest.fixture(scope="session")
def addon() -> Iterator[None]:
    """Register the add-on once: registered classes survive the loading of files."""
    import fabrik_addon

    fabrik_addon.register()
    yield
    fabrik_addon.unregister()


@pytest.fixture(autouse=True)
def empty_scene(addon: None) -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)


@pytest.fixture
def human() -> Object:
    """Rigify's human with a body."""
    from tests.blender.rigs import metarig, update

    armature = metarig("human_metarig")
    assert bpy.ops.pose.fabrik_body_add() == {"FINISHED"}
    update()
    return armature
