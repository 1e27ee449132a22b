# SPDX-License-Identifier: Apache-2.0
"""Whose a packet of programs is: records of switches have its class, which tells sender, receiver and protocol."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdcnlab.engines.network import Network
from rdcnlab.engines.network.numbers import FIRST_PORT, LAST_CLASS


def classes(network: Network) -> dict[int, int]:
    """Return the number of the flow, among `Traffic.all`, of each class of programs' traffic."""
    first = len(network.traffic.flows)
    return {number: place for (_, place, _), number in network.classes.own.items() if place >= first}


def condition(network: Network) -> str:
    """Return the trace filter for packets of programs; empty without programs."""
    own = sorted(classes(network))
    spans: list[list[int]] = []
    for number in own:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    conditions = " || ".join(f"(class >= {begin} && class <= {end})" for begin, end in spans)
    return f"({conditions})" if len(spans) > 1 else conditions


def attributed(network: Network, records: NDArray[Any]) -> NDArray[Any]:
    """Return records of a switch in which ``dport`` is the number of the flow, also for packets of programs.

    The ports of programs mean nothing here: another flow may have the same.
    """
    own = classes(network)
    if not own or not {"class", "dport"} <= set(records.dtype.names or ()):
        return records
    number = np.full(LAST_CLASS + 1, -1, dtype=np.int64)
    number[list(own)] = list(own.values())
    # packets that no rule matched have a class beyond all others
    of_programs = np.where(records["class"] <= LAST_CLASS, number[np.minimum(records["class"], LAST_CLASS)], -1)
    flows = len(network.traffic.flows)
    port = records["dport"].astype(np.int64)
    ours = (port >= FIRST_PORT) & (port < FIRST_PORT + flows)
    numbered = records.copy()
    numbered["dport"] = np.where(of_programs >= 0, FIRST_PORT + of_programs, np.where(ours, port, 0))
    return numbered
