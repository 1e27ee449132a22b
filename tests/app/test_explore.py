# SPDX-License-Identifier: Apache-2.0
"""The explorer without a browser: what its widgets mean, its runs, what it writes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rdcnlab.app.explore import curves as module
from rdcnlab.app.explore import keep
from rdcnlab.app.explore.choice import Choice
from rdcnlab.app.explore.curves import Shown, curves, image_of, means, starved
from rdcnlab.app.explore.job import Job
from rdcnlab.app.explore.panel import Panel
from rdcnlab.app.explore.places import MOVES, PLACES, STILL, WEEK
from rdcnlab.engines import get_engine
from rdcnlab.fields.errors import InputError
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.system import limits
from tests.conftest import wait_for
from tests.fake_engine import SLEEPS


def usual(name: str) -> Choice:
    place = PLACES[name]
    return Choice(
        place=name, timetable=place.timetables[0], slot_ms=place.slot_ms, dark_ms=place.dark_ms, limit_ms=place.limit_ms
    )


@pytest.mark.parametrize("name", PLACES)
def test_every_network_can_be_run_as_it_is_offered(name: str) -> None:
    for timetable in PLACES[name].timetables:
        scenario = replace(usual(name), timetable=timetable, flows=PLACES[name].most).scenario()
        assert get_engine(scenario).identity()
        assert Scenario.from_dict(scenario.to_dict()) == scenario
        assert 100 <= scenario.limit // scenario.probes.bin <= 400


def test_values_reach_the_scenario() -> None:
    choice = replace(usual("aykurt"), second="bbr", slot_ms=5.0, dark_ms=1.0, buffer_kB=300.0, ecn_kB=65.0)
    scenario = choice.scenario()
    assert [flow.cc for flow in scenario.flows] == ["cubic", "bbr"]
    assert [(slot.duration, slot.link) for slot in scenario.flows[1].slots] == [
        (1_000_000, "dark"), (4_000_000, "blue"), (1_000_000, "dark"), (4_000_000, "green"),
    ]  # fmt: skip
    assert {link.buffer and link.buffer.bytes for link in scenario.network.links} == {300_000}
    assert scenario.switch.ecn_threshold == 65_000
    week = replace(usual("tdtcp"), slot_ms=0.36, dark_ms=0.04, buffer_kB=288.0, ecn_kB=90.0).scenario()
    for schedule in week.network.schedules:
        assert sum(slot.duration for slot in schedule.slots) == 7 * 400_000
        assert schedule.ecn_threshold.in_bytes(9000) == 90_000


def test_flows_begin_early_and_at_random_in_every_network() -> None:
    for name in PLACES:
        scenario = usual(name).scenario()
        assert 0 < scenario.jitter.start <= scenario.limit / 10, name


def test_the_usual_week_is_that_of_the_preset() -> None:
    data = {"network": "tdtcp", "flows": [{"name": "flow-1", "size": "1 MB"}]}
    assert usual("tdtcp").scenario().network.schedules == Scenario.from_dict(data).network.schedules


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"second": "tdtcp"},
            r"tdtcp needs days and nights, which these networks have: packets, circuit \(Chen\) and r",
        ),
        (
            {"first": "mptcp"},
            "first transport: 'mptcp' is not possible; .* one of cubic, .*, nuftcp here; mptcp needs",
        ),
        ({"place": "tdtcp", "timetable": STILL, "second": "mptcp"}, "mptcp needs days and nights"),
        ({"switch": "linux"}, "bypass, with a Linux bridge as switch"),
        ({"timetable": WEEK}, f"must be {MOVES} or {STILL} in this network"),
        ({"place": "mars"}, "no network 'mars'. .*aykurt"),
        ({"first": "vegas"}, "no transport 'vegas'. .*cubic"),
        ({"flows": 9}, "1 to 8 in this network"),
        ({"dark_ms": 10.0}, "less than the slot"),
        ({"limit_ms": 0.5}, "1 ms to 60000 ms"),
        ({"slot_ms": 0.0}, "slot: '0 ms' is not possible; it must be 0.01 ms to 10000 ms"),
        ({"slot_ms": float("nan")}, "slot: 'nan ms'"),
        ({"dark_ms": -1.0}, "dark: '-1 ms'"),
        ({"place": "tdtcp", "timetable": WEEK, "slot_ms": 1e6}, "day: '1e\\+06 ms'"),
        ({"buffer_kB": 0.5}, "buffer: '0.5 kB' is not possible; it must be 1 kB to 100000 kB, or 0"),
        ({"ecn_kB": -3.0}, "ECN threshold: '-3 kB'"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes: dict[str, object], words: str) -> None:
    choice = replace(usual("aykurt"), **changes)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=words):
        get_engine(choice.scenario()).identity()


def test_a_panel_runs_compares_and_refuses(
    store: Store, fake_engine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    panel = Panel(store)
    assert 'alt="Network and timetable: aykurt, all cubic, slots of 10 ms"' in panel.picture.value
    assert all(each.description for each in panel.inputs.values())
    panel.run.click()
    assert panel.job is not None
    assert panel.job.join(120)
    assert panel.job.state == "done", panel.job.note
    first = panel.figure.value
    assert 'alt="Goodput, RTT' in first
    assert panel.earlier.layout.display == "none"  # there is nothing to compare with
    # what does not fit together is shown, and the next choice works again
    panel.inputs["second"].value = "tdtcp"
    assert "tdtcp needs days and nights" in panel.refusal.value
    assert panel.run.disabled
    panel.run.click()  # as a browser does that has not heard of it yet
    assert panel.job.ended
    assert (panel.save.disabled, panel.book.disabled) == (True, True)  # a file of it could not be run
    panel._keep(notebook=False)  # as a browser does that has not heard of it yet
    assert not list(Path.cwd().glob("explored.yaml"))
    panel.inputs["second"].value = "bbr"
    assert (panel.save.disabled, panel.figure.value) == (False, first)
    assert "The choice has changed since" in panel.caption.value
    panel.inputs["second"].value = "tdtcp"
    panel.inputs["place"].value = "tdtcp"
    # nothing of the other network stays
    assert (panel.figure.value, panel.table.value, panel.caption.value) == ("", "", "")
    assert ("done" in panel.words.value, panel.progress.value) == (False, 0.0)
    assert panel.inputs["timetable"].value == WEEK
    assert [panel.inputs[name].description for name in ("slot_ms", "dark_ms")] == ["day [ms]", "night [ms]"]
    assert not panel.run.disabled
    assert "not possible" not in panel.refusal.value
    panel.run.click()
    assert panel.job.join(120)
    assert panel.figure.value != first
    alone = panel.figure.value
    assert [label for label, _ in panel.earlier.options] == ["1: aykurt, all cubic, slots of 10 ms"]
    panel.earlier.value = [0]
    assert panel.figure.value != alone
    assert "1 main (CUBIC)" in panel.figure.value
    assert panel.table.value.count("<tr>") == 4  # beside the head
    # the same network again keeps what is compared, another one does not
    panel.inputs["runs"].value = 2
    panel.run.click()
    assert panel.job.join(120)
    assert panel.earlier.value == (0,)
    panel.inputs["place"].value = "dumbbell"
    panel.inputs["second"].value = "bbr"
    panel.run.click()
    assert panel.job.join(120)
    assert (len(panel.earlier.options), panel.earlier.value) == (3, ())


def test_a_choice_that_is_refused_during_a_run_stays_refused(store: Store, fake_engine: None) -> None:
    panel = Panel(store)
    panel.run.click()
    panel.inputs["slot_ms"].value = 0.0
    assert panel.job is not None
    assert panel.job.join(120)
    assert "done, 3 of 3 runs" in panel.words.value
    assert "slot: &#x27;0 ms&#x27; is not possible" in panel.refusal.value
    assert (panel.run.disabled, panel.stop.disabled) == (True, True)


def test_a_problem_of_all_switches_is_shown_once(store: Store) -> None:
    panel = Panel(store)
    panel.inputs["place"].value = "rotor"
    panel.inputs["engine"].value = "ns3"
    panel.inputs["switch"].value = "ovs"
    assert panel.refusal.value.count("is not possible") == 1
    assert "switch.kind" in panel.refusal.value


def test_workers_respect_the_limits_of_a_container(
    store: Store, fake_engine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    class Recorded(Job):
        def __init__(self, scenarios: Any, store: Any, cores: Any, changed: Any) -> None:
            asked.append(cores)
            super().__init__(scenarios, store, cores, changed)

    monkeypatch.setattr("rdcnlab.app.explore.panel.Job", Recorded)
    monkeypatch.setattr("rdcnlab.system.limits.quota", lambda *_: 1.0)
    panel = Panel(store)
    panel.run.click()
    assert panel.job is not None
    assert panel.job.join(120)
    assert asked == [limits.cores()]
    assert len(limits.cores()) == 1


def test_runs_are_stored_as_all_others_are(store: Store, fake_engine: None) -> None:
    choice = replace(usual("dumbbell"), runs=2)
    job = Job(choice.scenarios(), store, [0], lambda _: None)
    job.start()
    assert job.join(120)
    assert {run.scenario for run in store} == set(choice.scenarios())
    again = Job(choice.scenarios(), store, [0], lambda _: None)
    again.start()
    assert again.join(60)
    assert [run.id for run in again.runs] == [run.id for run in job.runs]


def test_a_run_is_stopped_and_another_one_begins(store: Store, fake_engine: None, tmp_path: Path) -> None:
    scenario = usual("dumbbell").scenario()
    job = Job([scenario, scenario.with_(seed=SLEEPS)], store, [0], lambda _: None)
    job.start()
    wait_for(lambda: any(path.name.isdigit() for path in tmp_path.iterdir()))  # the second run sleeps
    job.stop()
    assert job.join(60)
    assert job.state == "stopped"
    assert (tmp_path / "cleaned").exists()  # the worker was asked to end, and did so itself
    assert [run.scenario.seed for run in job.runs] == [0]
    assert not list((store.root / ".work").glob("*/"))
    other = Job([scenario.with_(seed=1)], store, [0], lambda _: None)
    other.start()
    assert other.join(60)
    assert other.state == "done"


def test_a_failed_run_is_reported(store: Store, fake_engine: None) -> None:
    job = Job([usual("dumbbell").scenario().with_(seed=1001)], store, [0], lambda _: None)
    job.start()
    assert job.join(60)
    assert (job.state, job.note.split("\n")[0][:18]) == ("failed", "the guest panicked")


def test_a_network_that_comes_back_has_its_curves_again(store: Store, fake_engine: None) -> None:
    panel = Panel(store)
    panel.run.click()
    assert panel.job is not None
    assert panel.job.join(120)
    before = panel.figure.value
    assert "Curves of 1: aykurt, all cubic, slots of 10 ms." in panel.caption.value
    panel.inputs["place"].value = "dumbbell"
    assert not panel.figure.value
    panel.inputs["place"].value = "aykurt"
    assert panel.figure.value == before


def test_the_panel_says_which_buffer_the_network_has(store: Store) -> None:
    panel = Panel(store)
    assert "0 leaves the network&#x27;s own: buffers of 2.7875 MB; no ECN marks" in panel.usual.value
    panel.inputs["place"].value = "tdtcp"
    assert "buffers of 16 packets" in panel.usual.value


def test_a_flow_has_the_same_colour_whatever_is_compared(store: Store, fake_engine: None) -> None:
    same = campaign(replace(usual("aykurt"), runs=1).scenarios(), store=store, progress=False)
    other = campaign(replace(usual("aykurt"), second="bbr", runs=1).scenarios(), store=store, progress=False)
    rate, *_ = curves(Shown("1", other), Shown("2", same)).axes
    colors = {str(line.get_label()): line.get_color() for line in rate.lines}
    assert colors["1: main, CUBIC"] == colors["2: main, CUBIC"]
    assert colors["1: migrated, BBR"] == colors["2: migrated, CUBIC"] != colors["1: main, CUBIC"]


def test_a_run_that_starves_is_seen_and_named(store: Store, fake_engine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = campaign(replace(usual("aykurt"), runs=3).scenarios(), store=store, progress=False)
    shown = [Shown("1", runs)]
    assert starved(shown) == []
    real = module._rates

    def without_the_first(runs: Any) -> Any:
        """As if the migrated flow had got nothing in the first run."""
        rates = real(runs)
        rates.loc[(rates["run"] == 0) & (rates["flow"] == "migrated-1"), "rate_bps"] = 0.0
        return rates

    monkeypatch.setattr(module, "_rates", without_the_first)
    (sentence,) = starved(shown)
    assert sentence.startswith("1, seed 0: migrated got 0.00 Gb/s")
    row = means(shown).set_index("flows").loc["migrated"]
    assert row["least"] == 0.0
    assert row["most"] > row["goodput [Gb/s]"] > 0


def test_curves_show_every_group(store: Store, fake_engine: None) -> None:
    runs = campaign(replace(usual("aykurt"), second="bbr", flows=2).scenarios(), store=store, progress=False)
    rate, rtt, queue = curves(runs).axes
    assert len(rate.lines) == len(rtt.lines) == 2 * len(runs)
    assert rate.get_ylabel() == "goodput [Gb/s]"
    named = [str(line.get_label()) for line in rate.lines if not str(line.get_label()).startswith("_")]
    assert named == ["main, CUBIC, 3 runs", "migrated, BBR, 3 runs"]
    assert queue.get_xlim() == (0, 200)
    rows = means([Shown("a", runs)]).set_index("flows")
    total = runs.flows["received_B"].sum() * 8 / 3 / 0.2 / 1e9
    assert rows["goodput [Gb/s]"].sum() == pytest.approx(total, rel=0.02)
    # what is compared is longer: no axis grows by it
    longer = campaign([runs[0].scenario.with_(limit="400 ms")], store=store, progress=False)
    both = curves(Shown("1", runs), Shown("2", longer)).axes
    assert len(both[0].lines) == 2 * (len(runs) + 1)
    assert all(max(np.asarray(line.get_xdata())) <= 200 for ax in both for line in ax.lines)
    png, words = image_of([Shown("a", runs)])
    assert png.startswith(b"\x89PNG")
    assert "a main (CUBIC)" in words
    assert "a migrated (BBR)" in words


def test_files_are_written_once_and_give_the_scenario_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_engine: None
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    for name in PLACES:
        scenario = usual(name).scenario()
        assert Scenario.load(keep.save(scenario, f"{name}.yaml")) == scenario
    with pytest.raises(InputError, match=r"a file that does not exist yet, such as aykurt-2\.yaml"):
        keep.save(scenario, "aykurt.yaml")
    with pytest.raises(InputError, match=r"ends in \.yaml"):
        keep.save(scenario, "aykurt.txt")
    book = keep.save_notebook(usual("dumbbell").scenario(), "one link", 2, "mine.yaml")
    cells = ["".join(cell["source"]) for cell in json.loads(book.read_text())["cells"] if cell["cell_type"] == "code"]
    code = "\n".join([*cells, "assert len(runs) == 2"])
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, timeout=300)
