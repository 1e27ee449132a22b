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
from rdcnlab.engines.network import compile_network
from rdcnlab.engines.network.numbers import START_NS
from rdcnlab.scenario import Scenario


def compile_plan(scenario: Scenario, *, here: bool = True) -> dict[str, Any]:
    """Translate a scenario into a plan for the guest.

    Parameters
    ----------
    scenario : Scenario
        A scenario with engine ``kernel``.
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
    switches, network = switches_of(scenario), compile_network(scenario)
    starts = zip(scenario.flows, scenario.start_times(), strict=True)
    waiting, waited = order(scenario), flows.until_quiet(network)
    recorded = probes(network, switches) + own_queues.probes(network)
    hosts = [host(network, network.stations[one.name]) for one in scenario.network.machines]
    for own in hosts:
        if "transport" in own:
            own["transport"] |= switches.sysctls()
    return {
        "hosts": hosts,
        "overhead": network.overhead,
        "sysctls": sysctls(scenario) | switches.sysctls(),
        "memory_sysctls": MEMORY_SYSCTLS,
        "parameters": parameters(scenario),
        "switches": switches.devices(here=here),
        "trunks": [trunk.ports for trunk in network.trunks],
        "probes": recorded,
        "seed": str(scenario.seed),
        "epoch_ns": START_NS,
        "ready_ns": instants.ready_ns(scenario),
        "limit_ns": START_NS + scenario.limit,
        "small": small(scenario),
        "flows": [
            {
                "src": flow.src,
                "dst": flow.dst,
                # of a flow that comes after another: counted from the end of that one
                "start_ns": start if flow.after else START_NS + start,
                "line": line(network, flow, waited, here=here),
                **({"order": waiting[flow.name]} if flow.name in waiting else {}),
            }
            for flow, start in starts
        ],
        "files": {quic.files(network.ports[flow.name]): flow.size for flow in quic.flows(scenario)},
        **({"replays": found} if (found := replays(network)) else {}),
        "captures": captures(network),
        "counters": scenario.probes.counters,
        "memory_kB": quic.memory_kB(scenario)
        + programs.memory_kB(scenario)
        + captures_kB(network)
        + memory.memory_kB(network)
        + PROBE_KB * len(recorded),
        **programs.settings(network, here=here),
        **demand.settings(network),
        # for tests: pairs of host and shell line to run before the flows, and after they have ended
        "before": [],
        "commands": [],
    }


def check(scenario: Scenario) -> None:
    """Raise InputError if the scenario asks for something that this engine cannot do."""
    switches_of(scenario).check()
    quic.check(scenario)
    programs.check(scenario)
    flows.check(scenario)
    compile_network(scenario)
