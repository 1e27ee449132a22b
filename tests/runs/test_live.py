# SPDX-License-Identifier: Apache-2.0
"""Curves of flows while runs go on."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rdcnlab.engines import Arrived
from rdcnlab.runs import live
from rdcnlab.scenario import Scenario

MB = 1_000_000


def arrived(*rows: tuple[int, ...]) -> Arrived:
    """Make what a guest wrote: rows of an instant in ms and the MB of each flow."""
    table = np.array(rows, dtype=np.int64)
    return Arrived(table[:, 0] * MB, table[:, 1:] * MB)


@pytest.fixture
def scenario(two_flows: Scenario) -> Scenario:
    return two_flows.with_(size="100 MB")


def test_a_curve_has_the_rate_of_each_part_of_the_time(scenario: Scenario) -> None:
    # 50 MB in the first 40 ms is 10 Gb/s; nothing in the next 20 ms
    main, migrated = live.curves(scenario, arrived((0, 0, 0), (40, 50, 100), (60, 50, 100)))
    assert (main.name, migrated.name) == ("main", "migrated")
    assert main.Gbps[:40] == pytest.approx(10)
    assert main.Gbps[40:] == pytest.approx(0)
    assert main.words == "0 Gb/s"
    assert main.until_s == 0.06
    assert migrated.words == "finished"


def test_there_is_no_curve_before_there_are_two_instants(scenario: Scenario) -> None:
    assert live.curves(scenario, None) == []
    assert live.curves(scenario, arrived((0, 0, 0))) == []
    # of other flows than those of the scenario nothing is said
    assert live.curves(scenario, arrived((0, 0), (9, 1))) == []


def test_many_flows_are_added_up_and_many_runs_are_told_apart_by_their_seed() -> None:
    flows = [{"name": f"main{number}", "size": "1 GB", "path": "green"} for number in range(live.MOST + 1)]
    scenario = Scenario.from_dict({"network": "aykurt", "flows": flows, "seed": 3})
    (curve,) = live.curves(scenario, arrived((0, *[0] * 7), (60, *[10] * 7)), of_many=True)
    assert curve.name == "all flows, seed 3"
    assert curve.Gbps == pytest.approx(8 * 70 / 60)


def test_pairs_of_hosts_take_the_place_of_flows_that_a_run_does_not_have() -> None:
    """Nobody knows how much programs will send, so that none of them is finished."""
    scenario = Scenario.from_dict({"network": "aykurt", "programs": [{"host": "s1", "run": "iperf3 -c r1"}]})
    seen = arrived((0, 0), (60, 60))
    assert live.curves(scenario, seen) == []
    (curve,) = live.curves(scenario, replace(seen, names=("s1>r1",)))
    assert (curve.name, curve.words) == ("s1>r1", "8 Gb/s")
    # no pair has sent anything yet
    assert live.curves(scenario, Arrived(seen.t_ns, np.zeros((2, 0), np.int64))) == []


def test_lines_share_their_scale_and_leave_out_blocks_where_there_is_no_room(scenario: Scenario) -> None:
    curves = live.curves(scenario, arrived((0, 0, 0), (60, 60, 30)))
    main, migrated = live.lines(curves, 100)
    assert main == f"main     {'█' * live.CELLS} 8 Gb/s"
    assert migrated == f"migrated {'▄' * live.CELLS} 4 Gb/s"
    assert live.lines(curves, 60)[0].split() == ["main", "8", "Gb/s"]


def test_a_terminal_shows_lines_and_removes_them(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    terminal = live.Terminal()
    terminal.show(live.curves(scenario, arrived((0, 0, 0), (60, 60, 30))))
    assert "migrated" in out.getvalue()
    terminal.show([])
    terminal.close()
    assert terminal._lines == []
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)  # another test may have loaded it
    assert isinstance(live.screen(), live.Nowhere)  # a log is no terminal


def test_a_notebook_shows_a_row_for_each_flow_with_its_words(scenario: Scenario) -> None:
    page = live.picture(live.curves(scenario, arrived((0, 0, 0), (60, 60, 30))))
    assert page.count("<svg") == page.count('role="img"') == 2
    assert 'aria-label="rate of migrated: 4 Gb/s"' in page
    assert page.count("0 to 0.06 s") == 2
    assert "the highest is 8 Gb/s" in page
    # the larger rate is at the top of its picture, half of it in the middle
    lines = [one.partition('"')[0] for one in page.split('points="')[1:]]
    heights = [{float(point.partition(",")[2]) for point in line.split()} for line in lines]
    assert heights == [{1.0}, {13.0}]
    assert live.picture([]) == ""


def test_the_widget_of_a_notebook_appears_with_the_first_curve_and_goes(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    notebook = live.Notebook()
    notebook.show([])
    assert not shown
    notebook.show(live.curves(scenario, arrived((0, 0, 0), (60, 60, 30))))
    notebook.show(live.curves(scenario, arrived((0, 0, 0), (70, 60, 30))))
    (widget,) = shown
    assert "0 to 0.07 s" in widget.value
    notebook.close()
    assert widget.comm is None
