# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same examples on every machine: a law that breaks breaks for everyone."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "fabrik",
    derandomize=True,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("fabrik")
