# SPDX-License-Identifier: Apache-2.0
"""The plan of flows over QUIC: the server and client programs, and the files that servers provide."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel.traffic import executables
from rdcnlab.engines.network import Network, Traffic
from rdcnlab.engines.network.numbers import READY_FOR_PROGRAMS_NS, READY_NS
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.scenario import Flow

ROLES = ("server", "client")
#: Programs of the default implementation, and the command that installs them.
DEFAULT = ("gtlsserver", "gtlsclient")
REMEDY = "sudo apt-get install -y ngtcp2-client ngtcp2-server"
#: Option of ngtcp2's server: the largest number of datagrams that it gives to the kernel as one (GSO).
OFFLOAD = "--max-gso-dgrams"
#: A server listens at this number plus the flow's port, the client uses the flow's port; as ``tools/traffic_tcp.c``.
SERVER_PORTS = 20_000
#: Memory of one server and one client in kB.
PROCESSES_KB = 100_000

_IDENTITY = Path(__file__).parents[1] / "inside" / "quic"


def ready_ns(traffic: Traffic) -> int:
    """Return the instant at which all listeners must be ready and the RNG is seeded."""
    return READY_FOR_PROGRAMS_NS if traffic.of("quic") else READY_NS


def check(traffic: Traffic) -> None:
    """Raise InputError if another flow would use the one port that a client of QUIC has on its host."""
    clients: dict[str, str] = {}
    for flow in traffic.flows:
        if flow.protocol != "quic":
            continue
        if flow.dst in clients:
            reason = (
                f"{clients[flow.dst]} and {flow.name} both go to {flow.dst}; with quic a host receives one flow, "
                "because switches know the flow by the one port that its client program uses there"
            )
            if flow.workload is None:
                field, allowed = f"{flow.where}.dst", f"another host than that of {clients[flow.dst]}, with quic"
            else:
                field, allowed = flow.where, "a permutation or stride, with arrivals: once"
                reason += f"; {allowed}, has one flow for each host"
            raise InputError.of(field, flow.dst, allowed, reason=reason)
        clients[flow.dst] = flow.name
    for flow in traffic.flows:
        if flow.is_tcp and flow.initiator == "src" and flow.src in clients:
            allowed = f"a host that does not receive over quic, as it does {clients[flow.src]}"
            raise InputError.of(f"{flow.where}.src", flow.src, allowed)


def program(network: Network, role: str) -> str:
    """Return the path of the program for a role, ``server`` or ``client``.

    Raises
    ------
    RunError
        The program is missing.
    """
    name = network.quic.program(role)
    path = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))
    if path is None:
        remedy = f"install with: {REMEDY}" if name in DEFAULT else "put it in PATH"
        raise RunError(f"quic.{role}: there is no program '{name}'; {remedy}")
    return path


def missing() -> list[str]:
    """Return the programs of the default implementation that are missing."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    return [name for name in DEFAULT if shutil.which(name, path=path) is None]


def identity(network: Network) -> dict[str, str]:
    """Return the SHA-256 of both programs, their libraries, key and certificate; empty without flows or programs."""
    if not network.traffic.of("quic"):
        return {}
    try:
        paths = [program(network, role) for role in ROLES]
    except RunError:
        return {}
    parts = sorted({part for path in paths for part in (path, *executables.libraries(path))})
    own = [str(_IDENTITY / name) for name in ("server.key", "server.pem")]
    digests = {path: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in [*parts, *own]}
    return {Path(path).name if path in own else path: digest for path, digest in digests.items()}


def words(network: Network, flow: Flow, address: str, port: int) -> list[str]:
    """Return the words of both command lines for ``tools/traffic_program.c``."""
    places: dict[str, Any] = {
        "address": address,
        "port": SERVER_PORTS + port,
        "cc": flow.cc,
        "size": flow.size,
        "files": files(port),
        "key": _IDENTITY / "server.key",
        "certificate": _IDENTITY / "server.pem",
    }
    lines = [_understood([program(network, role), *network.quic.words(role, places)[1:]]) for role in ROLES]
    for word in [word for line in lines for word in line if " " in word]:
        raise RunError(f"quic: '{word}' has a blank, which ends a word; move it to a path without one")
    return [*lines[0], "::", *lines[1]]


def _understood(line: list[str]) -> list[str]:
    """Remove the option that this version of ngtcp2's server does not have, if there is one.

    Version 1.11 (Debian 13) has no option to switch off segmentation offload, and uses it. Linux then splits its data
    into single packets before the host's line, so each datagram is one packet with this version too.
    """
    if Path(line[0]).name != "gtlsserver":
        return line
    return [word for word in line if not word.startswith(OFFLOAD) or OFFLOAD in _help(line[0])]


@functools.cache
def _help(path: str) -> str:
    """Return the output of a program's ``--help``."""
    return subprocess.run([path, "--help"], capture_output=True, text=True, check=False).stdout


def files(port: int) -> str:
    """Return the directory in the guest that a flow's server serves."""
    return f"/dev/shm/quic-{port}"


def memory_kB(traffic: Traffic) -> int:  # noqa: N802  (unit)
    """Return the memory that servers, clients and their files need in the guest, in kB."""
    return sum(PROCESSES_KB + flow.size // 1000 for flow in traffic.of("quic"))
