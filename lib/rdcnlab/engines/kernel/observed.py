# SPDX-License-Identifier: Apache-2.0
"""What a guest left in its run directory, as the tables of `rdcnlab.engines.schema`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from rdcnlab.engines.kernel import observed_p4, plan_quic, records
from rdcnlab.engines.kernel.plan import (
    ETHERNET_HEADER,
    FIELDS,
    FIRST_CLASS,
    FIRST_PORT,
    PORT_LINK,
    START_NS,
    TARGET,
    ready_ns,
)
from rdcnlab.engines.schema import SCHEMAS
from rdcnlab.errors import RunError
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import UDP_HEADERS

#: Reasons of ``ocs_drop``, as in the kernel's ``enum ocs_drop``.
DROPS = {0: "drop_tail", 1: "drop_pool", 2: "drop_red", 3: "drop_dark", 4: "drop_port", 5: "drop_mtu"}
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
    offset = records.trace_offset(directory, ready_ns(scenario), START_NS)
    seen = {
        # which of them there are depends on the switch and on what was asked for
        name: records.read(directory, name, offset) if (directory / f"{name}.trace").exists() else records.rows(name)
        for name in FIELDS
    }
    dequeued, dropped, marked = seen["ocs_dequeue"], seen["ocs_drop"], seen["ocs_mark"]
    if scenario.switch.kind == "bmv2":
        seen["ocs_slot"], dark, marked = observed_p4.read(scenario, directory)
        dropped = observed_p4.joined(dropped, dark)
    frames["throughput"] = _throughput(scenario, dequeued)
    if scenario.switch.kind == "ocs":
        _check_programs(scenario, flows, frames["throughput"], directory)
    frames["queues"] = _queues(scenario, dequeued, dropped, marked)
    frames["tcp"] = _tcp(scenario, seen["tcp_probe"], flows)
    packets = {"enqueue": seen["ocs_enqueue"], "dequeue": dequeued, "mark": marked} if scenario.probes.packets else {}
    frames["events"] = _events(scenario, seen["ocs_slot"], dropped, seen["tcp_retransmit_skb"], packets)
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
                "retransmits": row["retransmits"] if flow.protocol == "tcp" else None,
                "timeouts": row["timeouts"] if flow.protocol == "tcp" else None,
                "mss_B": row["mss_B"],
            }
        )
    return pd.DataFrame(rows)


def _check_programs(scenario: Scenario, flows: pd.DataFrame, throughput: pd.DataFrame, directory: Path) -> None:
    """Raise RunError where a client says that it has everything, and less than that came: some end well on failure."""
    came = throughput[throughput["where"] == "receiver"].groupby("flow")["bytes"].sum()
    for flow in plan_quic.flows(scenario):
        done = bool(flows.set_index("flow").loc[flow.name, "finished"])
        if done and came.get(flow.name, 0) < flow.size:
            words = [f"its client ended after {came.get(flow.name, 0)} of {flow.size} B"]
            raise RunError(f"flow {flow.name}: {'; '.join(words + _last_words(directory, flow.name))}")


def _last_words(directory: Path, flow: str) -> list[str]:
    """Return the last line that each program of a flow printed, if there are any."""
    found = []
    for role in plan_quic.ROLES:
        log = directory / f"{flow}.{role}.log"
        lines = log.read_text(errors="replace").split("\n") if log.exists() else []
        found += [f"{role}: {line[:200]}" for line in [line for line in lines if line.strip()][-1:]]
    return found


def _names(scenario: Scenario, dports: NDArray[Any]) -> NDArray[Any]:
    """Flow names of destination ports."""
    return np.array([flow.name for flow in scenario.flows], dtype=object)[dports.astype(np.int64) - FIRST_PORT]


def _links(scenario: Scenario) -> dict[int, str]:
    return {number: link.name for number, link in enumerate(scenario.network.links)}


def _throughput(scenario: Scenario, dequeued: NDArray[Any]) -> pd.DataFrame:
    inside = dequeued["link"] < PORT_LINK
    wire = dequeued["len"].astype(np.int64) + scenario.network.overhead - ETHERNET_HEADER
    flow = dequeued["dport"].astype(np.int64) - FIRST_PORT
    # Ethernet, IPv4 and TCP, with time stamps; what is no longer than a SYN carries nothing
    tcp = ETHERNET_HEADER + 20 + 20 + (12 if scenario.transport.timestamps else 0)
    udp = np.array([one.protocol != "tcp" for one in scenario.flows])[flow]
    payload = dequeued["len"].astype(np.int64) - np.where(udp, ETHERNET_HEADER + UDP_HEADERS, tcp)
    payload[~udp & (dequeued["len"] <= ETHERNET_HEADER + 20 + 60)] = 0
    places = [*_links(scenario).values(), "receiver"]
    flows = [flow.name for flow in scenario.flows]
    place = np.where(inside, dequeued["link"], len(places) - 1).astype(np.int64)
    # one number for bin, place and flow: counting is then a single pass
    key = (dequeued["time"] // scenario.probes.bin * len(places) + place) * len(flows) + flow
    count = np.bincount(key)
    size = np.bincount(key, np.where(inside, wire, payload))  # sums below 2**53 are exact in a float
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


def _queues(scenario: Scenario, dequeued: NDArray[Any], dropped: NDArray[Any], marked: NDArray[Any]) -> pd.DataFrame:
    """Bins of the links' queues.

    The queue is looked at whenever a packet leaves it: a busy link does so every few microseconds, and the queue of an
    idle one is empty. The mean takes what a departure leaves behind as standing until the next one.
    """
    width = scenario.probes.bin
    parts = []
    for link, name in _links(scenario).items():
        here = dequeued[dequeued["link"] == link]
        time, left = here["time"], here["qlen"].astype(np.int64)
        bins = time // width
        if len(here):
            cuts = np.arange(bins[0], bins[-1] + 2) * width
            mean = np.diff(_area(time, left, cuts)) / width
            highest = pd.Series(left + here["len"]).groupby(bins).max()
            part = pd.DataFrame(
                {"mean_B": mean, "max_B": highest.reindex(cuts[:-1] // width)}, index=cuts[:-1] // width
            )
        else:
            part = pd.DataFrame({"mean_B": [], "max_B": []}, dtype=float)
        for column, events in (("drops", dropped), ("marks", marked)):
            counts = pd.Series(events["time"][events["link"] == link] // width).value_counts()
            part = part.join(counts.rename(column), how="outer")
        part = part.fillna(0)
        # a bin in which nothing stood, fell or was marked has no row
        part = part[(part != 0).any(axis=1)].sort_index()
        parts.append(part.assign(bin=part.index, link=name))
    if not parts:
        return pd.DataFrame({name: [] for name in SCHEMAS["queues"].names})
    frame = pd.concat(parts, ignore_index=True)
    return frame.astype({"max_B": "int64", "drops": "int64", "marks": "int64", "bin": "int64"})


def _area(time: NDArray[np.int64], level: NDArray[np.int64], cuts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Integral of a step function up to each cut."""
    widths = np.diff(time, append=time[-1])
    total = np.concatenate(([0], np.cumsum(widths * level)))
    index = np.searchsorted(time, cuts, side="right") - 1
    inside = np.clip(index, 0, len(time) - 1)
    beyond = np.where(index >= 0, np.minimum(cuts, time[-1]) - time[inside], 0) * level[inside]
    return np.asarray(total[inside] + beyond, dtype=np.float64)


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


def _events(
    scenario: Scenario,
    slots: NDArray[Any],
    dropped: NDArray[Any],
    again: NDArray[Any],
    packets: dict[str, NDArray[Any]],
) -> pd.DataFrame:
    links = _links(scenario)
    targets = {**links, **{number: name for name, number in TARGET.items()}}
    flow_of_class = {FIRST_CLASS + number: flow.name for number, flow in enumerate(scenario.flows)}
    parts = [
        pd.DataFrame(
            {
                "t_ns": slots["time"],
                "event": "slot",
                "link": pd.Series(slots["target"]).map(targets),
                "flow": pd.Series(slots["class"]).map(flow_of_class),
                "value": slots["slot"].astype(np.int64),
            }
        ),
        pd.DataFrame(
            {
                "t_ns": dropped["time"],
                "event": pd.Series(dropped["reason"]).map(DROPS),
                "link": pd.Series(dropped["link"]).map(targets),
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
    for event, found in packets.items():
        parts.append(
            pd.DataFrame(
                {
                    "t_ns": found["time"],
                    "event": event,
                    # what is no link inside the switch is the line to the receiver
                    "link": pd.Series(found["link"]).map(links).fillna("receiver"),
                    "flow": _names(scenario, found["dport"]),
                    "value": found["len"].astype(np.int64),
                }
            )
        )
    frame = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    frame = frame[frame["t_ns"] >= 0]
    return frame.sort_values(["t_ns", "event", "flow", "value"], kind="stable")
