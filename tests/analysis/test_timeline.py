# SPDX-License-Identifier: Apache-2.0
"""The time-line of a run is one file without an address, and it holds the numbers of the tables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rdcnlab.analysis.results import timeline
from rdcnlab.analysis.results.series import Series
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.run import Run
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario


@pytest.fixture
def run(fake_engine: None, store: Store, two_flows: Scenario) -> Run:
    return campaign([two_flows.with_(period="5 ms", size="64 MiB")], store=store, workers=1, progress=False)[0]


def content(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_the_page_fetches_nothing_and_names_the_licence_of_what_it_contains(run: Run, tmp_path: Path) -> None:
    page = run.timeline().save(tmp_path / "t.html").read_text()
    assert "default-src 'none'" in page
    assert not re.search(r"""(?:src|href)\s*=\s*["']?https?:|@import|url\(""", page)
    assert "Copyright (c) 2022 Leon Sorokin" in page
    assert "uPlot (v1.6.32)" in page


def test_curves_and_spans_are_those_of_the_tables(run: Run) -> None:
    data, series = content(run.timeline().html), Series(run)
    goodput, window = data["panels"][:2]
    assert [curve["name"] for curve in goodput["series"]] == ["main", "migrated"]
    for curve in goodput["series"]:
        assert curve["y"][:-1] == pytest.approx(series.rates[curve["name"]], rel=1e-5)
    tcp = run.table("tcp").to_pandas().query("flow == 'main'")
    assert window["series"][0]["t"] == pytest.approx((tcp["t_ns"] / 1e6).tolist())
    assert window["series"][0]["y"] == pytest.approx((tcp["cwnd_B"] / 1e3).tolist(), rel=1e-5)
    (timetable,) = data["timetables"]
    slots = run.table("events").to_pandas().query("event == 'slot'")
    assert [span[0] for span in timetable["spans"]] == pytest.approx((slots["t_ns"] / 1e6).tolist())
    assert [span[2] for span in timetable["spans"]] == list(slots["link"])


def test_a_long_curve_loses_points_but_no_peak(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = content(run.timeline().html)["panels"][0]["series"][1]
    monkeypatch.setattr(timeline, "MOST_POINTS", 400)
    monkeypatch.setattr(timeline, "MOST_TOGETHER", 400)
    values = np.random.default_rng(1).normal(5, 1, 50_000)
    values[[31_234, 44_444]] = 9999, -9999
    monkeypatch.setattr(Series, "rates", {"main": values})
    page = run.timeline().html
    short = content(page)["panels"][0]["series"][0]
    assert len(short["t"]) <= 400 < len(values)
    assert len(whole["t"]) > 10
    assert (max(short["y"]), min(short["y"])) == (9999, -9999)
    assert short["t"][short["y"].index(9999)] == pytest.approx(31_234 * run.scenario.probes.bin / 1e6)
    assert "Of 50," in page


def test_losses_keep_their_instants(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(1_234_567, "drop_tail", "green", "main", 9014), (2_000_001, "retransmit", None, "main", 1)]
    table = pd.DataFrame(rows, columns=["t_ns", "event", "link", "flow", "value"])
    monkeypatch.setattr(Series, "events", table)
    rows_of_page = content(run.timeline().html)["events"]
    assert [(row["name"], row["t"]) for row in rows_of_page] == [
        ("main lost", [1.234567]),
        ("main retransmitted", [2.000001]),
    ]
    monkeypatch.setattr(timeline, "MOST_EVENTS", 10)
    assert len(timeline._instants(np.linspace(0, 1, 1000))) == 11


def test_a_name_cannot_end_the_script(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Series, "rates", {"</script><b>": np.ones(3)})
    assert content(run.timeline().html)["panels"][0]["series"][0]["name"] == "</script><b>"


def test_a_notebook_shows_it_in_a_frame_without_rights(run: Run) -> None:
    shown = run.timeline()._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert 'sandbox="allow-scripts"' in shown
