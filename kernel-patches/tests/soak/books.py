# SPDX-License-Identifier: Apache-2.0
"""What has to be true at the end of a case: nothing under way, nothing left behind, no complaint of the kernel."""

import os
import re
import socket
import struct
import subprocess
import time
from pathlib import Path

from field import Field
from flows import Flow
from lab import counter, inside
from rack import info

DEBUG = Path("/sys/kernel/debug")
#: Words that are in a complaint of the kernel.
WORDS = ("WARNING", "BUG", "INFO: ", "UBSAN", "KASAN", "Call Trace", "ODEBUG", "refcount", "unregister_netdevice: wait")


def pipes(flows: list[Flow]) -> list[str]:
    """Say which open connection at rest thinks that something is in flight, in any of its networks."""
    wrong = []
    for flow in flows:
        if flow.plan["end"] != "stay" or flow.stage != "transfers":
            continue
        for end, sock in enumerate(flow.ends):
            try:
                books = info(sock)["path"]
            except OSError:  # plain TCP, or MPTCP
                values = sock.getsockopt(socket.SOL_TCP, socket.TCP_INFO, 48)
                if flow.plan["mptcp"]:
                    continue
                names = ("packets_out", "sacked_out", "lost_out", "retrans_out")
                books = [dict(zip(names, struct.unpack_from("4I", values, 24), strict=True))]
            for path in books:
                left = {n: path[n] for n in ("packets_out", "sacked_out", "lost_out", "retrans_out") if path[n]}
                if left:
                    wrong.append(f"flow {flow.number}, end {end}: {left} of {path}")
    return wrong


def met(flows: list[Flow]) -> dict[str, int]:
    """Count what a case has come across, so that a campaign can tell what it has tried."""
    names = {"timeouts": ("TcpExt", "TCPTimeouts"), "retransmits": ("Tcp", "RetransSegs"),
             "resets": ("TcpExt", "TCPAbortOnData"), "joins": ("MPTcpExt", "MPJoinAckRx")}  # fmt: skip
    counts = {name: sum(counter(host, *which) for host in ("h0", "h1")) for name, which in names.items()}
    return {"flows": len(flows), "tdtcp": sum(flow.networks > 1 for flow in flows), **counts}


def switch(field: Field) -> list[str]:
    """Say where the books of the switch do not balance."""
    stats = field.ocs.stats()
    wrong = []
    queues = {f"link {n}": link["queue"] for n, link in stats["links"].items()}
    queues |= {f"class {n}": row["voq"] for n, row in stats["classes"].items() if "voq" in row}
    for name, row in stats["ports"].items():
        queues[f"port {name}"] = row["link"]["queue"]
        if "ingress" in row:
            queues[f"ingress of {name}"] = row["ingress"]["queue"]
    wrong += [f"{name} holds {q['packets']} packets, {q['bytes']} B" for name, q in queues.items()
              if q["packets"] or q["bytes"]]  # fmt: skip
    wrong += [f"pool {n} has {pool['used']} B in use" for n, pool in stats["pools"].items() if pool["used"]]
    # each frame that came in, or that the switch put among them, went out or was dropped, and each is counted once
    inband = {f"p{host}" for host in range(2) if field.case["inband"][host]}
    told = sum(row["notify"]["sent"] for name, row in stats["ports"].items() if name in inband and "notify" in row)
    came = sum(row["rx_packets"] for row in stats["ports"].values())
    went = sum(row["link"]["tx_packets"] for row in stats["ports"].values())
    lost = sum(q[f"drops_{why}"] for q in queues.values() for why in ("tail", "pool", "red"))
    lost += sum(row["drops"] for row in stats["ports"].values())
    lost += sum(row["drops_dark"] for row in stats["classes"].values())
    field.facts = {"came": came, "told": told, "went": went, "lost": lost}
    if came + told != went + lost:
        wrong.append(f"frames: {came} came, {told} were added, {went} went, {lost} were lost")
    return wrong


def hosts() -> list[str]:
    """Say what the hosts received that was wrong, and which sockets are left."""
    wrong = []
    for host in ("h0", "h1"):
        # not InErrs: a SYN-ACK that was sent again counts there
        if count := counter(host, "Tcp", "InCsumErrors"):
            wrong.append(f"{host}: {count} segments with a wrong checksum")
        with inside(host):
            text = Path("/proc/thread-self/net/sockstat").read_text()
        words = next(line for line in text.splitlines() if line.startswith("TCP:")).split()[1:]
        left = {k: v for k, v in zip(words[::2], words[1::2], strict=True) if k != "mem" and v != "0"}
        if left:
            wrong.append(f"{host}: sockets are left: {left}")
    return wrong


def kernel() -> list[str]:
    """Say what the kernel has complained about so far, and whether it still looks."""
    log = subprocess.run(["dmesg"], capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"})
    wrong = [line for line in log.stdout.splitlines() if any(word in line for word in WORDS)]
    if (taint := Path("/proc/sys/kernel/tainted").read_text().strip()) != "0":
        wrong.append(f"the kernel is tainted: {taint}")
    stats = Path("/proc/lockdep_stats")
    if stats.exists() and not re.search(r"debug_locks: +1$", stats.read_text(), re.MULTILINE):
        wrong.append("lockdep has given up")
    return wrong


def leaks() -> list[str]:
    """Say which objects of the kernel nobody points to; young ones, and those seen once only, do not count."""
    file = DEBUG / "kmemleak"
    if not file.exists():
        return []
    for _ in range(2):
        time.sleep(10)
        file.write_text("scan")
    return [f"leaked: {text}" for text in file.read_text().split("unreferenced object")[1:6]]
