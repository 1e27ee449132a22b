# SPDX-License-Identifier: Apache-2.0
"""How often intervals contain the true number, and how often verdicts are wrong, by simulation of known truths.

The tables are those of ``docs/explanation/statistics.md``, and this prints them:
``python -m tests.papers.items.test_error_rates``.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.analysis.intervals import Estimate, over_seeds
from rdcnlab.analysis.resampling import bootstrap_by_weight, jackknife
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.items.claims import Claim
from rdcnlab_papers.items.expectation import Expectation
from rdcnlab_papers.items.verdicts import judge

Floats = npt.NDArray[np.float64]
DOCUMENT = Path(__file__).parents[3] / "docs" / "explanation" / "statistics.md"
SEEDS = (3, 5, 10, 30)
VERDICTS = ("reproduced", "partly", "undecided", "differs")
#: Distributions of a run's number: how it is drawn, and its mean.
DRAWN: dict[str, tuple[Callable[[np.random.Generator, int], Floats], float]] = {
    "normal": (lambda rng, n: rng.normal(10, 1, n), 10.0),
    "exponential": (lambda rng, n: rng.exponential(1, n), 1.0),
    "lognormal, sigma 1": (lambda rng, n: rng.lognormal(0, 1, n), math.exp(0.5)),
    "one run in five is ten times as long": (lambda rng, n: np.where(rng.random(n) < 0.2, 10.0, 1.0), 2.8),
}
#: A claim as most are: a number, an allowed difference of 10, and the number of no effect.
CLAIM = Claim(id="gain", text="24 % more", expect=Expectation(near=24, tolerance=10.0), none=0)
#: A true claim about the mean of numbers of which a few are large.
RARE = Claim(id="mean", text="2.8 s", expect=Expectation(near=2.8, tolerance="10 %"))
#: True gains: as stated, in the middle of what is allowed, at the bound, beyond it, no gain, and a loss.
TRUTHS = (24.0, 19.0, 14.0, 10.0, 5.0, 0.0, -5.0)
#: Standard deviation of one run's gain.
DEVIATION = 5.0


def contains(estimate: Estimate, truth: float) -> bool:
    return estimate.low <= truth <= estimate.high


def mean(rng: np.random.Generator, n: int, draw: Callable[[np.random.Generator, int], Floats], truth: float) -> bool:
    return contains(over_seeds(draw(rng, n)), truth)


def ratio(rng: np.random.Generator, n: int) -> bool:
    """Draw two normal numbers for each seed, of mean 10 and 8; the ratio of the means has a jackknife interval."""
    frame = pd.DataFrame({"seed": range(n), "a": rng.normal(10, 1, n), "b": rng.normal(8, 1, n)})
    return contains(jackknife(frame, lambda part: part["a"].mean() / part["b"].mean()), 10 / 8)


def separate(rng: np.random.Generator, n: int) -> bool:
    """Draw two samples of one mean; the interval of the difference of their means is that of verdicts."""
    return contains(over_seeds(rng.normal(10, 1, n)) - over_seeds(rng.normal(10, 1, n)), 0)


def median(rng: np.random.Generator, n: int) -> bool:
    """Draw an exponential sample; its median has a bootstrap interval."""
    drawn = np.sort(rng.exponential(1, n))

    def medians(weights: Floats) -> Floats:
        total = weights.sum(axis=1, keepdims=True)
        return np.asarray(drawn[(weights.cumsum(axis=1) >= total / 2).argmax(axis=1)], dtype=float)

    return contains(bootstrap_by_weight(n, medians), math.log(2))


@functools.cache
def coverage(repetitions: int) -> tuple[tuple[str, list[float]], ...]:
    """Return for each statistic the share of intervals that contain the true number, by the number of seeds."""
    return tuple(_coverage(repetitions))


def _coverage(repetitions: int) -> Iterator[tuple[str, list[float]]]:
    for name, (draw, truth) in DRAWN.items():
        rng = np.random.default_rng(1)
        found = [[mean(rng, n, draw, truth) for _ in range(repetitions)] for n in SEEDS]
        yield f"mean; {name}", [float(np.mean(one)) for one in found]
    for name, one, count in (
        ("ratio of two means of the same seeds (jackknife); normal", ratio, repetitions // 4),
        ("difference of two means of different runs; normal", separate, repetitions),
        ("median (bootstrap); exponential", median, repetitions // 4),
    ):
        rng = np.random.default_rng(1)
        yield name, [float(np.mean([one(rng, n) for _ in range(count)])) for n in SEEDS]


def shares_of_verdicts(
    claim: Claim, n: int, repetitions: int, draw: Callable[[np.random.Generator, int], Floats]
) -> dict[str, float]:
    """Return the share of each verdict on a claim, with halves of the seeds as in a score."""
    rng = np.random.default_rng(1)
    verdicts: Counter[str] = Counter()
    for _ in range(repetitions):
        runs = draw(rng, n)
        whole, *halves = (Measured.one(over_seeds(part)) for part in (runs, runs[::2], runs[1::2]))
        verdicts[str(judge(claim, whole, halves).verdict)] += 1
    return {name: verdicts[name] / repetitions for name in VERDICTS}


@functools.cache
def rates(repetitions: int) -> tuple[tuple[float, int, dict[str, float]], ...]:
    """Return for each true gain and number of seeds the share of each verdict."""
    return tuple(_rates(repetitions))


def _rates(repetitions: int) -> Iterator[tuple[float, int, dict[str, float]]]:
    for truth in TRUTHS:
        for n in SEEDS:
            yield (
                truth,
                n,
                shares_of_verdicts(CLAIM, n, repetitions, lambda rng, n, at=truth: rng.normal(at, DEVIATION, n)),
            )


def rare(repetitions: int) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield the share of each verdict on a claim that is true, where one run in five is ten times as long."""
    draw, _ = DRAWN["one run in five is ten times as long"]
    for n in SEEDS:
        yield n, shares_of_verdicts(RARE, n, repetitions, draw)


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def lines(repetitions: int) -> list[str]:
    """Return the three tables of the document."""
    text = [
        "| statistic; distribution | " + " | ".join(f"{n} seeds" for n in SEEDS) + " |",
        "|---|" + "---|" * len(SEEDS),
    ]
    text += [f"| {name} | " + " | ".join(map(percent, shares)) + " |" for name, shares in coverage(repetitions)]
    text += ["", "| true gain | seeds | " + " | ".join(VERDICTS) + " |", "|---|---|" + "---|" * len(VERDICTS)]
    for truth, n, shares in rates(repetitions):
        text.append(f"| {truth:g} % | {n} | " + " | ".join(percent(shares[name]) for name in VERDICTS) + " |")
    text += ["", "| seeds | " + " | ".join(VERDICTS) + " |", "|---|" + "---|" * len(VERDICTS)]
    for n, shares in rare(repetitions):
        text.append(f"| {n} | " + " | ".join(percent(shares[name]) for name in VERDICTS) + " |")
    return text


REPETITIONS = 2000


def test_the_document_has_the_tables_of_the_simulation() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for table in "\n".join(lines(REPETITIONS)).split("\n\n"):
        assert table in text


def test_intervals_of_normal_numbers_contain_the_truth_as_often_as_they_say() -> None:
    shares = dict(coverage(REPETITIONS))
    for name in ("mean; normal", "ratio of two means of the same seeds (jackknife); normal"):
        for share, count in zip(shares[name], (REPETITIONS, REPETITIONS // 4), strict=False):
            assert abs(share - 0.95) < 4 * math.sqrt(0.95 * 0.05 / count)
    # intervals that must not overlap are wider than those of a difference
    assert min(shares["difference of two means of different runs; normal"]) > 0.95


def test_no_verdict_is_wrong_more_often_than_its_interval_allows() -> None:
    slack = 4 * math.sqrt(0.025 * 0.975 / REPETITIONS)
    for truth, _, shares in rates(REPETITIONS):
        right = "reproduced" if abs(truth - 24) <= 10 else "partly" if truth > 0 else "differs"
        wrong = sum(share for name, share in shares.items() if name not in (right, "undecided"))
        # at a bound two verdicts are right
        allowed = {"reproduced", "partly"} if truth == 14 else {"partly", "differs"} if truth == 0 else {right}
        assert sum(share for name, share in shares.items() if name not in {*allowed, "undecided"}) < 0.025 + slack
        assert wrong < 0.025 + slack


if __name__ == "__main__":
    print("\n".join(lines(REPETITIONS)))
