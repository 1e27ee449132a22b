# SPDX-License-Identifier: Apache-2.0
"""Runs record every packet, however many there are, and need the memory that their plan says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rdcnlab.engines.kernel import guest, plan
from rdcnlab.engines.kernel.build import Kernel
from rdcnlab.engines.kernel.guest import memory
from rdcnlab.engines.kernel.jail import sandbox
from rdcnlab.engines.kernel.plan.memory import memory_of
from rdcnlab.engines.kernel.plan.quiet import quiet_ns
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

#: Payload of a datagram with an MTU of 1500 B, and its frame on the wire.
PAYLOAD, WIRE = 1472, 1538


def datagrams(link: dict[str, Any], flow: dict[str, Any], limit: str, **more: Any) -> Scenario:
    """Return datagrams from a to b through one link."""
    network = {
        "name": "pair",
        "mtu": 1500,
        "hosts": [{"name": "a", "rate": "10 Gb/s"}, {"name": "b", "rate": "10 Gb/s", **more}],
        "links": [{"name": "line", **link}],
    }
    flow = {"name": "u", "src": "a", "dst": "b", "path": "line", "protocol": "udp", **flow}
    return Scenario.from_dict({"network": network, "flows": [flow], "limit": limit})


@pytest.mark.guest
def test_a_minute_of_overload_has_an_event_for_every_lost_datagram(run_guest: RunGuest) -> None:
    """30 Mb/s into 6 Mb/s for 60 s: what was sent is delivered, lost or still queued when the run ends."""
    scenario = datagrams(
        {"rate": "6 Mb/s", "buffer": "60 kB"}, {"rate": "30 Mb/s", "size": f"{PAYLOAD * 152_853} B"}, "70 s"
    )
    seen = run_guest(scenario)
    delivered = int(seen.tables["flows"]["received_B"][0]) // PAYLOAD
    events = seen.tables["events"]
    lost = int((events["event"] == "drop_tail").sum())
    # the run ends a second after the last datagram, and the queue of 60 kB is empty after 80 ms
    assert delivered + lost == 152_853
    # the line is busy from the first datagram until the queue is empty: 60 s and at most the time of 60 kB
    first, last = 60 * 6_000_000 / 8 / WIRE, (60 * 6_000_000 / 8 + 60_000 * WIRE / 1514) / WIRE
    assert first - 1 <= delivered <= last + 1


@pytest.mark.guest
@pytest.mark.slow
def test_a_million_losses_are_the_same_bytes_in_a_small_guest_and_in_a_large_one(
    run_guest: RunGuest, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = PAYLOAD * 1_100_000
    scenario = datagrams({"rate": "10 Mb/s", "buffer": "60 kB"}, {"rate": "9 Gb/s", "size": f"{size} B"}, "10 s")
    seen = []
    for mib in ("512", "2048"):
        monkeypatch.setenv("RDCNLAB_GUEST_MEMORY", mib)
        seen.append(run_guest(scenario))
    assert (seen[0].tables["events"]["event"] == "drop_tail").sum() > 1_000_000
    assert seen[0].digest == seen[1].digest


@pytest.mark.guest
@pytest.mark.slow
def test_frames_that_have_no_room_in_memory_are_an_error(run_guest: RunGuest, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 MB of datagrams wait in an unlimited queue: 313 MB of memory, of which frames may take a half."""
    scenario = datagrams(
        {"rate": "100 Gb/s", "buffer": "1 GB"}, {"rate": "9 Gb/s", "size": "200 MB"}, "30 s",
        rate="100 Mb/s", port={"buffer": "unlimited"},
    )  # fmt: skip
    monkeypatch.setenv("RDCNLAB_GUEST_MEMORY", "512")
    with pytest.raises(RunError, match=r"memory was too small for the frames.*RDCNLAB_GUEST_MEMORY"):
        run_guest(scenario)
    monkeypatch.delenv("RDCNLAB_GUEST_MEMORY")
    assert run_guest(scenario).tables["flows"]["received_B"].tolist() == [200_000_000]


@pytest.mark.guest
def test_a_line_of_a_bit_per_ms_delivers_all_datagrams(run_guest: RunGuest) -> None:
    """A full frame takes 12.3 s, so there is no second in which something comes."""
    scenario = datagrams({"rate": "1 kb/s", "buffer": "1 MB"}, {"rate": "1 Mb/s", "size": "10 kB"}, "200 s")
    assert run_guest(scenario).tables["flows"]["received_B"].tolist() == [10_000]


def many(count: int) -> Scenario:
    flow = {"src": "s1", "dst": "r1", "protocol": "udp", "rate": "100 kb/s", "packet": "500 B"}
    flows = [{**flow, "name": f"f{number}", "size": "5 kB"} for number in range(count)]
    network = {"fabric": "dumbbell", "pairs": 1, "rate": "10 Gb/s", "delay": "1 ms"}
    # at the limit all receivers look for what has come
    return Scenario.from_dict({"network": network, "flows": flows, "limit": "600 ms"})


@pytest.mark.guest
def test_as_many_flows_of_udp_as_are_allowed_are_counted_and_one_more_is_refused(run_guest: RunGuest) -> None:
    """Of 1024 datagrams at one instant the host's line takes one and its queue 1000.

    The counts are read at the limit itself, which a thousand calls in vain would delay.
    """
    flows = run_guest(many(1024)).tables["flows"]
    assert len(flows) == 1024
    assert flows["received_B"].sum() == 1001 * 5000
    with pytest.raises(
        InputError, match=r"^flows: there are 1025 flows of udp, mptcp .*at most 1024 flows of these kinds"
    ):
        plan.check(compile_network(many(1025)))


@pytest.mark.guest
def test_a_disk_that_takes_no_more_ends_the_run_with_an_error(
    run_guest: RunGuest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Departures go to a device that is always full."""
    made = guest.run

    def run(kernel: Kernel, asked: dict[str, Any], directory: Path, **options: Any) -> guest.Report:
        (directory / "ocs_dequeue.trace").symlink_to("/dev/full")  # a guest may make no link
        return made(kernel, asked, directory, **options)

    monkeypatch.setattr(sandbox, "DEVICES", (*sandbox.DEVICES, "/dev/full"))
    monkeypatch.setattr(guest, "run", run)
    scenario = datagrams({"rate": "1 Gb/s", "buffer": "1 MB"}, {"rate": "10 Mb/s", "size": "1 MB"}, "2 s")
    with pytest.raises(RunError, match=r"records of 'ocs_dequeue' could not be written .* No space left on device"):
        run_guest(scenario)


def test_time_without_datagrams_follows_from_the_slowest_line() -> None:
    flow = {"rate": "1 Mb/s", "size": "10 kB"}

    def quiet_s(**link: Any) -> float:
        return quiet_ns(compile_network(datagrams({"buffer": "1 MB", **link}, flow, "200 s"))) / 1e9

    assert quiet_s(rate="1 Mb/s") == quiet_s(rate="10 Gb/s") == 1
    assert quiet_s(rate="1 kb/s") == pytest.approx(WIRE * 8 / 1000, abs=1e-4)
    assert quiet_s(rate="1 kb/s", delay="5 s") == pytest.approx(WIRE * 8 / 1000 + 5, abs=1e-4)
    assert quiet_s(rate="1 Mb/s", down=[["1 s", "8 s"]]) == pytest.approx(7, abs=0.1)
    # 0.5 ** 30 is below one in a billion
    assert quiet_s(rate="10 kb/s", loss="50 %") == pytest.approx(31 * WIRE * 8 / 10_000, abs=1e-3)


def test_memory_follows_from_what_can_be_under_way() -> None:
    """400 MB of datagrams are 271 740 frames of 2304 B, and frames get a half of the memory."""
    flow = {"rate": "9 Gb/s", "size": "400 MB"}
    held = datagrams({"rate": "100 Gb/s", "buffer": "60 MB"}, flow, "60 s", port={"buffer": "unlimited"})
    assert memory_of(PAYLOAD) == 2304
    assert plan.compile_plan(compile_network(held))["memory_kB"] > 2 * 2304 * 271_740 // 1000
    limited = datagrams({"rate": "100 Gb/s", "buffer": "1 MB"}, flow, "60 s")
    assert plan.compile_plan(compile_network(limited))["memory_kB"] < 20_000


@pytest.mark.slow
def test_fifty_thousand_flows_ask_for_less_than_four_gigabytes() -> None:
    flows = [
        {"name": f"f{n}", "src": f"h{n % 64 + 1}", "dst": f"h{(n + 16) % 64 + 1}", "size": "100 kB", "cc": "cubic"}
        for n in range(50_000)
    ]
    network = {"fabric": "leaf-spine", "leaves": 4, "spines": 4, "hosts": 16}
    made = plan.compile_plan(compile_network(Scenario.from_dict({"network": network, "flows": flows})))
    assert memory.size(made["memory_kB"] + sum(each.get("memory_kB", 0) for each in made["switches"])) < 4 * 2**30
    assert guest.memory.BASE <= 2**30
