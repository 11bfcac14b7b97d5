# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validate the extension and build ``dist/fabrik_ik-VERSION.zip`` with Blender's own tool.

Before that the languages are compiled. The tool is the ``blender`` on the PATH if there is one, else the script inside
the bpy wheel of the development environment: the same code. The same files give the same archive, byte for byte.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import environment

TOP_LEVEL = {"LICENSE", "README.md", "__init__.py", "blender_manifest.toml", "fabrik_addon"}
"""Everything at the top of the archive; any other entry is missing from the manifest's exclude list."""

_TOOL_SECONDS = 120.0
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip can hold


def main() -> None:
    """Build the archive and print where it is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path, default=environment.ROOT / "dist", metavar="DIR", help="default: dist")
    arguments = parser.parse_args()

    environment.enter()
    import tomllib  # after enter(), which prints the reason where this Python is too old to have it

    import translations

    translations.compile_languages()
    blender = shutil.which("blender")

    tool = [blender, "--command", "extension"] if blender else _wheel_tool()

    with (environment.ROOT / "blender_manifest.toml").open("rb") as file:
        manifest = tomllib.load(file)
    archive = arguments.output.resolve() / f"{manifest['id']}-{manifest['version']}.zip"
    archive.parent.mkdir(parents=True, exist_ok=True)
    archive.unlink(missing_ok=True)  # after a failed build there is no archive

    tags = [] if blender else ["--valid-tags", str(_wheel_scripts() / "modules/_bpy_internal/extensions/tags.py")]
    _run([*tool, "validate", *tags, str(environment.ROOT)])
    _run([*tool, "build", *tags, "--source-dir", str(environment.ROOT), "--output-filepath", str(archive)])
    _make_reproducible(archive)
    _check_top_level(archive)
    _run([*tool, "validate", *tags, str(archive)])
    print(f"{archive}  {archive.stat().st_size:,} bytes")


def _wheel_scripts() -> Path:
    spec = importlib.util.find_spec("bpy")  # found, not imported: loading Blender would take seconds
    if spec is None or spec.origin is None:
        sys.exit("the environment has no bpy: delete it and run this again")
    return next(path for path in Path(spec.origin).parent.glob("*/scripts") if path.parent.name[0].isdigit())


def _wheel_tool() -> list[str]:
    return [sys.executable, str(_wheel_scripts() / "addons_core/bl_pkg/cli/blender_ext.py")]


def _run(command: list[str]) -> None:
    try:
        status = subprocess.run(command, timeout=_TOOL_SECONDS).returncode
    except subprocess.TimeoutExpired:
        sys.exit(f"stopped after {_TOOL_SECONDS:.0f} s: {' '.join(command)}")
    if status:
        sys.exit(f"Blender's extension tool failed with status {status}: {' '.join(command)}")


def _make_reproducible(archive: Path) -> None:
    """Rewrite the archive in order of names and without times: the tool takes both from the file system."""
    with zipfile.ZipFile(archive) as built:
        contents = {info.filename: built.read(info) for info in built.infolist()}
    readme = without_absent_files(contents["README.md"].decode(), set(contents))
    contents["README.md"] = readme.encode()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as rewritten:
        for name in sorted(contents):
            info = zipfile.ZipInfo(name, _ZIP_EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o100644 << 16
            info.create_system = 3  # Unix, wherever this runs
            rewritten.writestr(info, contents[name], compresslevel=9)


def without_absent_files(page: str, names: set[str]) -> str:
    """Return a markdown page for an archive that has only some of the files that the page refers to.

    Pictures that aren't in the archive are left out; links to absent files become text with the file's path.

    Args:
        page: the text.
        names: of the files in the archive.
    """

    def is_present(path: str) -> bool:
        return "://" in path or path.startswith("#") or path.partition("#")[0] in names

    page = re.sub(r"!\[[^]]*]\(([^)]*)\)\n*", lambda found: found[0] if is_present(found[1]) else "", page)
    link = re.compile(r"\[([^]]*)]\(([^)]*)\)")

    def as_text(found: re.Match[str]) -> str:
        text, path = found.groups()
        if is_present(path):
            return found[0]
        return f"{path} in the source" if text == path else f"{text} ({path} in the source)"

    return link.sub(as_text, page)


def _check_top_level(archive: Path) -> None:
    with zipfile.ZipFile(archive) as built:
        found = {name.partition("/")[0] for name in built.namelist()}
    problems = [f"not meant to be in the extension: {name}" for name in sorted(found - TOP_LEVEL)]
    problems += [f"not in the archive: {name}" for name in sorted(TOP_LEVEL - found)]
    if problems:
        archive.unlink()
        sys.exit("\n".join(["no archive was built:", *problems]))


if __name__ == "__main__":
    main()
