# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every text of the interface is translated into every language, and messages are translated where they are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabrik_addon.blender.translation import catalogue, messages
from scripts.translations import LANGUAGES, Key, collect, compile_languages, problems_of, texts_in


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The languages as the extension that people install has them."""
    compile_languages(tmp_path / "messages.json")
    monkeypatch.setattr(catalogue, "COMPILED", tmp_path / "messages.json")
    forget()
    yield
    forget()


def forget() -> None:
    """What was read of the languages is read again."""
    catalogue.load.cache_clear()
    messages._patterns.cache_clear()
    messages._translated.cache_clear()


def translator(language: str) -> Callable[[str], str]:
    """What Blender does with a text: its translation, or the text where there is none."""
    texts = catalogue.load()[language]
    return lambda text: texts.get(("*", text)) or text


def translated(message: str, language: str) -> str:
    return messages._translated.__wrapped__(message, translator(language), language)


def test_nothing_is_untranslated_and_nothing_stale() -> None:
    keys: set[Key] = set(collect())
    assert len(keys) > 500
    for language in LANGUAGES:
        assert problems_of(language, keys) == {"untranslated": [], "stale": []}, language


def test_what_is_compiled_is_what_the_languages_have(compiled: None) -> None:
    loaded = catalogue.load()
    assert set(loaded) == set(LANGUAGES)
    for language, texts in loaded.items():
        assert {key for key, text in texts.items() if text} == {key for key, text in texts_in(language).items() if text}


def test_without_compiled_languages_everything_is_english(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "COMPILED", tmp_path / "no such file")
    forget()
    assert catalogue.load() == {} and catalogue.templates() == []
    message = "Chain 'arm': it has no target"
    assert messages.in_interface(message) == messages._translated(message, str, "de_DE") == message
    forget()


def test_in_english_no_template_is_read(compiled: None) -> None:
    message = "Chain 'arm': it has no target"
    assert messages.in_interface(message) == message
    assert messages._patterns.cache_info().currsize == 0


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_parts_of_a_message_are_translated_and_names_are_not(compiled: None, language: str) -> None:
    translate = translator(language)
    said = translated("Chain 'Reached': out of reach, the tip is 12 % from its target: the target's rotation", language)
    assert "'Reached'" in said and "12 %" in said
    for english in ("Chain '", "out of reach", "the tip", "target"):
        assert english not in said
    off = translate("{0}, {1} off").format(translate("Out of Reach"), "0.2 m")
    assert translated("Out of Reach, 0.2 m off", language) == off
    assert translated("'Bone', 3 bones", language) == f"'Bone', {translate('{0} bones').format(3)}"


def test_what_nobody_translated_stays_as_it_is(compiled: None) -> None:
    for message in ("", "  ", "nothing of the kind", "a; b, c", "D: 0.1 m (0.1, 0, 0)"):
        assert translated(message, "de_DE") == message
