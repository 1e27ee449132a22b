# SPDX-License-Identifier: Apache-2.0
"""The load that the flows of a workload offer: in the mean over seeds, and those that one seed draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdcnlab.fields.units import NS_PER_S
from rdcnlab.scenario.flow import TCP_HEADERS
from rdcnlab.scenario.workloads.arrivals import FABRIC, HOSTS
from rdcnlab.scenario.workloads.loads import Line, line_shares, loaded_lines, mean_time, wire_bytes
from rdcnlab.scenario.workloads.pairs import Pairs, pairs_of
from rdcnlab.scenario.workloads.workload import SINGLE, Workload

if TYPE_CHECKING:
    from rdcnlab.scenario.flow import Flow
    from rdcnlab.scenario.model import Scenario
    from rdcnlab.scenario.network import Network


@dataclass(frozen=True)
class Offered:
    """The load of a workload, as shares of the rate of lines.

    Parameters
    ----------
    workload : str
        Its name.
    lines : str
        Of which lines, in words.
    stated : float or None
        What `Arrivals.load` says; None if it says nothing.
    mean : float
        What the workload's flows offer in the mean over all seeds. It is what is stated, unless `Arrivals.counts` says
        that the load is that of uncut sizes.
    drawn : float
        What the flows of this scenario offer, from the start of the workload to their last arrival. Few flows may offer
        much less or more than the mean: in published distributions few flows carry most bytes.
    flows : int
        Number of these flows.
    """

    workload: str
    lines: str
    stated: float | None
    mean: float
    drawn: float
    flows: int

    def __str__(self) -> str:
        stated = "" if self.stated is None else f"{percent(self.stated)} stated, "
        count = f"the {self.flows} flows that are" if self.flows != 1 else "the flow that is"
        return (
            f"load of {self.workload}: {stated}{percent(self.mean)} offered in the mean, {percent(self.drawn)} by "
            f"{count} drawn; of the rate of {self.lines}"
        )


def percent(share: float) -> str:
    """Return a share in percent with three digits, such as ``13.7 %``."""
    return f"{100 * share:.3g} %"


def offered(scenario: Scenario) -> tuple[Offered, ...]:
    """Return the loads of a scenario's workloads. Those without a rate of arrivals have none (a list, ``once``)."""
    return tuple(_offered(scenario))


def _offered(scenario: Scenario) -> Iterator[Offered]:
    network = scenario.network
    for workload in scenario.workloads:
        flows = [flow for flow in scenario.flows if flow.workload == workload.name]
        arrivals = workload.arrivals
        if not flows or arrivals.once or arrivals.instants:
            continue
        pairs = pairs_of(workload, network, scenario.seed)
        shares = line_shares(workload, network, pairs)
        lines, rate = loaded_lines(workload, network, shares)
        sizes = _wire_sizes(workload, network, flows)
        by_size = line_shares(workload, network, Pairs([(flow.src, flow.dst) for flow in flows], sizes))
        yield Offered(
            workload=workload.name,
            lines=_in_words(workload, lines),
            stated=None if arrivals.load is None else arrivals.load / 1e6,
            mean=mean_rate(workload, network, pairs) * sum(shares[line] for line in lines) / rate,
            drawn=drawn_rate(workload, network, flows) * sum(by_size.get(line, 0.0) for line in lines) / rate,
            flows=len(flows),
        )


def mean_rate(workload: Workload, network: Network, pairs: Pairs) -> float:
    """Return the rate (bit/s) at which a workload's flows begin in the mean, with the headers of their frames."""
    return 8 * wire_bytes(workload, network) * NS_PER_S / _time(workload, network, pairs)


def drawn_rate(workload: Workload, network: Network, flows: Sequence[Flow]) -> float:
    """Return the same of the flows that are drawn, from the start of the workload to the last arrival."""
    last = flows[-1].start - workload.start
    # the first of a Poisson process comes after a time that is drawn, the first of an interval at once
    span = last + (workload.arrivals.interval or 0)
    return 8 * sum(_wire_sizes(workload, network, flows)) * NS_PER_S / max(span, 1)


def _time(workload: Workload, network: Network, pairs: Pairs) -> float:
    """Return the mean time between two flows in ns."""
    arrivals = workload.arrivals
    if arrivals.load is not None:
        return mean_time(workload, network, pairs)
    if workload.pattern == "incast":
        together = workload.fan or len(pairs.listed)
    else:
        together = 1 if workload.pattern in SINGLE or arrivals.is_poisson else len(pairs.listed)
    return (arrivals.poisson or arrivals.interval or 0) / together


def _wire_sizes(workload: Workload, network: Network, flows: Sequence[Flow]) -> list[int]:
    """Return the bytes of flows on the wire, with the headers of their frames."""
    payload, headers = network.mtu - TCP_HEADERS, TCP_HEADERS + network.overhead
    return [workload.rounds * (flow.size + -(-flow.size // payload) * headers) for flow in flows]


def _in_words(workload: Workload, lines: Sequence[Line]) -> str:
    of = workload.arrivals.of
    if of == HOSTS:
        return (
            f"the lines of the {len(lines)} hosts that send" if len(lines) != 1 else "the line of the host that sends"
        )
    if of == FABRIC:
        return f"the {len(lines)} lines between switches that it can use (each direction is one)"
    ((end, name),) = lines
    return f"the line of {name}, from {end}"
