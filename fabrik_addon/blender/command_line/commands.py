# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each command does to one armature, and which options it has."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import bpy

from ...core import FabrikError
from ..animation.animated_settings import animated_paths, chains_to_bake
from ..animation.fcurves import check_own_poses
from ..animation.frame_range import FIRST_FRAME, LAST_FRAME, FrameRange
from ..animation.keyed_frames import frames_to_bake
from ..bake.bake_body import bake_body
from ..bake.bake_chains import bake_chains
from ..bake.bake_report import sentence_of, sentence_of_body
from ..convert.to_chains import constraints_to_chains, constraints_to_convert
from ..convert.to_constraints import chains_to_constraints, chains_to_convert
from ..rig.body_properties import body_of
from ..rig.chain_bones import bones_of_chain
from ..rig.dependencies import drivers_of, followed_by_chains
from ..rig.properties import chosen_chains, settings_of
from ..rig.snapshot import take_snapshot
from ..rig.targets_and_poles import check_evaluated
from ..rig.wording import counted
from ..solving.solve_chains import solve_chains

if TYPE_CHECKING:
    from bpy.types import Bone, Object, PoseBone

    from ..rig.body_properties import FabrikBody, FabrikHandle
    from ..rig.properties import FabrikChain


_T = TypeVar("_T")

JsonObject: TypeAlias = dict[str, Any]
"""A result for JSON; ``Any``, because the values are numbers, words, lists and objects like it."""


class UsageError(Exception):
    """The command line is wrong: an option, a name or a file."""


@dataclass
class Report:
    """The results of a command on all armatures."""

    show_progress: Callable[[str, int], None]
    """Shows the progress on an armature: its name and the percent of the work that is done."""
    armatures: list[JsonObject] = field(default_factory=list)
    """One entry for each armature."""
    lines: list[str] = field(default_factory=list)
    """The result as lines of text."""
    warnings: list[str] = field(default_factory=list)
    """One line for each thing that was done in part."""


@dataclass(frozen=True)
class Command:
    """One of the commands."""

    help: str
    """One sentence, shown by --help."""
    add_options: Callable[[argparse.ArgumentParser], None]
    applies_to: Callable[[Object, argparse.Namespace], bool]
    """Whether the command does something to an armature that --armature doesn't name."""
    run: Callable[[Object, argparse.Namespace, Report], None]
    poses: Callable[[Object, argparse.Namespace], list[FabrikChain]] = lambda *_: []
    """The chains of an armature that the command poses."""
    changes_file: bool = True
    """Whether the file is saved afterwards."""


def _chains_to_solve(armature: Object, arguments: argparse.Namespace) -> list[FabrikChain]:
    names = arguments.chain
    return [one for one in settings_of(armature).chains if (one.name in names if names else one.enabled)]


def _chains_to_bake(armature: Object, arguments: argparse.Namespace) -> list[FabrikChain]:
    if arguments.chain:
        return _chains_to_solve(armature, arguments)
    try:
        return chains_to_bake(armature, only_active=False)
    except FabrikError:
        return []


def _can_convert(armature: Object, arguments: argparse.Namespace) -> bool:
    return bool(chains_to_convert(armature) if arguments.back else constraints_to_convert(armature.pose.bones))


def _no_options(_parser: argparse.ArgumentParser) -> None:
    pass


def _chains(
    armature: Object, names: list[str] | None, choose: Callable[[Object, bool], list[FabrikChain]] = chosen_chains
) -> list[FabrikChain]:
    """Return the chains of an editable armature.

    Args:
        names: of the chains; names that the armature doesn't have are passed over.
        choose: returns the chains where no names are given.

    Raises:
        FabrikError: there are none, or the armature can't be changed.
    """
    _check(armature)
    chains = settings_of(armature).chains
    if not chains:
        raise FabrikError("it has no chain")
    if names is None:
        return choose(armature, False)
    return [chains[name] for name in dict.fromkeys(names) if name in chains]


def _check(armature: Object) -> None:
    """Raise a FabrikError where an armature can't be posed."""
    if armature.library is not None:
        raise FabrikError("it is linked: make a library override first")
    view_layer = bpy.context.view_layer
    view_layer.update()  # what was linked or hidden since isn't in its objects otherwise
    check_evaluated(view_layer, armature, "it")
    if armature.data.pose_position == 'REST':
        raise FabrikError("it is shown in rest position: switch to pose position")


def _failed_drivers(armature: Object, chains: Sequence[FabrikChain]) -> list[str]:
    """Return a warning for each driver that fails among those on which chains depend."""
    curves = {
        (obj.name, curve.data_path)
        for obj, bone_name in followed_by_chains(armature, chains)
        for curve in drivers_of(obj, bone_name)
        if not (curve.mute or curve.driver.is_valid)
    }
    return [
        f"{armature.name}: the driver of '{name}' ({path}) fails, and its value may be wrong: Python in drivers needs "
        "--enable-autoexec"
        for name, path in sorted(curves)
    ]


# bake


def _add_bake_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--chain", action="append", metavar="NAME", help="only this chain; may be given several times")
    parser.add_argument("--start", type=_frame, metavar="N", help="first frame; otherwise the scene's")
    parser.add_argument("--end", type=_frame, metavar="N", help="last frame; otherwise the scene's")
    parser.add_argument(
        "--step", type=_positive, default=1, metavar="N", help="number of frames from one keyframe to the next"
    )
    parser.add_argument(
        "--only-keyed",
        action="store_true",
        help="insert keyframes only at frames with a keyframe on what the chains depend on",
    )
    parser.add_argument(
        "--smart",
        action="store_true",
        help="remove keyframes as long as no bone's rotation changes by more than the tolerance",
    )
    parser.add_argument(
        "--tolerance",
        type=_positive_angle,
        default=0.1,
        metavar="DEGREES",
        help="largest change of a rotation with --smart; 0.1 unless given",
    )


def _whole_number(least: int) -> Callable[[str], int]:
    """Return a function that parses a whole number and raises an error outside of ``least`` to the last frame."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is no whole number") from None
        if not least <= number <= LAST_FRAME:
            raise argparse.ArgumentTypeError(f"{number} is not from {least} to {LAST_FRAME}")
        return number

    return parse


_frame, _positive = _whole_number(FIRST_FRAME), _whole_number(1)


def _positive_angle(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no number") from None
    if not 0.0 < number <= 180.0:
        raise argparse.ArgumentTypeError("must be more than 0 and at most 180")
    return number


def _bakes_body(armature: Object, arguments: argparse.Namespace) -> bool:
    """Tell whether an armature has a body that follows or looks at an object, perhaps at some frames alone.

    With names of chains it is left out.
    """
    if arguments.chain:
        return False
    body, animated = body_of(armature), animated_paths(armature)

    def may_be_on(owner: FabrikBody | FabrikHandle, name: str) -> bool:
        return getattr(owner, name) or owner.path_from_id(name) in animated

    follows = any(handle.target is not None and may_be_on(handle, "use_pin") for handle in body.handles)
    return follows or (body.look_target is not None and may_be_on(body, "use_look_at"))


def _bake(armature: Object, arguments: argparse.Namespace, report: Report) -> None:
    scene = bpy.context.scene
    start = scene.frame_start if arguments.start is None else arguments.start
    end = scene.frame_end if arguments.end is None else arguments.end
    if end < start:
        raise UsageError(f"the end frame {end} is before the start frame {start}")
    if _bakes_body(armature, arguments):
        _check(armature)
        _bake_body(armature, range(start, end + 1, arguments.step), report)
        if not _chains_to_bake(armature, arguments):
            return
    chains = _chains(armature, arguments.chain, chains_to_bake)
    frames = frames_to_bake(scene, armature, chains, (start, end), arguments.step, arguments.only_keyed)
    if not frames:
        message = f"nothing is keyed from frame {start} to {end}"
        if arguments.armature is not None:
            raise FabrikError(message)
        report.warnings.append(f"{armature.name}: {message}")  # the other armatures are baked nevertheless
        return
    tolerance = math.radians(arguments.tolerance) if arguments.smart else None
    work = bake_chains(FrameRange(scene, bpy.context.view_layer, armature, frames, (start, end)), chains, tolerance)
    baked = _run_to_end(work, armature.name, report.show_progress)
    report.warnings += _failed_drivers(armature, chains)
    entries = []
    for chain in baked:
        unreached = [{"frame": one.frame, "status": one.status, "error": one.error} for one in chain.unreached]
        entries.append({"chain": chain.name, "not_reached": unreached, "overridden": list(chain.overridden)})
        if sentence := sentence_of(chain):
            report.warnings.append(f"{armature.name}: chain '{chain.name}': {sentence}")
    report.armatures.append({"armature": armature.name, "frames": frames, "chains": entries})
    report.lines.append(f"{armature.name}: baked {counted(len(baked), 'chain')} over {counted(len(frames), 'frame')}")


def _bake_body(armature: Object, numbers: range, report: Report) -> None:
    """Bake a body; chains that hang on it are baked after it."""
    frames = [float(number) for number in numbers]
    work = FrameRange(bpy.context.scene, bpy.context.view_layer, armature, frames, (frames[0], frames[-1]))
    baked = bake_body(work)
    report.show_progress(armature.name, 100)
    unreached = [{"frame": one.frame, "error": one.error} for one in baked.unreached]
    entry = {"not_reached": unreached, "overridden": baked.overridden}
    report.armatures.append({"armature": armature.name, "frames": frames, "body": entry})
    report.lines.append(f"{armature.name}: baked its body over {counted(len(frames), 'frame')}")
    if sentence := sentence_of_body(baked, len(frames)):
        report.warnings.append(f"{armature.name}: {sentence}")


def _run_to_end(work: Generator[float, None, _T], name: str, show_progress: Callable[[str, int], None]) -> _T:
    """Run a generator to its end and return its result; show each new percent of its progress.

    Args:
        work: yields the share of the work that is done.
        name: of the armature, shown with the progress.
        show_progress: takes the name and the percent.
    """
    shown = -1
    while True:
        try:
            share = next(work)
        except StopIteration as result:
            return result.value
        if (now := int(100 * share)) != shown:
            shown = now
            show_progress(name, now)


# solve


def _add_solve_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--chain", action="append", metavar="NAME", help="only this chain; may be given several times")
    parser.add_argument(
        "--frame", type=_frame, metavar="N", help="frame to solve at; otherwise the one at which the file was saved"
    )


def _solve(armature: Object, arguments: argparse.Namespace, report: Report) -> None:
    chains = _chains(armature, arguments.chain)
    results, changed = solve_chains(bpy.context.view_layer, armature, chains)
    report.warnings += _failed_drivers(armature, chains)
    report.warnings += [f"{armature.name}: {message}" for message in _key_animated(armature, changed)]
    entries = []
    for name, result in results:
        entry = {"chain": name, "status": result.status, "error": result.error, "iterations": result.iterations}
        entries.append({**entry, "message": result.message, "overridden": list(result.overridden)})
        warning = result.message or ("overridden on " + ", ".join(result.overridden) if result.overridden else "")
        if warning:
            report.warnings.append(f"{armature.name}: chain '{name}': {warning}")
        report.lines.append(
            f"{armature.name}: {name}: {result.status.lower().replace('_', ' ')}, error {result.error:.2g}"
        )
    report.armatures.append({"armature": armature.name, "frame": bpy.context.scene.frame_current, "chains": entries})


def _key_animated(armature: Object, changed: Sequence[tuple[PoseBone | Bone, str]]) -> list[str]:
    """WRITE: keys on the changed channels that are animated, as these are overwritten at the next frame.

    Returns:
        a message if some can't be keyed: NLA strips animate them, a driver, or an action that is linked.

    Raises:
        FabrikError: the action animates another object that is posed (``check_own_poses``).
    """
    animated, frame = animated_paths(armature), bpy.context.scene.frame_current_final
    keyed = [
        (owner, name)
        for owner, name in changed
        if isinstance(owner, bpy.types.PoseBone) and owner.path_from_id(name) in animated
    ]
    if keyed:
        check_own_poses(armature)
    lost = [
        bone.name
        for bone, name in keyed
        if not bone.keyframe_insert(name, frame=frame, options={'INSERTKEY_AVAILABLE'})
    ]
    if not lost:
        return []
    names = ", ".join(f"'{name}'" for name in dict.fromkeys(lost))
    return [f"{names} can't be keyed: NLA strips, drivers or a linked action may overwrite the pose at the next frame"]


# list


def _list(armature: Object, _arguments: argparse.Namespace, report: Report) -> None:
    entries: list[JsonObject] = []
    for chain in settings_of(armature).chains:
        entry = {"chain": chain.name, "enabled": chain.enabled, "tip": chain.tip, "influence": chain.influence}
        entry |= {
            "target": _name(chain.target, chain.subtarget),
            "pole": _name(chain.pole_target, chain.pole_subtarget),
        }
        try:
            entry["bones"] = [bone.name for bone in bones_of_chain(armature, chain)]
            take_snapshot(bpy.context.view_layer, armature, chain)
        except FabrikError as error:
            entry["problem"] = str(error)
            if chain.enabled:
                report.warnings.append(f"{armature.name}: {error}")
        entries.append(entry)
    constraints = [
        {"bone": bone.name, "constraint": constraint.name, "muted": constraint.mute}
        for bone in armature.pose.bones
        for constraint in bone.constraints
        if constraint.type == 'IK'
    ]
    report.armatures.append({"armature": armature.name, "chains": entries, "ik_constraints": constraints})
    report.lines.append(
        f"{armature.name}: {counted(len(entries), 'chain')}, {counted(len(constraints), 'IK constraint')}"
    )
    for entry in entries:
        note = "" if entry["enabled"] else " (disabled)"
        bones = " > ".join(entry.get("bones", ["?"]))
        pole = f", pole {entry['pole']}" if entry["pole"] else ""
        report.lines.append(f"  {entry['chain']}{note}: {bones}, target {entry['target'] or 'none'}{pole}")


def _name(obj: Object | None, bone_name: str) -> str | None:
    if obj is None:
        return None
    return f"{obj.name}/{bone_name}" if bone_name and obj.type == 'ARMATURE' else obj.name


# convert


def _add_convert_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--back", action="store_true", help="convert chains to constraints instead")


def _convert(armature: Object, arguments: argparse.Namespace, report: Report) -> None:
    _check(armature)
    layer = bpy.context.view_layer
    try:
        if arguments.back:
            result = chains_to_constraints(layer, armature, chains_to_convert(armature))
        else:
            result = constraints_to_chains(layer, armature)
    except FabrikError as error:
        if arguments.armature is not None:
            raise
        report.warnings.append(f"{armature.name}: {error}")  # the other armatures are converted nevertheless
        return
    what = "constraint" if arguments.back else "chain"
    report.armatures.append(
        {"armature": armature.name, "converted": result.converted, "not_carried": result.not_carried, "to": f"{what}s"}
    )
    report.lines.append(f"{armature.name}: {counted(len(result.converted), what)}: {', '.join(result.converted)}")
    report.warnings += [f"{armature.name}: {message}" for message in result.not_carried]


COMMANDS = {
    "bake": Command(
        "Solve chains and bodies at every frame and insert keyframes on their bones.",
        _add_bake_options,
        lambda *given: bool(_chains_to_bake(*given)) or _bakes_body(*given),
        _bake,
        _chains_to_bake,
    ),
    "solve": Command(
        "Pose the chains at one frame.",
        _add_solve_options,
        lambda *given: bool(_chains_to_solve(*given)),
        _solve,
        _chains_to_solve,
    ),
    "list": Command("List the chains and their errors.", _no_options, lambda *_: True, _list, changes_file=False),
    "convert": Command("Convert IK constraints to chains.", _add_convert_options, _can_convert, _convert),
}
