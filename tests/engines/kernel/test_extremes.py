# SPDX-License-Identifier: Apache-2.0
"""Lines at the ends of what a scenario may say: each ends as arithmetic says, or is refused by name."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

#: Bytes of a frame on the line beyond its IP packet: header, FCS, preamble, gap.
EXTRA = 14 + 24
LINES: dict[str, dict[str, Any]] = {
    "slow": {"rate": "1 kb/s", "buffer": "10 kB"},
    "fast": {"rate": "400 Gb/s", "buffer": "10 MB"},
    "late": {"rate": [["1 s", "0 b/s"], ["1 s", "1 Mb/s"]], "buffer": "1 MB"},
    "tiny": {"rate": "1 Mb/s", "buffer": "1 packets"},
    "last": {"rate": "1 Gb/s", "buffer": "1 MB"},
}
#: Datagrams at once from each of two senders, and bytes of their IP packets.
BURSTS = {"slow": (2, 100), "fast": (500, 1500), "late": (100, 1500), "tiny": (3, 1500)}


def scenario() -> Scenario:
    """Return two senders and a receiver for each line; the last line keeps the run alive."""
    hosts = [{"name": f"{name}{end}", "at": at, "rate": "400 Gb/s"}
             for name in LINES for end, at in (("a", "left"), ("b", "left"), ("z", "right"))]  # fmt: skip
    flows = [
        {"name": f"{name}{end}", "src": f"{name}{end}", "dst": f"{name}z", "path": name, "back": "same",
         "protocol": "udp", "size": f"{count * (size - 28)} B", "packet": f"{size} B", "burst": count,
         "interval": "1 s"}
        for name, (count, size) in BURSTS.items() for end in "ab"
    ]  # fmt: skip
    flows.append({"name": "end", "src": "lasta", "dst": "lastz", "path": "last", "size": "1 kB", "cc": "cubic",
                  "start": "7 s"})  # fmt: skip
    links = [{"name": name, "between": ["left", "right"], **line} for name, line in LINES.items()]
    network = {"name": "extremes", "switches": [{"name": "left"}, {"name": "right"}], "hosts": hosts, "links": links}
    return Scenario.from_dict(
        {"network": network, "flows": flows, "limit": "20 s", "probes": {"packets": True}}, text=True
    )


def starts(events: pd.DataFrame, line: str) -> list[int]:
    """Return the instants at which the frames of a line begin."""
    return [int(t) for t in events.query(f"event == 'dequeue' and link == '{line}@left'")["t_ns"]]


@pytest.mark.guest
def test_extreme_lines_end_as_arithmetic_says(run_guest: RunGuest) -> None:
    tables = run_guest(scenario()).tables
    events, received = tables["events"], tables["flows"].set_index("flow")["received_B"]

    def all_of(line: str) -> int:
        return int(received[f"{line}a"] + received[f"{line}b"])

    # 138 bytes at 1 kb/s take 1.104 s
    slow = starts(events, "slow")
    assert [t - slow[0] for t in slow] == [n * (100 + EXTRA) * 8 * 10**6 for n in range(4)]
    assert all_of("slow") == 4 * 72
    # 1538 bytes at 400 Gb/s take 30.76 ns, and nothing of the fractions is lost; two senders of this rate fill the line
    fast = starts(events, "fast")
    assert [t - fast[0] for t in fast] == [n * (1500 + EXTRA) * 8 // 400 for n in range(1000)]
    assert all_of("fast") == 1000 * 1472
    # down from 0 to 1 s, from 2 to 3 s; 12.304 ms for a frame, so 81 frames begin in a second up to 0.99663 s, and the
    # rest of the 82nd waits while the line is down
    late = starts(events, "late")
    up = [10**9 + n * 12_304_000 for n in range(200)]
    assert late == [t + (t - 10**9) // 10**9 * 10**9 for t in up]
    assert all_of("late") == 200 * 1472
    # one is sent, one waits, four are lost
    assert len(starts(events, "tiny")) == 2
    assert len(events.query("event == 'drop_tail' and link == 'tiny@left'")) == 4
    assert all_of("tiny") == 2 * 1472
    assert bool(tables["flows"].set_index("flow").loc["end", "finished"])


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({"rate": "0 b/s", "buffer": "1 MB"}, "rate"),
        ({"rate": "999 b/s", "buffer": "1 MB"}, "rate"),
        ({"rate": "11 Tb/s", "buffer": "1 MB"}, "rate"),
        ({"rate": "1 Mb/s", "buffer": "0 packets"}, "buffer"),
        ({"rate": "1 Mb/s", "buffer": "0 B"}, "buffer"),
        ({"rate": [["0 s", "1 Mb/s"]], "buffer": "1 MB"}, "rate|steps"),
        ({"rate": [["1 s", "0 b/s"], ["1 s", "0 b/s"]], "buffer": "1 MB"}, "rate"),
    ],
)
def test_what_no_line_can_be_is_refused_by_name(line: dict[str, Any], field: str) -> None:
    data = scenario().to_dict()
    data["network"]["links"][0] = {"name": "slow", "between": ["left", "right"], **line}
    with pytest.raises(InputError, match=field):
        Scenario.from_dict(data, text=True)
