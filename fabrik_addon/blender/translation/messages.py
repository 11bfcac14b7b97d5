# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Translates messages where they are shown.

The core and the modules that compute make messages in English, as f-strings, without Blender, and the command line
prints these messages as they are. What is shown to a person in another language is translated here. Of all
templates such as ``Chain '{0}': {1}`` the one with the most words that fits the message gives the values of the
placeholders, and its translation is filled with the translated values. A value between quotes is a name and stays as
it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import bpy
from bpy.app.translations import pgettext_iface, pgettext_rpt

from .catalogue import ENGLISH, templates

if TYPE_CHECKING:
    from bpy.types import Operator

_PLACEHOLDER = re.compile(r"\{(\d)\}")
_COUNTED = re.compile(r"\{0\} [a-z ]+")
"""A number and its noun: ``{0} bones``."""

_SEPARATORS = ("; ", ", ")


def report(operator: Operator, kinds: set[str], message: str) -> None:
    """Report a message in the language of reports."""
    operator.report(kinds, _translated(message, pgettext_rpt, bpy.app.translations.locale))  # type: ignore[arg-type]


def in_interface(message: str) -> str:
    """Return a message in the language of the interface, for labels, headers and the status bar."""
    return _translated(message, pgettext_iface, bpy.app.translations.locale)


@lru_cache(maxsize=512)
def _translated(message: str, translate: Callable[[str], str], locale: str) -> str:
    """Return a translated message; the language is an argument because what is kept holds for one language."""
    if locale in ENGLISH or not message.strip():
        return message
    whole = translate(message)
    if whole != message:
        return whole
    for template, pattern, are_names in _patterns():
        found = pattern.fullmatch(message)
        if found is None:
            continue
        translation = translate(template)
        if translation == template:  # a person who wants messages in English
            return message
        values = zip(found.groups(), are_names, strict=True)
        return translation.format(
            *(value if is_name else _translated(value, translate, locale) for value, is_name in values)
        )
    for separator in _SEPARATORS:
        if separator in message:
            return separator.join(_translated(part, translate, locale) for part in message.split(separator))
    return message


@cache
def _patterns() -> list[tuple[str, re.Pattern[str], tuple[bool, ...]]]:
    """Return the templates, those with the most words first; with which placeholders are names between quotes."""
    longest_first = sorted(templates(), key=lambda template: -len(_PLACEHOLDER.sub("", template)))
    return [(template, *_pattern_of(template)) for template in longest_first]


def _pattern_of(template: str) -> tuple[re.Pattern[str], tuple[bool, ...]]:
    parts = _PLACEHOLDER.split(template)
    pattern = re.escape(parts[0])
    are_names = []
    for number in range(1, len(parts), 2):
        are_names.append(parts[number - 1].endswith("'") and parts[number + 1].startswith("'"))
        value = "([0-9.]+)" if _COUNTED.fullmatch(template) else "(.*?)"
        pattern += value + re.escape(parts[number + 1])
    return re.compile(pattern, re.DOTALL), tuple(are_names)
