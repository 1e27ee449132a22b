# SPDX-License-Identifier: Apache-2.0
"""The ns3 engine: it agrees with the kernel engine where both can do the same, and repeats itself byte by byte."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from rdcnlab.engines.ns3 import Ns3Engine, build
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.digest import digests
from rdcnlab.runs.store import Store
from rdcnlab.runs.verify import verify
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

pytestmark = pytest.mark.usefixtures("ns3_models")

#: ns that a full frame of 1500 B takes on a line of 10 Gb/s.
FRAME_NS = 1538 * 8 / 10


def bottleneck(cc: str, **more: Any) -> Scenario:
    """One flow from a host of 10 Gb/s through a link of 1 Gb/s: twelve times the bandwidth-delay product of it."""
    threshold = {"ecn_threshold": "30 kB"} if cc == "dctcp" else {}
    return Scenario.from_dict(
        {
            "network": {
                "name": "bottleneck",
                "hosts": [{"name": name, "rate": "10 Gb/s", "delay": "50 us", "queue": "64 MB"} for name in "ab"],
                "links": [{"name": "link", "rate": "1 Gb/s", "buffer": "150 kB", **threshold}],
            },
            "flows": [{"name": "f", "size": "30 MB", "cc": cc, "path": "link", "src": "a", "dst": "b"}],
            "limit": "5 s",
            **more,
        }
    )


def simulated(scenario: Scenario, directory: Path, *, core: int | None = None) -> dict[str, pd.DataFrame]:
    directory.mkdir(exist_ok=True)
    outcome = Ns3Engine(with_ns3(scenario)).run(directory, core=core, wall_limit_s=120)
    tables = {name: table.to_pandas() for name, table in outcome.tables.items()}
    return {**tables, "digest": digests(outcome.tables)}


def with_ns3(scenario: Scenario) -> Scenario:
    return scenario.with_(**{"engine.kind": "ns3"})


def steady(tables: dict[str, pd.DataFrame]) -> tuple[float, float]:
    """Return rate on the link (bit/s) and mean queue (bytes), without the first 20 % and the last 10 % of bins."""
    here = tables["throughput"].query("where == 'link'").set_index("bin")["bytes"]
    bins = range(int(here.index[-1] * 0.2), int(here.index[-1] * 0.9))
    queue = tables["queues"].query("link == 'link'").set_index("bin")["mean_B"]
    return here.reindex(bins, fill_value=0).mean() * 8e3, queue.reindex(bins, fill_value=0).mean()


@pytest.mark.guest
@pytest.mark.parametrize("cc", ["cubic", "dctcp"])
def test_a_flow_has_the_rate_and_the_queue_that_it_has_on_the_kernel(
    cc: str, run_guest: RunGuest, tmp_path: Path
) -> None:
    rate, queue = steady(simulated(bottleneck(cc), tmp_path))
    kernel_rate, kernel_queue = steady(run_guest(bottleneck(cc)).tables)
    assert kernel_queue > 10_000
    assert rate == pytest.approx(kernel_rate, rel=0.03)
    assert queue == pytest.approx(kernel_queue, rel=0.15)


def hosts(left: str, right: str) -> list[dict[str, str]]:
    line = {"rate": "10 Gb/s", "delay": "1 us"}
    return [{"name": "s[1-3]", "at": left, **line}, {"name": "r[1-3]", "at": right, **line}]


#: Two links in turn, with a dark slot, one switch late, RED; and three switches of which one is optical and loses.
SWAP: dict[str, Any] = {
    "network": {
        "name": "swap",
        "switches": [{"name": "left"}, {"name": "right", "late": "30 us"}],
        "hosts": hosts("left", "right"),
        "links": [
            {
                "name": "l_n", "between": ["left", "right"], "rate": "1 Gb/s", "delay": "3 us", "buffer": "60 kB",
                "red": {"min": "20 kB", "max": "50 kB", "probability": "20 %"},
            },
            {"name": "l_m", "between": ["left", "right"], "rate": "5 Gb/s", "delay": "7 us", "buffer": "30 kB"},
        ],
    },
    "one": [["700 us", "l_n"], ["200 us", "dark"], ["1100 us", "l_m"]],
    "other": [["1 ms", "l_m"], ["1 ms", "l_n"]],
    "last": "l_m",
}  # fmt: skip
OPTICAL: dict[str, Any] = {
    "network": {
        "name": "optical",
        "switches": [
            {"name": "left"}, {"name": "light", "optical": True, "late": "5 us", "guard": "2 us"}, {"name": "right"},
            {"name": "spare", "jitter": "40 us"},
        ],
        "hosts": hosts("left", "right"),
        "links": [
            {"name": name, "between": ends, "rate": "5 Gb/s", "delay": "2 us", "buffer": "40 kB"}
            for name, ends in (
                ("up", ["left", "light"]), ("down", ["light", "right"]),
                ("over", ["left", "spare"]), ("under", ["spare", "right"]),
            )
        ],
        "schedules": [
            {
                "name": "pair", "pair": ["left", "right"], "queue": "20 packets", "ecn_threshold": "10 packets",
                "slots": [["300 us", "up"], ["100 us", "dark"], ["400 us", "over"]],
            }
        ],
    },
    "one": "ecmp",
    "other": [["500 us", "spare"], ["500 us", "light"]],
    "last": "over",
}  # fmt: skip


def bursts(network: dict[str, Any]) -> Scenario:
    """Two schedules of bursts of datagrams, and a late flow, whose end is the end of the run."""
    udp = {"protocol": "udp", "back": "same"}
    return Scenario.from_dict(
        {
            "network": network["network"],
            "flows": [
                {
                    **udp, "name": "one", "src": "s1", "dst": "r1", "size": 1472 * 600, "burst": 60,
                    "interval": "1 ms", "path": network["one"], "back": "ecmp",
                },
                {
                    **udp, "name": "other", "src": "s2", "dst": "r2", "size": 1472 * 400, "burst": 25,
                    "interval": "510 us", "path": network["other"], "phase": "100 us",
                },
                {"name": "last", "src": "s3", "dst": "r3", "size": "20 kB", "start": "14 ms", "path": network["last"]},
            ],
            "probes": {"packets": True},
            "limit": "1 s",
            "seed": 5,
        }
    )  # fmt: skip


@pytest.mark.guest
@pytest.mark.parametrize("network", [SWAP, OPTICAL], ids=["swap", "optical"])
def test_bursts_of_datagrams_have_equal_fates_and_instants(
    network: dict[str, Any], run_guest: RunGuest, tmp_path: Path
) -> None:
    """Each datagram is queued, sent, lost for the same reason at the same place, at the same time within a frame."""
    here, there = (
        tables["events"].query("flow in ('one', 'other', 'pair')").reset_index(drop=True)
        for tables in (simulated(bursts(network), tmp_path), run_guest(bursts(network)).tables)
    )
    assert {"slot", "enqueue", "dequeue", "drop_tail"} <= set(here["event"])
    keys = ["event", "link", "flow"]
    ours, kernels = ({key: part["t_ns"].to_numpy() for key, part in each.groupby(keys)} for each in (here, there))
    assert {key: len(times) for key, times in ours.items()} == {key: len(times) for key, times in kernels.items()}
    for key, times in ours.items():
        assert abs(times - kernels[key]).max() < FRAME_NS, key


@pytest.mark.guest
def test_datagrams_alone_with_a_rate_arrive_as_on_the_kernel(run_guest: RunGuest, tmp_path: Path) -> None:
    flow = {"name": "f", "src": "s1", "dst": "r1", "protocol": "udp", "rate": "1.472 Gb/s", "until": "50 ms"}
    network = {"fabric": "dumbbell", "rate": "1 Gb/s", "buffer": "100 packets"}
    scenario = Scenario.from_dict({"network": network, "flows": [flow], "limit": "2 s"})
    here, there = (tables["flows"].iloc[0] for tables in (simulated(scenario, tmp_path), run_guest(scenario).tables))
    assert here["received_B"] == pytest.approx(there["received_B"], abs=2 * 1472)
    assert here["end_s"] == pytest.approx(there["end_s"], abs=1e-5)


@pytest.mark.parametrize("cc", ["cubic", "reno", "westwood", "bbr", "dctcp"])
def test_every_congestion_control_completes(cc: str, tmp_path: Path) -> None:
    tables = simulated(bottleneck(cc).with_(size="5 MB"), tmp_path)
    row = tables["flows"].iloc[0]
    assert row["finished"]
    assert row["received_B"] == 5_000_000
    # the wire takes 1538 B for 1448 B
    assert row["fct_s"] > 5_000_000 / 1448 * 1538 * 8 / 1e9
    assert len(tables["tcp"]) > 10


def test_bbr_fills_a_line_that_is_faster_than_ns3_paces_by_default(tmp_path: Path) -> None:
    """Its default is at most 4 Gb/s; here 100 MB take at least 80 ms at 10 Gb/s, and would take 200 ms."""
    fast = [{"name": "link", "rate": "10 Gb/s", "buffer": "4 MB"}]
    scenario = bottleneck("bbr").with_(**{"size": "100 MB", "network.links": fast, "network.mtu": 9000})
    assert simulated(scenario, tmp_path)["flows"]["fct_s"].iloc[0] < 0.1


def test_a_run_repeats_itself_whatever_surrounds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BBR draws random numbers; the environment could change ns-3's defaults, and addresses of objects differ."""
    scenario = bottleneck("bbr", jitter={"start": "1 ms"}).with_(size="5 MB")
    first = simulated(scenario, tmp_path / "first")["digest"]
    monkeypatch.setenv("NS_ATTRIBUTE_DEFAULT", "ns3::TcpSocket::InitialCwnd=1")
    monkeypatch.setenv("NS_GLOBAL_VALUE", "RngRun=77")
    core = sorted(os.sched_getaffinity(0))[-1]
    again = simulated(scenario, tmp_path / "a-directory-with-a-longer-name", core=core)["digest"]
    assert again == first
    assert simulated(scenario.with_(seed=1), tmp_path / "seed")["digest"] != first


@pytest.mark.parametrize("options", [{"initiator": "dst"}, {"connect": "ahead"}], ids=["requested", "ahead"])
def test_connections_are_opened_as_asked(options: dict[str, str], tmp_path: Path) -> None:
    flow = {"name": "f", "size": "5 MB", "path": "link", "src": "a", "dst": "b", "start": "2 ms", **options}
    row = simulated(bottleneck("cubic", flows=[flow]), tmp_path)["flows"].iloc[0]
    assert row["finished"]
    assert row["start_s"] == 0.002
    plain = {**flow, "initiator": "src", "connect": "start"}
    other = simulated(bottleneck("cubic", flows=[plain]), tmp_path / "plain")["flows"].iloc[0]
    # a connection that is there saves a round trip of 200 us, a request costs half of one; lines take a few us more
    saved = {"dst": -100e-6}.get(options.get("initiator", ""), 200e-6)
    assert other["fct_s"] - row["fct_s"] == pytest.approx(saved, abs=15e-6)


def test_runs_are_stored_resumed_and_verified(store: Store) -> None:
    asked = [with_ns3(bottleneck("dctcp")).with_(size="2 MB", seed=seed) for seed in range(2)]
    runs = campaign(asked, store=store, workers=1, progress=False)
    made = {path: path.stat().st_mtime_ns for path in store.root.glob("*/flows.parquet")}
    assert len(made) == 2
    assert [run.provenance["engine"] for run in runs] == ["ns3", "ns3"]
    campaign(asked, store=store, workers=1, progress=False)
    assert {path: path.stat().st_mtime_ns for path in store.root.glob("*/flows.parquet")} == made
    assert all(row["same"] for row in verify(list(runs)[:1], workers=1, progress=False))


@pytest.mark.parametrize("given", ["60", "much"])
def test_a_limit_of_memory_must_be_enough_for_the_libraries(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDCNLAB_NS3_MEMORY", given)
    with pytest.raises(InputError, match="at least 160"):
        simulated(bottleneck("cubic"), tmp_path)


def test_a_run_that_takes_too_much_memory_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million datagrams are under way at once."""
    monkeypatch.setenv("RDCNLAB_NS3_MEMORY", "160")
    links = [{"name": "link", "rate": "400 Gb/s", "delay": "1 s", "buffer": "3 GB"}]
    flow = {"name": "f", "protocol": "udp", "src": "a", "dst": "b", "size": 1472 * 10**6, "burst": 65_000,
            "interval": "1 ms", "path": "link"}  # fmt: skip
    last = {"name": "last", "src": "a", "dst": "b", "size": "1 B", "path": "link", "start": "3 s"}
    scenario = bottleneck("cubic", flows=[flow, last])
    with pytest.raises(RunError, match="RDCNLAB_NS3_MEMORY"):
        simulated(scenario.with_(**{"network.links": links}), tmp_path)


def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="took more than 1 s"):
        Ns3Engine(with_ns3(bottleneck("cubic").with_(size="4 GB", limit="60 s"))).run(
            tmp_path, core=None, wall_limit_s=1
        )


def test_a_failed_build_leaves_nothing_that_looks_like_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = tmp_path / "models"
    models.mkdir()
    (models / "wrong.cc").write_text("int main( {\n")
    monkeypatch.setattr(build, "MODELS", models)
    monkeypatch.setenv("RDCNLAB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(RunError, match=r"compiling wrong\.cc failed") as caught:
        build.make()
    assert "error" in Path(str(caught.value.log)).read_text()
    assert build.find() is None
    assert not [path for path in (tmp_path / "cache" / "ns3").iterdir() if path.is_dir()]
