# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Solve the frames of a body whose pinned handles follow objects, or whose head looks at one.

Each frame is solved with the pose that the animation has there as the reference pose, from the solution of the frame
before, with a bound of how far bones rotate between the two. Nothing is written.

Without the bound knees rotated by 38 degrees from one of 41 frames to the next where both hands are led far forward,
4.2 times the median frame's largest rotation; with it by 21, 2.4 times. Of 20 seeded closed paths of one to three
handles, within and beyond reach, 14 had a frame with more than 3 times the median, up to 10.8 times and 53 degrees;
with it 8 have, up to 7.2 times and 27 degrees, mostly where a handle is led out of reach (the bench row
"bake-following" has other paths). Pins are met as without a bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...core import Status
from ...core.math.quaternion_arrays import largest_angle
from ..animation.evaluated_frames import frame_in_errors
from ..bodies.body_snapshots import take_body
from ..bodies.handles import following_objects
from ..rig.body_properties import body_of
from ..rig.targets_and_poles import check_evaluated
from ..solving.corrected_goals import (
    CORRECTED,
    MOST_CORRECTIONS,
    corrected_goals,
    deviations_of,
    largest_difference,
    sheared_deviations,
)
from ..solving.rotation_rate import RotationRate
from ..solving.solve_body import body_group, eyes_of_solution
from ..solving.solve_chains import solve_group
from .group_track import ChannelKey, UnreachedFrame

if TYPE_CHECKING:
    from ...core.math.quaternions import Quaternion as Components4
    from ..animation.evaluated_frames import Frames
    from ..animation.frame_range import FrameRange
    from ..solving.chain_groups import Group
    from ..solving.solve_chain_bones import SolvedChain

OVER_ANGLE, LEAST_BOUND = 2.5, math.radians(2.0)
"""Bound of the largest rotation of a bone from a frame to the next, beside that by the distance of the goals
(``RotationRate``): over the largest rotation of a goal or of the animation's own pose, and at least."""

NO_DISTANCE = 1e-5
"""Distance of the goals, in units of the body's tree, that is rounding. Objects that turn where they are rotate bones
over such distances: counted in, they left the next frames without a bound."""

CLOSED = math.radians(0.1)
"""Rotation of a bone at the last frame that bounds held back, above which the frames before lead to its pose."""


class SolvedBodyFrame(NamedTuple):
    """A solved frame."""

    channels: dict[ChannelKey, tuple[float, ...]]
    bones: tuple[str, ...]
    """Names of the bones of the tree: locks, which may be keyed, take bones out of it."""
    frames: Sequence[Components4]
    """Frames of the bones in the solution."""
    solved: tuple[SolvedChain, ...]
    """Where the next solve starts; none of frames from which none starts any more: they take 0.2 MB each."""
    reference: Sequence[Components4]
    """Frames of the bones in the animation's own pose; none likewise."""
    bound: float
    """Of the largest rotation (radians) of a bone since the frame from which the solve started."""
    rate: RotationRate
    """Of the frames solved before, one from another."""
    unreached: UnreachedFrame | None
    """Where a handle isn't at its object."""
    length: float
    """Of the longest chain, in armature space."""
    is_deviating: bool
    """Whether constraints or drivers act on the bones after their channels, or bones are sheared."""

    def without_start(self) -> SolvedBodyFrame:
        """Return the frame without what the next solve needs."""
        return self._replace(solved=(), reference=())

    def is_before(self, group: Group) -> bool:
        """Tell whether the solve of a group can start from here: whether its tree is of the same chains and bones."""
        if self.bones != group.body_tree.bones.tree.names:
            return False
        return [one.snapshot.name for one in self.solved] == [snapshot.name for snapshot in group.snapshots]


def solved_body_frames(work: FrameRange, at: Frames) -> list[SolvedBodyFrame | None]:
    """READ and solve the frames of a range; None are those at which nothing is followed.

    Raises:
        FabrikError: the body can't be solved at some frame.
    """
    found: list[SolvedBodyFrame | None] = []
    for number in range(len(work.frames)):
        found.append(_solved(work, at, number, found[-1] if found else None))
        passed = found[number - 2] if number > 1 else None
        if passed is not None:
            found[number - 2] = passed.without_start()
    _lead_to_end(work, at, found)
    return found


def _solved(
    work: FrameRange, at: Frames, number: int, before: SolvedBodyFrame | None, is_bounded: bool = True
) -> SolvedBodyFrame | None:
    """READ and solve a frame; return None where nothing is followed.

    Args:
        number: of the frame.
        before: the frame from which the solve starts, unless pins make it a tree of others.
        is_bounded: whether bones have a largest rotation from there.
    """
    frame = work.frames[number]
    at.go_to(frame)
    with frame_in_errors(frame):
        armature = at.evaluated(work.armature)
        names = following_objects(armature)
        if not (names or body_of(armature).use_look_at):
            return None
        check_evaluated(at.view_layer, armature, f"'{armature.name}'")
        read = take_body(work.view_layer, armature)
        group = body_group(armature, read)
        if before is not None and not before.is_before(group):
            before = None
        if before is not None and is_bounded and read.look is None:  # a head turns to its point at once
            group = _bounded(group, before)
        # Nothing is written before the end: what constraints add is that in the animation's own pose.
        constrained = deviations = deviations_of(group, None)
        chains = () if before is None else before.solved
        found, least = chains, math.inf
        for _ in range(MOST_CORRECTIONS):
            found = solve_group(group, corrected_goals(group, {}, deviations), found)
            passed, deviations = deviations, sheared_deviations(group, found, constrained)
            difference = largest_difference(group, deviations, passed)  # which is how far ends are from their targets
            if difference < least:
                chains, least = found, difference
            if difference <= CORRECTED:
                break
        eyes = eyes_of_solution(read, group, chains)
    channels: dict[ChannelKey, tuple[float, ...]] = {
        (root.name, "location"): root.location[:] for root in group.moving_roots
    }
    for bone, (name, values) in [setting for chain in chains for setting in chain.settings] + eyes:
        assert not isinstance(values, str)  # a body's bones don't stretch
        channels[bone.name, name] = values
    off = [one for one in chains if one.snapshot.name in names and one.status is not Status.REACHED]
    worst = max(off, key=lambda one: one.error, default=None)
    unreached = None if worst is None else UnreachedFrame(frame, worst.status.name, worst.error)
    tree, solution = group.body_tree, chains[0].solution
    assert solution is not None  # of a tree
    rate = RotationRate() if before is None else before.rate
    if before is not None:
        # Where a pin is met exactly bones may rotate by more than the bound: that doesn't widen the next ones.
        rate.add(min(tree.options.most_turn, largest_angle(before.frames, solution.frames)))
    return SolvedBodyFrame(
        channels=channels,
        bones=tree.bones.tree.names,
        frames=solution.frames,
        solved=chains,
        reference=tree.start.frames,
        bound=tree.options.most_turn,
        rate=rate,
        unreached=unreached,
        length=max(snapshot.posed.total_length for snapshot in group.snapshots),
        is_deviating=not tree.bones.is_rigid or any(one.overridden or one.carried for one in group.snapshots),
    )


def unreached_frames(work: FrameRange, at: Frames) -> tuple[list[UnreachedFrame], list[str]]:
    """READ: at which frames the pose that is shown has a handle away from its object.

    Returns:
        the frames, each with its largest error, and what overrides the bones of these handles' chains.
    """
    found, overridden = [], set()
    for frame in work.frames:
        at.go_to(frame)
        armature = at.evaluated(work.armature)
        names = following_objects(armature)
        with frame_in_errors(frame):
            snapshots = take_body(work.view_layer, armature).snapshots if names else ()
        largest = 0.0
        for one in snapshots:
            if one.name in names and one.has_position:
                error = math.dist(one.bones.end_position[:], one.goals.targets[0]) / one.posed.total_length
                if error > one.options.tolerance:
                    largest = max(largest, error)
                    overridden |= {*one.overridden, *one.carried}
        if largest:
            found.append(UnreachedFrame(frame, Status.LIMITED.name, largest))
    return found, sorted(overridden)


def _lead_to_end(work: FrameRange, at: Frames, found: list[SolvedBodyFrame | None]) -> None:
    """Replace frames before the last one where bounds held that back, so that the range ends as without bounds.

    They are solved from the last frame back, within bounds, until a frame is near the one that was found from
    before. So a closed path of the objects closes the body's pose too.
    """
    last, then = len(found) - 1, found[-1]
    if then is None or math.isinf(then.bound):  # nothing is followed, or nothing held it back
        return
    end = _solved(work, at, last, found[last - 1], is_bounded=False)
    assert end is not None  # something is followed
    if largest_angle(then.frames, end.frames) <= CLOSED:
        return
    found[last] = end._replace(rate=RotationRate())
    for number in range(last - 1, 0, -1):
        now, after = found[number], found[number + 1]
        assert after is not None  # it has just been found
        led = _solved(work, at, number, after)
        if now is None or led is None or math.isinf(led.bound):  # of a tree of other chains, or after a far move
            return
        if largest_angle(now.frames, after.frames) <= led.bound:
            return
        found[number] = led
        found[number + 1] = after.without_start()


def _bounded(group: Group, before: SolvedBodyFrame) -> Group:
    """Return the group to solve, with bounds of the largest rotation of a bone since a frame that was solved."""
    tree = group.body_tree
    pairs = [(one.snapshot.goals, now.goals) for one, now in zip(before.solved, group.snapshots, strict=True)]
    distance = max(float(np.linalg.norm(now.targets - old.targets)) for old, now in pairs) / tree.start.unit
    if distance < NO_DISTANCE:
        distance = 0.0
    angles = [largest_angle(before.reference, tree.start.frames)]
    for old, now in pairs:
        if old.rotations is not None and now.rotations is not None:
            angles.append(largest_angle(old.rotations, now.rotations))
    least = max(LEAST_BOUND, OVER_ANGLE * max(angles))
    within, beyond = (max(least, bound) for bound in before.rate.bounds(distance))
    return replace(group, tree=replace(tree, options=replace(tree.options, most_turn=within, most_turn_beyond=beyond)))
