# SPDX-License-Identifier: Apache-2.0
"""Settings of a scenario: switch, transport, engine, probes, jitter.

Defaults of `Transport` are those of Linux 6.12, with two exceptions. The kernel derives buffer triples from the size of
memory; here they have the values of a machine with much memory, because memory must not change a result. The kernel
keeps metrics of earlier connections; here it does not, because a run has no earlier connections.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, model_validator

from rdcnlab.fields.quantities import (
    Bin,
    Bytes31,
    Bytes32,
    Duration,
    Frozen,
    HostName,
    Later,
    LinkName,
    Listed,
    Misfit,
    Size,
    unique,
    whole,
)
from rdcnlab.scenario.kinds import EngineKind, SwitchKind
from rdcnlab.scenario.older import Kernel
from rdcnlab.scenario.own import AlgorithmField
from rdcnlab.scenario.p4 import Entry, ProgramField
from rdcnlab.scenario.sdn import ControllerField

#: Settings that only one kind of switch knows, and their values when they are not used.
_ONLY_WITH: dict[str, dict[str, object]] = {
    "bmv2": {"program": None, "entries": (), "control": "data-plane"},
    "ovs": {"controller": None, "delay": 0, "jitter": 0, "table_size": None},
}


class Switch(Frozen):
    """The kind of switch and its settings.

    Parameters
    ----------
    kind : {'ocs', 'bmv2', 'ovs', 'linux'}
        ``ocs`` is rdcnlab's circuit switch in the kernel. ``bmv2`` is the P4 software switch, ``ovs`` is Open vSwitch.
        ``linux`` is a Linux bridge with queues of ``tc``; it has no links inside, so all flows take the path
        ``bypass``.
    ecn_threshold : int or None
        ECN marking threshold in bytes. If given, it replaces the threshold of every link.
    dark : {'drop', 'hold'}
        What happens to packets that arrive in a dark slot.
    program : P4Program or None
        With ``bmv2``: a program that replaces ``p4/ocs.p4``. The program decides where packets go. Flows take the path
        ``bypass``, which they may omit.
    entries : tuple of str
        With ``bmv2``: commands of ``simple_switch_CLI`` that fill the program's tables, one line each. If the program
        is ``p4/ocs.p4``, they follow its own commands. ``{green}`` stands for the port number of a link or host,
        ``{mac:s1}`` for a host's address; ``p4/README.md`` lists all names.
    control : {'data-plane', 'control-plane'}
        With ``bmv2``: where the timetable is stored. ``data-plane``: in registers of the program. ``control-plane``: in
        a local manager that rewrites table entries.
    controller : SdnController or None
        With ``ovs``: an application of os-ken that replaces rdcnlab's own. It decides where packets go, so flows have
        no timetables.
    delay : int
        With ``ovs``: ns from a decision of the controller until it tells the switch.
    jitter : int
        With ``ovs``: largest additional random delay of a decision in ns, drawn for each switch and each instant; less
        than the shortest slot.
    table_size : int or None
        With ``ovs``: number of entries that a switch has room for: one for each host, and one for each flow and
        direction. None: there is no limit.
    """

    kind: SwitchKind = "ocs"
    ecn_threshold: Size | None = None
    dark: Literal["drop", "hold"] = "drop"
    program: Annotated[ProgramField, Later] = None
    entries: Annotated[tuple[Entry, ...], Listed, Later] = ()
    control: Annotated[Literal["data-plane", "control-plane"], Later] = "data-plane"
    controller: Annotated[ControllerField, Later] = None
    delay: Annotated[Duration, Later] = 0
    jitter: Annotated[Duration, Later] = 0
    table_size: Annotated[Annotated[int, whole(0, 1_000_000)] | None, Later] = None

    @model_validator(mode="after")
    def _only_with_kind(self) -> Switch:
        for kind, fields in _ONLY_WITH.items():
            for field, unused in fields.items():
                if self.kind != kind and getattr(self, field) != unused:
                    raise Misfit(
                        field, getattr(self, field), f"nothing, because only the switch {kind} has this setting"
                    )
        if self.program is not None and self.control != "data-plane":
            raise Misfit("control", self.control, "data-plane, because the local manager works with p4/ocs.p4 only")
        for field in ("delay", "jitter"):
            if self.controller is not None and getattr(self, field):
                allowed = "0 ns, because a controller of your own waits itself"
                raise Misfit(field, f"{getattr(self, field)} ns", allowed)
        return self


def _auto(value: Any) -> Any:
    return None if value == "auto" else value


def _version(value: Any) -> Any:
    return str(value) if isinstance(value, float) else value  # YAML reads 4.15 as a number


Triple = Annotated[tuple[Bytes31, Bytes31, Bytes31], Listed]
#: A sysctl that keeps the kernel's own value (None) unless the scenario, or `like`, gives one.
Switch01 = Annotated[Annotated[int, whole(0, 1)] | None, Later]
Mode012 = Annotated[Annotated[int, whole(0, 2)] | None, Later]


class Transport(Frozen):
    """Settings of TCP; each field is the sysctl ``net.ipv4.tcp_<name>`` of Linux 6.12 with our patches.

    The exceptions are `like`, and the parameters of the modules of CUBIC and NUFTCP.

    Parameters
    ----------
    ecn : bool or None
        Whether all flows negotiate ECN, or none. None (``auto``): only flows whose congestion control needs it (dctcp,
        nuftcp), as the kernel does by default. This matters where CUBIC shares a queue with DCTCP: with true, the
        switch marks packets of CUBIC too instead of dropping them.
    rmem, wmem : tuple of int
        Minimum, initial and maximum socket buffer in bytes.
    sack, dsack, timestamps, window_scaling, moderate_rcvbuf, slow_start_after_idle, no_metrics_save : bool
        On/off sysctls of the same name.
    limit_output_bytes : int
        Bytes a flow may have in the queues of its own host (TCP small queues).
    notsent_lowat : int
        A socket reports that it is writable while it has fewer unsent bytes than this.
    recovery : int
        Bit mask of the loss detection (1 is RACK).
    reordering : int
        Initial reordering degree in packets.
    rto_min_us : int
        Smallest retransmission timeout in microseconds.
    pacing_ss_ratio, pacing_ca_ratio : int
        Pacing rate in percent of cwnd / srtt, in slow start and in congestion avoidance.
    tdtcp : bool
        Keep one congestion state for each time-division network that the switch announces; needs `Scenario.notify`.
    tdtcp_pace : bool
        Pace the window of a network that becomes active again: send it segment by segment over one round trip.
    like : {'4.15', '4.9', '4.4'} or None
        An older kernel that TCP behaves like. It sets the fields below, `rmem` and `limit_output_bytes`, except those
        that the scenario gives itself. ``docs/older-kernels.md`` lists all differences with their sources.
    loss_timers : {0, 1, 2} or None
        Timers of the tail loss probe and of RACK: 0 counts microseconds, 1 adds 2 jiffies after rounding up (4.15), 2
        waits for 10 ms at least (4.9).
    loss_detection : {0, 1, 2} or None
        0: RACK alone. 1: RACK beside RFC 6675 (4.15). 2: RACK during a recovery only (4.9).
    tlp_limited, prr_conservative, half_rcvbuf, dctcp_loss_by_alpha, bbr_plain, cubic_clock_ms : {0, 1} or None
        1: the behaviour of older kernels; ``Documentation/networking/ip-sysctl.rst`` of our patches describes each.
    comp_sack_nr, backlog_ack_defer, syn_linear_timeouts, tso_rtt_log, early_retrans : int or None
        Sysctls of Linux 6.12; None leaves them as they are. With ``early_retrans`` 0 there are no tail loss probes.
    cubic_beta : int or None
        What a loss leaves of CUBIC's window, in 1024ths: 717 in Linux, 819 in the first paper on CUBIC. This and the
        following are parameters of the module ``tcp_cubic``, not sysctls. None: as in Linux.
    cubic_friendliness, cubic_fast_convergence, cubic_hystart : {0, 1} or None
        CUBIC: whether a window grows at least as Reno's would; whether a flow whose window became smaller leaves room
        for others; and whether slow start ends before a loss if delays grow.
    nuftcp_factor : int or None
        NUFTCP: limit of a flow's data in flight, in percent of the average of the data acknowledged in a round.
        None: 150 (Dogar et al., Sec. 3.1).
    nuftcp_weight : int or None
        NUFTCP: weight of the last round in this average, in percent. None: 20 (Sec. 3.1).
    nuftcp_quiet : int or None
        NUFTCP: rounds without ECE after which the threshold of slow start is reset; 0: it never is. None: 10
        (Sec. 3.1).
    nuftcp_readings : tuple of int
        NUFTCP: rows 1 to 6 of the table in ``docs/decisions/nuftcp.md`` that follow the paper's algorithm 2, not its
        prose.
    version_hold_us : int or None
        How long a receiver holds duplicate ACKs after a change of the network, in microseconds; 0: not at all. None:
        1000 in scenarios with NUFTCP (Sec. 3.2 has "less than 1 ms or 2 ms"). Switches write versions into the packets
        of flows with NUFTCP only.
    version_hold_sack : {0, 1} or None
        Whether a receiver also leaves SACK out of the ACKs that it sends in this time. None: 0, because the paper does
        not say so.
    """

    ecn: Annotated[bool | None, BeforeValidator(_auto)] = None
    rmem: Triple = (4096, 131_072, 6_291_456)
    wmem: Triple = (4096, 16_384, 4_194_304)
    sack: bool = True
    dsack: bool = True
    timestamps: bool = True
    window_scaling: bool = True
    moderate_rcvbuf: bool = True
    slow_start_after_idle: bool = True
    no_metrics_save: bool = True
    limit_output_bytes: Bytes31 = 1_048_576
    notsent_lowat: Bytes32 = 2**32 - 1
    recovery: Annotated[int, whole(0, 7)] = 1
    reordering: Annotated[int, whole(3, 300)] = 3
    rto_min_us: Annotated[int, whole(1_000, 120_000_000)] = 200_000
    pacing_ss_ratio: Annotated[int, whole(0, 1000)] = 200
    pacing_ca_ratio: Annotated[int, whole(0, 1000)] = 120
    tdtcp: Annotated[bool, Later] = False
    tdtcp_pace: Annotated[bool, Later] = False
    like: Annotated[Kernel | None, BeforeValidator(_version), Later] = None
    loss_timers: Mode012 = None
    tlp_limited: Switch01 = None
    loss_detection: Mode012 = None
    prr_conservative: Switch01 = None
    half_rcvbuf: Switch01 = None
    dctcp_loss_by_alpha: Switch01 = None
    bbr_plain: Switch01 = None
    cubic_clock_ms: Switch01 = None
    comp_sack_nr: Annotated[Annotated[int, whole(0, 255)] | None, Later] = None
    backlog_ack_defer: Switch01 = None
    syn_linear_timeouts: Annotated[Annotated[int, whole(0, 127)] | None, Later] = None
    tso_rtt_log: Annotated[Annotated[int, whole(0, 31)] | None, Later] = None
    early_retrans: Annotated[Annotated[int, whole(0, 4)] | None, Later] = None

    cubic_beta: Annotated[Annotated[int, whole(512, 1023)] | None, Later] = None
    cubic_friendliness: Switch01 = None
    cubic_fast_convergence: Switch01 = None
    cubic_hystart: Switch01 = None

    nuftcp_factor: Annotated[Annotated[int, whole(100, 100_000)] | None, Later] = None
    nuftcp_weight: Annotated[Annotated[int, whole(1, 100)] | None, Later] = None
    nuftcp_quiet: Annotated[Annotated[int, whole(0, 65_535)] | None, Later] = None
    nuftcp_readings: Annotated[tuple[Annotated[int, whole(1, 6)], ...], Listed, Later] = ()
    version_hold_us: Annotated[Annotated[int, whole(0, 100_000)] | None, Later] = None
    version_hold_sack: Switch01 = None

    @model_validator(mode="after")
    def _triples_rise(self) -> Transport:
        for field in ("rmem", "wmem"):
            sizes = getattr(self, field)
            if list(sizes) != sorted(sizes):
                raise Misfit(field, sizes, "smallest, first and largest size in rising order")
        if list(self.nuftcp_readings) != sorted(set(self.nuftcp_readings)):
            raise Misfit("nuftcp_readings", list(self.nuftcp_readings), "rows in rising order, each once")
        return self


class EngineSettings(Frozen):
    """The engine that executes the scenario, and its settings.

    Parameters
    ----------
    kind : {'kernel', 'ns3'}
        The patched Linux kernel in virtual time, or ns-3.
    hz : {100, 250, 300, 1000}
        Timer frequency of the kernel in Hz. CUBIC, delayed ACKs and timeouts count in its ticks.
    algorithm : OwnAlgorithm or None
        With ``kernel``: a congestion control of the user's own, one C file that is built into the kernel. Flows name it
        as their ``cc``.
    """

    kind: EngineKind = "kernel"
    hz: Literal[100, 250, 300, 1000] = 250
    algorithm: Annotated[AlgorithmField, Later] = None

    @model_validator(mode="after")
    def _only_a_kernel_is_built(self) -> EngineSettings:
        if self.algorithm is not None and self.kind != "kernel":
            raise Misfit(
                "algorithm", self.algorithm.path, "nothing, because only the engine kernel runs C of the kernel"
            )
        return self


class Probes(Frozen):
    """What a run records. Recording takes disk space and wall-clock time, but no virtual time.

    Parameters
    ----------
    bin : int
        ns of a time bin for throughput, queues and, with ``tcp='bin'``, congestion state.
    tcp : {'none', 'bin', 'ack'}
        When to record congestion window and RTT: never, the last value of each bin, or at every ACK.
    packets : bool
        Whether to record one event for every packet.
    acks : bool
        Whether to record what ACKs acknowledge: the payload by bin, at the place ``sender`` of the table
        ``throughput``, and runs of ACKs that acknowledge nothing new, as events.
    discards : bool
        Whether to record segments that a receiver discards because they carry an old timestamp (PAWS, RFC 7323,
        Sec. 5.3), as events.
    capture : tuple of str
        Names of hosts. The first 96 bytes of every IPv4 packet that a host sends or receives are stored in the run's
        file ``<host>.pcapng``, which Wireshark opens; the events ``capture_out`` and ``capture_in`` have the same
        packets.
    count : tuple of str
        Names of links. Packets are counted there while the run goes on, instead of being recorded one by one: the
        tables ``throughput`` and ``queues`` have these links only. This is for long runs, whose records would not fit
        into memory. The limit of such a run is a million losses, and a million retransmissions.
    snapshots : int or None
        With `count`: the mean time in ns between instants at which the queues of these links are looked at, as events
        ``snapshot``. The instants are a Poisson process, drawn from the scenario's seed.
    counters : bool
        Whether to record the kernel's counters of TCP at each host at the end (TcpExt in ``/proc/net/netstat``), as
        events such as ``counter TCPDSACKUndo``. They count, for example, the reordering that the kernel detected and
        the window reductions that it undid.
    fold : int or None
        Span in ns. If given, the bins of throughput and queues are counted modulo this span. The count covers all whole
        spans from `fold_from` to the limit. This keeps tables small for behaviour that repeats every few hundred
        microseconds.
    fold_from : int
        Start of the first span, in ns from the start of the scenario.
    """

    bin: Bin = 1_000_000
    tcp: Literal["none", "bin", "ack"] = "bin"
    packets: bool = False
    acks: Annotated[bool, Later] = False
    discards: Annotated[bool, Later] = False
    counters: Annotated[bool, Later] = False
    capture: Annotated[tuple[HostName, ...], Listed, Later] = ()
    count: Annotated[tuple[LinkName, ...], Listed, Later] = ()
    snapshots: Annotated[Bin | None, Later] = None
    fold: Annotated[Bin | None, Later] = None
    fold_from: Annotated[Duration, Later] = 0

    @model_validator(mode="after")
    def _consistent(self) -> Probes:
        if self.acks and self.tcp == "none":
            raise Misfit("acks", self.acks, "false, with tcp 'none'")
        unique("count", self.count)
        unique("capture", self.capture)
        if self.count and self.packets:
            raise Misfit("count", self.count, "nothing, with packets: true, which records every packet")
        if self.snapshots is not None and not self.count:
            raise Misfit("snapshots", self.snapshots, "nothing, without probes.count, whose links are looked at")
        if self.fold is None and self.fold_from:
            raise Misfit("fold_from", self.fold_from, "0, without fold")
        for field in ("fold", "fold_from"):
            if (getattr(self, field) or 0) % self.bin:
                raise Misfit(field, getattr(self, field), f"a whole number of bins of {self.bin} ns")
        return self


class Jitter(Frozen):
    """Random delays; they differ between runs with different seeds.

    Parameters
    ----------
    start : int
        Every flow starts later by a uniform random time up to this many ns.
    phase : int
        All timetables together start later by one uniform random time up to this many ns.
    """

    start: Duration = 0
    phase: Duration = 0


class HostDelay(Frozen):
    """The delay of `Notify` for one host, in ns."""

    name: HostName
    delay: Duration


class Notify(Frozen):
    """How hosts are notified of the active time-division network (TDN); slots of schedules contain its number.

    A sending host follows the schedule of its flows' ``path``. A receiving host follows the schedule of ``back``, or
    that of ``path`` if ``back`` is not a schedule. With several switches, a notification names the destinations that it
    is about, the hosts at one switch: a host may see another active network on the way to each switch. The schedule of
    a pair of switches is followed by all hosts at the first of them.

    Parameters
    ----------
    delay : int
        ns from the change of the network until a host's kernel knows the new number.
    hosts : tuple of HostDelay
        Hosts with a different delay.
    model : {'pull', 'push'}
        ``pull``: connections look up the number when they send or receive. ``push``: the kernel updates the connections
        one after the other.
    each : int
        With ``push``: ns that the update of one connection takes. The last of n connections is updated n times this
        later.
    channel : {'own', 'data'}
        ``own``: notifications use a separate network. ``data``: they wait in the queue to the host, together with its
        data.
    """

    delay: Duration = 0
    hosts: Annotated[tuple[HostDelay, ...], Listed] = ()
    model: Literal["pull", "push"] = "pull"
    each: Duration = 0
    channel: Literal["own", "data"] = "own"

    @model_validator(mode="after")
    def _consistent(self) -> Notify:
        unique("hosts", (host.name for host in self.hosts))
        if self.each and self.model == "pull":
            raise Misfit("each", self.each, "0, because with the model pull the kernel updates no connections")
        return self

    def delay_of(self, host: str) -> int:
        """Return the delay of a host in ns."""
        return next((entry.delay for entry in self.hosts if entry.name == host), self.delay)
