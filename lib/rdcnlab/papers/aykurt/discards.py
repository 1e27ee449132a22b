# SPDX-License-Identifier: Apache-2.0
"""Finding: moves make receivers discard good data (PAWS), if the queue is longer than the ticks of timestamps."""

from __future__ import annotations

from typing import Annotated, ClassVar

import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field

from rdcnlab.analysis import discards, figures, tables
from rdcnlab.analysis.intervals import estimates
from rdcnlab.analysis.measured import Measured, means
from rdcnlab.fields.quantities import Listed, whole
from rdcnlab.papers.aykurt.space import NO_ACKS, Periods, Variant, buffers, grid
from rdcnlab.papers.item import Item
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import Part
from rdcnlab.scenario import Scenario

#: A receiver accepts a timestamp that is one tick old (TCP_PAWS_WINDOW of Linux). What is two ticks of 1 ms old was
#: sent more than 1 ms before: a shorter queue discards nothing. After more than 2 ms it is two ticks old for sure.
_NEVER_MS, _SURE_MS = 1.0, 2.0


class Discards(Item):
    """A main and a migrated flow by the size of both links' buffers and the period, with and without timestamps.

    Parameters
    ----------
    cc : str
        Variant of both flows.
    buffers_kB : tuple of int
        Sizes of the buffers, kB of 1000 B.
    periods_ms : tuple of int
        Periods; one column of panels for each.
    """

    reads: ClassVar[tuple[str, ...]] = ("flows", "events")
    parts: ClassVar[dict[str, Part]] = {"events": Part(("t_ns", "event", "flow"), tick=100_000)}
    runs_of_profile: ClassVar[dict[str, int]] = {"quick": 1, "paper": 3}

    cc: Variant = "cubic"
    buffers_kB: Annotated[tuple[Annotated[int, whole(100, 100_000)], ...], Field(min_length=1), Listed] = (  # noqa: N815  (unit)
        500, 1000, 1500, 2000, 2250, 2500, 2750, 3000, 4000, 6000,
    )  # fmt: skip
    periods_ms: Periods = (50, 25)

    def points(self) -> list[Scenario]:
        """Return buffers times timestamps, on and off, times periods and seeds."""
        at = {"cc": self.cc, "period_ms": self.periods_ms, "seed": range(self.count)}
        settings = [
            {
                **NO_ACKS,
                "probes.discards": True,
                **buffers(f"{kB} kB"),
                **({} if on else {"transport.timestamps": False}),
            }
            for kB in self.buffers_kB
            for on in (True, False)
        ]
        return [scenario for changes in settings for scenario in grid(changes, **at)]

    def plot(self, runs: Runs) -> Figure:
        """Draw what is discarded, what is sent again needlessly, and the migrated flow's time, over the queue."""
        rows = {"discards": "discarded / move", "needless": "needless again / move", "fct_s": "migrated flow [s]"}
        counted = _counted(runs)
        with figures.style():
            size = (3.2 * len(self.periods_ms), 5.6)
            figure = figures.Drawing(figsize=size, layout="constrained")
            grid_of = figure.subplots(len(rows), len(self.periods_ms), sharex=True, sharey="row", squeeze=False)
            for column, period in enumerate(self.periods_ms):
                here = counted[counted["period_ms"] == period]
                for (value, label), ax in zip(rows.items(), grid_of[:, column], strict=True):
                    for on, name in ((True, "with timestamps"), (False, "without timestamps")):
                        stats = means(here[here["timestamps"] == on], "queue_ms", value).reset_index()
                        color = figures.look("migrated" if on else "single").color
                        ax.plot(stats["queue_ms"], stats["mean"], color=color, marker="o", markersize=3, label=name)
                        ax.fill_between(
                            stats["queue_ms"], stats["low"], stats["high"], color=color, alpha=0.2, linewidth=0
                        )
                    for place, dots in ((_NEVER_MS, "1 ms"), (_SURE_MS, "2 ms")):
                        figures.reference(ax, place, dots, along="x")
                    ax.set(ylabel=label if not column else "", ylim=(0, None))
                grid_of[0, column].set_title(f"a move every {period} ms")
                grid_of[-1, column].set_xlabel("longest wait in the queue [ms]")
            handles, labels = grid_of[0, 0].get_legend_handles_labels()
            figure.legend(handles[:2], labels[:2], loc="outside upper center", ncols=2)
        return figure

    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Measure discards per move in short and long queues, and compare with what was sent again."""
        counted = _counted(runs)
        on, off = counted[counted["timestamps"]], counted[~counted["timestamps"]]
        short, long = on[on["queue_ms"] < _NEVER_MS], on[on["queue_ms"] > _SURE_MS]
        enough = on[on["discards"] > 0]
        return {
            "none-in-short-queues": _largest(short, "discards"),
            "some-in-long-queues": Measured.each(_stats(long, "discards"), "{:g} ms, a move every {:g} ms"),
            "none-without-timestamps": _largest(off, "discards"),
            "sent-again": Measured.one(float((enough["needless"] - enough["discards"]).min()) if len(enough) else 0.0),
            "books-balance": Measured.each(_stats(short, "needless"), "{:g} ms, a move every {:g} ms"),
            "stands-still": self._standstill(on, off),
        }

    def _standstill(self, on: pd.DataFrame, off: pd.DataFrame) -> Measured:
        """Measure by how many seconds timestamps delay the migrated flow where receivers discard."""
        with_them, without = (estimates(_stats(each[each["queue_ms"] > _SURE_MS], "fct_s")) for each in (on, off))
        gaps = {f"{ms:g} ms, a move every {period:g} ms": with_them[ms, period] - without[ms, period]
                for ms, period in with_them if (ms, period) in without}  # fmt: skip
        return Measured(gaps)


def _counted(runs: Runs) -> pd.DataFrame:
    """Return what was counted in each run, for each move, with the longest wait in the buffer and the timestamps."""
    counted = discards.counted(runs)
    scenarios = [run.scenario for run in runs]
    links = [scenario.network.links[0] for scenario in scenarios]
    for name in ("discards", "needless"):
        counted[name] = counted[name] / counted["moves"]
    return counted.assign(
        queue_ms=[8e3 * (link.buffer or 0) / link.rate for link in links],
        timestamps=[scenario.transport.timestamps for scenario in scenarios],
    )


def _stats(counted: pd.DataFrame, value: str) -> pd.DataFrame:
    return means(counted, ["queue_ms", "period_ms"], value)


def _largest(counted: pd.DataFrame, value: str) -> Measured:
    """Measure the largest number of any run."""
    return (
        Measured.one(float(counted[value].max()), tables.listed(_stats(counted, value))) if len(counted) else Measured()
    )
