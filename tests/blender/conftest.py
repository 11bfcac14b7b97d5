# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fresh Blender for every test, with the add-on registered."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from bpy.types import Object

bpy = pytest.importorskip("bpy")


@pytest.fixture(scope="session")
def addon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Register the add-on once: registered classes survive the loading of files."""
    import fabrik_addon
    from tests.blender.rigs import Saved

    own = tmp_path_factory.getbasetemp()
    Saved.folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "generated"  # of all workers
    Saved.folder.mkdir(exist_ok=True)

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
