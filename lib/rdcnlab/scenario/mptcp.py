# SPDX-License-Identifier: Apache-2.0
"""Multipath TCP over a schedule: one subflow for each of its time-division networks."""

from __future__ import annotations

from typing import Literal

from rdcnlab.fields.quantities import Frozen

#: Largest number of subflows of a connection (``MPTCP_SUBFLOWS_MAX`` of Linux).
MOST_SUBFLOWS = 8
#: Hosts of a network of several switches that can have subflows, from the first: the number fits into one byte.
MOST_WITH_SUBFLOWS = 255


class Mptcp(Frozen):
    """Settings of all flows with the protocol ``mptcp``.

    Such a flow follows a schedule. It has one subflow for each of the schedule's time-division networks (TDN): subflow
    i for TDN i. All subflows have the flow's congestion control. The connection itself creates the first subflow. After
    the connection is established, the receiver announces the addresses for the other subflows.

    Parameters
    ----------
    scheduler : {'tdm', 'default'}
        ``tdm`` sends data on the subflow of the active network only. ``default`` is the scheduler of Linux, which uses
        all subflows that have room.
    isolation : {'acks', 'all', 'none'}
        Which packets of a subflow wait while another network than its own is active. ``acks``: its ACKs, as if they
        waited in the receiver. ``all``: also its data, in the switch; each subflow has a queue with the limit of the
        schedule's queue. ``none``: no packets wait.

    Notes
    -----
    Chen et al., "Time-division TCP for Reconfigurable Data Center Networks", SIGCOMM 2022, Sec. 2.2: subflows are
    isolated strictly, and ACKs wait in the receiver for their network. In the paper all data share the rack's queue
    (Sec. A.3).
    """

    scheduler: Literal["tdm", "default"] = "tdm"
    isolation: Literal["acks", "all", "none"] = "acks"
