# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each command does to one armature, and which options it has."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import bpy

from ...core import FabrikError
from ..animation.animated_settings import chains_to_bake
from ..animation.frame_range import FIRST_FRAME, LAST_FRAME
from ..animation.keyed_frames import frames_to_bake
from ..bake.bake_chains import bake_chains
from ..bake.bake_report import sentence_of
from ..convert.to_chains import constraints_to_chains, constraints_to_convert
from ..convert.to_constraints import chains_to_constraints, chains_to_convert
from ..rig.chain_bones import bones_of_chain
from ..rig.properties import chosen_chains, settings_of
from ..rig.snapshot import take_snapshot
from ..solving.solve_chains import solve_chains

if TYPE_CHECKING:
    from bpy.types import Object

    from ..rig.properties import FabrikChain


class UsageError(Exception):
    """The command line asks for what can't be done."""


@dataclass
class Done:
    """What a command has done, over all armatures."""

    found: list[dict[str, Any]] = field(default_factory=list)
    """One entry for each armature, as plain data."""
    lines: list[str] = field(default_factory=list)
    """The same for people."""
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Command:
    """One of the commands."""

    help: str
    add_options: Callable[[argparse.ArgumentParser], None]
    applies_to: Callable[[Object, argparse.Namespace], bool]
    run: Callable[[Object, argparse.Namespace, Done], None]
    changes_file: bool = True


def _has_chains(armature: Object, arguments: argparse.Namespace) -> bool:
    if arguments.chain:
        return any(name in settings_of(armature).chains for name in arguments.chain)
    return any(chain.enabled for chain in settings_of(armature).chains)


def _has_chains_to_bake(armature: Object, arguments: argparse.Namespace) -> bool:
    if arguments.chain:
        return _has_chains(armature, arguments)
    try:
        return bool(chains_to_bake(armature, only_active=False))
    except FabrikError:
        return False


def _can_convert(armature: Object, arguments: argparse.Namespace) -> bool:
    return bool(chains_to_convert(armature) if arguments.back else constraints_to_convert(armature.pose.bones))


def _no_options(_parser: argparse.ArgumentParser) -> None:
    pass


def _chains(
    armature: Object, names: list[str] | None, choose: Callable[[Object, bool], list[FabrikChain]] = chosen_chains
) -> list[FabrikChain]:
    """Return the chains of an armature that can be changed: those of given names, else those that are chosen.

    Raises:
        FabrikError: there are none, or the armature can't be changed.
    """
    _check(armature)
    if names is None:
        return choose(armature, False)
    chains = settings_of(armature).chains
    return [chains[name] for name in dict.fromkeys(names) if name in chains]


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s'[: count != 1]}"


def _check(armature: Object) -> None:
    if armature.library is not None:
        raise FabrikError("it is linked: make a library override first")
    if armature.data.pose_position == 'REST':
        raise FabrikError("it is shown in rest position: switch to pose position")


# bake


def _add_bake_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--chain", action="append", metavar="NAME", help="this chain alone; may be given several times")
    parser.add_argument("--start", type=_frame, metavar="N", help="first frame; else the scene's")
    parser.add_argument("--end", type=_frame, metavar="N", help="last frame; else the scene's")
    parser.add_argument("--step", type=_positive, default=1, metavar="N", help="frames from one key to the next")
    parser.add_argument("--only-keyed", action="store_true", help="key frames alone at which something is keyed")
    parser.add_argument("--smart", action="store_true", help="leave out keys that the curve makes up for")
    parser.add_argument(
        "--tolerance",
        type=_positive_angle,
        default=0.1,
        metavar="DEGREES",
        help="angle that --smart may be off by: 0.1",
    )


def _whole_number(least: int, most: int) -> Callable[[str], int]:
    """Return what reads a whole number within bounds."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is no whole number") from None
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{number} is not from {least} to {most}")
        return number

    return read


_frame, _positive = _whole_number(FIRST_FRAME, LAST_FRAME), _whole_number(1, LAST_FRAME)


def _positive_angle(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no number") from None
    if not 0.0 < number <= 180.0:
        raise argparse.ArgumentTypeError("must be more than 0 and at most 180")
    return number


def _bake(armature: Object, arguments: argparse.Namespace, done: Done) -> None:
    scene = bpy.context.scene
    chains = _chains(armature, arguments.chain, chains_to_bake)
    start = scene.frame_start if arguments.start is None else arguments.start
    end = scene.frame_end if arguments.end is None else arguments.end
    if end < start:
        raise UsageError(f"the end frame {end} is before the start frame {start}")
    frames = frames_to_bake(scene, armature, chains, (start, end), arguments.step, arguments.only_keyed)
    if not frames:
        raise FabrikError(f"nothing is keyed from frame {start} to {end}")
    tolerance = math.radians(arguments.tolerance) if arguments.smart else None
    work = bake_chains(scene, bpy.context.view_layer, armature, chains, frames, (start, end), tolerance)
    baked = _work_through(work, armature.name)
    entries = []
    for chain in baked:
        unreached = [{"frame": miss.frame, "status": miss.status, "error": miss.error} for miss in chain.unreached]
        entries.append({"chain": chain.name, "not_reached": unreached, "overridden": list(chain.overridden)})
        if sentence := sentence_of(chain):
            done.warnings.append(f"{armature.name}: chain '{chain.name}': {sentence}")
    done.found.append({"armature": armature.name, "frames": frames, "chains": entries})
    done.lines.append(f"{armature.name}: baked {_counted(len(baked), 'chain')} over {_counted(len(frames), 'frame')}")


def _work_through(work: Any, name: str) -> Any:
    """Run a generator to its end and return its result; tell a person who watches how far it is."""
    shown = -1
    while True:
        try:
            done = next(work)
        except StopIteration as result:
            return result.value
        if sys.stderr.isatty() and (now := int(100 * done)) != shown:
            shown = now
            print(f"\r{name}: {now} %", end="\n" if now == 100 else "", file=sys.stderr, flush=True)


# solve


def _add_solve_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--chain", action="append", metavar="NAME", help="this chain alone; may be given several times")
    parser.add_argument("--frame", type=_frame, metavar="N", help="frame to go to; else the one the file was saved at")


def _solve(armature: Object, arguments: argparse.Namespace, done: Done) -> None:
    scene = bpy.context.scene
    if arguments.frame is not None:
        scene.frame_set(arguments.frame)
    results, changed = solve_chains(bpy.context.view_layer, armature, _chains(armature, arguments.chain))
    for owner, name in changed:
        if isinstance(owner, bpy.types.PoseBone):
            # What is animated would be lost at the next frame.
            owner.keyframe_insert(name, frame=scene.frame_current_final, options={'INSERTKEY_AVAILABLE'})
    entries = []
    for name, result in results:
        entry = {"chain": name, "status": result.status, "error": result.error, "iterations": result.iterations}
        entries.append({**entry, "message": result.message, "overridden": list(result.overridden)})
        words = result.message or ("overridden on " + ", ".join(result.overridden) if result.overridden else "")
        if words:
            done.warnings.append(f"{armature.name}: chain '{name}': {words}")
        done.lines.append(
            f"{armature.name}: {name}: {result.status.lower().replace('_', ' ')}, error {result.error:.2g}"
        )
    done.found.append({"armature": armature.name, "frame": scene.frame_current, "chains": entries})


# list


def _list(armature: Object, _arguments: argparse.Namespace, done: Done) -> None:
    entries: list[dict[str, Any]] = []
    for chain in settings_of(armature).chains:
        entry = {"chain": chain.name, "enabled": chain.enabled, "tip": chain.tip, "influence": chain.influence}
        entry |= {
            "target": _name(chain.target, chain.subtarget),
            "pole": _name(chain.pole_target, chain.pole_subtarget),
        }
        try:
            entry["bones"] = [
                bone.name for bone in bones_of_chain(armature, chain.tip, chain.chain_count, chain.use_tail)
            ]
            take_snapshot(bpy.context.view_layer, armature, chain)
        except FabrikError as error:
            entry["problem"] = str(error)
            if chain.enabled:
                done.warnings.append(f"{armature.name}: {error}")
        entries.append(entry)
    constraints = [
        {"bone": bone.name, "constraint": constraint.name, "muted": constraint.mute}
        for bone in armature.pose.bones
        for constraint in bone.constraints
        if constraint.type == 'IK'
    ]
    done.found.append({"armature": armature.name, "chains": entries, "ik_constraints": constraints})
    done.lines.append(
        f"{armature.name}: {_counted(len(entries), 'chain')}, {_counted(len(constraints), 'IK constraint')}"
    )
    for entry in entries:
        off = "" if entry["enabled"] else " (off)"
        bones = " > ".join(entry.get("bones", ["?"]))
        pole = f", pole {entry['pole']}" if entry["pole"] else ""
        done.lines.append(f"  {entry['chain']}{off}: {bones}, target {entry['target'] or 'none'}{pole}")


def _name(obj: Object | None, bone_name: str) -> str | None:
    if obj is None:
        return None
    return f"{obj.name}/{bone_name}" if bone_name and obj.type == 'ARMATURE' else obj.name


# convert


def _add_convert_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--back", action="store_true", help="chains to constraints instead of constraints to chains")


def _convert(armature: Object, arguments: argparse.Namespace, done: Done) -> None:
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
        done.warnings.append(f"{armature.name}: {error}")  # that is no reason to leave out the others
        return
    what = "constraint" if arguments.back else "chain"
    done.found.append(
        {"armature": armature.name, "converted": result.converted, "not_carried": result.not_carried, "to": f"{what}s"}
    )
    done.lines.append(f"{armature.name}: {_counted(len(result.converted), what)}: {', '.join(result.converted)}")
    done.warnings += [f"{armature.name}: {loss}" for loss in result.not_carried]


COMMANDS = {
    "bake": Command("Key what solving gives at every frame.", _add_bake_options, _has_chains_to_bake, _bake),
    "solve": Command("Pose the chains at one frame.", _add_solve_options, _has_chains, _solve),
    "list": Command("Show chains, and what is wrong with them.", _no_options, lambda *_: True, _list, False),
    "convert": Command("Turn IK constraints into chains.", _add_convert_options, _can_convert, _convert),
}
