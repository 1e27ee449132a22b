# SPDX-License-Identifier: Apache-2.0
"""Run the flows of a scenario on the host's own kernel in real time, to compare the guest's speed with it.

The packets pass host, switch, host, as in the guest. The switch is a Linux bridge, and nothing is shaped, so only the
processor limits the speed. This needs root, because it makes network namespaces.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel.build import Kernel
from rdcnlab.fields.errors import RunError

#: ns before the flows start, in which the listeners become ready.
LEAD_NS = 300_000_000


def available() -> bool:
    """Return whether this user may make network namespaces."""
    return os.geteuid() == 0


def seconds(kernel: Kernel, plan: Mapping[str, Any], core: int) -> float:
    """Return the wall-clock seconds that the flows of a plan take on the host's kernel, pinned to one core.

    Raises
    ------
    RunError
        A namespace could not be made, or a flow failed.
    """
    with _namespaces(plan["hosts"]) as pids, tempfile.TemporaryDirectory() as name:
        # all processes use the same clock, CLOCK_MONOTONIC
        start = time.monotonic_ns() + LEAD_NS
        lines = [f"ready {start - LEAD_NS // 10}", f"limit {start + 120 * 10**9}"]
        for flow in plan["flows"]:
            line = flow["line"]
            for place, value in {"@src": pids[flow["src"]], "@dst": pids[flow["dst"]], "@start": start}.items():
                line = line.replace(place, str(value), 1)
            lines.append(line)
        path = Path(name)
        (path / "plan").write_text("\n".join(lines) + "\n")
        _call("taskset", "-c", str(core), str(kernel.tool), "traffic", str(path / "plan"), str(path / "result"))
        rows = [json.loads(line) for line in (path / "result").read_text().splitlines()]
    if not all(row["finished"] for row in rows):
        raise RunError(f"a flow on the host's kernel did not finish: {[row['error'] for row in rows]}")
    return (max(int(row["end_ns"]) for row in rows) - start) / 1e9


@contextlib.contextmanager
def _namespaces(hosts: list[dict[str, object]]) -> Iterator[dict[str, int]]:
    """Make a namespace for each host and one for the switch; yield the ids of the processes that hold them."""
    holders: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name in ("switch", *(str(host["name"]) for host in hosts)):
            holders[name] = subprocess.Popen(["unshare", "--net", "sleep", "600"])
        time.sleep(0.2)  # until unshare has run, the child is still in our own namespace
        pids = {name: holder.pid for name, holder in holders.items()}
        switch = ["nsenter", "-t", str(pids["switch"]), "-n"]
        _call(*switch, "ip", "link", "add", "br0", "type", "bridge")
        _call(*switch, "ip", "link", "set", "br0", "up")
        for host in hosts:
            name, mtu = str(host["name"]), str(host["mtu"])
            host_namespace = ["nsenter", "-t", str(pids[name]), "-n"]
            port = f"sw-{host.get('label', name)}"
            _call(*switch, "ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", str(pids[name]))
            _call(*switch, "ip", "link", "set", port, "master", "br0", "mtu", mtu, "gso_max_segs", "1", "up")
            _call(*host_namespace, "ip", "link", "set", "eth0", "mtu", mtu, "gso_max_segs", "1", "up")
            _call(*host_namespace, "ip", "address", "add", f"{host['ip']}/{host['prefix']}", "dev", "eth0")
        yield pids
    finally:
        for holder in holders.values():
            holder.kill()
            holder.wait()


def _call(*command: str) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RunError(f"{' '.join(command)}: {result.stderr.strip() or result.returncode}")
