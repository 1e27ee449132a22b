# SPDX-License-Identifier: Apache-2.0
"""Judge the predictions of the prolongation in held-out runs: their quality, the hardest case, important inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdcnlab.analysis import figures
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.models import fct, forest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_AT = ["day_ms", "night_ms"]


def judge(data: pd.DataFrame, hardest: tuple[float, float]) -> dict[str, Measured]:
    """Measure how well the best forest predicts held-out runs, and which inputs are important.

    Parameters
    ----------
    data : DataFrame
        Data as `fct.dataset` returns them.
    hardest : tuple of float
        A day and a night, in ms; their ranks are measured.

    Returns
    -------
    dict of str to Measured
        ``r2`` and ``mse`` (the notes have them for held-out scenarios, and for a table of the scenarios' means),
        ``over-table`` (R2 above that of the table), ``over-pairs`` (the same for days and nights that were held out
        whole, against a table of the pairs of variants), ``hardest`` (the ranks of this day and night by
        residual and by prolongation, if the data have them) and ``important``. Empty if there are fewer rows than
        folds.
    """
    if len(data) < fct.FOLDS:
        return {}
    held_out = record(data)
    scores, grouped = held_out.runs, held_out.scenarios
    table, mean = fct.by_table(data), fct.by_table(data, ())
    harder = "folds of whole scenarios:"
    of_table = f"{table.r2:.4f}; explainable: {fct.explainable(data):.4f}"
    target = data[fct.TARGET]
    measured = {
        "r2": Measured.one(scores.r2, _also(f"{harder} {grouped.r2:.3f}" if grouped else "", of_table)),
        "mse": Measured.one(
            scores.mse,
            _also(
                f"{harder} {grouped.mse:.3g} s^2" if grouped else "",
                f"{table.mse:.3g} s^2, mean of all runs: {mean.mse:.3g} s^2",
            ),
        ),
        "over-table": Measured.one(scores.r2 - table.r2, f"forest {scores.r2:.4f}, table {table.r2:.4f}"),
        "important": important(held_out.lost),
    }
    if held_out.times:
        pairs = fct.by_table(data, ("migrated", "main"), "times")
        forest_r2, pairs_r2 = held_out.times.r2, pairs.r2
        measured["over-pairs"] = Measured.one(
            forest_r2 - pairs_r2, f"forest {forest_r2:.3f}, table of pairs {pairs_r2:.3f}"
        )
    by_setting = data.assign(residual=(target - scores.predictions).abs(), prolongation=target).groupby(_AT)
    ranks = by_setting[["residual", "prolongation"]].mean().rank(ascending=False)
    if hardest in ranks.index:
        measured["hardest"] = Measured({str(name): float(rank[hardest]) for name, rank in ranks.items()})
    return measured


def errors_by_night(data: pd.DataFrame) -> Measured:
    """Measure mean squared errors in s^2 of the forest and of a table of pairs for times held out, by night."""
    times = record(data).times
    if times is None:
        return Measured()
    pairs = fct.by_table(data, ("migrated", "main"), "times")
    cases = {}
    for name, chosen in (("without a night", data["night_ms"] == 0), ("with one", data["night_ms"] > 0)):
        for model, scores in (("forest", times), ("table", pairs)):
            wrong = (data[fct.TARGET] - scores.predictions)[chosen]
            cases[f"{name}, {model}"] = float((wrong**2).mean())
    return Measured(cases, unit="s^2")


def _also(words: str, of_table: str) -> str:
    return "; ".join(part for part in (words, f"table of scenario means: {of_table}") if part)


def record(data: pd.DataFrame) -> forest.HeldOut:
    """Return the predictions of the best forest for held-out runs. It is trained if there is no record."""
    return forest.held_out(data, fct.BEST, trees=100)


def important(lost: pd.Series[float]) -> Measured:
    """Measure by how much the day is more important than the night, and the night than the next important input."""
    others = lost.drop(_AT).max()
    margins = {"day over night": lost["day_ms"] - lost["night_ms"], "night over others": lost["night_ms"] - others}
    listed = ", ".join(f"{name}: {value:.3g}" for name, value in lost.items())
    return Measured({name: float(value) for name, value in margins.items()}, listed)


def draw(ax: Axes, data: pd.DataFrame) -> fct.Scores:
    """Draw measured and predicted values of held-out runs, over day and night, and in a column of each its pairs."""
    scores = record(data).runs
    places = data[_AT].drop_duplicates().sort_values(_AT[::-1])
    x = data[_AT].merge(places.assign(place=np.arange(len(places))), how="left")["place"]
    # pairs of variants are side by side, and the runs of one pair are above each other
    pair = data.groupby(["migrated", "main"]).ngroup()
    shift = (pair - pair.max() / 2) / (pair.max() + 1) * 0.85
    main, migrated = (figures.look(flow).color for flow in ("main", "migrated"))
    style: dict[str, Any] = {"s": 10, "linewidth": 0.8}
    ax.scatter(x + shift, data[fct.TARGET], label="measured", marker="o", color=main, alpha=0.3, **style)
    ax.scatter(x + shift, scores.predictions, label="predicted, held out", marker="x", color=migrated, **style)
    ax.set_xticks(range(len(places)), [f"{row.day_ms:g}\n{row.night_ms:g}" for row in places.itertuples()])
    ax.set(xlabel="day [ms] above night [ms]", ylabel="prolongation [s]")
    return scores
