# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several targets at once: made trees and Rigify's human, in the core and in Blender, beside Blender's own IK."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import bpy
import numpy as np
from bpy.types import Object
from mathutils import Quaternion, Vector

from fabrik_addon.blender.rig.properties import FabrikChain, settings_of
from fabrik_addon.blender.solving.chain_groups import take_groups
from fabrik_addon.blender.solving.solve_chains import solve_chains, solve_group
from fabrik_addon.blender.solving.write_channels import write_channels
from fabrik_addon.core import Chain, Goals, Options, Pose, Status, plain_chain, solve, solve_tree_components, start_tree

from .blender_chain import add_metarig, make_empty, new_scene, register, rest, view_layer
from .problems import Array, Effort, generator
from .report import Row, Table, median_p95, microseconds, spread
from .tree_problems import Bones, hand_bones, tree_of, turned_tips, y_bones

SETS = (("Y, 10 bones, 2 effectors", y_bones(), 0.8), ("hand, 26 bones, 5 effectors", hand_bones(), 0.8))
"""Name, bones, and the angle (radians) by which every bone is rotated at most to make targets."""

MOST_MICROSECONDS = (600.0, 800.0)
"""Median of a solve of each of ``SETS``."""

MOST_BEYOND = (2000.0, 3000.0)
"""The same with one target out of reach."""

HUMAN_CHAINS = (
    ("left hand", "forearm.L", 0),
    ("right hand", "forearm.R", 0),
    ("left foot", "shin.L", 2),
    ("right foot", "shin.R", 2),
    ("head", "spine.006", 0),
)

HUMAN_JOINTS = {
    'ELBOW': ("forearm.L", "forearm.R"),
    'KNEE': ("shin.L", "shin.R"),
    'SHOULDER': ("upper_arm.L", "upper_arm.R"),
    'HIP': ("thigh.L", "thigh.R"),
    'NECK': ("spine.001", "spine.002", "spine.003", "spine.004", "spine.005", "spine.006", "shoulder.L", "shoulder.R"),
}

SHARE = 0.6
"""Part of each joint's range that feasible poses use."""


def tree_tables(effort: Effort) -> list[Table]:
    """Everything about several targets."""
    return [
        _reach_table(effort),
        _time_table(effort),
        _human_table(effort),
        _pole_table(effort),
        _unreachable_table(effort),
        _loop_table(effort),
        _order_table(effort),
    ]


# In the core


def _targets(name: str, chain: Chain, pose: Pose, most: float, count: int) -> list[Array]:
    rng = generator("tree", name)
    return [turned_tips(rng, chain, pose, most) for _ in range(count)]


def _position_errors(chain: Chain, positions: Array, targets: Array) -> Array:
    """Return distances (E,) from effectors to targets, over the length of all links together."""
    found: Array = np.linalg.norm(positions[chain.tips] - targets, axis=-1) / chain.lengths.sum()
    return found


def _reach_table(effort: Effort) -> Table:
    rows, measured = [], []
    for name, bones, most in SETS:
        chain, pose = tree_of(bones)
        targets = _targets(name, chain, pose, most, effort.targets)
        solve(chain, pose, Goals(targets[0]))
        worst, times, said = [], [], []
        for target in targets:
            begin = time.perf_counter()
            solution = solve(chain, pose, Goals(target))
            times.append(time.perf_counter() - begin)
            worst.append(float(_position_errors(chain, solution.pose.positions, target).max()))
            said.append(bool((solution.status == Status.REACHED).all()))
        hits = int(np.sum((np.array(worst) <= 1e-4) & np.array(said)))
        own = _own_position_errors(bones, chain, targets)
        own_hits = int(np.sum(own <= 1e-3))
        reached, own_reached = f"{hits}/{len(targets)}", f"{own_hits}/{len(targets)}"
        row = (name, reached, max(worst), microseconds(times), own_reached, float(own.max()))
        rows.append(Row(row, hits == len(targets)))
        measured.append(f"{reached} ({name.partition(',')[0]})")
    return Table(
        title="Several targets",
        must="all reached at 1e-4 of the length of all bones together",
        measured=", ".join(measured),
        columns=("tree", "reached", "worst error", "µs median / p95", "Blender's own, at 1e-3", "its worst error"),
        rows=tuple(rows),
        note="Targets by forward kinematics: every bone rotated by up to 46 degrees about a random axis. In the core; "
        "Blender's own IK constraints, one for each effector, on the same bones.",
    )


def _unreachable_table(effort: Effort) -> Table:
    rows, all_kept, said = [], True, []
    for (name, bones, most), least in zip(SETS, MOST_BEYOND, strict=True):
        chain, pose = tree_of(bones)
        start = start_tree(chain, pose)
        kept, worst, times = 0, 0.0, []
        targets = _targets(name, chain, pose, most, effort.targets)
        for number, reachable in enumerate(targets):
            which = number % len(chain.tips)
            target = reachable.copy()
            away = target[which] - pose.positions[0]
            reach = start.unit * start.length(0, int(chain.tips[which]))
            target[which] = pose.positions[0] + 1.3 * reach * away / np.linalg.norm(away)
            begin = time.perf_counter()
            found = solve_tree_components(start, Goals(target), Options())
            times.append(time.perf_counter() - begin)
            others = np.delete(_position_errors(chain, np.array(found.points), target), which)
            kept += bool((others <= 1e-4).all() and found.status[which] == Status.OUT_OF_REACH)
            worst = max(worst, float(others.max()))
        all_kept &= kept == len(targets)
        median = 1e6 * spread(times)[0]
        said.append(f"{median:.0f} µs ({name.partition(',')[0]})")
        cells = (name, f"{kept}/{len(targets)}", worst, microseconds(times), f"{least:.0f}")
        rows.append(Row(cells, kept == len(targets) and median <= least))
    return Table(
        title="Several targets of which one is out of reach",
        must="the others are met at 1e-4 of the length of all bones together; a solve takes at most 2 ms (Y) and 3 ms "
        "(hand), median",
        measured=f"{'all' if all_kept else 'not all'} met, {', '.join(said)}",
        columns=("tree", "others met", "their worst error", "µs median / p95", "median must be at most, µs"),
        rows=tuple(rows),
        note="One target after another moved to 1.3 times what the links reach.",
    )


def _loop_table(effort: Effort) -> Table:
    rows, worst = [], 0.0
    for met in (0, 3, 6):
        rng = generator("ring", met)
        position_errors, times = [], []
        for _ in range(effort.targets):
            bends = rng.uniform(0.1, 0.5, 12)
            angles = np.cumsum(bends)
            links = np.stack([np.cos(angles), np.sin(angles), rng.uniform(-0.2, 0.2, 12)], axis=1)
            positions = np.vstack([np.zeros(3), np.cumsum(links, axis=0)])
            chain = plain_chain(np.linalg.norm(links, axis=1))
            pose = Pose(positions, np.tile([1.0, 0.0, 0.0, 0.0], (13, 1)))
            begin = time.perf_counter()
            solution = solve(chain, pose, Goals(positions[met][None], meets=np.array([met])))
            times.append(time.perf_counter() - begin)
            ends = solution.pose.positions[[-1, met]]
            position_errors.append(float(np.linalg.norm(ends[0] - ends[1])) / chain.total_length)
        name = "its own root" if met == 0 else f"the joint {met} links from its root"
        rows.append(Row((name, max(position_errors), microseconds(times)), max(position_errors) <= 1e-4))
        worst = max(worst, *position_errors)
    return Table(
        title="A chain of 12 links closed on itself",
        must="the position error is at most 1e-4 of the chain's length",
        measured=f"{worst:.1g} at most",
        columns=("closed on", "largest position error", "µs median / p95"),
        rows=tuple(rows),
    )


# In Blender


def _make_tree(bones: Bones) -> Object:
    """Return an armature object at the origin with the bones, none of them connected."""
    assert bpy.context.scene is not None
    armature = bpy.data.armatures.new("tree")
    obj = bpy.data.objects.new("tree", armature)
    bpy.context.scene.collection.objects.link(obj)
    view_layer().objects.active = obj
    bpy.ops.object.mode_set(mode='EDIT')
    for name, head, tail, parent in zip(bones.names, bones.heads, bones.tails, bones.parents, strict=True):
        bone = armature.edit_bones.new(name)
        bone.head, bone.tail = head, tail
        bone.parent = armature.edit_bones[parent] if parent else None
    bpy.ops.object.mode_set(mode='OBJECT')
    return obj


def _add_chains(obj: Object, chains: Sequence[tuple[str, str, int]]) -> list[FabrikChain]:
    """Add chains with targets, given by name, tip and count; return their settings."""
    for name, tip, chain_count in chains:
        chain = settings_of(obj).chains.add()
        chain.name, chain.tip, chain.chain_count, chain.target = name, tip, chain_count, make_empty(name)
    return list(settings_of(obj).chains)  # those that add() returned may have moved since


def _constrain(obj: Object, tip: str, chain_count: int = 0) -> Any:
    # Any: the stubs give a bone's constraints no attributes of their subtypes.
    constraint = obj.pose.bones[tip].constraints.new('IK')
    constraint.target, constraint.chain_count = make_empty(tip), chain_count
    return constraint


def _own_position_errors(bones: Bones, chain: Chain, targets: Sequence[Array]) -> Array:
    """Return the farthest effector's distance (N,) from its target with Blender's own IK."""
    new_scene()
    obj = _make_tree(bones)
    constraints = [_constrain(obj, tip) for tip in bones.tips]
    worst = []
    for target in targets:
        for constraint, place in zip(constraints, target, strict=True):
            constraint.target.location = place
        view_layer().update()
        ends = np.array([obj.pose.bones[tip].tail for tip in bones.tips])
        worst.append(float(np.linalg.norm(ends - target, axis=1).max()) / float(chain.lengths.sum()))
    return np.array(worst)


def _time_table(effort: Effort) -> Table:
    register()
    rows, said = [], []
    for (name, bones, most), least in zip(SETS, MOST_MICROSECONDS, strict=True):
        new_scene()
        ours, own = _make_tree(bones), _make_tree(bones)
        chains = _add_chains(ours, [(tip, tip, 0) for tip in bones.tips])
        constraints = [_constrain(own, tip) for tip in bones.tips]
        view_layer().update()
        (group,) = take_groups(view_layer(), ours, chains)
        assert group.tree is not None
        chain, pose = tree_of(bones)
        targets = _targets(name, chain, pose, most, effort.targets)
        cores, drags, others = [], [], []
        for target in [*targets[:5], *targets]:
            begin = time.perf_counter()
            solve_tree_components(group.tree.start, Goals(target), Options())
            cores.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            for fabrik_chain, place in zip(chains, target, strict=True):
                fabrik_chain.target.location = place
            goals = {c.name: Goals(place[None]) for c, place in zip(chains, target, strict=True)}
            for solved in solve_group(group, goals):
                write_channels(solved.settings)
            view_layer().update()
            drags.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            for constraint, place in zip(constraints, target, strict=True):
                constraint.target.location = place
            view_layer().update()
            others.append(time.perf_counter() - begin)
        median = 1e6 * spread(cores[5:])[0]
        said.append(f"{median:.0f} µs ({name.partition(',')[0]})")
        cells = (name, microseconds(cores[5:]), f"{least:.0f}", microseconds(drags[5:]), microseconds(others[5:]))
        rows.append(Row(cells, median <= least))
    return Table(
        title="Several targets, time",
        must="a solve takes at most 600 µs (Y) and 800 µs (hand), median",
        measured=", ".join(said),
        columns=(
            "tree",
            "solve, µs median / p95",
            "median must be at most, µs",
            "drag: solve, write, update",
            "Blender's own: update",
        ),
        rows=tuple(rows),
        note="In one scene, taking turns; each update evaluates both armatures, so the last two columns hold both.",
    )


def posable_human(with_limits: bool) -> Object:
    """Return Rigify's human metarig in Pose mode, in a scene of its own, with the limits of usual joints or without."""
    register()
    new_scene()
    obj = add_metarig("human")
    bpy.ops.object.mode_set(mode='POSE')
    for joint, names in HUMAN_JOINTS.items() if with_limits else ():
        for bone in obj.pose.bones:
            bone.select = bone.name in names
        bpy.ops.pose.fabrik_limits_set(joint=joint)  # type: ignore[attr-defined]
    return obj


def _take_feasible_pose(obj: Object, rng: np.random.Generator, chains: Sequence[FabrikChain]) -> None:
    """Turn the chains' bones at random, inside their limits, and update."""
    turned: set[str] = set()
    for chain in chains:
        bones = [obj.pose.bones[chain.tip], *obj.pose.bones[chain.tip].parent_recursive]
        turned.update(bone.name for bone in bones[: chain.chain_count or None])
    for name in sorted(turned):
        bone = obj.pose.bones[name]
        angles = []
        for axis in "xyz":
            low, high = getattr(bone, f"ik_min_{axis}"), getattr(bone, f"ik_max_{axis}")
            if getattr(bone, f"lock_ik_{axis}"):
                low = high = 0.0
            elif not getattr(bone, f"use_ik_limit_{axis}"):
                low, high = -0.3, 0.3
            angles.append(SHARE * rng.uniform(low, high))
        # A swing after a twist, each well inside: that is what the limits speak of.
        twist = Quaternion((0.0, 1.0, 0.0), angles[1])
        swing = Vector((0.7 * angles[0], 0.0, 0.7 * angles[2])) if angles[0] and angles[2] else Vector()
        if not swing.length:
            swing = Vector((angles[0], 0.0, angles[2]))
        about = swing.normalized() if swing.length else Vector((1.0, 0.0, 0.0))
        bone.rotation_mode = 'QUATERNION'
        bone.rotation_quaternion = Quaternion(about, swing.length) @ twist
    view_layer().update()


def _human_table(effort: Effort) -> Table:
    rows = [_human_reach_row(effort, with_limits) for with_limits in (False, True)]
    pins, moved = _human_pin_row(effort)
    rows.append(pins)
    return Table(
        title="Rigify's human from five targets: hands, feet and head",
        must="root fixed: all reached at 1e-3 for targets of feasible poses; root moving, feet pinned, a hand pulled: "
        "the pins move by at most 1e-4",
        measured=f"{rows[0].cells[1]} free, {rows[1].cells[1]} within limits; pins moved by {moved:.1g}",
        columns=("what", "reached", "worst error, or how far a pin moved", "ms median / p95 of one press of Solve"),
        rows=tuple(rows),
        note="Errors over the length of all the chains' bones. In feasible poses every bone of the chains is rotated "
        f"at random within {100 * SHARE:.0f} % of its joint's usual limits.",
    )


def _human_reach_row(effort: Effort, with_limits: bool) -> Row:
    obj = posable_human(with_limits=True)
    chains = _add_chains(obj, HUMAN_CHAINS)
    for chain in chains:
        chain.use_limits = with_limits
    rng = generator("human", with_limits)
    length = _length(obj, chains)
    errors, times = [], []
    for _ in range(effort.targets):
        _take_feasible_pose(obj, rng, chains)
        for chain in chains:
            chain.target.location = obj.matrix_world @ obj.pose.bones[chain.tip].tail
        rest(obj)
        view_layer().update()
        begin = time.perf_counter()
        solve_chains(view_layer(), obj, chains)
        times.append(1e3 * (time.perf_counter() - begin))
        position_errors = [obj.pose.bones[chain.tip].tail - chain.target.location for chain in chains]
        errors.append(max(error.length for error in position_errors) / length)
    hits = int(np.sum(np.array(errors) <= 1e-3))
    name = "root fixed, within limits" if with_limits else "root fixed, limits not looked at"
    return Row((name, f"{hits}/{len(errors)}", max(errors), median_p95(times)), hits == len(errors))


def _human_pin_row(effort: Effort) -> tuple[Row, float]:
    obj = posable_human(with_limits=False)
    chains = _add_chains(obj, HUMAN_CHAINS)
    for chain in chains:
        if chain.name != "left hand":
            chain.use_pin = chain.name.endswith("foot")
            chain.enabled = chain.use_pin
    hand = chains[0]
    hand.root_motion = 'TRANSLATE'
    used = [chain for chain in chains if chain.enabled]
    rng = generator("human pins")
    moved, times, reached = 0.0, [], 0
    for _ in range(effort.targets):
        rest(obj)
        obj.pose.bones["spine"].location = (0.0, 0.0, 0.0)
        view_layer().update()
        feet = [obj.pose.bones[chain.tip].tail.copy() for chain in used[1:]]
        tip = obj.pose.bones[hand.tip].tail.copy()
        hand.target.location = tip + Vector(rng.uniform((-0.9, -0.8, -0.9), (0.3, 0.3, 0.3)).tolist())
        begin = time.perf_counter()
        solve_chains(view_layer(), obj, used)
        times.append(1e3 * (time.perf_counter() - begin))
        now = [obj.pose.bones[chain.tip].tail for chain in used[1:]]
        moved = max(moved, *((a - b).length for a, b in zip(now, feet, strict=True)))
        reached += hand.status == 'REACHED'
    moved /= _length(obj, used)
    cells = ("root moving, feet pinned, left hand pulled", f"{reached}/{effort.targets}", moved, median_p95(times))
    return Row(cells, moved <= 1e-4), moved


def _length(obj: Object, chains: Sequence[FabrikChain]) -> float:
    names: set[str] = set()
    for chain in chains:
        bones = [obj.pose.bones[chain.tip], *obj.pose.bones[chain.tip].parent_recursive]
        names.update(bone.name for bone in bones[: chain.chain_count or None])
    return float(sum((obj.data.bones[name].length for name in names), 0.0))


def _pole_table(effort: Effort) -> Table:
    """Arms of two bones on a trunk, poles in random directions."""
    register()
    good, own_good, total, reached = 0, 0, 0, 0
    rng = generator("tree poles")
    for _ in range(effort.targets):
        new_scene()
        bones = y_bones()
        names = [name for name in bones.names if not name.startswith("arm2")]
        keep = [bones.names.index(name) for name in names]
        parents = tuple(bones.parents[i] for i in keep)
        short = replace(bones, names=tuple(names), heads=bones.heads[keep], tails=bones.tails[keep], parents=parents)
        ours, own = _make_tree(short), _make_tree(short)
        tips = [("arm1.L", 2), ("arm1.R", 2), ("trunk3", 4)]
        chains = _add_chains(ours, [(tip, tip, count) for tip, count in tips])
        constraints = [_constrain(own, tip, count) for tip, count in tips]
        for bone in ours.pose.bones:
            bone.rotation_quaternion = Quaternion(rng.normal(size=3).tolist(), rng.uniform(0.3, 0.9))
        view_layer().update()
        for chain, constraint in zip(chains, constraints, strict=True):
            constraint.target = chain.target
            chain.target.location = ours.pose.bones[chain.tip].tail
        rest(ours)
        poles = []
        for side, chain, constraint in zip("LR", chains, constraints, strict=False):
            chain.pole_target = constraint.pole_target = make_empty(f"pole {side}")
            away = Vector(rng.normal(size=3).tolist()).normalized()
            chain.pole_target.location = ours.pose.bones[f"arm0.{side}"].head + away
            poles.append(chain.pole_target)
        view_layer().update()
        solve_chains(view_layer(), ours, chains)
        reached += all(chain.status == 'REACHED' for chain in chains)
        for side, pole in zip("LR", poles, strict=True):
            total += 1
            good += _bends_to(ours, side, pole)
            own_good += _bends_to(own, side, pole)
    ok = good == total and reached == effort.targets
    return Table(
        title="Poles in a tree",
        must="every arm bends on its pole's side, and all targets are reached",
        measured=f"{good}/{total}",
        columns=("solver", "bends on the pole's side", "trees with all targets reached"),
        rows=(
            Row(("ours", f"{good}/{total}", f"{reached}/{effort.targets}"), ok),
            Row(("Blender's own, pole angle 0", f"{own_good}/{total}", "")),
        ),
        note="A trunk of four bones with two arms of two, a target for each of the three, a pole for each arm.",
    )


def _bends_to(obj: Object, side: str, pole: Object) -> bool:
    upper, lower = obj.pose.bones[f"arm0.{side}"], obj.pose.bones[f"arm1.{side}"]
    along = (lower.tail - upper.head).normalized()
    bend, desired = lower.head - upper.head, pole.location - upper.head
    bend, desired = bend - along * bend.dot(along), desired - along * desired.dot(along)
    return bool(bend.dot(desired) > 0.0)


def _order_table(effort: Effort) -> Table:
    register()
    rng = generator("tree order")
    bones = hand_bones()
    worst = 0.0
    chain, pose = tree_of(bones)
    for target in _targets("order", chain, pose, 0.8, max(5, effort.targets // 10)):
        found = []
        for _ in range(3):
            new_scene()
            obj = _make_tree(bones)
            order = rng.permutation(len(bones.tips)).tolist()
            for i, added in zip(
                order, _add_chains(obj, [(bones.tips[i], bones.tips[i], 0) for i in order]), strict=True
            ):
                added.target.location = target[i]
            solve_chains(view_layer(), obj, list(settings_of(obj).chains))
            found.append(np.array([bone.matrix for bone in obj.pose.bones]))
        worst = max(worst, *(float(np.abs(other - found[0]).max()) for other in found[1:]))
    return Table(
        title="Shuffling the list of chains",
        must="the same pose to 1e-9",
        measured=f"{worst:.1g}",
        columns=("tree", "largest difference of a bone's matrix"),
        rows=(Row(("hand, 26 bones, 5 effectors", worst), worst <= 1e-9),),
    )
