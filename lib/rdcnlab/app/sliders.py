# SPDX-License-Identifier: Apache-2.0
"""The tuner in a notebook: sliders for the objective, the model's maps, and a button that runs the proposal."""

from __future__ import annotations

from typing import Any

from rdcnlab.app.tune import Answer, drawn, tuned
from rdcnlab.fields.errors import RdcnlabError
from rdcnlab.models import gaussian
from rdcnlab.models.gaussian import Predictor
from rdcnlab.models.physics import BUFFER_KB
from rdcnlab.models.tuner import Objective

#: Columns of the table of outcomes, in order.
_COLUMNS = ("outcome", "predicted", "low", "high", "unsure", "measured", "close", "inside")


def sliders(predictor: Predictor | None = None) -> Any:
    """Return a box of sliders and two outputs, for a notebook.

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
        with shown:
            shown.clear_output(wait=True)
            try:
                objective = Objective(**values, weights=tuple(widget.value for widget in weights))
                answer = tuned(objective, run=run, predictor=predictor)
            except RdcnlabError as error:
                print(error)
                return
            _show(answer, predictor)

    for widget in (*inputs.values(), *weights):
        widget.observe(update, "value")
    button.on_click(lambda _: update(run=True))
    update()
    return widgets.VBox([*inputs.values(), *weights, button, shown])


def _slider(widgets: Any, name: str, ends: list[float], wide: Any) -> Any:
    low, high = ends
    step = (high - low) / 40 or 1.0
    return widgets.FloatSlider(low, min=low, max=high, step=step, description=name, layout=wide)


def _show(answer: Answer, predictor: Predictor) -> None:
    import pandas as pd
    from IPython import display as notebook

    display: Any = notebook.display

    rows = pd.DataFrame(answer.rows())
    at = rows.iloc[0]
    red = "drop-tail" if at["min_kB"] == at["max_kB"] else f"early drop from {at['min_kB']:g} kB"
    print(
        f"ECN threshold {at['ecn_kB']:g} kB, drop threshold {at['max_kB']:g} kB, {red}; cost {answer.proposal.cost:.3f}"
    )
    display(rows[[name for name in _COLUMNS if name in rows]].set_index("outcome").round(1))
    for sentence in answer.doubts():
        print(sentence)
    if len(answer.suggested):
        print("The most useful further runs:")
        display(answer.suggested)
    display(drawn(predictor, answer.objective))
