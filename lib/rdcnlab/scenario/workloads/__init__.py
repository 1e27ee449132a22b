# SPDX-License-Identifier: Apache-2.0
"""Workloads: who sends how much to whom and when, as data. The seed draws flows from them."""

from rdcnlab.scenario.workloads.arrivals import Arrivals
from rdcnlab.scenario.workloads.drawing import MOST_FLOWS, drawn
from rdcnlab.scenario.workloads.offered import Offered, offered
from rdcnlab.scenario.workloads.sizes import Sizes, distributions
from rdcnlab.scenario.workloads.workload import Workload

__all__ = ["MOST_FLOWS", "Arrivals", "Offered", "Sizes", "Workload", "distributions", "drawn", "offered"]
