# SPDX-License-Identifier: Apache-2.0
"""Workloads: data from which the scenario's seed draws flows."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from rdcnlab.fields.quantities import (
    Duration,
    FieldError,
    Frozen,
    HostName,
    Listed,
    PositiveSize,
    name,
    omit_default,
    text,
    whole,
)
from rdcnlab.fields.units import DURATION
from rdcnlab.scenario.congestion import CC_NOUN, VARIANTS
from rdcnlab.scenario.flow import CC_ALLOWED, NAME_PATTERN
from rdcnlab.scenario.ranges import MOST_ITEMS, names
from rdcnlab.scenario.sends import Sends
from rdcnlab.scenario.timetable import ECMP, Path
from rdcnlab.scenario.user_file import DIRECTORY
from rdcnlab.scenario.workloads.arrivals import ArrivalsField
from rdcnlab.scenario.workloads.sizes import SizesField
from rdcnlab.scenario.workloads.tabular import lines_of

Pattern = Literal["random", "racks", "matrix", "permutation", "all-to-all", "stride", "incast"]
#: Patterns in which an arrival is one flow, whatever the arrivals are.
SINGLE = ("random", "racks", "matrix")
_MATRIX = "a file with a sender, a receiver and a weight in each line"


class Demand(Frozen):
    """An entry of a traffic matrix; text form ``[h1, h2, 3]``.

    Parameters
    ----------
    src, dst : str
        Host names.
    weight : int
        How often this pair occurs, compared with others.
    """

    src: HostName
    dst: HostName
    weight: Annotated[int, whole(1, 10**9)] = 1


def _read_hosts(value: Any) -> Any:
    """Expand ranges: ``h[1-16]`` stands for 16 hosts."""
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list | tuple):
        return value
    hosts: list[Any] = []
    for item in given:
        hosts += names(item) if isinstance(item, str) else [item]
        if len(hosts) > MOST_ITEMS:
            raise ValueError(f"at most {MOST_ITEMS} hosts")
    return hosts


def _read_matrix(value: Any, info: ValidationInfo) -> Any:
    if isinstance(value, str):
        path = FilePath((info.context or {}).get(DIRECTORY) or ".").absolute() / value
        value = [_demand(words, number, value) for number, words in lines_of(path, value, 3, _MATRIX)]
    if isinstance(value, list | tuple):
        pair = ("src", "dst", "weight")
        return [dict(zip(pair, item, strict=False)) if isinstance(item, list | tuple) else item for item in value]
    return value


def _demand(words: list[str], number: int, given: str) -> list[Any]:
    if not words[2].isdigit():
        raise ValueError(f"{_MATRIX}; weights are whole numbers ({given}, line {number}: {words[2][:20]!r})")
    return [words[0], words[1], int(words[2])]


class Workload(Sends):
    """Flows that the seed draws: who sends to whom, how much, and when. They are named ``NAME.1``, ``NAME.2`` ...

    Parameters
    ----------
    name : str
        Unique among flows and workloads.
    pattern : {'random', 'racks', 'matrix', 'permutation', 'all-to-all', 'stride', 'incast'}
        Who sends to whom. ``random``: each flow has a pair of hosts, all equally likely. ``racks``: the same for pairs
        at two switches. ``matrix``: pairs are drawn by the weights of `matrix`. ``permutation``: each host sends to one
        other host and receives from one; the seed draws it. ``all-to-all``: each host sends to each other.
        ``stride``: each host sends to the one that is `stride` places later. ``incast``: `fan` hosts send to `to`.
    hosts : tuple of str
        The hosts that take part; empty: all. ``h[1-16]`` stands for 16 hosts.
    to : str or None
        With ``incast``: the host that receives. None: the first of `hosts`.
    fan : int or None
        With ``incast``: flows of an arrival. They come from all other hosts in turn; the seed draws where each arrival
        begins. None: one from each other host.
    stride : int
        With ``stride``: places from the sender to the receiver in the order of `hosts`.
    matrix : tuple of Demand
        With ``matrix``: pairs of hosts with their weights. In files also the path of a file with a sender, a receiver
        and a weight in each line.
    sizes : Sizes
        How large flows are.
    arrivals : Arrivals
        When flows start. With ``random``, ``racks`` and ``matrix`` an arrival is one flow. With ``permutation``,
        ``all-to-all`` and ``stride`` it is one flow of each pair; with Poisson arrivals it is one flow of a pair that
        is drawn. With ``incast`` it is `fan` flows at one instant.
    count : int or None
        Number of arrivals. None: as many as there are before `until`; with ``once`` it is one.
    start, until : int
        ns after the start of the scenario between which flows start; `until` None: the scenario's limit.
    at_most : int or None
        Bytes to which larger flows are cut.
    protocol : {'tcp', 'mptcp', 'quic'}
        As in `Flow`. With ``mptcp`` each pair of hosts needs a schedule with several networks, or a host with several
        lines. With ``quic`` each host receives one flow at most, because each flow has two programs of its own: a
        ``permutation`` or ``stride`` of which all flows start once.
    cc : str
        As in `Flow`.
    path, back : str or tuple of Slot
        As in `Flow`; by default the shortest way.
    initiator : {'src', 'dst'}
        As in `Flow`.
    connect : {'start', 'ahead'}
        As in `Flow`. With ``ahead`` each end of a flow is a thread during the whole run, which takes memory.
    rate, on, off, rounds, think : int
        As in `Flow`, for each flow.
    after : str or None
        A flow, or a workload. `start`, `until` and all arrivals count from the end of that flow, or of all flows of
        that workload.
    """

    in_order: ClassVar[str] = (
        "name pattern hosts to fan stride matrix sizes arrivals count start until at_most protocol cc path back "
        "initiator connect rate on off rounds think after"
    )

    name: Annotated[str, name(16, "_-", "letters, digits, _ or -", "")]
    pattern: Pattern = "random"
    hosts: Annotated[tuple[HostName, ...], Listed, BeforeValidator(_read_hosts), omit_default] = ()
    to: Annotated[HostName | None, omit_default] = None
    fan: Annotated[Annotated[int, whole(1, 10_000)] | None, omit_default] = None
    stride: Annotated[Annotated[int, whole(1, 10_000)], omit_default] = 1
    matrix: Annotated[
        tuple[Demand, ...], Field(max_length=100_000), Listed, BeforeValidator(_read_matrix), omit_default
    ] = ()
    sizes: SizesField
    arrivals: ArrivalsField
    count: Annotated[Annotated[int, whole(1, 1_000_000)] | None, omit_default] = None
    start: Annotated[Duration, omit_default] = 0
    until: Annotated[Duration | None, omit_default] = None
    at_most: Annotated[PositiveSize | None, omit_default] = None
    protocol: Annotated[Literal["tcp", "mptcp", "quic"], omit_default] = "tcp"
    cc: Annotated[str, text(NAME_PATTERN, CC_ALLOWED, VARIANTS, CC_NOUN)] = "cubic"
    path: Annotated[Path, omit_default] = ECMP

    @model_validator(mode="after")
    def _as_its_pattern_needs(self) -> Workload:
        self.check_application()
        only = {"to": "incast", "fan": "incast", "matrix": "matrix"}
        for field, pattern in only.items():
            if getattr(self, field) not in (None, ()) and self.pattern != pattern:
                raise FieldError.left_out(field, "given", f"because only the pattern {pattern} has this field")
        if self.stride != 1 and self.pattern != "stride":
            raise FieldError.left_out("stride", self.stride, "because only the pattern stride has this field")
        if self.pattern == "matrix" and not self.matrix:
            raise FieldError("matrix", None, "a list such as [[h1, h2, 3], [h2, h1, 1]], or the path of a file")
        for number, demand in enumerate(self.matrix):
            if demand.src == demand.dst:
                raise FieldError(f"matrix[{number}].dst", demand.dst, f"another host than src ({demand.src})")
        if len(set(self.hosts)) != len(self.hosts):
            twice = next(host for host in self.hosts if self.hosts.count(host) > 1)
            raise FieldError("hosts", twice, "hosts that differ", reason=f"the host '{twice}' occurs twice")
        if self.until is not None and self.until <= self.start:
            raise FieldError("until", self.until, f"later than start ({self.start} ns)")
        if self.arrivals.once and self.until is not None:
            value = DURATION.format(self.until)
            raise FieldError.left_out("until", value, "with arrivals once, which are all at the start")
        return self
