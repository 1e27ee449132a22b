# SPDX-License-Identifier: Apache-2.0
"""Kernel events: which fields are recorded, and how the records are read."""

from __future__ import annotations

from rdcnlab.engines.network import Traffic

#: Recorded fields of each event that the kernel can trace, with the names of its ``format`` file.
FIELDS = {
    "tcp_retransmit_skb": ("dport",),
    "kfree_skb": ("reason",),
    "tcp_probe": ("dport", "snd_una", "snd_cwnd", "ssthresh", "srtt"),
    "ocs_enqueue": ("link", "class", "len", "dport"),
    "ocs_dequeue": ("link", "class", "len", "qlen", "dport"),
    "ocs_drop": ("link", "class", "len", "dport", "reason"),
    "ocs_mark": ("link", "class", "len", "dport"),
    "ocs_slot": ("class", "slot", "target"),
}

#: Reason of a drop because frames have taken all memory that they may: the kernel's ``OCS_DROP_WIRE``.
NO_MEMORY = 6


def fields(traffic: Traffic, event: str) -> tuple[str, ...]:
    """Return the recorded fields of an event; with mptcp, ``tcp_probe`` also has the subflow's socket."""
    return FIELDS[event] + (("sock_cookie",) if event == "tcp_probe" and traffic.uses_mptcp else ())
