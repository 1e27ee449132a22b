# SPDX-License-Identifier: Apache-2.0
"""Compare the same scenarios on several kinds of switch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdcnlab.analysis import binned, figures
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import WHOLE
from rdcnlab.runs.run import Run
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis.competition import counted_bin

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The tables that are compared.
_READ = dict.fromkeys(("flows", "events", "throughput"), WHOLE)


class SwitchComparison:
    """Runs of some scenarios on several switches.

    Parameters
    ----------
    scenarios : dict of str to Scenario
        Scenarios by a name for readers.
    switches : sequence of str
        Kinds of switch. The others are compared with the first one.
    workers : int, optional
        See `rdcnlab.runs.campaign.campaign`.
    progress : bool
        Show a bar while scenarios run.
    """

    def __init__(
        self,
        scenarios: Mapping[str, Scenario],
        switches: Sequence[str] = ("ocs", "bmv2"),
        *,
        workers: int | None = None,
        progress: bool = True,
    ) -> None:
        self.switches = tuple(switches)
        requests = {
            (name, kind): scenarios[name].with_(**{"switch.kind": kind}) for name in scenarios for kind in switches
        }
        ran = campaign(requests.values(), workers=workers, progress=progress, needs=lambda _: _READ, hints=False)
        runs = {run.scenario: run for run in ran}
        self.runs: dict[tuple[str, str], Run] = {key: runs[scenario] for key, scenario in requests.items()}
        self.names = list(scenarios)

    def table(self) -> pd.DataFrame:
        """Return one row for each scenario and flow: FCTs, their difference in percent, and whether moves are equal."""
        rows = []
        for name in self.names:
            flows = {kind: self._run(name, kind).table("flows").to_pandas().set_index("flow") for kind in self.switches}
            reference = self.switches[0]
            for flow in flows[reference].index:
                times = {kind: float(flows[kind].loc[flow, "fct_s"]) for kind in self.switches}
                rows.append(
                    {
                        "scenario": name,
                        "flow": flow,
                        **{f"{kind} [s]": time for kind, time in times.items()},
                        "difference [%]": 100 * max(abs(time / times[reference] - 1) for time in times.values()),
                        "moves": len(self._moves(name, reference)),
                        "same moves": all(
                            self._moves(name, kind) == self._moves(name, reference) for kind in self.switches
                        ),
                    }
                )
        return pd.DataFrame(rows).set_index(["scenario", "flow"])

    def cost(self) -> pd.DataFrame:
        """Return the wall-clock time of every run, in s, and per second of virtual time."""
        rows = []
        for (name, kind), run in self.runs.items():
            wall, virtual = float(run.provenance["wall_s"]), float(run.provenance["virtual_s"])
            rows.append(
                {"scenario": name, "switch": kind, "wall [s]": wall, "wall [s] a virtual second": wall / virtual}
            )
        return pd.DataFrame(rows).pivot_table(index="scenario", columns="switch", sort=False)

    def plot(self, bin_ms: int = 1) -> Figure:
        """Draw the throughput of every flow, with one column for each scenario and one row for each switch."""
        with figures.style():
            figure, axes = figures.panels(len(self.switches), len(self.names), width=2.4, sharex="col")
            for (row, kind), (column, name) in (
                (a, b) for a in enumerate(self.switches) for b in enumerate(self.names)
            ):
                ax = axes[row, column]
                runs = Runs([self._run(name, kind)])
                rates = binned.rates(runs.throughput, counted_bin(runs), bin_ms * NS_PER_MS)
                for flow, of_flow in rates.groupby("flow", sort=False):
                    look = figures.look(str(flow))
                    ax.step(
                        of_flow["t_s"] * 1000, of_flow["rate_bps"] / 1e9, where="post", color=look.color, label=flow
                    )
                ax.set(title=name if row == 0 else "", ylim=(0, 10.8))
                if row == len(self.switches) - 1:
                    ax.set_xlabel("time [ms]")
                if column == 0:
                    ax.set_ylabel(f"{kind}: throughput [Gb/s]")
            figures.legend(figure, axes[0, -1])
        return figure

    def _run(self, name: str, kind: str) -> Run:
        return self.runs[name, kind]

    def _moves(self, name: str, kind: str) -> list[tuple[Any, ...]]:
        """Return the moves during the time in which flows run on every switch; see `moves`."""
        ends = []
        for switch in self.switches:
            run = self._run(name, switch)
            # a flow that did not finish runs until the limit
            ends.append(run.table("flows").to_pandas()["end_s"].fillna(run.scenario.limit / 1e9).max())
        events = self._run(name, kind).table("events").to_pandas()
        return moves(events, float(np.min(ends)))


def moves(events: pd.DataFrame, until_s: float) -> list[tuple[int, str, str, int]]:
    """Return the slots that begin before `until_s`: time in us, flow, link, and index of the slot."""
    slots = events[(events["event"] == "slot") & (events["t_ns"] < until_s * 1e9)]
    rows = zip(slots["t_ns"] // 1000, slots["flow"], slots["link"], slots["value"], strict=True)
    return sorted((int(t), flow, link, int(value)) for t, flow, link, value in rows)
