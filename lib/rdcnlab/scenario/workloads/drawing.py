# SPDX-License-Identifier: Apache-2.0
"""The flows of workloads, drawn from the scenario's seed.

Each number is drawn for one purpose (`rdcnlab.scenario.draws`): a workload that is added, or another number of flows,
leaves all other flows as they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rdcnlab.fields.quantities import FieldError
from rdcnlab.scenario.draws import draw, poisson_process
from rdcnlab.scenario.flow import Flow
from rdcnlab.scenario.sends import Sends
from rdcnlab.scenario.workloads.loads import mean_time
from rdcnlab.scenario.workloads.pairs import Pair, Pairs, pairs_of, senders_of_incast
from rdcnlab.scenario.workloads.sizes import FINE
from rdcnlab.scenario.workloads.workload import SINGLE, Workload

if TYPE_CHECKING:
    from rdcnlab.scenario.network import Network

#: Largest number of flows of a scenario.
MOST_FLOWS = 100_000


def drawn(workloads: Sequence[Workload], network: Network, seed: int, limit: int, stated: int = 0) -> tuple[Flow, ...]:
    """Return the flows of workloads.

    Parameters
    ----------
    workloads : sequence of Workload
    network : Network
    seed : int
        Seed of the scenario.
    limit : int
        Virtual time in ns at which the run ends.
    stated : int
        Number of flows that the scenario states itself.

    Raises
    ------
    FieldError
        A workload does not fit the network, or there are more than `MOST_FLOWS` flows.
    """
    flows: list[Flow] = []
    for workload in workloads:
        try:
            flows += itertools.islice(_flows(workload, network, seed, limit), MOST_FLOWS - stated - len(flows) + 1)
        except FieldError as error:
            field = f"workloads.{workload.name}.{error.field}"
            raise FieldError(field, error.value, error.allowed, reason=error.reason) from None
        if len(flows) + stated > MOST_FLOWS:
            reason = (
                f"it draws more flows than the {MOST_FLOWS} that a scenario can have; set count, or a smaller until"
            )
            raise FieldError(f"workloads.{workload.name}", workload.name, reason=reason)
    return tuple(flows)


def _flows(workload: Workload, network: Network, seed: int, limit: int) -> Iterator[Flow]:
    pairs = pairs_of(workload, network, seed)
    number = 0
    model: Flow | None = None
    for place, instant in enumerate(_instants(workload, network, pairs, seed, limit)):
        for src, dst in _arriving(workload, pairs, seed, place):
            number += 1
            size = workload.sizes.at(draw(seed, f"size {workload.name} {number}", FINE - 1))
            own = {
                "name": f"{workload.name}.{number}",
                "size": size if workload.at_most is None else min(size, workload.at_most),
                "src": src,
                "dst": dst,
                "start": instant,
            }
            if model is None:
                # the others differ in what is checked already, and checks take most of the time
                model = Flow.model_validate({**_common(workload), **own})
                yield model
            else:
                yield model.model_copy(update=own)


def _common(workload: Workload) -> dict[str, object]:
    """Return the fields that all flows of a workload share."""
    shared = {name: getattr(workload, name) for name in ("protocol", "cc", "path", *Sends.model_fields)}
    return {**shared, "workload": workload.name}


def _arriving(workload: Workload, pairs: Pairs, seed: int, place: int) -> list[Pair]:
    """Return the pairs of the flows that arrive together."""
    purpose = f"pair {workload.name} {place}"
    if workload.pattern == "incast":
        return senders_of_incast(pairs, workload.fan, seed, purpose)
    if workload.pattern in SINGLE or workload.arrivals.is_poisson:
        return [pairs.drawn(seed, purpose)]
    return list(pairs.listed)


def _instants(workload: Workload, network: Network, pairs: Pairs, seed: int, limit: int) -> Iterator[int]:
    """Yield the instants of arrivals in ns after the start of the scenario."""
    arrivals, count = workload.arrivals, workload.count
    until = limit if workload.until is None else min(workload.until, limit)
    if arrivals.once:
        yield from itertools.repeat(workload.start, count or 1)
        return
    if arrivals.interval is not None:
        instants: Iterator[int] = itertools.count(0, arrivals.interval)
    elif arrivals.instants:
        instants = iter(arrivals.instants)
    else:
        mean = float(arrivals.poisson or 0) or mean_time(workload, network, pairs)
        if workload.pattern == "incast" and arrivals.load is not None:
            mean *= workload.fan or len(pairs.listed)  # so many flows arrive together
        instants = poisson_process(seed, f"arrival {workload.name}", mean)
    for instant in itertools.islice(instants, count):
        if workload.start + instant >= until:
            return
        yield workload.start + instant
