# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other people's solvers on the same sets: pyfabrik, ikpy and tinyik from PyPI, and Blender's own two."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import venv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fabrik_addon.core import Goals, Options, plain_chain, solve

from .blender_chain import LAST, constrain, make_armature, make_target, new_scene, view_layer
from .limit_rows import limit_bones
from .limit_sets import SETS, ConstrainedBones, feasible_targets
from .problems import RESTS, Array, Effort, link_lengths, pose_along
from .report import Cell, Row, Table, microseconds
from .solver_rows import RANGES, TOLERANCE, problems_of

PINNED = (
    "pyfabrik==0.4.0",
    "ikpy==4.2.1",
    "tinyik==2.2.1",
    "numpy==1.26.4; python_version < '3.13'",  # pyfabrik's vectors are none with numpy 2
)
"""With what they need themselves, in an environment of their own."""

COUNTS = (3, 10)
MOST = 20
"""Targets at most: some take a second each."""

_CANNOT = {
    "pyfabrik": "positions only: no rotations, limits or poles",
    "ikpy": "no ball joints (three revolute ones stand for each), limits of revolute joints only, no poles",
    "tinyik": "no ball joints (three revolute ones stand for each), no limits, no poles",
    "Blender, standard": "",
    "Blender, iTaSC": "",
    "ours": "",
}


@dataclass(frozen=True)
class _Answers:
    errors: Array
    """NaN where none came in time."""
    seconds: Array


def install(folder: Path) -> Path:
    """Make the peers' own environment, or reuse it; return its Python."""
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    stamp = folder / "fabrik-peers"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == "\n".join(PINNED):
        return python
    venv.create(folder, clear=True, with_pip=True)
    subprocess.run([str(python), "-m", "pip", "install", "--disable-pip-version-check", "-q", *PINNED], check=True)
    stamp.write_text("\n".join(PINNED), encoding="utf-8")
    return python


def peer_tables(python: Path, effort: Effort) -> list[Table]:
    """Return what each peer makes of free chains and of chains with limits."""
    return [_free_table(python, effort), _limits_table(python, effort)]


def _free_table(python: Path, effort: Effort) -> Table:
    rows = []
    for count in COUNTS:
        for rest in RESTS:
            for least, most in RANGES:
                joints, targets = problems_of(count, rest, least, most, min(effort.targets, MOST))
                found = {"ours": _ours(joints, targets)}
                found |= {name: _peer(python, name, joints, targets) for name in ("pyfabrik", "ikpy", "tinyik")}
                found |= {f"Blender, {kind}": _blenders(joints, targets, kind) for kind in ("standard", "iTaSC")}
                rows += [_row((count, rest, f"{least:g} to {most:g}"), name, one) for name, one in found.items()]
    hits = sum(row.ok is True for row in rows)
    notes = "; ".join(f"{name}: {what}" for name, what in _CANNOT.items() if what)
    return Table(
        title="Other solvers on chains without limits",
        must=f"ours reaches every target within {TOLERANCE:g} of the chain's length; the others are for comparison",
        measured=f"all reached on {hits} of {len(COUNTS) * len(RESTS) * len(RANGES)} sets",
        columns=("links", "rest pose", "reach", "solver", "reached", "median error", "µs median / p95"),
        rows=tuple(rows),
        note=f"""\
Each is set up as its documentation says, from the same pose: {", ".join(PINNED[:3])}; Blender's constraint with its own
defaults. What they can't do: {notes}. A solve that takes more than a second counts as not reached: pyfabrik has no
bound on its iterations. Ours is timed with its checks and the arrays it makes, Blender's with the update of the scene,
the others as they are.""",
    )


def _limits_table(python: Path, effort: Effort) -> Table:
    rows = []
    for constrained in SETS:
        targets = feasible_targets(constrained, effort.targets)[:MOST]
        joints = constrained.rest().positions
        rows.append(_row((constrained.name,), "ours", _ours(joints, targets, constrained)))
        if _hinges(constrained) is None:
            rows.append(Row((constrained.name, "ikpy", "", "", "")))
        else:
            axes, ends = _hinges(constrained) or ([], [])
            rows.append(_row((constrained.name,), "ikpy", _peer(python, "ikpy", joints, targets, axes, ends)))
        for name in ("pyfabrik", "tinyik"):
            rows.append(Row((constrained.name, name, "", "", "")))
        for kind in ("standard", "iTaSC"):
            rows.append(_row((constrained.name,), f"Blender, {kind}", _blenders(joints, targets, kind, constrained)))
    hits = sum(row.ok is True for row in rows)
    return Table(
        title="Other solvers on chains with limits",
        must=f"ours reaches every target of a feasible pose within {TOLERANCE:g}; the others are for comparison",
        measured=f"all reached on {hits} of {len(SETS)} sets",
        columns=("chain", "solver", "reached", "median error", "µs median / p95"),
        rows=tuple(rows),
        note="Blank is what a library can't do: pyfabrik and tinyik know no limits, ikpy those of hinges only.",
    )


def _row(about: tuple[Cell, ...], name: str, found: _Answers) -> Row:
    hits = int(np.sum(found.errors <= TOLERANCE))
    answered = found.errors[np.isfinite(found.errors)]
    median = float(np.median(answered)) if len(answered) else "none"
    cells = (*about, name, f"{hits}/{len(found.errors)}", median, microseconds(found.seconds))
    return Row(cells, hits == len(found.errors) if name == "ours" else None)


def _ours(joints: Array, targets: Array, constrained: ConstrainedBones | None = None) -> _Answers:
    chain = plain_chain(link_lengths(joints)) if constrained is None else constrained.chain()
    pose = pose_along(joints) if constrained is None else constrained.rest()
    errors, seconds = [], []
    for target in targets:
        start = time.perf_counter()
        solution = solve(chain, pose, Goals(target[None]), Options(tolerance=TOLERANCE))
        seconds.append(time.perf_counter() - start)
        errors.append(np.linalg.norm(solution.pose.positions[-1] - target))
    return _Answers(np.array(errors), np.array(seconds))


def _peer(
    python: Path,
    name: str,
    joints: Array,
    targets: Array,
    axes: list[list[str]] | None = None,
    ends: list[list[float]] | None = None,
) -> _Answers:
    problem = {
        "library": name,
        "joints": joints.tolist(),
        "targets": targets.tolist(),
        "tolerance": TOLERANCE,
        "axes": axes,
        "ends": ends,
    }
    worker = Path(__file__).with_name("peer_worker.py")
    done = subprocess.run(
        [str(python), str(worker)], input=json.dumps(problem), capture_output=True, text=True, timeout=600
    )
    if done.returncode:
        print(f"[bench] {name} doesn't run: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr, flush=True)
        return _Answers(np.full(len(targets), np.nan), np.full(len(targets), np.nan))
    answers = json.loads(done.stdout)
    tips = np.array([[np.nan] * 3 if tip is None else tip for tip in answers["tips"]])
    return _Answers(np.linalg.norm(tips - targets, axis=1), np.array(answers["seconds"]))


def _blenders(joints: Array, targets: Array, kind: str, constrained: ConstrainedBones | None = None) -> _Answers:
    new_scene()
    obj, target = make_armature(joints), make_target()
    obj.pose.ik_solver = 'ITASC' if kind == "iTaSC" else 'LEGACY'
    constrain(obj, target)
    if constrained is not None:
        limit_bones(obj, constrained)
    errors, seconds = [], []
    for position in targets:
        target.location = position
        start = time.perf_counter()
        view_layer().update()
        seconds.append(time.perf_counter() - start)
        errors.append(float(np.linalg.norm(np.array(obj.pose.bones[LAST].tail) - position)))
    return _Answers(np.array(errors), np.array(seconds))


def _hinges(constrained: ConstrainedBones) -> tuple[list[list[str]], list[list[float]]] | None:
    """Return the axis and the range of every joint of a chain of hinges; None for any other."""
    axes, ends = [], []
    for joint in constrained.ranges:
        free = [axis for axis, (low, high) in zip("xyz", joint, strict=True) if low < high]
        if len(free) != 1:
            return None
        axes.append(free)
        ends.append([float(np.radians(end)) for end in joint["xyz".index(free[0])]])
    return axes, ends
