# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapping of a drag to surfaces under the mouse, whole steps or the grid, as the scene is set. Reads Blender."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mathutils import Matrix, Vector
from mathutils.geometry import intersect_point_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpy.types import Context, Depsgraph, Object, Scene, SpaceView3D

    from .mouse_to_world import DragPointer

_MOST_SKIPPED_HITS = 64
"""Most hits on the armature's own meshes that the line of sight passes through."""

_OFF_FACE = 1e-3
"""Distance of a hit from the bounds of its face, over that from the farthest corner, which is rounding."""

_LEAST_PIXELS = 6.0
"""Distance of lines of the grid to which Blender snaps, at a scale of the interface of 1."""

_LENGTHS = {
    'METRIC': (1e-6, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0),
    'IMPERIAL': (2.54e-5, 0.0254, 0.3048, 0.9144, 20.1168, 201.168, 1609.344),
}
"""Blender's units of length, in metres: from a micrometre to a kilometre, and from a thou to a mile."""

_SURFACES = {'FACE', 'VERTEX', 'EDGE', 'VOLUME', 'EDGE_MIDPOINT', 'EDGE_PERPENDICULAR', 'FACE_PROJECT', 'FACE_NEAREST'}


def snapped(
    scene: Scene, depsgraph: Depsgraph, pointer: DragPointer, position: Vector, armature: Object, step: float
) -> Vector:
    """Return the position that a desired position snaps to; the desired position if there is nothing to snap to.

    Args:
        scene: with its snapping settings.
        depsgraph: evaluated.
        position: desired position, world space.
        armature: the meshes that it deforms or carries are skipped.
        step: distance of the grid's lines, Blender units.
    """
    elements: set[str] = set(scene.tool_settings.snap_elements)
    if elements & _SURFACES:
        hit = _surface_point(scene, depsgraph, pointer.ray, armature, elements)
        if hit is not None:
            return pointer.confined(hit)
    if elements & {'INCREMENT', 'GRID'}:
        return pointer.stepped(position, step, from_start='GRID' not in elements)
    return position


def grid_step(context: Context) -> float:
    """Return the distance of the grid's lines in the viewport, Blender units.

    In a view along an axis Blender's own transforms snap to the smallest unit of length that is wider than six pixels:
    at a body's size on the screen to 0.1 m, and with steps of 1 m a hand would stay where it is.
    """
    overlay = cast("SpaceView3D", context.space_data).overlay
    region, view, units = context.region, context.region_data, context.scene.unit_settings
    if not view.is_orthographic_side_view:
        return overlay.grid_scale_unit
    width = region.width / context.preferences.system.ui_scale
    least = _LEAST_PIXELS * 2.0 / (width * view.window_matrix[0][0])
    if units.system == 'NONE':
        steps = [overlay.grid_scale * overlay.grid_subdivisions**power for power in range(-3, 5)]
    else:
        steps = [overlay.grid_scale * length / units.scale_length for length in _LENGTHS[units.system]]
    return next((step for step in steps if step > least), steps[-1])


def snap_name(scene: Scene) -> str:
    """Return the snapping targets that the scene has enabled, in words."""
    elements: set[str] = set(scene.tool_settings.snap_elements)
    names = [name for name, found in (("Surface", elements & _SURFACES), ("Steps", 'INCREMENT' in elements)) if found]
    return " and ".join([*names, "Grid"] if 'GRID' in elements else names) or "Nothing"


def _surface_point(
    scene: Scene, depsgraph: Depsgraph, ray: tuple[Vector, Vector], armature: Object, elements: set[str]
) -> Vector | None:
    start, direction = ray
    for _ in range(_MOST_SKIPPED_HITS):
        is_hit, point, _normal, face, obj, matrix = scene.ray_cast(depsgraph, start, direction)
        if not is_hit:
            return None
        if not _moves_with(obj, armature):
            if 'FACE' in elements or not elements & {'VERTEX', 'EDGE'}:
                return point
            return _on_edges(_corners(depsgraph, obj, matrix, face), point, elements)
        start = point + direction * (1e-5 * (point - start).length + 1e-5)
    return None


def _moves_with(obj: Object, armature: Object) -> bool:
    """Return whether an armature deforms or carries an object.

    Snapping to such an object would move the bones, the bones the object, and the object the snapping position again.
    """
    if any(modifier.type == 'ARMATURE' and modifier.object == armature for modifier in obj.modifiers):  # type: ignore[attr-defined]
        return True
    parent = obj.parent
    while parent is not None and parent != armature:
        parent = parent.parent
    return parent is not None


def _corners(depsgraph: Depsgraph, obj: Object, matrix: Matrix, face: int) -> list[Vector]:
    """Return the corners of a face that was hit, world space; none of a surface without faces.

    Args:
        depsgraph: evaluated.
        obj: that was hit.
        matrix: from its space to the world: of an instance another one than its own.
        face: index of the face.
    """
    data = obj.evaluated_get(depsgraph).data
    if obj.type != 'MESH' or not 0 <= face < len(data.polygons):
        return []
    return [matrix @ data.vertices[i].co for i in data.polygons[face].vertices]


def _on_edges(corners: Sequence[Vector], point: Vector, elements: set[str]) -> Vector:
    """Return the nearest corner of a face to a point on it, or the nearest point of an edge.

    What geometry nodes instance has faces of another mesh than that of the object with the nodes, whose corners are
    elsewhere: then it is the point itself.
    """
    margin = _OFF_FACE * max(((corner - point).length for corner in corners), default=0.0)
    ends = [[corner[axis] - point[axis] for corner in corners] for axis in range(3)]
    if not corners or any(min(offsets) > margin or max(offsets) < -margin for offsets in ends):
        return point
    if 'VERTEX' in elements:
        return min(corners, key=lambda corner: (corner - point).length)
    found = []
    for a, b in zip(corners, [*corners[1:], corners[0]], strict=True):
        nearest, share = intersect_point_line(point, a, b)
        found.append(a if share < 0.0 else b if share > 1.0 else nearest)
    return min(found, key=lambda nearest: (nearest - point).length)
