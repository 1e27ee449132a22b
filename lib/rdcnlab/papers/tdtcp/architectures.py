# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: transports on published architectures, under workloads of data centres."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from rdcnlab.analysis import figures, tables
from rdcnlab.analysis.measured import Measured
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.papers.causes import Cause
from rdcnlab.papers.item import Item
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.ideal import ideal_ns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Architecture = Literal[
    "leaf-spine", "expander", "jupiter", "helios", "opera", "rotornet", "sirius", "shale", "rotor"
]  # fmt: skip
TransportName = Literal["cubic", "reno", "dctcp", "bbr", "tdtcp", "nuftcp"]
Workload = Literal["web-search", "data-mining", "hadoop", "permutation", "incast"]

_GBPS = 10**10
#: Length above which queues of racks and of ports to hosts mark.
_MARKS = {"bytes": 90_000, "packets": None}
#: Transports that a network without schedules, whose racks follow a routing, cannot have.
SPECIAL: tuple[TransportName, ...] = ("tdtcp", "nuftcp")
#: Networks that never change.
STATIC: tuple[Architecture, ...] = ("leaf-spine", "expander", "jupiter")
#: Networks whose circuits turn whatever the demand.
TURNING: tuple[Architecture, ...] = ("opera", "rotornet", "sirius", "shale")
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
#: The workload of which several loads are run, with these transports.
_AT_LOADS: tuple[TransportName, ...] = ("cubic", "dctcp")
_USUAL = 30


class Architectures(Item):
    """Slowdown, retransmissions and queues by architecture, transport and workload.

    Each rack has hosts of 10 Gb/s and, as far as an architecture allows, 40 Gb/s of uplinks.

    Parameters
    ----------
    architectures, transports, workloads : tuple of str
        Names. TDTCP and NUFTCP run on the fabric ``rotor`` only.
    loads : tuple of int
        Loads of web search in %, with CUBIC and DCTCP; all else runs at 30 %.
    racks, hosts : int
        Racks, and hosts in each rack. Shale has the next square number of racks.
    """

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 1}
    reads: ClassVar[tuple[str, ...]] = ("flows", "queues")
    parts: ClassVar[dict[str, Part]] = {
        "flows": Part(columns=("fct_s", "retransmits")),
        "queues": Part(columns=("max_B", "drops")),
    }

    architectures: Annotated[tuple[Architecture, ...], Field(min_length=1), Listed] = (
        "leaf-spine", "expander", "helios", "opera", "rotornet", "sirius", "shale", "rotor",
    )  # fmt: skip
    transports: Annotated[tuple[TransportName, ...], Field(min_length=1), Listed] = (
        "cubic", "reno", "dctcp", "bbr", "tdtcp", "nuftcp",
    )  # fmt: skip
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1), Listed] = tuple(_DRAWN)
    loads: Annotated[tuple[Annotated[int, whole(1, 100)], ...], Listed] = (10, 30, 60)
    racks: Annotated[int, whole(4, 32)] = 8
    hosts: Annotated[int, whole(1, 8)] = 2

    @property
    def cases(self) -> list[tuple[Architecture, Workload, int, TransportName]]:
        """The cases: architecture, workload, load in % and transport."""
        found = []
        for architecture in self.architectures:
            able = [name for name in self.transports if name not in SPECIAL or architecture == "rotor"]
            for workload in self.workloads:
                found += [(architecture, workload, _USUAL, name) for name in able]
            for load in self.loads if "web-search" in self.workloads else ():
                found += [(architecture, "web-search", load, name) for name in able if name in _AT_LOADS]
        return list(dict.fromkeys(found))

    def case(self, architecture: Architecture, workload: Workload, load: int, transport: TransportName) -> Scenario:
        """Return the scenario of a case, with seed 0."""
        drawn = {"arrivals": {"load": f"{load} %"}, **_DRAWN[workload]}
        cc = "cubic" if transport == "tdtcp" else transport
        data: dict[str, Any] = {
            "network": self.network(architecture),
            "workloads": [{"name": "w", "cc": cc, **drawn}],
            # one bin: the largest queue of the whole run
            "probes": {"bin": 10**9, "tcp": "none"},
            "limit": 10**9,
            "seed": 0,
        }
        if transport == "tdtcp":
            data |= {"transport": {"tdtcp": True}, "notify": {"model": "push"}}
        return Scenario.from_dict(data)

    def network(self, architecture: Architecture) -> dict[str, Any]:
        """Return the fabric of an architecture as plain data."""
        sizes = {"racks": self.racks, "hosts": self.hosts, "mtu": 1500, "host_rate": _GBPS, "rate": _GBPS}
        limits = {"ecn_threshold": _MARKS}
        hybrid = {"uplinks": 3, "packet_rate": _GBPS, "packet_delay": 1_000}
        more: dict[Architecture, dict[str, Any]] = {
            "sirius": {"uplinks": 4, "day": 20_000, "night": 2_000},
            "shale": {"racks": max(4, int(np.ceil(np.sqrt(self.racks)) ** 2)), "rate": 4 * _GBPS},
            "helios": hybrid,
            "rotor": {**hybrid, "queue": {"bytes": 1_000_000, "packets": None}},
        }
        if architecture == "leaf-spine":
            plain = {name: sizes[name] for name in ("hosts", "mtu", "host_rate", "rate")}
            return {
                "fabric": "leaf-spine",
                "leaves": self.racks,
                "spines": 4,
                "ecn_threshold": _MARKS["bytes"],
                **plain,
            }
        return {"fabric": architecture, **sizes, **limits, **more.get(architecture, {"uplinks": 4})}

    def points(self) -> list[Scenario]:
        """Return the cases times seeds."""
        return [self.case(*case).with_(seed=seed) for case in self.cases for seed in range(self.count)]

    def flows(self, runs: Runs) -> pd.DataFrame:
        """Return one row for each flow: the case, ``seed``, ``size_B``, ``slowdown`` (NaN if it did not end)."""
        return self._frames(runs)[0]

    def totals(self, runs: Runs) -> pd.DataFrame:
        """Return one row for each run.

        Returns
        -------
        DataFrame
            The case (``architecture``, ``workload``, ``load``, ``transport``), ``seed``; ``retransmits`` and
            ``reordered``, retransmissions and those of them without a lost packet, for each 1000 segments;
            ``queue_kB``, the longest queue of all; ``drops``.
        """
        return self._frames(runs)[1]

    def _frames(self, runs: Runs) -> tuple[pd.DataFrame, pd.DataFrame]:
        flows, totals = [], []
        for case in self.cases:
            for run in self.only(runs, [self.case(*case).with_(seed=seed) for seed in range(self.count)]):
                names: dict[str, Any] = dict(zip(("architecture", "workload", "load", "transport"), case, strict=True))
                names["seed"] = run.scenario.seed
                seen, queues = runs.frame(run, "flows"), runs.frame(run, "queues")
                sizes = np.array([flow.size for flow in run.scenario.flows])
                ideal = np.array([ideal_ns(run.scenario, flow) for flow in run.scenario.flows]) / 1e9
                fct = seen["fct_s"].to_numpy(dtype=float)
                flows.append(pd.DataFrame({**names, "size_B": sizes, "fct_s": fct, "slowdown": fct / ideal}))
                segments, repeats, drops = np.ceil(sizes / 1448).sum(), seen["retransmits"].sum(), queues["drops"].sum()
                totals.append(
                    {
                        **names,
                        "retransmits": 1000 * repeats / segments,
                        "reordered": 1000 * max(0, repeats - drops) / segments,
                        "queue_kB": queues["max_B"].max() / 1000,
                        "drops": int(drops),
                    }
                )
        return pd.concat(flows, ignore_index=True), pd.DataFrame(totals)

    def tails(self, runs: Runs) -> pd.DataFrame:
        """Return the 99th percentile and the median of slowdown of each case: ``p99``, ``median``, ``unfinished``."""
        grouped = self.flows(runs).groupby(["architecture", "workload", "load", "transport"], sort=False)["slowdown"]
        return grouped.agg(
            p99=lambda values: values.quantile(0.99), median="median", unfinished=lambda values: values.isna().sum()
        ).reset_index()

    def plot(self, runs: Runs) -> Figure:
        """Draw the 99th percentile of slowdown and the reordering of each case, by workload."""
        tails, totals = self.tails(runs), self.totals(runs)
        with figures.style():
            figure = figures.drawing(10.2, 4.8)
            panels = figure.subplots(2, len(self._shown), sharex="row", sharey=True, squeeze=False)
            for column, (workload, load) in enumerate(self._shown):
                for row, (frame, value) in enumerate(((tails, "p99"), (totals, "reordered"))):
                    of_panel = frame[(frame["workload"] == workload) & (frame["load"] == load)]
                    self._draw(panels[row, column], of_panel, value)
                title = workload if workload in ("permutation", "incast") else f"{workload}, {load} %"
                panels[0, column].set_title(title, fontsize=7, loc="left")
            upper, lower = panels[:, 0]
            upper.set(xscale="log", xlim=(0.8, 150), ylim=(len(self.architectures) - 0.5, -0.5))
            upper.set_xticks([1, 10, 100], ["1", "10", "100"])
            upper.minorticks_off()
            lower.set_xscale("symlog", linthresh=1)
            lower.set_xlim(-0.3, 2000)
            lower.set_xticks([0, 1, 10, 100, 1000], ["0", "1", "10", "100", "1000"])
            middle = len(self._shown) // 2
            panels[0, middle].set_xlabel("99th percentile of slowdown", fontsize=8)
            panels[1, middle].set_xlabel("retransmissions without a loss, of 1000 segments", fontsize=8)
            figures.legend(figure, upper, columns=len(self.transports))
        return figure

    @property
    def _shown(self) -> list[tuple[Workload, int]]:
        """The panels: web search at each load, then the other workloads."""
        web = sorted({*self.loads, _USUAL}) if "web-search" in self.workloads else []
        return [("web-search", load) for load in web] + [
            (name, _USUAL) for name in self.workloads if name != "web-search"
        ]

    def _draw(self, ax: Axes, rows: pd.DataFrame, value: str) -> None:
        for place, name in enumerate(self.transports):
            chosen, look = rows[rows["transport"] == name], figures.look(name)
            shift = 0.12 * (place - (len(self.transports) - 1) / 2)
            heights = [self.architectures.index(one) + shift for one in chosen["architecture"]]
            style: dict[str, Any] = {"color": look.color, "marker": look.marker, "markersize": 4, "linestyle": "none"}
            ax.plot(chosen[value], heights, **style, label=look.label)
        ax.set_yticks(range(len(self.architectures)), self.architectures)
        ax.grid(axis="y", visible=False)
        ax.tick_params(labelsize=6)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure reordering of turning and static networks, DCTCP over CUBIC on RotorNet, and how rankings agree."""
        totals = self.totals(runs)
        web = totals[(totals["workload"] == "web-search") & (totals["load"] == _USUAL)]
        reordered = web[~web["transport"].isin(SPECIAL)].groupby("architecture", sort=False)["reordered"]
        return {
            "turning-reorders": Measured.by_case(reordered.min().filter(items=TURNING)),
            "static-keeps-order": Measured.by_case(reordered.max().filter(items=STATIC)),
            "marks-of-waiting": self._slower(runs, "median"),
            "ranking-holds": self._ranking(runs, "p99"),
        }

    def causes(self) -> list[Cause]:
        """Return the same comparisons by another statistic of slowdown, in the runs of the item."""
        return [
            Cause("marks-of-waiting", self, lambda runs: self._slower(runs, "p99")),
            Cause("ranking-holds", self, lambda runs: self._ranking(runs, "median")),
        ]

    def _usual_tails(self, runs: Runs) -> pd.DataFrame:
        tails = self.tails(runs)
        return tails[(tails["load"] == _USUAL) & ~tails["transport"].isin(SPECIAL)]

    def _slower(self, runs: Runs, statistic: str) -> Measured:
        """Measure DCTCP's slowdown over CUBIC's on RotorNet, by workload."""
        keys = ["architecture", "workload"]
        by_transport = self._usual_tails(runs).pivot_table(index=keys, columns="transport", values=statistic)
        if "rotornet" not in self.architectures or not {"cubic", "dctcp"} <= set(by_transport):
            return Measured()
        ratio = (by_transport["dctcp"] / by_transport["cubic"]).loc["rotornet"]
        return Measured.by_case(ratio.filter(items=["web-search", "data-mining", "hadoop"]))

    def _ranking(self, runs: Runs, statistic: str) -> Measured:
        """Measure how the order of transports agrees with that on the folded Clos, by network."""
        return Measured.by_case(_agreement(self._usual_tails(runs), statistic))

    def table(self, runs: Runs) -> pd.DataFrame:
        """Return the numbers of web search at 30 %, by architecture and transport.

        Median and 99th percentile of slowdown, of all flows, of those below 100 kB and of those above 1 MB; median rate
        of the latter; longest queue; retransmissions, and those without a loss, for each 1000 segments.
        """
        keys = ["architecture", "transport"]
        flows, totals = self._frames(runs)
        flows, totals = (one[(one["workload"] == "web-search") & (one["load"] == _USUAL)] for one in (flows, totals))
        small, large = flows[flows["size_B"] < 100_000], flows[flows["size_B"] >= 1_000_000]
        large = large.assign(gbps=8e-9 * large["size_B"] / large["fct_s"])
        columns = {
            "median": flows.groupby(keys, sort=False)["slowdown"].median(),
            "p99": flows.groupby(keys, sort=False)["slowdown"].quantile(0.99),
            "p99 below 100 kB": small.groupby(keys, sort=False)["slowdown"].quantile(0.99),
            "p99 from 1 MB": large.groupby(keys, sort=False)["slowdown"].quantile(0.99),
            "Gb/s from 1 MB": large.groupby(keys, sort=False)["gbps"].median(),
        }
        sums = totals.groupby(keys, sort=False)[["queue_kB", "retransmits", "reordered", "drops"]].mean()
        return pd.DataFrame(columns).join(sums).round(1).reset_index()

    def refusals(self) -> pd.DataFrame:
        """Return why transports cannot run on architectures: ``transport``, ``architecture``, ``reason``."""
        rows = []
        for transport in ("tdtcp", "mptcp", "retcp", "nuftcp"):
            for architecture in self.architectures:
                reason = self._refused(transport, architecture)
                if reason:
                    rows.append({"transport": transport, "architecture": architecture, "reason": reason})
        return pd.DataFrame(rows, columns=["transport", "architecture", "reason"])

    def _refused(self, transport: str, architecture: Architecture) -> str:
        last = f"h{self.hosts + 1}"
        flow: dict[str, Any] = {"name": "f", "src": "h1", "dst": last, "size": 1000, "cc": "cubic"}
        data: dict[str, Any] = {"network": self.network(architecture), "flows": [flow]}
        if transport == "tdtcp":
            data |= {"transport": {"tdtcp": True}, "notify": {"model": "push"}}
        elif transport == "mptcp":
            flow["protocol"] = "mptcp"
            data |= {"notify": {}}
        else:
            flow["cc"] = transport
        try:
            Scenario.from_dict(data)
        except InputError as error:
            return str(error)
        return ""


def _agreement(tails: pd.DataFrame, statistic: str) -> dict[str, float]:
    """Return how the order of transports by a statistic agrees with that on the folded Clos, as a mean over workloads.

    It is Spearman's coefficient.
    """
    wide = tails.pivot_table(index=["architecture", "workload"], columns="transport", values=statistic)
    if "leaf-spine" not in wide.index.get_level_values(0):
        return {}
    found: dict[str, list[float]] = {}
    for architecture, workload in wide.index:
        clos, other = wide.loc[[("leaf-spine", workload), (architecture, workload)]].to_numpy()
        if architecture != "leaf-spine" and not np.isnan([clos, other]).any():
            found.setdefault(architecture, []).append(tables.spearman(clos, other))
    return {architecture: float(np.nanmean(values)) for architecture, values in found.items()}
