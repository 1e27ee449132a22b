# SPDX-License-Identifier: Apache-2.0
"""A run as an animated picture: links, rates and windows of its flows, and the queues, over time.

Every frame shows the run's tables up to one instant and nothing else. Each point is a mean over one step of the film,
or the value at its end.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from rdcnlab.analysis import binned, figures, palettes, sampled, timetables
from rdcnlab.fields.errors import InputError
from rdcnlab.runs.run import Run
from rdcnlab.scenario import DARK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]

#: Numbers of flows and of links that stay readable.
MOST_FLOWS, MOST_LINKS = 4, 4
#: Cycles of the longest timetable in a film, frames in it, and milliseconds that a frame and the last one are shown.
CYCLES, FRAMES, FRAME_MS, LAST_MS = 5, 100, 90, 2500
#: Size in inches and pixels an inch: as wide as the text of a README.
SIZE, DPI = (8.2, 4.6), 100
#: Colours of a film. Flat areas and thin lines need no more, and each halving makes the file smaller.
COLORS = 64


@dataclass(frozen=True)
class Scenes:
    """The numbers of a film.

    Parameters
    ----------
    t_s : ndarray, shape (n,)
        End of each step from the start of the scenario, in s.
    target : dict of str to ndarray of str, shape (n,)
        For each flow the link that it is on at the end of each step, or ``dark``.
    rate_bps, cwnd_B : dict of str to ndarray, shape (n,)
        For each flow its payload per second in each step, and its congestion window at the end of each step.
    queue_B : dict of str to ndarray, shape (n,)
        For each link the mean number of bytes that wait for it in each step.
    colors : dict of str to str
        The colour of each flow.
    """

    t_s: Floats
    target: Mapping[str, npt.NDArray[np.str_]]
    rate_bps: Mapping[str, Floats]
    cwnd_B: Mapping[str, Floats]  # noqa: N815  (unit)
    queue_B: Mapping[str, Floats]  # noqa: N815
    colors: Mapping[str, str]


def scenes(run: Run) -> Scenes:
    """Compute the numbers of a film of a run.

    Raises
    ------
    InputError
        The run has no flows, or too many flows or links for a picture, or its bins are folded.
    """
    scenario = run.scenario
    flows = [flow.name for flow in scenario.flows]
    if not flows:
        reason = "the run has programs only, whose traffic has no windows to show; `rdcnlab plot` draws what they send"
        raise InputError.of("flows", len(flows), f"1 to {MOST_FLOWS} flows in a film", reason=reason)
    if len(flows) > MOST_FLOWS:
        raise InputError.of("flows", len(flows), f"at most {MOST_FLOWS} flows in a film")
    if scenario.probes.fold is not None:
        raise InputError.of("probes.fold", scenario.probes.fold, "a run whose bins are not folded, for a film")
    step = _step_ns(run)
    count = min(FRAMES, int(_end_ns(run) // step))
    ends = step * np.arange(1, count + 1, dtype=np.int64)
    # just before the end, so that the slot is that of the step
    target = {flow: timetables.targets(scenario, flow, ends - 1) for flow in flows}
    links = [name for name in dict.fromkeys(np.concatenate(list(target.values())).tolist()) if name != DARK]
    if len(links) > MOST_LINKS:
        raise InputError.of("links", ", ".join(links), f"flows that use at most {MOST_LINKS} links in a film")
    throughput = run.table("throughput").to_pandas().assign(run=0)
    rates = binned.rates(throughput, scenario.probes.bin, step, receiver=True)
    rate = {flow: _padded(count, rates.loc[rates["flow"] == flow, "rate_bps"]) for flow in flows}
    tcp = run.table("tcp").to_pandas()
    window = {}
    for flow in flows:
        of_flow = tcp[tcp["flow"] == flow]
        window[flow] = sampled.at(
            of_flow["t_ns"].to_numpy(float), of_flow["cwnd_B"].to_numpy(float), ends.astype(float)
        )
    queue = {link: _queue(run, link, step, count) for link in links}
    colors = palettes.of_flows({flow.name: flow.cc for flow in scenario.flows})
    return Scenes(ends / 1e9, target, rate, window, queue, colors)


def _step_ns(run: Run) -> int:
    """Return the length of a step: whole bins, so that the film has some cycles of the longest timetable."""
    cycles = [sum(slot.duration for slot in run.scenario.timetable(flow)[0]) for flow in run.scenario.flows]
    length = min(CYCLES * max(cycles), _end_ns(run)) or _end_ns(run)
    return max(round(length / FRAMES / run.scenario.probes.bin), 1) * run.scenario.probes.bin


def _end_ns(run: Run) -> int:
    """Return the end of the last bin with traffic."""
    bins = run.table("throughput").column("bin").to_numpy()
    return (int(bins.max()) + 1) * run.scenario.probes.bin if len(bins) else run.scenario.probes.bin


def _padded(count: int, values: Any) -> Floats:
    """Return the first values; a flow that has ended has none, and its rate is zero."""
    head = np.asarray(values, dtype=np.float64)[:count]
    return np.pad(head, (0, count - len(head)))


def _queue(run: Run, link: str, step: int, count: int) -> Floats:
    """Return the mean length of a link's queue in each step. A bin without a row had an empty queue."""
    frame = run.table("queues").to_pandas()
    frame = frame[frame["link"] == link]
    bins = np.zeros(count * (step // run.scenario.probes.bin))
    inside = frame[frame["bin"] < len(bins)]
    bins[inside["bin"].to_numpy()] = inside["mean_B"].to_numpy()
    return np.asarray(bins.reshape(count, -1).mean(axis=1))


def film(run: Run) -> bytes:
    """Return a run as an animated PNG that repeats for ever.

    Parameters
    ----------
    run : Run
        A run with its tables ``throughput``, ``queues`` and ``tcp``; at most four flows on at most four links.

    Raises
    ------
    InputError
        The run has no flows, or too many flows or links for a picture, or its bins are folded.
    RunError
        A table was not shipped.
    """
    pictures = list(_frames(scenes(run)))
    buffer = io.BytesIO()
    durations = [FRAME_MS] * (len(pictures) - 1) + [LAST_MS]
    # programs that show no animation show the default image, which is the last frame: it has everything
    pictures[-1].save(
        buffer,
        "PNG",
        save_all=True,
        append_images=pictures,
        default_image=True,
        duration=durations,
        loop=0,
        optimize=True,
    )
    return buffer.getvalue()


def _frames(scenes: Scenes) -> Iterator[Image.Image]:
    """Yield the frames, all with the colours of the last one, which shows everything."""
    with figures.style():
        stage = _Stage(scenes)
        last = stage.frame(len(scenes.t_s) - 1).quantize(COLORS, dither=Image.Dither.NONE)
        for number in range(len(scenes.t_s) - 1):
            yield stage.frame(number).quantize(palette=last, dither=Image.Dither.NONE)
        yield last


class _Stage:
    """The figure of a film, whose artists change from frame to frame."""

    def __init__(self, scenes: Scenes) -> None:
        self.scenes = scenes
        self.figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
        self.canvas = FigureCanvasAgg(self.figure)
        colors = palettes.of_links(scenes.queue_B)
        self.link_colors = {link: colors[link] for link in scenes.queue_B}
        panels = self.figure.subplots(4, 1, sharex=True, height_ratios=[1.0, 1.3, 1.3, 1.3])
        self.t_ms = scenes.t_s * 1e3
        # begin and end of each step
        self.edges_ms = np.stack([np.append(0, self.t_ms[:-1]), self.t_ms], axis=1).ravel()
        lanes, rate, window, queue = panels
        self._lanes(lanes)
        rate_curves = self._curves(rate, scenes.rate_bps, 1e-9, "goodput\n[Gb/s]")
        rate.legend(loc="lower right", ncols=len(scenes.rate_bps), fontsize=7)
        self.curves = [
            *rate_curves,
            *self._curves(window, scenes.cwnd_B, 1e-6, "window\n[MB]"),
            *self._queues(queue),
        ]
        self.cursors = [ax.axvline(0, color="#333333", linewidth=0.8) for ax in panels]
        panels[-1].set_xlabel("virtual time [ms]")
        panels[-1].set_xlim(0, self.t_ms[-1])
        self.title = self.figure.suptitle("", fontsize=10, family="monospace")
        self.figure.align_ylabels(panels)

    def _lanes(self, ax: Axes) -> None:
        """One row a flow, and in it bars in the colours of the links that it is on; no bar where it is dark."""
        flows = list(self.scenes.target)
        self.spans: list[tuple[Any, Floats]] = []
        for row, flow in enumerate(flows):
            for link, color in self.link_colors.items():
                is_on_link = self.scenes.target[flow] == link
                (line,) = ax.plot([], [], color=color, linewidth=22 / len(flows), solid_capstyle="butt", label=link)
                self.spans.append((line, np.repeat(np.where(is_on_link, row, np.nan), 2)))
        ax.set(ylim=(len(flows) - 0.45, -0.55), yticks=range(len(flows)), yticklabels=flows, ylabel="flow is\non link")
        for label, flow in zip(ax.get_yticklabels(), flows, strict=True):
            label.set_color(self.scenes.colors[flow])
        ax.tick_params(axis="y", length=0)
        ax.grid(visible=False)

    def _curves(self, ax: Axes, values: Mapping[str, Floats], scale: float, label: str) -> list[tuple[Any, Floats]]:
        curves = []
        for flow, series in values.items():
            (line,) = ax.plot([], [], color=self.scenes.colors[flow], label=flow, linewidth=1.4)
            curves.append((line, series * scale))
        _axis(ax, [series for _, series in curves], label)
        return curves

    def _queues(self, ax: Axes) -> list[tuple[Any, Floats]]:
        curves = []
        for link, color in self.link_colors.items():
            (line,) = ax.plot([], [], color=color, label=f"link {link}", linewidth=1.4)
            curves.append((line, self.scenes.queue_B[link] * 1e-6))
        _axis(ax, [series for _, series in curves], "queue\n[MB]", room=1.45)
        ax.legend(loc="upper right", ncols=len(curves), fontsize=7)
        return curves

    def frame(self, number: int) -> Image.Image:
        """Return the picture at the end of a step."""
        steps = slice(0, number + 1)
        for line, values in self.curves:
            line.set_data(self.t_ms[steps], values[steps])
        for line, values in self.spans:
            line.set_data(self.edges_ms[: 2 * number + 2], values[: 2 * number + 2])
        for cursor in self.cursors:
            cursor.set_xdata([self.t_ms[number]] * 2)
        now = ", ".join(f"{flow} on {target[number]}" for flow, target in self.scenes.target.items())
        self.title.set_text(f"{self.t_ms[number]:5.0f} ms: {now}")
        self.canvas.draw()  # type: ignore[no-untyped-call]
        return Image.fromarray(np.asarray(self.canvas.buffer_rgba())[..., :3])  # type: ignore[no-untyped-call]


def _axis(ax: Axes, values: Sequence[Floats], label: str, *, room: float = 1.15) -> None:
    top = max((float(np.nanmax(series)) for series in values if np.isfinite(series).any()), default=1.0)
    ax.set(ylabel=label, ylim=(0, top * room or 1.0))
