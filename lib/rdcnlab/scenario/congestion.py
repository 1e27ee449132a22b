# SPDX-License-Identifier: Apache-2.0
"""Congestion controls: the one table of their names, with the facts that other modules ask about them."""

from __future__ import annotations

from dataclasses import dataclass

#: What a congestion control is called in messages.
CC_NOUN = "congestion control"


@dataclass(frozen=True)
class CongestionControl:
    """A congestion control. The defaults are the facts of one of Linux or of the user's own.

    Parameters
    ----------
    name : str
        Its name in scenarios, which is that of the kernel.
    label, color, marker : str
        Its name in legends, and its colour and marker in figures.
    needs_ecn : bool
        Whether it reduces its window by the share of marks.
    in_quic : bool
        Whether implementations of QUIC have it.
    ns3 : str or None
        Its class in ns-3; None: ns-3 does not have it.
    reads_versions : bool
        Whether it reads the versions of rules that switches write into packets.
    reads_flags : bool
        Whether it reads the flag that switches set in ACKs while there is a circuit.
    parameters : tuple of str
        Fields of `Transport` that are parameters of its module. They hold for all hosts.
    """

    name: str
    label: str = ""
    color: str = ""
    marker: str = ""
    needs_ecn: bool = False
    in_quic: bool = False
    ns3: str | None = None
    reads_versions: bool = False
    reads_flags: bool = False
    parameters: tuple[str, ...] = ()


#: Congestion controls of our kernel, in the order of tables and legends. Colours are those of Okabe and Ito, and Tol.
CONTROLS = {
    control.name: control
    for control in (
        CongestionControl(
            "cubic", "CUBIC", "#0072B2", "o", in_quic=True, ns3="ns3::TcpCubic",
            parameters=("cubic_beta", "cubic_friendliness", "cubic_fast_convergence", "cubic_hystart"),
        ),
        CongestionControl("reno", "Reno", "#E69F00", "s", in_quic=True, ns3="ns3::TcpLinuxReno"),
        CongestionControl("westwood", "Westwood", "#009E73", "^", ns3="ns3::TcpWestwoodPlus"),
        CongestionControl("bbr", "BBR", "#D55E00", "D", in_quic=True, ns3="ns3::TcpBbr"),
        CongestionControl("dctcp", "DCTCP", "#CC79A7", "v", needs_ecn=True, ns3="ns3::TcpDctcp"),
        CongestionControl("retcp", "reTCP", "#56B4E9", "X", reads_flags=True),
        CongestionControl(
            "nuftcp", "NUFTCP", "#999933", "h", needs_ecn=True, ns3="rdcnlab::Nuftcp", reads_versions=True,
            parameters=("nuftcp_factor", "nuftcp_weight", "nuftcp_quiet", "nuftcp_readings"),
        ),
    )
}  # fmt: skip
#: Their names.
VARIANTS = tuple(CONTROLS)
#: Congestion controls that Linux has besides. They are built when a scenario first uses one.
LINUX_VARIANTS = (
    "bic", "cdg", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "scalable", "vegas", "veno", "yeah"
)  # fmt: skip
_OTHER = CongestionControl("")


def control(cc: str | None) -> CongestionControl:
    """Return the facts of a congestion control by its name; None is that of a flow without one.

    Examples
    --------
    >>> control("dctcp").needs_ecn, control("vegas").needs_ecn
    (True, False)
    """
    return CONTROLS.get(cc or "", _OTHER)
