# SPDX-License-Identifier: Apache-2.0
"""The cases of comparisons, which are transports on networks under workloads, and their numbers."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from rdcnlab.analysis import tables
from rdcnlab.analysis.intervals import Estimate
from rdcnlab.analysis.intervals import over_seeds as over_runs
from rdcnlab.analysis.resampling import jackknife
from rdcnlab.analysis.results.slowdown import ideals_s
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.runs.run import Run
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import TCP_HEADERS
from rdcnlab.scenario.network import Network
from rdcnlab_papers.benchmarks import laboratories
from rdcnlab_papers.items.item import Item

Architecture = Literal[
    "leaf-spine", "expander", "jupiter", "helios", "opera", "rotornet", "rotornet-direct", "sirius", "shale",
    "rotor", "rotor-6", laboratories.Laboratory,
]  # fmt: skip
TransportName = Literal["cubic", "reno", "dctcp", "bbr", "tdtcp", "nuftcp"]
Workload = Literal["web-search", "data-mining", "hadoop", "permutation", "incast"]
Transports = Annotated[tuple[TransportName, ...], Field(min_length=1), Listed]
Architectures = Annotated[tuple[Architecture, ...], Field(min_length=1), Listed]
Workloads = Annotated[tuple[Workload, ...], Field(min_length=1), Listed]

_GBPS = 10**10
#: Length above which queues of racks and of ports to hosts mark.
_MARKS = {"bytes": 90_000, "packets": None}
#: Transports that a network without schedules, whose racks follow a routing, cannot have.
SPECIAL: tuple[TransportName, ...] = ("tdtcp", "nuftcp")
#: Networks with schedules.
SCHEDULED: tuple[Architecture, ...] = ("rotor", "rotor-6", "tdtcp")
#: Networks that never change.
STATIC: tuple[Architecture, ...] = ("leaf-spine", "expander", "jupiter")
#: Networks whose circuits turn whatever the demand.
TURNING: tuple[Architecture, ...] = ("opera", "rotornet", "sirius", "shale")
#: Load of workloads that have one, in % of uncut sizes: what flows offer is less, see `Comparison.offered`.
USUAL = 30
#: Flows of a workload, and their size. The largest sizes are cut, because a run would last for its last flow.
_DRAWN: dict[Workload, dict[str, Any]] = {
    "web-search": {"sizes": "web-search", "at_most": 3_000_000, "count": 40},
    "data-mining": {"sizes": "data-mining", "at_most": 3_000_000, "count": 60},
    "hadoop": {"sizes": "hadoop", "at_most": 3_000_000, "count": 100},
    "permutation": {"pattern": "permutation", "sizes": 1_000_000, "arrivals": "once", "count": 1},
    "incast": {
        "pattern": "incast", "to": "h1", "fan": 8, "sizes": 100_000, "arrivals": {"interval": 2_000_000}, "count": 5,
    },
}  # fmt: skip
WORKLOADS: tuple[Workload, ...] = tuple(_DRAWN)
WITHOUT_LOAD: tuple[Workload, ...] = ("permutation", "incast")
#: Networks that were made and checked, by racks, hosts, architecture and day: cases share them.
_NETWORKS: dict[tuple[int, int, Architecture, int], Network] = {}


def is_laboratory(name: Architecture) -> TypeGuard[laboratories.Laboratory]:
    """Return whether an architecture is the own network of one of the five papers."""
    return name in laboratories.LABORATORIES


class Case(NamedTuple):
    """A case: its network, its workload with its load, its transport, and ns of a day (0: the network's own).

    The load is in % of uncut sizes, and 0 has no meaning where a workload has none.
    """

    architecture: Architecture
    workload: Workload
    load: int
    transport: TransportName
    day: int = 0


def crossed(
    architectures: Sequence[Architecture],
    workloads: Sequence[Workload],
    transports: Callable[[Architecture, Workload], Sequence[TransportName]],
) -> list[Case]:
    """Return the cases of networks and workloads at the usual load, each with its transports."""
    return [
        Case(architecture, workload, USUAL, transport)
        for architecture in architectures
        for workload in workloads
        for transport in transports(architecture, workload)
    ]


class Comparison(Item):
    """Transports on networks under workloads.

    Each rack has hosts of 10 Gb/s and, as far as an architecture allows, 40 Gb/s of uplinks. ``rotornet-direct`` is
    RotorNet without the second circuit; ``rotor-6`` has six racks of three hosts, one circuit a rack and 5 Gb/s to the
    packet switch.

    Parameters
    ----------
    racks, hosts : int
        Racks, and hosts in each rack. Shale has the next square number of racks; the papers' own networks have what
        the papers say.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 5}
    reads: ClassVar[tuple[str, ...]] = ("flows", "queues")
    parts: ClassVar[dict[str, Part]] = {
        "flows": Part(columns=("fct_s", "retransmits")),
        "queues": Part(columns=("max_B", "drops")),
    }

    racks: Annotated[int, whole(4, 32)] = 8
    hosts: Annotated[int, whole(1, 8)] = 2

    @property
    @abc.abstractmethod
    def cases(self) -> list[Case]:
        """The cases."""

    def case(
        self, architecture: Architecture, workload: Workload, load: int, transport: TransportName, day: int = 0
    ) -> Scenario:
        """Return the scenario of a case, with seed 0."""
        cc = "cubic" if transport == "tdtcp" else transport
        drawn: dict[str, Any] = {"cc": cc, **_DRAWN[workload]}
        limit = 10**9
        if is_laboratory(architecture):
            workloads, limit = laboratories.workloads(architecture, load, drawn), laboratories.LIMIT
        else:
            workloads = [{"name": "w", "arrivals": {"load": f"{load} %", "counts": "uncut"}, **drawn}]
        known = (self.racks, self.hosts, architecture, day)
        data: dict[str, Any] = {
            "network": _NETWORKS.get(known) or self.network(architecture, day),
            "workloads": workloads,
            # few bins: the largest queue of the whole run
            "probes": {"bin": min(limit, 10**10), "tcp": "none"},
            "limit": limit,
            "seed": 0,
        }
        if transport == "tdtcp":
            data |= {"transport": {"tdtcp": True}, "notify": {"model": "push"}}
        scenario = Scenario.from_dict(data)
        _NETWORKS[known] = scenario.network
        return scenario

    def network(self, architecture: Architecture, day: int = 0) -> dict[str, Any]:
        """Return the fabric of an architecture as plain data; `day` is in ns, with a night of a ninth of it."""
        if is_laboratory(architecture):
            return laboratories.network(architecture)
        sizes: dict[str, Any] = {"racks": self.racks, "hosts": self.hosts, "mtu": 1500, "host_rate": _GBPS}
        sizes |= {"rate": _GBPS, "ends": "bucket"}  # ends as when runs of them were first published
        hybrid = {"uplinks": 3, "packet_rate": _GBPS, "packet_delay": 1_000}
        queue = {"queue": {"bytes": 1_000_000, "packets": None}}
        circle = {"uplinks": 4, "pairings": "circle"}  # pairings as when runs of them were first published
        more: dict[Architecture, dict[str, Any]] = {
            "sirius": {"uplinks": 4, "day": 20_000, "night": 2_000},
            "shale": {"racks": max(4, int(np.ceil(np.sqrt(self.racks)) ** 2)), "rate": 4 * _GBPS},
            "helios": {**hybrid, "decide": "greedy"},  # as when runs of it were first published
            "opera": circle,
            "expander": circle,
            "rotornet-direct": {"fabric": "rotornet", "uplinks": 4, "routing": "direct"},
            "rotor": {**hybrid, **queue},
            "rotor-6": {
                "fabric": "rotor", "racks": 6, "hosts": 3, "uplinks": 1, "packet_rate": _GBPS // 2,
                "packet_delay": 1_000, **queue,
            },
        }  # fmt: skip
        if architecture == "leaf-spine":
            plain = {name: sizes[name] for name in ("hosts", "mtu", "host_rate", "rate", "ends")}
            return {
                "fabric": "leaf-spine",
                "leaves": self.racks,
                "spines": 4,
                "ecn_threshold": _MARKS["bytes"],
                **plain,
            }
        own = more.get(architecture, {"uplinks": 4})
        turning = {"day": day, "night": day // 9} if day else {}
        return {"fabric": architecture, **sizes, "ecn_threshold": _MARKS, **own, **turning}

    def points(self) -> list[Scenario]:
        """Return the cases times seeds."""
        scenarios = []
        for case in self.cases:
            first = self.case(*case)
            scenarios += [first if seed == first.seed else first.with_(seed=seed) for seed in range(self.count)]
        return scenarios

    def offered(self) -> pd.DataFrame:
        """Return the loads that flows offer, of the rate of the hosts that send (of the papers' own networks: ways).

        Returns
        -------
        DataFrame
            One row for each network and workload that has a load: ``architecture``, ``workload``; ``load``, which is
            that of uncut sizes; in % ``mean``, over all seeds, and ``drawn``, the mean over those of the item, with
            the ``least`` and the ``most`` of a seed.
        """
        rows, seen = [], set[tuple[str, str, int]]()
        for number, case in enumerate(self.cases):
            key = (case.architecture, case.workload, case.load)
            if case.workload in WITHOUT_LOAD or key in seen:
                continue
            seen.add(key)
            own = self.scenarios()[number * self.count : (number + 1) * self.count]
            loads = np.array([_offered(case.architecture, scenario) for scenario in own]) * 100
            drawn = loads[:, 1]
            numbers = {"mean": loads[0, 0], "drawn": drawn.mean(), "least": drawn.min(), "most": drawn.max()}
            rows.append(dict(zip(("architecture", "workload", "load"), key, strict=True)) | numbers)
        return pd.DataFrame(rows, columns=["architecture", "workload", "load", "mean", "drawn", "least", "most"])

    def labels(self) -> dict[tuple[Workload, int], str]:
        """Return workloads with the load that flows offer in the mean, such as ``web-search, 11.7 %``."""
        by_case = self.offered().groupby(["workload", "load"])["drawn"].mean()
        known = {(case.workload, case.load) for case in self.cases}
        return {
            (name, load): f"{name}, {by_case[name, load]:.3g} %" if (name, load) in by_case else name
            for name, load in known
        }

    def flows(self, runs: Runs) -> pd.DataFrame:
        """Return one row for each flow: the case, ``seed``, ``size_B``, ``fct_s``, ``slowdown`` (NaN: did not end)."""
        frames, known = [], _known(self.racks, self.hosts)
        for run, case in self._with_cases(runs):
            sizes, ideal_s = known.ideals(run.scenario, case)
            fct = runs.frame(run, "flows")["fct_s"].to_numpy(dtype=float)
            numbers = {"size_B": sizes, "fct_s": fct, "slowdown": fct / ideal_s}
            frames.append(pd.DataFrame({**_named(run, case), **numbers}))
        return pd.concat(frames, ignore_index=True)

    def totals(self, runs: Runs) -> pd.DataFrame:
        """Return one row for each run.

        Returns
        -------
        DataFrame
            The case (``architecture``, ``workload``, ``load``, ``transport``, ``day``), ``seed``; ``median``, ``mean``
            and ``p99`` of the slowdown of its flows, and how many are ``unfinished``; ``retransmits`` and
            ``reordered``, retransmissions and those of them without a lost packet, for each 1000 segments;
            ``queue_kB``, the longest queue of all; ``drops``.
        """
        known = _known(self.racks, self.hosts)
        return pd.DataFrame([known.totals(runs, run, case) for run, case in self._with_cases(runs)])

    def _with_cases(self, runs: Runs) -> list[tuple[Run, Case]]:
        """Return runs with their cases, in the order of the cases."""
        cases = [case for case in self.cases for _ in range(self.count)]
        by_hash = {scenario.hash: case for scenario, case in zip(self.scenarios(), cases, strict=True)}
        by_case: dict[Case, list[Run]] = {}
        for run in runs:
            if run.scenario.hash in by_hash:
                by_case.setdefault(by_hash[run.scenario.hash], []).append(run)
        return [(run, case) for case in dict.fromkeys(cases) for run in by_case.get(case, ())]


def _offered(architecture: Architecture, scenario: Scenario) -> tuple[float, float]:
    """Return the load of a scenario, as a share: in the mean over seeds, and of its flows."""
    if is_laboratory(architecture):
        return laboratories.offered(architecture, scenario)
    (load,) = scenario.loads()
    return load.mean, load.drawn


def _named(run: Run, case: Case) -> dict[str, Any]:
    """Return the columns that name a run: its case and its seed."""
    return {**case._asdict(), "seed": run.scenario.seed}


class _Known:
    """Numbers of runs that are computed once: a claim is judged on all runs and on each half, and items share runs."""

    def __init__(self) -> None:
        self._ideals: dict[tuple[object, ...], tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]] = {}
        self._totals: dict[tuple[str, Case], dict[str, Any]] = {}

    def ideals(self, scenario: Scenario, case: Case) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the sizes of flows in bytes, and their ideal completion times in s.

        A seed draws the same flows for each transport. Their ideal times are the same if their headers are.
        """
        key = (case._replace(transport="cubic"), scenario.seed, scenario.transport.timestamps)
        if key not in self._ideals:
            self._ideals[key] = np.array([flow.size for flow in scenario.flows]), ideals_s(scenario)
        return self._ideals[key]

    def totals(self, runs: Runs, run: Run, case: Case) -> dict[str, Any]:
        """Return the row of a run in `Comparison.totals`."""
        if (run.id, case) in self._totals:
            return self._totals[run.id, case]
        seen, queues = runs.frame(run, "flows"), runs.frame(run, "queues")
        sizes, ideal_s = self.ideals(run.scenario, case)
        slowdown = seen["fct_s"].to_numpy(dtype=float) / ideal_s
        ended = slowdown[~np.isnan(slowdown)]
        segments = np.ceil(sizes / (run.scenario.network.mtu - TCP_HEADERS)).sum()
        repeats, drops = seen["retransmits"].sum(), queues["drops"].sum()
        totals = self._totals[run.id, case] = {
            **_named(run, case),
            "median": np.median(ended),
            "mean": ended.mean(),
            "p99": np.quantile(ended, 0.99),
            "unfinished": len(slowdown) - len(ended),
            "retransmits": 1000 * repeats / segments,
            "reordered": 1000 * max(0, repeats - drops) / segments,
            "queue_kB": queues["max_B"].max() / 1000,
            "drops": int(drops),
        }
        return totals


@functools.lru_cache(maxsize=1)
def _known(_racks: int, _hosts: int) -> _Known:
    """Return the numbers that were computed for the cases on networks of a size."""
    return _Known()


def over_seeds(totals: pd.DataFrame, value: str, by: Sequence[str]) -> pd.DataFrame:
    """Return the mean of a number of `Comparison.totals` over seeds by case: ``mean``, ``low``, ``high``, ``n``."""
    return tables.mean_ci(totals, list(by), value).set_index(list(by))


def estimates_of(totals: pd.DataFrame, value: str, by: Sequence[str]) -> dict[tuple[Any, ...], Estimate]:
    """Return the mean of a number over seeds with its interval, by case."""
    return {case: over_runs(rows[value]) for case, rows in tables.groups(totals, by)}


def ratios(
    totals: pd.DataFrame, value: str, upper: str, lower: str, by: Sequence[str]
) -> dict[tuple[Any, ...], Estimate]:
    """Return the mean of one transport over that of another, by case, with the intervals over seeds.

    Parameters
    ----------
    totals : DataFrame
        As `Comparison.totals` returns it.
    value : str
        The column to average.
    upper, lower : str
        The transports.
    by : sequence of str
        Columns that define a case; cases that lack a transport, or whose lower mean is 0, are left out.
    """
    of_cases = {}
    for case, rows in tables.groups(totals[totals["transport"].isin([upper, lower])], by):
        over, under = (rows[rows["transport"] == name] for name in (upper, lower))
        if under[value].sum() and len(over):
            of_cases[case] = ratio(over, under, value)
    return of_cases


def ratio(upper: pd.DataFrame, lower: pd.DataFrame, value: str) -> Estimate:
    """Return the mean of some runs over that of others, with the interval over seeds.

    A seed draws the same flows for both, so both are left out together where the interval needs a mean without a seed.

    Parameters
    ----------
    upper, lower : DataFrame
        Rows of `Comparison.totals`, of one case each.
    value : str
        The column to average.
    """

    def of_means(part: pd.DataFrame) -> float:
        mean = part.groupby("is_upper")[value].mean()
        return float(mean[True] / mean[False]) if mean[False] else np.nan

    return jackknife(pd.concat([upper.assign(is_upper=True), lower.assign(is_upper=False)]), of_means)
