# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captured motions of a human from PyPI, for measurements alone: pybullet's, written as BVH files.

dm-control's package has no such motions: its loader downloads those of CMU, 476 MB, from another place.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from xml.etree import ElementTree

from mathutils import Matrix, Quaternion, Vector

FOLDER = Path(__file__).parents[2] / ".venv-clips"

PINNED = "pybullet==3.2.7"
WHEEL = ("--only-binary", ":all:", "--platform", "manylinux2014_x86_64", "--python-version", "3.11")
"""One wheel for every machine: of the package the data are read, and nothing of it is run."""

URDF = "pybullet_data/humanoid/humanoid.urdf"
MOTIONS = "pybullet_data/data/motions/humanoid3d_"

SCALE = 0.25
"""Of the motions' metres over the units of the URDF file."""

TO_BVH = Matrix(((0.0, 0.0, -1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)))
"""From x forward and z to the right, as the package has them, to z forward and x to the left; y is up in both."""

NAMES = {"root": "pelvis", "neck": "head"}
"""Names of the joints that are not named in the package as a body's bones are: the neck's link is the head."""


def pybullet_clips() -> list[Path]:
    """Fetch pybullet's motions of a human, or reuse them; return their BVH files, none without internet.

    Delete ``FOLDER`` after a change of what is written to these files.
    """
    stamp = FOLDER / "fabrik-clips"
    if not (stamp.exists() and stamp.read_text(encoding="utf-8") == PINNED):
        try:
            _fetch()
        except subprocess.CalledProcessError:
            print(f"[bench] {PINNED} can't be fetched: its motions are left out", file=sys.stderr, flush=True)
            return []
        stamp.write_text(PINNED, encoding="utf-8")
    return sorted(FOLDER.glob("*.bvh"))


def _fetch() -> None:
    venv.create(FOLDER, clear=True, with_pip=True)
    python = FOLDER / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    pip = [str(python), "-m", "pip", "download", "--disable-pip-version-check", "-q", "--no-deps", "-d", str(FOLDER)]
    subprocess.run([*pip, *WHEEL, PINNED], check=True)
    (wheel,) = FOLDER.glob("*.whl")
    with zipfile.ZipFile(wheel) as package:
        urdf = package.read(URDF).decode().rstrip("\0")  # a NUL byte is at the end of the file
        for name in package.namelist():
            if name.startswith(MOTIONS):
                frames = json.loads(package.read(name))["Frames"]
                file = FOLDER / f"{Path(name).stem.removeprefix('humanoid3d_')}.bvh"
                file.write_text(bvh_text(urdf, frames), encoding="utf-8")
    wheel.unlink()


def bvh_text(urdf: str, frames: list[list[float]]) -> str:
    """Return a BVH file of a motion.

    Args:
        urdf: the skeleton; its joints are in the order of the values of a frame.
        frames: seconds, position of the root, its rotation as w, x, y, z; then as many values of each joint as its type
            has: four of a spherical one, the angle of a revolute one, none of a fixed one.
    """
    joints = {_named(joint, "child"): joint for joint in ElementTree.fromstring(urdf).iter("joint")}
    hierarchy, order = _hierarchy(joints, "root")
    lines = ["HIERARCHY", *hierarchy, "MOTION", f"Frames: {len(frames)}", f"Frame Time: {frames[0][0]}"]
    for frame in frames:
        rotations = _rotations(joints, frame)
        values = [*(TO_BVH @ Vector(frame[1:4]))[:]]
        for name in order:
            turn = TO_BVH @ rotations[name].to_matrix() @ TO_BVH.transposed()
            values += [math.degrees(angle) for angle in turn.to_euler('XYZ')[:][::-1]]
        lines.append(" ".join(f"{value:.6f}" for value in values))
    return "\n".join(lines) + "\n"


def _rotations(joints: dict[str, ElementTree.Element], frame: list[float]) -> dict[str, Quaternion]:
    found = {"root": Quaternion(frame[4:8]).normalized()}
    at = 8
    for name, joint in joints.items():
        count = {'spherical': 4, 'revolute': 1, 'fixed': 0}[joint.attrib["type"]]
        values = frame[at : at + count]
        at += count
        if count == 4:
            found[name] = Quaternion(values).normalized()
        elif count == 1:
            found[name] = Quaternion(_vector(joint.find("axis")), values[0])
        else:
            found.setdefault(name, Quaternion())
    return found


def _hierarchy(joints: dict[str, ElementTree.Element], name: str) -> tuple[list[str], list[str]]:
    """Return the lines of a joint and of those below it, and the names in the order of these lines."""
    offset = TO_BVH @ _vector(joints[name].find("origin")) * SCALE
    positions = "6 Xposition Yposition Zposition" if name == "root" else "3"
    lines = [
        f"{'ROOT' if name == 'root' else 'JOINT'} {NAMES.get(name, name)}",
        "{",
        _offset(offset),
        f"CHANNELS {positions} Zrotation Yrotation Xrotation",
    ]
    order = [name]
    for child in [child for child, joint in joints.items() if _named(joint, "parent") == name]:
        below = _hierarchy(joints, child)
        lines += below[0]
        order += below[1]
    if len(order) == 1:
        ends = {"neck": Vector((0.0, 0.2, 0.0)), "ankle": Vector((0.0, -0.05, 0.15))}
        end = ends.get(name.rpartition("_")[2], 0.25 * offset)
        lines += ["End Site", "{", _offset(end), "}"]
    return [*lines, "}"], order


def _named(joint: ElementTree.Element, tag: str) -> str:
    found = joint.find(tag)
    assert found is not None
    return found.attrib["link"]


def _vector(element: ElementTree.Element | None) -> Vector:
    assert element is not None
    return Vector([float(value) for value in element.attrib["xyz"].split()])


def _offset(vector: Vector) -> str:
    return "OFFSET " + " ".join(f"{value:.6f}" for value in vector[:])
