# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bone is which part of Rigify's metarigs, and of a rig that it generates."""

from __future__ import annotations

import time

from fabrik_addon.core.body.recognise import recognise
from scripts.benchmark.skeletons import rigify_skeletons, score, scrambled


def test_metarigs_and_generated_rigs() -> None:
    for skeleton in rigify_skeletons():
        start = time.process_time()
        found = recognise(skeleton.names, skeleton.parents, skeleton.heads, skeleton.tails)
        assert time.process_time() - start < 0.3  # 0.03 s measured
        result = score(skeleton, found)
        assert result.wrong == () and result.right >= 0.84 * result.count, (skeleton.name, result)
        nameless = scrambled(skeleton)
        result = score(
            nameless, recognise(nameless.names, nameless.parents, nameless.heads, nameless.tails, skeleton.deform)
        )
        assert result.wrong == (), (skeleton.name, result)
        if skeleton.deform is not None:
            found = recognise(nameless.names, nameless.parents, nameless.heads, nameless.tails)
            assert found.parts == () and "in layers" in found.open_roles[0].reason
