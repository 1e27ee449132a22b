# SPDX-License-Identifier: Apache-2.0
"""The queue of a switch's port to a host, on both engines: it has a limit, marks, and is counted."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Port, Queue, Scenario
from tests.engines.conftest import RunGuest
from tests.engines.observation.test_shared_queue import Run, run  # noqa: F401  (a fixture)

INCAST = {
    "network": {
        "fabric": "leaf-spine",
        "hosts": 10,
        "rate": "40 Gb/s",
        "host_rate": "10 Gb/s",
        "buffer": "300 kB",
        "ecn_threshold": "60 kB",
    },
    "flows": [{"name": "f[1-10]", "src": "h[1-10]", "dst": "h11", "size": "5 MB", "cc": "dctcp", "connect": "ahead"}],
}
#: The same bottleneck as a link with a name, before a host whose own line is ten times as fast.
QUEUE = {"buffer": "300 kB", "ecn_threshold": "60 kB"}
NAMED = {
    "network": {
        "name": "named",
        "switches": [{"name": name} for name in ("leaf1", "leaf2", "spine1", "spine2", "edge")],
        "hosts": [
            {"name": "h[1-10]", "at": "leaf1", "rate": "10 Gb/s", "delay": "1 us"},
            {"name": "h11", "at": "edge", "rate": "100 Gb/s"},
        ],
        "links": [
            *(
                {
                    "name": f"leaf{leaf}-spine{spine}",
                    "between": [f"leaf{leaf}", f"spine{spine}"],
                    "rate": "40 Gb/s",
                    "delay": "1 us",
                    **QUEUE,
                }
                for leaf in (1, 2)
                for spine in (1, 2)
            ),
            {"name": "last", "between": ["leaf2", "edge"], "rate": "10 Gb/s", "delay": "1 us", **QUEUE},
        ],
    },
    "flows": INCAST["flows"],
}


def too_fast(port: dict[str, Any]) -> Scenario:
    """Return 4000 datagrams, one every 8 us, into a host whose line needs 12.304 us for each."""
    datagrams = {"protocol": "udp", "size": "5888 kB", "packet": "1500 B", "burst": 1, "interval": "8 us"}
    way = {"src": "s", "dst": "r", "path": "bypass"}
    return Scenario.from_dict(
        {
            "network": {
                "name": "two",
                "hosts": [{"name": "s", "rate": "10 Gb/s"}, {"name": "r", "rate": "1 Gb/s", "port": port}],
                "links": [{"name": "unused", "rate": "10 Gb/s", "buffer": "1 MB"}],
            },
            "flows": [
                {"name": "one", "size": "1 kB", "cc": "cubic", "start": "80 ms", **way},
                {"name": "many", **datagrams, **way},
            ],
            "probes": {"ports": True},
        },
        text=True,
    )


def lost(limit: int) -> int:
    """Return how many of these datagrams find `limit` others waiting."""
    starts: deque[int] = deque()
    free = count = 0
    for now in range(0, 4000 * 8000, 8000):
        while starts and starts[0] <= now:
            starts.popleft()
        if len(starts) == limit:
            count += 1
            continue
        begin = max(free, now)
        free = begin + 1538 * 8
        if begin > now:
            starts.append(begin)
    return count


@pytest.mark.parametrize(
    ("port", "limit"),
    [({}, 1000), ({"buffer": "100 packets"}, 100), ({"buffer": "75700 B"}, 50), ({"buffer": "unlimited"}, 4000)],
    ids=["default", "packets", "bytes", "unlimited"],
)
def test_datagrams_beyond_the_line_are_lost_as_arithmetic_says(run: Run, port: dict[str, Any], limit: int) -> None:  # noqa: F811
    tables = run(too_fast(port))
    drops = tables["events"].query("event == 'drop_tail'")
    assert len(drops) == lost(limit)
    assert set(drops["link"]) <= {"r@sw"}
    assert tables["queues"].query("link == 'r@sw'")["drops"].sum() == lost(limit)


def test_an_incast_is_marked_at_the_port_as_at_a_link(run: Run) -> None:  # noqa: F811
    at_port, at_link = (
        run(Scenario.from_dict(data, text=True))["queues"].query("link == @name")
        for data, name in ((INCAST, "h11@leaf2"), (NAMED, "last@leaf2"))
    )
    assert at_port["marks"].sum() > 1000
    assert at_port["mean_B"].mean() == pytest.approx(at_link["mean_B"].mean(), rel=0.2)
    assert 30_000 < at_port["mean_B"].mean() < 90_000


def test_a_port_of_which_nothing_is_stated_changes_no_hash_and_has_a_limit() -> None:
    hosts = [{"name": "s", "rate": "10 Gb/s"}, {"name": "r", "rate": "1 Gb/s"}]
    data = too_fast({}).to_dict()
    assert "port" not in data["network"]["hosts"][0]
    stated = Scenario.from_dict({**data, "network": {**data["network"], "hosts": [{**h, "port": {}} for h in hosts]}})
    assert stated.network.hosts[1].port == Port() == Port(buffer=Queue(packets=1000))


def test_unlimited_is_written_out_and_read_again() -> None:
    scenario = too_fast({"buffer": "unlimited"})
    assert scenario.network.host("r").port.buffer is None
    assert "unlimited" in scenario.dump()
    assert Scenario.from_dict(scenario.to_dict()) == scenario


def test_the_pool_of_a_port_must_exist() -> None:
    with pytest.raises(InputError, match=r"hosts\.r\.port\.pool"):
        too_fast({"pool": "nowhere"})


def test_a_hosts_own_queue_loses_what_arithmetic_says(run_guest: RunGuest) -> None:
    """Bursts of 50 datagrams at 100 Mb/s: one leaves at once, 20 wait, 29 are lost."""
    host = {"rate": "100 Mb/s", "delay": "5 us"}
    scenario = Scenario.from_dict(
        {
            "network": {
                "name": "own",
                "hosts": [{**host, "name": "s", "queue": "20 packets"}, {**host, "name": "r"}],
                "links": [{"name": "l", "rate": "1 Gb/s", "buffer": "1 MB"}],
            },
            "flows": [
                {"name": "u", "src": "s", "dst": "r", "protocol": "udp", "size": f"{1472 * 500} B", "path": "l",
                 "burst": 50, "interval": "10 ms"},
                {"name": "last", "src": "s", "dst": "r", "size": "1 kB", "path": "l", "start": "110 ms"},
            ],
            "probes": {"ports": True},
        }
    )  # fmt: skip
    tables = run_guest(scenario).tables
    assert tables["flows"].set_index("flow")["received_B"]["u"] == 10 * 21 * 1472
    queues = tables["queues"]
    own = queues[queues["link"] == "s@s"]
    assert own["drops"].sum() == 10 * 29
    assert own["max_B"].max() == 20 * 1514
    # a frame takes 1538 * 8 bit / 100 Mb/s = 123.04 us; 20 wait for 1, 2, ... 20 of them in each burst
    assert own["mean_B"].sum() == pytest.approx(10 * 1514 * 123.04e-3 * 20 * 21 / 2, rel=0.01)
    assert set(queues["link"]) >= {"s@s", "r@sw"}


def test_a_hosts_rate_cannot_change() -> None:
    host = {"name": "s", "rate": [["1 s", "1 Mb/s"], ["1 s", "2 Mb/s"]]}
    data = {"network": {"name": "n", "hosts": [host, {"name": "r", "rate": "1 Gb/s"}]}, "flows": []}
    with pytest.raises(InputError, match=r"network\.hosts\.s\.rate: .* must be one rate, because the host's kernel"):
        Scenario.from_dict(data)
