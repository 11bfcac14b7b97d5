# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain of three links or more brought to its target, as nodes: what ``core.fabrik.reach`` puts together.

The root is at the origin, and the tip on the line from the last joint to the target, so only the joints between them
are computed.
"""

from __future__ import annotations

from typing import Any

from ...core.fabrik.closing import LEAST_BEND
from ...core.fabrik.sweeps import PLAIN_SWEEPS
from .bow import bow_group
from .groups import shared_group
from .links import Links, links_inputs
from .mixing import further_sweeps_group
from .nodes import Nodes, Value
from .passes import Joints, swept

MOST_SWEEPS = 64


_BOW_STEPS = 12
"""Newton steps of a bow that nothing mends afterwards."""

_STRAIGHT, _BOW, _ELSEWHERE = range(3)
"""Why the usual way isn't gone: the target is out of reach, on the chain's own line, or the last joint isn't bent."""


def reach_group(count: int) -> Any:
    """Return the group: target, joints, links, tolerance, sweeps, ... → joints.

    Further inputs: ``On one line``, whether chain and target lie on one line, and ``Side``, to which it bends then.
    """

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        inner = nodes.inputs("Joint", count - 1)
        links = links_inputs(nodes, count)
        tolerance = nodes.input("Tolerance", "NodeSocketFloat")
        sweeps = nodes.input("Sweeps", "NodeSocketInt")
        is_on_line = nodes.input("On one line", "NodeSocketBool")
        side = nodes.input("Side")
        joints = _sweeps(nodes, target, inner, links, tolerance, sweeps)
        with nodes.frame("Exact finish: bend the joint next to the tip"):
            closes, moved = _close(nodes, joints, target, links)
        with nodes.frame("Reach test"):
            is_within = nodes.is_near(nodes.length(target), links.middle, links.spread)
            which = nodes.switch(is_on_line, _BOW, _ELSEWHERE, 'INT')
            which = nodes.switch(is_within, which, _STRAIGHT, 'INT')
            is_usual = nodes.switch(is_within, nodes.switch(is_on_line, False, closes, 'BOOLEAN'), False, 'BOOLEAN')
        with nodes.frame("Out of reach, on one line, or hardly bent"):
            values = [target, *joints, *links.values, tolerance, side, which]
            unusual = nodes.call(_unusual_group(count), values)
        with nodes.frame("Which of them"):
            nodes.outputs("Joint", nodes.switch_joints(is_usual, [*joints[:-1], moved], unusual))

    return shared_group(f"FABRIK reach, {count} links", fill)


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
    """Return whether the last joint can take up the gap, and where it is then: where both its links meet again.

    It stays in its own plane and on its own side (``core.fabrik.closing``).
    """
    before, joint = joints[-2:]
    line, offset = target - before, joint - before
    aside = offset - nodes.project(offset, line)
    square, height = nodes.dot(line, line), nodes.dot(aside, aside)
    # Law of cosines: where the joint's foot is on the line of its neighbours, as a share of it.
    foot = nodes.multiply_add(links.difference / square, 0.5, 0.5)
    share = (links.square - foot * foot * square) / height
    moved = nodes.multiply_add(line, nodes.combine(foot, foot, foot), before) + aside * nodes.sqrt(share)
    return (share > 0.25) & (height > links.least_height), moved


def _unusual_group(count: int) -> Any:
    """Return the group of what is rarely needed, so that it costs one node where it isn't."""

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        joints = nodes.inputs("Joint", count - 1)
        links = links_inputs(nodes, count)
        tolerance = nodes.input("Tolerance", "NodeSocketFloat")
        side = nodes.input("Side")
        which = nodes.input("Which", "NodeSocketInt")
        with nodes.frame("Out of reach: straight"):
            straight = nodes.call(_straight_group(count), [target, *links.lengths, links.middle])
        with nodes.frame("On one line: bow"):
            bowed = nodes.call(_laid_bow_group(count), [target, *links.lengths, links.total, side])
        with nodes.frame("Exact finish elsewhere"):
            elsewhere = nodes.call(_elsewhere_group(count), [target, *joints, *links.values, tolerance, side])
        nodes.outputs("Joint", nodes.choose_joints(which, [straight, bowed, elsewhere]))

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


def _laid_bow_group(count: int) -> Any:
    """Return the group of a bow between root and target, bent to a side."""

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        lengths = nodes.inputs("Length", count)
        total = nodes.input("Chain length", "NodeSocketFloat")
        side = nodes.input("Side")
        planar = nodes.call(bow_group(count), [nodes.length(target), total, *lengths, _BOW_STEPS])
        frame = nodes.frame_of(target, side)
        nodes.outputs("Joint", [nodes.rotated(joint, frame) for joint in planar])

    return shared_group(f"FABRIK bow to target, {count} links", fill)


def _elsewhere_group(count: int) -> Any:
    """Return the group of the exact finish where the joint next to the tip can't make it.

    The nearest joint to the tip that is bent enough takes up the gap; where none is, one is bent and the chain turned
    about its root; where sweeps and that failed it is a bow.
    """

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        joints = nodes.inputs("Joint", count - 1)
        links = links_inputs(nodes, count)
        tolerance = nodes.input("Tolerance", "NodeSocketFloat")
        side = nodes.input("Side")
        with nodes.frame("Gap"):
            tip = nodes.multiply_add(nodes.normalized(target - joints[-1]), links.lengths[-1], joints[-1])
            gap = target - tip
        found, is_found = _bent_elsewhere(nodes, joints, links.lengths, gap)
        with nodes.frame("Bend one joint, turn the chain"):
            *turned, turned_tip = nodes.call(_turn_group(count), [target, *joints, tip])
        with nodes.frame("Bow"):
            bowed = nodes.call(_laid_bow_group(count), [target, *links.lengths, links.total, side])
        with nodes.frame("Which of them"):
            is_open = nodes.distance(turned_tip, target) > tolerance
            index = nodes.switch(is_found, 0, nodes.switch(is_open, 2, 1, 'INT'), 'INT')
            nodes.outputs("Joint", nodes.choose_joints(index, [found, turned, bowed]))

    return shared_group(f"FABRIK exact finish, {count} links", fill)


def _bent_elsewhere(nodes: Nodes, joints: Joints, lengths: list[Value], gap: Value) -> tuple[Joints, Value]:
    """Return the joints with one bent and what follows shifted by the gap, and whether it can be.

    From the last but one joint toward the root it is the first that is bent enough.
    """
    others = range(len(joints) - 2, -1, -1)
    origin = (0.0, 0.0, 0.0)
    with nodes.frame("Which joint is bent enough"):
        shifted = [joint + gap for joint in joints]
        befores = [joints[j - 1] if j else origin for j in others]
        tests = [
            nodes.call(_bent_group(), [before, joints[j], shifted[j + 1], lengths[j], lengths[j + 1]])[0]
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
        rest = gap - change
    with nodes.frame("Shift what follows"):
        # Counted from the root: 1 from the chosen joint on, else 0.
        place = nodes.subtract_int(len(joints) - 2, number)
        counts = [nodes.from_number(place, j) for j in range(len(joints))]
        found = [nodes.multiply_add(change, count, joint) for count, joint in zip(counts, joints, strict=True)]
        after = [nodes.multiply_add(rest, count, joint) for count, joint in zip(counts, found[1:], strict=False)]
        is_found = nodes.switch(nodes.compare_int('LESS_THAN', number, len(tests)), share > 0.25, False, 'BOOLEAN')
    return [found[0], *after], is_found


def _bent_group() -> Any:
    """Return the group that tells whether a joint is bent enough: before, joint, after, lengths → whether."""

    def fill(nodes: Nodes) -> None:
        before, joint, following = nodes.input("Before"), nodes.input("Joint"), nodes.input("After")
        first, second = nodes.inputs("Length", 2)
        line, offset = following - before, joint - before
        along, square = nodes.dot(offset, line), nodes.dot(line, line)
        # Square of its height over the line of its neighbours, against that of the shorter link.
        height = nodes.dot(offset, offset) - along * along / square
        shorter = nodes.vector('MINIMUM', first, second)
        nodes.output("Is bent", height > nodes.dot(shorter, shorter) * (LEAST_BEND / 3.0), "NodeSocketBool")

    return shared_group("FABRIK is it bent", fill)


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
            is_possible = (nodes.sqrt(farthest) > spread * 1e-6) & (cosine * cosine <= 1.0)
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
