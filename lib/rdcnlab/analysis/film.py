# SPDX-License-Identifier: Apache-2.0
"""A run as an animated picture: links, rates and windows of its flows, or its programs, and the queues, over time.

Every frame shows the run's tables up to one instant and nothing else. Each point is a mean over one step of the film,
or the value at its end.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from rdcnlab.analysis import figures, palettes
from rdcnlab.analysis.scenes import RUNS, Floats, Scenes, scenes
from rdcnlab.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Milliseconds that a frame and the last one are shown.
FRAME_MS, LAST_MS = 90, 2500
#: Size in inches and pixels an inch: as wide as the text of a README.
SIZE, DPI = (8.2, 4.6), 100
#: Colours of a film. Flat areas and thin lines need no more, and each halving makes the file smaller.
COLORS = 64


def film(run: Run) -> bytes:
    """Return a run as an animated PNG that repeats for ever.

    Parameters
    ----------
    run : Run
        A run with its tables ``throughput``, ``queues`` and ``tcp``; at most four flows on at most four links. Of a run
        without flows, programs take their place.

    Raises
    ------
    InputError
        The run has too many flows or links for a picture, or its bins are folded.
    RunError
        A table was not shipped, or there is nothing to show.
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
        drawn = [bool(scenes.rate_bps), bool(scenes.cwnd_B), bool(scenes.queue_B)]
        panels = self.figure.subplots(
            1 + sum(drawn), 1, sharex=True, height_ratios=[1.0, *[1.3] * sum(drawn)], squeeze=False
        ).ravel()
        self.t_ms = scenes.t_s * 1e3
        # begin and end of each step
        self.edges_ms = np.stack([np.append(0, self.t_ms[:-1]), self.t_ms], axis=1).ravel()
        self._lanes(panels[0])
        self.curves: list[tuple[Any, Floats]] = []
        below = iter(panels[1:])
        if scenes.rate_bps:
            rate = next(below)
            self.curves += self._curves(rate, scenes.rate_bps, 1e-9, "goodput\n[Gb/s]")
            rate.legend(loc="lower right", ncols=len(scenes.rate_bps), fontsize=7)
        if scenes.cwnd_B:
            self.curves += self._curves(next(below), scenes.cwnd_B, 1e-6, "window\n[MB]")
        if scenes.queue_B:
            self.curves += self._queues(next(below))
        self.cursors = [ax.axvline(0, color="#333333", linewidth=0.8) for ax in panels]
        panels[-1].set_xlabel("virtual time [ms]")
        panels[-1].set_xlim(0, self.t_ms[-1])
        self.title = self.figure.suptitle("", fontsize=10, family="monospace")
        self.figure.align_ylabels(panels)

    def _lanes(self, ax: Axes) -> None:
        """One row a flow, and in it bars in the colours of the links that it is on; no bar where it is dark.

        Without flows, one row a program, and in it a bar while it runs.
        """
        flows = list(self.scenes.target)
        self.spans: list[tuple[Any, Floats]] = []
        has_flows = bool(self.scenes.cwnd_B)
        for row, flow in enumerate(flows):
            for link, color in (self.link_colors if has_flows else {RUNS: figures.REFERENCE}).items():
                is_on_link = self.scenes.target[flow] == link
                (line,) = ax.plot([], [], color=color, linewidth=22 / len(flows), solid_capstyle="butt", label=link)
                self.spans.append((line, np.repeat(np.where(is_on_link, row, np.nan), 2)))
        ax.set(ylim=(len(flows) - 0.45, -0.55), yticks=range(len(flows)), yticklabels=flows)
        ax.set_ylabel("flow is\non link" if has_flows else "program\nruns")
        for label, flow in zip(ax.get_yticklabels(), flows if has_flows else [], strict=False):
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
        unit, scale = ("MB", 1e-6) if max(map(np.max, self.scenes.queue_B.values())) > 1e5 else ("kB", 1e-3)
        for link, color in self.link_colors.items():
            (line,) = ax.plot([], [], color=color, label=f"link {link}", linewidth=1.4)
            curves.append((line, self.scenes.queue_B[link] * scale))
        _axis(ax, [series for _, series in curves], f"queue\n[{unit}]", room=1.45)
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
        shown = {name: target[number] for name, target in self.scenes.target.items()}
        if self.scenes.cwnd_B:
            now = ", ".join(f"{flow} on {target}" for flow, target in shown.items())
        else:
            now = ", ".join(name for name, target in shown.items() if target == RUNS) or "no program runs"
        self.title.set_text(f"{self.t_ms[number]:5.0f} ms: {now}")
        self.canvas.draw()  # type: ignore[no-untyped-call]
        return Image.fromarray(np.asarray(self.canvas.buffer_rgba())[..., :3])  # type: ignore[no-untyped-call]


def _axis(ax: Axes, values: Sequence[Floats], label: str, *, room: float = 1.15) -> None:
    top = max((float(np.nanmax(series)) for series in values if np.isfinite(series).any()), default=1.0)
    ax.set(ylabel=label, ylim=(0, top * room or 1.0))
