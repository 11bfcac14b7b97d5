# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a drag snaps to, as the scene says: surfaces under the mouse, whole steps, the grid. Reads Blender."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mathutils import Vector
from mathutils.geometry import intersect_point_line

if TYPE_CHECKING:
    from bpy.types import Depsgraph, Object, Scene

    from .pointer import DragPointer

_MOST_LAYERS = 64
"""Surfaces of its own that are looked through, at most."""

_SURFACES = {'FACE', 'VERTEX', 'EDGE', 'VOLUME', 'EDGE_MIDPOINT', 'EDGE_PERPENDICULAR', 'FACE_PROJECT', 'FACE_NEAREST'}


def snapped(
    scene: Scene, depsgraph: Depsgraph, pointer: DragPointer, position: Vector, armature: Object, step: float
) -> Vector:
    """Return where a position snaps to; itself where there is nothing to snap to.

    Args:
        scene: with its snapping settings.
        depsgraph: evaluated.
        pointer: of the drag.
        position: where it says that what is dragged should be.
        armature: its own meshes are looked through.
        step: of the grid.
    """
    elements: set[str] = set(scene.tool_settings.snap_elements)
    if elements & _SURFACES:
        hit = _surface_point(scene, depsgraph, pointer.ray, armature, elements)
        if hit is not None:
            return pointer.confined(hit)
    if elements & {'INCREMENT', 'GRID'}:
        return pointer.stepped(position, step, from_start='GRID' not in elements)
    return position


def snap_name(scene: Scene) -> str:
    """Say what there is to snap to, in a few words."""
    elements: set[str] = set(scene.tool_settings.snap_elements)
    names = [name for name, found in (("surface", elements & _SURFACES), ("steps", 'INCREMENT' in elements)) if found]
    return " and ".join([*names, "grid"] if 'GRID' in elements else names) or "nothing"


def _surface_point(
    scene: Scene, depsgraph: Depsgraph, ray: tuple[Vector, Vector], armature: Object, elements: set[str]
) -> Vector | None:
    start, direction = ray
    for _ in range(_MOST_LAYERS):
        is_hit, point, _normal, face, obj, _matrix = scene.ray_cast(depsgraph, start, direction)
        if not is_hit:
            return None
        if not _hangs_on(obj, armature):
            return _on_face(depsgraph, obj, face, point, elements)
        start = point + direction * (1e-5 * (point - start).length + 1e-5)
    return None


def _hangs_on(obj: Object, armature: Object) -> bool:
    """Tell whether an object moves with an armature, so that snapping to it would chase itself."""
    if any(modifier.type == 'ARMATURE' and modifier.object == armature for modifier in obj.modifiers):  # type: ignore[attr-defined]
        return True
    parent = obj.parent
    while parent is not None and parent != armature:
        parent = parent.parent
    return parent is not None


def _on_face(depsgraph: Depsgraph, obj: Object, face: int, point: Vector, elements: set[str]) -> Vector:
    """Return the point of a face that is wanted: a corner, a point of an edge, or the one that was hit."""
    data = obj.evaluated_get(depsgraph).data
    if 'FACE' in elements or obj.type != 'MESH' or not 0 <= face < len(data.polygons):
        return point
    corners = [obj.matrix_world @ data.vertices[i].co for i in data.polygons[face].vertices]
    if 'VERTEX' in elements:
        return min(corners, key=lambda corner: (corner - point).length)
    if 'EDGE' in elements:
        found = []
        for a, b in zip(corners, [*corners[1:], corners[0]], strict=True):
            nearest, share = intersect_point_line(point, a, b)
            found.append(a if share < 0.0 else b if share > 1.0 else nearest)
        return min(found, key=lambda nearest: (nearest - point).length)
    return point
