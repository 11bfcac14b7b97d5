# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A convention for naming bones: one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .part import Role


@dataclass(frozen=True)
class Convention:
    """What the bones of a body are called.

    A word is a bone's name in lower case without prefix, side, digits and separators: ``mixamorig:LeftUpLeg`` and
    ``upLeg.L`` are both ``upleg``.
    """

    name: str
    roles: Mapping[Role, str]
    """Words for each role, with blanks between them."""
    skips: str = ""
    """Words for bones that are no part of a body, with blanks between them."""
    prefix: str = ""
    """Regular expression of what names start with; case doesn't count."""
    words: Mapping[str, frozenset[Role]] = field(init=False)
    """Roles by word: several where a word is in several lines, none where it names a bone that is no part of a body."""

    def __post_init__(self) -> None:
        """Invert the table."""
        words: dict[str, frozenset[Role]] = dict.fromkeys(self.skips.split(), frozenset())
        for role, line in self.roles.items():
            for word in line.split():
                words[word] = words.get(word, frozenset()) | {role}
        object.__setattr__(self, "words", words)
