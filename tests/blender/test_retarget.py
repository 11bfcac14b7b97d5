# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo that brings captured motion onto Rigify's human."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import bpy
import numpy as np

ROOT = Path(__file__).resolve().parents[2]


def test_hands_and_feet_reach_the_captured_ones_and_nothing_flips(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts/retarget.py"), "--no-render", "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "cmu_01_01_jump.blend"))
    human = bpy.data.objects["human"]
    turns: dict[str, list] = {}
    for frame in range(1, 121):
        bpy.context.scene.frame_set(frame)
        for chain in human.fabrik.chains:
            if chain.enabled:
                tip = human.matrix_world @ human.pose.bones[chain.tip].tail
                assert (tip - chain.target.matrix_world.translation).length < 1e-3, (chain.name, frame)
                for bone in (human.pose.bones[chain.tip], human.pose.bones[chain.tip].parent):
                    turns.setdefault(bone.name, []).append(bone.matrix.to_quaternion())
    assert len(turns) == 8
    for name, rotations in turns.items():
        steps = [a.rotation_difference(b).angle for a, b in pairwise(rotations)]
        assert np.degrees(max(min(step, 2 * np.pi - step) for step in steps)) < 25.0, name
