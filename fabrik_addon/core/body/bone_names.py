# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the names of the bones say: roles and sides."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .conventions import COMMON, CONVENTIONS, Convention
from .part import Role, Side

TRUNK = (Role.TAIL, Role.HIPS, Role.SPINE, Role.CHEST, Role.NECK, Role.HEAD)
"""The parts of the trunk, from its end to the head."""

LEAST_ROLES = 3
"""A convention is taken for a skeleton's own if it reads so many different roles."""

_FINGER_VOTE = 0.05
"""Weight of a finger's name in the choice of a convention, beside 1 of another bone's: the thirty of both hands weigh
less than two others, or they would decide what ``shoulder``, ``hip`` and ``foot`` mean."""

_TOKEN = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\x00-\x7f\W\d_]+")
_PREFIX = re.compile("|".join(f"(?:{each.prefix})" for each in CONVENTIONS if each.prefix), re.IGNORECASE)
_SIDES = {"left": Side.LEFT, "right": Side.RIGHT, "左": Side.LEFT, "右": Side.RIGHT}
_SIDES |= {"l": Side.LEFT, "r": Side.RIGHT, "lft": Side.LEFT, "rgt": Side.RIGHT, "c": Side.CENTER, "x": Side.CENTER}
_TWIST = {"twist", "roll"}
_NO_PART = {"ik", "pole", "target", "nub", "end", "leaf", "helper", "mch", "vis", "wgt", "tweak", "parent", "master"}
_NO_PART |= {"corrective", "pivot", "proxy", "socket", "attach", "weapon", "prop", "aux", "goal", "null"}
_NO_PART |= {"hair", "ponytail", "braid", "skirt", "dress", "coat", "cape", "cloak", "sleeve", "ribbon", "cloth", "hat"}
_NOISE = {"bone", "joint", "jnt", "ctrl", "control", "con", "def", "org", "bind", "skin", "fk", "stretch"}
_NOISE |= {"b", "bn", "j", "proximal", "intermediate", "distal"}
_SAYS_NOTHING = _NOISE | _SIDES.keys()

_EYES = {"eye", "eyes", "eyeball", "faceeye", "目"}


@dataclass(frozen=True)
class NameReading:
    """What one name says."""

    roles: frozenset[Role]
    """Roles that the word can mean; empty if the word is unknown."""
    side: Side | None
    """None where the name has no mark of a side."""
    weight: float
    """0 to 1: how sure the word is."""
    skipped: bool
    """Whether the name says that the bone is no part of a body; roles are then those of the word elsewhere."""
    twist: bool
    """Whether the bone is one for the twist of the part that the roles name."""
    control: bool
    """Whether the name says that the bone is for moving others: a target, a pole."""
    root: bool = False
    """Whether the name says that the bone is what the whole rig hangs from; it may be the hips all the same."""

    @property
    def role(self) -> Role | None:
        """The role, where the word can mean one alone."""
        return next(iter(self.roles)) if len(self.roles) == 1 else None


def read_names(names: Sequence[str]) -> list[NameReading]:
    """Return what each name says."""
    tokens = _without_common_prefix([_tokens(name) for name in names])
    words, sides = zip(*_with_bare_marks([_word_and_side(line) for line in tokens]), strict=True)
    convention = _fitting(words)
    readings = [
        _reading(word, side, [token.lower() for token in line], convention)
        for word, side, line in zip(words, sides, tokens, strict=True)
    ]
    return _widen_spine(readings)


def eye_side(name: str) -> Side | None:
    """Return the side of an eye by the name of its bone; None of a bone that is no eye, a lid for example."""
    tokens = _tokens(name)
    _, side = _word_and_side(tokens)
    lower = [token.lower() for token in tokens if not token.isdigit()]
    word = "".join(token for token in lower if token not in _SAYS_NOTHING)
    return side if word in _EYES and _NO_PART.isdisjoint(lower) else None


def _tokens(name: str) -> list[str]:
    """Return a name's words and numbers, without namespace and the prefixes of the conventions."""
    plain = re.split(r"[:|]", unicodedata.normalize("NFKC", name))[-1]
    match = _PREFIX.match(plain)
    if match and match.end() < len(plain):
        plain = plain[match.end() :]
    tokens = []
    for token in _TOKEN.findall(plain):
        if token[0] in "左右" and len(token) > 1:
            tokens += [token[0], token[1:]]
        elif token[-1] in "左右" and len(token) > 1:
            tokens += [token[-1], token[:-1]]
        else:
            tokens.append(token)
    return tokens


def _without_common_prefix(lines: list[list[str]]) -> list[list[str]]:
    """Drop the first word where nearly all names start with the same one: a character's name, for example.

    The mark of a side is such a word where other words are marks: ``x_hand.L``.
    """
    firsts = Counter(line[0].lower() for line in lines if line)
    for first, count in firsts.most_common(1):
        is_side = first in _SIDES and not any(token.lower() in _SIDES for line in lines for token in line[1:])
        if count > 0.7 * len(lines) > 2 and not is_side and first not in COMMON.words:
            return [line[1:] if line and line[0].lower() == first and len(line) > 1 else line for line in lines]
    return lines


def _word_and_side(tokens: list[str]) -> tuple[str, Side | None]:
    """Return the word without digits and side, and the side.

    A whole word before a letter, and the last letter before the others: ``r_toe.L`` is a rear toe on the left.
    """
    lower = [token.lower() for token in tokens if not token.isdigit()]
    marks = [index for index, token in enumerate(lower) if token in _SIDES]
    if not marks or len(lower) < 2:
        return "".join(lower), None
    index = next((index for index in marks if len(lower[index]) > 2 or lower[index] in "左右"), marks[-1])
    return "".join(lower[:index] + lower[index + 1 :]), _SIDES[lower[index]]


def _with_bare_marks(found: list[tuple[str, Side | None]]) -> list[tuple[str, Side | None]]:
    """Return words and sides, with a first letter read as the mark of a side where both sides have the rest of a word.

    ``lhumerus`` and ``rhumerus`` are a pair; ``leg`` and ``lip`` are not.
    """
    words = {word for word, side in found if side is None}
    marks = {"l": Side.LEFT, "r": Side.RIGHT}
    return [
        (word[1:], marks[word[0]])
        if side is None and word[:1] in marks and len(word) > 3 and {"l" + word[1:], "r" + word[1:]} <= words
        else (word, side)
        for word, side in found
    ]


def _fitting(words: Sequence[str]) -> Convention:
    """Return the convention that reads most names, or the common words if none reads enough roles."""
    best, most = COMMON, 0.0
    for convention in CONVENTIONS:
        read = [convention.words[word] for word in words if word in convention.words]
        if len({role for roles in read for role in roles}) < LEAST_ROLES:
            continue
        score = sum(_FINGER_VOTE if roles == {Role.FINGER} else 1.0 if roles else 0.5 for roles in read)
        if score > most:
            best, most = convention, score
    return best


def _reading(word: str, side: Side | None, tokens: list[str], convention: Convention) -> NameReading:
    """Return what a word says in a convention, else among the common words, else without words that say nothing."""
    control = not _NO_PART.isdisjoint(tokens)
    bare = "".join(token for token in tokens if not token.isdigit() and token not in _SAYS_NOTHING)
    plain = "".join(token for token in tokens if not token.isdigit() and token not in _SAYS_NOTHING | _TWIST)
    for table, key, weight in (
        (convention, word, 0.95),
        (COMMON, word, 0.85),
        (convention, bare, 0.85),
        (COMMON, bare, 0.8),
        (convention, plain, 0.8),
        (COMMON, plain, 0.75),
    ):
        if key and key in table.words:
            skipped = not table.words[key]
            roles = table.words[key] or COMMON.words.get(key, frozenset())
            if side in (Side.LEFT, Side.RIGHT):
                roles = roles.difference(TRUNK)
            elif Role.HIPS in roles:
                roles = roles.difference({Role.THIGH})
            return NameReading(roles, side, weight, skipped or not roles, key == plain != bare, control)
    twist = not _TWIST.isdisjoint(tokens)
    return NameReading(frozenset(), side, 0.0, control or twist, twist, control, bare == "root")


def _widen_spine(readings: list[NameReading]) -> list[NameReading]:
    """Let ``spine`` stand for every part of the trunk that has no word of its own in this skeleton.

    Rigify calls the whole back and the head ``spine``, Unreal calls the chest ``spine_03``.
    """
    own = {each.role for each in readings if not each.skipped}
    wide = frozenset(role for role in TRUNK if role is Role.SPINE or role not in own)
    return [replace(each, roles=wide) if each.role is Role.SPINE and not each.skipped else each for each in readings]
