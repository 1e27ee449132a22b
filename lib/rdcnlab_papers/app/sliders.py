# SPDX-License-Identifier: Apache-2.0
"""The tuner in a notebook: sliders for the objective, the model's maps, and a button that runs the proposal."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pandas as pd

from rdcnlab.app import outputs
from rdcnlab.fields.errors import RdcnlabError
from rdcnlab_papers.app.tune import Answer, maps, tune
from rdcnlab_papers.models import gaussian
from rdcnlab_papers.models.gaussian import Predictor
from rdcnlab_papers.models.physics import BUFFER_KB
from rdcnlab_papers.models.tuner import Objective

#: Columns of the table of outcomes, in order.
_COLUMNS = ("outcome", "predicted", "low", "high", "unsure", "measured", "close", "inside")


def sliders(predictor: Predictor | None = None) -> Any:
    """Return a box of sliders, a button and what they give, for a notebook.

    Parameters
    ----------
    predictor : Predictor, optional
        The model; by default the shipped one.
    """
    import ipywidgets as widgets

    predictor = gaussian.best() if predictor is None else predictor
    rates, rtts = predictor.about["ranges"]["rate_gbps"], predictor.about["ranges"]["rtt_ms"]
    wide = widgets.Layout(width="28em")
    inputs = {
        "rate_gbps": _slider(widgets, "rate [Gb/s]", rates, wide),
        "rtt_ms": _slider(widgets, "RTT of CUBIC [ms]", rtts, wide),
        "buffer_kB": widgets.IntSlider(BUFFER_KB, 200, BUFFER_KB, 100, description="buffer [kB]", layout=wide),
        "share": widgets.FloatSlider(50, min=0, max=100, step=5, description="share [%]", layout=wide),
    }
    weights = [
        widgets.FloatSlider(value, min=0, max=1, step=0.05, description=f"weight of {name}", layout=wide)
        for name, value in (("share", 1.0), ("delay", 0.2), ("drops", 0.1))
    ]
    for widget in (*inputs.values(), *weights):
        widget.style.description_width = "10em"
        widget.continuous_update = False
    button = widgets.Button(description="run the proposal")
    shown = widgets.Output()

    def update(*_: object, run: bool = False) -> None:
        values = {name: widget.value for name, widget in inputs.items()}
        if run:
            shown.outputs = (outputs.text("The proposal is being run; this takes about a minute."),)
        try:
            objective = Objective(**values, weights=tuple(widget.value for widget in weights))
            shown.outputs = tuple(_shown(tune(objective, run=run, predictor=predictor), predictor))
        except RdcnlabError as error:
            shown.outputs = (outputs.text(str(error)),)

    for widget in (*inputs.values(), *weights):
        widget.observe(update, "value")
    button.on_click(lambda _: update(run=True))
    update()
    return widgets.VBox([*inputs.values(), *weights, button, shown])


def _slider(widgets: Any, name: str, ends: list[float], wide: Any) -> Any:
    low, high = ends
    step = (high - low) / 40 or 1.0
    return widgets.FloatSlider(low, min=low, max=high, step=step, description=name, layout=wide)


def _shown(answer: Answer, predictor: Predictor) -> Iterator[outputs.Stored]:
    """Yield what is shown of an answer."""
    rows = pd.DataFrame(answer.rows())
    at = rows.iloc[0]
    red = "drop-tail" if at["min_kB"] == at["max_kB"] else f"early drop from {at['min_kB']:g} kB"
    yield outputs.text(
        f"ECN threshold {at['ecn_kB']:g} kB, drop threshold {at['max_kB']:g} kB, {red}; cost {answer.proposal.cost:.3f}"
    )
    yield outputs.table(rows[[name for name in _COLUMNS if name in rows]].set_index("outcome").round(1))
    doubts = answer.doubts()
    if doubts:
        yield outputs.text("\n".join(doubts))
    if len(answer.suggested):
        yield outputs.text("The most useful further runs:")
        yield outputs.table(answer.suggested)
    png = base64.b64encode(maps(predictor, answer.objective)._repr_png_()).decode()
    yield outputs.display(
        {"image/png": png, "text/plain": "share of CUBIC, its uncertainty and cost over both thresholds"}
    )
