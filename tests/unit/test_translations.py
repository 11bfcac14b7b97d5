# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts are found in the code, and translations keep placeholders, numbers and units."""

from __future__ import annotations

import re

import pytest

from scripts.translations import LANGUAGES, texts_in, texts_of_code, with_placeholders


@pytest.mark.parametrize(
    ("code", "texts"),
    [
        ("layout.label(text='Add a chain first')", [("*", "Add a chain first")]),
        ("row.operator('pose.solve', text='Solve Active')", [("Operator", "Solve Active")]),
        ("row.operator('pose.solve', text='Solve Active').only_active = True", [("Operator", "Solve Active")]),
        ("row.label(text='All' if all else 'Not all')", [("*", "All"), ("*", "Not all")]),
        ("raise FabrikError(f\"Chain '{name}': {error}\")", [("*", "Chain '{0}': {1}")]),
        ("report(self, {'INFO'}, f'Added {added}')", [("*", "Added {0}")]),
        ("return f'{status} after {count}'", [("*", "{0} after {1}")]),
        ("text += f', stretched to {percent} %'", [("*", "{0}, stretched to {1} %")]),
        ("reason = 'overridden on ' + names", [("*", "overridden on {0}")]),
        ("counted(count, 'bone')", [("*", "1 bone"), ("*", "{0} bones")]),
        ("name = 'bone'", []),
        ("row.prop(chain, 'tip', text='')", []),
        ('"""A docstring of words."""', []),
        ("count: 'Sequence[tuple[float, float]]' = 3", []),
        ("x = BoolProperty(name='Only Active', description='Use only one')", []),
    ],
)
def test_texts_are_found(code: str, texts: list[tuple[str, str]]) -> None:
    assert texts_of_code(code) == texts


def test_names_of_nodes_are_no_texts_and_reasons_among_them_are() -> None:
    code = "math('ADD', a, b, 'Half of reach')\nreturn \"bone 'a' is no native rig\"\nreturn 'FABRIK last link'"
    assert texts_of_code(code, is_of_nodes=True) == [("*", "bone 'a' is no native rig")]


def test_placeholders_are_numbered_and_parts_have_what_is_around_them() -> None:
    assert with_placeholders("a \0 b \0") == "a {0} b {1}"
    assert with_placeholders(", \0 %") == "{0}, {1} %"
    assert with_placeholders("at ") == "at {0}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_keep_placeholders_numbers_and_units(language: str) -> None:
    texts = texts_in(language)
    assert len(texts) > 500
    for (_, text), translation in texts.items():
        if not translation:
            continue
        # Names between quotes too: they are not translated.
        for kept in (r"\{\d\}", r"[%\N{DEGREE SIGN}]", r"\n", r" ms\b", r"'\{\d\}'|'[A-Z]\w+'"):
            assert sorted(re.findall(kept, text)) == sorted(re.findall(kept, translation)), (text, translation)
        numbers, found = (re.findall(r"\d+(?:\.\d+)?", re.sub(r"\{\d\}", "", each)) for each in (text, translation))
        assert not set(numbers) - set(found), (text, translation)
        assert translation == translation.strip() and translation.endswith(".") == text.endswith("."), translation
