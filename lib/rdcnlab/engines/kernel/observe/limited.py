# SPDX-License-Identifier: Apache-2.0
"""How long socket buffers limited each flow, as the kernel counts it (``TCP_INFO``), and a hint if they often did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rdcnlab.engines.network import Traffic

#: A hint is given if a buffer limited a flow in this share of the time in which it had data to send.
OFTEN = 0.5
#: The kernel counts in ticks; a flow that had data for a shorter time is not judged.
_LEAST_S = 0.02
#: Most flows that are listed.
_MOST = 1000
#: Fields of the guest's results, with what they mean.
_CAUSES = {"rwnd_limited_us": "receive_buffer_s", "sndbuf_limited_us": "send_buffer_s"}


def limited(traffic: Traffic, directory: Path) -> dict[str, dict[str, float]]:
    """Return the flows that a buffer limited: by name, the seconds with data to send, and those for each buffer."""
    names = {flow.name for flow in traffic.flows if flow.is_tcp}
    flows: dict[str, dict[str, float]] = {}
    for line in (directory / "flows.jsonl").read_text().splitlines():
        row: dict[str, Any] = json.loads(line)
        if row["flow"] not in names or len(flows) >= _MOST or not any(row.get(field) for field in _CAUSES):
            continue
        flows[row["flow"]] = {"busy_s": row["busy_us"] / 1e6} | {
            name: row[field] / 1e6 for field, name in _CAUSES.items()
        }
    return flows


def hint(flows: dict[str, dict[str, float]]) -> str | None:
    """Return a sentence on the flow that its buffers limited longest, with the cure; None if none did most of its time.

    Examples
    --------
    >>> print(hint({"f": {"busy_s": 2.0, "receive_buffer_s": 0.0, "send_buffer_s": 1.5}}))
    the send buffer limited flow f for 75 % of the 2 s in which it had data to send; write transport: {buffers: large}
    """
    worst: tuple[float, str, str] = (0.0, "", "")
    for name, times in flows.items():
        for cause in _CAUSES.values():
            if times["busy_s"] >= _LEAST_S and times[cause] >= OFTEN * times["busy_s"]:
                worst = max(worst, (times[cause], name, cause))
    if not worst[1]:
        return None
    seconds, name, cause = worst
    busy = flows[name]["busy_s"]
    buffer = cause.removesuffix("_s").replace("_", " ")
    return (
        f"the {buffer} limited flow {name} for {seconds / busy:.0%} of the {busy:.3g} s in which it had data to send; "
        "write transport: {buffers: large}"
    ).replace("%", " %", 1)
