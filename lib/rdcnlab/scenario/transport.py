# SPDX-License-Identifier: Apache-2.0
"""Settings of TCP.

Defaults of `Transport` are those of Linux 6.12, with two exceptions. The kernel derives buffer triples from the size of
memory; here they have the values of a machine with much memory, because memory must not change a result. The kernel
keeps metrics of earlier connections; here it does not, because a run has no earlier connections.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from rdcnlab.fields.quantities import Bytes31, Bytes32, FieldError, Frozen, Listed, omit_default, whole
from rdcnlab.scenario.older import Kernel


def _auto(value: Any) -> Any:
    return None if value == "auto" else value


def _version(value: Any) -> Any:
    return str(value) if isinstance(value, float) else value  # YAML reads 4.15 as a number


Triple = Annotated[tuple[Bytes31, Bytes31, Bytes31], Listed]
#: A sysctl that keeps the kernel's own value (None) unless the scenario, or `like`, gives one.
Switch01 = Annotated[Annotated[int, whole(0, 1)] | None, omit_default]
Mode012 = Annotated[Annotated[int, whole(0, 2)] | None, omit_default]


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
        Minimum, initial and maximum socket buffer in bytes. In files ``buffers: large`` sets both to at most 256 MiB.
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
    fack : {0, 1} or None
        1: with `loss_detection` 1 or 2, forward acknowledgments tell of losses until reordering is seen (4.9). `like`
        does not set this field and the next one.
    rfc5827 : {0, 1, 2} or None
        Early retransmit with fewer than four segments in flight, with `loss_detection` 1 or 2. 0: off. 1: at the first
        duplicate. 2: after a quarter of the round trip (4.9).
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
    tdtcp: Annotated[bool, omit_default] = False
    tdtcp_pace: Annotated[bool, omit_default] = False
    like: Annotated[Kernel | None, BeforeValidator(_version), omit_default] = None
    loss_timers: Mode012 = None
    tlp_limited: Switch01 = None
    loss_detection: Mode012 = None
    prr_conservative: Switch01 = None
    fack: Switch01 = None
    rfc5827: Mode012 = None
    half_rcvbuf: Switch01 = None
    dctcp_loss_by_alpha: Switch01 = None
    bbr_plain: Switch01 = None
    cubic_clock_ms: Switch01 = None
    comp_sack_nr: Annotated[Annotated[int, whole(0, 255)] | None, omit_default] = None
    backlog_ack_defer: Switch01 = None
    syn_linear_timeouts: Annotated[Annotated[int, whole(0, 127)] | None, omit_default] = None
    tso_rtt_log: Annotated[Annotated[int, whole(0, 31)] | None, omit_default] = None
    early_retrans: Annotated[Annotated[int, whole(0, 4)] | None, omit_default] = None

    cubic_beta: Annotated[Annotated[int, whole(512, 1023)] | None, omit_default] = None
    cubic_friendliness: Switch01 = None
    cubic_fast_convergence: Switch01 = None
    cubic_hystart: Switch01 = None

    nuftcp_factor: Annotated[Annotated[int, whole(100, 100_000)] | None, omit_default] = None
    nuftcp_weight: Annotated[Annotated[int, whole(1, 100)] | None, omit_default] = None
    nuftcp_quiet: Annotated[Annotated[int, whole(0, 65_535)] | None, omit_default] = None
    nuftcp_readings: Annotated[tuple[Annotated[int, whole(1, 6)], ...], Listed, omit_default] = ()
    version_hold_us: Annotated[Annotated[int, whole(0, 100_000)] | None, omit_default] = None
    version_hold_sack: Switch01 = None

    @model_validator(mode="after")
    def _triples_rise(self) -> Transport:
        for field in ("rmem", "wmem"):
            sizes = getattr(self, field)
            if list(sizes) != sorted(sizes):
                raise FieldError(field, sizes, "smallest, first and largest size in rising order")
        if list(self.nuftcp_readings) != sorted(set(self.nuftcp_readings)):
            raise FieldError("nuftcp_readings", list(self.nuftcp_readings), "rows in rising order, each once")
        return self
