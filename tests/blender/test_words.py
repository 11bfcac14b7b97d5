# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people read: title case, one name for an operator wherever it is called, no words of our own."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import pytest
from bpy.types import Operator, Panel, PropertyGroup

from fabrik_addon.blender import _MODULES as MODULES
from fabrik_addon.blender.convert.to_chains import motion_messages
from fabrik_addon.blender.interface import animation_panels, body_tool, menu, native_operators
from fabrik_addon.blender.rig.wording import counted, length_text, percentage, plain
from tests.blender.rigs import add_chain, make_tail
from tests.blender.test_panel import Drawing

ROOT = Path(__file__).resolve().parent.parent.parent
SMALL_WORDS = {"a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"}
OUR_OWN = ("what the chains see", "usual joint", "makes up for", "a wish", "Pinned Hold")
BLENDERS_OWN = {"rna_type", "name", "bl_rna", "remove_name", "remove_active"}


def kinds(base: type) -> list[Any]:
    found = {kind for module in MODULES for kind in vars(module).values() if isinstance(kind, type)}
    return sorted(
        (kind for kind in found if issubclass(kind, base) and kind != base and kind.is_registered),
        key=lambda kind: kind.__name__,
    )


def operators() -> list[Any]:
    return [kind for kind in kinds(Operator) if getattr(kind, "bl_idname", "").startswith("pose.fabrik_")]


def rna_of(operator: Any) -> Any:
    return getattr(bpy.ops.pose, operator.bl_idname.partition(".")[2]).get_rna_type()


def own_properties() -> Iterator[tuple[str, Any]]:
    owners = [*((kind.bl_idname, rna_of(kind)) for kind in operators())]
    owners += [(kind.__name__, kind.bl_rna) for kind in kinds(PropertyGroup)]
    for owner, rna in owners:
        for one in rna.properties:
            if one.identifier not in BLENDERS_OWN:
                yield f"{owner}.{one.identifier}", one


def titles() -> Iterator[tuple[str, str]]:
    for kind in operators():
        yield kind.bl_idname, kind.bl_label
    for kind in kinds(Panel):
        if hasattr(kind, "bl_label"):
            yield kind.__name__, kind.bl_label
    for where, one in own_properties():
        yield where, one.name
        if one.type == "ENUM":
            yield from ((f"{where} {item.identifier}", item.name) for item in one.enum_items)


def tooltips() -> Iterator[tuple[str, str]]:
    for kind in operators():
        yield kind.bl_idname, rna_of(kind).description
    for where, one in own_properties():
        yield where, one.description
        if one.type == "ENUM":
            yield from ((f"{where} {item.identifier}", item.description) for item in one.enum_items)


def test_every_operator_is_looked_at() -> None:
    made = {name for name in dir(bpy.ops.pose) if name.startswith("fabrik_")}
    assert {kind.bl_idname.partition(".")[2] for kind in operators()} == made and len(made) > 10


def test_titles_are_in_title_case() -> None:
    for where, title in titles():
        words = title.replace("(", "").replace(")", "").split()
        assert words, where
        for place, word in enumerate(words):
            is_small = word in SMALL_WORDS and 0 < place < len(words) - 1
            assert is_small or not word[0].isalpha() or word[0].isupper(), f"{where}: {title}"


def test_tooltips_are_blenders_kind_of_sentence() -> None:
    """One sentence, begun with a capital, without the full stop that Blender adds."""
    for where, text in tooltips():
        if not text and where.rpartition(".")[2] in {"chains", "active_index", "body"}:
            continue
        assert text and (text[0].isupper() or text[0].isdigit()), f"{where}: {text}"
        assert not text.endswith("."), f"{where}: {text}"


def test_words_of_our_own_are_gone() -> None:
    texts = [*titles(), *tooltips()]
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    texts += [(page.name, page.read_text(encoding="utf-8")) for page in pages if page.name in MANUAL]
    for where, text in texts:
        found = [words for words in OUR_OWN if words in " ".join(text.split())]
        assert not found, f"{where}: {found}"
        assert not re.search(r"\b1 (chain|frame|bone|constraint)s\b", text), where


MANUAL = {
    "README.md",
    "baking.md",
    "bodies.md",
    "chains.md",
    "conversion.md",
    "dragging.md",
    "joint-limits.md",
    "native-rig.md",
}
MANUAL |= {"several-targets.md", "solvers.md", "stretch.md"}


def test_the_manual_calls_every_operator_by_its_name() -> None:
    manual = " ".join(" ".join((ROOT / page).read_text(encoding="utf-8").split()) for page in manual_pages())
    for kind in operators():
        # Not the buttons + and -, and those of the preset menus.
        is_named = kind.bl_idname not in {"pose.fabrik_chain_add", "pose.fabrik_chain_remove"}
        if is_named and "INTERNAL" not in kind.bl_options:
            assert re.search(rf"\*{kind.bl_label}(…|\*)", manual), kind.bl_label


def manual_pages() -> list[str]:
    return [name if name == "README.md" else f"docs/{name}" for name in sorted(MANUAL)]


@pytest.mark.parametrize("module", [animation_panels, native_operators])
def test_buttons_have_the_operators_names(module: Any) -> None:
    """What ``test_panel`` checks of the other panels."""
    add_chain(make_tail(3), "bone2", 3)
    for kind in [kind for kind in kinds(Panel) if kind.__module__ == module.__name__]:
        drawn: list[tuple[str, str]] = []
        kind.draw(Drawing(kind, drawn), bpy.context)
        assert [what for what, _ in drawn].count("operator") >= 2


def test_menu_search_finds_what_can_be_done() -> None:
    """It finds what is in a menu, and in the menus there."""
    add_chain(make_tail(3), "bone2", 3)
    drawn: list[tuple[str, str]] = []
    for kind in (menu.VIEW3D_MT_fabrik, body_tool.VIEW3D_MT_fabrik_handle):
        kind.draw(Drawing(kind, drawn), bpy.context)  # type: ignore[arg-type]
    assert ("menu", "VIEW3D_MT_fabrik_handle") in drawn
    found = {kind.bl_idname for kind in operators() if "INTERNAL" not in kind.bl_options}
    assert {name for what, name in drawn if what == "operator"} == found
    above: list[tuple[str, str]] = []
    for draw in bpy.types.VIEW3D_MT_pose_ik._dyn_ui_initialize():
        draw(Drawing(bpy.types.VIEW3D_MT_pose_ik, above), bpy.context)  # type: ignore[arg-type]
    assert ("menu", "VIEW3D_MT_fabrik") in above


def test_the_tagline_says_what_it_is() -> None:
    manifest = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))
    tagline = manifest["tagline"]
    assert len(tagline) <= 64 and tagline[-1].isalnum()
    for words in ("nverse kinematics", "bone", "bake"):
        assert words in tagline


def test_numbers_and_their_nouns() -> None:
    assert [counted(count, "chain") for count in (0, 1, 2)] == ["0 chains", "1 chain", "2 chains"]
    shares = (0.0, 1e-9, 1e-5, 0.0123456, 0.5, 12.3456, 5e3)
    assert [percentage(share) for share in shares] == [
        "0 %", "under 0.001 %", "0.001 %", "1.23 %", "50 %", "1235 %", "500000 %",
    ]  # fmt: skip
    assert "e" not in percentage(9.9949).replace("under", "")
    assert [plain(number) for number in (0.0, 3e-5, 99.6, 180.0, 1813.4)] == ["0", "0.000030", "99.6", "180", "1813"]


def test_lengths_on_rigs_of_millimetres() -> None:
    """The tolerance of a chain 3 mm long is 0.3 µm; that was written as 0 m."""
    units = bpy.context.scene.unit_settings
    lengths = (0.0, -0.0, 3e-7, -3e-7, 2e-6, 0.24)
    texts = {
        "METRIC": ["0 m", "0 m", "300 nm", "-300 nm", "2 µm", "24 cm"],
        "IMPERIAL": ["0'", "0'", "0.01181 thou", "-0.01181 thou", "0.000007'", "9.449\""],
        "NONE": ["0", "0", "3e-07", "-3e-07", "2e-06", "0.24"],
    }
    for system, expected in texts.items():
        units.system = system
        assert [length_text(units, length) for length in lengths] == expected


def test_a_bone_that_is_far_off_is_told_of_without_an_exponent() -> None:
    """A small bone of Rigify's cat was off by 18 times its length: "1.81e+03 %"."""
    armature = make_tail(3)
    before = {bone.name: bone.matrix.copy() for bone in armature.pose.bones}
    armature.pose.bones["bone0"].location.z = 20.0
    bpy.context.view_layer.update()
    (message,) = motion_messages(armature, before, 0.01)
    assert re.search(r" by [1-9]\d{3} % of its length", message), message
