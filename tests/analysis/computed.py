# SPDX-License-Identifier: Apache-2.0
"""Runs whose tables are computed from the instants at which frames leave a line, as an engine computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rdcnlab.engines import schema_of
from rdcnlab.runs.parts import WHOLE, Part
from rdcnlab.runs.run import Run
from rdcnlab.scenario import Scenario

#: Bytes on the wire of a datagram with 1472 B of payload: 28 B of headers, 38 B of overhead.
FRAME = 1538


@dataclass(frozen=True, repr=False)
class Made(Run):
    """A run whose tables are given."""

    given: dict[str, list[dict[str, Any]]]

    def table(self, name: str, part: Part = WHOLE) -> pa.Table:
        return part.of(pa.Table.from_pylist(self.given.get(name, []), schema_of(name)))


def run(scenario: Scenario, frames: dict[str, tuple[str, npt.ArrayLike]], **more: Any) -> Run:
    """Return a run in which the frames of flows leave a line at some instants in s.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    frames : dict of str to (str, array_like)
        By the name of a flow or, for several lines, ``flow on line``: the line, and instants in s.
    **more
        ``events``: rows; ``retransmits`` and ``received_B`` of all flows; ``ran``: begin and end of each program, in s.
    """
    throughput, times = [], {}
    for name, (where, instants) in frames.items():
        t_ns = np.round(np.asarray(instants) * 1e9)
        flow = name.partition(" on ")[0]
        times[flow] = [*times.get(flow, []), *t_ns]
        # the bin of a last bit that leaves at a border is the one before
        bins, counts = np.unique(np.maximum(t_ns - 1, 0) // scenario.probes.bin, return_counts=True)
        for number, count in zip(bins.tolist(), counts.tolist(), strict=True):
            row = {"bin": int(number), "flow": flow, "bytes": FRAME * count, "packets": count}
            throughput += [{**row, "where": where}, {**row, "where": "receiver"}]
    flows = [
        {"flow": flow.name, "src": flow.src, "dst": flow.dst, "cc": flow.cc, "size_B": flow.size, "start_s": 0.0,
         "end_s": max(times[flow.name]) / 1e9 if times.get(flow.name) else None, "fct_s": None, "finished": False,
         "received_B": more.get("received_B", len(times.get(flow.name, [])) * 1472),
         "retransmits": more.get("retransmits"), "timeouts": None}
        for flow in scenario.flows
    ]  # fmt: skip
    ran = [
        {"program": program.name, "command": program.run, "start_s": begin_s, "end_s": end_s}
        for program, (begin_s, end_s) in zip(scenario.programs, more.get("ran", ()), strict=False)
    ]
    tables = {"throughput": throughput, "flows": flows, "events": more.get("events", []), "programs": ran}
    return Made("0" * 64, scenario, {}, {}, Path(), tables)


def line(rate: Any, width: str = "1 ms", flows: Sequence[dict[str, Any]] = ({},), **more: Any) -> Scenario:
    """Return a scenario with the line ``l@a`` between two switches."""
    hosts = [{"name": f"s{n + 1}", "at": "a", "rate": "10000 Gb/s"} for n in range(len(flows))]
    network = {
        "name": "one", "switches": [{"name": "a"}, {"name": "b"}],
        "hosts": [*hosts, {"name": "r", "at": "b", "rate": "10000 Gb/s"}],
        "links": [{"name": "l", "between": ["a", "b"], "rate": rate, "buffer": "1 MB", **more}],
    }  # fmt: skip
    sent = [
        {
            "name": f"f{n + 1}",
            "src": f"s{n + 1}",
            "dst": "r",
            "protocol": "udp",
            "rate": "1 Mb/s",
            "until": "3600 s",
            **one,
        }
        for n, one in enumerate(flows)
    ]
    return Scenario.from_dict({"network": network, "flows": sent, "limit": "3600 s", "probes": {"bin": width}})
