# SPDX-License-Identifier: Apache-2.0
"""Read a guest's run directory into the tables of `rdcnlab.engines.schema`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from rdcnlab.engines import observation
from rdcnlab.engines.kernel.observe import captures, programs
from rdcnlab.engines.kernel.switches.switch_set import switches_of
from rdcnlab.engines.kernel.trace import FIELDS, NO_MEMORY, attribution, fields, own_queues, records, turns
from rdcnlab.engines.kernel.traffic import instants, quic
from rdcnlab.engines.network import Network, Traffic
from rdcnlab.engines.network.numbers import PORTS, START_NS
from rdcnlab.engines.observation import Numbering, Records, throughput
from rdcnlab.engines.observation.flows import Carried
from rdcnlab.engines.observation.flows import table as flows_table
from rdcnlab.engines.observation.numbering import SNAPSHOTS, STANDING, counts
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Probes

SECOND = 1e9


def tables(network: Network, directory: Path) -> dict[str, pa.Table]:
    """Return the tables of a run from its directory.

    Raises
    ------
    RunError
        A flow failed, or a file has unexpected content.
    """
    traffic, switches = network.traffic, switches_of(network)
    flows = _flows(traffic, directory)
    offset = records.trace_offset(directory, instants.ready_ns(network), START_NS)
    seen = {
        # which of the traces exist depends on the switch and on the scenario's probes
        name: records.read(directory, name, offset, fields(traffic, name))
        if (directory / f"{name}.trace").exists()
        else records.rows(name)
        for name in FIELDS
    }
    _check_memory(seen["ocs_drop"])
    seen = switches.observed(directory, seen)
    if traffic.programs:
        end_ns = programs.end_ns(directory)
        seen = {name: attribution.attributed(network, rows[rows["time"] <= end_ns]) for name, rows in seen.items()}
    if len(traffic.flows) > PORTS:
        seen = {name: turns.numbered(network, rows, flows) for name, rows in seen.items()}
    counted = Records(
        slots=seen["ocs_slot"],
        arrivals=seen["ocs_enqueue"],
        departures=seen["ocs_dequeue"],
        dropped=seen["ocs_drop"],
        marked=seen["ocs_mark"],
        acks=seen["tcp_probe"],
        retransmissions=seen["tcp_retransmit_skb"],
        discarded=seen["kfree_skb"],
        reports=switches.reports(directory),
        counted=counts(directory, "ocs_dequeue"),
        counted_marks=counts(directory, "ocs_mark"),
        standing=counts(directory, "ocs_dequeue", STANDING, ".standing"),
        snapshots=counts(directory, "ocs_dequeue", SNAPSHOTS, ".seen"),
        captured=captures.records(network.probes, directory),
        counters=_counters(network.probes, directory),
        own=own_queues.read(network, directory, offset),
    )
    if traffic.of("quic") and "ocs_dequeue" in switches.events:
        _check_programs(network, flows, counted, directory)
    made = observation.tables(network, counted, flows)
    if not traffic.programs:
        return made
    return made | {"programs": programs.table(traffic.programs, directory)}


def _check_memory(dropped: NDArray[Any]) -> None:
    """Raise RunError if frames were dropped because they had taken all memory: results must not depend on its size."""
    void = int((dropped["reason"] == NO_MEMORY).sum())
    if void:
        first = float(dropped["time"][dropped["reason"] == NO_MEMORY][0]) / SECOND
        raise RunError(
            f"the guest's memory was too small for the frames that waited in queues and were on lines: {void} frames "
            f"had no room, the first at {first:.6f} s. Give the guest more with RDCNLAB_GUEST_MEMORY (MiB), or give "
            "the queues a limit"
        )


def _counters(probes: Probes, directory: Path) -> dict[str, dict[str, int]]:
    counters: dict[str, dict[str, int]] = {}
    if probes.counters:
        counters = json.loads((directory / "counters.json").read_text())
    return counters


def _flows(traffic: Traffic, directory: Path) -> pd.DataFrame:
    seen = {}
    for line in (directory / "flows.jsonl").read_text().splitlines():
        row = json.loads(line)
        seen[row["flow"]] = row
    carried = []
    for flow in traffic.flows:
        row = seen[flow.name]
        if row["error"]:
            words = [row["error"], *_last_words(directory, flow.name)]
            raise RunError(f"flow {flow.name}: {'; '.join(words)}")
        timed = row["finished"] or (row["end_ns"] > 0 and traffic.is_timed(flow))
        carried.append(
            Carried(
                # None: the flow that it was to come after did not end
                start=row["start_ns"] - START_NS if row["start_ns"] > 0 else None,
                end=row["end_ns"] - START_NS if timed else None,
                complete=row["finished"],
                finished=row["finished"] or (flow.protocol == "udp" and row["received_B"] == traffic.sizes[flow.name]),
                received_B=row["received_B"],
                # programs of QUIC and datagrams have none
                retransmits=row["retransmits"] if flow.is_tcp else 0,
                timeouts=row["timeouts"] if flow.is_tcp else 0,
                mss_B=row["mss_B"],
            )
        )
    return flows_table(traffic, carried)


def _check_programs(network: Network, flows: pd.DataFrame, counted: Records, directory: Path) -> None:
    """Raise RunError if a client reports success but received less; some programs end with status 0 on failure."""
    numbering = Numbering.of(network)
    acked = throughput.acked(numbering, counted.acks)
    every = throughput.table(numbering, numbering.ours(counted.departures), acked)
    received = every[every["where"] == "receiver"].groupby("flow")["bytes"].sum()
    for flow in network.traffic.of("quic"):
        done = bool(flows.set_index("flow").loc[flow.name, "finished"])
        if done and received.get(flow.name, 0) < flow.size:
            words = [f"its client ended after {received.get(flow.name, 0)} of {flow.size} B"]
            raise RunError(f"flow {flow.name}: {'; '.join(words + _last_words(directory, flow.name))}")


def _last_words(directory: Path, flow: str) -> list[str]:
    """Return the last line that each program of a flow printed, if any."""
    words = []
    for role in quic.ROLES:
        log = directory / f"{flow}.{role}.log"
        lines = log.read_text(errors="replace").split("\n") if log.exists() else []
        words += [f"{role}: {line[:200]}" for line in [line for line in lines if line.strip()][-1:]]
    return words
