# SPDX-License-Identifier: Apache-2.0
"""The classifier of variants, on synthetic traces: its inputs, no leak of test data into training, saved files."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.store import Store
from rdcnlab.system import places
from rdcnlab_papers import aykurt
from rdcnlab_papers.models import saved, variant
from rdcnlab_papers.models.traces import Traces, cut, series, traces, twins
from tests.conftest import Shared

MS = 1_000_000


pytestmark = pytest.mark.usefixtures("own_models")


def saw_teeth(seeds: int, per_seed: int = 24) -> Traces:
    """Return windows that fall to 0.7 or to 0.5 of their peaks, with random heights and random begins in a tooth."""
    draw = np.random.default_rng(3)
    samples, about = [], []
    for seed in range(seeds):
        for number in range(per_seed):
            name, low = (("cubic", 0.7), ("reno", 0.5))[number % 2]
            phase = (np.arange(100) / 25 + draw.random()) % 1
            window = draw.uniform(500, 3000) * (low + (1 - low) * phase)
            samples.append(np.stack([window, 200 + window / 2], axis=1))
            about.append({"variant": name, "run": len(about), "seed": seed, "period_ms": 25.0, "flow": "main"})
    return Traces(np.array(samples, dtype=np.float32), pd.DataFrame(about).assign(begin_ms=0, pair="any"))


@pytest.fixture
def trained(shared: Shared, own_models: None) -> variant.Classifier:
    """A classifier that was trained on `saw_teeth(9)`, once for all tests and workers."""
    places.model_cache().mkdir(parents=True, exist_ok=True)
    for path in shared("saw-teeth", train).iterdir():
        shutil.copy(path, places.model_cache())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(variant, "_train", None)  # a second training would fail
        return variant.load_or_train(saw_teeth(9), epochs=60, show=False)


def train(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RDCNLAB_MODELS", str(folder))
        variant.load_or_train(saw_teeth(9), epochs=60, show=False)


def acks_of(samples: np.ndarray, **names: object) -> pd.DataFrame:
    """Return a table of ACKs, one for each ms."""
    times = 5 * MS + np.arange(len(samples)) * MS
    return pd.DataFrame({"t_ns": times, "cwnd_B": 1000.0 * samples[:, 0], "srtt_us": samples[:, 1], **names})


def test_a_series_has_the_last_ack_before_every_ms_ends_from_the_first_ack_on() -> None:
    acks = pd.DataFrame(
        {"t_ns": [7, MS + 6, MS + 7, 4 * MS + 6], "cwnd_B": [10e3, 20e3, 30e3, 40e3], "srtt_us": [1, 2, 3, 4]}
    )
    assert series(acks).tolist() == [[20, 2], [30, 3], [30, 3], [40, 4]]


def test_what_is_learnt_is_found_in_traces_of_other_seeds_and_nothing_in_shuffled_ones(
    trained: variant.Classifier,
) -> None:
    data = saw_teeth(12)
    training, tests = data.where(data.about["seed"] < 9), data.where(data.about["seed"] >= 9)
    assert not set(training.about["run"]) & set(tests.about["run"])
    assert (training.samples == saw_teeth(9).samples).all()
    assert variant.accuracy(trained.confusion(tests)) > 90
    # half of the traces of each variant get the other's name, also in the test data: nothing can be predicted
    shuffled = data.about.assign(variant=np.where(np.arange(len(data)) % 4 < 2, "cubic", "reno"))
    training, tests = (Traces(part.samples, shuffled.loc[part.about["run"]]) for part in (training, tests))
    chance = variant.load_or_train(training, epochs=5, show=False)
    assert variant.accuracy(chance.confusion(tests)) == pytest.approx(50, abs=15)


def test_two_trainings_are_equal_whatever_else_is_known_of_the_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    data = saw_teeth(2)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    one = variant.load_or_train(data, epochs=2, show=False)
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    monkeypatch.setenv("RDCNLAB_MODELS", str(places.model_cache().with_name("others")))
    renamed = data.about.assign(run=0, period_ms=1.0, flow="other", begin_ms=7, pair="other")
    other = variant.load_or_train(Traces(data.samples, renamed), epochs=2, show=False)
    assert one.path != other.path
    pd.testing.assert_frame_equal(one.probabilities(data.samples), other.probabilities(data.samples), check_exact=True)


def test_a_model_is_trained_once_and_its_file_says_what_it_is_of(monkeypatch: pytest.MonkeyPatch) -> None:
    data = saw_teeth(3)
    trained = variant.load_or_train(data, epochs=2, show=False)
    monkeypatch.setattr(variant, "_train", None)  # a second training would fail
    assert variant.load_or_train(data, epochs=2, show=False).path == trained.path
    with pytest.raises(TypeError):
        variant.load_or_train(data, epochs=3, show=False)
    known = saved.provenance(trained.path)
    assert known["settings"]["variants"] == ["cubic", "reno"]
    assert (known["traces"], known["kept aside"]) == (48, 24)
    assert set(known["libraries"]) == {"tensorflow-cpu", "keras", "numpy"}
    assert b"optimizer" not in zipfile.ZipFile(trained.path).read("model.weights.h5")


@pytest.mark.parametrize("form", ["wide", "plain"])
def test_a_file_answers_without_keras_as_it_does_with_it(form: variant.Form) -> None:
    data = saw_teeth(2)
    classifier = variant.load_or_train(data, epochs=2, show=False, form=form)
    asked = variant._features(data.samples, form)
    theirs = variant._keras().models.load_model(classifier.path, compile=False).predict(asked, verbose=0)
    assert classifier.model.length_ms == 100
    assert classifier.model.predict(asked) == pytest.approx(theirs, abs=1e-5)


def test_the_plain_form_learns_from_window_and_rtt_alone_and_is_never_the_best() -> None:
    data = saw_teeth(12)
    training, tests = data.where(data.about["seed"] < 9), data.where(data.about["seed"] >= 9)
    plain = variant.load_or_train(training, epochs=60, show=False, form="plain")
    assert plain.model.mean.shape == (2,)
    assert variant.accuracy(plain.confusion(tests)) > 80
    wide = variant.load_or_train(training, epochs=1, show=False)
    found = variant.best(100)
    assert found is not None
    assert found.path == wide.path


def test_what_a_classifier_cannot_do() -> None:
    data = saw_teeth(1)
    with pytest.raises(ValueError, match="at least two variants"):
        variant.load_or_train(data.where(data.about["variant"] == "reno"))
    classifier = variant.load_or_train(data, epochs=1, show=False)
    strange = Traces(data.samples, data.about.assign(variant="bbr"))
    with pytest.raises(ValueError, match="traces of bbr"):
        classifier.confusion(strange)
    nothing = classifier.confusion(data.where(np.zeros(len(data), dtype=bool)))
    assert nothing.to_numpy().sum() == 0
    assert np.isnan(variant.accuracy(nothing))


def test_without_a_model_of_the_variant_a_command_trains_one() -> None:
    table = acks_of(saw_teeth(1).samples[0, :20], flow="f1", run=0)
    with pytest.raises(RunError, match="no model of the variant yet; this trains one: rdcnlab reproduce aykurt/tab3"):
        variant.classify(table)


def test_flows_are_told_by_the_longest_model_that_fits(trained: variant.Classifier) -> None:
    data, long = saw_teeth(9), trained
    # no flow is told by the shorter one, so it need know nothing
    short = variant.load_or_train(data.first(60), epochs=1, show=False)
    flows = [acks_of(data.samples[index], flow="f", run=index) for index in range(4)]
    mouse = acks_of(data.samples[0, :20], flow="mouse", run=0)
    shorter = acks_of(data.samples[1, :70], flow="shorter", run=0)
    named = variant.classify(pd.concat([*flows, mouse, shorter])).set_index(["run", "flow"])
    assert [named.loc[(run, "f"), "variant"] for run in range(4)] == data.about["variant"][:4].tolist()
    assert named.loc[(0, "mouse"), "variant"] is None
    assert named.loc[(0, "shorter"), "begin_ms"] == 0
    assert [variant.best(length) for length in (59, 60, 100)] == [None, short, long]


def test_shipping_replaces_what_was_shipped(tmp_path: Path) -> None:
    data = saw_teeth(2)
    first, second = (variant.load_or_train(data, epochs=epochs, show=False) for epochs in (1, 2))
    saved.ship([first.path])
    saved.ship([second.path])
    assert {path.name for path in places.models().iterdir()} == {
        second.path.name,
        second.path.with_suffix(".json").name,
    }
    saved.ship([])
    assert len(list(places.models().iterdir())) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t_ns": ["soon"]}, "column t_ns: 'soon'"),
        ({"cwnd_B": [-1.0]}, "column cwnd_B: '-1"),
        ({"srtt_us": [float("nan")]}, "column srtt_us"),
        ({"srtt_us": pd.array([None], dtype="Int64")}, "column srtt_us"),
        ({"flow": [None]}, "column flow"),
    ],
)
def test_tables_that_are_none(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(cut(pd.DataFrame({"t_ns": [1], "cwnd_B": [2.0], "srtt_us": [3.0], "flow": ["a"], **change})))


def test_more_tables_that_are_none() -> None:
    whole = pd.DataFrame({"t_ns": [1, 10**18], "cwnd_B": [2.0, 2.0], "srtt_us": [3.0, 3.0]})
    with pytest.raises(InputError, match="of one flow"):
        list(cut(whole))
    with pytest.raises(InputError, match="no rows"):
        list(cut(whole[:0]))
    with pytest.raises(InputError, match="a table with srtt_us"):
        list(cut(whole.drop(columns="srtt_us")))


def test_choices_are_the_same_each_time() -> None:
    data = saw_teeth(2)
    assert len(data.sample(10)) == 10
    assert data.sample(10).about.equals(data.sample(10).about)
    assert data.sample(1000) is data


@pytest.mark.usefixtures("fake_engine", "pool_here")
def test_tests_are_of_seeds_that_are_not_trained_on(store: Store) -> None:
    for wrong in ({"seeds": 1}, {"cc": ["cubic", "cubic"]}):
        with pytest.raises(InputError, match=r"at least (2|two)"):
            aykurt.tab3(**wrong)
    item = aykurt.tab3(cc=["cubic", "reno"], periods_ms=[50], seeds=8, beyond=["dctcp"])
    runs = item.run(store=store, progress=False)
    for names in (("cubic", "reno"), ("cubic", "reno", "dctcp")):
        training, tests = item.exam(runs).data(names)
        assert set(training.about["seed"]) == set(range(6))
        assert set(tests.about["seed"]) == {6, 7}
        assert set(training.variants) == set(tests.variants) == set(names)
    assert len({scenario.phases()[1] for scenario in item.scenarios()}) > 6


@pytest.mark.usefixtures("fake_engine", "pool_here")
def test_runs_without_windows_give_no_traces(store: Store) -> None:
    item = aykurt.tab3(cc=["cubic", "reno"], beyond=[], periods_ms=[50], changes={"probes.bin": "2 ms"})
    runs = item.run(store=store, progress=False)
    with pytest.raises(InputError, match=r"probes\.tcp.*at most 1 ms"):
        traces(runs)
    assert len(traces(Runs([]))) == 0


def test_traces_of_two_variants_beside_the_same_flow_may_be_equal() -> None:
    """Reno and CUBIC are main flows beside BBR: with equal traces, with a different RTT, with a different window."""
    about = pd.DataFrame(
        [
            {"variant": name, "pair": f"bbr and {name}", "seed": seed, "period_ms": 1.0, "flow": "main", "begin_ms": 0}
            for seed in range(4)
            for name in ("cubic", "reno")
        ]
    )
    samples = np.ones((8, 5, 2), dtype=np.float32)
    samples[1, 3, 1] = 2
    samples[3, 3, 0] = 2
    assert twins(Traces(samples, about)).to_numpy().tolist() == [[1.0, "cubic and reno", 4, 50.0, 75.0]]
    # traces beside flows of different variants cannot be compared
    about["pair"] = ["bbr and cubic", "reno"] * 4
    assert not len(twins(Traces(samples, about)))
