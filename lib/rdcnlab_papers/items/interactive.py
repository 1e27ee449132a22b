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


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
