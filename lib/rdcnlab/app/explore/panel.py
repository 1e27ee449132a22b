# SPDX-License-Identifier: Apache-2.0
"""The widgets of the explorer."""

from __future__ import annotations

import base64
import html
import threading
from dataclasses import replace
from typing import Any, get_args
from urllib.parse import quote

import ipywidgets as widgets
import pandas as pd

from rdcnlab.analysis.show.picture import image
from rdcnlab.analysis.show.ways import Shown as Pictured
from rdcnlab.app import outputs
from rdcnlab.app.explore import keep
from rdcnlab.app.explore.choice import TIMES, TRANSPORTS, Choice, own_sizes
from rdcnlab.app.explore.curves import MOST, Shown, image_of, means, starved
from rdcnlab.app.explore.job import Job
from rdcnlab.app.explore.places import MOVES, PLACES, STILL
from rdcnlab.engines import get_engine
from rdcnlab.fields.errors import RdcnlabError
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.kinds import EngineKind, SwitchKind
from rdcnlab.system import limits

_WIDE, _DESCRIPTION = "27em", "13em"
#: Space between the columns of the table; words begin at the left, and numbers end at the right.
_TABLE = """<style>
.rdcnlab-means {font-size: 92%}
.rdcnlab-means td, .rdcnlab-means th {padding: 0 0.35em; line-height: 1.6; white-space: nowrap; text-align: right}
.rdcnlab-means :is(td, th):nth-child(-n+3) {text-align: left}
</style>"""
#: Widgets are as wide as their column without their margins. On a phone the name of a menu or a file is above it,
#: because the words of a menu need the whole width; that of a number or a slider is beside it.
_NARROW = """<style>
.rdcnlab-explore .widget-inline-hbox {max-width: calc(100% - 4px) !important}
@media (max-width: 600px) {
.rdcnlab-explore .widget-inline-hbox {height: auto; align-items: center}
.rdcnlab-explore .widget-label {min-width: 0; width: 8.5em !important; height: auto; white-space: normal;
  line-height: 1.1}
.rdcnlab-explore :is(.widget-dropdown, .widget-text:has([type=text])) {flex-wrap: wrap}
.rdcnlab-explore :is(.widget-dropdown, .widget-text:has([type=text])) .widget-label {width: 100% !important;
  text-align: left; margin-top: 0.5em}
.rdcnlab-explore :is(select, [type=text]) {flex-basis: 100%; height: var(--jp-widgets-inline-height)}
}</style>"""
#: Decimals of its columns.
_DECIMALS = {"goodput [Gb/s]": 2, "least": 2, "most": 2, "RTT [ms]": 3, "retransmits": 1}
#: Most problems of one choice that are shown: a network of many links has the same one many times.
_PROBLEMS = 2


class Panel:
    """All widgets, and the questions that were run in this session.

    Parameters
    ----------
    store : Store
        Where runs are stored.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.job: Job | None = None
        #: Runs of this session, in the order of their clicks, and what was chosen for each.
        self.history: list[Shown] = []
        self.choices: list[Choice] = []
        self._lock = threading.RLock()
        self._filling = self._offering = self._refused = False
        self._last_place = ""
        self.inputs = _inputs()
        #: Why the choice cannot be run; and what the runs do.
        self.refusal, self.words, self.progress = _line(), _line(), _bar()
        self.run = _button("run", "Run the scenario with all seeds", "primary")
        self.stop = _button("stop", "End the runs in progress")
        self.stop.disabled = True
        self.earlier = widgets.SelectMultiple(
            description="compare with", options=(), rows=3, layout=widgets.Layout(width="auto", display="none")
        )
        self.earlier.style.description_width = "7em"
        self.file = _styled(widgets.Text("explored.yaml", description="file"))
        self.save = _button("save as YAML", "Write the scenario to the file")
        self.book = _button("open as a notebook", "Write a notebook that runs and draws the scenario")
        self.kept = widgets.Output()
        #: What the network's own buffer and marks are, and which choice the figure shows.
        self.usual, self.caption = _line(), widgets.HTML()
        self.picture, self.figure, self.table = widgets.HTML(), widgets.HTML(), widgets.HTML()
        self._connect()
        self.box = self._arranged()
        self._place_changed()

    # Layout ------------------------------------------------------------------------------------------------------

    def _arranged(self) -> Any:
        rows = widgets.Layout(flex_flow="row wrap", align_items="center")
        asked = widgets.VBox(
            [
                *(part for name, widget in self.inputs.items() for part in self._with_hint(name, widget)),
                self.refusal,
                widgets.HBox([self.run, self.stop], layout=rows),
                self.progress,
                self.words,
                self.file,
                widgets.HBox([self.save, self.book], layout=rows),
                self.kept,
            ],
            layout=widgets.Layout(width="28em", max_width="100%"),
        )
        # before the first run the network is beside the widgets that change it, later below the curves
        answer = widgets.VBox(
            [self.caption, self.figure, self.table, self.earlier, self.picture],
            layout=widgets.Layout(flex="1 1 30em", min_width="min(20em, 100%)", overflow="auto"),
        )
        box = widgets.HBox([widgets.HTML(_NARROW), asked, answer], layout=widgets.Layout(flex_flow="row wrap"))
        box.add_class("rdcnlab-explore")
        return box

    def _with_hint(self, name: str, widget: Any) -> list[Any]:
        """Return a widget, and what is written below it."""
        return [widget, self.usual] if name == "ecn_kB" else [widget]

    # Events ------------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        self.inputs["place"].observe(lambda _: self._place_changed(), "value")
        for name, widget in self.inputs.items():
            if name != "place":
                widget.observe(lambda _: self._changed(), "value")
        self.run.on_click(lambda _: self._start())
        self.stop.on_click(lambda _: self._end())
        self.earlier.observe(lambda _: self._draw(), "value")
        self.save.on_click(lambda _: self._keep(notebook=False))
        self.book.on_click(lambda _: self._keep(notebook=True))

    def choice(self) -> Choice:
        """Return what the widgets say."""
        return Choice(**{name: widget.value for name, widget in self.inputs.items()})

    def _place_changed(self) -> None:
        """Offer what the network has, and set its usual times."""
        place = PLACES[self.inputs["place"].value]
        self.picture.value = ""  # that of the new network takes a moment
        self._filling = True
        try:
            self.inputs["timetable"].options = place.timetables
            self.inputs["flows"].max = place.most
            for name in ("slot_ms", "dark_ms", "limit_ms"):
                self.inputs[name].value = getattr(place, name)
        finally:
            self._filling = False
        self._changed()

    def _changed(self) -> None:
        """Show the scenario, or why there is none."""
        if self._filling:
            return
        timetable = self.inputs["timetable"].value
        for name, word in zip(("slot_ms", "dark_ms"), TIMES.get(timetable, TIMES[MOVES]), strict=True):
            self.inputs[name].disabled = timetable == STILL
            self.inputs[name].description = f"{word} [ms]"
        self._forget()
        try:
            scenario = self._scenario()
        except RdcnlabError as error:
            self._refuse(error)
            return
        self._refuse(None)
        self.usual.value = _said("note", self._own(), bad=False)
        said = f"Network and timetable: {self.choice().title()}"
        self.picture.value = _img(image(Pictured.of(scenario), "png"), said, "46em")

    def _scenario(self) -> Scenario:
        """Return the scenario of the choice.

        Raises
        ------
        RdcnlabError
            The choice makes no scenario, or its engine cannot run it.
        """
        scenario = self.choice().scenario()
        get_engine(scenario).identity()
        return scenario

    def _own(self) -> str:
        """Say which buffer and marks the network has by itself."""
        scenario = replace(self.choice(), buffer_kB=0.0, ecn_kB=0.0).scenario()
        buffers, marks = own_sizes(scenario)
        return f"0 leaves the network's own: {buffers}; {marks}"

    def _forget(self) -> None:
        """Take away what is said of earlier runs that are not those of the choice, unless runs are in progress."""
        if self.job is not None and self.job.ended:
            self.words.value, self.progress.value, self.progress.bar_style = "", 0.0, "info"
        with self._lock:
            self._caption()
            if self.choices and self.choices[-1].place != self.choice().place:
                self.figure.value = self.table.value = ""
                self.earlier.layout.display = "none"
            elif self.choices and not self.figure.value:
                self._offer()
                self._draw()

    def _caption(self) -> None:
        """Say which choice the figure shows."""
        if not self.choices or self.choices[-1].place != self.choice().place:
            self.caption.value = ""
            return
        message = f"Curves of {self.history[-1].label}."
        if self.choices[-1] != self.choice():
            message += " The choice has changed since: press run for its curves."
        self.caption.value = _said("note", message, bad=False)

    def _refuse(self, error: RdcnlabError | None) -> None:
        """Show why the choice cannot be run, or that it can."""
        lines = str(error).split("\n") if error else []
        more = [f"and {len(lines) - _PROBLEMS} more of this kind"] if len(lines) > _PROBLEMS else []
        self.refusal.value = _said("alert", "\n".join(lines[:_PROBLEMS] + more), bad=True)
        self._refused = error is not None
        self._enable()

    def _enable(self) -> None:
        """Enable the buttons that can do something."""
        runs = self.job is not None and not self.job.ended
        self.run.disabled, self.stop.disabled = runs or self._refused, not runs
        self.save.disabled = self.book.disabled = self._refused

    def _start(self) -> None:
        if self.run.disabled:  # a second click came before the browser knew
            return
        choice = self.choice()
        if choice.place != self._last_place:
            self.earlier.value = ()  # what was compared in another network says little here
        self._last_place = choice.place
        index = len(self.history)
        label = f"{index + 1}: {choice.title()}"

        def changed(job: Job) -> None:
            self._progress(job, index, label, choice)

        self.job = Job(choice.scenarios(), self.store, limits.cores(), changed)
        self._enable()
        self.job.start()

    def _end(self) -> None:
        if self.job is not None:
            self.job.stop()

    def _progress(self, job: Job, index: int, label: str, choice: Choice) -> None:
        with self._lock:
            count = len(job.runs)
            self.progress.value = job.share
            self.progress.bar_style = {"done": "success", "failed": "danger"}.get(job.state, "info")
            words = [f"{job.state}, {count} of {len(job.scenarios)} runs, {job.wall_s:.1f} s", job.note]
            if choice != self.choice():
                words.append(f"runs of an earlier choice, {label}")
            text = "; ".join(word for word in words if word)
            self.words.value = _said("status", text, bad=job.state == "failed")
            known = len(self.history[index].runs) if index < len(self.history) else 0
            if count > known:
                self.history[index:], self.choices[index:] = [Shown(label, job.runs)], [choice]
                if choice.place == self.choice().place:
                    self._offer()
                    self._draw()
            self._enable()

    def _offer(self) -> None:
        """Offer all runs but the last ones to compare with."""
        before, chosen = self.history[:-1], self.earlier.value
        self._offering = True
        try:
            self.earlier.options = [(each.label, number) for number, each in enumerate(before)]
            self.earlier.value = chosen
        finally:
            self._offering = False
        self.earlier.layout.display = None if before else "none"

    def _draw(self) -> None:
        """Draw the last runs, and with them those that were chosen to compare with."""
        with self._lock:
            if self._offering or not self.history:
                return
            shown = [self.history[-1], *(self.history[number] for number in self.earlier.value)][:MOST]
            short = [Shown(each.label.split(":")[0], each.runs) for each in shown]
            png, words = image_of(short)
            self._caption()
            self.figure.value = _img(png, words, "46em")
            rows = means(short)
            for column, decimals in _DECIMALS.items():
                rows[column] = ["" if pd.isna(value) else f"{value:.{decimals}f}" for value in rows[column]]
            table = rows.to_html(index=False, border=0, classes="rdcnlab-means")
            warnings = "".join(_said("note", f"Run {words}", bad=True) for words in starved(short))
            # a phone is narrower than the table
            self.table.value = f'{_TABLE}<div style="overflow-x:auto">{table}</div>{warnings}'

    def _keep(self, *, notebook: bool) -> None:
        choice = self.choice()
        try:
            scenario = self._scenario()
            if notebook:
                path = keep.save_notebook(scenario, choice.title(), choice.runs, self.file.value)
                message = f"[open {path.name}]({quote(path.as_posix())})"
            else:
                path = keep.save(scenario, self.file.value)
                message = f"wrote `{path}`"
        except (RdcnlabError, OSError) as error:
            message = f"`{error}`"
        # an output of its own, because Jupyter makes links to files work there
        data = {"text/markdown": message, "text/plain": message}
        self.kept.outputs = (outputs.display(data),)


def _inputs() -> dict[str, Any]:
    places = [(place.label, name) for name, place in PLACES.items()]
    transports = list(TRANSPORTS)
    return {
        "place": _menu("network", places),
        "first": _menu("first transport", transports),
        "second": _menu("second transport", transports),
        "flows": _slider("flows of each group", 1, 1, 8),
        "timetable": _menu("timetable", PLACES["aykurt"].timetables),
        "slot_ms": _number("slot [ms]", 10.0, 1.0),
        "dark_ms": _number("dark [ms]", 0.0, 0.1),
        "buffer_kB": _number("buffer [kB]", 0.0, 50.0),
        "ecn_kB": _number("ECN marks above [kB]", 0.0, 10.0),
        "switch": _menu("switch", list(get_args(SwitchKind))),
        "engine": _menu("engine", list(get_args(EngineKind))),
        "limit_ms": _number("length of a run [ms]", 200.0, 50.0),
        "runs": _slider("runs", 3, 1, 10),
    }


def _styled(widget: Any) -> Any:
    widget.layout.width, widget.layout.max_width = _WIDE, "100%"  # a phone is narrower
    widget.style.description_width = _DESCRIPTION
    return widget


def _menu(name: str, options: Any) -> Any:
    return _styled(widgets.Dropdown(description=name, options=options))


def _slider(name: str, value: int, low: int, high: int) -> Any:
    return _styled(widgets.IntSlider(value, low, high, description=name, continuous_update=False))


def _number(name: str, value: float, step: float) -> Any:
    # not a bounded one: that takes another number without a word
    return _styled(widgets.FloatText(value, step=step, description=name))


def _button(name: str, says: str, style: str = "") -> Any:
    return widgets.Button(description=name, tooltip=says, button_style=style, layout=widgets.Layout(width="auto"))


def _line() -> Any:
    return widgets.HTML(layout=widgets.Layout(width=_WIDE, max_width="100%"))


def _said(role: str, message: str, *, bad: bool) -> str:
    """Return words as HTML; by their role a screen reader reads them when they change."""
    # JupyterLab's red alone is too faint on its dark ground; with some of the text's colour it can be read on both
    red = "color-mix(in srgb, var(--jp-error-color0, #b00020) 70%, var(--jp-ui-font-color0, black))"
    color = red if bad else "inherit"
    lines = html.escape(message).replace("\n", "<br>")
    return f'<div role="{role}" style="line-height:1.35;color:{color}">{lines}</div>'


def _bar() -> Any:
    return _styled(widgets.FloatProgress(0.0, min=0.0, max=1.0, description="progress"))


def _img(png: bytes, words: str, width: str) -> str:
    data = base64.b64encode(png).decode()
    style = f"width:100%;max-width:{width};height:auto"
    return f'<img src="data:image/png;base64,{data}" alt="{html.escape(words)}" style="{style}">'
