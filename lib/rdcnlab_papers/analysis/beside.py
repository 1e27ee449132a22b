# SPDX-License-Identifier: Apache-2.0
"""Own runs beside shipped runs of the same settings: which are equal, which lie within their range, and a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rdcnlab.analysis import figures, tables
from rdcnlab.runs.frame import Runs, period_ms, variants
from rdcnlab.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Share of a value by which a number may be outside of a range that has no width.
_SLACK = 1e-9
#: Number of settings up to which each has a label.
_LABELLED = 40
_SHIPPED = "#B8C4CE"


@dataclass(frozen=True)
class Beside:
    """The comparison of own runs with shipped ones.

    Parameters
    ----------
    own, shipped : int
        Numbers of runs.
    equal : int
        Number of own runs all of whose tables are equal, byte for byte, to those of the shipped run of their scenario.
    unmatched : int
        Number of own runs for whose setting no run is shipped.
    outside : DataFrame
        Goodput that lies outside the range of the shipped runs of its setting: ``label``, ``seed``, ``group``,
        ``gbps``, ``low``, ``high``.
    outside_runs : int
        Number of own runs with such a goodput.
    """

    own: int
    shipped: int
    equal: int
    unmatched: int
    outside: pd.DataFrame
    outside_runs: int


def goodput(runs: Runs) -> pd.DataFrame:
    """Return the mean goodput of the flows of each group, for each run.

    Returns
    -------
    DataFrame
        ``run``, ``group`` (see `rdcnlab.analysis.tables.role`), ``gbps``, ``setting`` (equal for scenarios that differ
        only in their seed), ``label`` (the setting in words) and ``seed``.
    """
    flows = runs.flows
    limits_s = flows["run"].map({index: run.scenario.limit / 1e9 for index, run in enumerate(runs)})
    rates = tables.mean_rates(flows, limits_s, unit=1e-9)
    flows = flows.assign(gbps=rates, group=flows["flow"].map(tables.role))
    mean = flows.groupby(["run", "group"], sort=False)["gbps"].mean().reset_index()
    about = {index: (run.scenario.setting, _label(run.scenario), run.scenario.seed) for index, run in enumerate(runs)}
    for at, name in enumerate(("setting", "label", "seed")):
        mean[name] = mean["run"].map({index: values[at] for index, values in about.items()})
    return mean


def compare(own: Runs, shipped: Runs) -> Beside:
    """Compare own runs with shipped runs of the same settings."""
    digests = {run.scenario.hash: dict(run.digests) for run in shipped}
    equal = {index for index, run in enumerate(own) if digests.get(run.scenario.hash) == dict(run.digests)}
    here = goodput(own).merge(_ranges(goodput(shipped)), on=["setting", "group"], how="left")
    known = here[here["low"].notna()]
    slack = _SLACK * known["high"].abs()
    outside = known[(known["gbps"] < known["low"] - slack) | (known["gbps"] > known["high"] + slack)]
    outside = outside[~outside["run"].isin(equal)]
    return Beside(
        own=len(own),
        shipped=len(shipped),
        equal=len(equal),
        unmatched=int(here.loc[here["low"].isna(), "run"].nunique()),
        outside=outside[["label", "seed", "group", "gbps", "low", "high"]],
        outside_runs=int(outside["run"].nunique()),
    )


def plot(own: Runs, shipped: Runs) -> Figure:
    """Draw the goodput of own runs over the range of the shipped runs of their setting, one line for each setting."""
    here, there = goodput(own), _ranges(goodput(shipped))
    settings = list(dict.fromkeys(here["setting"]))[::-1]
    labels = dict(zip(here["setting"], here["label"], strict=True))
    groups = list(dict.fromkeys(here["group"]))
    row_of_setting = {setting: index for index, setting in enumerate(settings)}
    with figures.single(6.0, max(2.2, 0.6 + 0.26 * min(len(settings), _LABELLED))) as (figure, ax):
        for number, group in enumerate(groups):
            shift = 0.3 * (number - (len(groups) - 1) / 2)
            band = there[(there["group"] == group) & there["setting"].isin(row_of_setting)]
            y = band["setting"].map(row_of_setting) - shift
            title = "" if number else f"range of {len(shipped)} shipped runs"
            ax.hlines(y, band["low"], band["high"], color=_SHIPPED, linewidth=7, alpha=0.9, label=title or "_nolegend_")
            points = here[here["group"] == group]
            look = figures.look(group)
            style: dict[str, Any] = {"color": look.color, "marker": look.marker, "s": 16, "linewidth": 0.6}
            ax.scatter(
                points["gbps"], points["setting"].map(row_of_setting) - shift, zorder=3, edgecolor="white",
                label=f"your runs, {look.label}", **style,
            )  # fmt: skip
        if len(settings) <= _LABELLED:
            ax.set_yticks(list(row_of_setting.values()), [labels[setting] for setting in settings])
        else:
            ax.set_yticks([])
            ax.set_ylabel(f"{len(settings)} settings")
        ax.set_xlabel("goodput [Gb/s]")
        ax.grid(axis="y", visible=False)
    return figure


def _ranges(goodputs: pd.DataFrame) -> pd.DataFrame:
    ends = goodputs.groupby(["setting", "group"], sort=False)["gbps"]
    return ends.agg(low="min", high="max").reset_index()


def _label(scenario: Scenario) -> str:
    period = period_ms(scenario)
    parts = (variants(scenario), "" if np.isnan(period) else f"{period:g} ms")
    return ", ".join(part for part in parts if part) or scenario.network.name or "one network"
