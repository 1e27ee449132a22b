# SPDX-License-Identifier: Apache-2.0
"""`Measured`, the measurement for a claim, and functions that compute it: means by case, ratios, and margins.

The argument `stats` is a frame with ``mean``, ``low`` and ``high``, as `means` returns it. It has one row for each
case. Its index names the cases.
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
        One number for each case of the claim; NaN if it cannot be determined. No case means: not run.
    note : str
        A remark for readers, such as why there is no number.
    """

    cases: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    @classmethod
    def one(cls, value: float, note: str = "") -> Measured:
        """Return the measurement of a claim about a single number."""
        return cls({"": float(value)}, note)

    @classmethod
    def each(cls, values: pd.Series[float], template: str = "{}", note: str = "") -> Measured:
        """Return the measurement of a claim with one case for each row of a series; see `tables.cases`."""
        return cls(tables.cases(values, template), note)

    def text(self, unit: str) -> str:
        """Return the numbers in words."""
        after = f" {unit}" if unit else ""
        listed = ", ".join(
            f"{case}: {value:.4g}{after}" if case else f"{value:.4g}{after}" for case, value in self.cases.items()
        )
        return "; ".join(part for part in (listed, self.note) if part)


def means(frame: pd.DataFrame, by: str | Sequence[str], value: str) -> pd.DataFrame:
    """Average a column over the rows of each case, with intervals; see `tables.mean_ci`. The index has the cases."""
    columns = [by] if isinstance(by, str) else list(by)
    stats = tables.mean_ci(frame, columns, value)
    return stats.set_index(columns[0] if isinstance(by, str) else columns)


def over(stats: pd.DataFrame, more: str, less: str) -> Measured:
    """Measure by how many % the mean of one case is above the mean of another; not run if one is missing."""
    mean = stats["mean"].to_dict()
    if not {more, less} <= set(mean):
        return Measured()
    return Measured.one(100 * (mean[more] / mean[less] - 1), tables.listed(stats))


def above(greater: pd.DataFrame, lesser: pd.DataFrame) -> Measured:
    """Measure the margin between the intervals of some cases and of others; not run if there is nothing to compare.

    See `tables.margin`: the margin is positive if all intervals of `greater` are above those of `lesser`.
    """
    if not len(greater) or not len(lesser):
        return Measured()
    note = f"{tables.listed(greater)}; against {tables.listed(lesser)}"
    return Measured.one(tables.margin(greater, lesser), note)


def ahead(stats: pd.DataFrame, first: str, second: str) -> Measured:
    """Measure the margin by which the interval of one case is above another's; not run if one is missing."""
    return above(stats[stats.index == first], stats[stats.index == second])


def lowest(stats: pd.DataFrame, name: str) -> Measured:
    """Measure the margin by which the intervals of all other cases are above the interval of one case."""
    return above(stats.drop(index=name, errors="ignore"), stats[stats.index == name])


def highest(stats: pd.DataFrame, names: Sequence[Hashable], note: str) -> Measured:
    """Measure the margin by which the intervals of some cases are above all others; no number if a case is missing."""
    others = [name for name in stats.index if name not in names]
    if not others or not set(names) <= set(stats.index):
        return Measured(note="not all variants ran")
    return Measured.one(tables.margin(stats.loc[list(names)], stats.loc[others]), note)


def margins(
    greater: pd.DataFrame, lesser: pd.DataFrame, cases: Iterable[Hashable] | None = None, template: str = "{}"
) -> dict[str, float]:
    """Return for each case the margin by which its interval in `greater` is above its interval in `lesser`.

    By default these are the cases that both frames have.
    """
    chosen = greater.index.intersection(lesser.index) if cases is None else list(cases)
    return {template.format(case): tables.margin(greater.loc[[case]], lesser.loc[[case]]) for case in chosen}
