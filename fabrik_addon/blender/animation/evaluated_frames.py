# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""READ: objects evaluated at any frame, with no more of the scene evaluated than they depend on.

A scene's depsgraph evaluates every visible object. The depsgraph of a scene that holds an armature and its targets
alone evaluates those, what they depend on, and nothing else: not the meshes that the armature deforms. While such a
depsgraph isn't the active one it doesn't write evaluated channels back to the original data, so nothing has to be
restored afterwards. (Observed in Blender 5.0 and 5.2.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import bpy

from ...core import FabrikError
from ..rig.dependencies import evaluated_data
from ..solving.stored_values import store_values

if TYPE_CHECKING:
    from bpy.types import ID, Depsgraph, Object, Scene, ViewLayer


_OF_SCENE = ("camera", "active_clip", "gravity", "use_gravity")
_OF_RENDER = (
    *("fps", "fps_base", "frame_map_old", "frame_map_new", "use_simplify", "simplify_subdivision"),
    *("resolution_x", "resolution_y", "resolution_percentage", "pixel_aspect_x", "pixel_aspect_y"),
)
_OF_UNITS = ("system", "scale_length")

_SIMULATIONS = {'CLOTH', 'DYNAMIC_PAINT', 'EXPLODE', 'FLUID', 'PARTICLE_INSTANCE', 'SOFT_BODY'}
"""Modifiers whose result at a frame depends on the frames before."""


@dataclass(frozen=True)
class Frames:
    """Evaluates frames of a scene, and returns evaluated objects."""

    _scene: Scene
    view_layer: ViewLayer
    """With the objects and the depsgraph that evaluates them."""

    def go_to(self, frame: float) -> None:
        """Evaluate a frame; a fraction is a subframe."""
        whole = math.floor(frame)
        self._scene.frame_set(whole, subframe=frame - whole)

    def evaluated(self, obj: Object) -> Object:
        """Return an object as evaluated at the frame of the last ``go_to``."""
        depsgraph = self.view_layer.depsgraph
        assert depsgraph is not None  # go_to has made one
        return obj.evaluated_get(depsgraph)


@contextmanager
def frames_of(scene: Scene, view_layer: ViewLayer, objects: Sequence[Object]) -> Iterator[Frames]:
    """Open the frames of a scene for objects; at the end the scene's frame and the pose are as they were.

    Args:
        scene: whose frames are evaluated.
        view_layer: of the scene, with the objects.
        objects: that will be read.
    """
    if not (bpy.app.handlers.frame_change_pre or bpy.app.handlers.frame_change_post):
        with _in_own_scene(scene, objects) as frames:
            if frames is not None:
                yield frames
                return
    with _in_given_scene(scene, view_layer) as frames:
        yield frames


@contextmanager
def frame_in_errors(frame: float) -> Iterator[None]:
    """Put the frame in front of the message of a FabrikError."""
    try:
        yield
    except FabrikError as error:
        raise FabrikError(f"Frame {frame:g}: {error}") from error


@contextmanager
def _in_own_scene(scene: Scene, objects: Sequence[Object]) -> Iterator[Frames | None]:
    """Open frames in a temporary scene with the objects alone; None where evaluation depends on the given scene."""
    own = bpy.data.scenes.new("FABRIK IK")
    try:
        for obj in dict.fromkeys(objects):
            own.collection.objects.link(obj)
        _copy_settings(scene, own)
        frames = Frames(own, own.view_layers[0])
        own.frame_set(scene.frame_current)
        yield frames if _is_independent(scene, own.view_layers[0].depsgraph) else None
    finally:
        bpy.data.scenes.remove(own)


def _copy_settings(scene: Scene, own: Scene) -> None:
    """WRITE: give a scene the settings of another on which constraints, modifiers and geometry nodes depend.

    A Transform Cache and the node Scene Time count seconds, Follow Track projects through the scene's camera, which
    markers may change, onto the frame of the render.
    """
    # Any: settings of three types, by name.
    settings: tuple[tuple[Any, Any, tuple[str, ...]], ...] = (
        (scene, own, _OF_SCENE),
        (scene.render, own.render, _OF_RENDER),
        (scene.unit_settings, own.unit_settings, _OF_UNITS),
    )
    for given, copied, names in settings:
        for name in names:
            setattr(copied, name, getattr(given, name))
    for marker in scene.timeline_markers:
        if marker.camera is not None:
            own.timeline_markers.new(marker.name, frame=marker.frame).camera = marker.camera


@contextmanager
def _in_given_scene(scene: Scene, view_layer: ViewLayer) -> Iterator[Frames]:
    """Open frames in the given scene itself."""
    frame, subframe = scene.frame_current, scene.frame_subframe
    stored = store_values(view_layer, (obj for obj in scene.objects if obj.animation_data is not None))
    try:
        yield Frames(scene, view_layer)
    finally:
        scene.frame_set(frame, subframe=subframe)
        # frame_set has overwritten what was edited without a key.
        stored.restore()
        view_layer.update()


def _is_independent(scene: Scene, depsgraph: Depsgraph | None) -> bool:
    """Tell whether everything that a depsgraph evaluates is the same in any scene.

    It isn't where drivers read the scene (another scene's depsgraph doesn't evaluate the animation of this one), where
    drivers run Python expressions (which may read any data), and where something is simulated: forces and colliders are
    those of a scene, and simulation zones go on in the active depsgraph alone. Of cloth the given scene would then show
    what was simulated without its wind.
    """
    assert depsgraph is not None  # frame_set has made one
    for original in evaluated_data(depsgraph):
        if isinstance(original, bpy.types.Scene) and original == scene:
            return False
        if _is_simulated(original):
            return False
        animation = getattr(original, "animation_data", None)
        for curve in animation.drivers if animation else ():
            if curve.driver.type == 'SCRIPTED' and not curve.driver.is_simple_expression:
                return False
            if any(variable.type == 'CONTEXT_PROP' for variable in curve.driver.variables):
                return False
    return True


def _is_simulated(used: ID) -> bool:
    """Tell whether a data-block is an object with a simulation, or nodes with a simulation zone."""
    if isinstance(used, bpy.types.Object):
        return used.rigid_body is not None or any(modifier.type in _SIMULATIONS for modifier in used.modifiers)
    if isinstance(used, bpy.types.GeometryNodeTree):
        return any(node.bl_idname == "GeometryNodeSimulationOutput" for node in used.nodes)
    return False
