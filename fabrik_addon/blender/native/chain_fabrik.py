# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain of three links or more brought to its target, as nodes: what ``core.fabrik.chain_fabrik`` puts together.

The root is at the origin, and the tip on the line from the last joint to the target, so only the joints between them
are computed.
"""

from __future__ import annotations

from typing import Any

from ...core.fabrik.exact_finish import LEAST_HEIGHT_LEFT, LEAST_SINE, LEAST_SQUARED_SINE
from ...core.fabrik.passes import PLAIN_SWEEPS
from .acceleration import further_sweeps_group
from .circular_arc import circular_arc_group
from .link_inputs import Links, links_inputs
from .nodes import Nodes, Value
from .passes import Joints, swept
from .shared_groups import shared_group

MOST_SWEEPS = 64

_ARC_STEPS = 12
"""Newton steps of a circular arc that is the result: no sweep corrects it."""

_STRAIGHT, _ARC, _ELSEWHERE, _ROTATED = range(4)
"""The stages where the joint next to the tip can't close the position error: target out of reach, target on the chain's
own line, another joint closes the error, or one joint bends and the whole chain is rotated (``exact_finish``)."""


def reached(
    nodes: Nodes,
    target: Value,
    inner: Joints,
    links: Links,
    tolerance: Value,
    sweeps: Value,
    is_on_line: Value,
) -> Joints:
    """Return the inner joints of a chain at its target.

    Args:
        nodes: to add to.
        target: from the root.
        inner: joints before.
        links: of the chain.
        tolerance: as a length.
        sweeps: at most.
        is_on_line: whether chain and target lie on one line; None if they never do.
    """
    joints = _sweeps(nodes, target, inner, links, tolerance, sweeps)
    with nodes.frame("Exact finish: bend the joint next to the tip"):
        closes, moved = _close(nodes, joints, target, links)
    with nodes.frame("Reach test"):
        is_within = nodes.is_near(nodes.length(target), links.middle, links.spread)
        which: Value = _ELSEWHERE
        if is_on_line is not None:
            which = nodes.switch(is_on_line, _ARC, _ELSEWHERE, 'INT')
            closes = nodes.switch(is_on_line, False, closes, 'BOOLEAN')
        which = nodes.switch(is_within, which, _STRAIGHT, 'INT')
        is_usual = nodes.switch(is_within, closes, False, 'BOOLEAN')
    with nodes.frame("Out of reach, on one line, or hardly bent"):
        side = (1.0, 0.0, 0.0)  # the first bone's own +X
        values = [target, *joints, *links.values, tolerance, side, which]
        unusual = nodes.call(_unusual_group(len(links.lengths)), values)[0]
    with nodes.frame("Which of them"):
        usual = nodes.bundled([*joints[:-1], moved])
        return nodes.unbundled_vectors(nodes.switch(is_usual, usual, unusual, 'BUNDLE'), len(joints))


def _sweeps(nodes: Nodes, target: Value, inner: Joints, links: Links, tolerance: Value, sweeps: Value) -> Joints:
    """Return the joints after as many sweeps as are needed."""
    results: list[Joints] = []
    tests = []
    for number in range(PLAIN_SWEEPS):
        with nodes.frame(f"Sweep {number + 1}"):
            results.append(swept(nodes, results[-1] if results else inner, links.lengths, target))
            # After a sweep the last link points at the target: what it is too short or too long is the tip's error.
            distance = nodes.distance(results[-1][-1], target)
            tests.append(nodes.is_near(distance, links.last, tolerance))
    with nodes.frame("Further sweeps, mixed"):
        values = [target, *results[-1], *links.lengths, links.last, tolerance, sweeps]
        results.append(list(nodes.call(further_sweeps_group(len(inner) + 1, PLAIN_SWEEPS, MOST_SWEEPS), values)))
    with nodes.frame("Stop when reached"):
        last = nodes.minimum_int(nodes.first_true(tests), nodes.subtract_int(sweeps, 1))
        return nodes.choose_joints(last, results)


def _close(nodes: Nodes, joints: Joints, target: Value, links: Links) -> tuple[Value, Value]:
    """Return whether the last inner joint can close the position error, and its position then.

    It is the first way of ``core.fabrik.exact_finish`` for the joint next to the tip.
    """
    before, joint = joints[-2:]
    line, offset = target - before, joint - before
    aside = offset - nodes.project(offset, line)
    square, height = nodes.dot(line, line), nodes.dot(aside, aside)
    # Law of cosines: where the joint's foot is on the line of its neighbours, as a share of it.
    foot = nodes.multiply_add(links.difference / square, 0.5, 0.5)
    share = (links.square - foot * foot * square) / height
    moved = nodes.multiply_add(line, nodes.combine(foot, foot, foot), before) + aside * nodes.sqrt(share)
    return (share > LEAST_HEIGHT_LEFT) & (height > links.least_height), moved


def _unusual_group(count: int) -> Any:
    """Return the group of the stages that few targets need, which costs the others one node: → joints in a bundle.

    Where the joint next to the tip can't close the position error, the nearest one that is bent enough does; where none
    is, one joint is bent and the chain rotated about its root; where that and sweeps fail, it is the circular arc.
    """

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        joints = nodes.inputs("Joint", count - 1)
        links = links_inputs(nodes, count)
        tolerance = nodes.input("Tolerance", "NodeSocketFloat")
        side = nodes.input("Side")
        which = nodes.input("Which", "NodeSocketInt")
        with nodes.frame("Out of reach: straight"):
            straight = nodes.call(_straight_group(count), [target, *links.lengths, links.middle])
        with nodes.frame("Circular arc"):
            arc = nodes.call(_laid_arc_group(count), [target, *links.lengths, links.total, side])
        with nodes.frame("Position error"):
            tip = nodes.multiply_add(nodes.normalized(target - joints[-1]), links.lengths[-1], joints[-1])
            residual = target - tip
        found, is_found = _bent_elsewhere(nodes, joints, links.lengths, residual)
        with nodes.frame("Bend one joint, rotate the chain"):
            *turned, turned_tip = nodes.call(_turn_group(count), [target, *joints, tip])
        with nodes.frame("Which of them"):
            is_open = nodes.distance(turned_tip, target) > tolerance
            rotated_or_arc = nodes.switch(is_open, _ARC, _ROTATED, 'INT')
            closed = nodes.switch(is_found, _ELSEWHERE, rotated_or_arc, 'INT')
            index = nodes.choose(which, [_STRAIGHT, _ARC, closed], 'INT')
            bundles = [nodes.bundled(each) for each in (straight, arc, found, turned)]
            nodes.output("Joints", nodes.choose(index, bundles, 'BUNDLE'), "NodeSocketBundle")

    return shared_group(f"FABRIK unusual, {count} links", fill)


def _straight_group(count: int) -> Any:
    """Return the group of a target out of reach: one line to it, with the longest link folded out if it is too near."""

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        lengths = nodes.inputs("Length", count)
        middle = nodes.input("Middle reach", "NodeSocketFloat")
        with nodes.frame("Which link is the longest"):
            along = nodes.normalized(target)
            is_far = nodes.length(target) >= middle
            sizes = [nodes.length(length) for length in lengths]
            longest = sizes[0]
            for size in sizes[1:]:
                longest = nodes.maximum(longest, size)
        joints: Joints = []
        with nodes.frame("On the line"):
            for length, size in zip(lengths[:-1], sizes, strict=False):
                step = along * nodes.switch(is_far | (size >= longest), length, length * (-1.0, -1.0, -1.0))
                joints.append(joints[-1] + step if joints else step)
        nodes.outputs("Joint", joints)

    return shared_group(f"FABRIK straight, {count} links", fill)


def _laid_arc_group(count: int) -> Any:
    """Return the group of a circular arc between root and target, bent to a side."""

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        lengths = nodes.inputs("Length", count)
        total = nodes.input("Chain length", "NodeSocketFloat")
        side = nodes.input("Side")
        planar = nodes.call(circular_arc_group(count), [nodes.length(target), total, *lengths, _ARC_STEPS])
        frame = nodes.frame_of(target, side)
        nodes.outputs("Joint", [nodes.rotated(joint, frame) for joint in planar])

    return shared_group(f"FABRIK arc to target, {count} links", fill)


def _bent_elsewhere(nodes: Nodes, joints: Joints, lengths: list[Value], residual: Value) -> tuple[Joints, Value]:
    """Return the joints with one bent and all after it shifted by the position error, and whether one can be.

    From the last but one joint toward the root it is the first that is bent enough.
    """
    others = range(len(joints) - 2, -1, -1)
    origin = (0.0, 0.0, 0.0)
    with nodes.frame("Which joint is bent enough"):
        shifted = [joint + residual for joint in joints]
        befores = [joints[j - 1] if j else origin for j in others]
        tests = [
            _is_bent(nodes, before, joints[j], shifted[j + 1], lengths[j : j + 2])
            for j, before in zip(others, befores, strict=True)
        ]
        number = nodes.first_true(tests)
    with nodes.frame("Bend it"):
        chosen = [
            nodes.choose(number, [*values, origin])
            for values in (
                befores,
                [joints[j] for j in others],
                [shifted[j + 1] for j in others],
                [lengths[j] for j in others],
                [lengths[j + 1] for j in others],
            )
        ]
        before, joint, following, first, second = chosen
        line, offset = following - before, joint - before
        aside = offset - nodes.project(offset, line)
        square = nodes.dot(line, line)
        first_square, second_square = (nodes.dot(length, length) * (1.0 / 3.0) for length in (first, second))
        # Law of cosines: where the joint's foot is on the line of its neighbours, as a share of it.
        foot = nodes.multiply_add((first_square - second_square) / square, 0.5, 0.5)
        share = (first_square - foot * foot * square) / nodes.dot(aside, aside)
        change = before + line * foot + aside * nodes.sqrt(share) - joint
        rest = residual - change
    with nodes.frame("Shift what follows"):
        # Counted from the root: 1 from the chosen joint on, else 0.
        place = nodes.subtract_int(len(joints) - 2, number)
        counts = [nodes.from_number(place, j) for j in range(len(joints))]
        found = [nodes.multiply_add(change, count, joint) for count, joint in zip(counts, joints, strict=True)]
        after = [nodes.multiply_add(rest, count, joint) for count, joint in zip(counts, found[1:], strict=False)]
        is_found = nodes.switch(
            nodes.compare_int('LESS_THAN', number, len(tests)), share > LEAST_HEIGHT_LEFT, False, 'BOOLEAN'
        )
    return [found[0], *after], is_found


def _is_bent(nodes: Nodes, before: Value, joint: Value, following: Value, lengths: list[Value]) -> Value:
    """Return whether a joint is bent enough: its height over the line of its neighbours, against the shorter link."""
    line, offset = following - before, joint - before
    height = nodes.cross(line, offset)
    shorter = nodes.vector('MINIMUM', *lengths)
    least = nodes.dot(shorter, shorter) * (LEAST_SQUARED_SINE / 3.0)
    return nodes.dot(height, height) > least * nodes.dot(line, line)


def _turn_group(count: int) -> Any:
    """Return the group that bends one joint and turns the chain about its root: target, joints, tip → joints, tip.

    The joint is the one farthest from the line root-tip; where that can't be done everything stays.
    """

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        inner = nodes.inputs("Joint", count - 1)
        tip = nodes.input("Tip")
        with nodes.frame("Joint farthest from the line root-tip"):
            bend, farthest = inner[0], nodes.vector('CROSS_PRODUCT', inner[0], tip)
            farthest = nodes.dot(farthest, farthest)
            chosen: Value = 0
            for j, joint in enumerate(inner[1:], 1):
                bend, farthest, chosen = nodes.call(_farther_group(), [joint, tip, j, bend, farthest, chosen])
        with nodes.frame("Bend until the tip is as far as the target"):
            arm = tip - bend
            bend_square, arm_square = nodes.dot(bend, bend), nodes.dot(arm, arm)
            spread = nodes.sqrt(bend_square * arm_square)
            cosine = (nodes.dot(target, target) - bend_square - arm_square) / (spread * 2.0)
            sine = nodes.sqrt(1.0 - cosine * cosine)
            is_possible = (nodes.sqrt(farthest) > spread * LEAST_SINE) & (cosine * cosine <= 1.0)
            axis = nodes.normalized(nodes.cross(bend, tip))
            share = nodes.sqrt(arm_square / bend_square)
            turned = bend * (share * cosine) + nodes.cross(axis, bend) * (share * sine)
            second = nodes.turn_of(arm, turned)
        with nodes.frame("Turn about the root"):
            first = nodes.turn_of(bend + turned, target)
            results = [
                nodes.call(_turned_group(), [joint, j, chosen, bend, second, first, is_possible])[0]
                for j, joint in enumerate([*inner, tip])
            ]
        nodes.outputs("Joint", results[:-1])
        nodes.output("Tip", results[-1])

    return shared_group(f"FABRIK bend and turn, {count} links", fill)


def _farther_group() -> Any:
    """Return the group that keeps the joint farthest from the line root-tip: joint, tip, number, the best before."""

    def fill(nodes: Nodes) -> None:
        joint, tip = nodes.input("Joint"), nodes.input("Tip")
        number = nodes.input("Number", "NodeSocketInt")
        best, offset = nodes.input("Farthest"), nodes.input("Offset", "NodeSocketFloat")
        chosen = nodes.input("Chosen", "NodeSocketInt")
        across = nodes.cross(joint, tip)
        own = nodes.dot(across, across)
        is_farther = own > offset
        nodes.output("Farthest", nodes.switch(is_farther, joint, best))
        nodes.output("Offset", nodes.maximum(own, offset), "NodeSocketFloat")
        nodes.output("Chosen", nodes.switch(is_farther, number, chosen, 'INT'), "NodeSocketInt")

    return shared_group("FABRIK farthest joint", fill)


def _turned_group() -> Any:
    """Return the group that turns a joint about the bent one, if it comes after it, and then about the root."""

    def fill(nodes: Nodes) -> None:
        joint = nodes.input("Joint")
        number, chosen = nodes.input("Number", "NodeSocketInt"), nodes.input("Chosen", "NodeSocketInt")
        bend = nodes.input("Bent joint")
        second, first = nodes.input("Bend", "NodeSocketRotation"), nodes.input("Turn", "NodeSocketRotation")
        is_possible = nodes.input("Is possible", "NodeSocketBool")
        is_after = nodes.compare_int('LESS_THAN', chosen, number)
        bent = nodes.switch(is_after, bend + nodes.rotated(joint - bend, second), joint)
        nodes.output("Joint", nodes.switch(is_possible, nodes.rotated(bent, first), joint))

    return shared_group("FABRIK turn a joint", fill)
