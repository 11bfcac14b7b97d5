# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fit the model by which the elbows of a body turn to captured motions, as the numbers in the code were fitted.

``python3 scripts/fit_elbows.py Boxing_Toes.bvh 01_03.bvh --held-out 01_01.bvh`` repeats that fit: pybullet's motions
are fetched, the three files are those of Debian's package assimp-testmodels 5.2.5. Prints the numbers beside those of
``fabrik_addon/core/body/arm_swivel.py``, and how far elbows of each motion are from where the model has them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import environment

if __name__ == "__main__":
    environment.enter()

sys.path.insert(0, str(environment.ROOT))
import numpy as np

from benchmark.body_reconstruction_rows import MOTION, Motion
from benchmark.clips import pybullet_clips
from benchmark.problems import Array
from fabrik_addon.core.body.arm_swivel import SWIVEL_MODEL

MOST_POSES, MOST_ARMS = 150, 100
"""Of more poses of a motion each second is taken, or each third, and so on; of these arms in the fit too."""

MOST_BEND = 0.25
"""Largest weight of an arm: the weight is the distance of the elbow from the line to the hand over the arm's length."""

START = (0.3, 0.5, -0.8)
"""Of a, with B = 0: outward, backward and down."""

UNCERTAIN = 0.05
"""Added to the length of a direction of the model in the fit: without it the residual jumps where that length is 0."""

STEPS = 60


@dataclass(frozen=True)
class Arms:
    """The arms of one motion, seen from the chest: outward, backward, upward."""

    hands: Array
    """(A, 3) n, the directions from shoulder to wrist."""
    elbows: Array
    """(A, 3) directions of the elbow, across n."""
    weights: Array
    """(A,)"""

    def of_the_fit(self) -> Arms:
        """Return about ``MOST_ARMS`` of the arms, whose weights have the mean they had over their number."""
        kept = slice(None, None, max(1, len(self.weights) // MOST_ARMS))
        weights = self.weights[kept]
        return Arms(self.hands[kept], self.elbows[kept], weights / len(weights))


def arms_of(path: Path, sides_apart: bool) -> Arms:
    """Return the arms of a motion: the right ones and then the left ones, or left and right of each pose."""
    motion = Motion(path)
    chest = next(bone for bone, role in motion.roles.items() if role == 'CHEST')
    rest = np.array(motion.rig.data.bones[chest].matrix_local.to_3x3())
    found = []
    for pose in motion.poses[:: max(1, len(motion.poses) // MOST_POSES)]:
        seen = np.array(pose.matrices[chest].to_3x3()) @ rest.T
        for side, outward in (("L", 1.0), ("R", -1.0)):
            forearm = motion.bone_of(f"Elbow.{side}")
            bones = motion.rig.data.bones[forearm].parent.name, forearm, motion.bone_of(f"Hand.{side}")
            found.append(np.array([pose.head(bone)[:] for bone in bones]) @ seen * (outward, 1.0, 1.0))
    joints = np.array(found)
    if sides_apart:
        joints = np.concatenate([joints[1::2], joints[::2]])
    upper, lower = joints[:, 1] - joints[:, 0], joints[:, 2] - joints[:, 1]
    lengths = np.linalg.norm(upper, axis=1) + np.linalg.norm(lower, axis=1)
    hands = upper + lower
    hands /= np.linalg.norm(hands, axis=1, keepdims=True)
    across = _across(upper, hands)
    bends = np.linalg.norm(across, axis=1)
    return Arms(hands, across / (bends[:, None] + 1e-9), np.minimum(bends / lengths, MOST_BEND))


def fitted(sources: Sequence[Sequence[Arms]]) -> Array:
    """Return the model (4, 3): a and the columns of B, by damped least squares (Levenberg 1944).

    Args:
        sources: motions of each; all sources have the same weight, and all motions of a source.
    """
    parts = [(arms.of_the_fit(), len(source)) for source in sources for arms in source]
    hands, elbows = (np.concatenate([getattr(arms, name) for arms, _ in parts]) for name in ("hands", "elbows"))
    roots = np.sqrt(1000.0 * np.concatenate([arms.weights / count for arms, count in parts]))[:, None]

    def residual(model: Array) -> Array:
        across = _across(_directions(model.reshape(4, 3), hands), hands)
        found: Array = (roots * (elbows - across / (np.linalg.norm(across, axis=1, keepdims=True) + UNCERTAIN))).ravel()
        return found

    model, damping = np.array([*START, *[0.0] * 9]), 1e-2
    now = residual(model)
    for _ in range(STEPS):
        jacobian = np.stack([(residual(model + change) - now) / 1e-5 for change in 1e-5 * np.eye(12)], axis=1)
        step: Array = np.linalg.solve(jacobian.T @ jacobian + damping * np.eye(12), -jacobian.T @ now)
        after = residual(model + step)
        if after @ after < now @ now:
            model, now, damping = model + step, after, max(damping / 3.0, 1e-3)
        else:
            damping *= 4.0
    return model.reshape(4, 3)


def angle(model: Array, arms: Arms) -> float:
    """Return the mean angle, by weight, between the model's direction across n and the elbow's, in degrees."""
    across = _across(_directions(model, arms.hands), arms.hands)
    cosines = (arms.elbows * across).sum(axis=1) / (np.linalg.norm(across, axis=1) + 1e-9)
    return float(np.average(np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))), weights=arms.weights))


def _each_held_out(first: Sequence[Arms], *others: Sequence[Arms]) -> Array:
    """Return the angle of each motion of the first source in a fit to all motions but this one."""
    rests = [[each for each in first if each is not arms] for arms in first]
    return np.array([angle(fitted([rest, *others]), arms) for rest, arms in zip(rests, first, strict=True)])


def _directions(model: Array, hands: Array) -> Array:
    found: Array = model[0] + hands @ model[1:]
    return found


def _across(vectors: Array, hands: Array) -> Array:
    found: Array = vectors - (vectors * hands).sum(axis=1, keepdims=True) * hands
    return found


def main() -> None:
    """Fit and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("motions", type=Path, nargs="*", metavar="FILE", help="a .bvh file to fit beside pybullet's")
    parser.add_argument("--held-out", type=Path, nargs="+", default=[], metavar="FILE", help="not to fit to")
    arguments = parser.parse_args()
    clips = pybullet_clips()
    seen = {"pybullet's": [arms_of(path, True) for path in clips]} if clips else {}
    seen |= {path.name: [arms_of(path, False)] for path in arguments.motions}
    if not seen:
        sys.exit("No motion to fit to: name a .bvh file")
    held_out = {path.name: [arms_of(path, False)] for path in (MOTION, *arguments.held_out)}
    model = fitted([*seen.values()])
    print(np.array2string(model, precision=3, suppress_small=True, separator=", "))
    print(f"farthest of the numbers in the code: {np.abs(model - SWIVEL_MODEL).max():.4f}")
    print("mean angle between elbow and model, degrees: of this fit, of the numbers in the code")
    for title, sources in {"fitted": seen, "held out": held_out}.items():
        for name, motions in sources.items():
            angles = [np.mean([angle(each, arms) for arms in motions]) for each in (model, SWIVEL_MODEL)]
            print(f"{title}: {name} ({len(motions)}): {angles[0]:.1f} {angles[1]:.1f}")
    if len(clips) > 1:
        alone = _each_held_out(*seen.values())
        print(f"held out: each of pybullet's from a fit to all others: {alone.mean():.1f}, the worst {alone.max():.1f}")
    sys.stdout.flush()
    os._exit(0)  # Blender as a module can hang while Python shuts down


if __name__ == "__main__":
    main()
