# SPDX-License-Identifier: Apache-2.0
"""What the protocol of a flow asks of its other fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdcnlab.fields.quantities import FieldError
from rdcnlab.fields.units import DURATION
from rdcnlab.scenario.congestion import CONTROLS, VARIANTS

if TYPE_CHECKING:
    from rdcnlab.scenario.flow import Flow

#: Congestion controls that implementations of QUIC have.
QUIC_VARIANTS = tuple(name for name, control in CONTROLS.items() if control.in_quic)


@dataclass(frozen=True)
class _Fixed:
    """Fields that have one value only.

    Parameters
    ----------
    fields : tuple of str
    why : str
        The reason, as in "it must be left out, {why}" or "it must be {value}, {why}".
    value : str or None
        The value; None: the field is left out.
    """

    fields: tuple[str, ...]
    why: str
    value: str | None = None


_NO_DATAGRAMS = _Fixed(("burst", "interval", "packet"), "because only udp is sent in bursts")
_NO_TDTCP = _Fixed(("tdtcp",), "with another protocol than tcp")
#: Fields that flows of a protocol do not choose, in the order in which errors name them.
_OF_PROTOCOL = {
    "tcp": (_NO_DATAGRAMS,),
    "mptcp": (
        _NO_TDTCP,
        _NO_DATAGRAMS,
        _Fixed(("initiator",), "because with mptcp the receiver announces its addresses", "src"),
    ),
    "udp": (
        _NO_TDTCP,
        _Fixed(("transport",), "with udp: these are settings of TCP"),
        _Fixed(("connect",), "because udp has no connection", "start"),
        _Fixed(("cc",), "because udp has no congestion control"),
        _Fixed(("initiator",), "because udp has no connection", "src"),
    ),
    "quic": (
        _NO_TDTCP,
        _Fixed(("transport",), "with quic: these are settings of TCP"),
        _Fixed(("connect",), "because programs of quic connect when they start", "start"),
        _NO_DATAGRAMS,
        _Fixed(("initiator",), "the default, because with quic the receiver always requests the data", "src"),
    ),
}
#: Fields that datagrams do not have together with another one.
_OF_DATAGRAMS = {
    "replay": _Fixed(
        ("burst", "interval", "rate", "on", "until", "packet"), "with replay, which has instants and sizes"
    ),
    "rate": _Fixed(("burst", "interval"), "with rate, at which datagrams leave evenly"),
}


def check(flow: Flow) -> None:
    """Raise FieldError for the first field of a flow that its protocol does not have, or for one that it lacks."""
    flow.check_application(flow.protocol)
    if flow.replay is not None and flow.protocol != "udp":
        raise FieldError("protocol", flow.protocol, "udp, with replay")
    if flow.until is not None and flow.until <= flow.start:
        raise FieldError("until", DURATION.format(flow.until), f"later than start ({DURATION.format(flow.start)})")
    if flow.until is not None and flow.protocol != "udp" and flow.rate is None:
        raise FieldError.left_out("until", DURATION.format(flow.until), "without a rate: size says when it ends")
    for fixed in _OF_PROTOCOL[flow.protocol]:
        _check_fixed(flow, fixed)
    if flow.protocol == "udp":
        _check_datagrams(flow)
    else:
        _check_control(flow)


def _check_fixed(flow: Flow, fixed: _Fixed) -> None:
    for field in fixed.fields:
        value = getattr(flow, field)
        if value == fixed.value:
            continue
        if fixed.value is not None:
            raise FieldError(field, value, f"{fixed.value}, {fixed.why}")
        shown = "given" if field == "transport" else DURATION.format(value) if field == "until" else value
        raise FieldError.left_out(field, shown, fixed.why)


def _check_control(flow: Flow) -> None:
    """Raise FieldError if the protocol of a flow has no such congestion control."""
    if flow.cc is None:
        names = ", ".join(VARIANTS)
        raise FieldError("cc", None, f"one of {names}", reason=f"a flow needs one of {names}")
    if flow.protocol == "quic" and flow.cc not in QUIC_VARIANTS:
        allowed = f"one of {', '.join(QUIC_VARIANTS)} with quic"
        raise FieldError("cc", flow.cc, allowed, reason=f"quic has no {flow.cc}; choose {allowed}")
    if flow.protocol == "mptcp" and flow.control.reads_versions:
        names = ", ".join(name for name, control in CONTROLS.items() if not control.reads_versions)
        raise FieldError("cc", flow.cc, f"one of {names} with mptcp, because a subflow never changes its way")


def _check_datagrams(flow: Flow) -> None:
    """Raise FieldError if it is not clear when the datagrams of a flow leave."""
    for field, fixed in _OF_DATAGRAMS.items():
        if getattr(flow, field) is not None:
            _check_fixed(flow, fixed)
            return
    if flow.burst is None and flow.interval is None:
        reason = "nothing says when datagrams leave; write rate, such as 10 Mb/s, or burst and interval, or replay"
        raise FieldError("rate", None, "a rate such as 10 Mb/s, or burst and interval", reason=reason)
    if flow.burst is None or not 1 <= flow.burst <= 65_535:
        raise FieldError("burst", flow.burst, "a whole number of datagrams from 1 to 65535")
    if flow.interval is None:
        raise FieldError("interval", None, "a duration from burst to burst, such as '25 ms'")
