# SPDX-License-Identifier: Apache-2.0
"""The simulator's process: it loads ns-3 and our models, builds the network of a plan, and runs it.

``python -I world.py DIRECTORY`` reads ``plan.json`` there, and writes records and ``outcome.json``. It needs only the
standard library, so it starts in a tenth of a second.
"""

from __future__ import annotations

import ctypes
import ipaddress
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

#: An option of Linux's ``prctl``: the signal that a process gets when its parent ends.
PR_SET_PDEATHSIG = 1
#: What stands for "none" in our models' interface.
NONE = -1
#: Bits in the numbers of the queues of classes and of ports, as in ``models/queue.h``.
QUEUE_OF_CLASS, QUEUE_OF_PORT = 1 << 16, 1 << 17
#: Settings of TCP, in the order of ``lab_transport``.
SETTINGS = (
    *("segment", "receive", "send", "least", "reordering", "sack", "timestamps", "scaling"),
    *("early", "later", "most"),
)
#: Results of a flow, in the order of ``lab_outcome`` in ``models/lab.cc``.
RESULTS = (
    *("start_ns", "end_ns", "received_B", "retransmits", "timeouts"),
    *("ahead", "updates", "held", "forgotten", "released"),
)
#: Settings of NUFTCP, in the order of ``lab_nuftcp``.
NUFTCP = ("factor", "weight", "quiet", "readings", "hold", "marks", "hold_sack")


class LabError(Exception):
    """A function of our models failed; the text is its reason."""


class Lab:
    """Our models: each method ``name`` is the function ``lab_name`` of ``models/lab.cc``.

    Parameters
    ----------
    libraries : list of str
        Paths of ns-3's libraries and, last, that of ours.
    """

    def __init__(self, libraries: list[str]) -> None:
        # each must see the symbols of those before
        self._library = [ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL) for path in libraries][-1]
        self._library.lab_error.restype = ctypes.c_char_p

    def call(self, name: str, *values: int | bytes) -> int:
        """Call a function with whole numbers and texts; return its number.

        Raises
        ------
        LabError
            It failed.
        """
        function = getattr(self._library, f"lab_{name}")
        function.restype = ctypes.c_int64
        answer = int(function(*(v if isinstance(v, bytes) else ctypes.c_int64(v) for v in values)))
        if answer < 0:
            raise LabError(self._library.lab_error().decode())
        return answer

    def outcome(self, flow: int) -> dict[str, int]:
        """Return the results of a flow."""
        values = (ctypes.c_int64 * len(RESULTS))()
        self._library.lab_outcome(ctypes.c_int64(flow), values)
        return dict(zip(RESULTS, values, strict=True))


def number(address: str) -> int:
    """Return an IPv4 address as a number."""
    return int(ipaddress.IPv4Address(address))


def build(lab: Lab, plan: dict[str, Any], directory: str) -> None:
    """Build the network and the flows of a plan."""
    for link in plan["count"]["links"]:
        lab.call("count", link, plan["count"]["bin"])
    for instant in plan["count"]["instants"]:
        lab.call("look", instant)
    lab.call(
        "begin", directory.encode(), plan["start"], plan["seed"], plan["mtu"], *plan["ports"],
        int(plan["packets"]), int(plan["acks"]),
    )  # fmt: skip
    lab.call("transport", *(plan["transport"][name] for name in SETTINGS))
    if "nuftcp" in plan:
        lab.call("nuftcp", *(plan["nuftcp"][name] for name in NUFTCP))
    hosts = {}
    for host in plan["hosts"]:
        line = (host[name] for name in ("rate", "overhead", "depth", "limit", "packets", "memory"))
        hosts[host["name"]] = lab.call("host", number(host["ip"]), *line)
    switches = [lab.call("switch") for _ in plan["switches"]]
    ports: list[dict[str, int]] = [{} for _ in switches]
    for index, switch in zip(switches, plan["switches"], strict=True):
        for port in switch["ports"]:
            ports[index][f"sw-{port['host']}"] = _port(lab, index, hosts[port["host"]], port)
    for cable in plan["cables"]:
        both = lab.call("cable", *cable["switches"])
        for index, name, end in zip(cable["switches"], cable["ports"], (both >> 16, both & 0xFFFF), strict=True):
            ports[index][name] = end
    for index, switch in zip(switches, plan["switches"], strict=True):
        _switch(lab, index, switch, ports[index], plan["macs"])
    for flow in plan["flows"]:
        ends = (flow["source"], flow["sink"], flow["port"], flow["size"], flow["start"])
        if flow["protocol"] == "udp":
            lab.call("udp", *ends, flow["payload"], flow["burst"], flow["interval"])
        else:
            lab.call("tcp", *ends, flow["connect"], flow["requested"], flow["variant"].encode(), flow["ecn"])


def _port(lab: Lab, index: int, host: int, port: dict[str, Any]) -> int:
    ingress, egress = port["ingress"], port["egress"]
    return lab.call("port", index, host, ingress["rate"], egress["rate"], egress["delay"], egress["overhead"])


def _switch(lab: Lab, index: int, switch: dict[str, Any], ports: dict[str, int], macs: dict[str, str]) -> None:
    for pool in switch["pools"]:
        lab.call("pool", index, pool["bytes"])
    for link in switch["links"]:
        lab.call("link", index, link["id"], link["rate"], link["delay"], link["overhead"])
        if "port" in link:
            lab.call("end", index, link["id"], ports[link["port"]])
        queue(lab, index, link["id"], link["queue"])
    for port in switch["ports"]:
        queue(lab, index, QUEUE_OF_PORT | ports[f"sw-{port['host']}"], port["egress"]["queue"])
    for mac, port, _ in switch["fdb"]:
        lab.call("address", index, number(macs[mac]), ports[port])
    for each in switch["classes"]:
        lab.call("class", index, each["id"], int(each["hold"]), int("voq" in each), each["phase"])
        queue(lab, index, QUEUE_OF_CLASS | each["id"], each.get("voq", {}))
        for slot in each["slots"]:
            changes = [slot.get(name, NONE) for name in ("voq_bytes", "voq_packets", "voq_ecn")]
            lab.call("slot", index, each["id"], slot["duration"], slot["target"], *changes, slot.get("rank", 0))
    for rule in switch["rules"]:
        addresses = [number(rule[name]) if name in rule else 0 for name in ("src", "dst")]
        own = [rule.get(name, 0) for name in ("sport", "dport")]
        port = ports[rule["in_if"]] if "in_if" in rule else NONE
        lab.call("rule", index, rule["class_id"], rule["prio"], port, rule.get("proto", 0), *addresses, *own)


def queue(lab: Lab, index: int, name: int, words: dict[str, int]) -> None:
    """Set a queue, from the words of the plan of ``ocs``."""
    limits = [words.get(word, 0) for word in ("limit_bytes", "limit_packets")]
    early = [words.get(word, 0) for word in ("red_min", "red_max", "red_prob")]
    lab.call("queue", index, name, *limits, words.get("ecn", NONE), *early, words.get("pool", NONE))


def run(directory: Path) -> dict[str, Any]:
    """Run the plan in a directory, and return the outcome."""
    # whoever asked for the run may be killed; then nobody waits for it
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    job = json.loads((directory / "plan.json").read_text())
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (job["memory"], most))
    if job["core"] is not None:
        os.sched_setaffinity(0, {job["core"]})
    try:
        lab = Lab(job["libraries"])
        plan = job["plan"]
        build(lab, plan, str(directory))
        begun = time.monotonic()
        events = lab.call("run", plan["limit"])
    except (LabError, MemoryError, OSError) as error:
        # to say so takes memory too
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        return {"ok": False, "error": str(error) or "out of memory"}
    return {
        "ok": True,
        "events": events,
        "simulated_s": time.monotonic() - begun,
        "virtual_s": (lab.call("now") - plan["start"]) / 1e9,
        "peak_B": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "lost": {host["name"]: lab.call("lost", index) for index, host in enumerate(plan["hosts"])},
        "flows": [lab.outcome(index) for index in range(len(plan["flows"]))],
    }


if __name__ == "__main__":
    here = Path(sys.argv[1])
    answer = run(here)
    part = here / "outcome.part"
    part.write_text(json.dumps(answer))
    part.rename(here / "outcome.json")
    # ns-3's objects refer to each other, and nothing is gained by taking them apart
    sys.stdout.flush()
    os._exit(0)
