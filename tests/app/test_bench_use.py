# SPDX-License-Identifier: Apache-2.0
"""The benchmark of what a reader waits for: runs are made anew, and a build for it alone is removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdcnlab.app import bench_use
from rdcnlab.app.explore.choice import Choice
from rdcnlab.app.explore.job import Job
from rdcnlab.engines.kernel import build
from rdcnlab.fields.errors import RunError


@pytest.mark.usefixtures("fake_engine")
def test_the_first_curve_is_of_a_run_that_was_made_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Path, int]] = []
    draw = bench_use.image_of
    start = Job.start

    def started(job: Job) -> None:
        seen.append((job.store.root, len(list(job.store.root.glob("[0-9a-f]*")))))
        start(job)

    drawn = []
    monkeypatch.setattr(Job, "start", started)
    monkeypatch.setattr(bench_use, "image_of", lambda shown: drawn.append(len(shown[0].runs)) or draw(shown))
    spent = [bench_use.first_curve(Choice(runs=2)) for _ in range(2)]
    assert all(second > 0 for second in spent)
    # one picture for each measurement, of the first run, and each in a store that had no run
    assert drawn == [1, 1]
    assert [count for _, count in seen] == [0, 0]
    assert seen[0][0] != seen[1][0]


@pytest.mark.usefixtures("fake_engine")
def test_a_job_that_fails_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(job: Job) -> None:
        job.state, job.note = "failed", "no kernel"

    monkeypatch.setattr(Job, "_work", failing)
    with pytest.raises(RunError, match="no kernel"):
        bench_use.first_curve(Choice(runs=1))


def test_only_the_build_of_the_benchmark_is_removed(tmp_path: Path) -> None:
    for name in ("0123456789abcdef", "fedcba9876543210"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "linux").touch()
        (tmp_path / f"{name}.lock").touch()
    bench_use._forget(build.Kernel("0" * 64, tmp_path / "0123456789abcdef", tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fedcba9876543210", "fedcba9876543210.lock"]
    bench_use._forget(None)


def test_a_race_without_the_kernels_tree_says_what_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tree alone takes half of the time that the benchmark may take."""
    monkeypatch.setattr(bench_use.build, "has_tree", lambda: False)
    (row,) = bench_use.races(bench_use.silent)
    assert row["value"] is None
    assert 'own_algorithm("tcp_gentle.c") makes it' in row["measure"]


def test_the_time_of_a_whole_race_is_computed_from_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 s for the build, 15 of 54 runs in 30 s, 2 s for the figure: 40 + 30 x 54 / 15 + 2 = 150."""
    monkeypatch.setattr(bench_use.build, "has_tree", lambda: True)
    monkeypatch.setattr(bench_use, "race", lambda say: bench_use.Race(40.0, 30.0, 2.0, 15))
    built, part, whole = bench_use.races(bench_use.silent)
    assert (built["value"], part["value"], whole["value"]) == (40, 30, 150)
    assert part["measure"] == "own algorithm: 15 of the 54 runs of its race"
    assert whole["holds"]


@pytest.mark.usefixtures("fake_engine")
def test_the_race_has_the_runs_that_it_is_computed_from() -> None:
    times = bench_use.race()
    assert times.runs == 15
    assert min(times.build_s, times.runs_s, times.figure_s) > 0
