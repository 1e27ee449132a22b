# SPDX-License-Identifier: Apache-2.0
"""Multipath TCP over a schedule: a subflow for each of its time-division networks."""

from __future__ import annotations

from typing import Literal

from rdcnlab.fields.quantities import Frozen

#: Subflows a connection can have (``MPTCP_SUBFLOWS_MAX`` of Linux).
MOST_SUBFLOWS = 8


class Mptcp(Frozen):
    """What is common to all flows of the protocol ``mptcp``.

    Such a flow follows a schedule, and has a subflow for each of the schedule's time-division networks (TDN), number i
    for TDN i, all with the flow's congestion control. The first is made by the connection; of the others' addresses the
    receiver tells once it stands.

    Parameters
    ----------
    scheduler : {'tdm', 'default'}
        Data on the subflow of the active network and on no other; or Linux' own, which uses all that have room.
    isolation : {'acks', 'all', 'none'}
        What of a subflow waits while another network than its own is there: its ACKs, as if in the receiver; data in
        the switch too, in a queue for each subflow with the limit of the schedule's; or nothing.

    Notes
    -----
    Chen et al., "Time-division TCP for Reconfigurable Data Center Networks", SIGCOMM 2022, Sec. 2.2: subflows are
    isolated strictly, ACKs wait in the receiver for their network. All data share the rack's queue there (Sec. A.3).
    """

    scheduler: Literal["tdm", "default"] = "tdm"
    isolation: Literal["acks", "all", "none"] = "acks"
