# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain's pole shape as the text in which its settings store it: JSON, three numbers for each link. Computes."""

from __future__ import annotations

import json
import math
from functools import lru_cache

from ...core import FabrikError
from ...core.fabrik.pole_shape import has_lengths
from ...core.problem import PoleShape

_STORED_DIGITS = 9
"""Digits after the point: more than those of Blender's single precision."""


def pole_shape_text(shape: PoleShape) -> str:
    """Return the text of a pole shape; that of an empty one is empty."""
    return json.dumps([[round(part, _STORED_DIGITS) for part in link] for link in shape]) if shape else ""


@lru_cache(maxsize=256)
def read_pole_shape(text: str) -> PoleShape:
    """Return the pole shape of a text.

    Raises:
        FabrikError: the text is that of no pole shape.
    """
    if not text:
        return ()
    try:
        links = tuple((float(x), float(y), float(z)) for x, y, z in json.loads(text))
        lengths = [math.hypot(*link) for link in links]
        total = sum(lengths)
        # Rounding leaves directions, which earlier versions stored, at about length one.
        units = [total if has_lengths(links) and length > 0.0 else length for length in lengths]
        return tuple((x / r, y / r, z / r) for (x, y, z), r in zip(links, units, strict=True))
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise FabrikError("its pole shape isn't a list of directions: create its pole anew") from error
