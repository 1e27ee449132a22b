# SPDX-License-Identifier: Apache-2.0
"""`Interactive`: numbers of an item from which a reader of the site chooses what is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rdcnlab.analysis import figures, tables

if TYPE_CHECKING:
    import pandas as pd

#: Significant digits of numbers on the page.
_DIGITS = 4


@dataclass(frozen=True)
class Metric:
    """A number of each run: its name for readers, and whether its axis is logarithmic."""

    label: str
    logarithmic: bool = False


@dataclass(frozen=True)
class Interactive:
    """What an interactive page shows: means over seeds of several numbers, in a table of two sides and a series.

    Parameters
    ----------
    title, says : str
        Heading, and a sentence or two about the runs.
    totals : DataFrame
        One row for each run: the columns that `sides` and `series` name, ``seed``, and one column for each metric.
    sides : dict of str to str
        The two columns between which a reader chooses, with their names for readers.
    chosen : dict of str to str
        The values that are shown first, by column; all values of other columns.
    series : str
        The column that has a colour.
    metrics : dict of str to Metric
        The numbers by column.
    note : str
        A sentence about what is shown first, for below its table.
    """

    title: str
    says: str
    totals: pd.DataFrame
    sides: Mapping[str, str]
    chosen: Mapping[str, str]
    series: str
    metrics: Mapping[str, Metric]
    note: str = ""

    def data(self) -> dict[str, Any]:
        """Return the content of the page as plain data.

        Returns
        -------
        dict
            ``title``, ``says``, ``sides`` (title and values of each), ``series`` (label, colour and marker of each),
            ``metrics``, ``seeds``, and ``cells``: by metric a list of first side, second side and series (as
            positions), mean, and, if there are several seeds, both ends of the interval.
        """
        keys = [*self.sides, self.series]
        values = {key: list(dict.fromkeys(self.totals[key])) for key in keys}
        cells: dict[str, list[list[float]]] = {}
        for name in self.metrics:
            stats = tables.mean_ci(self.totals, keys, name)
            cells[name] = [
                [
                    *(values[key].index(row[key]) for key in keys),
                    *(_short(row[end]) for end in (("mean", "low", "high") if row["n"] > 1 else ("mean",))),
                ]
                for row in stats.to_dict("records")
                if math.isfinite(row["mean"])
            ]
        looks = figures.looks(values[self.series])
        return {
            "title": self.title,
            "says": " ".join(filter(None, [self.says.strip(), self.note])),
            "sides": [
                {"title": title, "values": values[key], "chosen": self.chosen.get(key, "")}
                for key, title in self.sides.items()
            ],
            "series": [{"label": look.label, "color": look.color, "marker": look.marker} for look in looks.values()],
            "metrics": [
                {"name": name, "label": metric.label, "log": metric.logarithmic}
                for name, metric in self.metrics.items()
            ],
            "seeds": int(self.totals["seed"].nunique()),
            "cells": cells,
        }

    def markdown(self, metric: str) -> str:
        """Return one metric of what is shown first as a table: the first side in rows, the series in columns.

        Half of the 95 % interval stands after ``±`` if there are several seeds. The note is below the table.
        """
        first = next(iter(self.sides))
        shown = self.totals
        for column, value in self.chosen.items():
            shown = shown[shown[column] == value]
        stats = tables.mean_ci(shown, [first, self.series], metric).set_index([first, self.series])
        names = list(dict.fromkeys(shown[self.series]))
        looks = figures.looks(names)
        count = self.totals["seed"].nunique()
        corner = f"{self.sides[first].lower()} ({count} {'seed' if count == 1 else 'seeds'})"
        lines = [f"| {corner} | {' | '.join(looks[name].label for name in names)} |"]
        lines.append(f"|---|{'---|' * len(names)}")
        for row in dict.fromkeys(shown[first]):
            cells = [_words(stats.loc[(row, name)]) if (row, name) in stats.index else "" for name in names]
            lines.append(f"| {row} | {' | '.join(cells)} |")
        return "\n".join([*lines, *(["", self.note] if self.note else [])]) + "\n"


def _words(stats: pd.Series[float]) -> str:
    """Return a mean with half of its interval."""
    half = (stats["high"] - stats["low"]) / 2
    return f"{stats['mean']:.1f} ± {half:.1f}" if stats["n"] > 1 else f"{stats['mean']:.1f}"


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
