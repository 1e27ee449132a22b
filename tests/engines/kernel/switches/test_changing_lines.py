# SPDX-License-Identifier: Apache-2.0
"""Lines of a scenario that change, err, mark by chance, or have a queueing discipline of Linux."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rdcnlab.engines.ns3 import check as ns3_check
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

#: Frames of 1500 B take 1538 B of a line.
FRAME = 1538 * 8


def through(line: dict[str, Any], *flows: dict[str, Any], directory: Path | None = None, **more: Any) -> Scenario:
    """Return flows from s1 to r1, s2 to r2 ... over one link between two switches."""
    count = range(1, len(flows) + 1)
    data = {
        "network": {
            "name": "line",
            "switches": [{"name": "left"}, {"name": "right"}],
            "hosts": [
                *({"name": f"s{n}", "at": "left", "rate": "10 Gb/s"} for n in count),
                *({"name": f"r{n}", "at": "right", "rate": "10 Gb/s"} for n in count),
            ],
            "links": [{"name": "air", "between": ["left", "right"], "rate": "100 Mb/s", **line}],
        },
        "flows": [{"src": f"s{n}", "dst": f"r{n}", **flow} for n, flow in zip(count, flows, strict=True)],
        "probes": {"packets": True},
        **more,
    }
    return Scenario.from_dict(data, text=True, directory=directory)


def datagrams(count: int, interval: str, **more: Any) -> dict[str, Any]:
    size = {"size": f"{1472 * count} B", "packet": "1500 B", "burst": 1, "interval": interval}
    return {"name": "u", "protocol": "udp", **size, **more}


def last(start: str) -> dict[str, Any]:
    """Return a small transfer that ends the run, because bursts of datagrams have no end."""
    return {"name": "last", "size": "1 kB", "cc": "cubic", "start": start}


def test_a_rate_that_changes_lets_nothing_overtake_and_delivers_its_integral(run_guest: RunGuest) -> None:
    steps = [["100 ms", "2 Mb/s"], ["100 ms", "16 Mb/s"]]
    line = {"rate": steps, "delay": "20 ms", "buffer": "100 kB"}
    probes = {"packets": True, "counters": True}
    tables = run_guest(through(line, {"name": "f", "size": "1 MB", "cc": "cubic"}, probes=probes)).tables
    # the sender counts every segment that arrived in another order than it was sent
    assert not {"counter TCPSACKReorder", "counter TCPTSReorder"} & set(tables["events"]["event"])
    left = tables["events"].query("event == 'dequeue' and link == 'air@left'")
    # while the queue is not empty, a frame begins when the bits of the frame before have passed
    time = left["t_ns"].to_numpy()
    busy = [k for k in range(len(time) - 1) if time[k + 1] - time[k] > 0]

    def passed(ns: int) -> float:
        whole, rest = divmod(ns, 200_000_000)
        return whole * 1.8e6 + min(rest, 100_000_000) * 2e6 / 1e9 + max(rest - 100_000_000, 0) * 16e6 / 1e9

    bits = np.array([passed(int(time[k + 1])) - passed(int(time[k])) for k in busy])
    frames = np.array([(left["value"].iloc[k] + 24) * 8 for k in busy])
    assert np.all(bits > frames - 1)  # never faster than the line
    assert np.mean(np.abs(bits - frames) < 1) > 0.9  # and nearly always back to back


def test_a_trace_of_mahimahi_delivers_at_its_instants(run_guest: RunGuest, tmp_path: Path) -> None:
    instants = [1, 2, 2, 5, 5, 5, 9, 10]
    (tmp_path / "up.trace").write_text("".join(f"{instant}\n" for instant in instants))
    line = {"rate": {"trace": "up.trace"}, "buffer": "1 MB"}
    scenario = through(line, datagrams(400, "100 us"), last("600 ms"), directory=tmp_path)
    arrived = run_guest(scenario).tables["events"].query("event == 'dequeue' and link == 'receiver' and flow == 'u'")
    # an IP packet of 1500 B and its 4 B take exactly one instant, and there is always a queue: one frame for each
    expected = [cycle * 10 + instant for cycle in range(50) for instant in instants]
    assert (arrived["t_ns"] // 1_000_000).tolist() == expected


def test_losses_are_binomial_and_the_same_in_every_run(run_guest: RunGuest) -> None:
    line = {"rate": "10 Gb/s", "buffer": "1 MB", "loss": "1 %"}
    scenario = through(line, datagrams(50_000, "2 us"), last("200 ms"), probes={})
    lost = [run_guest(scenario).tables["events"].query("event == 'drop_loss'")["t_ns"].tolist() for _ in range(2)]
    assert lost[0] == lost[1]
    assert abs(len(lost[0]) - 500) < 4 * np.sqrt(50_000 * 0.01 * 0.99)


def test_another_line_does_not_change_which_frames_a_line_loses(run_guest: RunGuest) -> None:
    line = {"rate": "10 Gb/s", "buffer": "1 MB", "loss": "2 %"}
    scenario = through(line, datagrams(5000, "2 us"), last("100 ms"), probes={})
    data = scenario.to_dict()
    more = {"name": "aaa", "between": ["left", "right"], "rate": 10**9, "buffer": 10**6, "loss": 500_000}
    data["network"]["links"].insert(0, more)
    for flow in data["flows"]:
        flow["path"] = "air"
    both = (scenario, Scenario.from_dict(data))
    lost = [run_guest(each).tables["events"].query("event == 'drop_loss' and flow == 'u'")["t_ns"] for each in both]
    assert len(lost[0]) > 50
    assert lost[0].tolist() == lost[1].tolist()


def test_frames_are_marked_by_chance_between_two_lengths(run_guest: RunGuest) -> None:
    marking = {"min": "20 kB", "max": "60 kB", "probability": "10 %"}
    line = {"delay": "1 ms", "buffer": "400 kB", "marking": marking}
    flow = {"name": "f", "size": "10 MB", "cc": "dctcp"}
    tables = run_guest(through(line, flow, probes={})).tables
    queue = tables["queues"].query("link == 'air@left'")
    assert queue["marks"].sum() > 50
    assert queue["drops"].sum() == 0
    assert queue["max_B"].iloc[len(queue) // 4 :].max() < 100_000


@pytest.mark.parametrize("kind", ["codel", "fq_codel", "pie", "cake"])
def test_a_discipline_keeps_the_delay_short(run_guest: RunGuest, kind: str) -> None:
    line = {"rate": "20 Mb/s", "delay": "10 ms", "aqm": {"kind": kind}}
    tables = run_guest(through(line, {"name": "f", "size": "10 MB", "cc": "cubic"}, probes={})).tables
    queue = tables["queues"].query("link == 'air@left'")
    late = queue[queue["bin"] > 1500]
    # 20 Mb/s empty 2500 B in a millisecond; without a discipline 1000 packets would wait 600 ms
    assert late["mean_B"].mean() / 2500 < 25
    events = tables["events"]
    assert queue["drops"].sum() == len(events.query("event == 'drop_aqm'")) > 0


@pytest.mark.parametrize("fault", [{}, {"loss": "0.5 %"}], ids=["clean", "lossy"])
def test_bfifo_gives_the_tables_of_the_built_in_queue(run_guest: RunGuest, fault: dict[str, str]) -> None:
    flows = [{"name": f"f{n}", "size": "4 MB", "cc": "cubic", "start": f"{n} ms"} for n in (1, 2)]
    limits = ({"buffer": "60 kB"}, {"aqm": {"kind": "bfifo", "limit": 60_000}})
    one, two = (run_guest(through({"delay": "5 ms", **fault, **limit}, *flows)).tables for limit in limits)
    for name in ("flows", "throughput", "queues", "tcp"):
        assert one[name].equals(two[name]), name
    changed = one["events"].replace({"event": {"drop_tail": "drop_aqm"}})
    columns = ["t_ns", "event", "flow", "value", "link"]
    assert (
        changed.sort_values(columns)[columns]
        .reset_index(drop=True)
        .equals(two["events"].sort_values(columns)[columns].reset_index(drop=True))
    )


def test_a_discipline_at_the_port_to_a_host(run_guest: RunGuest) -> None:
    data = through({"buffer": "1 MB", "rate": "10 Gb/s"}, {"name": "f", "size": "20 MB", "cc": "cubic"}).to_dict()
    host = next(host for host in data["network"]["hosts"] if host["name"] == "r1")
    host |= {"rate": 20_000_000, "port": {"aqm": {"kind": "fq_codel"}}}
    tables = run_guest(Scenario.from_dict({**data, "limit": 4_000_000_000, "probes": {}})).tables
    queue = tables["queues"].query("link == 'r1@right'")
    assert queue["drops"].sum() > 0
    assert queue[queue["bin"] > 2000]["mean_B"].mean() / 2500 < 25


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({"rate": [["1 s", "0 b/s"]], "buffer": "1 MB"}, "rate"),
        ({"buffer": "1 MB", "loss": "1 %", "bursts": {"good_bad": "1 %", "bad_good": "50 %"}}, "bursts"),
        ({"buffer": "1 MB", "reorder": True}, "reorder"),
        ({"buffer": "1 MB", "down": [["2 s", "1 s"]]}, "down"),
        ({"rate": {"trace": "nowhere"}, "buffer": "1 MB"}, "nowhere"),
        ({"aqm": {"kind": "netem"}}, "aqm"),
        ({"aqm": {"kind": "codel"}, "buffer": "1 MB"}, "buffer"),
        ({"aqm": {"kind": "codel"}, "ecn_threshold": "1 kB"}, "ecn_threshold"),
        (
            {
                "buffer": "1 MB",
                "ecn_threshold": "1 kB",
                "marking": {"min": "1 kB", "max": "2 kB", "probability": "1 %"},
            },
            "ecn_threshold",
        ),
        ({"rate": {"trace": "x", "repeat": True}, "buffer": "1 MB"}, "rate"),
        ({"aqm": {"kind": "codel", "target": "5ms; reboot"}}, "aqm"),
    ],
)
def test_what_a_line_cannot_do_is_refused(line: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError, match=field):
        through(line, last("0 s"))


def test_a_rate_that_contradicts_the_steps_is_refused() -> None:
    made = through({"rate": [["1 s", "2 Mb/s"], ["1 s", "16 Mb/s"]], "buffer": "1 MB"}, last("0 s"))
    with pytest.raises(InputError, match="16 Mb/s, the largest rate of its steps"):
        made.with_(**{"network.links.air.rate": "4 Mb/s"})


def test_a_cable_loses_in_both_directions_and_says_where(run_guest: RunGuest) -> None:
    data = through({"rate": "10 Gb/s", "buffer": "1 MB"}, datagrams(10_000, "2 us"), last("100 ms")).to_dict()
    for host in data["network"]["hosts"]:
        host["loss"] = 20_000 if host["name"] in ("s1", "r1") else 0
    lost = run_guest(Scenario.from_dict({**data, "probes": {}})).tables["events"].query("event == 'drop_loss'")
    for place in ("s1@s1", "r1@right"):
        assert abs((lost["link"] == place).sum() - 200) < 4 * np.sqrt(10_000 * 0.02 * 0.98)
    assert set(lost["link"]) == {"s1@s1", "r1@right"}


@pytest.mark.parametrize("line", [{"loss": "1 %"}, {"rate": [["1 s", "1 Mb/s"]]}, {"aqm": {"kind": "codel"}}])
def test_ns3_refuses_them_by_name(line: dict[str, Any]) -> None:
    scenario = through({**({} if "aqm" in line else {"buffer": "1 MB"}), **line}, last("0 s"), engine={"kind": "ns3"})
    with pytest.raises(InputError, match=r"network\.links\.air"):
        ns3_check.check(scenario)


def test_traces_have_clear_errors(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("t_s,rate_Mbps\n0,10\nhalf,20\n")
    with pytest.raises(InputError, match=r"line 3"):
        through({"rate": {"trace": "bad.csv"}, "buffer": "1 MB"}, last("0 s"), directory=tmp_path)
    (tmp_path / "good.csv").write_text("t_s,rate_Mbps\n0,10\n0.5,20\n")
    made = through({"rate": {"trace": "good.csv"}, "buffer": "1 MB"}, last("0 s"), directory=tmp_path)
    link = made.network.links[0]
    assert (link.rate, link.repeat, [step.rate for step in link.steps]) == (20_000_000, False, [10_000_000, 20_000_000])
    assert Scenario.from_dict(made.to_dict()) == made
