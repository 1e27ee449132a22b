# SPDX-License-Identifier: Apache-2.0
"""Models of the shared buffer, on outcomes that a formula gives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score

from rdcnlab_papers.analysis.sharing import NO_DROPS, OUTCOMES, SETTINGS
from rdcnlab_papers.models import buffers, buffers_records, carried
from rdcnlab_papers.vargas import space


def rows(count: int, condition: tuple[float, int] | None = None, *, noise: float = 0.01, seed: int = 0) -> pd.DataFrame:
    """Return settings with outcomes of a formula: DCTCP keeps 300 kB under way, CUBIC has the rest."""
    settings = pd.DataFrame(space.first_settings(count, condition))[
        ["rate_gbps", "rtt_ms", "ecn_kB", "min_kB", "max_kB", "probability"]
    ].astype(float)
    rng = np.random.default_rng(seed)
    length = 0.6 * settings["max_kB"] + 0.4 * settings["min_kB"]
    length = np.where(length > settings["ecn_kB"], length, settings["ecn_kB"])
    share = 100 * np.where(
        settings["max_kB"] < settings["ecn_kB"],
        0.02,
        1 - 300 / (settings["rate_gbps"] * 6.25 + np.maximum(length, 300)),
    )
    share = np.clip(share * (1 + noise * rng.normal(size=count)), 0, 100)
    return settings.assign(
        share=share,
        drops=np.round(300 + share**2 * settings["rtt_ms"] ** -0.5 * np.exp(noise * 5 * rng.normal(size=count))),
        average_kB=length * 0.9,
        longest_kB=np.minimum(length * 1.1, 1800),
    )


def test_settings_and_outcomes_have_their_names() -> None:
    found = rows(8)
    assert set(found.columns) == {*SETTINGS, *OUTCOMES}


@pytest.mark.parametrize("kind", ["shallow", "deep", "better", "carried", "keras"])
def test_a_model_is_scored_on_rows_that_it_was_not_trained_on(kind: buffers.Kind) -> None:
    if kind == "keras":
        pytest.importorskip("keras")
    # the formula has a tenth of the drops of the fluid model, which a correction does not learn from 48 rows
    outcomes = NO_DROPS if kind == "carried" else OUTCOMES
    scores = buffers.examine(kind, rows(160), 0.3, outcomes=outcomes, repeats=1)
    assert scores["train"].tolist() == [48]
    assert set(scores["model"]) <= set(buffers.candidates(kind))
    assert scores["r2"].iloc[0] > 0.5


def test_a_score_may_be_of_some_of_the_other_rows() -> None:
    data = rows(60)
    part = data.iloc[20:]
    other = buffers.examine("fluid", data, 10, repeats=1, scored=part)
    order = np.random.default_rng(0).permutation(60)[10:]
    tests = data.iloc[[index for index in order if index >= 20]]
    model = buffers.fit(buffers.candidates("fluid")["fluid model"], data)
    expected = r2_score(tests[list(OUTCOMES)], buffers.predictions(model, tests))
    assert other["r2"].iloc[0] == pytest.approx(expected)


class Partial(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Predicts share and drops from the ECN threshold; each is 0 and 100 in turn. It may add errors."""

    def __init__(self, outcomes: tuple[str, ...], share: float = 1.0, drops: float = 0.0) -> None:
        self.outcomes, self.share, self.drops = outcomes, share, drops

    def fit(self, x: pd.DataFrame, y: npt.NDArray[np.float64]) -> Partial:
        assert y.shape[1] == len(self.outcomes)
        self.n_features_in_ = x.shape[1]
        return self

    def predict(self, x: pd.DataFrame) -> npt.NDArray[np.float64]:
        truth = x["ecn_kB"].to_numpy(float)
        columns = {"share": 50 + self.share * (truth - 50), "drops": truth + self.drops}
        return np.stack([columns[name] for name in self.outcomes], axis=1)


def test_a_model_is_chosen_by_what_it_is_scored_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without drops their errors do not matter; shares above 100 % are 100 %, in the choice as in the score."""
    found = rows(40)
    found["ecn_kB"] = [0.0, 100.0] * 20
    found["share"] = found["drops"] = found["ecn_kB"]
    monkeypatch.setattr(buffers, "candidates", lambda kind, outcomes: {
        "good at drops": Partial(tuple(outcomes), share=0.8),
        "good at shares": Partial(tuple(outcomes), share=3.0, drops=80.0),
    })  # fmt: skip
    assert buffers.choose("shallow", found, ("share",)) == "good at shares"
    assert buffers.choose("shallow", found, ("share", "drops")) == "good at drops"
    scores = buffers.examine("shallow", found, 0.5, outcomes=("share",), repeats=1)
    assert scores[["model", "r2"]].to_numpy().tolist() == [["good at shares", 1.0]]
    assert "r2 drops" not in scores
    assert scores["train"].tolist() == [20]
    assert buffers.examine("shallow", found, 12, outcomes=("share",), repeats=1)["train"].tolist() == [12]


def test_a_condition_is_left_out_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is exact, so R2 is 1 wherever it is scored, and what it was trained on tells which one was left out."""
    trained: list[set[tuple[float, float]]] = []
    data = rows(60)
    data["share"] = data["ecn_kB"] / 4

    def fit(model: object, training: pd.DataFrame, outcomes: tuple[str, ...]) -> object:
        trained.append({*training[list(buffers.CONDITION)].itertuples(index=False, name=None)})
        return fitted(model, training, outcomes)

    fitted = buffers.fit
    monkeypatch.setattr(buffers, "fit", fit)
    monkeypatch.setattr(buffers, "candidates", lambda kind, outcomes: {"exact": Partial(tuple(outcomes), share=1.0)})
    monkeypatch.setattr(Partial, "predict", lambda self, x: x[["ecn_kB"]].to_numpy(float) / 4)
    later = data[data["rate_gbps"] > 5]
    scores = buffers.leave_out("deep", data, outcomes=("share",), later=later)
    conditions = {*data[list(buffers.CONDITION)].itertuples(index=False, name=None)}
    assert len(scores) == len(conditions) == len(trained)
    for known, row in zip(trained, scores.itertuples(), strict=True):
        assert conditions - known == {(row.rate_gbps, row.rtt_ms)}
    assert scores["r2"].to_numpy() == pytest.approx(1)
    assert (scores["later"].isna() == (scores["rate_gbps"] == 5)).all()


def test_candidates_are_compared_at_conditions_that_they_were_not_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one candidate nothing is compared, so there are two."""
    data = rows(60).assign(share=0.0)
    known: list[pd.Series[int]] = []
    numbers = buffers.conditions(data)
    fitted = buffers.fit

    def fit(model: object, training: pd.DataFrame, outcomes: tuple[str, ...]) -> object:
        known.append(numbers[training.index])
        return fitted(model, training, outcomes)

    monkeypatch.setattr(buffers, "fit", fit)
    monkeypatch.setattr(buffers, "candidates", lambda kind, outcomes: {
        name: Partial(tuple(outcomes)) for name in ("one", "other")
    })  # fmt: skip
    buffers.choose("deep", data, ("share",), by_condition=True)
    assert len(known) == 10
    assert all(not set(part) & set(numbers.drop(part.index)) for part in known)


def test_the_mean_of_models_is_their_mean() -> None:
    members = [Partial(("share", "drops"), share=share) for share in (1.0, 0.0)]
    data = rows(4).assign(ecn_kB=[0.0, 100.0, 50.0, 20.0])
    values = data[["share", "drops"]].to_numpy()
    predicted = carried.Mean(members).fit(data, values).predict(data)
    assert predicted[:, 0].tolist() == [25.0, 75.0, 50.0, 35.0]


def test_a_score_of_noise_is_not_good() -> None:
    """Outcomes that have nothing to do with settings cannot be predicted, whatever is chosen on training rows."""
    found = rows(120)
    rng = np.random.default_rng(1)
    for name in OUTCOMES:
        found[name] = rng.permutation(found[name].to_numpy())
    assert buffers.examine("shallow", found, 0.3, repeats=2)["r2"].max() < 0.2


def test_predictions_are_possible() -> None:
    wild = pd.DataFrame([[-5.0, -1.0, -3.0, 2500.0], [120.0, 10.0, 5.0, 5.0]], columns=list(OUTCOMES))
    assert buffers.limit(wild).to_numpy().tolist() == [[0, 0, 0, 1800], [100, 10, 5, 5]]


def test_the_spread_is_that_of_single_splits() -> None:
    scores = pd.DataFrame({"r2": np.linspace(0.8, 1.0, 41)})
    found = buffers_records.spread(scores, "r2")
    assert (round(float(found), 3), round(found.low, 3), round(found.high, 3)) == (0.9, 0.805, 0.995)
