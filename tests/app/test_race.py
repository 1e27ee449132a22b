# SPDX-License-Identifier: Apache-2.0
"""The race of a congestion control of the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdcnlab.app.race import NETWORKS, RIVALS, own_algorithm
from rdcnlab.fields.errors import InputError


def test_a_race_has_every_transport_on_every_network(
    fake_engine: None, pool_here: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    mine = own_algorithm("tcp_gentle.c", progress=False)
    assert mine.name == "gentle"
    race = mine.race(seeds=1)
    table = race.table()
    assert list(table.index) == [(network, name) for network in NETWORKS for name in ("gentle", *RIVALS)]
    assert table["goodput [Gb/s]"].gt(0).all()
    # CUBIC against CUBIC is CUBIC among its own
    assert table["share against CUBIC [%]"].isna().sum() == len(NETWORKS)
    one = table.xs("one link")
    # the engine for tests shares a link equally
    assert one["goodput [Gb/s]"].between(9, 11).all()
    assert one["share against CUBIC [%]"].dropna().between(45, 55).all()
    for case, run in zip(race.cases, race.runs, strict=True):
        own = run.scenario.engine.algorithm
        assert (own is not None) == (case.name == "gentle")
        assert [flow.cc for flow in run.scenario.flows][-1] == case.name
    figure = race.plot()
    above, below = figure.axes[:3], figure.axes[3:]
    # a mark for each mean and for each run; a run's mark has no entry in the legend
    assert [len(ax.lines) for ax in above] == [2 * (len(RIVALS) + 1)] * 3
    assert [len(ax.get_legend_handles_labels()[1]) for ax in above] == [len(RIVALS) + 1] * 3
    assert [len(ax.patches) for ax in below] == [len(RIVALS)] * 3
    assert [len(ax.lines) for ax in below] == [1 + len(RIVALS)] * 3  # the fair share, and the runs of each
    for ax in above:
        low, high = ax.get_ylim()
        assert low <= 0.75 * high  # small differences look small


def test_a_file_is_looked_up_here_and_beside_the_patches(fake_engine: None, tmp_path: Path) -> None:
    own = tmp_path / "tcp_mine.c"
    own.write_text(Path(own_algorithm("tcp_gentle.c").algorithm.path).read_text().replace('"gentle"', '"mine"'))
    mine = own_algorithm(own)
    assert (mine.name, mine.engine) == ("mine", {"algorithm": str(own)})
    with pytest.raises(InputError, match=r"no C file 'tcp_nothing\.c'.*tcp_gentle\.c"):
        own_algorithm("tcp_nothing.c")
