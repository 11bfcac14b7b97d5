# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shader of lines and round points with outlines: all strokes of an armature in one draw call.

Blender's own shaders have no round points in several colours, and need a draw call for each width and each outline.
Here a stroke is a quad around its image on the screen, and the fragment shader computes each pixel's distance `d` from
the stroke: with the radius `r` the opacity is `clamp(0.5 - (d - r), 0, 1)`, and that of the outline, one pixel of the
interface wide, is added around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import gpu
import numpy as np
from numpy.typing import NDArray

from ...core import Array
from ...core.math.operations import IntegerArray
from .overlay_shapes import JOINT_SIZE, Color, StrokeKind

if TYPE_CHECKING:
    from gpu.types import GPUBatch, GPUShader, GPUTexture, GPUVertBuf, GPUVertFormat

_VERTEX = """
vec4 seen(float row)
{
  int i = int(row + 0.5);
  return ModelViewProjectionMatrix * vec4(texelFetch(points, ivec2(i % COLUMNS, i / COLUMNS), 0).xyz, 1.0);
}

void main()
{
  vec4 p = seen(rows.x);
  vec4 q = seen(rows.y);
  float p_depth = p.z + p.w, q_depth = q.z + q.w;
  if (color.a == 0.0 || (p_depth <= 0.0 && q_depth <= 0.0)) {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    place = vec2(0.0);
    body = vec4(0.0);
    ink = vec4(0.0);
    return;
  }
  /* The part behind the viewer has no image: the line is cut at depth zero. */
  float share = p_depth / (p_depth - q_depth + 1e-30);
  bool is_cut = p_depth < 0.0;
  if (is_cut) { p = mix(p, q, share); }
  if (q_depth < 0.0) { q = mix(p, q, share); }
  vec2 from = (0.5 * p.xy / p.w + 0.5) * viewport.xy;
  vec2 to = (0.5 * q.xy / q.w + 0.5) * viewport.xy;
  float size = length(to - from);
  vec2 along = size > 1e-4 ? (to - from) / size : vec2(1.0, 0.0);
  vec2 across = vec2(-along.y, along.x);
  bool is_point = style.w < 0.5, has_point = style.w > 2.5 && !is_cut;
  float radius = 0.5 * style.z * viewport.z;
  float most = (has_point ? max(radius, 0.5 * viewport.w * viewport.z) : radius) + viewport.z + 1.0;
  vec2 caps = vec2(is_point || has_point ? most : 0.0, is_point ? most : 0.0);
  place = vec2(mix(-caps.x, size + caps.y, style.x), most * style.y);
  body = vec4(radius, style.w > 2.5 && !has_point ? 1.0 : style.w, size, 0.0);
  ink = color;
  gl_Position = vec4((from + along * place.x + across * place.y) / viewport.xy * 2.0 - 1.0, 0.0, 1.0);
}
"""

_FRAGMENT = """
/* A color with its outline; outside: distance of the pixel from the stroke's edge, in pixels. */
vec4 drawn(vec4 inner, float outside, float share)
{
  float over = inner.a * share * clamp(0.5 - outside, 0.0, 1.0);
  float under = inner.a * outline.a * share * clamp(viewport.z + 0.5 - outside, 0.0, 1.0) * (1.0 - over);
  return vec4(inner.rgb * over + outline.rgb * under, over + under);
}

void main()
{
  float from_start = length(place);
  float off = body.y < 0.5 ? length(vec2(max(max(-place.x, place.x - body.z), 0.0), place.y)) : abs(place.y);
  float share = 1.0;
  if (body.y > 1.5 && body.y < 2.5) {
    /* Dashes of six units with as much between them. */
    share = clamp((abs(mod(place.x / viewport.z, 12.0) - 6.0) - 3.0) * viewport.z + 0.5, 0.0, 1.0);
  }
  if (body.y > 2.5 && place.x < 0.0) { share = 0.0; }
  vec4 mixed = drawn(ink, off - body.x, share);
  if (body.y > 2.5) {
    vec4 point = drawn(vec4(joint.rgb, ink.a), from_start - 0.5 * viewport.w * viewport.z, 1.0);
    mixed = point + mixed * (1.0 - point.a);
  }
  if (mixed.a < 0.002) { discard; }
  mixed.rgb /= mixed.a;
  if (srgbTarget) {
    /* The framebuffer takes linear colors: IEC 61966-2-1. */
    vec3 bent = pow((max(mixed.rgb, 0.0) + 0.055) / 1.055, vec3(2.4));
    mixed.rgb = mix(mixed.rgb / 12.92, bent, step(0.04045, mixed.rgb));
  }
  fragColor = mixed;
}
"""

_types: Any = gpu.types
"""``Any``, because the stub gives the constructors of ``gpu.types`` no parameters."""

_COLUMNS = 256
"""Positions in a row of the texture."""

_CORNERS = np.array([[0.0, -1.0], [1.0, -1.0], [1.0, 1.0], [0.0, 1.0]], np.float32)
"""Corners of a stroke's quad: 0 at its start or 1 at its end; -1 on its right or 1 on its left."""


@cache
def _shader() -> GPUShader:
    interface = _types.GPUStageInterfaceInfo("fabrik_stroke")
    interface.smooth('VEC2', "place")
    interface.flat('VEC4', "body")
    interface.flat('VEC4', "ink")
    info = _types.GPUShaderCreateInfo()
    info.push_constant('MAT4', "ModelViewProjectionMatrix")
    info.push_constant('VEC4', "viewport")  # width, height, pixels per unit of the interface, diameter of a joint
    info.push_constant('VEC4', "outline")  # color
    info.push_constant('VEC4', "joint")  # color
    info.push_constant('BOOL', "srgbTarget")  # Blender sets this one
    info.define("COLUMNS", str(_COLUMNS))
    info.sampler(0, 'FLOAT_2D', "points")
    for place, (kind, name) in enumerate((('VEC2', "rows"), ('VEC4', "color"), ('VEC4', "style"))):
        info.vertex_in(place, kind, name)
    info.vertex_out(interface)
    info.fragment_out(0, 'VEC4', "fragColor")
    info.vertex_source(_VERTEX)
    info.fragment_source(_FRAGMENT)
    return gpu.shader.create_from_info(info)


@cache
def _format(*attributes: tuple[str, int]) -> GPUVertFormat:
    vertex_format = gpu.types.GPUVertFormat()
    for name, size in attributes:
        vertex_format.attr_add(id=name, comp_type='F32', len=size, fetch_mode='FLOAT')
    return vertex_format


class StrokeBuffers:
    """The part of N strokes on the GPU that a change of pose leaves as it is: rows, widths, kinds, and colours."""

    def __init__(self, rows: IntegerArray, styles: Array) -> None:
        """Send rows and styles to the GPU.

        Args:
            rows: (N, 2) start and end of each stroke, as rows of a table of positions.
            styles: (N, 2) widths in pixels, and kinds.
        """
        count = len(rows)
        corners = np.empty((count, 4, 4), np.float32)
        corners[:, :, :2] = _CORNERS
        corners[:, :, 2:] = styles[:, None]
        ends = np.repeat(rows.astype(np.float32), 4, axis=0)
        self._vertices = vertex_buffer(("rows", ends), ("style", corners.reshape(-1, 4)))
        triangles = 4 * np.arange(count, dtype=np.int32)[:, None] + np.array([0, 1, 2, 0, 2, 3], np.int32)
        self._triangles = _types.GPUIndexBuf(type='TRIS', seq=triangles.reshape(-1, 3))
        self._colors: Array | None = None
        self._batch: GPUBatch | None = None

    def strokes(self, points: Array, colors: Array) -> Strokes:
        """Return the strokes, given the table of positions (R, 3) and their colours (N, 4).

        Colours are sent to the GPU if ``colors`` is another array than in the last call.
        """
        if self._batch is None or colors is not self._colors:
            self._colors = colors
            self._batch = _types.GPUBatch(type='TRIS', buf=self._vertices, elem=self._triangles)
            self._batch.vertbuf_add(vertex_buffer(("color", np.repeat(colors.astype(np.float32), 4, axis=0))))
        height = -(-len(points) // _COLUMNS)
        data = _types.Buffer('FLOAT', height * _COLUMNS * 4)
        np.frombuffer(data, np.float32).reshape(-1, 4)[: len(points), :3] = points
        return Strokes(self._batch, _types.GPUTexture((_COLUMNS, height), format='RGBA32F', data=data))


@dataclass(frozen=True)
class Strokes:
    """Strokes on the GPU, ready to be drawn."""

    batch: GPUBatch
    points: GPUTexture
    """Table of positions."""


def vertex_buffer(*attributes: tuple[str, NDArray[np.float32]]) -> GPUVertBuf:
    """Return a vertex buffer, given names and arrays (V, components)."""
    buffer = _types.GPUVertBuf(
        _format(*((name, values.shape[1]) for name, values in attributes)), len(attributes[0][1])
    )
    for name, values in attributes:
        buffer.attr_fill(name, values)
    return buffer


class StrokeRenderer:
    """The bound shader, set up for the viewport that Blender draws."""

    def __init__(self, size: tuple[int, int], scale: float, colors: Mapping[str, Color]) -> None:
        """Bind the shader.

        Args:
            size: width and height of the viewport, pixels.
            scale: pixels per unit of the interface.
            colors: for 'outline' and 'joint'.
        """
        self._shader = _shader()
        self._shader.bind()
        self._shader.uniform_float("viewport", (*size, scale, JOINT_SIZE))
        self._shader.uniform_float("outline", colors['outline'])
        self._shader.uniform_float("joint", colors['joint'])

    def draw(self, strokes: Strokes) -> None:
        """Draw strokes."""
        self._shader.uniform_sampler("points", strokes.points)
        strokes.batch.draw(self._shader)


def lines(starts: Array, ends: Array, width: float, color: Color) -> Strokes:
    """Return plain lines between points (N, 3) in world space, of one width in pixels and one colour."""
    count = len(starts)
    rows = np.arange(2 * count).reshape(2, count).T
    buffers = StrokeBuffers(rows, np.tile((width, float(StrokeKind.LINE)), (count, 1)))
    return buffers.strokes(np.concatenate([starts, ends]), np.tile(color, (count, 1)))


def free_strokes() -> None:
    """Free the cached GPU objects while Blender has a GPU: when Python ends it has none."""
    _shader.cache_clear()
    _format.cache_clear()
