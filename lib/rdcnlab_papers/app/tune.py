# SPDX-License-Identifier: Apache-2.0
"""Tune a shared buffer: propose thresholds with the model, run them, and compare predictions with measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.colors import Normalize

from rdcnlab.analysis import figures
from rdcnlab.analysis.drawing import Drawing
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.store import Store
from rdcnlab_papers.analysis import heat, sharing
from rdcnlab_papers.models import active, gaussian, tuner
from rdcnlab_papers.models.gaussian import Predictor
from rdcnlab_papers.models.tuner import Objective, Proposal
from rdcnlab_papers.vargas.space import scenario, setting_of

#: Number of settings that are suggested for runs, and of those with the least cost that they are chosen from.
_SUGGESTED, _NEAR = 3, 200


@dataclass(frozen=True)
class Answer:
    """The answer of the tuner.

    Parameters
    ----------
    objective : Objective
        The objective.
    proposal : Proposal
        The proposed setting with its predicted outcomes.
    compared : DataFrame or None
        Predicted and measured outcomes; None if the proposal was not run.
    doubt : str
        The reason why the run is too short for reliable errors; empty if it is long enough, or if there is none.
    suggested : DataFrame
        Settings whose runs would make the model surer here; empty if it is sure, or if such runs would not help.
    """

    objective: Objective
    proposal: Proposal
    compared: pd.DataFrame | None
    doubt: str
    suggested: pd.DataFrame

    def doubts(self) -> list[str]:
        """Return the reasons not to rely on the numbers, each a sentence."""
        sentences = [f"The model has no data on {reason}." for reason in self.proposal.unknown]
        if self.proposal.unsure:
            sentences.append(f"The model is unsure of {', '.join(self.proposal.unsure)}.")
        if self.doubt:
            sentences.append(f"The run is too short for reliable errors: {self.doubt}.")
        return sentences

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each outcome, for tables and JSON; all are unsure if the model lacks data."""
        setting = {name: float(self.proposal.setting[name]) for name in ("ecn_kB", "min_kB", "max_kB")}
        rows = []
        for name in sharing.OUTCOMES:
            predicted = {
                bound: float(self.proposal.predicted[f"{name}{bound and ' '}{bound}"]) for bound in ("", "low", "high")
            }
            row: dict[str, Any] = {
                **setting,
                "outcome": name,
                "predicted": predicted[""],
                "low": predicted["low"],
                "high": predicted["high"],
                "unsure": self.proposal.is_unsure(name),
            }
            if self.compared is not None:
                measured = self.compared.loc[name]
                row |= {name: measured[name].item() for name in ("measured", "close", "inside")}
            rows.append(row)
        return rows


def tune(
    objective: Objective, *, run: bool = True, predictor: Predictor | None = None, store: Store | None = None,
    workers: int | None = None, cluster: Any = None, length_s: int | None = None, progress: bool = True,
) -> Answer:  # fmt: skip
    """Propose thresholds for an objective, and verify them by a run.

    Parameters
    ----------
    objective : Objective
        Rate, RTT, buffer, the wanted share, and the weights of the outcomes.
    run : bool
        Whether to run the proposal.
    predictor : Predictor, optional
        The model; by default the shipped one.
    store, workers, cluster, progress
        As for `campaign`.
    length_s : int, optional
        Length of the run in s; by default that of the runs that the model was trained on.

    Raises
    ------
    InputError
        The objective is outside of the ranges that the model was trained on.
    RunError
        There is no model, or the run failed.

    Examples
    --------
    >>> objective = Objective(rate_gbps=5, rtt_ms=25, share=40, weights=(1, 0.2, 0.1))
    >>> tune(objective).rows()  # doctest: +SKIP
    """
    predictor = gaussian.best() if predictor is None else predictor
    proposal = tuner.propose(predictor, objective)
    compared, doubt = None, ""
    if run:
        base = scenario(setting_of(proposal.setting), length_s=length_s or predictor.length_s)
        buffer = {f"network.links.{sharing.LINK}.buffer": f"{round(objective.buffer_kB)} kB"}
        runs = campaign(
            [base.with_(**buffer)], workers=workers, cluster=cluster, store=store, progress=progress, hints=False
        )
        (measured,) = (row for _, row in sharing.outcomes(runs).iterrows())
        compared, doubt = proposal.compare(measured), str(measured["doubt"])
    return Answer(objective, proposal, compared, doubt, _suggested(predictor, objective, proposal))


def _suggested(predictor: Predictor, objective: Objective, proposal: Proposal) -> pd.DataFrame:
    """Return settings to run, one after another the most doubtful of those that are nearly as good as a proposal."""
    settings = objective.settings(predictor)
    # runs of the same length and with the same buffer help against no other doubt
    if not proposal.unsure and tuner.has_condition(predictor, objective):
        return settings.iloc[:0]
    cost = objective.cost(predictor.predict(settings))
    return active.suggest(predictor, settings.loc[cost.nsmallest(_NEAR).index], _SUGGESTED)


def maps(predictor: Predictor, objective: Objective) -> Drawing:
    """Draw predicted share of CUBIC, its uncertainty, and the cost, over both thresholds of drop-tail queues."""
    settings = objective.settings(predictor)
    tail = settings[settings["min_kB"] == settings["max_kB"]]
    predicted = predictor.predict(tail)
    width = (predicted["share high"] - predicted["share low"]) / 2
    parts = (
        (predicted["share"], "share of CUBIC [%]", "vlag", (0.0, 100.0)),
        (width, "half of the share's interval [points]", "rocket_r", (0.0, 25.0)),
        (objective.cost(predicted), "cost", "viridis_r", (0.0, 1.0)),
    )
    with figures.style():
        figure = figures.drawing(12.0, 3.4)
        for ax, (values, title, colors, (low, high)) in zip(figure.subplots(1, 3), parts, strict=True):
            table = tail.assign(value=values).pivot(index="ecn_kB", columns="max_kB", values="value")
            table = table.rename_axis(index="ECN threshold [kB]", columns="drop threshold [kB]").rename(
                index=int, columns=int
            )
            heat.draw(
                ax, table, Normalize(low, high), title=title, label="", text=lambda value: "", map_=colors  # noqa: ARG005
            )  # fmt: skip
    return figure
