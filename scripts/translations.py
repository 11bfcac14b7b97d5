# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension's texts in other languages: collect the texts, list what is missing, compile for Blender.

Without options: bring ``fabrik_addon/locale/fabrik_ik.pot`` and the ``.po`` files up to date and compile them. Texts
are those that Blender shows of registered operators, properties, panels and menus, and those in the code: literals that
layouts show, and messages. A message that is put together from parts has placeholders, ``{0}`` and so on.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any  # classes and properties that Blender registers: no stub has their attributes

if TYPE_CHECKING:
    from polib import POFile

ROOT = Path(__file__).resolve().parent.parent
LOCALE = ROOT / "fabrik_addon/locale"
TEMPLATE = LOCALE / "fabrik_ik.pot"
COMPILED = LOCALE / "messages.json"

LANGUAGES = ("de_DE", "es", "fr_FR", "ja_JP", "ko_KR", "pt_BR", "ru_RU", "zh_HANS")
"""Blender's own codes."""

Key = tuple[str, str]
"""Context and text, as Blender looks them up."""

ANY, OPERATOR = "*", "Operator"

_SHOWN = {"text", "heading", "title", "confirm_text"}
"""Options of layouts and dialogs that are shown."""

_MESSAGE_CALLS = {"FabrikError", "report", "holds_or_says", "in_interface", "draw_key"}
"""Calls whose texts are shown, single words too."""

_LEFT_OUT = re.compile(
    r"blender/(command_line|overlay)/|blender/interface/online_manual|blender/solving/compare_solvers|/presets/|"
    r"core/(?!solvers/table|solvers/two_bone|body/(creature|evidence|recognise|shape))"
)
"""Modules without texts for a person in Blender: the command line is in English, as its JSON is, and the core's checks
of arrays can't fail from Blender."""

_NODES = re.compile(r"blender/native/")
"""Modules most of whose texts name nodes: what is returned or reported there and quotes a name or says native rig is
a message."""

_NO_TEXT = re.compile(r"\n|^[\w|. ]*\[|\w \| \w|bpy\.|^FABRIK (Limits|Targets|Native Rigs|\w+ Shape)$")
"""Types, code and names of data."""

WORDS = (
    "Fixed",
    "Free",
    "Hinge {0}",
    "Limited {0}",
    "Moved",
    "a pinned tip",
    "a root that follows",
    "driver",
    "human",
    "pole",
    "target",
)
"""Words that are shown or are parts of messages, which nothing in the code tells from names of data."""


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--missing", action="store_true", help="only list untranslated and stale texts, as JSON")
    parser.add_argument("--compile", action="store_true", help=f"only write {COMPILED.relative_to(ROOT)}")
    arguments = parser.parse_args()
    import environment

    environment.enter()
    if arguments.compile:
        compile_languages()
        return
    sys.path.insert(0, str(ROOT))
    import fabrik_addon

    fabrik_addon.register()
    keys = collect()
    if arguments.missing:
        found = {language: problems_of(language, set(keys)) for language in LANGUAGES}
        print(json.dumps(found, ensure_ascii=False, indent=1), flush=True)
    else:
        _update(keys)
        compile_languages()
    sys.stdout.flush()
    os._exit(0)  # Blender as a module can hang in a plain exit


def collect() -> dict[Key, str]:
    """Return all texts with the place that each comes from; the extension is registered."""
    keys: dict[Key, str] = {}
    for key, place in _texts_of_classes():
        keys.setdefault(key, place)
    for path in sorted((ROOT / "fabrik_addon").rglob("*.py")):
        place = str(path.relative_to(ROOT))
        if not _LEFT_OUT.search(place):
            for key in texts_of_code(path.read_text(encoding="utf-8"), bool(_NODES.search(place))):
                keys.setdefault(key, place)
    for path in sorted((ROOT / "fabrik_addon/presets").rglob("*.py")):
        keys.setdefault((ANY, path.stem.replace("_", " ")), str(path.relative_to(ROOT)))
    for word in WORDS:
        keys.setdefault((ANY, word), "scripts/translations.py")
    return dict(sorted(keys.items(), key=lambda item: (item[1], item[0])))


def _texts_of_classes() -> Iterator[tuple[Key, str]]:
    """Return what Blender shows of the registered classes."""
    import bpy

    bases: tuple[Any, ...] = (bpy.types.Operator, bpy.types.Panel, bpy.types.Menu, bpy.types.PropertyGroup)
    for base in bases:
        kinds: list[Any] = registered_classes(base)
        for kind in kinds:
            place = kind.__module__.replace(".", "/") + ".py"
            rna = kind.bl_rna
            if base is bpy.types.Operator:
                module, _, name = kind.bl_idname.partition(".")
                rna = getattr(getattr(bpy.ops, module), name).get_rna_type()
                yield (OPERATOR, kind.bl_label), place
                yield (ANY, rna.description), place
            elif base is not bpy.types.PropertyGroup:
                yield (getattr(kind, "bl_translation_context", ANY), kind.bl_label), place
            own = {name for each in kind.__mro__ if each.__module__.startswith("fabrik_addon") for name in _names(each)}
            # A name may be annotated for the type checker alone: its texts are Blender's, which translates them.
            blenders = {one.identifier: one.description for one in base.bl_rna.properties}
            for one in rna.properties:
                if one.identifier in own and not one.is_hidden and blenders.get(one.identifier) != one.description:
                    yield (one.translation_context, one.name), place
                    yield from (((ANY, text), place) for text in _other_texts_of(one) if text)
    tools: list[Any] = bpy.types.WorkSpaceTool.__subclasses__()
    for tool in tools:
        if tool.__module__.startswith("fabrik_addon"):
            place = tool.__module__.replace(".", "/") + ".py"
            yield (OPERATOR, tool.bl_label), place
            yield (ANY, tool.bl_description), place


def registered_classes(base: Any) -> list[Any]:
    """Return the extension's classes of a kind that Blender knows, by their names."""
    found: list[Any] = []
    for kind in base.__subclasses__():
        found += registered_classes(kind)
        if kind.__module__.startswith("fabrik_addon") and getattr(kind, "is_registered", False):
            found.append(kind)
    return sorted(found, key=lambda kind: kind.__name__)


def _names(kind: type) -> list[str]:
    return list(vars(kind).get("__annotations__", ()))


def _other_texts_of(one: Any) -> Iterator[str]:
    """Return the texts of a property without its name."""
    yield one.description
    if one.type == "ENUM":
        for item in one.enum_items:
            yield item.name
            yield item.description


def texts_of_code(code: str, is_of_nodes: bool = False) -> list[Key]:
    """Return the texts of a module: what layouts show, and messages with placeholders.

    Args:
        code: the module.
        is_of_nodes: whether texts in calls are the names of nodes, unless the call reports or raises.
    """
    visitor = _Texts(is_of_nodes)
    visitor.visit(ast.parse(code))
    return visitor.keys


class _Texts(ast.NodeVisitor):
    def __init__(self, is_of_nodes: bool) -> None:
        self.keys: list[Key] = []
        self._is_of_nodes = is_of_nodes
        self._is_message = self._takes_words = False

    def visit_Call(self, node: ast.Call) -> None:
        called = ast.unparse(node.func)
        name = called.rpartition(".")[2]
        if name == "counted" and isinstance(node.args[-1], ast.Constant):
            noun = str(node.args[-1].value)
            self.keys += [(ANY, f"1 {noun}"), (ANY, f"{{0}} {noun}s")]
        shown = [keyword.value for keyword in node.keywords if keyword.arg in _SHOWN]
        for value in shown:
            self._take_shown(value, OPERATOR if name.startswith("operator") else ANY)
        before = self._is_message, self._takes_words
        self._takes_words = name in _MESSAGE_CALLS
        self._is_message = (self._is_message or self._takes_words or name == "append") if self._is_of_nodes else True
        if not name.endswith("Property") and name != "counted":  # Blender tells what it shows of properties
            for argument in node.args:
                self.visit(argument)
            for keyword in node.keywords:
                if keyword.value not in shown:
                    self.visit(keyword.value)
        self._is_message, self._takes_words = before

    def _take_shown(self, node: ast.expr, context: str) -> None:
        """Take a text that a layout shows, whichever of several it is."""
        if isinstance(node, ast.IfExp):
            self._take_shown(node.body, context)
            self._take_shown(node.orelse, context)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str) and any(map(str.isalpha, node.value)):
                self.keys.append((context, node.value))
        else:
            self.visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        self._visit_as_message(node)

    def visit_Yield(self, node: ast.Yield) -> None:
        self._visit_as_message(node)

    def _visit_as_message(self, node: ast.AST) -> None:
        before, self._is_message = self._is_message, True
        self.generic_visit(node)
        self._is_message = before

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arguments(self, node: ast.arguments) -> None:
        """Annotations are no texts."""

    def visit_Assign(self, node: ast.Assign) -> None:
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        for target in node.targets:
            self.visit(target)  # layout.operator(...).option = value
        if not any(name.startswith("bl_") for name in names):
            self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        text = ""
        for part in node.values:
            text += str(part.value) if isinstance(part, ast.Constant) else "\0"
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)
        self._take(text)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._take(node.value)

    def _take(self, text: str) -> None:
        words = text.replace("\0", "")
        is_shown = bool(re.search(r"[A-Za-z]{2,},? +\S|\S +[A-Za-z]{2,}", text))
        if self._takes_words:  # and no icon or kind of a report
            is_shown = bool(re.search(r"[A-Za-z]{2}", words)) and not re.fullmatch(r"[A-Z_]+", words)
        is_message = not self._is_of_nodes or (self._is_message and ("native rig" in words or "'" in words))
        if is_shown and is_message and not _NO_TEXT.search(words):
            self.keys.append((ANY, with_placeholders(text)))


def with_placeholders(text: str) -> str:
    """Number the placeholders of a message; a part of a longer one gets placeholders for what is around it."""
    if re.match(r"[,;:] |[ (]", text):
        text = "\0" + text
    if re.search(r"[ (]$", text):
        text += "\0"
    parts = text.split("\0")
    return parts[0] + "".join(f"{{{number}}}{part}" for number, part in enumerate(parts[1:]))


def language_file(language: str) -> Path:
    """Return the path of a language's texts."""
    return LOCALE / f"{language}.po"


def texts_in(language: str) -> dict[Key, str]:
    """Return a language's texts."""
    import polib

    if not language_file(language).exists():
        return {}
    return {(entry.msgctxt or ANY, entry.msgid): entry.msgstr for entry in polib.pofile(str(language_file(language)))}


def problems_of(language: str, keys: set[Key]) -> dict[str, list[Key]]:
    """Return the texts that a language lacks, and those it has although nothing shows them any more."""
    texts = texts_in(language)
    return {
        "untranslated": sorted(key for key in keys if not texts.get(key)),
        "stale": sorted(key for key in texts if key not in keys),
    }


def _update(keys: dict[Key, str]) -> None:
    """Write the template, and give every language exactly these texts."""
    _file(keys, {}, "").save(str(TEMPLATE))
    for language in LANGUAGES:
        _file(keys, texts_in(language), language).save(str(language_file(language)))


def _file(keys: dict[Key, str], texts: dict[Key, str], language: str) -> POFile:
    import polib

    file = polib.POFile(wrapwidth=120)
    file.header = "SPDX-FileCopyrightText: 2026 FABRIK IK developers\nSPDX-License-Identifier: GPL-3.0-or-later"
    file.metadata = {
        "Project-Id-Version": "FABRIK IK",
        "Language": language,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
    }
    for (context, text), place in keys.items():
        entry = polib.POEntry(msgid=text, msgstr=texts.get((context, text), ""), occurrences=[(place, "")])
        entry.msgctxt = None if context == ANY else context
        entry.flags = ["python-brace-format"] if "{0}" in text else []
        file.append(entry)
    return file


def compile_languages(path: Path = COMPILED) -> None:
    """Write all languages as the file that the extension reads: the texts once, and each language in their order."""
    languages = {language: texts_in(language) for language in LANGUAGES}
    keys = sorted({key for texts in languages.values() for key in texts})
    compiled = {
        "texts": keys,
        **{language: [texts.get(key, "") for key in keys] for language, texts in languages.items()},
    }
    path.write_text(json.dumps(compiled, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
