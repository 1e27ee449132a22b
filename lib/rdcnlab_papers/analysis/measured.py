# SPDX-License-Identifier: Apache-2.0
"""`Measured`, the measurement for a claim, and functions that compute it: means by case, ratios, and differences.

The argument `stats` is a frame with ``mean``, ``low`` and ``high``, as `means` returns it. It has one row for each
case. Its index names the cases. Results that are statistics over seeds are `Estimate`s, so that they keep their
intervals; see `rdcnlab.analysis.intervals`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.analysis.intervals import Estimate, estimates, greatest, least
from rdcnlab.analysis.resampling import Floats, Means, bootstraps_of_means


@dataclass(frozen=True)
class Measured:
    """The numbers measured for a claim.

    Parameters
    ----------
    cases : dict of str to float
        One number for each case of the claim; NaN if it cannot be determined. No case means: not run. A number that is
        a statistic over seeds is an `Estimate`, which has an interval.
    note : str
        A remark for readers, such as why there is no number.
    unit : str
        Unit of the numbers, if it is not the claim's: the experiment of a cause may measure something else.
    """

    cases: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    unit: str = ""

    @classmethod
    def one(cls, value: float, note: str = "") -> Measured:
        """Return the measurement of a claim about a single number."""
        return cls({"": _number(value)}, note)

    @classmethod
    def by_case(
        cls,
        values: pd.Series[float] | pd.DataFrame | Mapping[Any, float],
        template: str = "{}",
        note: str = "",
        unit: str = "",
    ) -> Measured:
        """Return the measurement of a claim with one case for each of several numbers.

        Parameters
        ----------
        values : Series, DataFrame or dict
            Numbers by case. A frame has ``mean``, ``low`` and ``high``, and gives numbers with intervals.
        template : str
            Gives the name of a case from its key, such as ``{:g} ms``; see `tables.cases`.
        note : str
            A remark for readers.
        unit : str
            Unit of the numbers, if it is not the claim's.
        """
        numbers = estimates(values) if isinstance(values, pd.DataFrame) else dict(values.items())
        keys = {key: key if isinstance(key, tuple) else (key,) for key in numbers}
        return cls({template.format(*keys[key]): _number(value) for key, value in numbers.items()}, note, unit)

    def only(self, *names: str) -> Measured:
        """Return the measurement of some cases; a name that is no case is left out."""
        return replace(self, cases={name: value for name, value in self.cases.items() if name in names})

    def without(self, *names: str) -> Measured:
        """Return the measurement of all other cases."""
        return replace(self, cases={name: value for name, value in self.cases.items() if name not in names})

    def text(self, unit: str) -> str:
        """Return the numbers in words, with their intervals."""
        listed = ", ".join(f"{case}: {words}" if case else words for case, words in self.words(unit).items())
        return "; ".join(part for part in (listed, self.note) if part)

    def words(self, unit: str) -> dict[str, str]:
        """Return the number of each case in words, with its interval."""
        suffix = f" {self.unit or unit}" if self.unit or unit else ""
        return {case: _words(value, suffix) for case, value in self.cases.items()}


def _number(value: float) -> float:
    return value if isinstance(value, Estimate) else float(value)


def _words(value: float, suffix: str) -> str:
    ends = f" ({value.low:.4g} to {value.high:.4g})" if isinstance(value, Estimate) and value.known else ""
    return f"{value:.4g}{suffix}{ends}"


def means(frame: pd.DataFrame, by: str | Sequence[str], value: str) -> pd.DataFrame:
    """Average a column over the rows of each case, with intervals; see `tables.mean_ci`. The index has the cases."""
    return tables.means_by(frame, [by] if isinstance(by, str) else by, value)


def largest(frame: pd.DataFrame, by: str, value: str, template: str = "{}") -> Measured:
    """Measure for each case the largest value of all runs, for claims that something never happens."""
    runs = frame.groupby(by, observed=True)[value]
    listed = ", ".join(f"{template.format(case)}: {(of_case > 0).sum()} of {len(of_case)}" for case, of_case in runs)
    return Measured.by_case(runs.max(), template, f"the largest of all runs; above 0 in {listed}")


def means_of_seeds(frame: pd.DataFrame, by: str, value: str) -> pd.DataFrame:
    """Average a column by case, as `means` does, if a seed has several rows of a case: its mean is one observation."""
    return means(frame.groupby([by, "seed"], observed=True)[value].mean().reset_index(), by, value)


def trend(frame: pd.DataFrame, x: str, value: str) -> Estimate:
    """Return Spearman's coefficient of the mean of a column over another column; `frame` has a column ``seed``."""

    def correlation(mean: Means) -> dict[Hashable, Floats]:
        return {"": tables.spearmans(mean[value].columns, mean[value])}

    return bootstraps_of_means(frame, x, [value], correlation)[""].within(-1, 1)


def percent_above(stats: pd.DataFrame, higher: str, lower: str) -> Measured:
    """Measure by how many % the mean of one case is above the mean of another; not run if one is missing."""
    mean = estimates(stats)
    if not {higher, lower} <= set(mean):
        return Measured()
    return Measured.one(100 * (mean[higher] / mean[lower] - 1), tables.list_estimates(stats))


def distance_above(greater: pd.DataFrame, lesser: pd.DataFrame) -> Measured:
    """Measure by how much some cases are above others; not run if there is nothing to compare.

    It is the smallest mean of `greater` minus the largest mean of `lesser`. Its interval is above zero if all intervals
    of `greater` are above those of `lesser`.
    """
    if not len(greater) or not len(lesser):
        return Measured()
    note = f"{tables.list_estimates(greater)}; against {tables.list_estimates(lesser)}"
    return Measured.one(difference(greater, lesser), note)


def difference(greater: pd.DataFrame, lesser: pd.DataFrame) -> Estimate:
    """Return the smallest mean of some cases minus the largest mean of others, with its interval."""
    return least(estimates(greater).values()) - greatest(estimates(lesser).values())


def ahead(stats: pd.DataFrame, first: str, second: str) -> Measured:
    """Measure by how much one case is above another; not run if one is missing."""
    return distance_above(stats[stats.index == first], stats[stats.index == second])


def lowest(stats: pd.DataFrame, name: Hashable) -> Measured:
    """Measure by how much all other cases are above one case."""
    return distance_above(stats.drop(index=name, errors="ignore"), stats[stats.index == name])


def highest(stats: pd.DataFrame, names: Sequence[Hashable], note: str) -> Measured:
    """Measure by how much some cases are above all others; no number if a case is missing."""
    others = [name for name in stats.index if name not in names]
    if not others or not set(names) <= set(stats.index):
        return Measured(note="not all variants ran")
    return Measured.one(difference(stats.loc[list(names)], stats.loc[others]), note)


def margins(
    greater: pd.DataFrame, lesser: pd.DataFrame, cases: Iterable[Hashable] | None = None, template: str = "{}"
) -> dict[str, float]:
    """Return for each case by how much it is higher in `greater` than in `lesser`, with its interval.

    By default these are the cases that both frames have.
    """
    chosen = greater.index.intersection(lesser.index) if cases is None else list(cases)
    names = {case: template.format(*(case if isinstance(case, tuple) else (case,))) for case in chosen}
    return {name: difference(greater.loc[[case]], lesser.loc[[case]]) for case, name in names.items()}
