# SPDX-License-Identifier: Apache-2.0
"""Table I: the scenario space. Every value is run once, with the smallest volume that shows it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import pandas as pd

from rdcnlab.analysis import figures, tables
from rdcnlab.fields.errors import InputError
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.aykurt.space import Period, Point, Variant, Volume
from rdcnlab_papers.items.item import Item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The table's axes and values.
AXES: dict[str, tuple[Any, ...]] = {
    "protocol": ("TCP", "UDP", "QUIC"),
    "cc": get_args(Variant),
    "period_ms": (None, 1, 5, 10, 25, 50, 100),
    "downtime_ms": (None, 1, 2, 5, 10),
    "flows": (1, 2, 8, 10, 20),
    "size": get_args(Volume),
}
#: Values that are similar to values of the table but not in it. Each must be refused.
OTHERS: dict[str, tuple[Any, ...]] = {
    "protocol": ("SCTP", "tcp"),
    "cc": ("vegas", "CUBIC"),
    "period_ms": (0, 2, 7, "50"),
    "downtime_ms": (0, 3, -1),
    "flows": (0, 3, 21),
    "size": ("3 MB", "1 GB", "2 GiB", 2),
}
#: Names of the axes in the picture, and the colour of a value that did not run.
_WORDS = {
    "protocol": "protocol", "cc": "congestion control", "period_ms": "period [ms]", "downtime_ms": "downtime [ms]",
    "flows": "flows", "size": "volume of a flow",
}  # fmt: skip
_MISSING = "#D55E00"
_VALUES = [(axis, value) for axis, values in AXES.items() for value in values]


class Tab1(Item):
    """The space of scenarios. The item shows that it can be run."""

    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 1}

    def points(self) -> list[Scenario]:
        """Return one scenario for every allowed value of every axis, and each seed."""
        points = [point for axis, value in _VALUES if (point := ask(axis, value)) is not None]
        return [point.scenario(seed=seed) for point in points for seed in range(self.count)]

    def plot(self, runs: Runs) -> Figure:
        """Draw the table, with a mark for every value that ran."""
        ran = self._ran(runs)
        with figures.style():
            figure = figures.drawing(12.6, 2.4)
            ax = figure.subplots()
            ax.set_axis_off()
            for line, (axis, values) in enumerate(AXES.items()):
                ax.text(0, -line, _WORDS[axis], weight="bold")
                for index, value in enumerate(values):
                    has_run = ran.loc[(axis, str(value))]
                    name = figures.look(value).label if axis == "cc" else "none" if value is None else value
                    color = "#333333" if has_run else _MISSING
                    ax.text(2.4 + 1.6 * index, -line, f"{'✓' if has_run else '✗'} {name}", color=color)
            ax.set(xlim=(0, 2.4 + 1.6 * max(map(len, AXES.values()))), ylim=(-len(AXES) + 0.5, 0.8))
            figures.note(figure, "✓: a scenario with this value ran." + ("" if ran.all() else " ✗: it did not."))
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure which values of the table ran, and which other values were refused."""
        ran = self._ran(runs)
        missing = ", ".join(tables.cases(ran[~ran], "{} {}"))
        shares = ran.astype(float).groupby(level="axis", sort=False).mean()
        refused = {axis: sum(refuses(axis, value) for value in values) / len(values) for axis, values in OTHERS.items()}
        return {
            "values-run": Measured.by_case(shares, note=f"missing: {missing}" if missing else ""),
            "others-refused": Measured(refused),
        }

    def _ran(self, runs: Runs) -> pd.Series[bool]:
        """Return for every axis and value whether it is allowed, and its flows finished or its bursts arrived."""
        finished = {run.scenario.hash: _completed(runs.frame(run, "flows")) for run in runs}
        points = {(axis, str(value)): ask(axis, value) for axis, value in _VALUES}
        states = {
            key: point is not None and finished.get(point.scenario().hash, False) for key, point in points.items()
        }
        return pd.Series(states).rename_axis(["axis", "value"])


def _completed(flows: pd.DataFrame) -> bool:
    """Return whether all flows finished and all bursts arrived.

    A run does not wait for the end of bursts. They have no variant, so it is enough that something was received.
    """
    return bool(flows["finished"].where(flows["cc"].notna(), flows["received_B"] > 0).all())


def ask(axis: str, value: Any) -> Point | None:
    """Return the smallest point that has a value on an axis, or None if the value is refused."""
    values: dict[str, Any] = {"size": "1 MB", "period_ms": 10, axis: value}
    if axis == "downtime_ms" and value is not None:
        # the circuit is up for 90 % of the time, if the table has such a period
        values["period_ms"] = 10 * value if 10 * value in get_args(Period) else 100
    try:
        return Point(**values)
    except InputError:
        return None


def refuses(axis: str, value: Any) -> bool:
    """Return whether a value is refused. The message must name the axis and all allowed values."""
    allowed = {str(item) for item in AXES[axis] if item is not None}
    try:
        Point(**{axis: value})
    except InputError as error:
        return any(problem.field == axis and allowed <= _named(problem.allowed) for problem in error.problems)
    return False


def _named(words: str) -> set[str]:
    """Return the values of a message such as ``'TCP', 'UDP' or 'QUIC'``."""
    return set(re.split(", | or ", words.replace("'", "")))
