# SPDX-License-Identifier: Apache-2.0
"""The time-line of a run: one HTML file with charts that can be zoomed, which works without a network.

The charts are drawn by uPlot, which is in the file. A curve keeps its extremes however many points are left out.
"""

from __future__ import annotations

import functools
import html
import json
import string
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.analysis import palettes
from rdcnlab.analysis.results.limits import limits
from rdcnlab.analysis.results.programs import Ran
from rdcnlab.analysis.results.reduce import extremes
from rdcnlab.analysis.results.series import Series, queue_name, total
from rdcnlab.analysis.show.paint import ink_on
from rdcnlab.runs.run import Run
from rdcnlab.scenario import DARK

Floats = npt.NDArray[np.float64]

#: Most points of a curve, and of all curves together: a file of 10 MB, which a browser draws in a blink.
MOST_POINTS, MOST_TOGETHER = 40_000, 600_000
#: Most events of a kind, most flows with a curve each, and most queues, the fullest.
MOST_EVENTS, MOST_FLOWS, MOST_QUEUES = 50_000, 40, 8
#: Most flows with rows of events of their own.
_ROWS = 6
_NIGHT = "#2B2B2B"
#: Colour of what has none, and number of queues without dashes.
_GREY, _SOLID = "#888888", 4


@dataclass(frozen=True)
class Timeline:
    """A run as a page that can be zoomed; a notebook shows it.

    Parameters
    ----------
    html : str
        The page. It fetches nothing.
    height : int
        Height in a notebook, in pixels.
    """

    html: str
    height: int

    def save(self, path: str | Path) -> Path:
        """Write the page to a file, and return its path."""
        target = Path(path)
        target.write_text(self.html, encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        page = html.escape(self.html, quote=True)
        return (
            f'<iframe srcdoc="{page}" title="time-line of a run" sandbox="allow-scripts" '
            f'style="width:100%;height:{self.height}px;border:1px solid #8884"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<time-line, {len(self.html) / 1e6:.1f} MB>"


def timeline(run: Run) -> Timeline:
    """Return the time-line of a run; see `rdcnlab.runs.run.Run.timeline`."""
    series = Series(run)
    series.check_traffic()
    content = data(series)
    rows = limits(run)
    scenario = run.scenario
    count, what = (len(series.programs), "program") if series.programs else (len(scenario.flows), "flow")
    about = f"{count} {what}{'s' * (count != 1)}, run {run.id[:12]}, virtual time to {series.end_s * 1e3:.6g} ms"
    if series.fold_s is not None:
        about += f"; each bin is the mean over all spans of {series.fold_s * 1e3:g} ms"
    if series.missing:
        about += f"; the shipped run has no table {', '.join(series.missing)}"
    page = string.Template(_static("timeline.html")).substitute(
        title=html.escape(f"{scenario.network.name}, seed {scenario.seed}"),
        about=html.escape(about),
        reduced=html.escape(content.pop("reduced")),
        license=_static("uPlot-LICENSE"),
        uplot_css=_static("uPlot.min.css"),
        css=_static("timeline.css"),
        flows=f'<h2>Flows</h2>\n<div class="wide">{_table(rows)}</div>' if len(rows) else "",
        uplot=_static("uPlot.iife.min.js"),
        # the text must not end the element
        data=json.dumps(content, separators=(",", ":")).replace("</", "<\\/"),
        script=_static("timeline.js"),
    )
    lanes = len(content["timetables"]) + len(content["programs"])
    panels = 235 * len(content["panels"]) + 18 * lanes + 15 * len(content["events"])
    return Timeline(page, min(1200, 330 + panels + 24 * min(len(rows), 10)))


@functools.cache
def _static(name: str) -> str:
    return (resources.files(__package__) / "static" / name).read_text(encoding="utf-8")


def _table(rows: pd.DataFrame) -> str:
    numbers = {"goodput_Gbps": "{:.3f}", "line_busy": "{:.1%}", "dark": "{:.1%}"}
    cells = {name: [form.format(value) for value in rows[name]] for name, form in numbers.items()}
    texts = rows.assign(**{name: [text.replace("nan%", "") for text in column] for name, column in cells.items()})
    names = {"goodput_Gbps": "goodput [Gb/s]", "line_busy": "fullest line", "limited_by": "limited by"}
    return str(texts.rename(columns=names).to_html(index=False, border=0, na_rep=""))


def data(series: Series) -> dict[str, Any]:
    """Return the content of the page: times in ms, rates in Gb/s, windows and queues in kB."""
    timetables = {
        name: [[slot.begin_s * 1e3, slot.end_s * 1e3, slot.target.partition("@")[0]] for slot in slots]
        for name, slots in series.timetables.items()
    }
    targets = [str(name) for name in dict.fromkeys(span[2] for spans in timetables.values() for span in spans)]
    shown = {target: _NIGHT if target == DARK else series.link_colors.get(target, _GREY) for target in targets}
    # pairs of hosts whose programs sent nothing are none
    of_scenario = {flow.name for flow in series.scenario.flows}
    flows = [flow for flow in series.flows if flow in of_scenario or flow in series.rates][:MOST_FLOWS]
    many = len(series.rates) > MOST_FLOWS
    rates = {"all flows": total(series.rates.values())} if many else series.rates
    curves = [
        (f"{series.rate_name} [Gb/s]", [_bins(series, name, values) for name, values in rates.items()], None),
        (
            "congestion window [kB]",
            [_samples(series, flow, *series.windows[flow], 1e3) for flow in flows if flow in series.windows],
            None,
        ),
        ("queue, largest in each bin [kB]", *_queues(series)),
        (
            "smoothed RTT [ms]",
            [_samples(series, flow, *series.rtts[flow], 1e3) for flow in flows if flow in series.rtts],
            None,
        ),
    ]
    panels = [{"title": title, "series": drawn, "limit": limit} for title, drawn, limit in curves if drawn]
    before, after = _reduce(panels)
    messages = []
    if after < before:
        messages.append(
            f"Of {before:,} points the file has {after:,}: of neighbours the first, last, least and largest."
        )
    if len(series.flows) > MOST_FLOWS:
        messages.append(f"Windows and RTTs are those of the first {MOST_FLOWS} of {len(series.flows)} flows.")
    if len(series.queues) > MOST_QUEUES:
        messages.append(f"The {MOST_QUEUES} fullest of {len(series.queues)} queues are shown.")
    return {
        "end_ms": series.end_s * 1e3,
        "flows": [{"name": name, "color": _color(series, name)} for name in (rates if many else flows)],
        "timetables": [{"name": name, "spans": spans} for name, spans in timetables.items()],
        "programs": [{"name": one.name, "spans": [_ran(series, one)]} for one in series.programs],
        "colors": shown,
        "inks": {target: ink_on(color) for target, color in shown.items()},
        "nights": [[begin * 1e3, end * 1e3] for begin, end in series.nights],
        "moved": _moved(timetables),
        "panels": panels,
        "events": _events(series),
        "kinds": [
            ["lost", palettes.LOST],
            ["retransmitted", palettes.AGAIN],
            ["marked with ECN, in a bin", palettes.MARKED],
        ],
        "reduced": " ".join(messages),
    }


def _ran(series: Series, program: Ran) -> list[Any]:
    """Return begin and end of a program in ms, and its command."""
    end_s = series.end_s if program.end_s is None else program.end_s
    return [program.begin_s * 1e3, end_s * 1e3, program.command]


def _moved(timetables: dict[str, list[list[Any]]]) -> list[list[float]]:
    """Return the spans in which the first timetable has another target than at its begin."""
    spans = next(iter(timetables.values()), [])
    return [span[:2] for span in spans if span[2] != spans[0][2]]


def _color(series: Series, name: str) -> str:
    return series.colors.get(name, palettes.FLOWS[0])


def _bins(series: Series, name: str, values: Floats, **more: Any) -> dict[str, Any]:
    """Return a curve of bins; it ends with the last bin."""
    t = np.arange(len(values) + 1) * series.bin_s * 1e3
    look = {"name": name, "flow": name, "color": _color(series, name), **more}
    return {**look, "t": t, "y": np.append(values, values[-1:])}


def _samples(series: Series, flow: str, t_s: Floats, values: Floats, unit: float) -> dict[str, Any]:
    look = {"name": flow, "flow": flow, "color": _color(series, flow)}
    return {**look, "t": t_s * 1e3, "y": values / unit}


def _queues(series: Series) -> tuple[list[dict[str, Any]], float | None]:
    """Return the curves of the fullest queues, and their limit in kB if it is the same and was nearly reached.

    A link has the colour that it has in timetables.
    """
    fullest = series.fullest[:MOST_QUEUES]
    curves = []
    for index, link in enumerate(sorted(fullest)):
        dash = [] if index < _SOLID else [4, 3]
        color = series.link_colors.get(link.partition("@")[0], _GREY)
        values = series.queues[link].max_B / 1e3
        curves.append(_bins(series, queue_name(link), values, color=color, dash=dash) | {"flow": f"queue {link}"})
    limits = {series.limits_B.get(link) for link in fullest}
    limit = limits.pop() if len(limits) == 1 else None
    if limit is None or max(float(series.queues[link].max_B.max()) for link in fullest) < limit / 2:
        return curves, None
    return curves, limit / 1e3


def _reduce(panels: list[dict[str, Any]]) -> tuple[int, int]:
    """Leave out points of long curves, keep extremes, and turn arrays into lists; return both numbers of points."""
    curves = [curve for panel in panels for curve in panel["series"]]
    before = sum(len(curve["t"]) for curve in curves)
    most = max(400, min(MOST_POINTS, MOST_TOGETHER // max(1, len(curves))))
    for curve in curves:
        kept = extremes(curve["y"], most)
        t, y = curve["t"][kept], curve["y"][kept]
        # a time has whole ns; of a value six digits are drawn
        curve["t"] = np.round(t, 6).tolist()
        curve["y"] = [None if np.isnan(value) else float(f"{value:.6g}") for value in y]
    return before, sum(len(curve["t"]) for curve in curves)


def _events(series: Series) -> list[dict[str, Any]]:
    """Return the rows of losses and retransmissions of each flow, or of all if there are many, and of marks."""
    flows: list[str | None] = list(series.flows) if len(series.flows) <= _ROWS else [None]
    rows = []
    for flow in flows:
        for name, table, color in (
            ("lost", series.losses, palettes.LOST),
            ("retransmitted", series.retransmissions, palettes.AGAIN),
        ):
            of_flow = table if flow is None else table[table["flow"] == flow]
            of = "all flows" if flow is None else flow
            times = _instants(of_flow["t_ns"].to_numpy(np.float64) / 1e6)
            rows.append({"name": f"{of} {name}", "of": of, "flow": flow, "color": color, "t": times})
    for link, queue in series.queues.items():
        marked = np.flatnonzero(queue.marks) * series.bin_s * 1e3
        rows.append(
            {"name": f"{link} marked", "of": link, "flow": None, "color": palettes.MARKED, "t": _instants(marked)}
        )
    return [row for row in rows if row["t"]]


def _instants(t_ms: npt.ArrayLike) -> list[float]:
    """Return instants in ms, in rising order; of more than can be told apart, one for each span that can be."""
    times = np.sort(np.asarray(t_ms, dtype=np.float64))
    if len(times) > MOST_EVENTS:
        step = (times[-1] - times[0]) / MOST_EVENTS
        times = times[np.unique(np.floor((times - times[0]) / step), return_index=True)[1]]
    return [float(value) for value in np.round(times, 6)]
