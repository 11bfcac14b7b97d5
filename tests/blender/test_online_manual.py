# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Online Manual entry of every operator and property leads to a page and a heading that exist."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import bpy
import pytest
from bl_operators.wm import WM_OT_doc_view_manual
from markdown.extensions.toc import slugify

from fabrik_addon.blender.interface import online_manual
from fabrik_addon.blender.interface.online_manual import PLACES, _places
from scripts.translations import registered_classes

DOCS = Path(__file__).resolve().parents[2] / "docs"


def documented() -> list[str]:
    """The names by which Blender asks for the pages of all operators and properties."""
    names = [f"bpy.ops.{kind.bl_idname}" for kind in registered_classes(bpy.types.Operator)]
    for kind in registered_classes(bpy.types.PropertyGroup):
        names += [f"bpy.types.{kind.__name__}.{one}" for one in kind.__annotations__]
    return names


def place_of(name: str) -> str:
    url = WM_OT_doc_view_manual._lookup_rna_url(name, verbose=False)
    assert url is not None, f"{name} has no place in PLACES of online_manual.py"
    address, _ = _places()
    assert url.startswith(address), name
    return url.removeprefix(address)


def headings(page: Path) -> set[str]:
    found = re.findall(r"(?m)^#+ (.*)$", page.read_text(encoding="utf-8"))
    return {slugify(heading.replace("`", ""), "-") for heading in found}


def test_every_operator_and_property_has_a_place() -> None:
    names = documented()
    assert len(names) > 50
    assert all(map(place_of, names))


@pytest.mark.parametrize("is_built", [False, True])
def test_the_address_is_the_website_or_the_pages_built_in_a_checkout(
    is_built: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "chains/index.html"
    if is_built:
        page.parent.mkdir()
        for file in (page, tmp_path / "index.html"):
            file.write_text("", encoding="utf-8")
    monkeypatch.setattr(online_manual, "_BUILT", tmp_path)
    url = WM_OT_doc_view_manual._lookup_rna_url("bpy.ops.pose.fabrik_solve", verbose=False)
    website = tomllib.loads((DOCS.parent / "blender_manifest.toml").read_text(encoding="utf-8"))["website"]
    assert url == (f"{page.as_uri()}#status" if is_built else f"{website}chains/#status")


@pytest.mark.parametrize("place", PLACES)
def test_every_place_exists(place: str) -> None:
    page, _, anchor = place.partition("#")
    path = DOCS / f"{page.strip('/')}.md"
    assert path.is_file()
    assert not anchor or anchor in headings(path)


def test_every_name_is_one_that_there_is() -> None:
    there = {name.lower() for name in documented()} | {"bpy.types.object.fabrik"}
    for name, _ in _places()[1]:
        assert any(fnmatchcase(each, name) for each in there), name
