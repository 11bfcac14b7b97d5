# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pose a rig with the add-on's own operators, print how near it came, save it, and render it as a mannequin.

Without arguments: Rigify's human with a body whose handles are pulled. poses: ten poses of it. horse, spider: the same
with these. floor, or --body: a hand of the human is pulled to the floor. chains: the human from five chains, where the
head and the hands have targets, the feet are pinned, and the root of the spine may move. With --rig any other rig and
one chain: one of Rigify's metarigs by name (basic_human, basic_quadruped, horse, ...), a .blend file or a .bvh file.
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import os
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import environment

if __name__ == "__main__":
    environment.enter()

import bpy
from mathutils import Matrix, Vector

sys.path.insert(0, str(environment.ROOT))
import fabrik_addon
import picture
from body_poses import FLOOR, HORSE, HUMAN, SPIDER, TEN, Bodies, Pulled, add_body, pose_in_turn
from mannequin import make_mannequin

_TIMED_RUNS = 9
"""Presses of the Solve button whose median time is printed."""

_REACHED = 1e-3
"""Distance of a handle from its target over the body's height, from which on the script exits with 1."""

BODIES = {"human": HUMAN, "poses": TEN, "horse": HORSE, "spider": SPIDER, "floor": FLOOR}

_PINNED = "pinned"
"""Custom property of the armature: the positions of its pins, by the chains' names."""

Position = tuple[float, float, float]


@dataclass(frozen=True)
class Reach:
    """A chain to add, and the positions of its target and its pole (None: those that the operator gives them)."""

    name: str
    tip: str
    chain_count: int
    target: Position | None
    pole: Position | None = None
    is_pinned: bool = False
    """Whether its end keeps its position and rotation, so that it needs no target."""
    moves_root: bool = False
    """Whether its root may move (Root: Follows)."""


# Metres in the space of the metarig, which looks along -Y.
HUMAN_CHAINS = (
    Reach("head", "spine.006", 0, (0.0, -0.10, 1.95), moves_root=True),
    Reach("left hand", "forearm.L", 3, (0.62, -0.12, 1.80), (0.85, -0.10, 1.00)),
    Reach("right hand", "forearm.R", 3, (-0.30, -0.52, 1.30), (-0.80, 0.20, 1.00)),
    Reach("left foot", "foot.L", 3, None, (0.30, -1.00, 0.55), is_pinned=True),
    Reach("right foot", "foot.R", 3, None, (-0.35, -1.00, 0.55), is_pinned=True),
)

HUMAN_JOINTS = {
    "ELBOW": ("forearm.L", "forearm.R"),
    "KNEE": ("shin.L", "shin.R"),
    "SHOULDER": ("upper_arm.L", "upper_arm.R"),
    "HIP": ("thigh.L", "thigh.R"),
    "NECK": ("spine.001", "spine.002", "spine.003", "spine.004", "spine.005"),
}
"""The human's bones by the joint whose usual limits they get.

The five chains of ``HUMAN_CHAINS`` are one tree: arms and legs begin at bones of the chain from the hips to the head.
"""


class DemoFailure(Exception):
    """A file, a rig or a bone of the command line doesn't exist; the message lists those that do."""


def main() -> None:
    """Run the demo and exit."""
    arguments = _arguments()
    name = Path(arguments.rig or arguments.example).stem
    blend: Path = arguments.output.resolve() / f"{name}.blend"
    try:
        if arguments.rig and Path(arguments.rig).resolve() == blend:
            raise DemoFailure(f"{blend} would be written over: say where else with --output")
        fabrik_addon.register()
        figures, view, is_defect = (
            _pull_body(BODIES[name]) if not arguments.rig and name in BODIES else _chains(arguments)
        )
    except DemoFailure as failure:
        sys.exit(f"demo: {failure}")
    except RuntimeError as failure:  # an operator's report, with the place in Blender's own scripts after it
        sys.exit(f"demo: {str(failure).partition('Location:')[0].removeprefix('Error: ').strip()}")

    blend.parent.mkdir(parents=True, exist_ok=True)
    bpy.context.preferences.filepaths.save_version = 0  # no .blend1 beside it
    bpy.ops.wm.save_as_mainfile(filepath=str(blend), copy=True)
    print(f"\nsaved     {blend}", flush=True)
    if not arguments.no_render:
        start = time.perf_counter()
        print("rendering, on the CPU ...", flush=True)
        picture.render(figures, blend.with_suffix(".png"), view)
        print(f"rendered  {blend.with_suffix('.png')}  ({time.perf_counter() - start:.0f} s)", flush=True)
    sys.stdout.flush()
    os._exit(int(is_defect))  # bpy can hang in a plain exit


def _pull_body(bodies: Bodies) -> tuple[list[picture.Figure], picture.View, bool]:
    """Make a body, pull its poses, print what each pull did, and tell whether a handle is off its target."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    armature = add_body(bodies.metarig)
    recognised = [part for part in armature.fabrik.body.parts if part.bone]
    print(f"recognised {len(recognised)} parts of {len(armature.data.bones)} bones:")
    for part in recognised:
        if part.role != 'FINGER':
            print(f"  {part.name:14}  {part.bone:16}  {part.confidence:4.0%}")
    figures, pulls = _pose_bodies(armature, bodies)
    print(f"\n{'pose':12}  {'handle':8}    error  milliseconds")
    for pull in pulls:
        print(f"{pull.pose:12}  {pull.handle:8}  {pull.error:7.1e}  {pull.milliseconds:12.0f}")
    print("error: handle to where it was pulled, over the body's height", flush=True)
    view = picture.View(*bodies.size, legend=picture.BODY_LEGEND)
    return figures, view, any(pull.error > _REACHED for pull in pulls)


def _pose_bodies(armature: bpy.types.Object, bodies: Bodies) -> tuple[list[picture.Figure], list[Pulled]]:
    """Pull every pose and key them ten frames apart; return the figures, and what each pull did."""
    solids = make_mannequin(armature)
    figures: list[picture.Figure] = []
    done: list[Pulled] = []
    for pose, before, pulls in pose_in_turn(armature, bodies):
        marks = picture.body_marks(armature, before if figures else {})
        figure = replace(picture.look_at(armature, pose.label, solids, marks), props=pose.props)
        frame = 1 + 10 * len(figures)
        for bone in armature.pose.bones:
            rotation = "rotation_quaternion" if bone.rotation_mode == 'QUATERNION' else "rotation_euler"
            bone.keyframe_insert(rotation, frame=frame)
            bone.keyframe_insert("location", frame=frame)
        figures.append(figure.moved(Matrix.Rotation(pose.turn, 4, 'Z')))
        done += pulls
    return figures, done


def _chains(arguments: argparse.Namespace) -> tuple[list[picture.Figure], picture.View, bool]:
    """Add chains, solve, print how it ended, and tell whether a chain has a defect."""
    armature = _load_rig(arguments.rig)
    reaches = (_reach(armature, arguments),) if arguments.rig else HUMAN_CHAINS
    with _pose_mode(armature):
        if not arguments.rig:
            _limit_joints(armature)
        figures = _pose(armature, reaches)
    is_defect = any(_is_defect(armature, chain) for chain in armature.fabrik.chains)
    return figures, picture.View(legend=picture.CHAIN_LEGEND), is_defect


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("example", nargs="?", choices=(*BODIES, "chains"), default="human")
    parser.add_argument("--body", action="store_true", help="the same as floor")
    parser.add_argument("--rig", metavar="NAME|FILE", help="a Rigify metarig, a .blend or a .bvh file")
    parser.add_argument("--tip", metavar="BONE", help="the last bone of the chain (with --rig)")
    parser.add_argument("--chain-count", type=int, default=2, metavar="N", help="bones in the chain, 0: up to the root")
    parser.add_argument("--target", type=float, nargs=3, metavar=("X", "Y", "Z"), help="where to reach, in world space")
    parser.add_argument("--no-render", action="store_true", help="only the table and the .blend file")
    parser.add_argument("--output", type=Path, default=environment.ROOT / "out", metavar="DIR", help="default: out")
    arguments = parser.parse_args()
    if arguments.body:
        arguments.example = "floor"
    if arguments.rig is None and (arguments.tip or arguments.target):
        parser.error("--tip and --target are for a rig named with --rig")
    if arguments.chain_count < 0:
        parser.error("--chain-count is a number of bones, or 0 for all up to the root")
    return arguments


# Rigs


def _load_rig(rig: str | None) -> bpy.types.Object:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    path = Path(rig or "")
    if path.suffix.lower() not in {".blend", ".bvh"}:
        return _add_metarig(rig or "human")
    if not path.is_file():
        raise DemoFailure(f"there is no file {path}")
    if path.suffix.lower() == ".blend":
        bpy.ops.wm.open_mainfile(filepath=str(path.resolve()), load_ui=False)
    else:
        bpy.ops.preferences.addon_enable(module="io_anim_bvh")
        bpy.ops.import_anim.bvh(filepath=str(path.resolve()))
    armatures = [candidate for candidate in bpy.context.scene.objects if candidate.type == 'ARMATURE']
    if not armatures:
        raise DemoFailure(f"{path} has no armature in its scene")
    active = bpy.context.view_layer.objects.active
    return active if active in armatures else armatures[0]


def _add_metarig(name: str) -> bpy.types.Object:
    bpy.ops.preferences.addon_enable(module="rigify")
    before, after = "armature_", "_metarig_add"
    known = [entry[len(before) : -len(after)] for entry in dir(bpy.ops.object) if entry.endswith(after)]
    if name not in known:
        raise DemoFailure(f"{name} is no .blend, no .bvh and no metarig; the metarigs are {', '.join(sorted(known))}")
    getattr(bpy.ops.object, f"{before}{name}{after}")()
    metarig = bpy.context.object
    assert metarig is not None
    return metarig


def _reach(armature: bpy.types.Object, arguments: argparse.Namespace) -> Reach:
    names = [bone.name for bone in armature.data.bones]
    tip: str | None = arguments.tip
    if tip is None:
        raise DemoFailure(f"--tip is needed with --rig: one of the bones {', '.join(names)}")
    if tip not in names:
        close = difflib.get_close_matches(tip, names, n=5, cutoff=0.4)
        raise DemoFailure(f"{armature.name} has no bone {tip}; near to it: {', '.join(close or names)}")
    return Reach(tip, tip, arguments.chain_count, tuple(arguments.target) if arguments.target else None)


# Posing


@contextmanager
def _pose_mode(armature: bpy.types.Object) -> Iterator[None]:
    if bpy.context.mode != 'OBJECT':  # a file is opened in the mode it was saved in
        bpy.ops.object.mode_set(mode='OBJECT')
    bpy.context.view_layer.objects.active = armature
    armature.select_set(True)
    bpy.ops.object.mode_set(mode='POSE')
    # The next frame change overwrites animated channels unless the pose is keyed.
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = armature.animation_data is not None
    yield
    bpy.ops.object.mode_set(mode='OBJECT')


def _pose(armature: bpy.types.Object, reaches: tuple[Reach, ...]) -> list[picture.Figure]:
    armature.fabrik.chains.clear()  # of the file
    for reach in reaches:
        _add_chain(armature, reach)
    bpy.context.view_layer.update()
    ends = {chain.name: picture.chain_joints(armature, chain)[-1] for chain in armature.fabrik.chains if chain.use_pin}
    armature[_PINNED] = {name: end[:] for name, end in ends.items()}
    solids = make_mannequin(armature)
    before = picture.look_at(armature, "before", solids, picture.chain_marks(armature))
    microseconds = _time_solve(armature)
    bpy.ops.pose.fabrik_solve()
    bpy.context.view_layer.update()
    _print_table(armature, microseconds)
    return [before, picture.look_at(armature, "after", solids, picture.chain_marks(armature))]


def _limit_joints(armature: bpy.types.Object) -> None:
    for joint, names in HUMAN_JOINTS.items():
        for bone in armature.pose.bones:
            bone.select = bone.name in names
        bpy.ops.pose.fabrik_limits_set(joint=joint)
    for bone in armature.pose.bones:
        bone.select = False


def _add_chain(armature: bpy.types.Object, reach: Reach) -> None:
    """Add a chain with the operator, name it, and move the target and the pole that the operator has made."""
    armature.data.bones.active = armature.data.bones[reach.tip]
    bpy.ops.pose.fabrik_chain_add(
        chain_count=reach.chain_count, create_target=not reach.is_pinned, create_pole=reach.pole is not None
    )
    settings = armature.fabrik
    chain = settings.chains[settings.active_index]
    chain.name = reach.name
    if reach.moves_root:
        chain.root_motion = 'TRANSLATE'
    if reach.is_pinned:
        chain.use_pin = chain.use_rotation = True
    else:
        chain.target.name = f"{reach.name} target"
        _move(chain.target, reach.target or _easy_target(armature, chain))
    if reach.pole:
        chain.pole_target.name = f"{reach.name} pole"
        _move(chain.pole_target, reach.pole)


def _move(empty: bpy.types.Object, place: Position) -> None:
    bpy.context.view_layer.update()
    matrix = empty.matrix_world.copy()
    matrix.translation = place
    empty.matrix_world = matrix


def _easy_target(armature: bpy.types.Object, chain: bpy.types.PropertyGroup) -> Position:
    """Return a position within reach: two thirds of the chain's length from its root, 35 degrees beside its tip."""
    joints = picture.chain_joints(armature, chain)
    out = (joints[-1] - joints[0]).normalized()
    aside = out.orthogonal().normalized()
    place = joints[0] + (out + 0.7 * aside).normalized() * _length(joints) * 2 / 3
    return place.x, place.y, place.z


def _time_solve(armature: bpy.types.Object) -> float:
    """Return the median time of the Solve operator in microseconds, each time from the present pose, and restore it."""
    tools = bpy.context.scene.tool_settings
    uses_auto_key, tools.use_keyframe_insert_auto = tools.use_keyframe_insert_auto, False
    unposed = {bone.name: bone.matrix_basis.copy() for bone in armature.pose.bones}
    times = []
    for _ in range(_TIMED_RUNS):
        _restore_pose(armature, unposed)
        start = time.perf_counter()
        bpy.ops.pose.fabrik_solve()
        times.append(1e6 * (time.perf_counter() - start))
    _restore_pose(armature, unposed)
    tools.use_keyframe_insert_auto = uses_auto_key
    return statistics.median(times)


def _restore_pose(armature: bpy.types.Object, unposed: dict[str, object]) -> None:
    for bone in armature.pose.bones:
        bone.matrix_basis = unposed[bone.name]
    bpy.context.view_layer.update()


def _error(armature: bpy.types.Object, chain: bpy.types.PropertyGroup) -> float:
    """Return the distance from tip to target over the chain's length, measured on the posed bones."""
    joints = picture.chain_joints(armature, chain)
    return (_goal(armature, chain) - joints[-1]).length / _length(joints)


def _goal(armature: bpy.types.Object, chain: bpy.types.PropertyGroup) -> Vector:
    """Return the desired position of a chain's tip: that of its target, or of its pin."""
    if chain.use_pin:
        return Vector(armature[_PINNED][chain.name])
    return chain.target.matrix_world.translation


def _is_defect(armature: bpy.types.Object, chain: bpy.types.PropertyGroup) -> bool:
    """Tell whether a chain has stalled, or reports a target as reached that it hasn't reached.

    A target out of reach, or outside the joint limits, is no defect.
    """
    if chain.status == 'REACHED':
        return _error(armature, chain) > 2 * chain.tolerance  # Blender keeps rotations in single precision
    return chain.status in {'NONE', 'STALLED'}


def _print_table(armature: bpy.types.Object, microseconds: float) -> None:
    chains = list(armature.fabrik.chains)
    width = max(len("chain"), *(len(chain.name) for chain in chains))
    print(f"\n{'chain':{width}}  bones  reach    error  iterations  microseconds  status")
    for chain in chains:
        joints = picture.chain_joints(armature, chain)
        reach = (_goal(armature, chain) - joints[0]).length / _length(joints)
        error = _error(armature, chain)
        status = chain.status.replace("_", " ").lower() + (" (DEFECT)" if _is_defect(armature, chain) else "")
        bones = len(picture.chain_bones(armature, chain))
        print(
            f"{chain.name:{width}}  {bones:5d}  {reach:5.3f}  {error:7.1e}  {chain.iterations_used:10d}"
            f"  {microseconds:12.0f}  {status}"
        )
    print(
        "error: tip to target on the posed rig, over the chain's length; microseconds: one press of Solve, for all",
        flush=True,
    )


def _length(joints: list[Vector]) -> float:
    return sum((end - start).length for start, end in itertools.pairwise(joints))


if __name__ == "__main__":
    main()
