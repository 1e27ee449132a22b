# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: transports on published architectures, under workloads of data centres."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from rdcnlab.analysis import figures, tables
from rdcnlab.analysis.resampling import Means, bootstraps_of_means
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.benchmarks import compared
from rdcnlab_papers.benchmarks.compared import (
    SCHEDULED,
    SPECIAL,
    STATIC,
    TURNING,
    USUAL,
    WORKLOADS,
    Architecture,
    Case,
    Comparison,
    TransportName,
    Workload,
)
from rdcnlab_papers.benchmarks.laboratories import LABORATORIES
from rdcnlab_papers.items import claims
from rdcnlab_papers.items.causes import Cause
from rdcnlab_papers.items.interactive import Interactive, Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The workload of which several loads are run has these transports at each.
_AT_LOADS: tuple[TransportName, ...] = ("cubic", "dctcp")
#: The numbers that the interactive page shows.
METRICS = {
    "mean": Metric("mean slowdown", logarithmic=True),
    "median": Metric("median slowdown", logarithmic=True),
    "p99": Metric("99th percentile of slowdown", logarithmic=True),
    "queue_kB": Metric("longest queue [kB]"),
    "reordered": Metric("retransmissions without a loss, of 1000 segments"),
    "retransmits": Metric("retransmissions, of 1000 segments"),
    "drops": Metric("dropped packets"),
}


class Architectures(Comparison):
    """Slowdown, retransmissions and queues by architecture, transport and workload; see `Comparison`.

    Parameters
    ----------
    architectures, transports, workloads : tuple of str
        Names. TDTCP and NUFTCP run on the fabric ``rotor`` only.
    loads : tuple of int
        Loads of web search in % of uncut sizes, with CUBIC and DCTCP; all else runs at 30. Flows offer less, because
        they are cut: see `Comparison.offered`.
    """

    #: The number of the lower row, and the largest 99th percentile of slowdown that is drawn.
    lower_row: ClassVar[str] = "reordered"
    widest: ClassVar[float] = 150

    architectures: compared.Architectures = (
        "leaf-spine", "expander", "helios", "opera", "rotornet", "sirius", "shale", "rotor",
    )  # fmt: skip
    transports: compared.Transports = ("cubic", "reno", "dctcp", "bbr", "tdtcp", "nuftcp")
    workloads: compared.Workloads = WORKLOADS
    loads: Annotated[tuple[Annotated[int, whole(1, 100)], ...], Listed] = (10, 30, 60)

    @property
    def cases(self) -> list[Case]:
        """The cases: architecture, workload, load in % and transport."""
        cases = []
        for architecture in self.architectures:
            able = [name for name in self.transports if name not in SPECIAL or architecture in SCHEDULED]
            for workload in self.workloads:
                cases += [Case(architecture, workload, USUAL, name) for name in able]
            for load in self.loads if "web-search" in self.workloads else ():
                cases += [Case(architecture, "web-search", load, name) for name in able if name in _AT_LOADS]
        return list(dict.fromkeys(cases))

    def plot(self, runs: Runs) -> Figure:
        """Draw the 99th percentile of slowdown and retransmissions of each case, by workload, with intervals."""
        totals, labels = self.totals(runs), self.labels()
        with figures.style():
            figure = figures.drawing(10.2, 4.8)
            panels = figure.subplots(2, len(self._shown), sharex="row", sharey=True, squeeze=False)
            for column, (workload, load) in enumerate(self._shown):
                of_panel = totals[(totals["workload"] == workload) & (totals["load"] == load)]
                for row, value in enumerate(("p99", self.lower_row)):
                    self._draw(panels[row, column], of_panel, value)
                panels[0, column].set_title(labels.get((workload, load), workload), fontsize=7, loc="left")
            upper, lower = panels[:, 0]
            upper.set(xscale="log", xlim=(0.8, self.widest), ylim=(len(self.architectures) - 0.5, -0.5))
            powers = [10**power for power in range(int(np.log10(self.widest)) + 1)]
            upper.set_xticks(powers, [str(power) for power in powers])
            upper.minorticks_off()
            lower.set_xscale("symlog", linthresh=1)
            lower.set_xlim(-0.3, 2000)
            # in narrow panels more labels would touch each other
            ticks = [0, 1, 10, 100, 1000] if len(self._shown) < 5 else [0, 10, 1000]
            lower.set_xticks(ticks, list(map(str, ticks)))
            middle = len(self._shown) // 2
            panels[0, middle].set_xlabel("99th percentile of slowdown", fontsize=8)
            panels[1, middle].set_xlabel(METRICS[self.lower_row].label, fontsize=8)
            figures.legend(figure, upper, columns=len(self.transports))
        return figure

    @property
    def _shown(self) -> list[tuple[Workload, int]]:
        """The panels: web search at each load, then the other workloads."""
        web = sorted({*self.loads, USUAL}) if "web-search" in self.workloads else []
        return [("web-search", load) for load in web] + [
            (name, USUAL) for name in self.workloads if name != "web-search"
        ]

    def _draw(self, ax: Axes, totals: pd.DataFrame, value: str) -> None:
        for place, name in enumerate(self.transports):
            chosen, look = totals[totals["transport"] == name], figures.look(name)
            shift = 0.12 * (place - (len(self.transports) - 1) / 2)
            style: dict[str, Any] = {"color": look.color, "marker": look.marker, "markersize": 4, "linestyle": "none"}
            stats = compared.over_seeds(chosen, value, ["architecture"]) if len(chosen) else pd.DataFrame()
            heights = [self.architectures.index(one) + shift for one in stats.index]
            ax.plot(stats.get("mean", []), heights, **style, label=look.label)
            if len(stats):
                # no flow is faster than an ideal one, and no count is below 0
                low = stats["low"].clip(lower=1 if value == "p99" else 0)
                ax.hlines(heights, low, stats["high"], color=look.color, linewidth=0.8)
        ax.set_yticks(range(len(self.architectures)), self.architectures)
        ax.grid(axis="y", visible=False)
        ax.tick_params(labelsize=7)

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure reordering of turning and static networks, DCTCP over CUBIC on RotorNet, and how rankings agree."""
        totals = self.totals(runs)
        return {
            "turning-reorders": Measured(_extreme(totals, TURNING, "min")),
            "static-keeps-order": Measured(_extreme(totals, STATIC, "max")),
            "marks-of-waiting": _slower(totals, "median"),
            "ranking-holds": Measured(_agreement(totals, "p99")),
        }

    def causes(self) -> list[Cause]:
        """Return the same comparisons by another statistic of slowdown, in the runs of the item."""
        return [
            Cause("marks-of-waiting", self, lambda runs: _slower(self.totals(runs), "p99")),
            Cause("ranking-holds", self, lambda runs: Measured(_agreement(self.totals(runs), "median"))),
        ]

    def table(self, runs: Runs) -> pd.DataFrame:
        """Return the numbers of web search at the usual load, by architecture and transport, as means over seeds.

        Median, mean and 99th percentile of slowdown of all flows; 99th percentile of those below 100 kB and from 1 MB;
        median rate of the latter; longest queue; retransmissions, and those without a loss, for each 1000 segments;
        drops. Half of the 95 % interval stands after ``±``.
        """
        totals, flows = (_usual(frame, "web-search") for frame in (self.totals(runs), self.flows(runs)))
        keys = ["architecture", "transport"]
        small, large = flows[flows["size_B"] < 100_000], flows[flows["size_B"] >= 1_000_000]
        large = large.assign(gbps=8e-9 * large["size_B"] / large["fct_s"])
        parts = {
            "p99 below 100 kB": small.groupby([*keys, "seed"], sort=False)["slowdown"].quantile(0.99),
            "p99 from 1 MB": large.groupby([*keys, "seed"], sort=False)["slowdown"].quantile(0.99),
            "Gb/s from 1 MB": large.groupby([*keys, "seed"], sort=False)["gbps"].median(),
        }
        names = ["median", "mean", "p99", *parts, "queue_kB", "retransmits", "reordered", "drops"]
        by_seed = totals.set_index([*keys, "seed"]).assign(**parts).reset_index()
        rows = by_seed[keys].drop_duplicates().set_index(keys)
        columns = {name: compared.over_seeds(by_seed, name, keys).reindex(rows.index) for name in names}
        return pd.DataFrame({name: _with_halves(stats) for name, stats in columns.items()}).reset_index()

    def interactive(self, runs: Runs) -> Interactive:
        """Return the numbers of `totals`, for a page on which a reader chooses among them."""
        totals, labels = self.totals(runs), self.labels()
        named = totals.assign(workload=[labels[one] for one in zip(totals["workload"], totals["load"], strict=True)])
        about = claims.paper(self.paper).item(self.id)
        sides = {"architecture": "Network", "workload": "Workload"}
        chosen = {"workload": labels["web-search", USUAL]}
        title, note = about.title.capitalize(), self._load_in_words()
        return Interactive(title, about.says, named, sides, chosen, "transport", METRICS, note)

    def _load_in_words(self) -> str:
        """Return what the flows of web search offer at the usual load, in a sentence."""
        offered = _usual(self.offered(), "web-search")
        ways = "what the ways can carry" if set(self.architectures) & set(LABORATORIES) else "the sending hosts' lines"
        return (
            f"Load of web search: {offered['drawn'].mean():.1f} % of {ways}, {offered['least'].min():.1f} to "
            f"{offered['most'].max():.1f} % by seed, and {offered['mean'].mean():.1f} % over many seeds. These "
            f"runs state {USUAL} %, of sizes that were cut afterwards."
        )

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


def _usual(frame: pd.DataFrame, workload: str = "") -> pd.DataFrame:
    """Return the rows at the usual load, of one workload or of all."""
    return frame[(frame["load"] == USUAL) & (frame["workload"].isin([workload]) if workload else True)]


def _extreme(totals: pd.DataFrame, architectures: tuple[Architecture, ...], which: str) -> dict[Any, float]:
    """Return the least or the most reordering of the transports that run everywhere, by network, under web search."""
    rows = _usual(totals, "web-search")
    rows = rows[~rows["transport"].isin(SPECIAL) & rows["architecture"].isin(architectures)]
    if rows.empty:
        return {}

    def of_networks(means: Means) -> pd.DataFrame:
        by_network = means["reordered"].T.groupby(level=0, sort=False)
        return (by_network.min() if which == "min" else by_network.max()).T

    means = bootstraps_of_means(rows, ["architecture", "transport"], ["reordered"], of_networks)
    return {name: means[name] for name in architectures if name in means}


def _slower(totals: pd.DataFrame, statistic: str) -> Measured:
    """Measure DCTCP's slowdown over CUBIC's on RotorNet, by workload."""
    rows = _usual(totals)
    rows = rows[(rows["architecture"] == "rotornet") & rows["workload"].isin(["web-search", "data-mining", "hadoop"])]
    ratios = compared.ratios(rows, statistic, "dctcp", "cubic", ["workload"])
    return Measured({name: ratios[name,] for name in ("web-search", "data-mining", "hadoop") if (name,) in ratios})


def _agreement(totals: pd.DataFrame, statistic: str) -> dict[Any, float]:
    """Return how the order of transports by a statistic agrees with that on the folded Clos, as a mean over workloads.

    It is Spearman's coefficient of the means over seeds.
    """
    rows = _usual(totals)
    rows = rows[~rows["transport"].isin(SPECIAL)]
    if "leaf-spine" not in set(rows["architecture"]):
        return {}

    def of_networks(means: Means) -> dict[str, Any]:
        mean, by_network = means[statistic], {}
        workloads = mean.columns.get_level_values("workload").unique()
        for network in mean.columns.get_level_values("architecture").unique().drop("leaf-spine"):
            pairs = [tables.spearmans(mean["leaf-spine"][name], mean[network][name]) for name in workloads]
            by_network[network] = np.nanmean(pairs, axis=0)
        return by_network

    return dict(bootstraps_of_means(rows, ["architecture", "workload", "transport"], [statistic], of_networks))


def _with_halves(stats: pd.DataFrame) -> pd.Series[Any]:
    """Return means in words, with half of their intervals if there are several seeds."""
    half = (stats["high"] - stats["low"]) / 2
    words = [
        f"{mean:.3g} ± {width:.2g}" if count > 1 else f"{mean:.3g}"
        for mean, width, count in zip(stats["mean"], half, stats["n"], strict=True)
    ]
    return pd.Series(words, index=stats.index)
