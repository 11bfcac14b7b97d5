# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain's pole shape as the text in which its settings store it: JSON, three numbers for each link. Computes."""

from __future__ import annotations

import json
import math
from functools import lru_cache

from ...core import FabrikError
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
        if not all(0.0 < length < math.inf for length in lengths):
            raise ValueError
        total = sum(lengths)
        return tuple((x / total, y / total, z / total) for x, y, z in links)
    except (TypeError, ValueError) as error:
        raise FabrikError("its pole shape isn't a list of directions: create its pole anew") from error
