# SPDX-License-Identifier: Apache-2.0
"""The tuner's sliders, with a model of outcomes of a formula."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from ipywidgets import Button
from nbclient import NotebookClient

from rdcnlab_papers.app import sliders, tune
from rdcnlab_papers.models import gaussian
from tests.papers.models.test_buffers import rows

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def made() -> gaussian.Predictor:
    return gaussian.predictor(rows(70, noise=0.02))


def _words(box: Any) -> str:
    return "\n".join(each.get("text") or each["data"]["text/plain"] for each in box.children[-1].outputs)


def test_a_slider_changes_what_is_proposed(made: gaussian.Predictor) -> None:
    box = sliders.sliders(made)
    before = box.children[-1].outputs
    assert [output["output_type"] for output in before[:2]] == ["stream", "display_data"]
    assert "image/png" in before[-1]["data"]
    share = next(child for child in box.children if child.description.startswith("share"))
    share.value = 20
    assert box.children[-1].outputs[0] != before[0]


def test_an_objective_of_nothing_is_refused_where_the_answer_would_be(made: gaussian.Predictor) -> None:
    box = sliders.sliders(made)
    for child in box.children[:-1]:
        if child.description.startswith("weight"):
            child.value = 0
    assert "weights" in _words(box)
    assert len(box.children[-1].outputs) == 1


def test_the_button_runs_the_proposal_and_says_so_at_once(
    made: gaussian.Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    box, asked, said = sliders.sliders(made), [], []

    def tune_(objective: Any, *, run: bool, predictor: gaussian.Predictor) -> tune.Answer:
        asked.append(run)
        said.append(_words(box))
        return tune.tune(objective, run=False, predictor=predictor)

    monkeypatch.setattr(sliders, "tune", tune_)
    next(child for child in box.children if isinstance(child, Button)).click()
    assert asked == [True]
    assert "being run" in said[0]
    assert "ECN threshold" in _words(box)


def test_nothing_is_captured_while_a_cell_runs() -> None:
    """nbclient answers captured outputs on the channel of the cell's reply, and may then never see the reply."""
    hooks = []

    class Client(NotebookClient):
        def register_output_hook(self, msg_id: str, hook: Any) -> None:
            hooks.append(msg_id)
            super().register_output_hook(msg_id, hook)

    code = (
        "from rdcnlab_papers.app.sliders import sliders\n"
        "from rdcnlab_papers.models import gaussian\n"
        "from tests.papers.models.test_buffers import rows\n"
        "sliders(gaussian.predictor(rows(70, noise=0.02)))"
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    Client(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}).execute()
    assert "application/vnd.jupyter.widget-view+json" in book.cells[0].outputs[-1]["data"]
    assert hooks == []
