# SPDX-License-Identifier: Apache-2.0
"""A stored run is exported; the trace has every slot, window and queue of the run's tables."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pandas as pd
import pytest

from rdcnlab.app.export import export
from rdcnlab.app.run_names import find
from rdcnlab.engines import Outcome
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.run import Run
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from tests.fake_engine import tables


@pytest.fixture
def run(fake_engine: None, pool_here: None, store: Store, two_flows: Scenario) -> Run:
    return campaign([two_flows.with_(period="2 ms", size="8 MiB")], store=store, progress=False)[0]


def test_a_run_is_found_by_its_id_and_by_its_scenario(run: Run, store: Store, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(run.scenario.dump())
    for name in (run.id, run.id[:4], run.id[:8].upper(), str(tmp_path / "s.yaml")):
        assert find(name, store) == run
    with pytest.raises(InputError, match="no stored run has an id"):
        find("0123456789", store)
    (tmp_path / "other.yaml").write_text(run.scenario.with_(seed=9).dump())
    made = find(str(tmp_path / "other.yaml"), store)
    assert made.scenario.seed == 9
    assert store.get(made.id) == made
    with pytest.raises(InputError, match="csv, film, parquet, pcapng, trace"):
        export(run, "xml", tmp_path)
    with pytest.raises(RunError, match=r"probes\.capture"):
        export(run, "pcapng", tmp_path)


def test_a_trace_has_every_slot_once_and_no_gap(run: Run, tmp_path: Path) -> None:
    (path,) = export(run, "trace", tmp_path)
    events = json.loads(path.read_text())["traceEvents"]
    slots = run.table("events").to_pandas().query("event == 'slot' and flow == 'migrated'")
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) == len(slots) > 2
    assert [span["name"] for span in spans] == list(slots["link"])
    for one, after in itertools.pairwise(spans):
        assert one["ts"] + one["dur"] == pytest.approx(after["ts"])
        assert one["dur"] == pytest.approx(2000)  # the period in microseconds
    flows = run.table("flows").to_pandas()
    assert spans[-1]["ts"] + spans[-1]["dur"] >= flows["end_s"].max() * 1e6


def test_a_trace_has_the_windows_and_the_bytes_of_the_tables(run: Run, tmp_path: Path) -> None:
    (path,) = export(run, "trace", tmp_path)
    counters = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "C"]
    windows = [event for event in counters if event["name"] == "window of main"]
    assert [event["args"]["cwnd [segments]"] for event in windows] == list(
        run.table("tcp").to_pandas().query("flow == 'main'")["cwnd"]
    )
    throughput = run.table("throughput").to_pandas()
    where = throughput["where"].iloc[0]
    of_main = throughput[(throughput["flow"] == "main") & (throughput["where"] == where)]
    rates = [event["args"]["Gb/s"] for event in counters if event["name"] == f"main at {where}"]
    bin_s = run.scenario.probes.bin / 1e9
    assert sum(rates) * bin_s * 1e9 / 8 == pytest.approx(of_main["bytes"].sum())
    # after the last bin a viewer shows zero, not the last rate
    assert rates[-1] == 0


def test_a_trace_has_the_queues_of_the_tables(fake_engine: None, pool_here: None, store: Store, tmp_path: Path) -> None:
    flow = {"name": "flow-1", "src": "a1", "dst": "b1", "cc": "dctcp", "size": "1 MB"}
    flow |= {"path": "forward", "back": "reverse"}
    scenario = Scenario.from_dict({"network": "tdtcp", "flows": [flow], "limit": "2 ms", "probes": {"bin": "100 us"}})
    (run,) = campaign([scenario], store=store, progress=False)
    (path,) = export(run, "trace", tmp_path)
    counters = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "C"]
    queues = run.table("queues").to_pandas()
    assert queues["max_B"].nunique() > 2
    for link, of_link in queues.groupby("link"):
        drawn = [event for event in counters if event["name"] == f"queue of {link}"]
        assert [event["args"]["most [B]"] for event in drawn[:-1]] == list(of_link["max_B"])
        assert [event["ts"] for event in drawn[:-1]] == pytest.approx(of_link["bin"] * run.scenario.probes.bin / 1e3)
        assert drawn[-1]["args"] == {"mean [B]": 0, "most [B]": 0}


def test_captures_are_copied_as_they_are(store: Store, two_flows: Scenario, tmp_path: Path) -> None:
    with store.workspace("work") as directory:
        for host in ("s1", "r1"):
            (directory / f"{host}.pcapng").write_bytes(f"packets of {host}".encode())
        (directory / "notes").write_text("no capture")
        files = {name: directory / name for name in ("s1.pcapng", "r1.pcapng", "notes")}
        run = store.put(two_flows, "fa4e", Outcome(tables(two_flows), {}, files), directory)
    written = export(run, "pcapng", tmp_path / "out")
    assert {path.name: path.read_bytes() for path in written} == {
        f"{run.id[:12]}-{host}.pcapng": f"packets of {host}".encode() for host in ("r1", "s1")
    }


def test_tables_are_exported(run: Run, tmp_path: Path) -> None:
    csv, parquet = (export(run, kind, tmp_path) for kind in ("csv", "parquet"))
    assert len(csv) == len(parquet) == len(run.digests)
    for one, other in zip(csv, parquet, strict=True):
        assert len(pd.read_csv(one)) == len(pd.read_parquet(other))
