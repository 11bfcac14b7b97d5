# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bench compares like with like, and says so when something missed."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from fabrik_addon.core.fabrik.passes import PLAIN_SWEEPS, Stop, sweep_to_target
from fabrik_addon.core.math.operations import SCALAR, Point
from scripts.benchmark import paper_rows
from scripts.benchmark.plain_fabrik import plain_sweeps
from scripts.benchmark.planar_rows import BEYOND, BOUNDED, FOLLOWS, FRAMES, follow, follow_undamped, path_to
from scripts.benchmark.problems import (
    FULL,
    QUICK,
    generator,
    link_lengths,
    pose_along,
    random_joints,
    rest_joints,
    targets_within,
)
from scripts.benchmark.report import Report, Row, Table
from tests.unit.chains import matrix, unit


def table(*rows: Row) -> Table:
    return Table("Reach", "all reached", "98/100", ("links", "reached"), rows)


def test_a_row_that_missed_is_marked_where_people_and_programs_look() -> None:
    missed = Report("# Head", {"Python": "3"}, (table(Row((3, "100/100"), True), Row((5, "98/100"), False)),))
    text = missed.markdown()
    assert "| Reach | all reached | 98/100 | **MISSED** |" in text
    assert "| 3 | 100/100 | ok |" in text
    assert "| 5 | 98/100 | **MISSED** |" in text
    assert missed.data()["tables"][0]["ok"] is False
    assert missed.data()["tables"][0]["rows"][1] == {"links": 5, "reached": "98/100", "ok": False}


def test_rows_to_compare_with_are_not_judged() -> None:
    report = Report("# Head", {}, (table(Row((3, "100/100")), Row((5, "98/100"))),))
    assert "MISSED" not in report.markdown()
    assert "ok" not in report.markdown()
    assert "| 3 | 100/100 |\n" in report.markdown()


def test_problems_are_the_same_every_time_and_no_set_is_another_one() -> None:
    a, b = (targets_within(generator("reach", 3, "bent"), 0.2, 0.95, 100) for _ in range(2))
    np.testing.assert_array_equal(a, b)
    assert (a != targets_within(generator("reach", 3, "straight"), 0.2, 0.95, 100)).all()
    reaches = np.linalg.norm(a, axis=1)
    assert 0.2 <= reaches.min() < reaches.max() <= 0.95
    assert FULL.targets == 100
    assert QUICK.targets < FULL.targets


@pytest.mark.parametrize("rest", ["straight", "bent"])
@pytest.mark.parametrize("count", [2, 10])
def test_chains_are_one_long_and_bones_lie_along_them(count: int, rest: str) -> None:
    joints = rest_joints(count, rest)
    np.testing.assert_allclose(link_lengths(joints), 1.0 / count)
    np.testing.assert_array_equal(joints[0], 0.0)
    y_axes = matrix(pose_along(joints).rotations)[:-1, :, 1]
    np.testing.assert_allclose(y_axes, unit(np.diff(joints, axis=0)), atol=1e-12)
    assert (np.linalg.norm(joints[-1]) > 0.999) == (rest == "straight")


def test_plain_sweeps_are_the_cores_until_mixing_begins() -> None:
    joints = rest_joints(5, "bent")
    targets = targets_within(generator("test"), 0.2, 0.9, 50)
    points: list[Point] = [tuple(joint) for joint in joints.tolist()]
    compared = 0
    for target, plain in zip(targets, plain_sweeps(joints, targets, 1e-4), strict=True):
        _, sweeps = sweep_to_target(SCALAR, points, [0.2] * 5, tuple(target.tolist()), False, Stop(1e-4, 1000))
        if sweeps <= PLAIN_SWEEPS:
            assert plain == sweeps
            compared += 1
        else:
            assert plain > PLAIN_SWEEPS
    assert compared > 10


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_the_loop_in_c_does_what_the_core_does() -> None:
    from scripts.benchmark.c_loop import CLoop

    rng = generator("c loop")
    lengths = rng.uniform(0.5, 1.0, 7)
    lengths /= lengths.sum()
    start = np.array([random_joints(rng, lengths, 1.0) for _ in range(40)])
    targets = targets_within(rng, 0.2, 0.95, 40)
    swept = start.copy()
    sweeps = CLoop().sweep(swept, lengths, targets, np.full(40, PLAIN_SWEEPS, np.int32), 1e-4)
    assert len(set(sweeps.tolist())) > 2
    for joints, target, after, count in zip(start, targets, swept, sweeps, strict=True):
        points: list[Point] = [tuple(joint) for joint in joints.tolist()]
        found, expected = sweep_to_target(
            SCALAR, points, lengths.tolist(), tuple(target.tolist()), False, Stop(1e-4, PLAIN_SWEEPS)
        )
        assert count == expected
        np.testing.assert_allclose(after, found, atol=1e-12)


def test_the_planar_arm_follows_its_path_and_undamped_steps_go_wild() -> None:
    smooth, wild = follow("JACOBIAN_DLS", BEYOND), follow_undamped(BEYOND)
    assert len(smooth.angles) == FRAMES + 1
    assert smooth.errors.max() <= FOLLOWS
    assert smooth.largest_step <= BOUNDED < wild.largest_step
    np.testing.assert_allclose(path_to(BEYOND)[-1], BEYOND, atol=1e-12)
    # The start is 15 long at 22.5 degrees, 10 at 67.5 and 5 at 112.5.
    headings = np.radians([22.5, 67.5, 112.5])
    tip = np.array([15.0, 10.0, 5.0]) @ np.stack([np.cos(headings), np.sin(headings)], axis=1)
    steps = np.diff(np.vstack([tip, path_to(BEYOND)]), axis=0)
    np.testing.assert_allclose(steps, np.tile((BEYOND - tip) / FRAMES, (FRAMES, 1)), atol=1e-12)


def test_the_papers_table_is_measured_on_its_own_set_up() -> None:
    within, beyond = paper_rows._problems(FULL)
    assert len(within) == len(beyond) == 20
    for joints, target in within:
        assert np.linalg.norm(target - joints[-1]) == pytest.approx(600.0 / 900.0)
        assert np.linalg.norm(target) < 1.0
    assert all(np.linalg.norm(target) > 1.0 for _, target in beyond)
    paper = paper_rows.paper_table(QUICK)
    assert [row.cells[0] for row in paper.rows][:3] == ["FABRIK", "CCD", "Jacobian transpose"]
    assert paper.rows[0].cells[1] == "15, 13" and paper.rows[1].cells[3] == "390, 3929"


def test_a_table_measured_again_takes_its_own_place_on_the_page() -> None:
    first, other = table(Row((3, "100/100"), True)), Table("Time", "fast", "slow", ("links",), (Row((3,), False),))
    page = Report("# Head", {"Python": "3"}, (first, other), "## Pictures\n\nNone.").markdown()
    assert Report("", {}, (first, other)).renewed(page) == page
    missed = Report("", {}, (table(Row((3, "99/100"), False)),)).renewed(page)
    whole = Report("# Head", {"Python": "3"}, (table(Row((3, "99/100"), False)), other), "## Pictures\n\nNone.")
    assert missed == whole.markdown()
    added = Table("Memory", "little", "much", ("links",), (Row((3,)),))
    whole = Report("# Head", {"Python": "3"}, (first, other, added), "## Pictures\n\nNone.")
    assert Report("", {}, (added,)).renewed(page) == whole.markdown()
