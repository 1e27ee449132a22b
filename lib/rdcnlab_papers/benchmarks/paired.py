# SPDX-License-Identifier: Apache-2.0
"""Transports compared flow by flow: a seed draws the same flows for all, so their differences need not carry the draw.

A ratio is the geometric mean, over the flows of a seed, of a transport's completion time over that of another one. Its
interval is Student's t of the logarithms over seeds.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from rdcnlab.analysis import figures

#: Columns that define where transports are compared.
PLACE = ["architecture", "workload", "load"]
#: Confidence of an interval, and largest share of false ones among what remains after the correction.
_LEVEL, _FALSE = 0.95, 0.05


def pairs(flows: pd.DataFrame) -> pd.DataFrame:
    """Compare all pairs of transports that share flows.

    Parameters
    ----------
    flows : DataFrame
        As `rdcnlab_papers.benchmarks.compared.Comparison.flows` returns it.

    Returns
    -------
    DataFrame
        One row for each place and pair: `PLACE`, ``upper``, ``lower``, the transports in the order in which they
        occur; ``ratio`` of the upper one's completion times to the lower one's, with ``low`` and ``high``; ``p``, the
        probability of a ratio as far from 1 if there were no difference; ``unpaired``, the same if seeds were not
        paired; ``seeds``; ``unfinished``, flows that ended with one of both at most, and are left out.
    """
    numbered = flows.assign(number=flows.groupby([*PLACE, "transport", "seed"], sort=False).cumcount())
    numbered["log"] = np.log(numbered["fct_s"])
    rows = []
    for place, here in numbered.groupby(PLACE, sort=False):
        logs = here.pivot(index=["seed", "number"], columns="transport", values="log")
        for upper, lower in itertools.combinations(dict.fromkeys(here["transport"]), 2):
            difference = logs[upper] - logs[lower]
            unfinished = int(difference.isna().sum())
            by_seed = difference.dropna().groupby("seed").mean()
            rows.append(
                dict(zip(PLACE, place, strict=True))
                | {"upper": upper, "lower": lower, **_interval(by_seed.to_numpy())}
                | {"unpaired": _unpaired(logs, upper, lower), "seeds": len(by_seed), "unfinished": unfinished}
            )
    return pd.DataFrame(rows)


def remaining(p: pd.Series[float]) -> pd.Series[bool]:
    """Return which of many comparisons remain if 5 % of them at most may be false (Benjamini and Hochberg 1995).

    Examples
    --------
    >>> remaining(pd.Series([0.01, 0.03, 0.04, 0.2])).tolist()
    [True, False, False, False]
    >>> remaining(pd.Series([0.01, 0.02, 0.03, 0.2])).tolist()
    [True, True, True, False]
    """
    ordered = p.sort_values()
    below = ordered <= _FALSE * np.arange(1, len(ordered) + 1) / len(ordered)
    return p <= (ordered[below].max() if below.any() else -1.0)


def markdown(found: pd.DataFrame, workload: str, load: int, base: str) -> str:
    """Return the ratios to one transport under a workload as a table, and how many pairs of all places are decided."""
    chosen = found[(found["workload"] == workload) & (found["load"] == load)]
    names = [name for name in dict.fromkeys([*chosen["upper"], *chosen["lower"]]) if name != base]
    looks = figures.looks([base, *names])
    seeds = int(found["seeds"].max())
    heads = [f"{looks[name].label} / {looks[base].label}" for name in names]
    lines = [f"| network ({seeds} seeds) | {' | '.join(heads)} |", f"|---|{'---|' * len(names)}"]
    for network, here in chosen.groupby("architecture", sort=False):
        cells = [_cell(here, name, base) for name in names]
        lines.append(f"| {network} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", _in_words(found)]) + "\n"


def _interval(logs: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, float]:
    """Return the ratio of mean logarithms over seeds, with its interval."""
    from scipy import stats

    mean, count = float(logs.mean()), len(logs)
    if count < 2:
        return {"ratio": math.exp(mean), "low": math.nan, "high": math.nan, "p": math.nan}
    error = float(logs.std(ddof=1)) / math.sqrt(count)
    half = float(stats.t.ppf((1 + _LEVEL) / 2, count - 1)) * error
    p = 2 * float(stats.t.sf(abs(mean) / error, count - 1)) if error else float(mean == 0)
    return {"ratio": math.exp(mean), "low": math.exp(mean - half), "high": math.exp(mean + half), "p": p}


def _unpaired(logs: pd.DataFrame, upper: str, lower: str) -> float:
    """Return the p-value of Student's test for two samples of seeds."""
    from scipy import stats

    both = logs[[upper, lower]].dropna().groupby("seed").mean()
    if len(both) < 2 or both[upper].equals(both[lower]):
        return 1.0
    return float(stats.ttest_ind(both[upper], both[lower]).pvalue)


def _cell(here: pd.DataFrame, name: str, base: str) -> str:
    """Return a ratio with its interval, in bold if that excludes 1; nothing if the transport cannot run there."""
    for upper, lower, sign in ((name, base, 1), (base, name, -1)):
        row = here[(here["upper"] == upper) & (here["lower"] == lower)]
        if len(row):
            low, ratio, high = sorted(float(row[column].iloc[0]) ** sign for column in ("low", "ratio", "high"))
            text = f"{ratio:.2f}"
            return f"{f'**{text}**' if low > 1 or high < 1 else text} ({low:.2f} to {high:.2f})"
    return ""


def _in_words(found: pd.DataFrame) -> str:
    """Return in sentences how many pairs are decided: paired, not paired, and corrected for their number."""
    kept = found[remaining(found["p"].fillna(1))]
    parts = ", ".join(f"{name} {count}" for name, count in Counter(kept["workload"]).most_common())
    alone, unpaired = (int((found[column] < 1 - _LEVEL).sum()) for column in ("p", "unpaired"))
    return (
        f"Of {len(found)} pairs of transports, on all networks, under all workloads and loads, {alone} are decided by "
        f"themselves: their interval excludes 1. If seeds were not paired, {unpaired} would be. Held to 5 % of false "
        f"ones among all, {len(kept)} remain{f' ({parts})' if parts else ''}."
    )
