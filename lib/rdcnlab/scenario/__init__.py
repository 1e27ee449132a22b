# SPDX-License-Identifier: Apache-2.0
"""Scenarios, the input of a run: frozen, validated, with units and a canonical hash."""

from rdcnlab.fields.quantities import canonical_json
from rdcnlab.scenario.congestion import VARIANTS
from rdcnlab.scenario.elements import Host, Link, Node, Pool, Port
from rdcnlab.scenario.families import change_all
from rdcnlab.scenario.flow import Flow
from rdcnlab.scenario.identity import hash_of
from rdcnlab.scenario.model import Scenario
from rdcnlab.scenario.mptcp import Mptcp
from rdcnlab.scenario.network import Network
from rdcnlab.scenario.presets import preset, presets
from rdcnlab.scenario.probes import Probes
from rdcnlab.scenario.queue import Queue
from rdcnlab.scenario.queueing import Red
from rdcnlab.scenario.quic import Quic
from rdcnlab.scenario.settings import EngineSettings, Jitter, Notify, Switch
from rdcnlab.scenario.stack import Offload, Stack
from rdcnlab.scenario.timetable import BYPASS, DARK, ECMP, SAME, Schedule, Slot
from rdcnlab.scenario.transport import Transport
from rdcnlab.scenario.workloads import Workload, distributions

__all__ = [
    "BYPASS",
    "DARK",
    "ECMP",
    "SAME",
    "VARIANTS",
    "EngineSettings",
    "Flow",
    "Host",
    "Jitter",
    "Link",
    "Mptcp",
    "Network",
    "Node",
    "Notify",
    "Offload",
    "Pool",
    "Port",
    "Probes",
    "Queue",
    "Quic",
    "Red",
    "Scenario",
    "Schedule",
    "Slot",
    "Stack",
    "Switch",
    "Transport",
    "Workload",
    "canonical_json",
    "change_all",
    "distributions",
    "hash_of",
    "preset",
    "presets",
]
