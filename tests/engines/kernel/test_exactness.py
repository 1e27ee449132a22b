# SPDX-License-Identifier: Apache-2.0
"""The emulation gives the results that arithmetic predicts."""

from __future__ import annotations

import re

import pytest

from rdcnlab.scenario import Scenario
from tests.conftest import TWO_FLOWS
from tests.engines.conftest import RunGuest

pytestmark = pytest.mark.guest

GIB = 2**30
#: Payload of a frame of 9000 B with TCP time stamps, and bytes of the frame on the wire.
MSS, WIRE = 9000 - 20 - 20 - 12, 9000 + 38


def single(cc: str, *, migrated: bool) -> Scenario:
    data = {**TWO_FLOWS, "flows": [TWO_FLOWS["flows"][1 if migrated else 0]]}
    return Scenario.from_dict(data).with_(size="4 GiB", cc=cc)


@pytest.mark.slow
@pytest.mark.parametrize("migrated", [False, True], ids=["static", "migrated"])
@pytest.mark.parametrize(("cc", "tolerance"), [("cubic", 0.005), ("reno", 0.005), ("westwood", 0.01), ("bbr", 0.01)])
def test_a_flow_of_4_gib_takes_3_47_s(run_guest: RunGuest, cc: str, tolerance: float, *, migrated: bool) -> None:
    seen = run_guest(single(cc, migrated=migrated).with_(**{"probes.tcp": "none"}))
    fct = seen.tables["flows"]["fct_s"].item()
    assert fct == pytest.approx(3.47, rel=tolerance)
    # no flow can be faster than the line
    assert fct > 4 * GIB / MSS * WIRE * 8 / 10e9


def test_ping_through_100_us_takes_200_us(run_guest: RunGuest, two_hosts: Scenario) -> None:
    seen = run_guest(two_hosts, commands=[("a", "ping -n -c 5 -i 0.2 10.0.0.2")])
    times = [float(time) for time in re.findall(r"time=([0-9.]+) ms", seen.answers[0])]
    assert len(times) == 5, seen.answers
    assert times == pytest.approx([0.200] * 5, abs=0.002)


@pytest.mark.parametrize(("rate", "mtu"), [("1 Gb/s", 1500), ("10 Gb/s", 1500), ("10 Gb/s", 9000), ("100 Gb/s", 9000)])
def test_a_link_carries_its_rate(run_guest: RunGuest, two_hosts: Scenario, rate: str, mtu: int) -> None:
    """Bytes on the wire of a flow that fills the link, without the first 20 % and the last 10 % of its bins."""
    host = {"rate": "400 Gb/s", "delay": 5_000, "queue": "64 MB"}
    scenario = two_hosts.with_(
        **{
            "network.mtu": mtu,
            "network.hosts": [{"name": name, **host} for name in ("a", "b")],
            "network.links": [{"name": "link", "rate": rate, "buffer": "4 MB"}],
            "size": "64 MiB",
            "probes.bin": "100 us",
        }
    )
    seen = run_guest(scenario)
    here = seen.tables["throughput"].query("where == 'link'").set_index("bin")
    steady = here.loc[int(here.index[-1] * 0.2) : int(here.index[-1] * 0.9), "bytes"]
    bits = steady.sum() * 8 / (len(steady) * 100e-6)
    expected = scenario.network.links[0].rate
    # a bin counts whole frames, so the sum is wrong by at most one frame
    assert bits == pytest.approx(expected, rel=0.001 + (mtu + 38) * 8 / (expected * len(steady) * 100e-6))


def test_slots_change_at_their_nanosecond(run_guest: RunGuest, two_flows: Scenario) -> None:
    seen = run_guest(two_flows.with_(period="1 ms"))
    slots = seen.tables["events"].query("event == 'slot'")
    assert len(slots) > 10
    assert (slots["t_ns"] % 1_000_000 == 0).all()
    assert (slots["t_ns"].diff().dropna() == 1_000_000).all()
    assert list(slots["link"][:4]) == ["blue", "green", "blue", "green"]


def test_flows_start_when_asked(run_guest: RunGuest, two_flows: Scenario) -> None:
    seen = run_guest(two_flows.with_(seed=5))
    starts = [start / 1e9 for start in two_flows.with_(seed=5).start_times()]
    assert seen.tables["flows"]["start_s"].tolist() == starts


def test_probes_cost_no_virtual_time(run_guest: RunGuest, two_flows: Scenario) -> None:
    base = two_flows.with_(size="64 MiB", period="10 ms")
    plain = run_guest(base.with_(**{"probes.tcp": "none"}))
    probed = run_guest(base.with_(**{"probes.tcp": "ack", "probes.packets": True}))
    assert plain.tables["flows"].equals(probed.tables["flows"])
    assert plain.tables["throughput"].equals(probed.tables["throughput"])
    assert len(probed.tables["tcp"]) > 1000
    events = probed.tables["events"]
    assert not plain.tables["events"]["event"].isin(["enqueue", "dequeue", "mark"]).any()
    counted = probed.tables["throughput"].groupby("where")["packets"].sum()
    assert events[events["event"] == "dequeue"]["link"].value_counts().to_dict() == counted.to_dict()
    assert events[events["event"] == "enqueue"]["link"].value_counts().to_dict() == counted.to_dict()
