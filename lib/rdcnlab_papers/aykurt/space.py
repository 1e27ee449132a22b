# SPDX-License-Identifier: Apache-2.0
"""Table I: the space of scenarios, with one name for each axis."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from rdcnlab.fields.quantities import FieldError, Frozen, Listed
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.check import input_error

Variant = Literal["cubic", "bbr", "reno", "westwood", "dctcp"]
Variants = Annotated[tuple[Variant, ...], Field(min_length=1), Listed]
#: The variants that most figures compare.
COMPARED: tuple[Variant, ...] = ("cubic", "bbr", "reno", "westwood")
#: 20 ms is not in the table, but in figure 9.
Period = Literal[1, 5, 10, 20, 25, 50, 100]
#: Periods of an item.
Periods = Annotated[tuple[Period, ...], Field(min_length=1), Listed]
Downtime = Literal[1, 2, 5, 10]
Volume = Literal[
    "1 MB", "2 MB", "4 MB", "8 MB", "16 MB", "32 MB", "64 MB", "128 MB", "256 MB", "2 GB", "4 GB"
]  # fmt: skip
#: Changes that keep tables small: for figures that draw no window, and for figures that draw nothing over time.
NO_ACKS: dict[str, Any] = {"probes.tcp": "none"}
WIDE_BINS: dict[str, Any] = {**NO_ACKS, "probes.bin": "100 ms"}

#: The bursts of Sec. V-G: number of datagrams of 9000 B, interval, and number of bursts (10 s in total).
BURST, BURSTS_EVERY, BURSTS = 128, "25 ms", 400
_DATAGRAM_PAYLOAD = 8972
#: A link takes its buffer from the shared one.
_FROM_POOL = {"buffer": None, "pool": "shared"}


class Point(Frozen):
    """One point of Table I.

    Parameters
    ----------
    protocol : {'TCP', 'UDP', 'QUIC'}
        Transport protocol. With UDP, bursts of a third server share the link of the main flows (Sec. V-G). With QUIC,
        the main flows use QUIC, in the paper's second testbed with links of 1 Gb/s (Sec. V-I).
    cc : str
        Congestion control of all flows.
    period_ms : int or None
        Time between moves in ms, downtime included. None leaves every flow on its link.
    downtime_ms : int or None
        Dark time at each move.
    flows : int
        Number of flows. One flow is migrated; otherwise half of them are main flows and half are migrated.
    size : str
        Volume of each flow; the paper's MB and GB are binary.
    main_cc : str or None
        Congestion control of the main flows, if it differs from `cc`.
    seed : int
        Seed.

    Raises
    ------
    InputError
        A value is not in the table; the message names the allowed values.
    """

    protocol: Literal["TCP", "UDP", "QUIC"] = "TCP"
    cc: Variant = "cubic"
    period_ms: Period | None = None
    downtime_ms: Downtime | None = None
    flows: Literal[1, 2, 8, 10, 20] = 2
    size: Volume = "2 GB"
    main_cc: Variant | None = None
    seed: int = 0

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise input_error(error, type(self)) from None

    @model_validator(mode="after")
    def _fits(self) -> Point:
        if self.downtime_ms is not None and self.downtime_ms >= (self.period_ms or 0):
            raise FieldError("downtime_ms", self.downtime_ms, f"less than period_ms ({self.period_ms})")
        if self.protocol == "QUIC" and self.flows == 1:
            raise FieldError("flows", self.flows, "at least 2 with QUIC, which the main flows are of")
        return self

    def scenario(self, **changes: Any) -> Scenario:
        """Return the scenario; `changes` as in `Scenario.with_`."""
        try:
            text = json.dumps(changes)
        except TypeError:
            return self._base().with_(**changes)
        # scenarios that differ only in their seed are derived from one, which is a hundred times faster
        template = _template(self.model_copy(update={"seed": 0}), text)
        return template if "seed" in changes else template.with_(seed=self.seed)

    def _base(self) -> Scenario:
        amount, prefix = self.size.split()
        size = f"{amount} {prefix[0]}iB"
        main = [{"name": "main", "size": size, "cc": self.main_cc or self.cc, "path": "green"}]
        if self.protocol == "QUIC":
            main[0] |= {"protocol": "quic", "cc": self.main_cc or "cubic"}
        migrated = [{"name": "migrated", "size": size, "cc": self.cc, "path": self._path()}]
        group_size = self.flows // 2
        if self.flows == 1:
            flows = migrated
        elif group_size == 1:
            flows = main + migrated
        else:
            groups = ((flow, number) for number in range(1, group_size + 1) for flow in (*main, *migrated))
            flows = [{**flow, "name": f"{flow['name']}-{number}"} for flow, number in groups]
        network = "aykurt-quic" if self.protocol == "QUIC" else "aykurt"
        scenario = Scenario.from_dict({"network": network, "flows": flows, "seed": self.seed})
        return _with_bursts(scenario) if self.protocol == "UDP" else scenario

    def _path(self) -> Any:
        if self.period_ms is None:
            return "blue"
        night = (self.downtime_ms or 0) * NS_PER_MS
        day = self.period_ms * NS_PER_MS - night
        slots: list[list[list[Any]]] = [[[day, link], [night, "dark"]] for link in ("blue", "green")]
        return [slot for pair in slots for slot in pair if slot[0] > 0]


def grid(
    changes: Mapping[str, Any] | Callable[[Point], Mapping[str, Any]] | None = None, **values: Any
) -> list[Scenario]:
    """Return the scenarios of all combinations of values. The last field varies fastest.

    Parameters
    ----------
    changes : dict, or callable that returns one for a Point, optional
        Changes as in `Scenario.with_`.
    **values
        Fields of `Point`. A tuple, list or range gives several values of a field.
    """
    axes = [value if isinstance(value, tuple | list | range) else (value,) for value in values.values()]
    points = [Point(**dict(zip(values, chosen, strict=True))) for chosen in product(*axes)]
    return [point.scenario(**((changes(point) if callable(changes) else changes) or {})) for point in points]


@functools.lru_cache(maxsize=256)
def _template(point: Point, changes: str) -> Scenario:
    return point._base().with_(**json.loads(changes))


def buffers(size: str) -> dict[str, Any]:
    """Return the changes that give both links a buffer of another size, for `Scenario.with_`."""
    return {f"network.links.{link}.buffer": size for link in ("green", "blue")}


def shared_buffer(size: str) -> dict[str, Any]:
    """Return the changes that make both links share one buffer, for `Scenario.with_`."""
    links = {f"network.links.{link}.{key}": value for link in ("green", "blue") for key, value in _FROM_POOL.items()}
    return {"network.pools": [{"name": "shared", "size": size}], **links}


def delays(delay: str) -> dict[str, Any]:
    """Return the changes, for `Scenario.with_`, of the delay of the hosts' cables. A base RTT has four such delays."""
    return {f"network.hosts.{host}.delay": delay for host in ("s1", "s2", "r1", "r2")}


def third_sender(scenario: Scenario, flow: Mapping[str, Any]) -> Scenario:
    """Add the third server, which has the same cable as the first two, and its flow on the main flows' link."""
    data = scenario.to_dict()
    hosts = data["network"]["hosts"]
    # the main flows' receiver: the traffic on their link is never more than its line carries
    ends = {"src": "s3", "dst": "r1", "path": "green"}
    changes = {"network.hosts": [*hosts, {**hosts[0], "name": "s3"}], "flows": [*data["flows"], {**flow, **ends}]}
    return scenario.with_(**changes)


def _with_bursts(scenario: Scenario) -> Scenario:
    size = BURSTS * BURST * _DATAGRAM_PAYLOAD
    bursts = {"name": "bursts", "protocol": "udp", "size": size, "burst": BURST, "interval": BURSTS_EVERY}
    return third_sender(scenario, bursts)
