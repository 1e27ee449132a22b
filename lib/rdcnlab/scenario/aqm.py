# SPDX-License-Identifier: Apache-2.0
"""Queueing disciplines of Linux, on the end of a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, model_validator

from rdcnlab.fields.phrases import missing
from rdcnlab.fields.quantities import FieldError, Frozen, Listed, text

_NAME = "a name of an option of tc: lower-case letters, digits, _ and -"
_VALUE = "a value of an option of tc: letters, digits and . _ / : - %, several of them with spaces between"


@dataclass(frozen=True)
class _Known:
    """The options of a discipline: with a value, those that stand alone, and those that it cannot be without."""

    valued: tuple[str, ...]
    flags: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()


def _known(valued: str, flags: str = "", needed: str = "") -> _Known:
    return _Known(tuple(valued.split()), tuple(flags.split()), tuple(needed.split()))


#: Options as ``tc`` of iproute2 6.1 reads them (``tc qdisc add dev lo root KIND help``), without those that are
#: about other devices: ``qevent`` of red, ``multiqueue`` of prio.
OPTIONS = {
    "bfifo": _known("limit"),
    "cake": _known(
        "bandwidth rtt memlimit fwmark overhead mpu",
        "unlimited autorate-ingress datacentre lan metro regional internet oceanic satellite interplanetary besteffort "
        "diffserv3 diffserv4 diffserv8 precedence flowblind srchost dsthost hosts flows dual-srchost dual-dsthost "
        "triple-isolate nat nonat wash nowash split-gso no-split-gso ack-filter ack-filter-aggressive no-ack-filter "
        "ptm atm noatm conservative raw ethernet ether-vlan docsis pppoa-vcmux pppoa-llc pppoe-vcmux pppoe-llcsnap "
        "bridged-vcmux bridged-llcsnap ipoa-vcmux ipoa-llcsnap via-ethernet pppoe-ptm bridged-ptm ingress egress",
    ),
    "choke": _known("limit bandwidth min max burst probability", "ecn", "limit bandwidth"),
    "codel": _known("limit target interval ce_threshold", "ecn noecn"),
    "ets": _known("bands strict quanta priomap"),
    "fq": _known(
        "limit flow_limit quantum initial_quantum maxrate defrate buckets refill_delay low_rate_threshold orphan_mask "
        "timer_slack ce_threshold horizon",
        "pacing nopacing horizon_cap horizon_drop",
    ),
    "fq_codel": _known(
        "limit flows memory_limit target interval quantum ce_threshold ce_threshold_selector drop_batch", "ecn noecn"
    ),
    "fq_pie": _known(
        "limit flows target tupdate alpha beta quantum memory_limit ecn_prob",
        "ecn noecn bytemode nobytemode dq_rate_estimator no_dq_rate_estimator",
    ),
    "hhf": _known("limit quantum hh_limit reset_timeout admit_bytes evict_timeout non_hh_weight"),
    "netem": _known("limit delay distribution corrupt duplicate loss reorder gap rate slot", "ecn"),
    "pfifo": _known("limit"),
    "pfifo_fast": _known(""),
    "pie": _known(
        "limit target tupdate alpha beta", "ecn noecn bytemode nobytemode dq_rate_estimator no_dq_rate_estimator"
    ),
    "prio": _known("bands priomap"),
    "red": _known(
        "limit min max avpkt burst probability bandwidth", "adaptive ecn harddrop nodrop", needed="limit avpkt"
    ),
    "sfb": _known("rehash db limit max target increment decrement penalty_rate penalty_burst"),
    "sfq": _known(
        "limit perturb quantum divisor flows depth redflowlimit min max avpkt burst probability",
        "headdrop ecn harddrop",
    ),
    "tbf": _known("limit burst rate mtu peakrate latency overhead linklayer", needed="burst rate"),
}


class Option(Frozen):
    """One option of a discipline.

    Parameters
    ----------
    name : str
        Its name in ``tc``.
    value : str
        Its value as ``tc`` writes it; empty if the name stands alone.
    """

    name: Annotated[str, text("[a-z][a-z0-9_-]{0,31}", _NAME)]
    value: Annotated[str, text(r"([A-Za-z0-9._/:%-]+( [A-Za-z0-9._/:%-]+){0,31})?", _VALUE)] = ""


class Aqm(Frozen):
    """A queueing discipline of Linux: it decides which packets wait, are dropped, are marked, and are sent next.

    In files all options stand beside `kind`: ``aqm: {kind: fq_codel, target: 5ms, limit: 1000, ecn: true}``. True
    writes the option's name alone (``ecn``), false writes ``noecn`` where the discipline has it and otherwise nothing,
    and a list writes several values. An option that is not given has the kernel's default; ``man tc-fq_codel`` lists
    them.

    Parameters
    ----------
    kind : str
        The discipline, by its name in ``tc``.
    options : tuple of Option
        Its options, in the order in which ``tc`` gets them.
    """

    kind: Literal[
        "bfifo",
        "cake",
        "choke",
        "codel",
        "ets",
        "fq",
        "fq_codel",
        "fq_pie",
        "pfifo",
        "pie",
        "prio",
        "red",
        "sfb",
        "sfq",
    ]
    options: Annotated[tuple[Option, ...], Field(max_length=32), Listed] = ()

    @model_validator(mode="before")
    @classmethod
    def _options_beside_kind(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"kind": data}
        if not isinstance(data, dict) or "options" in data:
            return data
        if "kind" not in data:
            kinds = get_args(cls.model_fields["kind"].annotation)
            raise FieldError("kind", None, "given", reason=_without_kind(data, kinds))
        kind = data["kind"]
        given = [_option(kind, str(name), value) for name, value in data.items() if name != "kind"]
        return {"kind": kind, "options": [option for option in given if option is not None]}

    @model_validator(mode="after")
    def _of_the_discipline(self) -> Aqm:
        known = OPTIONS[self.kind]
        for option in self.options:
            if option.name in known.flags:
                if option.value:
                    raise FieldError(option.name, option.value, f"true or false, because {option.name} has no value")
            elif option.name not in known.valued:
                names = [*known.valued, *known.flags]
                raise FieldError.unknown(option.name, option.name, names, f"option of {self.kind}")
            elif not option.value:
                raise FieldError(option.name, True, f"a value, because {option.name} does not stand alone")
        missing = [name for name in known.needed if name not in [option.name for option in self.options]]
        if missing:
            reason = f"{self.kind} has no default for it; it needs {' and '.join(known.needed)}"
            raise FieldError(missing[0], None, "given", reason=reason)
        return self

    @property
    def tc(self) -> str:
        """The discipline with its options, as the command ``tc`` takes it."""
        words = [self.kind, *(f"{option.name} {option.value}".strip() for option in self.options)]
        return " ".join(words)


def _without_kind(data: dict[Any, Any], possible: Sequence[str]) -> str:
    """Return how to write a discipline that was written without its kind."""
    first = str(next(iter(data), ""))
    if len(data) == 1 and first in possible:
        return f"it is missing; the discipline is its value: {{kind: {first}}}, with the options beside it"
    kinds = [kind for kind in possible if first in (*OPTIONS[kind].valued, *OPTIONS[kind].flags)]
    return missing(f"one of {', '.join(kinds or possible)}" + (f", which have the option {first}" if kinds else ""))


def _option(kind: Any, name: str, value: Any) -> dict[str, str] | None:
    """Return the fields of an option; None if nothing is to be written."""
    if value is True:
        return {"name": name}
    if value is False:
        flags = OPTIONS[kind].flags if isinstance(kind, str) and kind in OPTIONS else ()
        opposites = [word for word in (f"no{name}", f"no_{name}", f"no-{name}") if word in flags]
        if opposites:
            return {"name": opposites[0]}
        return None if name in flags else {"name": name}
    if isinstance(value, list | tuple):
        value = " ".join(map(str, value))
    if not isinstance(value, str | int | float):
        raise FieldError(name, value, "a number, text, true, false or a list of numbers")
    # tc knows no space between a number and its unit, except between the values of a list
    words = str(value).split(" ")
    joined = len(words) == 2 and words[0].replace(".", "").isdigit() and words[1].isalpha()
    return {"name": name, "value": "".join(words) if joined else str(value)}
