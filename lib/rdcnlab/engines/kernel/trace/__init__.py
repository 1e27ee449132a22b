# SPDX-License-Identifier: Apache-2.0
"""Events of the kernel: what is kept of each, and how it is read."""

from __future__ import annotations

from rdcnlab.engines.kernel.wiring import mptcp
from rdcnlab.scenario import Scenario

#: What is kept of each event the kernel can record, as its ``format`` file names it.
FIELDS = {
    "tcp_retransmit_skb": ("dport",),
    "tcp_probe": ("dport", "snd_una", "snd_cwnd", "ssthresh", "srtt"),
    "ocs_enqueue": ("link", "class", "len", "dport"),
    "ocs_dequeue": ("link", "class", "len", "qlen", "dport"),
    "ocs_drop": ("link", "class", "len", "dport", "reason"),
    "ocs_mark": ("link", "class", "len", "dport"),
    "ocs_slot": ("class", "slot", "target"),
}


def fields(scenario: Scenario, event: str) -> tuple[str, ...]:
    """Return what is kept of an event: of windows of subflows also whose they are."""
    return FIELDS[event] + (("sock_cookie",) if event == "tcp_probe" and mptcp.flows(scenario) else ())
