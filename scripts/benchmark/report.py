# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of measurements: as markdown for people, as plain data for programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

Cell: TypeAlias = str | int | float


@dataclass(frozen=True)
class Row:
    """One measurement."""

    cells: tuple[Cell, ...]
    ok: bool | None = None
    """Whether it is as good as it must be; None for a row without a verdict."""


@dataclass(frozen=True)
class Table:
    """Measurements of one kind, and what they must be."""

    title: str
    must: str
    measured: str
    """The worst of all rows in one line."""
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""

    @property
    def ok(self) -> bool | None:
        """Whether no row missed; None if no row has a verdict."""
        judged = [row.ok for row in self.rows if row.ok is not None]
        return all(judged) if judged else None


@dataclass(frozen=True)
class Report:
    """Everything one run measured."""

    heading: str
    facts: dict[str, str]
    """Machine and versions."""
    tables: Sequence[Table] = field(default_factory=tuple)
    ending: str = ""
    """Text below the tables."""

    def markdown(self) -> str:
        """Return the document people read."""
        lines = [self.heading, "", *(f"- {name}: {value}" for name, value in self.facts.items()), ""]
        summary = [_summary(table) for table in self.tables]
        lines += ["## Summary", "", *_markdown_table(("what", "must", "measured", "verdict"), summary), ""]
        lines += [line for table in self.tables for line in _section(table)]
        lines += [self.ending, ""] if self.ending else []
        return "\n".join(lines)

    def renewed(self, page: str) -> str:
        """Return a page that an earlier report has written with these tables in the places of those with their titles.

        A table that the page doesn't have yet comes last, before the ending.
        """
        head, summary, *sections = re.split("(?m)^(?=## )", page)
        rows = summary.rstrip().split("\n")
        for table in self.tables:
            row, section = f"| {' | '.join(_summary(table))} |", "\n".join([*_section(table), ""])
            place = next((i for i, old in enumerate(sections) if old.startswith(f"## {table.title}\n")), None)
            if place is None:
                rows.append(row)
                sections.insert(-1, section)
            else:
                rows = [row if old.startswith(f"| {table.title} |") else old for old in rows]
                sections[place] = section
        return "".join([head, "\n".join([*rows, "", ""]), *sections])

    def data(self) -> dict[str, Any]:
        """Return the same as dictionaries and lists of plain values, for JSON: hence ``Any``."""
        tables = [
            {
                "title": table.title,
                "must": table.must,
                "measured": table.measured,
                "ok": table.ok,
                "rows": [dict(zip(table.columns, row.cells, strict=True)) | {"ok": row.ok} for row in table.rows],
            }
            for table in self.tables
        ]
        return {"facts": self.facts, "tables": tables}


def spread(values: ArrayLike) -> tuple[float, float, float]:
    """Return median, 95th percentile and maximum."""
    median, high, most = np.percentile(np.asarray(values, float), (50, 95, 100))
    return float(median), float(high), float(most)


def counts(values: ArrayLike) -> str:
    """Return median / 95th percentile / maximum of whole numbers as text."""
    return " / ".join(f"{value:.0f}" for value in spread(values))


def median_p95(values: ArrayLike) -> str:
    """Return median / 95th percentile as text."""
    median, high, _ = spread(values)
    return f"{median:.1f} / {high:.1f}"


def microseconds(seconds: ArrayLike) -> str:
    """Return median / 95th percentile of times as text, in microseconds."""
    median, high, _ = spread(np.asarray(seconds, float) * 1e6)
    return f"{median:.0f} / {high:.0f}"


def _summary(table: Table) -> tuple[str, str, str, str]:
    return table.title, table.must, table.measured, _verdict(table.ok)


def _section(table: Table) -> list[str]:
    """Return the lines of a table with its title and what it must be."""
    judged = table.ok is not None
    columns = (*table.columns, "verdict") if judged else table.columns
    rows = [(*row.cells, _verdict(row.ok)) if judged else row.cells for row in table.rows]
    lines = [f"## {table.title}", "", f"{table.must[0].upper()}{table.must[1:]}.", ""]
    lines += [table.note, ""] if table.note else []
    return [*lines, *_markdown_table(columns, rows), ""]


def _verdict(ok: bool | None) -> str:
    return {True: "ok", False: "**MISSED**", None: ""}[ok]


def _markdown_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[str]:
    lines = [columns, ["---"] * len(columns), *([_text(cell) for cell in row] for row in rows)]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _text(cell: Cell) -> str:
    return f"{cell:.2g}" if isinstance(cell, float) else str(cell)
