# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare sets of the posture weights of hips and clavicles by what these take of captured reaches.

``python3 scripts/fit_posture.py Boxing_Toes.bvh 01_03.bvh --held-out 01_01.bvh`` repeats the comparison by which those
of ``fabrik_addon/core/body/posture.py`` were chosen: pybullet's motions are fetched, the three files are those of
Debian's package assimp-testmodels 5.2.5. The bench row "body-reach" has the definition of the shares.
"""

from __future__ import annotations

import argparse
import os
import sys
from itertools import product
from pathlib import Path

import environment

if __name__ == "__main__":
    environment.enter()

sys.path.insert(0, str(environment.ROOT))
import numpy as np

from benchmark.body_reach_rows import Reaches, joined, reaches_of
from benchmark.body_reconstruction_rows import MOTION, Motion
from benchmark.clips import pybullet_clips
from fabrik_addon.core.body.posture import POSTURE_WEIGHTS

HIPS, CLAVICLE = (400.0, 200.0, 100.0), (8.0, 40.0)
"""Weights that are compared; those of the other roles stay."""

OF_ONE, OF_EACH = 16, 8
"""Poses at most of a source that is one motion, and of each motion of one that has several."""

STILL = 1e-3
"""Share of a captured clavicle up to which it doesn't move: the spine has its part, as in CMU's skeletons."""


def reaches_by_weights(path: Path, most: int) -> dict[tuple[float, float], Reaches]:
    """Return the reaches of a motion, in at most so many poses, for each pair of weights."""
    motion, before, found = Motion(path), dict(POSTURE_WEIGHTS), {}
    for hips, clavicle in product(HIPS, CLAVICLE):
        POSTURE_WEIGHTS.update(HIPS=hips, CLAVICLE=clavicle)
        found[hips, clavicle] = reaches_of(motion, most)
    POSTURE_WEIGHTS.update(before)
    return found


def squared_distance(reaches: Reaches) -> float:
    """Return the square of the distance of the body's shares from the captured ones beyond the arm's reach."""
    captured, body = reaches.beyond_the_arm()
    off = body - captured
    if abs(captured[-1]) <= STILL:
        off = np.array([*off[:-2], off[-2:].sum()])
    return float(off @ off)


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("motions", type=Path, nargs="*", metavar="FILE", help="a .bvh file to fit beside pybullet's")
    parser.add_argument("--held-out", type=Path, nargs="+", default=[], metavar="FILE", help="not to fit to")
    arguments = parser.parse_args()
    groups = {
        "fitted": [each for each in (pybullet_clips(), *([path] for path in arguments.motions)) if each],
        "held out": [[path] for path in (MOTION, *arguments.held_out)],
    }
    for title, sources in groups.items():
        most = [OF_ONE if len(paths) == 1 else OF_EACH for paths in sources]
        found = [[reaches_by_weights(path, own) for path in paths] for paths, own in zip(sources, most, strict=True)]
        print("root mean square over sources of the shares' distance, mean distance of joints; ", end="")
        print(f"{title}: {', '.join(paths[0].name if len(paths) == 1 else 'pybullet' for paths in sources)}")
        for weights in product(HIPS, CLAVICLE):
            reaches = [joined([each[weights] for each in source]) for source in found]
            off = np.mean([squared_distance(each) for each in reaches]) ** 0.5
            joints = np.mean([each.joints.mean() for each in reaches])
            print(f"HIPS {weights[0]:g}, CLAVICLE {weights[1]:g}: {off:.3f}, {joints:.4f}", flush=True)
    os._exit(0)  # Blender as a module can hang while Python shuts down


if __name__ == "__main__":
    main()
