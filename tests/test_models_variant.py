# SPDX-License-Identifier: Apache-2.0
"""The classifier of variants, on made-up traces: what it is shown, that nothing leaks, what is saved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rdcnlab import places
from rdcnlab.errors import InputError
from rdcnlab.models import saved, variant
from rdcnlab.papers import aykurt

MS = 1_000_000


@pytest.fixture(autouse=True)
def _models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RDCNLAB_MODELS", str(tmp_path / "models"))


def saw_teeth(seeds: int, per_seed: int = 24) -> variant.Traces:
    """Windows that fall to 0.7 or to 0.5 of their peaks, of any height, from any point of a tooth."""
    draw = np.random.default_rng(3)
    samples, about = [], []
    for seed in range(seeds):
        for number in range(per_seed):
            name, low = (("cubic", 0.7), ("reno", 0.5))[number % 2]
            phase = (np.arange(100) / 25 + draw.random()) % 1
            window = draw.uniform(500, 3000) * (low + (1 - low) * phase)
            samples.append(np.stack([window, 200 + window / 2], axis=1))
            about.append({"variant": name, "run": len(about), "seed": seed, "period_ms": 25.0, "flow": "main"})
    return variant.Traces(np.array(samples, dtype=np.float32), pd.DataFrame(about).assign(begin_ms=0))


def test_a_series_has_the_last_ack_of_every_ms() -> None:
    acks = pd.DataFrame(
        {"t_ns": [MS // 2, 2 * MS, 2 * MS + 5, 4 * MS - 1], "cwnd_B": [10e3, 20e3, 30e3, 40e3], "srtt_us": [1, 2, 3, 4]}
    )
    assert variant.series(acks).tolist() == [[10, 1], [10, 1], [30, 3], [40, 4]]


def test_what_is_learnt_is_found_in_traces_of_other_seeds_and_nothing_in_shuffled_ones() -> None:
    data = saw_teeth(12)
    training, tests = data.where(data.about["seed"] < 9), data.where(data.about["seed"] >= 9)
    classifier = variant.trained(training, epochs=60, show=False)
    assert variant.accuracy(classifier.confusion(tests)) > 90
    shuffled = training.about["variant"].sample(frac=1, random_state=0).to_numpy()
    chance = variant.trained(variant.Traces(training.samples, training.about.assign(variant=shuffled)), epochs=5)
    assert 25 < variant.accuracy(chance.confusion(tests)) < 75


def test_a_model_is_shown_nothing_but_samples() -> None:
    """Traces that differ in what is known about them only get the same answer, and the same file."""
    data = saw_teeth(2)
    classifier = variant.trained(data, epochs=1, show=False)
    renamed = data.about.assign(run=0, period_ms=1.0, flow="other", begin_ms=7)
    again = variant.trained(variant.Traces(data.samples, renamed), epochs=1, show=False)
    assert again.path == classifier.path
    assert classifier.probabilities(data.samples).shape == (len(data), 2)


def test_a_saved_model_answers_as_the_trained_one_and_says_what_it_is_of(monkeypatch: pytest.MonkeyPatch) -> None:
    data = saw_teeth(3)
    trained = variant.trained(data, epochs=2, show=False)
    monkeypatch.setattr(variant, "_train", None)  # a second training would fail
    loaded = variant.trained(data, epochs=2, show=False)
    pd.testing.assert_frame_equal(trained.probabilities(data.samples), loaded.probabilities(data.samples))
    known = saved.provenance(loaded.path)
    assert known["settings"]["variants"] == ["cubic", "reno"]
    assert (known["traces"], known["kept aside"]) == (48, 24)
    assert set(known["libraries"]) == {"tensorflow-cpu", "keras", "numpy"}
    with pytest.raises(TypeError):
        variant.trained(data, epochs=3, show=False)


def test_flows_are_told_by_the_shipped_model_of_most_variants_that_fits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(places, "models", lambda: tmp_path / "shipped")
    data = saw_teeth(9)
    longest, shorter = data.samples, data.first(60)
    for part in (data, shorter):
        saved.ship(variant.trained(part, epochs=60, show=False).path)
    flows = [
        pd.DataFrame(
            {"t_ns": np.arange(100) * MS, "cwnd_B": 1000.0 * of[:, 0], "srtt_us": of[:, 1], "flow": f"f{place}"}
        )
        for place, of in enumerate(longest[:4])
    ]
    told = variant.classify(pd.concat(flows))
    assert told["flow"].tolist() == ["f0", "f1", "f2", "f3"]
    assert told["variant"].tolist() == data.about["variant"][:4].tolist()
    assert variant.best(99).model.input_shape[1] == 60
    with pytest.raises(InputError, match="at least 60 ms"):
        variant.best(59)


def test_one_variant_cannot_be_told_apart() -> None:
    data = saw_teeth(1)
    with pytest.raises(ValueError, match="at least two variants"):
        variant.trained(data.where(data.about["variant"] == "reno"))


def test_choices_are_the_same_each_time() -> None:
    data = saw_teeth(2)
    assert len(variant.choose(data, 10)) == 10
    assert variant.choose(data, 10).about.equals(variant.choose(data, 10).about)
    assert variant.choose(data, 1000) is data


def test_tests_are_of_seeds_that_are_not_trained_on() -> None:
    with pytest.raises(InputError, match="at least 2"):
        aykurt.tab3(seeds=1)
    item = aykurt.tab3(profile="paper")
    seeds = pd.Series(range(item.count))
    assert item._tests(seeds).tolist() == [False] * 6 + [True] * 2
