# SPDX-License-Identifier: Apache-2.0
"""The tuner in a notebook: sliders for the objective, the model's maps, and a button that runs the proposal."""

from __future__ import annotations

from typing import Any

from rdcnlab.app.tune import Answer, drawn, tuned
from rdcnlab.fields.errors import RdcnlabError
from rdcnlab.models import gaussian
from rdcnlab.models.gaussian import Predictor
from rdcnlab.models.tuner import BUFFER_KB, Objective

#: Places of numbers behind the point in texts.
_COLUMNS = ("outcome", "predicted", "low", "high", "unsure", "measured", "close", "inside")


def sliders(made: Predictor | None = None) -> Any:
    """Return a box of sliders and two outputs, for a notebook.

    Parameters
    ----------
    made : Predictor, optional
        The model; by default the shipped one.
    """
    import ipywidgets as widgets

    made = gaussian.best() if made is None else made
    rates, rtts = made.about["ranges"]["rate_gbps"], made.about["ranges"]["rtt_ms"]
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
    for each in (*inputs.values(), *weights):
        each.style.description_width = "10em"
        each.continuous_update = False
    button = widgets.Button(description="run the proposal")
    shown = widgets.Output()

    def update(*_: object, run: bool = False) -> None:
        values = {name: each.value for name, each in inputs.items()}
        with shown:
            shown.clear_output(wait=True)
            try:
                asked = Objective(**values, weights=tuple(each.value for each in weights))
                answer = tuned(asked, run=run, made=made)
            except RdcnlabError as error:
                print(error)
                return
            _show(answer, made)

    for each in (*inputs.values(), *weights):
        each.observe(update, "value")
    button.on_click(lambda _: update(run=True))
    update()
    return widgets.VBox([*inputs.values(), *weights, button, shown])


def _slider(widgets: Any, name: str, ends: list[float], wide: Any) -> Any:
    low, high = ends
    step = (high - low) / 40 or 1.0
    return widgets.FloatSlider(low, min=low, max=high, step=step, description=name, layout=wide)


def _show(answer: Answer, made: Predictor) -> None:
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
    if answer.doubt:
        print(f"The run is short for its errors: {answer.doubt}")
    if answer.proposal.unsure:
        print(f"The model is unsure of {', '.join(answer.proposal.unsure)}. Runs that would tell it most:")
        display(answer.suggested)
    display(drawn(made, answer.objective))
