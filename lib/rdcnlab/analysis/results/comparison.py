# SPDX-License-Identifier: Apache-2.0
"""A comparison of runs: a table of means with intervals, and a picture with a point for each run."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdcnlab.analysis import figures, palettes, tables
from rdcnlab.analysis.publication import to_latex
from rdcnlab.fields.errors import InputError
from rdcnlab.runs.frame import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rdcnlab.analysis.drawing import Drawing

#: What is compared, with the axis of its panel.
QUANTITIES = {"goodput_Gbps": "goodput [Gb/s]", "fct_s": "completion time [s]", "retransmits": "retransmissions"}
#: Size of a panel in inches.
_WIDTH, _HEIGHT = 3.2, 2.5


@dataclass(frozen=True)
class RunComparison:
    """Runs side by side; a notebook shows its table and its picture.

    Parameters
    ----------
    values : DataFrame
        One row for each run and group of flows (`rdcnlab.analysis.tables.role`): ``run``, the settings in `by`,
        ``seed``, ``flow``, and the columns of `QUANTITIES`: means over the flows of the group. A flow that did not
        finish has no ``fct_s``.
    by : tuple of str
        The settings that are compared.
    mixed : tuple of str
        Other settings that vary: their runs are in the same mean.
    """

    values: pd.DataFrame
    by: tuple[str, ...]
    mixed: tuple[str, ...] = ()

    @property
    def table(self) -> pd.DataFrame:
        """One row for each setting and group of flows: number of runs, and for each quantity mean, low and high.

        ``low`` and ``high`` are the ends of the 95 % confidence interval (Student's t) over runs. Of a single run they
        are its value.
        """
        by = [*self.by, "flow"]
        parts = {}
        for name in self._quantities:
            stats = tables.mean_ci(self.values, by, name).set_index(by)
            parts["runs"] = stats["n"]
            parts |= {(name if end == "mean" else f"{name}_{end}"): stats[end] for end in ("mean", "low", "high")}
        return pd.DataFrame(parts).reset_index()

    def rows(self) -> list[dict[str, Any]]:
        """Return the table for readers: each quantity with its unit, and with its interval where there is one."""
        rows = []
        for row in self.table.to_dict("records"):
            cells: dict[str, Any] = {name: row[name] for name in (*self.by, "flow", "runs")}
            for name in self._quantities:
                mean, low, high = (float(row[key]) for key in (name, f"{name}_low", f"{name}_high"))
                interval = f" ({low:.4g} to {high:.4g})" if row["runs"] > 1 else ""
                cells[QUANTITIES[name]] = "" if np.isnan(mean) else f"{mean:.4g}{interval}"
            rows.append(cells)
        return rows

    @property
    def _quantities(self) -> list[str]:
        return [name for name in QUANTITIES if self.values[name].notna().any()]

    def plot(self) -> Drawing:
        """Draw one point for each run and group of flows, and the mean with its interval."""
        flows = list(dict.fromkeys(self.values["flow"]))
        settings = self.values[list(self.by)].drop_duplicates().reset_index(drop=True)
        labels = [_label(self.by, row) for row in settings.to_numpy().tolist()]
        names = self._quantities
        long = max(len(label) for label in labels) * len(labels) > 36
        with figures.style():
            width = max(_WIDTH, 0.22 * len(labels) * len(flows))
            figure = figures.drawing(width * len(names), _HEIGHT + 0.5 + 0.5 * long)
            panels = figure.subplots(1, len(names), squeeze=False).ravel()
            colors = palettes.of_flows(dict.fromkeys(flows))
            for ax, name in zip(panels, names, strict=True):
                for index, flow in enumerate(flows):
                    shift = (index + 0.5) / len(flows) * 0.7 - 0.35
                    self._points(ax, settings, name, flow, shift, colors[flow])
                ax.set_ylabel(QUANTITIES[name])
                ax.set_ylim(0, 1.08 * float(self.values[name].max()) or 1.0)
                ax.set_xticks(range(len(labels)), labels, rotation=30 if long else 0, ha="right" if long else "center")
                ax.set_xlim(-0.6, len(labels) - 0.4)
                ax.grid(axis="x", visible=False)
                if self.by:
                    ax.set_xlabel(", ".join(_axis(name) for name in self.by))
            if self.mixed:
                panels[0].set_title(f"runs with different {', '.join(self.mixed)} together", fontsize=8, loc="left")
            figures.legend(figure, panels[0])
        return figure

    def _points(self, ax: Axes, settings: pd.DataFrame, name: str, flow: str, shift: float, color: str) -> None:
        of_flow = self.values[self.values["flow"] == flow]
        for index in range(len(settings)):
            mask = np.ones(len(of_flow), bool)
            for key in self.by:
                mask &= of_flow[key].map(_same(settings[key].iloc[index])).to_numpy(bool)
            values = of_flow.loc[mask, name].dropna().to_numpy(float)
            if not len(values):
                continue
            # points of runs beside each other, so that two kinds of runs are seen as two
            spread = np.linspace(-0.06, 0.06, len(values)) if len(values) > 1 else np.zeros(1)
            ax.plot(index + shift + spread, values, "o", color=color, markersize=2.5, alpha=0.55, markeredgewidth=0)
            stats = tables.mean_ci(pd.DataFrame({"all": 0, "value": values}), ["all"], "value")
            label = flow if not index else None
            ax.errorbar(
                [index + shift], stats["mean"], figures.error_lengths(stats), fmt="_", color=color, markersize=11,
                markeredgewidth=1.6, elinewidth=1.0, capsize=2, label=label,
            )  # fmt: skip

    def to_latex(self, *, caption: str | None = None, label: str | None = None) -> str:
        """Return the table for LaTeX; see `rdcnlab.analysis.publication.to_latex`."""
        return to_latex(pd.DataFrame(self.rows()), caption=caption, label=label)

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.plot().image("png")).decode()
        said = html.escape(f"Comparison by {', '.join(self.by)}: one point for each run, and means with intervals")
        table = pd.DataFrame(self.rows()).to_html(index=False, border=0)
        return f'{table}<img alt="{said}" style="max-width:100%" src="data:image/png;base64,{data}">'


def compare(runs: Runs, by: str | Sequence[str] | None = None) -> RunComparison:
    """Compare runs; see `rdcnlab.runs.frame.Runs.compare`."""
    if not len(runs):
        raise InputError.of("runs", len(runs), reason="there is no run to compare")
    scenarios = runs.scenarios
    known = [name for name in scenarios.columns if name not in ("run", "id", "shipped")]
    chosen = _varying(scenarios, known) if by is None else ([by] if isinstance(by, str) else list(by))
    for name in chosen:
        if name not in known:
            raise InputError.unknown("by", name, known, "setting of these runs")
    flows = runs.flows
    if flows.empty:
        raise InputError.of("runs", len(runs), reason="these runs have programs only, and flows are what is compared")
    limits_s = np.array([run.scenario.limit / 1e9 for run in runs])[flows["run"].to_numpy()]
    flows = flows.assign(
        goodput_Gbps=tables.mean_rates(flows, limits_s, unit=1e-9), flow=flows["flow"].map(tables.role)
    )
    grouped = flows.groupby(["run", "flow"], sort=False)[list(QUANTITIES)]
    values = grouped.mean().reset_index().merge(scenarios[["run", *dict.fromkeys([*chosen, "seed"])]], on="run")
    mixed = [name for name in _varying(scenarios, known) if name not in (*chosen, "seed")]
    return RunComparison(values, tuple(chosen), tuple(mixed))


def _varying(scenarios: pd.DataFrame, known: Sequence[str]) -> list[str]:
    """Return the settings that vary, without the seed unless it is the only one."""
    varies = [name for name in known if len({repr(value) for value in scenarios[name]}) > 1]
    return [name for name in varies if name != "seed"] or varies


def _same(value: Any) -> Any:
    # NaN, of runs without the setting, is the same as NaN
    return lambda other: other == value or (other != other and value != value)


def _axis(name: str) -> str:
    short, _, unit = name.rpartition("_")
    return f"{short} [{unit}]" if short and unit in ("ms", "us", "ns", "s", "B") else name


def _label(by: Sequence[str], row: Sequence[Any]) -> str:
    words = [f"{value:g}" if isinstance(value, int | float) else str(value) for value in row]
    return "\n".join(word if len(word) <= 20 else f"{word[:18]}…" for word in words) if by else "all runs"
