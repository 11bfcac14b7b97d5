# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects as they are at other frames, evaluated with no more of the scene than they depend on.

A scene's depsgraph evaluates everything that can be seen. One of a scene that holds an armature and its targets alone
takes in what they depend on, by itself, and nothing else: not the meshes the armature deforms. As long as such a
depsgraph isn't the active one it leaves the original data alone, so there is nothing to put back. (Seen in Blender
5.0 and 5.2; ``Depsgraph.ids`` says what a depsgraph took in.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import bpy

from .stored_channels import store_channels

if TYPE_CHECKING:
    from bpy.types import Depsgraph, Object, Scene, ViewLayer


class Frames(Protocol):
    """Goes to frames and shows objects as they are there."""

    view_layer: ViewLayer
    """In which the objects can be found."""

    def go_to(self, frame: float) -> None:
        """Evaluate a frame of the scene, or a moment between two."""

    def seen(self, obj: Object) -> Object:
        """Return an object as it is at the frame gone to last."""


class _Evaluated:
    def __init__(self, scene: Scene, view_layer: ViewLayer) -> None:
        self._scene = scene
        self.view_layer = view_layer

    def go_to(self, frame: float) -> None:
        whole = math.floor(frame)
        self._scene.frame_set(whole, subframe=frame - whole)

    def seen(self, obj: Object) -> Object:
        depsgraph = self.view_layer.depsgraph
        assert depsgraph is not None  # going to a frame has made one
        return obj.evaluated_get(depsgraph)


@contextmanager
def frames_of(scene: Scene, view_layer: ViewLayer, objects: Sequence[Object]) -> Iterator[Frames]:
    """Give access to objects at any frame; afterwards scene, frame and pose are as they were.

    Args:
        scene: the frames' own.
        view_layer: of the scene, with the objects.
        objects: what is to be looked at.
    """
    if not (bpy.app.handlers.frame_change_pre or bpy.app.handlers.frame_change_post):
        with _alone(scene, objects) as frames:
            if frames is not None:
                yield frames
                return
    with _whole(scene, view_layer) as frames:
        yield frames


@contextmanager
def _alone(scene: Scene, objects: Sequence[Object]) -> Iterator[Frames | None]:
    """Evaluate objects in a scene of their own, or say None where they would not be the same there."""
    own = bpy.data.scenes.new("FABRIK IK")
    try:
        for obj in dict.fromkeys(objects):
            own.collection.objects.link(obj)
        for name in ("frame_map_old", "frame_map_new", "use_simplify", "simplify_subdivision"):
            setattr(own.render, name, getattr(scene.render, name))
        frames = _Evaluated(own, own.view_layers[0])
        own.frame_set(scene.frame_current)
        yield frames if _is_independent(scene, own.view_layers[0].depsgraph) else None
    finally:
        bpy.data.scenes.remove(own)


@contextmanager
def _whole(scene: Scene, view_layer: ViewLayer) -> Iterator[Frames]:
    """Evaluate objects where they are."""
    frame, subframe = scene.frame_current, scene.frame_subframe
    stored = store_channels(obj for obj in scene.objects if obj.animation_data is not None)
    try:
        yield _Evaluated(scene, view_layer)
    finally:
        scene.frame_set(frame, subframe=subframe)
        # Going to a frame has undone what was posed and not keyed.
        stored.restore()
        view_layer.update()


def _is_independent(scene: Scene, depsgraph: Depsgraph | None) -> bool:
    """Tell whether what a depsgraph evaluates is the same in any scene.

    Not so where drivers look at a scene, whose own animation another scene's depsgraph doesn't evaluate, or at the
    data behind its back, and where the scene's rigid bodies are simulated.
    """
    assert depsgraph is not None  # going to a frame has made one
    for used in depsgraph.ids:
        found = used.original
        if isinstance(found, bpy.types.Scene) and found == scene:
            return False
        if isinstance(found, bpy.types.Object) and found.rigid_body is not None:
            return False
        animation = getattr(found, "animation_data", None)
        for curve in animation.drivers if animation else ():
            if curve.driver.type == 'SCRIPTED' and not curve.driver.is_simple_expression:
                return False
            if any(variable.type == 'CONTEXT_PROP' for variable in curve.driver.variables):
                return False
    return True
