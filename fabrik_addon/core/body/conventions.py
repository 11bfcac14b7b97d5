# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conventions for naming bones: the tables of ``conventions.txt``."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from .part import Role

_USUAL = "spine spine; neck neck; head head; upper_arm upperarm; hand hand; foot foot"
"""Words of most conventions."""


class Convention(NamedTuple):
    """A convention; where two fit a skeleton equally well, the earlier one is taken."""

    prefix: str
    words: Mapping[str, frozenset[Role]]
    """Roles by word: several where a word is in several lines, none where it names a bone that is no part of a body."""


def _convention(table: str) -> Convention:
    head, _, body = table.partition("\n")
    _, _, prefix = head.partition("]")
    lines = {**_rows(_USUAL), **_rows(body)}
    words: dict[str, frozenset[Role]] = dict.fromkeys(lines.pop("-", []), frozenset())
    for role, line in lines.items():
        for word in line:
            words[word] = words.get(word, frozenset()) | {Role[role.upper()]}
    return Convention(prefix.strip(), words)


def _rows(body: str) -> dict[str, list[str]]:
    text = " ".join(line for line in body.splitlines() if not line.startswith("#"))
    return {role: words for role, *words in map(str.split, text.split(";"))}


*CONVENTIONS, COMMON = map(_convention, Path(__file__).with_name("conventions.txt").read_text("utf-8").split("\n[")[1:])
"""``COMMON`` has words of no convention in particular, and those of animals: read where the skeleton's own has
none."""
