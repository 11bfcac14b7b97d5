# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The curve through the kept keys is within the tolerance of all samples."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fabrik_addon.core.math.key_reduction import interpolate, needed_keys, slopes_of


def distance(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return np.abs(found - expected).max(axis=1)


@given(st.integers(1, 200), st.integers(0, 10_000), st.sampled_from([1e-6, 1e-3, 0.1, 10.0]))
def test_every_sample_is_within_the_tolerance(count: int, seed: int, tolerance: float) -> None:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.1, 2.0, count))
    values = np.cumsum(rng.normal(size=(count, 3)), axis=0)
    slopes = slopes_of(times, values)
    kept = needed_keys(times, values, slopes, distance, tolerance)
    assert kept[0] == 0 and kept[-1] == count - 1 and (np.diff(kept) > 0).all()
    if count > 1:
        assert distance(interpolate(times, values, slopes, kept), values).max() <= tolerance


def test_a_parabola_needs_two_keys() -> None:
    times = np.array([0.0, 0.5, 2.0, 3.0, 7.0])
    values = np.stack([times**2 - times, 3.0 * times], axis=1)
    slopes = slopes_of(times, values)
    # The slopes at its ends are those of the outer chords, which are exact for a straight line alone.
    assert needed_keys(times, values[:, 1:], slopes[:, 1:], distance, 1e-9).tolist() == [0, 4]
    assert np.allclose(slopes[1:-1, 0], 2.0 * times[1:-1] - 1.0)


def test_a_jump_is_keyed_on_both_sides() -> None:
    times = np.arange(40.0)
    values = np.where(times < 20, 0.0, 1.0)[:, None]
    kept = needed_keys(times, values, slopes_of(times, values), distance, 1e-3)
    assert {19, 20} <= set(kept.tolist()) and len(kept) < 12


def test_smooth_motion_needs_few_keys() -> None:
    times = np.arange(500.0)
    values = np.sin(times / 25.0)[:, None]
    assert len(needed_keys(times, values, slopes_of(times, values), distance, 1e-3)) < 60
