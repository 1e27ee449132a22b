# SPDX-License-Identifier: Apache-2.0
"""What a guest left in its run directory, as the tables of `rdcnlab.engines.schema`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from rdcnlab.engines.kernel.observe import queues as observed_queues
from rdcnlab.engines.kernel.switches import kind_of
from rdcnlab.engines.kernel.trace import FIELDS, fields, records
from rdcnlab.engines.kernel.traffic import quic
from rdcnlab.engines.kernel.wiring import wire
from rdcnlab.engines.kernel.wiring.numbers import FIRST_PORT, PORT_LINK, START_NS
from rdcnlab.engines.schema import SCHEMAS
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import UDP_HEADERS
from rdcnlab.scenario.queue import ETHERNET_HEADER

#: Reasons of ``ocs_drop``, as in the kernel's ``enum ocs_drop``.
DROPS = {
    0: "drop_tail", 1: "drop_pool", 2: "drop_red", 3: "drop_dark", 4: "drop_port", 5: "drop_mtu", 6: "drop_wire",
}  # fmt: skip
SECOND = 1e9


def tables(scenario: Scenario, directory: Path) -> dict[str, pa.Table]:
    """Read a run's directory.

    Raises
    ------
    RunError
        A flow failed, or a file is not what it should be.
    """
    flows = _flows(scenario, directory)
    frames = {"flows": flows}
    offset = records.trace_offset(directory, quic.ready_ns(scenario), START_NS)
    seen = {
        # which of them there are depends on the switch and on what was asked for
        name: records.read(directory, name, offset, fields(scenario, name))
        if (directory / f"{name}.trace").exists()
        else records.rows(name)
        for name in FIELDS
    }
    seen = kind_of(scenario).observed(scenario, directory, seen)
    dequeued, dropped, marked = seen["ocs_dequeue"], seen["ocs_drop"], seen["ocs_mark"]
    frames["throughput"] = _throughput(scenario, _ours(scenario, dequeued), _acked(scenario, seen["tcp_probe"]))
    if scenario.switch.kind == "ocs":
        _check_programs(scenario, flows, frames["throughput"], directory)
    frames["queues"] = observed_queues.table(scenario, seen["ocs_enqueue"], dequeued, dropped, marked)
    for name, how in _FOLDS.items():
        frames[name] = _folded(scenario, frames[name], how)
    frames["tcp"] = _tcp(scenario, seen["tcp_probe"], flows)
    packets = {"enqueue": seen["ocs_enqueue"], "dequeue": dequeued, "mark": marked} if scenario.probes.packets else {}
    packets = {event: _ours(scenario, found) for event, found in packets.items()}
    frames["events"] = _events(scenario, seen, dropped, packets)
    return {
        name: pa.Table.from_pandas(
            frames[name][schema.names], schema=schema, preserve_index=False
        ).replace_schema_metadata()
        for name, schema in SCHEMAS.items()
    }


def _flows(scenario: Scenario, directory: Path) -> pd.DataFrame:
    seen = {}
    for line in (directory / "flows.jsonl").read_text().splitlines():
        row = json.loads(line)
        seen[row["flow"]] = row
    rows = []
    for flow in scenario.flows:
        row = seen[flow.name]
        if row["error"]:
            words = [row["error"], *_last_words(directory, flow.name)]
            raise RunError(f"flow {flow.name}: {'; '.join(words)}")
        start, end = row["start_ns"] - START_NS, row["end_ns"] - START_NS
        done = row["finished"] or (flow.protocol == "udp" and row["received_B"] == flow.size)
        rows.append(
            {
                "flow": flow.name,
                "src": flow.src,
                "dst": flow.dst,
                "cc": flow.cc,
                "size_B": flow.size,
                "start_s": start / SECOND,
                # nobody looks at datagrams one by one
                "end_s": end / SECOND if row["finished"] else None,
                "fct_s": (end - start) / SECOND if row["finished"] else None,
                "finished": done,
                "received_B": row["received_B"],
                # what programs send again, they do not tell
                "retransmits": row["retransmits"] if flow.is_tcp else None,
                "timeouts": row["timeouts"] if flow.is_tcp else None,
                "mss_B": row["mss_B"],
            }
        )
    return pd.DataFrame(rows)


def _check_programs(scenario: Scenario, flows: pd.DataFrame, throughput: pd.DataFrame, directory: Path) -> None:
    """Raise RunError where a client says that it has everything, and less than that came: some end well on failure."""
    came = throughput[throughput["where"] == "receiver"].groupby("flow")["bytes"].sum()
    for flow in quic.flows(scenario):
        done = bool(flows.set_index("flow").loc[flow.name, "finished"])
        if done and came.get(flow.name, 0) < flow.size:
            words = [f"its client ended after {came.get(flow.name, 0)} of {flow.size} B"]
            raise RunError(f"flow {flow.name}: {'; '.join(words + _last_words(directory, flow.name))}")


def _last_words(directory: Path, flow: str) -> list[str]:
    """Return the last line that each program of a flow printed, if there are any."""
    found = []
    for role in quic.ROLES:
        log = directory / f"{flow}.{role}.log"
        lines = log.read_text(errors="replace").split("\n") if log.exists() else []
        found += [f"{role}: {line[:200]}" for line in [line for line in lines if line.strip()][-1:]]
    return found


def _names(scenario: Scenario, dports: NDArray[Any]) -> NDArray[Any]:
    """Flow names of destination ports."""
    return np.array([flow.name for flow in scenario.flows], dtype=object)[dports.astype(np.int64) - FIRST_PORT]


def _ours(scenario: Scenario, packets: NDArray[Any]) -> NDArray[Any]:
    """Return records of data, where those of ACKs have come along because they share a queue with it."""
    return packets[(packets["dport"] >= FIRST_PORT) & (packets["dport"] < FIRST_PORT + len(scenario.flows))]


def _acked(scenario: Scenario, acks: NDArray[Any]) -> NDArray[Any]:
    """Return what each ACK acknowledges anew, if asked for: ``time``, ``flow`` (number), ``bytes``.

    A record has what was acknowledged before its ACK, so the next one of the flow tells what it brought.
    """
    kind = np.dtype([("time", "<i8"), ("flow", "<i8"), ("bytes", "<i8")])
    parts = [np.empty(0, kind)]
    for number, of in _connections(scenario, acks) if scenario.probes.acks else ():
        part = np.empty(max(len(of) - 1, 0), kind)
        before: NDArray[np.int64] = of["snd_una"].astype(np.int64)
        # numbers are counted in 32 bits
        part["bytes"] = np.diff(before) % 2**32
        part["time"], part["flow"] = of["time"][:-1], number
        parts.append(part)
    found = np.concatenate(parts)
    return found[np.argsort(found["time"], kind="stable")]


def _connections(scenario: Scenario, acks: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Go through the ACKs of each connection, or of each subflow, with the number of its flow."""
    for number, flow in enumerate(scenario.flows):
        of = acks[acks["dport"] == FIRST_PORT + number]
        if flow.protocol == "mptcp":
            for cookie in np.unique(of["sock_cookie"]):
                yield number, of[of["sock_cookie"] == cookie]
        else:
            yield number, of


def _throughput(scenario: Scenario, dequeued: NDArray[Any], acked: NDArray[Any]) -> pd.DataFrame:
    inside = dequeued["link"] < PORT_LINK
    framed = dequeued["len"].astype(np.int64) + scenario.network.overhead - ETHERNET_HEADER
    flow = dequeued["dport"].astype(np.int64) - FIRST_PORT
    # Ethernet, IPv4 and TCP, with time stamps; what is no longer than a SYN carries nothing
    tcp = ETHERNET_HEADER + 20 + 20 + (12 if scenario.transport.timestamps else 0)
    udp = np.array([not one.is_tcp for one in scenario.flows])[flow]
    payload = dequeued["len"].astype(np.int64) - np.where(udp, ETHERNET_HEADER + UDP_HEADERS, tcp)
    payload[~udp & (dequeued["len"] <= ETHERNET_HEADER + 20 + 60)] = 0
    places = [*wire(scenario).places.values(), "receiver", "sender"]
    flows = [flow.name for flow in scenario.flows]
    place = np.where(inside, dequeued["link"], len(places) - 2).astype(np.int64)
    # one number for bin, place and flow: counting is then a single pass
    key = (dequeued["time"] // scenario.probes.bin * len(places) + place) * len(flows) + flow
    key_acked = (acked["time"] // scenario.probes.bin * len(places) + len(places) - 1) * len(flows) + acked["flow"]
    key = np.concatenate([key, key_acked])
    count = np.bincount(key)
    # sums below 2**53 are exact in a float
    size = np.bincount(key, np.concatenate([np.where(inside, framed, payload), acked["bytes"]]))
    seen = np.flatnonzero(count)
    return pd.DataFrame(
        {
            "bin": seen // (len(places) * len(flows)),
            "where": np.array(places, dtype=object)[seen // len(flows) % len(places)],
            "flow": np.array(flows, dtype=object)[seen % len(flows)],
            "bytes": size[seen].astype(np.int64),
            "packets": count[seen],
        }
    )


def _tcp(scenario: Scenario, acks: NDArray[Any], flows: pd.DataFrame) -> pd.DataFrame:
    frame = pd.DataFrame(
        {name: acks[name].astype(np.int64) for name in ("time", "dport", "snd_cwnd", "ssthresh", "srtt")}
    )
    if scenario.probes.tcp == "bin":
        # records are in the order of time, so the last one of a flow and bin is what later ones do not replace
        key = frame["time"] // scenario.probes.bin * 65536 + frame["dport"]
        frame = frame[~key.duplicated(keep="last").to_numpy()]
    frame = frame.assign(flow=_names(scenario, frame["dport"].to_numpy()))
    mss = frame["flow"].map(dict(zip(flows["flow"], flows["mss_B"], strict=True)))
    return frame.assign(cwnd_B=frame["snd_cwnd"] * mss).rename(
        columns={"time": "t_ns", "snd_cwnd": "cwnd", "srtt": "srtt_us"}
    )


#: What becomes of the columns of tables of bins when bins are folded; ``mean`` is over spans, with or without a row.
_FOLDS = {
    "throughput": {"bytes": "sum", "packets": "sum"},
    "queues": {"mean_B": "mean", "max_B": "max", "drops": "sum", "marks": "sum"},
}


def _folded(scenario: Scenario, frame: pd.DataFrame, how: dict[str, str]) -> pd.DataFrame:
    """Count bins modulo `Probes.fold`, if asked for; see there."""
    probes, spans = scenario.probes, scenario.spans
    if probes.fold is None:
        return frame
    count, first = probes.fold // probes.bin, probes.fold_from // probes.bin
    kept = frame[(frame["bin"] >= first) & (frame["bin"] < first + spans * count)]
    kept = kept.assign(bin=(kept["bin"] - first) % count)
    keys = [name for name in frame.columns if name not in how]
    found = kept.groupby(keys).agg({name: "sum" if kind == "mean" else kind for name, kind in how.items()})
    for name, kind in how.items():
        if kind == "mean":
            found[name] /= spans
    return found.reset_index()[list(frame.columns)]


def _repeats(scenario: Scenario, acked: NDArray[Any]) -> pd.DataFrame:
    """Return runs of ACKs of a flow that acknowledge nothing new: when each begins, and how many they are."""
    parts = []
    for number, flow in enumerate(scenario.flows):
        of = acked[acked["flow"] == number]
        new = of["bytes"] > 0
        begins = np.flatnonzero(~new & np.concatenate(([True], new[:-1]))) if len(of) else np.empty(0, np.int64)
        # a run ends where the next ACK that brings something is
        ends = np.append(np.flatnonzero(new), len(of))
        lengths = ends[np.searchsorted(ends, begins)] - begins
        columns = {"t_ns": of["time"][begins], "event": "duplicates", "link": None, "flow": flow.name, "value": lengths}
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def _places(scenario: Scenario, packets: NDArray[Any]) -> pd.Series[Any]:
    """Where packets are dropped or queued: a schedule's own queue, or a link, or the dark."""
    wiring = wire(scenario)
    place = pd.Series(packets["link"]).map(wiring.targets)
    queues = {number: schedule.name for number, schedule in wiring.queued.items()}
    own = pd.Series(packets["class"]).map(queues) if queues else pd.Series(None, index=place.index, dtype=object)
    return place.where(own.isna() | place.isna(), own)


def _events(
    scenario: Scenario, seen: dict[str, NDArray[Any]], dropped: NDArray[Any], packets: dict[str, NDArray[Any]]
) -> pd.DataFrame:
    slots, again = seen["ocs_slot"], seen["tcp_retransmit_skb"]
    wiring = wire(scenario)
    dropped = _ours(scenario, dropped)
    parts = [
        pd.DataFrame(
            {
                "t_ns": slots["time"],
                "event": "slot",
                "link": pd.Series(slots["target"]).map(wiring.targets),
                "flow": pd.Series(slots["class"]).map(wiring.names),
                "value": slots["slot"].astype(np.int64),
            }
        ),
        pd.DataFrame(
            {
                "t_ns": dropped["time"],
                "event": pd.Series(dropped["reason"]).map(DROPS),
                "link": _places(scenario, dropped),
                "flow": _names(scenario, dropped["dport"]),
                "value": dropped["len"].astype(np.int64),
            }
        ),
        pd.DataFrame(
            {
                "t_ns": again["time"],
                "event": "retransmit",
                "link": None,
                "flow": _names(scenario, again["dport"]),
                "value": 1,
            }
        ),
    ]
    if scenario.probes.acks:
        parts.append(_repeats(scenario, _acked(scenario, seen["tcp_probe"])))
    for event, found in packets.items():
        # what is no link inside the switch is the line to the receiver
        place = _places(scenario, found) if event == "enqueue" else pd.Series(found["link"]).map(wiring.places)
        parts.append(
            pd.DataFrame(
                {
                    "t_ns": found["time"],
                    "event": event,
                    "link": place.fillna("receiver"),
                    "flow": _names(scenario, found["dport"]),
                    "value": found["len"].astype(np.int64),
                }
            )
        )
    frame = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    frame = frame[frame["t_ns"] >= 0]
    return frame.sort_values(["t_ns", "event", "flow", "value"], kind="stable")
