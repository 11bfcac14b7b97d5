# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Registers the texts of all languages: Blender then translates labels, tooltips and panel texts by itself.

``scripts/translations.py`` writes the file from ``locale/*.po``; the extension that people install has it.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import bpy

COMPILED = Path(__file__).resolve().parents[2] / "locale/messages.json"

ENGLISH = {"", "en_US"}
"""Blender's names of the language in which the texts are written; the empty one is that of a Blender without others."""

_EXTENSION = "fabrik_ik"


@cache
def load() -> dict[str, dict[tuple[str, str], str]]:
    """Return the texts of each language by context and English text; none where nothing was compiled."""
    if not COMPILED.exists():
        return {}
    compiled = json.loads(COMPILED.read_text(encoding="utf-8"))
    keys = [(context, text) for context, text in compiled.pop("texts")]
    # Blender would show an empty translation.
    return {
        language: {key: text for key, text in zip(keys, texts, strict=True) if text}
        for language, texts in compiled.items()
    }


def templates() -> list[str]:
    """Return the English texts that have placeholders."""
    return sorted({text for texts in load().values() for _, text in texts if "{0}" in text})


_registered: list[str] = []


def follow_language() -> None:
    """Register the texts once the language of Blender is another than English; reading them takes 7 ms.

    Blender has no handler for a change of its language: the panel calls this whenever it is drawn.
    """
    if not _registered and bpy.app.translations.locale not in ENGLISH:
        _registered.append(_EXTENSION)
        bpy.app.translations.register(_EXTENSION, load())  # type: ignore[arg-type]  # the stub knows no contexts


def register() -> None:
    follow_language()


def unregister() -> None:
    if _registered:
        bpy.app.translations.unregister(_registered.pop())
