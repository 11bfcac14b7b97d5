# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mathematics as geometry nodes: every operation on a value adds the node that computes it.

A value is a socket or a constant. Nodes compute with whole vectors and rotations, because a node takes the same 0.3 us
for numbers and for vectors. Of a switch's inputs Blender evaluates only the chosen one, so a condition with two results
takes the time of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from .node_layout import layout

if TYPE_CHECKING:
    from bpy.types import GeometryNodeTree, NodeFrame, NodeSocket

NUMBER, ROTATION = "NodeSocketFloat", "NodeSocketRotation"
"""Types of a group's inputs and outputs that aren't vectors."""

Value: TypeAlias = Any
"""An output socket's ``Socket``, or a constant: a float, a tuple (x, y, z) or, as a rotation, Euler angles.

``Any``, because sums and products of a union of them have no type.
"""

AnyNode: TypeAlias = Any
"""A node; ``Any``, because the stub gives a new node no attributes of its subtype."""

AnyInput: TypeAlias = Any
"""An input of a node; ``Any``, because the stub gives sockets no default value."""


class Socket:
    """An output of a node, with Python's operators for the nodes of arithmetic and comparison."""

    def __init__(self, nodes: Nodes, socket: NodeSocket) -> None:
        self.nodes = nodes
        self.socket = socket

    def __add__(self, other: Value) -> Socket:
        return self.nodes.arithmetic('ADD', self, other)

    def __radd__(self, other: Value) -> Socket:
        return self.nodes.arithmetic('ADD', other, self)

    def __sub__(self, other: Value) -> Socket:
        return self.nodes.arithmetic('SUBTRACT', self, other)

    def __rsub__(self, other: Value) -> Socket:
        return self.nodes.arithmetic('SUBTRACT', other, self)

    def __mul__(self, other: Value) -> Socket:
        """Return the product; of a vector and a number it is the scaled vector."""
        if _is_vector(self) and not _is_vector(other):
            return self.nodes.scaled(self, other)
        return self.nodes.arithmetic('MULTIPLY', self, other)

    def __rmul__(self, other: Value) -> Socket:
        return self * other

    def __truediv__(self, other: Value) -> Socket:
        return self.nodes.arithmetic('DIVIDE', self, other)

    def __rtruediv__(self, other: Value) -> Socket:
        return self.nodes.arithmetic('DIVIDE', other, self)

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


def _is_vector(value: Value) -> bool:
    return isinstance(value, tuple) or (isinstance(value, Socket) and value.socket.type == 'VECTOR')


class Nodes:
    """A node tree under construction."""

    def __init__(self, tree: GeometryNodeTree) -> None:
        self.tree = tree
        self._frame: NodeFrame | None = None
        self._formulas: set[AnyNode] = set()
        self._inputs: dict[NodeFrame, AnyNode] = {}
        self._input = self.new("NodeGroupInput")
        self._output = self.new("NodeGroupOutput")

    def new(self, kind: str, label: str = "") -> AnyNode:
        """Add a node, in the open frame if there is one."""
        node = self.tree.nodes.new(kind)
        node.label = label
        if self._frame is not None:
            node.parent = self._frame
        return node

    @contextmanager
    def frame(self, label: str) -> Iterator[None]:
        """Open a frame with a label: nodes added inside the ``with`` block lie in it."""
        frame = cast("NodeFrame", self.tree.nodes.new("NodeFrame"))
        outer = self._frame
        frame.label = label
        frame.label_size = 26
        frame.parent = outer
        self._frame = frame
        yield
        self._frame = outer

    def link(self, value: Value, into: AnyInput) -> None:
        """Link a socket to an input, or set the input to a constant; None leaves the input's default."""
        if isinstance(value, Socket):
            self.tree.links.new(self._beside(value.socket), into)
        elif value is not None:
            into.default_value = value

    def _beside(self, socket: NodeSocket) -> NodeSocket:
        """Return the same input of the group on a Group Input node in the open frame, for short links."""
        if socket.node != self._input or self._frame is None:
            return socket
        if self._frame not in self._inputs:
            self._inputs[self._frame] = self.new("NodeGroupInput")
        return next(other for other in self._inputs[self._frame].outputs if other.identifier == socket.identifier)

    # The group's interface

    def input(self, name: str, kind: str = "NodeSocketVector", **settings: object) -> Socket:
        """Add an input to the group."""
        self._add_socket(name, 'INPUT', kind, settings)
        return Socket(self, self._input.outputs[-2])  # the last socket is Blender's, for adding more

    def skip_input(self) -> None:
        """Give the inputs after this one the identifiers that they have where the group has one input more here."""
        interface: Any = self.tree.interface  # Any: the stub gives no type to new sockets
        interface.remove(interface.new_socket("", in_out='INPUT', socket_type=NUMBER))

    def output(self, name: str, value: Value, kind: str = "NodeSocketVector", **settings: object) -> None:
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

    def _add_socket(self, name: str, in_out: str, kind: str, settings: dict[str, object]) -> None:
        interface: Any = self.tree.interface  # Any: the stub names the types of sockets, and not all of them
        item = interface.new_socket(name, in_out=in_out, socket_type=kind, parent=settings.pop("panel", None))
        for key, value in settings.items():
            setattr(item, key, value)

    def call(self, group: GeometryNodeTree, inputs: Sequence[Value], label: str = "") -> list[Socket]:
        """Add a node of another group with inputs in their order; return its outputs."""
        node = self.new("GeometryNodeGroup", label)
        node.node_tree = group
        node.width = 190.0
        for value, socket in zip(inputs, node.inputs, strict=True):
            self.link(value, socket)
        return [Socket(self, socket) for socket in node.outputs]

    def pass_on(self, group: GeometryNodeTree) -> None:
        """Link all inputs to a group with the same interface as this one, and its outputs to the outputs."""
        results = self.call(group, [Socket(self, socket) for socket in self._input.outputs[:-1]])
        for result, socket in zip(results, self._output.inputs, strict=False):
            self.link(result, socket)

    def arithmetic(self, operation: str, *values: Value) -> Socket:
        """Return the result of a Vector Math node where a value is a vector, else that of a Math node."""
        return self.vector(operation, *values) if any(map(_is_vector, values)) else self.scalar(operation, *values)

    # Numbers

    def scalar(self, operation: str, a: Value, b: Value = None, c: Value = None) -> Socket:
        """Return the result of a Math node."""
        return self._formula("ShaderNodeMath", (a, b, c), operation=operation)

    def compare(self, operation: str, a: Value, b: Value) -> Socket:
        """Return whether a comparison (a Compare node's operation) of two numbers holds."""
        return self._formula("FunctionNodeCompare", (a, b), operation=operation)

    def is_near(self, a: Value, b: Value, most: Value) -> Socket:
        """Return whether ``|a - b| <= most``."""
        return self._formula("FunctionNodeCompare", (a, b, most), operation='EQUAL')

    def boolean(self, operation: str, a: Value, b: Value) -> Socket:
        """Return the result of a Boolean Math node."""
        return self._formula("FunctionNodeBooleanMath", (a, b), operation=operation)

    def sqrt(self, a: Value) -> Socket:
        return self.scalar('SQRT', a)

    def maximum(self, a: Value, b: Value) -> Socket:
        return self.scalar('MAXIMUM', a, b)

    def minimum(self, a: Value, b: Value) -> Socket:
        return self.scalar('MINIMUM', a, b)

    def multiply_add(self, a: Value, b: Value, c: Value) -> Socket:
        """Return ``a b + c`` of numbers, or of vectors component by component."""
        return self.arithmetic('MULTIPLY_ADD', a, b, c)

    # Vectors

    def vector(self, operation: str, a: Value, b: Value = None, c: Value = None) -> Socket:
        """Return the result of a Vector Math node."""
        return self._formula("ShaderNodeVectorMath", (a, b, c), operation=operation)

    def scaled(self, a: Value, factor: Value) -> Socket:
        return self.vector('SCALE', a, factor)

    def normalized(self, a: Value) -> Socket:
        return self.vector('NORMALIZE', a)

    def project(self, a: Value, onto: Value) -> Socket:
        """Return the component of a vector along another vector: ``(a . o) o / (o . o)``."""
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
        return self._formula("ShaderNodeCombineXYZ", (x, y, z))

    def separate(self, a: Value) -> tuple[Socket, Socket, Socket]:
        """Return a vector's components."""
        x, y, z = self._outputs("ShaderNodeSeparateXYZ", (a,))
        return x, y, z

    def looked_up(self, place: Value, tables: Sequence[Sequence[float]], label: str) -> Socket:
        """Return the vector of the values of three tables at a place: 0 for their first values, 1 for their last.

        A curve node stores 256 equal steps and interpolates linearly between them. Tables have 256 steps or a divisor
        of 256, so that no value of a table is lost.
        """
        node = self._node("ShaderNodeVectorCurve")
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
        return self._formula("FunctionNodeRotateRotation", (a, b), rotation_space='LOCAL')

    def inverted(self, a: Value) -> Socket:
        return self._formula("FunctionNodeInvertRotation", (a,))

    def rotated(self, a: Value, rotation: Value) -> Socket:
        """Return a vector, rotated."""
        return self._formula("FunctionNodeRotateVector", (a, rotation))

    def aligned(self, rotation: Value, to: Value, axis: str = 'Y', pivot: str = 'AUTO') -> Socket:
        """Return a rotation followed by the shortest one that brings its axis onto a vector's direction (FromTo)."""
        values = (rotation, None, to)  # with the factor, 1, between
        return self._formula("FunctionNodeAlignRotationToVector", values, axis=axis, pivot_axis=pivot)

    def axis_turn(self, axis: Value, angle: Value) -> Socket:
        """Return the rotation about an axis by an angle."""
        return self._formula("FunctionNodeAxisAngleToRotation", (axis, angle))

    def quaternion(self, rotation: Value) -> list[Socket]:
        """Return w, x, y and z of a rotation."""
        return self._outputs("FunctionNodeRotationToQuaternion", (rotation,))

    def from_quaternion(self, w: Value, x: Value, y: Value, z: Value) -> Socket:
        """Return the rotation of a quaternion."""
        return self._formula("FunctionNodeQuaternionToRotation", (w, x, y, z))

    def object_location(self, obj: Value) -> Socket:
        """Return an object's location in the space of the modified object."""
        return self.object_place(obj)[0]

    def object_place(self, obj: Value) -> tuple[Socket, Socket]:
        """Return an object's location and rotation in the space of the modified object."""
        node = self.new("GeometryNodeObjectInfo")
        node.transform_space = 'RELATIVE'
        self.link(obj, node.inputs["Object"])
        return Socket(self, node.outputs["Location"]), Socket(self, node.outputs["Rotation"])

    def scale_matrix(self, scale: Value) -> Socket:
        """Return the matrix that scales by a vector."""
        return self._formula("FunctionNodeCombineTransform", (None, None, scale))

    # Choices

    def switch(self, condition: Value, yes: Value, no: Value, kind: str = 'VECTOR') -> Socket:
        """Return one of two values; the nodes of the other one are not evaluated."""
        return self._formula("GeometryNodeSwitch", (condition, no, yes), input_type=kind)

    def repeat(
        self, steps: Value, start: dict[str, tuple[str, Value]], body: Callable[..., Sequence[Value]]
    ) -> list[Socket]:
        """Return values, given with their socket types, after a body was applied to them ``steps`` times."""
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

    def _formula(self, kind: str, values: Sequence[Value], **settings: str) -> Socket:
        return self._outputs(kind, values, **settings)[0]

    def _outputs(self, kind: str, values: Sequence[Value], **settings: str) -> list[Socket]:
        """Return the outputs of a new node, with values linked to its inputs.

        Only enabled sockets count: Blender 5.0 disables those of other operations, 5.2 has none.
        """
        node = self._node(kind)
        for name, setting in settings.items():
            setattr(node, name, setting)
        for value, socket in zip(values, (socket for socket in node.inputs if socket.enabled), strict=False):
            self.link(value, socket)
        return [Socket(self, socket) for socket in node.outputs if socket.enabled]

    def arrange(self) -> None:
        """Set the nodes' locations: frames in the order they were opened, nodes in the order of their dependencies."""
        nodes = list(self.tree.nodes)
        # Setting a property of one node makes Blender check the whole tree; foreach_set checks it once.
        self.tree.nodes.foreach_set("hide", [node in self._formulas for node in nodes])
        for node in self._inputs.values():
            node.outputs.foreach_set("hide", [not socket.is_linked for socket in node.outputs])
        links = [(link.from_node, link.to_node) for link in self.tree.links if link.from_node and link.to_node]
        places = layout(nodes, self._formulas, links)
        self.tree.nodes.foreach_set("location", [value for place in places for value in place])

    def _node(self, kind: str) -> AnyNode:
        node = self.new(kind)
        self._formulas.add(node)
        return node
