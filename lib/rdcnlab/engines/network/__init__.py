# SPDX-License-Identifier: Apache-2.0
"""The network of a scenario in the form that engines take: graph, lines, queues, ways, and the numbers of all parts.

It is compiled once for each run, and handed on. The code that plans a run and the code that reads its results both use
it, so that no two places count separately. Numbers of lines and classes are unique in the whole network, so a trace
record does not need the name of its switch. A network of one switch is a graph of one switch, whose links are loops at
it.
"""

from __future__ import annotations

from rdcnlab.engines.network.classes import Classes
from rdcnlab.engines.network.compiler import compile_network
from rdcnlab.engines.network.hosts import Machine
from rdcnlab.engines.network.network import Network
from rdcnlab.engines.network.parts import Line, Station, Trunk
from rdcnlab.engines.network.traffic import Traffic
from rdcnlab.engines.network.ways import Way

__all__ = ["Classes", "Line", "Machine", "Network", "Station", "Traffic", "Trunk", "Way", "compile_network"]
