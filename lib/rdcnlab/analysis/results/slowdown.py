# SPDX-License-Identifier: Apache-2.0
"""Slowdown by size: the completion time of flows over their ideal one, see `rdcnlab.scenario.ideal`."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.analysis import figures
from rdcnlab.analysis.publication import to_latex
from rdcnlab.analysis.resampling import bootstraps
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.units import SIZE
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.ideal import ideal_ns

if TYPE_CHECKING:
    from rdcnlab.analysis.drawing import Drawing

#: Ends of the groups of sizes in bytes.
EDGES = (10_000, 100_000, 1_000_000, 10_000_000)
#: Quantiles of the table, with their names.
QUANTILES = {"median": 0.5, "p99": 0.99}
ALL = "all"
#: Room above the largest value of a panel, as a factor.
_ROOM = 3


@dataclass(frozen=True)
class Slowdown:
    """How much longer flows took than they ideally would, by size; a notebook shows its table and its picture.

    Parameters
    ----------
    values : DataFrame
        One row for each flow: ``run``, ``seed``, ``by`` (the value of the setting that is compared), ``flow``,
        ``workload``, ``size_B``, ``fct_s``, ``ideal_s``, and ``slowdown``, their quotient: NaN if the flow did not end.
    by : str
        What is compared.
    edges : tuple of int
        Ends of the groups of sizes in bytes.
    """

    values: pd.DataFrame
    by: str
    edges: tuple[int, ...]

    @property
    def table(self) -> pd.DataFrame:
        """One row for each compared value and group of sizes.

        ``flows``, ``unfinished``; ``median``, ``p99`` and the ends of their 95 % intervals, such as ``p99_low``, by a
        bootstrap over seeds; one seed gives no interval. Quantiles are those of the flows that ended.
        """
        rows = []
        for value, of_value in self.values.groupby("by", sort=False, observed=True):
            groups = [(ALL, of_value), *of_value.groupby("group", sort=True, observed=True)]
            for group, part in [*groups[1:], groups[0]]:
                ended = part.dropna(subset=["slowdown"])
                row: dict[str, Any] = {
                    self.by: value,
                    "size": group,
                    "flows": len(part),
                    "unfinished": len(part) - len(ended),
                }
                estimates = bootstraps(ended, _quantiles) if len(ended) else {}
                for name in QUANTILES:
                    estimate = estimates.get(name)
                    ends = [math.nan] * 3 if estimate is None else [estimate, estimate.low, estimate.high]
                    row |= dict(zip((name, f"{name}_low", f"{name}_high"), map(float, np.exp(ends)), strict=True))
                rows.append(row)
        return pd.DataFrame(rows)

    def plot(self) -> Drawing:
        """Draw median and 99th percentile of each group of sizes, with their intervals, for each compared value."""
        table = self.table
        groups = [group for group in dict.fromkeys(table["size"]) if group != ALL]
        names = [str(name) for name in dict.fromkeys(table[self.by])]
        looks = figures.looks(names)
        with figures.style():
            figure = figures.drawing(6.2, 3.0)
            panels = figure.subplots(1, len(QUANTILES), sharex=True, squeeze=False).ravel()
            for ax, quantile in zip(panels, QUANTILES, strict=True):
                for number, name in enumerate(names):
                    part = table[(table[self.by].astype(str) == name) & (table["size"] != ALL)].set_index("size")
                    part = part.reindex(groups)
                    at = np.arange(len(groups)) + (number - (len(names) - 1) / 2) * 0.09
                    lengths = np.abs(
                        [part[quantile] - part[f"{quantile}_low"], part[f"{quantile}_high"] - part[quantile]]
                    )
                    ax.errorbar(
                        at, part[quantile], np.nan_to_num(lengths), color=looks[name].color, marker=looks[name].marker,
                        markersize=4, linewidth=1, elinewidth=0.8, capsize=2, label=looks[name].label,
                    )  # fmt: skip
                figures.reference(ax, 1, "ideal")
                ax.set_yscale("log")
                # few seeds have intervals of many decades, which would hide everything else
                shown = table.loc[table["size"] != ALL, quantile]
                ax.set_ylim(0.8, _ROOM * max(float(shown.max()), 1.0))
                ax.set_ylabel("slowdown" if quantile == "median" else "")
                ax.set_title("median" if quantile == "median" else "99th percentile", fontsize=8, loc="left")
                ax.set_xticks(range(len(groups)), groups, rotation=25, ha="right")
                ax.grid(axis="x", visible=False)
            figure.supxlabel("size of the flow (intervals may leave the picture; the table has their ends)", fontsize=7)
            figures.legend(figure, panels[0])
        return figure

    def rows(self) -> list[dict[str, Any]]:
        """Return the table for readers: each quantile with its interval where there is one."""
        rows = []
        for row in self.table.to_dict("records"):
            cells = {name: row[name] for name in (self.by, "size", "flows", "unfinished")}
            for name in QUANTILES:
                value, low, high = (float(row[key]) for key in (name, f"{name}_low", f"{name}_high"))
                interval = "" if math.isnan(low) else f" ({low:.3g} to {high:.3g})"
                cells[name] = "" if math.isnan(value) else f"{value:.3g}{interval}"
            rows.append(cells)
        return rows

    def to_latex(self, *, caption: str | None = None, label: str | None = None) -> str:
        """Return the table for LaTeX; see `rdcnlab.analysis.publication.to_latex`."""
        return to_latex(pd.DataFrame(self.rows()), caption=caption, label=label)

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.plot().image("png")).decode()
        table = pd.DataFrame(self.rows()).to_html(index=False, border=0)
        said = f"Slowdown by size and {self.by}: median and 99th percentile"
        return f'{table}<img alt="{said}" style="max-width:100%" src="data:image/png;base64,{data}">'


def _quantiles(frame: pd.DataFrame) -> dict[str, float]:
    """Return the logarithms of the quantiles of slowdown, by their names."""
    # logarithms, because a quotient has no interval that reaches below 0
    values = np.log(frame["slowdown"].to_numpy())
    return dict(zip(QUANTILES, map(float, np.quantile(values, list(QUANTILES.values()))), strict=True))


def slowdown(runs: Runs, by: str | None = None, edges: Sequence[int | str] = EDGES) -> Slowdown:
    """Return the slowdown of flows by size; see `rdcnlab.runs.frame.Runs.slowdown`."""
    if not len(runs):
        raise InputError.of("runs", len(runs), reason="there is no run")
    ends = tuple(SIZE.parse(edge) if isinstance(edge, str) else int(edge) for edge in edges)
    if not ends or list(ends) != sorted(set(ends)):
        raise InputError.of("edges", list(edges), "sizes in rising order")
    flows = runs.flows
    chosen = by or "cc"
    if chosen not in flows.columns:
        raise InputError.unknown("by", chosen, list(flows.columns), "column of the table flows")
    sources = [flow.workload or "" for run in runs for flow in run.scenario.flows]
    ideal_s = np.concatenate([ideals_s(run.scenario) for run in runs])
    values = flows[["run", "seed", "flow", "size_B", "fct_s"]].assign(
        by=flows[chosen].fillna("").to_numpy(), workload=sources, ideal_s=ideal_s
    )
    values = values[~values["flow"].isin(_bursts(runs))]
    values["slowdown"] = (values["fct_s"] / values["ideal_s"]).where(values["fct_s"] > 0)
    labels = _labels(ends)
    cut = pd.cut(values["size_B"], [0, *ends, np.inf], labels=labels)
    return Slowdown(values.assign(group=cut).reset_index(drop=True), chosen, ends)


def ideals_s(scenario: Scenario) -> npt.NDArray[np.float64]:
    """Return the ideal completion time of each flow in s; see `rdcnlab.scenario.ideal`."""
    return np.array([ideal_ns(scenario, flow) for flow in scenario.flows]) / 1e9


def _bursts(runs: Runs) -> set[str]:
    """Return the names of flows that the network does not time: datagrams, and those that their application limits."""
    return {flow.name for run in runs for flow in run.scenario.flows if flow.protocol == "udp" or flow.rate or flow.on}


def _labels(ends: Sequence[int]) -> list[str]:
    texts = [SIZE.format(end) for end in ends]
    between = [f"to {text}" for text in texts]
    return [*between, f"over {texts[-1]}"]
