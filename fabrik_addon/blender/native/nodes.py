# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mathematics as geometry nodes: every operation on a value makes the node that does it.

A value is a socket or a constant. Nodes work on whole vectors and rotations, because a node costs the same 0.3 us
whether it adds numbers or vectors; a test and its two outcomes cost only the outcome that is taken, as Blender asks a
switch's inputs for their values only when they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from .node_layout import layout

if TYPE_CHECKING:
    from bpy.types import GeometryNodeTree

_FEW = 5
"""Vectors up to which a switch for each takes less time than tying them together."""

Value: TypeAlias = Any
"""An output socket's ``Socket``, or a constant: a float, a tuple (x, y, z) or, as a rotation, Euler angles."""


class Socket:
    """An output of a node that can be calculated with."""

    def __init__(self, nodes: Nodes, socket: Any) -> None:
        self.nodes = nodes
        self.socket = socket

    def _is_vector(self) -> bool:
        return bool(self.socket.type == 'VECTOR')

    def _math(self, operation: str, a: Value, b: Value) -> Socket:
        is_vector = any(
            isinstance(value, tuple) or (isinstance(value, Socket) and value._is_vector()) for value in (a, b)
        )
        return self.nodes.vector(operation, a, b) if is_vector else self.nodes.scalar(operation, a, b)

    def __add__(self, other: Value) -> Socket:
        return self._math('ADD', self, other)

    def __radd__(self, other: Value) -> Socket:
        return self._math('ADD', other, self)

    def __sub__(self, other: Value) -> Socket:
        return self._math('SUBTRACT', self, other)

    def __rsub__(self, other: Value) -> Socket:
        return self._math('SUBTRACT', other, self)

    def __mul__(self, other: Value) -> Socket:
        """Return a product; a vector's with a number is the vector scaled."""
        if (
            self._is_vector()
            and not isinstance(other, tuple)
            and not (isinstance(other, Socket) and other._is_vector())
        ):
            return self.nodes.scaled(self, other)
        return self._math('MULTIPLY', self, other)

    def __rmul__(self, other: Value) -> Socket:
        return self * other

    def __truediv__(self, other: Value) -> Socket:
        return self._math('DIVIDE', self, other)

    def __rtruediv__(self, other: Value) -> Socket:
        return self._math('DIVIDE', other, self)

    def __lt__(self, other: Value) -> Socket:
        return self.nodes.compare('LESS_THAN', self, other)

    def __le__(self, other: Value) -> Socket:
        return self.nodes.compare('LESS_EQUAL', self, other)

    def __gt__(self, other: Value) -> Socket:
        return self.nodes.compare('GREATER_THAN', self, other)

    def __ge__(self, other: Value) -> Socket:
        return self.nodes.compare('GREATER_EQUAL', self, other)

    def __and__(self, other: Value) -> Socket:
        return self.nodes.boolean('AND', self, other)

    def __or__(self, other: Value) -> Socket:
        return self.nodes.boolean('OR', self, other)


class Nodes:
    """A node tree under construction."""

    def __init__(self, tree: GeometryNodeTree) -> None:
        self.tree = tree
        self._frame: Any = None
        self._formulas: set[Any] = set()
        self._inputs: dict[Any, Any] = {}
        self._input = self.new("NodeGroupInput")
        self._output = self.new("NodeGroupOutput")

    def new(self, kind: str, label: str = "") -> Any:
        """Make a node in the frame that is open."""
        node = self.tree.nodes.new(kind)
        node.label = label
        if self._frame is not None:
            node.parent = self._frame
        return node

    @contextmanager
    def frame(self, label: str) -> Iterator[None]:
        """Put the nodes made meanwhile into a frame with a label."""
        frame: Any = self.tree.nodes.new("NodeFrame")
        outer = self._frame
        frame.label = label
        frame.label_size = 26
        frame.parent = outer
        self._frame = frame
        yield
        self._frame = outer

    def link(self, value: Value, into: Any) -> None:
        """Give an input socket its value."""
        if isinstance(value, Socket):
            self.tree.links.new(self._beside(value.socket), into)
        elif value is not None:
            into.default_value = value

    def _beside(self, socket: Any) -> Any:
        """Return a group's input in a node of its own in the open frame: no link crosses the whole tree then."""
        if socket.node != self._input or self._frame is None:
            return socket
        if self._frame not in self._inputs:
            self._inputs[self._frame] = self.new("NodeGroupInput")
        return next(other for other in self._inputs[self._frame].outputs if other.identifier == socket.identifier)

    # What the group takes and gives

    def input(self, name: str, kind: str = "NodeSocketVector", **settings: Any) -> Socket:
        """Add an input to the group."""
        self._add_socket(name, 'INPUT', kind, settings)
        return Socket(self, self._input.outputs[-2])  # the last one is there to make more

    def output(self, name: str, value: Value, kind: str = "NodeSocketVector", **settings: Any) -> None:
        """Add an output to the group."""
        self._add_socket(name, 'OUTPUT', kind, settings)
        self.link(value, self._output.inputs[-2])

    def inputs(self, name: str, count: int, kind: str = "NodeSocketVector") -> list[Value]:
        """Add numbered inputs to the group."""
        return [self.input(f"{name} {i + 1}", kind) for i in range(count)]

    def outputs(self, name: str, values: Sequence[Value], kind: str = "NodeSocketVector") -> None:
        """Add numbered outputs to the group."""
        for i, value in enumerate(values):
            self.output(f"{name} {i + 1}", value, kind)

    def _add_socket(self, name: str, in_out: Any, kind: Any, settings: dict[str, Any]) -> None:
        interface: Any = self.tree.interface
        item = interface.new_socket(name, in_out=in_out, socket_type=kind, parent=settings.pop("panel", None))
        for key, value in settings.items():
            setattr(item, key, value)

    def call(self, group: GeometryNodeTree, inputs: Sequence[Value], label: str = "") -> list[Socket]:
        """Use another group; return its outputs."""
        node = self.new("GeometryNodeGroup", label)
        node.node_tree = group
        node.width = 190.0
        for value, socket in zip(inputs, node.inputs, strict=True):
            self.link(value, socket)
        return [Socket(self, socket) for socket in node.outputs]

    def pass_on(self, group: GeometryNodeTree) -> None:
        """Use a group that has the same inputs and outputs as this one for all of them."""
        results = self.call(group, [Socket(self, socket) for socket in self._input.outputs[:-1]])
        for result, socket in zip(results, self._output.inputs, strict=False):
            self.link(result, socket)

    # Numbers

    def scalar(self, operation: str, a: Value, b: Value = None, c: Value = None) -> Socket:
        """Return what a Math node makes of numbers."""
        return self._formula("ShaderNodeMath", operation, (a, b, c))

    def compare(self, operation: str, a: Value, b: Value) -> Socket:
        """Return whether two numbers compare so."""
        return self._formula("FunctionNodeCompare", operation, (a, b))

    def compare_int(self, operation: str, a: Value, b: Value) -> Socket:
        """Return whether two whole numbers compare so."""
        node = self._node("FunctionNodeCompare", "")
        node.data_type, node.operation = 'INT', operation
        self._fill(node, (a, b))
        return Socket(self, node.outputs[0])

    def subtract_int(self, a: Value, b: Value) -> Socket:
        """Return the difference of two whole numbers."""
        return self._formula("FunctionNodeIntegerMath", 'SUBTRACT', (a, b))

    def minimum_int(self, a: Value, b: Value) -> Socket:
        """Return the smaller of two whole numbers."""
        return self._formula("FunctionNodeIntegerMath", 'MINIMUM', (a, b))

    def clamped_int(self, a: Value, least: int, most: int) -> Socket:
        """Return a whole number kept between two others."""
        return self.minimum_int(self._formula("FunctionNodeIntegerMath", 'MAXIMUM', (a, least)), most)

    def from_number(self, number: Value, first: int) -> Socket:
        """Return 1 where a whole number is at most another one, else 0."""
        node = self._node("ShaderNodeMath", 'SUBTRACT')
        node.use_clamp = True
        self._fill(node, (first + 1, number))
        return Socket(self, node.outputs[0])

    def is_near(self, a: Value, b: Value, most: Value) -> Socket:
        """Return whether two numbers differ by no more than a third one."""
        node = self._node("FunctionNodeCompare", 'EQUAL')
        self.link(a, node.inputs[0])
        self.link(b, node.inputs[1])
        self.link(most, node.inputs["Epsilon"])
        return Socket(self, node.outputs[0])

    def boolean(self, operation: str, a: Value, b: Value = None) -> Socket:
        """Return what a Boolean Math node makes of conditions."""
        return self._formula("FunctionNodeBooleanMath", operation, (a, b))

    def sqrt(self, a: Value) -> Socket:
        return self.scalar('SQRT', a)

    def maximum(self, a: Value, b: Value) -> Socket:
        return self.scalar('MAXIMUM', a, b)

    def minimum(self, a: Value, b: Value) -> Socket:
        return self.scalar('MINIMUM', a, b)

    def multiply_add(self, a: Value, b: Value, c: Value) -> Socket:
        """Return a b + c of three numbers, or of three vectors, component by component."""
        values = (a, b, c)
        if any(isinstance(v, tuple) or (isinstance(v, Socket) and v._is_vector()) for v in values):
            return self.vector('MULTIPLY_ADD', *values)
        return self.scalar('MULTIPLY_ADD', *values)

    # Vectors

    def vector(self, operation: str, a: Value, b: Value = None, c: Value = None) -> Socket:
        """Return what a Vector Math node makes of vectors."""
        return self._formula("ShaderNodeVectorMath", operation, (a, b, c))

    def scaled(self, a: Value, factor: Value) -> Socket:
        node = self._node("ShaderNodeVectorMath", 'SCALE')
        self.link(a, node.inputs[0])
        self.link(factor, node.inputs["Scale"])
        return Socket(self, node.outputs[0])

    def normalized(self, a: Value) -> Socket:
        return self.vector('NORMALIZE', a)

    def project(self, a: Value, onto: Value) -> Socket:
        """Return the part of a vector that is along another one."""
        return self.vector('PROJECT', a, onto)

    def cross(self, a: Value, b: Value) -> Socket:
        return self.vector('CROSS_PRODUCT', a, b)

    def dot(self, a: Value, b: Value) -> Socket:
        return self.vector('DOT_PRODUCT', a, b)

    def length(self, a: Value) -> Socket:
        return self.vector('LENGTH', a)

    def distance(self, a: Value, b: Value) -> Socket:
        return self.vector('DISTANCE', a, b)

    def combine(self, x: Value, y: Value, z: Value) -> Socket:
        """Return the vector with three components."""
        return self._formula("ShaderNodeCombineXYZ", "", (x, y, z))

    def separate(self, a: Value) -> tuple[Socket, Socket, Socket]:
        """Return a vector's components."""
        node = self._node("ShaderNodeSeparateXYZ", "")
        self.link(a, node.inputs[0])
        x, y, z = (Socket(self, socket) for socket in node.outputs)
        return x, y, z

    def looked_up(self, place: Value, tables: Sequence[Sequence[float]], label: str = "") -> Socket:
        """Return the vector whose components three tables have at a place, 0 at their first values and 1 at their last.

        A curve node keeps 256 steps and goes straight between them; tables have as many, or a whole fraction of that.
        """
        node = self._node("ShaderNodeVectorCurve", "")
        node.label = label
        mapping = node.mapping
        mapping.use_clip = False
        mapping.clip_min_x, mapping.clip_max_x = 0.0, 1.0
        for curve, table in zip(mapping.curves, tables, strict=True):
            while len(curve.points) < len(table):
                curve.points.new(0.5, 0.0)
            for i, (point, value) in enumerate(zip(curve.points, table, strict=True)):
                point.location = (i / (len(table) - 1), value)
                point.handle_type = 'VECTOR'
        mapping.update()
        self.link(place, node.inputs["Vector"])
        return Socket(self, node.outputs[0])

    # Rotations

    def multiplied(self, a: Value, b: Value) -> Socket:
        """Return the rotation b followed by the rotation a."""
        node = self._node("FunctionNodeRotateRotation", "")
        node.rotation_space = 'LOCAL'
        self.link(a, node.inputs[0])
        self.link(b, node.inputs[1])
        return Socket(self, node.outputs[0])

    def inverted(self, a: Value) -> Socket:
        return self._formula("FunctionNodeInvertRotation", "", (a,))

    def rotated(self, a: Value, rotation: Value) -> Socket:
        """Return a vector turned by a rotation."""
        return self._formula("FunctionNodeRotateVector", "", (a, rotation))

    def aligned(self, rotation: Value, to: Value, axis: str = 'Y', pivot: str = 'AUTO') -> Socket:
        """Return a rotation followed by the shortest turn that points its axis along a vector (FromTo)."""
        node = self._node("FunctionNodeAlignRotationToVector", "")
        node.axis, node.pivot_axis = axis, pivot
        self.link(rotation, node.inputs["Rotation"])
        self.link(to, node.inputs["Vector"])
        return Socket(self, node.outputs[0])

    def axis_turn(self, axis: Value, angle: Value) -> Socket:
        """Return the rotation about an axis by an angle."""
        node = self._node("FunctionNodeAxisAngleToRotation", "")
        self.link(axis, node.inputs["Axis"])
        self.link(angle, node.inputs["Angle"])
        return Socket(self, node.outputs[0])

    def quaternion(self, rotation: Value) -> list[Socket]:
        """Return w, x, y and z of a rotation."""
        node = self._node("FunctionNodeRotationToQuaternion", "")
        self.link(rotation, node.inputs[0])
        return [Socket(self, socket) for socket in node.outputs]

    def from_quaternion(self, w: Value, x: Value, y: Value, z: Value) -> Socket:
        """Return the rotation of a quaternion."""
        return self._formula("FunctionNodeQuaternionToRotation", "", (w, x, y, z))

    def object_location(self, obj: Value) -> Socket:
        """Return where an object is, as seen from the one that is modified."""
        return self.object_place(obj)[0]

    def object_place(self, obj: Value) -> tuple[Socket, Socket]:
        """Return where an object is and its rotation, as seen from the one that is modified."""
        node = self.new("GeometryNodeObjectInfo")
        node.transform_space = 'RELATIVE'
        self.link(obj, node.inputs["Object"])
        return Socket(self, node.outputs["Location"]), Socket(self, node.outputs["Rotation"])

    def scale_matrix(self, scale: Value) -> Socket:
        """Return the matrix that scales by a vector."""
        node = self._node("FunctionNodeCombineTransform", "")
        self.link(scale, node.inputs["Scale"])
        return Socket(self, node.outputs[0])

    # Choices

    def switch(self, condition: Value, yes: Value, no: Value, kind: str = 'VECTOR') -> Socket:
        """Return one of two values; what isn't taken isn't computed."""
        node = self._node("GeometryNodeSwitch", "")
        node.input_type = kind
        for value, socket in zip((condition, no, yes), node.inputs[:3], strict=True):
            self.link(value, socket)
        return Socket(self, node.outputs[0])

    def choose(self, index: Value, values: Sequence[Value], kind: str = 'VECTOR') -> Socket:
        """Return one of several values; what isn't taken isn't computed."""
        node = self._node("GeometryNodeIndexSwitch", "")
        node.data_type = kind
        while len(node.index_switch_items) < len(values):
            node.index_switch_items.new()
        self.link(index, node.inputs[0])
        for value, socket in zip(values, node.inputs[1 : len(values) + 1], strict=True):
            self.link(value, socket)
        return Socket(self, node.outputs[0])

    def bundle(self, values: dict[str, tuple[str, Value]]) -> Socket:
        """Return values, each with its kind, tied together: a group passes one socket on in less time than many."""
        node = self.new("NodeCombineBundle")
        for name, (kind, _) in values.items():
            node.bundle_items.new(kind, name)
        for (_, value), socket in zip(values.values(), node.inputs, strict=False):
            self.link(value, socket)
        return Socket(self, node.outputs[0])

    def unbundled(self, bundle: Value, kinds: dict[str, str]) -> list[Value]:
        """Return the values of a bundle, given their names and kinds."""
        node = self.new("NodeSeparateBundle")
        for name, kind in kinds.items():
            node.bundle_items.new(kind, name)
        self.link(bundle, node.inputs[0])
        return [Socket(self, socket) for socket in list(node.outputs)[: len(kinds)]]

    def bundled(self, vectors: Sequence[Value]) -> Socket:
        """Return vectors tied together."""
        return self.bundle({f"Joint {i + 1}": ('VECTOR', vector) for i, vector in enumerate(vectors)})

    def unbundled_vectors(self, bundle: Value, count: int) -> list[Value]:
        """Return the vectors of a bundle."""
        return self.unbundled(bundle, {f"Joint {i + 1}": 'VECTOR' for i in range(count)})

    def choose_joints(self, index: Value, lists: Sequence[Sequence[Value]]) -> list[Value]:
        """Return one of several lists of vectors."""
        count = len(lists[0])
        if count <= _FEW:
            return [self.choose(index, each) for each in zip(*lists, strict=True)]
        return self.unbundled_vectors(self.choose(index, [self.bundled(each) for each in lists], 'BUNDLE'), count)

    def first_true(self, conditions: Sequence[Value]) -> Value:
        """Return the number of the first condition that holds; what comes after it isn't computed."""
        found: Value = len(conditions)
        for number, condition in reversed(list(enumerate(conditions))):
            found = self.switch(condition, number, found, 'INT')
        return found

    def repeat(
        self, steps: Value, start: dict[str, tuple[str, Value]], body: Callable[..., Sequence[Value]]
    ) -> list[Socket]:
        """Return values, given with their kinds, after a body was applied to them again and again."""
        first, last = self.new("GeometryNodeRepeatInput"), self.new("GeometryNodeRepeatOutput")
        first.pair_with_output(last)
        last.repeat_items.clear()
        for name, (kind, _) in start.items():
            last.repeat_items.new(kind, name)
        self.link(steps, first.inputs["Iterations"])
        for name, (_, value) in start.items():
            self.link(value, first.inputs[name])
        results = body(*(Socket(self, first.outputs[name]) for name in start))
        for name, result in zip(start, results, strict=True):
            self.link(result, last.inputs[name])
        return [Socket(self, last.outputs[name]) for name in start]

    def _formula(self, kind: str, operation: str, values: Sequence[Value]) -> Socket:
        node = self._node(kind, operation)
        self._fill(node, values)
        return Socket(self, next(socket for socket in node.outputs if socket.enabled))

    def turn_of(self, a: Value, b: Value) -> Socket:
        """Return the shortest turn that takes direction a to direction b."""
        before = self.aligned(None, a)
        return self.multiplied(self.aligned(before, b), self.inverted(before))

    def frame_of(self, along: Value, side: Value) -> Socket:
        """Return the rotation that takes +Y to one direction and +X as near as it can to another."""
        node = self._node("FunctionNodeAxesToRotation", "")
        node.primary_axis, node.secondary_axis = 'Y', 'X'
        self.link(along, node.inputs[0])
        self.link(side, node.inputs[1])
        return Socket(self, node.outputs[0])

    def arrange(self) -> None:
        """Lay the nodes out: frames in the order they were made, in each the nodes by what they need."""
        nodes = list(self.tree.nodes)
        # Blender checks the whole tree whenever a property of one node is set; not so when all are set together.
        self.tree.nodes.foreach_set("hide", [node in self._formulas for node in nodes])
        for node in self._inputs.values():
            node.outputs.foreach_set("hide", [not socket.is_linked for socket in node.outputs])
        places = layout(nodes, self._formulas, [(link.from_node, link.to_node) for link in self.tree.links])
        self.tree.nodes.foreach_set("location", [value for place in places for value in place])

    def _fill(self, node: Any, values: Sequence[Value]) -> None:
        """Give a node's inputs their values; those it doesn't have are disabled, or gone since 5.2."""
        for value, socket in zip(values, (socket for socket in node.inputs if socket.enabled), strict=False):
            self.link(value, socket)

    def _node(self, kind: str, operation: str) -> Any:
        node = self.new(kind)
        if operation:
            node.operation = operation
        self._formulas.add(node)
        return node
