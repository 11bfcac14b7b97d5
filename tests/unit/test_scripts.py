# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The development environment says what is missing and what to do about it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts import environment


@given(st.tuples(st.integers(2, 4), st.integers(0, 30)))
def test_a_python_is_refused_exactly_when_no_blender_is_built_for_it(version: tuple[int, int]) -> None:
    reason = environment.python_version_reason(version)
    assert bool(reason) == (version not in {(3, 11), (3, 13)})
    if reason:
        assert "3.11 or 3.13 is needed" in reason
        assert f"this is Python {version[0]}.{version[1]}." in reason
        assert "apt-get install" in reason


@pytest.mark.parametrize(
    ("library", "package"),
    [
        ("libX11.so.6", "libx11-6"),
        ("libXi.so.6", "libxi6"),
        ("libXfixes.so.3", "libxfixes3"),
        ("libXrender.so.1", "libxrender1"),
        ("libxkbcommon.so.0", "libxkbcommon0"),
        ("libSM.so.6", "libsm6"),
        ("libGL.so.1", "libgl1"),
    ],
)
def test_a_missing_library_is_named_with_one_line_that_installs_all(library: str, package: str) -> None:
    error = f"ImportError: {library}: cannot open shared object file: No such file or directory"
    reason = environment.missing_library_reason(error)
    assert f"{library} (package {package})" in reason
    (line,) = re.findall(r"(?m)sudo apt-get install (.*)$", reason)
    everything = {"libx11-6", "libxi6", "libxfixes3", "libxrender1", "libxkbcommon0", "libsm6", "libgl1"}
    assert set(line.split()) == everything


def test_an_unknown_library_is_named_too() -> None:
    reason = environment.missing_library_reason("libnew-thing.so.1.2: cannot open shared object file: No such file")
    assert "libnew-thing.so.1.2" in reason


@given(st.text())
def test_other_errors_are_no_missing_library(error: str) -> None:
    assert environment.missing_library_reason(error) == ""


def test_every_requirement_is_pinned_and_every_python_has_its_blender() -> None:
    requirements = environment.pinned_requirements()
    assert all(re.match(r"[\w.-]+==\d+(\.\d+)*\s*(;|$)", requirement) for requirement in requirements)
    for major, minor in environment.PYTHONS:
        blenders = [pin for pin in requirements if pin.startswith("bpy==") and f"'{major}.{minor}'" in pin]
        assert len(blenders) == 1


def test_every_python_has_an_environment_of_its_own() -> None:
    folders = {environment.environment_python(version).parent.parent for version in environment.PYTHONS}
    assert len(folders) == len(environment.PYTHONS)
    assert all(folder.parent == environment.ROOT and folder.name.startswith(".venv") for folder in folders)
