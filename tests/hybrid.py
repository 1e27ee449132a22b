# SPDX-License-Identifier: Apache-2.0
"""A hybrid network at one switch: 16 pairs of hosts, a packet network and a circuit with a queue for each direction."""

from __future__ import annotations

from typing import Any

_US = 1_000
_WEEK = [
    {"duration": 1180 * _US, "link": "packet"},
    {"duration": 20 * _US, "link": "dark"},
    {"duration": 180 * _US, "link": "circuit", "tdn": 1},
    {"duration": 20 * _US, "link": "packet"},
]
NETWORK: dict[str, Any] = {
    "name": "hybrid",
    "mtu": 9000,
    "hosts": [{"name": f"{rack}[1-16]", "rate": "800 Gb/s"} for rack in "ab"],
    "links": [
        {"name": "packet", "rate": "10 Gb/s", "delay": 46_257},
        {"name": "circuit", "rate": "100 Gb/s", "delay": 19_544},
    ],
    "schedules": [
        {"name": name, "queue": "16 packets", "ecn_threshold": "10 packets", "slots": _WEEK}
        for name in ("forward", "reverse")
    ],
}


def hybrid(**fields: Any) -> dict[str, Any]:
    """Return a scenario of one or more flows between the racks; `fields` are those of every flow."""
    name = fields.pop("name", "flow-[1-16]")
    number = name.removeprefix("flow-")
    ends = {"src": f"a{number}", "dst": f"b{number}", "path": "forward", "back": "reverse"}
    flow = {"name": name, "size": "100 GiB", **ends, **fields}
    return {"network": NETWORK, "flows": [flow], "limit": "2 s", "jitter": {"start": "1 ms"}}
