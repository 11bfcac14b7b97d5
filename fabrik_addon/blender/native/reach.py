# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain of three links or more brought to its target, as nodes: what ``core.reach`` puts together.

The root is at the origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.closing import LEAST_BEND
from ...core.fabrik import PLAIN_SWEEPS
from .bow import bow_group
from .groups import shared_group
from .mixing import many_sweeps_group
from .nodes import Nodes, Value
from .passes import Joints, sweep_group

MOST_SWEEPS = 64

_BOW_STEPS = 12
"""Newton steps of a bow that nothing mends afterwards."""


@dataclass(frozen=True)
class Links:
    """The lengths of a chain as the nodes want them."""

    lengths: list[Value]
    """Each as a vector of three equal components."""
    total: Value
    middle: Value
    """Between the shortest and the longest reach."""
    spread: Value
    """Half of the difference between them."""


def links_inputs(nodes: Nodes, count: int) -> Links:
    """Add inputs for the lengths of a chain to a group."""
    return Links(
        lengths=nodes.inputs("Length", count),
        total=nodes.input("Chain length", "NodeSocketFloat"),
        middle=nodes.input("Middle reach", "NodeSocketFloat"),
        spread=nodes.input("Half of reach", "NodeSocketFloat"),
    )


def links_values(links: Links) -> list[Value]:
    """Return what those inputs take, in their order."""
    return [*links.lengths, links.total, links.middle, links.spread]


def reach_group(count: int) -> Any:
    """Return the group: target, joints, lengths, tolerance, sweeps, ... → joints, tip.

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
        with nodes.frame("Reach test"):
            distance = nodes.length(target)
            is_within = nodes.is_near(distance, links.middle, links.spread)
        swept, error = _sweeps(nodes, target, inner, links, tolerance, sweeps)
        with nodes.frame("Exact finish: bend the joint next to the tip"):
            closes, moved = close_at(nodes, swept[-3] if count > 2 else None, swept[-2], target, links.lengths[-2:])
        with nodes.frame("Exact finish elsewhere"):
            elsewhere = nodes.call(elsewhere_group(count), [target, *swept, error, tolerance, *links_values(links), side])
        with nodes.frame("Out of reach: straight"):
            straight = nodes.call(straight_group(count), [target, distance, *links_values(links)])
        with nodes.frame("On one line: bow"):
            bowed = nodes.call(laid_bow_group(count), [target, distance, *links_values(links), side])
        with nodes.frame("Which of them"):
            sweeping = nodes.switch(closes, 0, 1, 'INT')
            index = nodes.switch(is_within, nodes.switch(is_on_line, 3, sweeping, 'INT'), 2, 'INT')
            closed = [*swept[:-2], moved, target]
            joints = [nodes.choose(index, each) for each in zip(closed, elsewhere, straight, bowed, strict=True)]
        nodes.outputs("Joint", joints[:-1])
        nodes.output("Tip", joints[-1])

    return shared_group(f"FABRIK reach, {count} links", fill)


def _sweeps(
    nodes: Nodes, target: Value, inner: Joints, links: Links, tolerance: Value, sweeps: Value
) -> tuple[Joints, Value]:
    """Return the joints after as many sweeps as are needed, and the tip's distance from the target."""
    count = len(links.lengths)
    group = sweep_group(count)
    results: list[list[Value]] = []
    for number in range(PLAIN_SWEEPS):
        with nodes.frame(f"Sweep {number + 1}"):
            before = results[-1][: count - 1] if results else inner
            results.append(list(nodes.call(group, [target, *before, *links.lengths])))
    with nodes.frame("Further sweeps, mixed"):
        last = results[-1]
        found = nodes.call(
            many_sweeps_group(count, PLAIN_SWEEPS, MOST_SWEEPS),
            [target, *last[: count - 1], *links.lengths, tolerance, sweeps],
        )
        results.append(list(found))
    with nodes.frame("Stop when reached"):
        reached = nodes.first_true([result[-1] <= tolerance for result in results[:-1]])
        index = nodes.minimum_int(reached, nodes.subtract_int(sweeps, 1))
        kinds = ['VECTOR'] * count + ['FLOAT']
        *joints, error = [nodes.choose(index, each, kind) for each, kind in zip(zip(*results, strict=True), kinds)]
    return joints, error


def close_at(
    nodes: Nodes, before: Value, joint: Value, following: Value, lengths: list[Value]
) -> tuple[Value, Value]:
    """Return whether a joint can take up the gap, and where it is then: where both its links meet again.

    It stays in its own plane and on its own side (``core.closing``).

    Args:
        nodes: the tree.
        before: the joint before it; None is the root.
        joint: where it is.
        following: where the joint after it is to be.
        lengths: of the links before and after it.
    """
    line = following if before is None else following - before
    offset = joint if before is None else joint - before
    aside = offset - nodes.project(offset, line)
    first, second = (nodes.dot(length, (1.0 / 3.0,) * 3) for length in lengths)
    square, height_square = nodes.dot(line, line), nodes.dot(aside, aside)
    # Law of cosines: where the joint's foot is on the line of its neighbours, as a share of it.
    foot = nodes.multiply_add((first - second) * (first + second) / square, 0.5, 0.5)
    new_square = first * first - foot * foot * square
    share_square = new_square / height_square
    shorter = nodes.minimum(first, second)
    is_bent = height_square > shorter * shorter * LEAST_BEND
    moved = line * foot + aside * nodes.sqrt(share_square)
    return is_bent & (share_square > 0.25), moved if before is None else moved + before


def straight_group(count: int) -> Any:
    """Return the group of a chain whose target is out of reach: one line, with the longest link folded out if near."""

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        distance = nodes.input("Distance", "NodeSocketFloat")
        links = links_inputs(nodes, count)
        along = nodes.normalized(target)
        is_far = distance >= links.middle
        sizes = [nodes.length(length) for length in links.lengths]
        longest = sizes[0]
        for size in sizes[1:]:
            longest = nodes.maximum(longest, size)
        joints: Joints = []
        for length, size in zip(links.lengths, sizes, strict=True):
            step = along * nodes.switch(is_far | (size >= longest), length, length * -1.0)
            joints.append(joints[-1] + step if joints else step)
        nodes.outputs("Joint", joints[:-1])
        nodes.output("Tip", joints[-1])

    return shared_group(f"FABRIK straight, {count} links", fill)


def laid_bow_group(count: int) -> Any:
    """Return the group of a bow between root and target, bent to a side."""

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        distance = nodes.input("Distance", "NodeSocketFloat")
        links = links_inputs(nodes, count)
        side = nodes.input("Side")
        planar = nodes.call(bow_group(count), [distance, links.total, *links.lengths, _BOW_STEPS])
        frame = nodes.frame_of(target, side)
        joints = [nodes.rotated(joint, frame) for joint in planar[:-1]]
        nodes.outputs("Joint", joints)
        nodes.output("Tip", target)

    return shared_group(f"FABRIK bow to target, {count} links", fill)


def elsewhere_group(count: int) -> Any:
    """Return the group of the exact finish where the joint next to the tip can't make it.

    The nearest joint to the tip that is bent enough takes up the gap; where none is, one is bent and the chain turned
    about its root; where sweeps and that failed it is a bow.
    """

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        joints = [*nodes.inputs("Joint", count - 1), nodes.input("Tip")]
        error = nodes.input("Error", "NodeSocketFloat")
        tolerance = nodes.input("Tolerance", "NodeSocketFloat")
        links = links_inputs(nodes, count)
        side = nodes.input("Side")
        gap = target - joints[-1]
        tests = []
        for j in range(count - 3, -1, -1):
            with nodes.frame(f"Bend joint {j + 1}"):
                before = joints[j - 1] if j else None
                tests.append(close_at(nodes, before, joints[j], joints[j + 1] + gap, links.lengths[j : j + 2]))
        number = nodes.first_true([closes for closes, _ in tests])
        with nodes.frame("Shift what follows"):
            shifted = _shift_from(nodes, joints, gap, number, [moved for _, moved in tests])
        with nodes.frame("Bend and turn the chain"):
            turned = nodes.call(turn_group(count), [target, *joints])
        with nodes.frame("Bow"):
            distance = nodes.length(target)
            bowed = nodes.call(laid_bow_group(count), [target, distance, *links_values(links), side])
        with nodes.frame("Which of them"):
            is_open = nodes.distance(turned[-1], target) > tolerance
            index = nodes.switch(
                nodes.compare_int('LESS_THAN', number, len(tests)), 0, nodes.switch(is_open, 2, 1, 'INT'), 'INT'
            )
            results = [nodes.choose(index, each) for each in zip(shifted, turned, bowed, strict=True)]
        nodes.outputs("Joint", results[:-1])
        nodes.output("Tip", results[-1])
        del error

    return shared_group(f"FABRIK exact finish, {count} links", fill)


def _shift_from(nodes: Nodes, joints: Joints, gap: Value, number: Value, moved: list[Value]) -> Joints:
    """Return the joints with the one that was chosen moved and those after it shifted.

    Args:
        nodes: the tree.
        joints: after the root.
        gap: from the tip to the target.
        number: of the chosen joint, counted from the last but two toward the root.
        moved: where those joints would be.
    """
    chosen = nodes.choose(number, moved) if len(moved) > 1 else moved[0]
    found: Joints = []
    for j, joint in enumerate(joints):
        own = len(joints) - 3 - j
        if own < 0:
            found.append(joint + gap)
        else:
            place = nodes.clamped_int(nodes.subtract_int(number, own - 1), 0, 2)
            found.append(nodes.choose(place, [joint, chosen, joint + gap]))
    return found


def turn_group(count: int) -> Any:
    """Return the group that bends one joint and turns the chain about its root: target, joints, tip → joints, tip.

    The joint is the one farthest from the line root-tip; where that can't be done everything stays.
    """

    def fill(nodes: Nodes) -> None:
        target = nodes.input("Target")
        inner = nodes.inputs("Joint", count - 1)
        tip = nodes.input("Tip")
        with nodes.frame("Joint farthest from the line root-tip"):
            bend, chosen, farthest = inner[0], 0, None
            for j, joint in enumerate(inner):
                across = nodes.cross(joint, tip)
                offset = nodes.dot(across, across)
                if farthest is None:
                    farthest = offset
                    continue
                is_farther = offset > farthest
                bend = nodes.switch(is_farther, joint, bend)
                chosen = nodes.switch(is_farther, j, chosen, 'INT')
                farthest = nodes.maximum(offset, farthest)
        with nodes.frame("Bend until the tip is as far as the target"):
            arm = tip - bend
            bend_square, arm_square = nodes.dot(bend, bend), nodes.dot(arm, arm)
            spread = nodes.sqrt(bend_square * arm_square)
            cosine = (nodes.dot(target, target) - bend_square - arm_square) / (2.0 * spread)
            sine = nodes.sqrt(1.0 - cosine * cosine)
            is_possible = (nodes.sqrt(farthest) > 1e-6 * spread) & (cosine * cosine <= 1.0)
            axis = nodes.normalized(nodes.cross(bend, tip))
            share = nodes.sqrt(arm_square / bend_square)
            turned = bend * (share * cosine) + nodes.cross(axis, bend) * (share * sine)
            second = nodes.turn_of(arm, turned)
        with nodes.frame("Turn about the root"):
            first = nodes.turn_of(bend + turned, target)
            results = []
            for j, joint in enumerate([*inner, tip]):
                is_after = nodes.compare_int('LESS_THAN', chosen, j)
                bent = nodes.switch(is_after, bend + nodes.rotated(joint - bend, second), joint)
                results.append(nodes.switch(is_possible, nodes.rotated(bent, first), joint))
        nodes.outputs("Joint", results[:-1])
        nodes.output("Tip", results[-1])

    return shared_group(f"FABRIK bend and turn, {count} links", fill)
