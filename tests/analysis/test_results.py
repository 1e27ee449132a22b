# SPDX-License-Identifier: Apache-2.0
"""Pictures, comparisons and reasons of runs: they show the numbers of the tables, and nothing that is not there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch

import rdcnlab
from rdcnlab.analysis import film, scenes
from rdcnlab.analysis.perfetto import trace
from rdcnlab.analysis.results import overview, reduce
from rdcnlab.analysis.results.comparison import compare
from rdcnlab.analysis.results.programs import MOST as MOST_PROGRAMS
from rdcnlab.analysis.results.series import Series
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import WHOLE, Part
from rdcnlab.runs.run import Run
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from tests.analysis import computed


@pytest.fixture
def runs(fake_engine: None, store: Store, two_flows: Scenario) -> Runs:
    """Runs of two periods, with two seeds each."""
    base = two_flows.with_(size="64 MiB")
    asked = [base.with_(period=period, seed=seed) for period in ("10 ms", "20 ms") for seed in (1, 2)]
    return campaign(asked, store=store, workers=1, progress=False)


@pytest.fixture
def run(runs: Runs) -> Run:
    return runs[0]


def test_the_package_names_what_users_hold() -> None:
    assert {"Run", "Runs", "Scenario", "campaign"} <= set(rdcnlab.__all__)
    for name in rdcnlab.__all__:
        assert getattr(rdcnlab, name) is not None


def test_fewer_points_keep_every_peak() -> None:
    values = np.random.default_rng(1).normal(size=100_000)
    values[31_234], values[77_777] = 50, -50
    kept = reduce.extremes(values, 1000)
    assert len(kept) <= 1000
    assert {0, 31_234, 77_777, 99_999} <= set(kept)
    joined = reduce.envelope(values, 1.0, 500)
    assert len(joined.mean) <= 500
    assert (joined.high.max(), joined.low.min()) == (50, -50)
    assert joined.mean.mean() == pytest.approx(values.mean())


def test_few_points_are_all_kept_and_missing_values_are_no_extremes() -> None:
    assert reduce.extremes([3, 1, 2], 8).tolist() == [0, 1, 2]
    values = np.full(100, np.nan)
    values[55] = 7
    assert 55 in reduce.extremes(values, 8)


def test_series_add_up_to_the_tables(run: Run) -> None:
    series = Series(run)
    received = run.table("throughput").to_pandas().query("where == 'receiver'").groupby("flow")["bytes"].sum()
    for flow, values in series.rates.items():
        assert values.sum() * series.bin_s * 1e9 / 8 == pytest.approx(received[flow])
    assert series.end_s == pytest.approx(run.table("flows").to_pandas()["end_s"].max(), abs=2 * series.bin_s)


def test_timetables_have_no_gap_and_end_with_the_run(run: Run) -> None:
    series = Series(run)
    (spans,) = series.timetables.values()
    assert [span.of for span in spans] == ["migrated"] * len(spans)
    assert [span.end_s for span in spans[:-1]] == [span.begin_s for span in spans[1:]]
    assert spans[-1].end_s == series.end_s
    assert {span.target for span in spans} == {"blue", "green"}


def test_nothing_is_drawn_after_the_end_of_the_run(run: Run) -> None:
    # 3.2 ms are three bins of 1 ms, and a part of a fourth
    whole = Series(run)
    end_s = whole.end_s - 0.8 * whole.bin_s
    ended = replace(run, provenance={**run.provenance, "virtual_s": end_s})
    series = Series(ended)
    assert series.end_s == end_s
    assert series.slots[-1].end_s == end_s
    assert ended.plot().axes[-1].get_xlim()[1] == pytest.approx(end_s * 1e3)
    bars = [event for event in trace(ended)["traceEvents"] if event["ph"] == "X"]
    assert max(bar["ts"] + bar["dur"] for bar in bars) == pytest.approx(end_s * 1e6)


def test_a_shipped_run_without_events_has_the_timetable_of_its_scenario(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = Series(run).timetables["migrated"]
    monkeypatch.setattr(Run, "holds", lambda self, needs: "events" not in needs)
    planned = Series(run)
    assert planned.missing == ["events"]
    # the recorded ones begin with the first move
    assert planned.timetables["migrated"][-len(recorded) :] == recorded


def test_a_picture_has_the_rates_of_the_run(run: Run) -> None:
    figure = run.plot()
    names = [ax.get_ylabel().split("\n")[0] for ax in figure.axes]
    assert names[1:3] == ["goodput", "congestion"]
    steps = {
        patch.get_label(): patch.get_data().values for patch in figure.axes[1].patches if isinstance(patch, StepPatch)
    }
    rates = Series(run).rates
    assert steps.keys() == rates.keys() == {"main", "migrated"}
    for flow, values in rates.items():
        assert steps[flow] == pytest.approx(values)


def test_a_part_of_a_run_is_drawn_and_a_wrong_one_refused(run: Run) -> None:
    assert run.plot(span_ms=(5, 15), sequence=True).axes[-1].get_xlim() == (5, 15)
    for wrong in ((5, 5), (-1, 3), (10**6, 10**7)):
        with pytest.raises(InputError, match="span_ms"):
            run.plot(span_ms=wrong)


def test_the_reason_names_the_full_line_and_who_shares_it(run: Run) -> None:
    limits = run.limits().set_index("flow")
    assert limits.loc["main", "line_busy"] > 0.9
    assert "the rate of green (" in limits.loc["main", "limited_by"]
    assert "with migrated" in limits.loc["main", "limited_by"]


def test_what_its_application_limits_and_what_never_started_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = run.scenario.with_(**{"flows.main.rate": "1 Gb/s", "flows.migrated.after": "main"})
    whole = Run.table

    def never_started(run: Run, name: str, part: Part = WHOLE) -> pa.Table:
        table = whole(run, name, part)
        if name != "flows":
            return table
        starts = [None if flow == "migrated" else 0.0 for flow in table.column("flow").to_pylist()]
        return table.set_column(table.column_names.index("start_s"), "start_s", pa.array(starts, pa.float64()))

    monkeypatch.setattr(Run, "table", never_started)
    limits = replace(run, scenario=changed).limits().set_index("flow")
    assert "its application, which does not send all at once" in limits.loc["main", "limited_by"]
    assert limits.loc["migrated", "limited_by"] == "main, which did not end: it never started"


def test_datagrams_that_are_lost_are_not_limited_by_their_application(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    datagrams = {"protocol": "udp", "cc": None, "rate": "1 Gb/s"}
    changed = run.scenario.with_(**{f"flows.main.{field}": value for field, value in datagrams.items()})
    whole = Run.table

    def lost(run: Run, name: str, part: Part = WHOLE) -> pa.Table:
        table = whole(run, name, part)
        if name != "events":
            return table
        rows = table.to_pandas()
        rows.loc[0, ["event", "link", "flow"]] = ["drop_tail", "green", "main"]
        return pa.Table.from_pandas(rows, preserve_index=False)

    assert "its application" in replace(run, scenario=changed).limits().set_index("flow").loc["main", "limited_by"]
    monkeypatch.setattr(Run, "table", lost)
    limited_by = replace(run, scenario=changed).limits().set_index("flow").loc["main", "limited_by"]
    assert "losses: " in limited_by
    assert "its application" not in limited_by


def test_a_flow_that_nothing_recorded_limits_is_not_explained(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = run.scenario.with_(**{"network.links.green.rate": "100 Gb/s", "network.links.blue.rate": "100 Gb/s"})
    whole = Run.table

    def without_retransmissions(run: Run, name: str, part: Part = WHOLE) -> pa.Table:
        table = whole(run, name, part)
        if name != "flows":
            return table
        return table.set_column(table.column_names.index("retransmits"), "retransmits", pa.array([0, 0], pa.int64()))

    assert "retransmissions without a loss" in replace(run, scenario=fast).limits()["limited_by"][0]
    monkeypatch.setattr(Run, "table", without_retransmissions)
    limits = replace(run, scenario=fast).limits().set_index("flow")
    assert limits.loc["main", "line_busy"] < 0.2
    assert limits.loc["main", "limited_by"].startswith("nothing that the tables show")


def test_a_comparison_has_a_row_for_each_setting_and_flow(runs: Runs) -> None:
    comparison = runs.compare()
    assert comparison.by == ("period_ms",)
    table = comparison.table
    assert table[["period_ms", "flow"]].to_numpy().tolist() == [
        [10.0, "main"], [10.0, "migrated"], [20.0, "main"], [20.0, "migrated"],
    ]  # fmt: skip
    assert set(table["runs"]) == {2}
    flows = runs.flows.query("period_ms == 10 and flow == 'main'")
    assert table["fct_s"][0] == pytest.approx(flows["fct_s"].mean())
    assert table["fct_s_low"][0] < table["fct_s"][0] < table["fct_s_high"][0]
    drawn = comparison.plot()
    points = [line for line in drawn.axes[0].lines if line.get_marker() == "o"]
    assert sum(len(line.get_xdata()) for line in points) == len(runs) * 2
    assert "<table" in comparison._repr_html_()


def test_runs_that_differ_in_their_seed_only_are_compared_by_it(runs: Runs) -> None:
    assert runs.part(0, 2).compare().by == ("seed",)
    assert runs.compare("seed").mixed == ("period_ms",)
    with pytest.raises(InputError, match="period_ms"):
        runs.compare("colour")
    with pytest.raises(InputError, match="no run to compare"):
        compare(Runs([]))


def _of_programs(frames: dict[str, tuple[str, list[float]]], **more: Any) -> Run:
    programs = [{"host": "s1", "run": "curl r1"}, {"host": "r1", "run": "python3 -m http.server", "background": True}]
    return computed.run(Scenario.from_dict({"network": "dumbbell", "programs": programs}), frames, **more)


def test_a_run_of_programs_only_is_drawn_as_what_its_lines_carry() -> None:
    run = _of_programs({"r1>s1": ("bottleneck@right", [0.001, 0.002, 0.007])})
    figure = run.plot()
    assert [ax.get_ylabel() for ax in figure.axes] == ["goodput\n[Gb/s]"]
    assert [patch.get_label() for patch in figure.axes[0].patches if isinstance(patch, StepPatch)] == ["r1>s1"]
    assert "r1&gt;s1" in run.timeline().html or "r1>s1" in run.timeline().html
    assert run.limits().empty


def test_programs_that_sent_nothing_have_a_picture_with_their_commands() -> None:
    """A bar for each, from its start to its end; the server went on until the run ended."""
    run = replace(_of_programs({}, ran=[(0.5, 2.0), (0.0, None)]), provenance={"virtual_s": 2.0})
    (ax,) = run.plot().axes
    bars = [
        tuple(float(f"{x:.6g}") for x in path.vertices[:, 0]) for each in ax.collections for path in each.get_paths()
    ]
    assert [(min(xs), max(xs)) for xs in bars] == [(500, 2000), (0, 2000)]
    assert [text.get_text() for text in ax.texts] == ["curl r1", "python3 -m http.server"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["s1", "r1"]
    assert ax.get_xlim() == (0, 2000)
    page = run.timeline().html
    assert '"programs":[{"name":"s1","spans":[[500.0,2000.0,"curl r1"]]}' in page
    assert "<h2>Flows</h2>" not in page


def test_a_command_stays_inside_the_picture() -> None:
    """It is in its bar, or beside it on the side where there is room; of what is too long for both, its begin is."""
    commands = ["true", "true", "x" * 59, "sleep 1"]
    programs = [{"host": "s1", "run": line} for line in commands]
    spans = [(0.0, 0.0), (10.0, 10.0), (4.0, 6.0), (0.0, 10.0)]
    run = computed.run(Scenario.from_dict({"network": "dumbbell", "programs": programs}), {}, ran=spans)
    figure = run.plot()
    FigureCanvasAgg(figure).draw()
    (ax,) = figure.axes
    inside = ax.get_window_extent()
    for text in ax.texts:
        box = text.get_window_extent()
        assert inside.x0 <= box.x0, text.get_text()
        assert box.x1 <= inside.x1, text.get_text()
    assert [text.get_horizontalalignment() for text in ax.texts] == ["left", "right", "left", "center"]
    assert ax.texts[2].get_text().endswith("x…")
    many = [programs[0]] * (MOST_PROGRAMS + 3)
    run = computed.run(Scenario.from_dict({"network": "dumbbell", "programs": many}), {}, ran=[(0.0, 1.0)] * len(many))
    assert run.plot().axes[0].get_yticklabels()[-1].get_text() == "and 3 more"


def test_a_film_of_programs_shows_when_they_run_and_what_they_send() -> None:
    run = _of_programs({"r1>s1": ("bottleneck@right", [0.001, 0.002, 0.0955])}, ran=[(0.05, 0.1), (0.0, None)])
    run = replace(run, provenance={"virtual_s": 0.1})
    shown = scenes.scenes(run)
    assert shown.t_s[-1] == pytest.approx(0.1)
    assert (shown.target["s1"] == scenes.RUNS).tolist() == (shown.t_s > 0.05 + 1e-9).tolist()
    assert set(shown.target["r1"]) == {scenes.RUNS}
    assert shown.rate_bps["r1>s1"].sum() * shown.t_s[0] == pytest.approx(3 * 8 * computed.FRAME)
    assert not shown.cwnd_B
    stage = film._Stage(shown)
    stage.frame(0)
    assert stage.title.get_text().strip() == "1 ms: r1"
    assert [ax.get_ylabel() for ax in stage.figure.axes] == ["program\nruns", "goodput\n[Gb/s]"]


def test_a_run_that_carried_nothing_or_has_no_flows_is_answered_with_a_sentence() -> None:
    run = _of_programs({})
    for draw in (run.plot, run.timeline, lambda: film.film(run)):
        with pytest.raises(RunError, match="carried no packets of TCP or UDP"):
            draw()
    with pytest.raises(InputError, match="programs only"):
        Runs([run]).compare()


def test_no_flow_has_the_colour_of_a_link(run: Run) -> None:
    series = Series(run)
    links, flows = set(series.link_colors.values()), list(series.colors.values())
    assert list(series.colors) == list(series.flows)
    assert not links & set(flows)
    assert len(set(flows)) == len(flows)


def test_a_move_by_a_controller_is_drawn_as_a_timetable(run: Run) -> None:
    series = Series(run)
    # the rows that a controller's move has
    rows = series.events.head(2).assign(t_ns=[20e6, 21e6], event=["decision", "slot"], link="blue@left", flow="main")
    series.__dict__["events"] = rows
    first, second = series.timetables["main"]
    assert (first.begin_s, first.target, second.begin_s, second.target) == (0, "green", 0.021, "blue@left")
    assert series.decisions_s.tolist() == [0.02]


def test_each_entry_of_a_legend_has_something_beside_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "MOST_QUEUES", 1)
    figure = run.plot()
    legends = [ax.get_legend() for ax in figure.axes if ax.get_legend()] + figure.legends
    pairs = [pair for box in legends for pair in zip(box.texts, box.legend_handles, strict=True)]
    entries = {text.get_text(): handle for text, handle in pairs}
    assert {"main", "migrated", "blue", "green"} <= set(entries)
    for name, handle in entries.items():
        is_line = not isinstance(handle, Line2D) or handle.get_linestyle() != "None" or handle.get_marker() != "None"
        assert name.strip(), entries
        assert is_line, name
