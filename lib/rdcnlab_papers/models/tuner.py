# SPDX-License-Identifier: Apache-2.0
"""Find thresholds of a shared buffer for an objective, with a model; Vargas et al., Sec. 8, leave this to future work.

The cost of a setting is a weighted sum of three parts, each from 0 (best) to about 1:

- *share*: distance of CUBIC's share from the wanted one, over 100 points;
- *delay*: average queueing delay over that of a full buffer;
- *drops*: logarithm of the drops in 120 s (1 is added), over that of 100 000.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.fields.errors import InputError
from rdcnlab_papers.analysis.sharing import OUTCOMES
from rdcnlab_papers.models.gaussian import LEAST_ROWS, Predictor
from rdcnlab_papers.models.physics import BUFFER_KB, SLOW_S, SLOW_SHARE, physics

#: Steps of the thresholds that are searched, in kB.
ECN_STEP_KB, RED_STEP_KB = 20, 50
#: Many drops in 120 s: the scale of their part of the cost.
MANY_DROPS = 1e5
#: Outcomes that the cost depends on.
COSTLY = ("share", "average_kB", "drops")
#: A prediction is close if it differs from the measured value by at most this share of it, or the smallest error that a
#: run need have, whichever is larger. A model is unsure if a side of its interval is wider than this.
CLOSE = 0.1
LEAST_CLOSE = {"share": 2.0, "drops": 500.0, "average_kB": 20.0, "longest_kB": 20.0}


@dataclass(frozen=True)
class Objective:
    """An operator's objective for a line with a shared buffer.

    Parameters
    ----------
    rate_gbps, rtt_ms : float
        Rate of the line, and RTT of CUBIC.
    buffer_kB : float
        Size of the buffer: no threshold is larger.
    share : float
        Wanted share of CUBIC in percent.
    weights : tuple of float
        Weights of share, delay and drops; none is negative, and one at least is positive.
    """

    rate_gbps: float
    rtt_ms: float
    buffer_kB: float = BUFFER_KB  # noqa: N815  (unit)
    share: float = 50.0
    weights: tuple[float, float, float] = (1.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 100:
            raise InputError.of("share", self.share, "a percentage from 0 to 100")
        if min(self.weights) < 0 or not sum(self.weights) > 0 or not math.isfinite(sum(self.weights)):
            raise InputError.of("weights", self.weights, "numbers of at least 0 for share, delay and drops, not all 0")
        if not RED_STEP_KB <= self.buffer_kB <= BUFFER_KB:
            allowed = f"{RED_STEP_KB} to {BUFFER_KB} kB, the buffer of the runs that the model knows"
            raise InputError.of("buffer_kB", self.buffer_kB, allowed)

    def cost(self, outcomes: pd.DataFrame) -> pd.Series[float]:
        """Return the cost of outcomes."""
        share, delay, drops = self.weights
        parts = (
            share * (outcomes["share"] - self.share).abs() / 100,
            delay * outcomes["average_kB"] / BUFFER_KB,
            drops * np.log1p(outcomes["drops"]) / math.log1p(MANY_DROPS),
        )
        cost: pd.Series[float] = (parts[0] + parts[1] + parts[2]) / sum(self.weights)
        return cost

    def settings(self, model: Predictor) -> pd.DataFrame:
        """Return all settings to search, within the ranges of the training data; RED's drop probability is 5 %."""
        ranges = model.about["ranges"]
        ecn = np.arange(ranges["ecn_kB"][0], min(ranges["ecn_kB"][1], self.buffer_kB) + 1, ECN_STEP_KB)
        highest = min(ranges["max_kB"][1], self.buffer_kB)
        rows = [
            (self.rate_gbps, self.rtt_ms, threshold, low, high, 5.0)
            for threshold, (low, high) in itertools.product(
                ecn, _pairs(ranges["min_kB"][0], ranges["max_kB"][0], highest)
            )
        ]
        return pd.DataFrame(rows, columns=["rate_gbps", "rtt_ms", "ecn_kB", "min_kB", "max_kB", "probability"])


def _pairs(min_low: float, min_high: float, max_high: float) -> Iterator[tuple[float, float]]:
    """Yield pairs of drop thresholds: equal ones, and those of which the smaller is a half or nothing of the larger."""
    for high in np.arange(min_high, max_high + 1, RED_STEP_KB):
        lows = {float(high), float(high // 2), 0.0}
        yield from ((low, float(high)) for low in sorted(lows) if low >= min_low)


@dataclass(frozen=True)
class Proposal:
    """A proposed setting with its predicted outcomes.

    Parameters
    ----------
    setting : Series
        Thresholds, rate and RTT.
    predicted : Series
        Outcomes with the ends of their intervals; see `Predictor.predict`.
    cost : float
        Predicted cost.
    unsure : tuple of str
        Outcomes whose interval has a side that is wider than `tolerance`.
    unknown : tuple of str
        What the training data do not have, in words. No interval accounts for it.
    """

    setting: pd.Series[float]
    predicted: pd.Series[float]
    cost: float
    unsure: tuple[str, ...]
    unknown: tuple[str, ...] = ()

    def is_unsure(self, outcome: str) -> bool:
        """Return whether the model is unsure of an outcome; it is unsure of all if the training data lack something."""
        return bool(self.unknown) or outcome in self.unsure

    def compare(self, measured: pd.Series[float]) -> pd.DataFrame:
        """Compare predicted and measured outcomes.

        Parameters
        ----------
        measured : Series
            A row of `rdcnlab_papers.analysis.sharing.outcomes`.

        Returns
        -------
        DataFrame
            By outcome: ``predicted``, ``low``, ``high``, ``measured``, ``error`` (of the run, 0 if it is unknown),
            ``within`` (the difference is at most `CLOSE` of the prediction), ``close`` (it is at most `tolerance`, or
            that error), and ``inside`` (of the interval). The error of a run that was too short excuses nothing: it
            is larger than what a run may have.
        """
        rows = []
        for name in OUTCOMES:
            value, low, high = (float(self.predicted[column]) for column in (name, f"{name} low", f"{name} high"))
            actual, error = float(measured[name]), float(measured.get(f"{name}_error", 0.0))
            error = 0.0 if math.isnan(error) else error
            allowed = max(tolerance(name, value), 0.0 if measured.get("doubt", "") else error)
            difference = abs(actual - value)
            verdicts = (difference <= CLOSE * abs(value), difference <= allowed, low <= actual <= high)
            rows.append((name, value, low, high, actual, error, *verdicts))
        columns = ["outcome", "predicted", "low", "high", "measured", "error", "within", "close", "inside"]
        return pd.DataFrame(rows, columns=columns).set_index("outcome")


def tolerance(name: str, value: float) -> float:
    """Return the largest difference between a measured outcome and a prediction that counts as close."""
    return max(CLOSE * abs(value), LEAST_CLOSE[name])


def propose(model: Predictor, objective: Objective) -> Proposal:
    """Return the setting with the least predicted cost.

    Raises
    ------
    InputError
        The model does not know the line's rate or the RTT, or no setting that it knows fits into the buffer.
    """
    settings = objective.settings(model)
    if not len(settings):
        smallest = max(model.about["ranges"][name][0] for name in ("ecn_kB", "max_kB"))
        allowed = f"at least {smallest:g} kB, the smallest thresholds that the model knows"
        raise InputError.of("buffer_kB", objective.buffer_kB, allowed)
    cost = objective.cost(model.expect(settings, COSTLY))
    # rounded, so that the last digits of another machine's arithmetic do not decide between equal costs
    best = int(cost.to_numpy().round(6).argmin())
    predicted: pd.Series[float] = model.predict(settings.iloc[[best]]).iloc[0]
    unsure = tuple(
        name
        for name in OUTCOMES
        if max(predicted[f"{name} high"] - predicted[name], predicted[name] - predicted[f"{name} low"])
        > tolerance(name, predicted[name])
    )
    unknown = _unknown(model, objective, settings.iloc[[best]], predicted)
    return Proposal(settings.iloc[best], predicted, float(cost.iloc[best]), unsure, unknown)


def has_condition(model: Predictor, objective: Objective) -> bool:
    """Return whether the training data have the rate and the RTT, or enough rows between their conditions.

    Intervals are calibrated on the training data: without such rows, they say nothing of an objective between them.
    """
    condition = [round(objective.rate_gbps, 3), round(objective.rtt_ms, 3)]
    return condition in model.about["conditions"] or model.about["between"] >= LEAST_ROWS


def _unknown(
    model: Predictor, objective: Objective, setting: pd.DataFrame, predicted: pd.Series[float]
) -> tuple[str, ...]:
    """Return in words what the training data do not have of an objective, for its proposal with its outcomes."""
    reasons = []
    line = f"{objective.rate_gbps:g} Gb/s with an RTT of {objective.rtt_ms:g} ms"
    if not has_condition(model, objective):
        reasons.append(f"{line}: its runs have {len(model.about['conditions'])} other pairs of rate and RTT")
    balance = physics(setting).iloc[0]
    if balance["epoch"] > SLOW_S and balance["share"] >= SLOW_SHARE:
        epoch = f"an epoch of CUBIC takes {balance['epoch']:.1f} s there"
        reasons.append(f"the balance at {line}: {epoch}, and the model's runs are not much longer")
    longest = predicted["longest_kB high"]
    if longest > objective.buffer_kB:
        # packets of DCTCP pass all thresholds, and are lost at the end of the buffer
        reasons.append(
            f"a buffer of {objective.buffer_kB:g} kB: the queue may grow to {longest:.0f} kB, "
            f"and all runs that the model knows have {BUFFER_KB} kB"
        )
    return tuple(reasons)


def random_objectives(model: Predictor, count: int, seed: int = 0) -> list[Objective]:
    """Draw objectives at random: rate and RTT within the training data, a wanted share of 5 to 95 %, and weights.

    Rates and RTTs are uniform in their logarithms, so they usually lie between the conditions of the data.
    """
    rng = np.random.default_rng(seed)
    rates, rtts = model.about["ranges"]["rate_gbps"], model.about["ranges"]["rtt_ms"]
    objectives = []
    for _ in range(count):
        rate, rtt = (float(np.exp(rng.uniform(*np.log(ends)))) for ends in (rates, rtts))
        weights: npt.NDArray[np.float64] = rng.dirichlet((1.0, 1.0, 1.0))
        rate, rtt = round(min(max(rate, rates[0]), rates[1]), 2), float(min(max(round(rtt), rtts[0]), rtts[1]))
        share, (one, two, three) = float(rng.uniform(5, 95)), (float(weight) for weight in weights)
        objectives.append(Objective(rate, rtt, BUFFER_KB, share, (one, two, three)))
    return objectives
