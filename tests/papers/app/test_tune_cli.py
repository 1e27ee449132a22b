# SPDX-License-Identifier: Apache-2.0
"""``rdcnlab tune buffers``: what is printed, and what is refused before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rdcnlab.app.cli import app
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.units import NS_PER_S
from rdcnlab_papers.analysis import sharing
from rdcnlab_papers.analysis.sharing import OUTCOMES
from rdcnlab_papers.app.cli.tune import parse_weights
from rdcnlab_papers.models import gaussian
from tests.papers.models.test_buffers import rows

LINE = ["tune", "buffers", "--rate", "12.5 Gb/s", "--rtt", "50 ms"]


@pytest.fixture(scope="module")
def made() -> gaussian.Predictor:
    return gaussian.predictor(rows(70, noise=0.02))


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, made: gaussian.Predictor) -> Any:
    monkeypatch.setattr(gaussian, "best", lambda: made)
    return lambda *options: CliRunner().invoke(app, [*LINE, *options])


def test_a_proposal_is_a_row_for_each_outcome(ask: Any) -> None:
    done = ask("--no-run", "--share", "40", "--json")
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    assert [row["outcome"] for row in printed] == list(OUTCOMES)
    assert all(row["low"] <= row["predicted"] <= row["high"] for row in printed)
    assert "measured" not in printed[0]
    unsure = set()
    for share in ("20", "40", "60", "80"):
        shown = ask("--no-run", "--share", share).stdout
        unsure.add("The model is unsure of" in shown)
        assert ("The model is unsure of" in shown) == ("The most useful further runs:" in shown)
    assert unsure == {True, False}


@pytest.mark.usefixtures("fake_engine", "pool_here")
def test_a_proposal_is_run_for_as_long_as_is_asked(ask: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from rdcnlab_papers.app import tune

    limits, campaign = [], tune.campaign

    def noted(scenarios: Any, **options: Any) -> Any:
        limits.append(scenarios[0].limit)
        return campaign(scenarios, **options)

    monkeypatch.setattr(tune, "campaign", noted)
    monkeypatch.setenv("RDCNLAB_STORE", str(tmp_path / "runs"))
    done = ask("--share", "40", "--length", "2 s")
    assert done.exit_code == 0, done.output
    assert limits == [2 * NS_PER_S]
    assert "measured" in done.stdout
    assert "--length" not in done.stdout
    outcomes = sharing.outcomes
    monkeypatch.setattr(sharing, "outcomes", lambda runs: outcomes(runs).assign(doubt="share: error of 3"))
    done = ask("--share", "40", "--length", "2 s")
    assert "The run is too short for reliable errors: share: error of 3." in done.stdout
    assert "A longer run may tell more: --length." in done.stdout


@pytest.mark.parametrize(
    ("options", "field", "allowed"),
    [
        (["--length", "40 ms"], "--length", "whole seconds from 1 to 600"),
        (["--length", "4"], "--length", "a duration"),
        (["--rtt", "200 ms"], "rtt_ms", "25 to 100"),
        (["--share", "140"], "share", "0 to 100"),
        (["--buffer", "3 MB"], "buffer_kB", "1800 kB"),
        (["--weights", "delay=-1"], "weights", "at least 0"),
    ],
)
def test_wrong_objectives_are_refused(ask: Any, options: list[str], field: str, allowed: str) -> None:
    error = ask("--no-run", *options).exception
    assert isinstance(error, InputError)
    assert field in str(error)
    assert allowed in str(error)


@pytest.mark.parametrize(
    ("text", "weights"), [("share=1,delay=0.2,drops=0.1", (1, 0.2, 0.1)), (" drops=2 , share=1", (1, 0, 2))]
)
def test_weights_are_read_by_name(text: str, weights: tuple[float, float, float]) -> None:
    assert parse_weights(text) == weights


@pytest.mark.parametrize("text", ["share", "share=x", "shares=1", "share=1,share=2", ""])
def test_wrong_weights_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--weights"):
        parse_weights(text)
