# SPDX-License-Identifier: Apache-2.0
"""The plan of a run, which the guest reads: addresses, classes, absolute times, sysctls, recorded events."""

from __future__ import annotations

from typing import Any

from rdcnlab.engines.kernel.plan import flows, memory
from rdcnlab.engines.kernel.plan.captures import captures, captures_kB
from rdcnlab.engines.kernel.plan.flows import line, order, replays, small
from rdcnlab.engines.kernel.plan.hosts import MEMORY_SYSCTLS, host, parameters, sysctls
from rdcnlab.engines.kernel.plan.probes import PROBE_KB, probes
from rdcnlab.engines.kernel.switches import demand
from rdcnlab.engines.kernel.switches.switch_set import switches_of
from rdcnlab.engines.kernel.trace import own_queues
from rdcnlab.engines.kernel.traffic import instants, programs, quic
from rdcnlab.engines.network import Network
from rdcnlab.engines.network.numbers import START_NS


def compile_plan(network: Network, *, here: bool = True) -> dict[str, Any]:
    """Translate a network into a plan for the guest.

    Parameters
    ----------
    network : Network
        The compiled network of a scenario with engine ``kernel``.
    here : bool
        Whether the plan contains the paths of programs on this machine, which a guest needs. Without them, the programs
        need not exist.

    Returns
    -------
    dict
        Plain data for JSON; in ns, bit/s and bytes.

    Raises
    ------
    InputError
        The scenario asks for something that this engine cannot do.
    """
    switches, traffic = switches_of(network), network.traffic
    waiting, waited = order(traffic), flows.until_quiet(network)
    recorded = probes(network, switches) + own_queues.probes(network)
    hosts = [host(network, machine) for machine in network.machines.values()]
    for own in hosts:
        if "transport" in own:
            own["transport"] |= switches.sysctls()
    return {
        "hosts": hosts,
        "overhead": network.overhead,
        "sysctls": sysctls(network) | switches.sysctls(),
        "memory_sysctls": MEMORY_SYSCTLS,
        "parameters": parameters(network),
        "switches": switches.devices(here=here),
        "trunks": [trunk.ports for trunk in network.trunks],
        "probes": recorded,
        "seed": str(network.seed),
        "epoch_ns": START_NS,
        "ready_ns": instants.ready_ns(network),
        "limit_ns": START_NS + network.limit,
        "small": small(network),
        "flows": [
            {
                "src": flow.src,
                "dst": flow.dst,
                # of a flow that comes after another: counted from the end of that one
                "start_ns": start if flow.after else START_NS + start,
                "line": line(network, flow, waited, here=here),
                **({"order": waiting[flow.name]} if flow.name in waiting else {}),
            }
            for flow, start in zip(traffic.flows, traffic.starts, strict=True)
        ],
        "files": {quic.files(network.ports[flow.name]): flow.size for flow in traffic.of("quic")},
        **({"replays": replayed} if (replayed := replays(network)) else {}),
        "captures": captures(network),
        "counters": network.probes.counters,
        "memory_kB": quic.memory_kB(traffic)
        + programs.memory_kB(traffic.programs)
        + captures_kB(network)
        + memory.memory_kB(network)
        + PROBE_KB * len(recorded),
        **programs.settings(network, here=here),
        **demand.settings(network),
        # for tests: pairs of host and shell line to run before the flows, and after they have ended
        "before": [],
        "commands": [],
    }


def check(network: Network) -> None:
    """Raise InputError if the scenario asks for something that this engine cannot do."""
    programs.check(network)  # first, because other kinds of switches than ocs know no traffic of programs
    switches_of(network).check()
    quic.check(network.traffic)
    flows.check(network.traffic)
    memory.check(network)
