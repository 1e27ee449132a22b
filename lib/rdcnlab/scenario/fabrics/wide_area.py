# SPDX-License-Identifier: Apache-2.0
"""Two parallel paths of a backbone, behind the slow lines of groups of flows."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from rdcnlab.fields.quantities import Duration, Listed, Rate, Share
from rdcnlab.scenario.fabrics.base import Fabric
from rdcnlab.scenario.queue import Buffer, Queue, QueueLimit


class WideArea(Fabric):
    """Groups of sources behind slow lines, two parallel paths of a backbone, and the groups' receivers.

    Group 1 has its sender ``s1`` at the switch ``agg1``, and its receiver ``r1``. Its line ``access1`` leads to the
    switch ``left``. The links ``short`` and ``long`` lead from there to ``right``, where all receivers are. `rate` and
    `delay` are those of the backbone.

    Parameters
    ----------
    rtts : tuple of int
        Propagation RTT in ns of each group over ``short``, without `delay` and `host_delay`. There are as many groups
        as RTTs. All of it is on the group's line, half in each direction.
    extra : int
        ns by which the RTT over ``long`` is larger.
    one_way : bool
        Whether ``long`` has all of `extra` in each direction, for flows whose way back is always ``short``. Otherwise
        each direction has half of it, for flows that take the same way in both directions.
    access_rate : int
        Rate of each group's line in bit/s.
    share : int
        Drop-tail queue of each group's line as a share of its bandwidth-delay product over ``short``; text form
        ``10 %``.
    least : Queue
        The smallest such queue.
    buffer : Queue
        Queue of the links of the backbone.
    """

    rtts: Annotated[tuple[Duration, ...], Field(min_length=1, max_length=100), Listed] = (50_000_000,)
    extra: Duration = 0
    one_way: bool = False
    access_rate: Rate = 100_000_000
    share: Share = 100_000
    least: QueueLimit = Queue(packets=10)
    buffer: Buffer = Queue(bytes=10_000_000)

    def data(self) -> dict[str, Any]:
        """Return the network; see `Fabric`."""
        numbers = range(1, len(self.rtts) + 1)
        hosts = [(f"s{n}", f"agg{n}") for n in numbers] + [(f"r{n}", "right") for n in numbers]
        links = [self._access(n, rtt) for n, rtt in zip(numbers, self.rtts, strict=True)]
        extra_delay = self.extra if self.one_way else self.extra // 2
        backbone = {"between": ["left", "right"], "rate": self.rate, "buffer": self.buffer.model_dump()}
        links.append({"name": "short", **backbone, "delay": self.delay})
        links.append({"name": "long", **backbone, "delay": self.delay + extra_delay})
        names = [f"agg{n}" for n in numbers] + ["left", "right"]
        return self.network([{"name": name} for name in names], hosts, links)

    def _access(self, number: int, rtt: int) -> dict[str, Any]:
        product = self.access_rate * rtt // (8 * 10**9)
        buffer = max(product * self.share // 10**6, self.least.in_bytes(self.mtu))
        ends = [f"agg{number}", "left"]
        return {
            "name": f"access{number}",
            "between": ends,
            "rate": self.access_rate,
            "delay": rtt // 2,
            "buffer": buffer,
        }
