# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: ``blender FILE --command fabrik bake|solve|list|convert``.

Blender loads the file first, calls ``run`` with what comes after the command's name, and exits with what it returns.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

import bpy

from ...core import FabrikError
from ...standard_output import PrintLine, print_plainly, reserve_for_result
from ..rig.properties import settings_of
from .commands import COMMANDS, JsonObject, Report, UsageError
from .file_structure import check_structure
from .posing_order import posing_order
from .saving import check_readable, make_room, save_to

if TYPE_CHECKING:
    from bpy.types import Object


class Exit(IntEnum):
    """Exit codes."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    WARNINGS = 3


def check_opened() -> None:
    """Raise an error where Blender couldn't open the file of its command line: it goes on with its startup file then.

    Raises:
        UsageError: there is no such file.
        OSError: it couldn't be read.
    """
    words = sys.argv[: sys.argv.index("--command")] if "--command" in sys.argv else []
    files = [word for word in words[1:] if word.lower().endswith(".blend")]
    if bpy.data.filepath or not files:
        return
    if not Path(files[-1]).is_file():
        raise UsageError(f"there is no file '{files[-1]}'")
    raise OSError(f"'{files[-1]}' can't be read")


def run(argv: Sequence[str], print_line: PrintLine | None = None, open_file: Callable[[], None] = check_opened) -> int:
    """Run a command on the file that is open; return the exit code.

    Args:
        argv: the command and its options.
        print_line: prints a line of the result; None reserves standard output for the result where --json is given.
        open_file: opens the file, or checks that it is open; its errors are reported as those of the command.
    """
    try:
        arguments = _parser().parse_args(list(argv))
    except SystemExit as exit_of_parser:  # --help, or wrong usage: the parser has printed its message
        return int(exit_of_parser.code or 0)
    print_line = print_line or (reserve_for_result() if arguments.json else print_plainly)
    try:
        open_file()
        output = _output(arguments)
        if output is not None and arguments.skip_done and _is_done(output):
            return _skip(print_line, arguments, output)
        if output is not None:
            make_room(output)
        report = _run_command(arguments, _progress_shown_by(print_line, arguments))
        if output is not None:
            save_to(output)
    except UsageError as error:
        return _fail(print_line, arguments, str(error), Exit.USAGE)
    except (FabrikError, OSError, RuntimeError) as error:
        return _fail(print_line, arguments, str(error), Exit.FAILED)
    result: JsonObject = {"command": arguments.command, "armatures": report.armatures, "warnings": report.warnings}
    if output is not None:
        result["output"] = str(output)
    _print_report(print_line, arguments, report, result)
    return Exit.WARNINGS if report.warnings and not arguments.warnings_ok else Exit.DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="blender FILE --command fabrik",
        description="Bake, solve, list and convert the FABRIK IK chains of a file.",
        epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done with warnings (as: frames not reached).",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--armature", metavar="NAME", help="only this armature object; otherwise all that the command applies to"
    )
    common.add_argument(
        "--json", action="store_true", help="print the result as one line of JSON, after lines with the progress"
    )
    common.add_argument("--warnings-ok", action="store_true", help="exit with 0 instead of 3 where there are warnings")
    saving = argparse.ArgumentParser(add_help=False)
    saving.add_argument("--output", type=Path, metavar="FILE", help="the .blend file to write")
    saving.add_argument("--in-place", action="store_true", help="write over the file that was opened")
    saving.add_argument(
        "--skip-done", action="store_true", help="do nothing if the output is complete and newer than the file"
    )
    for name, command in COMMANDS.items():
        parents = [common, saving] if command.changes_file else [common]
        command.add_options(commands.add_parser(name, parents=parents, help=command.help, description=command.help))
    return parser


def _output(arguments: argparse.Namespace) -> Path | None:
    """Return the file to write, or None where the command writes none.

    Raises:
        UsageError: no file is given, or it can't be written.
    """
    if not COMMANDS[arguments.command].changes_file:
        return None
    opened = Path(bpy.data.filepath) if bpy.data.filepath else None
    if arguments.in_place:
        if arguments.output is not None:
            raise UsageError("--output and --in-place exclude each other")
        if arguments.skip_done:
            raise UsageError("--skip-done needs --output: with --in-place there is no output besides the file itself")
        if opened is None:
            raise UsageError("--in-place needs a file that was opened: blender FILE --command fabrik ...")
        _check_writable(opened)
        return opened
    if arguments.output is None:
        raise UsageError("say where to write: --output FILE, or --in-place for the file that was opened")
    # Blender's own "//", the folder of the file that is open.
    output = Path(bpy.path.abspath(str(arguments.output))).absolute()
    if output.suffix != ".blend":
        raise UsageError(f"--output '{output}' is no .blend file")
    if not output.parent.is_dir():
        raise UsageError(f"--output '{output}': there is no folder '{output.parent}'")
    if opened is not None and output.exists() and output.samefile(opened):
        raise UsageError(f"--output '{output}' is the file that was opened: write over it with --in-place")
    if output.is_dir():
        raise UsageError(f"--output '{output}' is a folder")
    _check_writable(output)
    return output


def _check_writable(output: Path) -> None:
    """Raise an error for a write-protected file or folder, before the work is done.

    Raises:
        UsageError: which file or folder it is.
    """
    path = output.resolve()
    # The mode as well: os.access lets an administrator write files that are marked as read-only.
    if path.exists() and not (os.access(path, os.W_OK) and path.stat().st_mode & 0o222):
        raise UsageError(f"'{output}' is write-protected")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"the folder of '{output}' is write-protected")


def _is_done(output: Path) -> bool:
    """Tell whether an output is whole and newer than the file that is open, or as new."""
    opened = Path(bpy.data.filepath)
    if not (bpy.data.filepath and output.is_file()) or output.stat().st_mtime < opened.stat().st_mtime:
        return False
    try:
        check_structure(output)
        check_readable(output)
    except (OSError, RuntimeError):
        return False
    return True


def _skip(print_line: PrintLine, arguments: argparse.Namespace, output: Path) -> int:
    if arguments.json:
        print_line(json.dumps({"command": arguments.command, "output": str(output), "skipped": True}))
    else:
        print_line(f"skipped: {output} is done")
    return Exit.DONE


def _progress_shown_by(print_line: PrintLine, arguments: argparse.Namespace) -> Callable[[str, int], None]:
    """Return a function that shows progress: a line of JSON with --json, else a line that a terminal overwrites."""

    def print_json(armature: str, percent: int) -> None:
        print_line(json.dumps({"command": arguments.command, "armature": armature, "progress": percent / 100}))

    def overwrite_line(armature: str, percent: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{armature}: {percent} %", end="\n" if percent == 100 else "", file=sys.stderr, flush=True)

    return print_json if arguments.json else overwrite_line


def _run_command(arguments: argparse.Namespace, show_progress: Callable[[str, int], None]) -> Report:
    command = COMMANDS[arguments.command]
    if bpy.context.mode == 'EDIT_ARMATURE':  # as the file was saved; Blender computes no pose there
        bpy.ops.object.mode_set(mode='OBJECT')
    armatures = [obj for obj in bpy.context.scene.objects if obj.type == 'ARMATURE']
    if arguments.armature is not None:
        armatures = [obj for obj in armatures if obj.name == arguments.armature]
        if not armatures:
            raise UsageError(f"there is no armature '{arguments.armature}' in the scene '{bpy.context.scene.name}'")
    _check_chains(armatures, arguments)
    if getattr(arguments, "frame", None) is not None:
        # Once: it would overwrite what is posed and not keyed, also that of the armatures before.
        bpy.context.scene.frame_set(arguments.frame)
    chosen = [obj for obj in armatures if arguments.armature is not None or command.applies_to(obj, arguments)]
    if not chosen and command.changes_file:
        raise FabrikError(f"there is nothing to {arguments.command} in the scene '{bpy.context.scene.name}'")
    if command.changes_file:
        # A linked armature can't be changed; its library override has the same name.
        chosen = [obj for obj in chosen if obj.library is None] or chosen
    order, warnings = posing_order({armature: command.poses(armature, arguments) for armature in chosen})
    report = Report(show_progress, warnings=warnings)
    for armature in order:
        with _armature_in_errors(armature):
            command.run(armature, arguments, report)
    if command.changes_file and not report.armatures:
        raise FabrikError("; ".join(report.warnings))
    if not report.armatures:
        report.lines.append(f"there is no armature in the scene '{bpy.context.scene.name}'")
    return report


def _check_chains(armatures: Sequence[Object], arguments: argparse.Namespace) -> None:
    """Raise a UsageError for names of chains that no armature has."""
    for name in getattr(arguments, "chain", None) or ():
        if not any(name in settings_of(obj).chains for obj in armatures):
            raise UsageError(f"there is no chain '{name}'")


@contextmanager
def _armature_in_errors(armature: Object) -> Iterator[None]:
    """Put the armature in front of the message of a FabrikError."""
    try:
        yield
    except FabrikError as error:
        raise FabrikError(f"{armature.name}: {error}") from error


def _print_report(print_line: PrintLine, arguments: argparse.Namespace, report: Report, result: JsonObject) -> None:
    if arguments.json:
        print_line(json.dumps(result))
        return
    for line in report.lines:
        print_line(line)
    for warning in report.warnings:
        print(f"warning: {warning}", file=sys.stderr, flush=True)
    if "output" in result:
        print_line(f"saved {result['output']}")


def _fail(print_line: PrintLine, arguments: argparse.Namespace, message: str, code: Exit) -> int:
    message = message.removeprefix("Error: ").strip()  # Blender's own messages have this prefix and a line break
    if arguments.json:
        print_line(json.dumps({"command": arguments.command, "error": message}))
    print(f"fabrik {arguments.command}: error: {message}", file=sys.stderr, flush=True)
    return code
