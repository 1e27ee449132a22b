# SPDX-License-Identifier: Apache-2.0
"""What a network is made of: switches, hosts, links, and buffers that links share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import model_validator

from rdcnlab.fields.quantities import (
    Bytes32,
    Duration,
    FieldError,
    Frozen,
    HostName,
    LinkName,
    Listed,
    Rate,
    Size,
    omit_default,
    whole,
)
from rdcnlab.scenario.kinds import SwitchKind
from rdcnlab.scenario.line import Changing, Faulty
from rdcnlab.scenario.p4 import Entries, ProgramField
from rdcnlab.scenario.qdisc import Qdisc
from rdcnlab.scenario.queue import MaybeBuffer, PortLimit, Queue, QueueLimit
from rdcnlab.scenario.queueing import Queueing, replaced
from rdcnlab.scenario.timetable import RESERVED


class Node(Frozen):
    """A switch of a network with several switches.

    Parameters
    ----------
    name : str
        Name that hosts, links and paths use.
    kind : {'ocs', 'bmv2', 'ovs', 'linux'} or None
        Kind of the switch; None: the value of `Switch.kind`. Switches of several kinds can be joined.
    late : int
        Delay in ns between an instant of the timetable and the moment when the change takes effect at this switch.
    jitter : int
        Largest additional random delay of a change in ns, drawn uniformly for each instant; less than the shortest
        slot. Changes of several flows at the same instant are one update with one delay.
    optical : bool
        Whether the switch passes light on. It does not send packets anew, so its ends of links have no rate and no
        queue. It loses packets that arrive in a dark slot, and packets of no flow. A flow without a timetable that
        takes it always passes.
    guard : int
        ns at the start of a dark slot during which an optical switch still passes packets, because they were sent
        before.
    program : P4Program or None
        With ``bmv2``: the switch's own P4 program. It decides where packets go at this switch. None: the program of
        `Switch.program`.
    entries : tuple of str
        With ``bmv2``: commands that fill the tables of this switch, as `Switch.entries`. Empty: those of
        `Switch.entries`.
    """

    name: LinkName
    kind: SwitchKind | None = None
    late: Duration = 0
    jitter: Duration = 0
    optical: bool = False
    guard: Duration = 0
    program: Annotated[ProgramField, omit_default] = None
    entries: Annotated[Entries, omit_default] = ()

    @model_validator(mode="after")
    def _guards_light(self) -> Node:
        if self.guard and not self.optical:
            raise FieldError("guard", self.guard, "0, because the switch is not optical")
        return self


class Port(Queueing):
    """The queue of a switch's port to a host: packets wait here for the host's line.

    `Switch.ecn_threshold` is about links, and does not replace the threshold of a port.

    Parameters
    ----------
    buffer : Queue or None
        Limit of the queue; the default is that of a device in Linux. ``unlimited`` must be written out, and is None.
        With a `pool`, the default is ``unlimited``.
    """

    buffer: PortLimit = Queue(packets=1000)

    @model_validator(mode="before")
    @classmethod
    def _limited_by_pool(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("pool") is not None:
            return {"buffer": None, **data}
        return data


class Host(Faulty):
    """A host and the cable to its switch. Faults (`Faulty`) are those of the cable, in each direction by itself.

    Parameters
    ----------
    name : str
        Also the name of the host's files. The host's interface is ``NAME-eth0``, or the host's number instead of a name
        of more than 10 characters: ``3-eth0`` at the third host.
    rate : int
        Line rate in bit/s, in both directions; it includes `Network.overhead`.
    delay : int
        Propagation delay in ns, one way.
    queue : Queue
        Limit of the host's own egress queue.
    qdisc : Qdisc or None
        The queueing discipline of the host in the place of `queue`: any of Linux. Programs may choose another one at
        any time, which does not change the line.
    nic_buffer : int
        Bytes that the network card takes from the host and keeps until the line is free. They belong to their sockets
        until they have left, as in the ring of a driver. With ``ends: bucket`` of the network, the host's kernel counts
        them as sent, so TCP small queues do not include them.
    at : str or None
        The host's switch; None if the network has one switch only.
    of : str or None
        The host to which this line belongs. None: the entry is a host. Otherwise it is a further line of that host,
        with an address of its own: the host sends from this address by this line. Flows and programs name the host,
        and use its first address; with ``mptcp`` they use its further lines, too.
    port : Port
        The queue at the other end of the cable: that of the switch's port to the host. If anything is stated about it,
        the table ``queues`` lists it as ``HOST@SWITCH``; `Probes.ports` lists all ports.
    """

    name: HostName
    rate: Rate
    delay: Duration = 0
    queue: QueueLimit = Queue(packets=1000)
    nic_buffer: Size = 0
    at: Annotated[LinkName | None, omit_default] = None
    of: Annotated[HostName | None, omit_default] = None
    port: Annotated[Port, omit_default] = Port()
    qdisc: Annotated[Qdisc | None, omit_default] = None

    @model_validator(mode="after")
    def _one_queue(self) -> Host:
        if self.qdisc is not None and self.queue != Queue(packets=1000):
            why = f"because qdisc is given: {self.qdisc.kind} has limits of its own"
            raise FieldError.left_out("queue", "given", why)
        return self

    @model_validator(mode="before")
    @classmethod
    def _one_rate(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("rate"), list | tuple | dict):
            allowed = (
                "one rate, because the host's kernel sends at a constant rate; a rate may change on a link between two "
                "switches"
            )
            raise FieldError("rate", "a rate that changes", allowed)
        return data


class Link(Changing, Queueing):
    """A link with its queue: inside the one switch of the network, or between two switches.

    Parameters
    ----------
    name : str
        Name that timetables use. ``dark`` and ``bypass`` are reserved in any spelling, also as ``Dark``; with several
        switches ``ecmp`` and ``same`` are too.
    between : tuple of str or None
        The two switches that the link joins. The link is then duplex: each end has a line and a queue with the values
        below.
    at : str or None
        With several switches, for a link that joins no two switches: the switch that contains it. Such a link is the
        last of a way, so the receiver must be at this switch.
    rate : int
        bit/s on the wire, including `Network.overhead`. In files it may change: ``[[1 s, 2 Mb/s], [1 s, 16 Mb/s]]`` or
        ``{trace: FILE}``; see `steps` and `opportunities`.
    delay : int
        Propagation delay in ns.
    buffer : Queue or None
        Limit of the link's own queue, in bytes or in packets, or None with a `pool`. If both are None, only schedules
        with a queue may use the link.
    weight : int
        For a link between two switches. The shortest way is the way whose links have the smallest sum of weights, and
        ways of equal sums are equally short. Delay and rate do not count: without weights, one link of 250 ms is
        shorter than two of 24 ms each; if that one weighs 3, the two are shorter.
    """

    name: LinkName
    rate: Rate
    delay: Duration = 0
    buffer: MaybeBuffer = None
    between: Annotated[tuple[LinkName, LinkName] | None, Listed, omit_default] = None
    at: Annotated[LinkName | None, omit_default] = None
    weight: Annotated[int, whole(1, 1_000_000), omit_default] = 1

    @model_validator(mode="before")
    @classmethod
    def _one_delay(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("delay"), list | tuple | dict):
            allowed = (
                "one duration such as '20 ms', because the delay of a link does not change; two links of different "
                "delays and a timetable between them have the same effect"
            )
            raise FieldError("delay", data["delay"], allowed)
        return data

    @property
    def has_queue(self) -> bool:
        """Whether the link has a queue of its own; otherwise only queues of schedules lead to it."""
        return self.buffer is not None or self.pool is not None or self.aqm is not None

    @model_validator(mode="after")
    def _one_buffer(self) -> Link:
        if self.name.lower() in RESERVED:
            raise FieldError("name", self.name, f"a name other than {' and '.join(RESERVED)}")
        if self.buffer is not None and self.pool is not None:
            raise FieldError.left_out("pool", self.pool, "because buffer is given: a link has either of them")
        if self.buffer is not None and self.aqm is not None:
            raise FieldError.left_out("buffer", "given", replaced(self.aqm))
        return self

    def buffer_bytes(self, mtu: int) -> int:
        """Return the limit of the link's own queue in bytes, 0 if it has none; packets count as in `Queue.in_bytes`."""
        return 0 if self.buffer is None else self.buffer.in_bytes(mtu)


class Pool(Frozen):
    """A buffer that several links share; `size` is in bytes."""

    name: LinkName
    size: Bytes32
