# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bone is which part of a body."""

from __future__ import annotations

import numpy as np
import pytest

from fabrik_addon.core.body.recognise import recognise
from fabrik_addon.core.problem import FabrikError

NAMES = ["root", "middle", "end"]
PARENTS = [-1, 0, 1]
HEADS = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 2.0]])
TAILS = HEADS + np.array([0.0, 0.0, 1.0])


def test_bad_input_is_refused_with_the_name_of_the_bone() -> None:
    with pytest.raises(FabrikError, match="no bones"):
        recognise([], [], np.zeros((0, 3)), np.zeros((0, 3)))
    with pytest.raises(FabrikError, match="3 bones, but 2 parents"):
        recognise(NAMES, PARENTS[:2], HEADS, TAILS)
    with pytest.raises(FabrikError, match=r"heads of 3 bones have shape \(2, 3\)"):
        recognise(NAMES, PARENTS, HEADS[:2], TAILS)
    with pytest.raises(FabrikError, match="parent of middle is bone 3 of 3"):
        recognise(NAMES, [-1, 3, 1], HEADS, TAILS)
    with pytest.raises(FabrikError, match="parents of middle go round in a circle"):
        recognise(NAMES, [-1, 2, 1], HEADS, TAILS)
    with pytest.raises(FabrikError, match="rest position of end is not finite"):
        recognise(NAMES, PARENTS, HEADS, np.where(TAILS == 3.0, np.nan, TAILS))
    with pytest.raises(FabrikError, match="none of the skeleton's bones may take part"):
        recognise(NAMES, PARENTS, HEADS, TAILS, [False] * 3)
