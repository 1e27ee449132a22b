# SPDX-License-Identifier: Apache-2.0
"""Multipath TCP: over a schedule, with one subflow for each time-division network, or over the lines of hosts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from rdcnlab.fields.quantities import FieldError, Frozen, HostName, Listed, whole

#: Largest number of subflows of a connection (``MPTCP_SUBFLOWS_MAX`` of Linux).
MOST_SUBFLOWS = 8
#: Hosts of a network of several switches that can have subflows, from the first: the number fits into one byte.
MOST_WITH_SUBFLOWS = 255


class Mptcp(Frozen):
    """Settings of all flows with the protocol ``mptcp``.

    All subflows of a flow have its congestion control. The connection itself creates the first subflow. A flow that
    follows a schedule has one subflow for each of the schedule's time-division networks (TDN): subflow i for TDN i.
    After the connection is established, the receiver announces the addresses for the other subflows. A flow that
    follows no schedule has the subflows that the path managers of its hosts open (`PathManager`); one of its hosts has
    several lines (`Host.of`).

    Parameters
    ----------
    scheduler : {'tdm', 'default'}
        ``tdm`` sends data on the subflow of the active network only. ``default`` is the scheduler of Linux, which uses
        all subflows that have room. If no flow follows a schedule, it is ``default`` whatever is stated here.
    isolation : {'acks', 'all', 'none'}
        Only for flows that follow a schedule.
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


class Endpoint(Frozen):
    """An address of a host that the kernel's path manager uses, as ``ip mptcp endpoint add`` sets it.

    Parameters
    ----------
    line : str
        The host's own name for its first address, or the name of one of its further lines.
    subflow : bool
        The host opens a subflow from this address when it opens a connection.
    signal : bool
        The host announces this address to its peer, which opens a subflow to it. Not together with `fullmesh`.
    backup : bool
        Subflows of this address carry data only while no other can.
    fullmesh : bool
        The host opens subflows from this address to all addresses of its peer that it knows of. Only with `subflow`.
    """

    line: HostName
    subflow: bool = False
    signal: bool = False
    backup: bool = False
    fullmesh: bool = False

    @model_validator(mode="after")
    def _as_the_kernel_takes_it(self) -> Endpoint:
        if self.fullmesh and self.signal:
            raise FieldError("fullmesh", True, "false, with signal: the kernel takes one of them")
        if self.fullmesh and not self.subflow:
            raise FieldError("subflow", False, "true, with fullmesh, which is about the subflows that the host opens")
        if not (self.subflow or self.signal):
            raise FieldError("subflow", False, "true, or signal: otherwise the address is not used")
        return self


class PathManager(Frozen):
    """What the kernel's path manager of one host does for its MPTCP connections, as ``ip mptcp`` sets it.

    Parameters
    ----------
    subflows : int
        Subflows of a connection besides the first one, at most.
    accepted : int
        Announced addresses of a peer to which the host opens subflows, at most. Linux has 0 by default.
    endpoints : tuple of Endpoint or None
        None: each further line of the host, as ``subflow`` if the host sends flows with ``mptcp``, as ``signal`` if it
        receives some, and as both if it has none.
    """

    subflows: Annotated[int, whole(0, MOST_SUBFLOWS)] = MOST_SUBFLOWS
    accepted: Annotated[int, whole(0, MOST_SUBFLOWS)] = MOST_SUBFLOWS
    endpoints: Annotated[tuple[Endpoint, ...], Field(max_length=MOST_SUBFLOWS), Listed] | None = None
