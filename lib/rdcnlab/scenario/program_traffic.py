# SPDX-License-Identifier: Apache-2.0
"""The traffic of programs, as flows: one for each pair of hosts with programs, direction and protocol.

Nobody knows before a run which hosts talk to each other, and at which ports. So switches tell such traffic by its
addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from rdcnlab.scenario.flow import Flow, Protocol
from rdcnlab.scenario.network import Network
from rdcnlab.scenario.program import Program

#: Between the hosts in the name of such a flow; flows of scenarios cannot have it in their names.
MARK = ">"
#: Protocols, each with the end of the flow's name.
PROTOCOLS: dict[Protocol, str] = {"tcp": "", "udp": "/udp"}
#: Bytes of such a flow, as far as sizes of buffers depend on it: as much as the line can carry.
ENDLESS = 2**40


def name(src: str, dst: str, protocol: Protocol = "tcp") -> str:
    """Return the name of the traffic between two hosts.

    Examples
    --------
    >>> name("h1", "h2"), name("h1", "h2", "udp")
    ('h1>h2', 'h1>h2/udp')
    """
    return f"{src}{MARK}{dst}{PROTOCOLS[protocol]}"


def is_of_programs(flow: Flow) -> bool:
    """Return whether a flow of `Scenario.traffic` is the traffic of programs."""
    return MARK in flow.name


def flows(programs: Sequence[Program], network: Network) -> tuple[Flow, ...]:
    """Return the traffic of programs, as flows from each host with programs to each other one."""
    path_by_host = {program.host: program.path for program in programs}
    order = [host.name for host in network.hosts if host.name in path_by_host]
    return tuple(
        Flow.model_construct(
            name=name(src, dst, protocol), protocol=protocol, size=ENDLESS, cc=None, path=path_by_host[src],
            src=src, dst=dst,
        )
        for protocol in PROTOCOLS
        for src, dst in permutations(order, 2)
    )  # fmt: skip
