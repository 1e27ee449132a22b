# SPDX-License-Identifier: Apache-2.0
"""What was measured for a statement, and the verbs that say it: means by case, how much more, how far above.

`stats` are frames with ``mean``, ``low`` and ``high``, one row a case, named by the index, as from `means`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from rdcnlab.analysis import tables


@dataclass(frozen=True)
class Measured:
    """The numbers measured for a claim.

    Parameters
    ----------
    cases : dict of str to float
        One number for each case the claim speaks of; NaN where it cannot be told. No case: not run.
    note : str
        A remark for the reader, such as what stood in the way.
    """

    cases: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    @classmethod
    def one(cls, value: float, note: str = "") -> Measured:
        """Return the measurement of a claim that speaks of a single number."""
        return cls({"": float(value)}, note)

    @classmethod
    def each(cls, values: pd.Series[float], template: str = "{}", note: str = "") -> Measured:
        """Return the measurement of a claim that speaks of each row of a series; see `tables.cases`."""
        return cls(tables.cases(values, template), note)

    def text(self, unit: str) -> str:
        """Return the numbers in words."""
        after = f" {unit}" if unit else ""
        listed = ", ".join(
            f"{case}: {value:.4g}{after}" if case else f"{value:.4g}{after}" for case, value in self.cases.items()
        )
        return "; ".join(part for part in (listed, self.note) if part)


def means(frame: pd.DataFrame, by: str | Sequence[str], value: str) -> pd.DataFrame:
    """Average a column over the rows of each case, with intervals; see `tables.mean_ci`. Cases are the index."""
    columns = [by] if isinstance(by, str) else list(by)
    stats = tables.mean_ci(frame, columns, value)
    return stats.set_index(columns[0] if isinstance(by, str) else columns)


def over(stats: pd.DataFrame, more: str, less: str) -> Measured:
    """Measure how much more one case has than another, in %, by their means; not run where one is missing."""
    mean = stats["mean"].to_dict()
    if not {more, less} <= set(mean):
        return Measured()
    return Measured.one(100 * (mean[more] / mean[less] - 1), tables.listed(stats))


def above(greater: pd.DataFrame, lesser: pd.DataFrame) -> Measured:
    """Measure how far some cases are above others, between intervals; not run where there is nothing to compare."""
    if not len(greater) or not len(lesser):
        return Measured()
    note = f"{tables.listed(greater)}; against {tables.listed(lesser)}"
    return Measured.one(tables.margin(greater, lesser), note)


def ahead(stats: pd.DataFrame, first: str, second: str) -> Measured:
    """Measure how far one case is above another, between intervals; not run where one is missing."""
    return above(stats[stats.index == first], stats[stats.index == second])


def lowest(stats: pd.DataFrame, name: str) -> Measured:
    """Measure how far all others are above a case, between intervals."""
    return above(stats.drop(index=name, errors="ignore"), stats[stats.index == name])


def highest(stats: pd.DataFrame, names: Sequence[Hashable], note: str) -> Measured:
    """Measure how far some cases are above all others, between intervals; without a number where not all are there."""
    others = [name for name in stats.index if name not in names]
    if not others or not set(names) <= set(stats.index):
        return Measured(note="not all variants ran")
    return Measured.one(tables.margin(stats.loc[list(names)], stats.loc[others]), note)


def margins(
    greater: pd.DataFrame, lesser: pd.DataFrame, cases: Iterable[Hashable] | None = None, template: str = "{}"
) -> dict[str, float]:
    """Return for each case, of both frames by default, how far its one interval is above its other one."""
    chosen = greater.index.intersection(lesser.index) if cases is None else list(cases)
    return {template.format(case): tables.margin(greater.loc[[case]], lesser.loc[[case]]) for case in chosen}
