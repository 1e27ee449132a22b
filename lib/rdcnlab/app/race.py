# SPDX-License-Identifier: Apache-2.0
"""Race a congestion control of the user's own against others: on three networks, among its own and against CUBIC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from rdcnlab.analysis.drawing import Drawing
from rdcnlab.analysis.figures import REFERENCE, Look, drawing, look, style
from rdcnlab.app.explore.choice import Choice
from rdcnlab.app.explore.places import MOVES, STILL, WEEK
from rdcnlab.engines.kernel.build import patches
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.files import is_file
from rdcnlab.runs.campaign import campaign, prepare
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import TCP_HEADERS
from rdcnlab.scenario.own import OwnAlgorithm

#: The others of the race.
RIVALS = ("cubic", "dctcp", "bbr", "reno")
#: The networks: one that does not change, one in which a group of flows moves, one with days and nights. The length
#: is some hundreds of RTTs, so that slow start does not decide. The threshold is what the authors of DCTCP take for
#: 10 Gb/s; the third network has its own.
NETWORKS = {
    "one link": Choice(place="dumbbell", timetable=STILL, ecn_kB=65.0, limit_ms=400.0),
    "moves every 10 ms": Choice(place="aykurt", timetable=MOVES, slot_ms=10.0, ecn_kB=65.0, limit_ms=400.0),
    "packets and a circuit": Choice(place="tdtcp", timetable=WEEK, slot_ms=0.18, dark_ms=0.02, limit_ms=40.0, flows=4),
}
#: With whom each transport shares a network: flows like itself, or CUBIC's.
_ALONE, _CUBIC = "its own", "cubic"


@dataclass(frozen=True)
class Mine:
    """A congestion control of the user's own, in a kernel that was built with it.

    Parameters
    ----------
    algorithm : OwnAlgorithm
        Its file and its name.
    """

    algorithm: OwnAlgorithm

    @property
    def name(self) -> str:
        """Its name, which flows have as their ``cc``."""
        return self.algorithm.name

    @property
    def engine(self) -> dict[str, str]:
        """The field ``engine`` of scenarios that use it."""
        return {"algorithm": self.algorithm.path}

    def __repr__(self) -> str:
        return f"<cc: {self.name}, built from {Path(self.algorithm.path).name}>"

    def race(
        self,
        *,
        rivals: Sequence[str] = RIVALS,
        seeds: int = 2,
        workers: int | None = None,
        store: Store | None = None,
        progress: bool = True,
    ) -> Race:
        """Run it and the others, as far as results are not stored, and return the results.

        Parameters
        ----------
        rivals : sequence of str
            Congestion controls of the kernel.
        seeds : int
            Number of runs of each case.
        workers : int, optional
            Number of worker processes; by default one on every core.
        store : Store, optional
            Where runs are looked up and stored; by default the user's store.
        progress : bool
            Whether to show a progress bar.
        """
        cases = [
            Case(network, name, other, seed)
            for network in NETWORKS
            for name in (self.name, *rivals)
            for other in (_ALONE, _CUBIC)
            for seed in range(seeds)
            if (name, other) != ("cubic", _CUBIC)  # that is CUBIC among its own
        ]
        scenarios = [self._scenario(case) for case in cases]
        runs = campaign(scenarios, workers=workers, store=store, progress=progress, hints=False)
        return Race(self.name, tuple(cases), runs)

    def _scenario(self, case: Case) -> Scenario:
        # the others run in the usual kernel, where their results may be stored already
        path = self.algorithm.path if case.name == self.name else ""
        first = case.name if case.against == _ALONE else case.against
        choice = replace(NETWORKS[case.network], first=first, second=case.name, algorithm=path)
        return choice.scenario().with_(seed=case.seed)


@dataclass(frozen=True)
class Case:
    """One run of a race: network, transport, whom it meets, and seed."""

    network: str
    name: str
    against: str
    seed: int


@dataclass(frozen=True)
class Race:
    """The runs of a race.

    Parameters
    ----------
    mine : str
        Name of the user's congestion control.
    cases : tuple of Case
        What was run, in the order of `runs`.
    runs : Runs
        The runs.
    """

    mine: str
    cases: tuple[Case, ...]
    runs: Runs

    @cached_property
    def measurements(self) -> pd.DataFrame:
        """One row for each run: the case, goodput of all flows, RTT, retransmissions, share of the second group."""
        rows = []
        for case, run in zip(self.cases, self.runs, strict=True):
            # run by run: settings of several networks would be hundreds of columns
            flows, tcp = self.runs.frame(run, "flows"), self.runs.frame(run, "tcp")
            received = int(flows["received_B"].sum())
            second = flows["flow"].str.startswith(_second(run.scenario))
            rows.append(
                {
                    "network": case.network,
                    "transport": case.name,
                    "against": case.against,
                    "seed": case.seed,
                    "goodput [Gb/s]": 8 * received / run.scenario.limit,
                    "RTT [ms]": tcp["srtt_us"].mean() / 1e3,
                    "retransmitted [%]": 100 * flows["retransmits"].sum() * _segment(run.scenario) / max(received, 1),
                    "share [%]": 100 * flows.loc[second, "received_B"].sum() / max(received, 1),
                }
            )
        return pd.DataFrame(rows)

    def table(self) -> pd.DataFrame:
        """Return means over the runs, one row for each network and transport."""
        keys = ["network", "transport"]
        alone = self.measurements[self.measurements["against"] == _ALONE]
        shared = self.measurements[self.measurements["against"] == _CUBIC]
        means = alone.groupby(keys, sort=False)[["goodput [Gb/s]", "RTT [ms]", "retransmitted [%]"]].mean()
        means["share against CUBIC [%]"] = shared.groupby(keys, sort=False)["share [%]"].mean()
        return means.round({"goodput [Gb/s]": 2, "RTT [ms]": 3, "retransmitted [%]": 3, "share against CUBIC [%]": 1})

    def plot(self) -> Drawing:
        """Draw goodput against RTT among flows of one kind (above), and the share against CUBIC (below).

        Large marks and bars are means, small marks are the runs.
        """
        rows = self.table().reset_index()
        with style():
            figure = drawing(7.4, 4.8)
            axes = figure.subplots(2, len(NETWORKS), height_ratios=(3, 2))
            for column, network in enumerate(NETWORKS):
                here, runs = (frame[frame["network"] == network] for frame in (rows, self.measurements))
                self._scatter(axes[0][column], here, runs[runs["against"] == _ALONE])
                self._bars(axes[1][column], here, runs[runs["against"] == _CUBIC])
                axes[0][column].set_title(network, fontsize=9)
            axes[0][0].set_ylabel("goodput [Gb/s],\namong its own")
            axes[1][0].set_ylabel("share [%],\nagainst CUBIC")
            for ax in axes[1][1:]:
                ax.sharey(axes[1][0])
            handles, labels = axes[0][0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
        return figure

    def look(self, name: str) -> Look:
        """Return the look of a transport; the user's own one is a black star."""
        return Look(name, "#000000", "*") if name == self.mine else look(name)

    def _scatter(self, ax: Axes, rows: pd.DataFrame, runs: pd.DataFrame) -> None:
        for run in runs.to_dict("records"):
            drawn = self.look(run["transport"])
            ax.plot(
                run["RTT [ms]"], run["goodput [Gb/s]"], drawn.marker, color=drawn.color, markersize=3,
                markeredgewidth=0, alpha=0.5, linestyle="",
            )  # fmt: skip
        for row in rows.to_dict("records"):
            drawn = self.look(row["transport"])
            size = 10 if row["transport"] == self.mine else 6
            ax.plot(
                row["RTT [ms]"], row["goodput [Gb/s]"], drawn.marker, color=drawn.color, markersize=size,
                markeredgecolor="white", markeredgewidth=0.6, label=drawn.label, linestyle="",
                zorder=4 if row["transport"] == self.mine else 3,
            )  # fmt: skip
        ax.set_xlabel("mean RTT [ms]")
        # From zero, all would be at the top. At least a quarter of the axis keeps small differences small.
        least, most = runs["goodput [Gb/s]"].min(), runs["goodput [Gb/s]"].max()
        ax.set_ylim(min(0.75 * most, least - 0.1 * (most - least)), 1.05 * most)
        ax.set_xlim(0, 1.15 * runs["RTT [ms]"].max())

    def _bars(self, ax: Axes, rows: pd.DataFrame, runs: pd.DataFrame) -> None:
        shared = rows[rows["transport"] != "cubic"]
        looks = [self.look(name) for name in shared["transport"]]
        colors, labels = [shown.color for shown in looks], [shown.label for shown in looks]
        ax.bar(range(len(shared)), shared["share against CUBIC [%]"], color=colors, width=0.7)
        for index, name in enumerate(shared["transport"]):
            shares = runs.loc[runs["transport"] == name, "share [%]"]
            ax.plot([index] * len(shares), shares, "o", color="white", markeredgecolor="#333333", markersize=3)
        ax.axhline(50, color=REFERENCE, linewidth=0.8, linestyle=":")
        ax.set_xticks(range(len(shared)), labels, rotation=30, fontsize=7.5)
        ax.set_ylim(0, 100)
        ax.grid(axis="x", visible=False)


def own_algorithm(path: str | Path, *, progress: bool = True) -> Mine:
    """Build a kernel with a congestion control of the user's own, if it does not exist yet.

    Parameters
    ----------
    path : str or Path
        One C file, as those in ``net/ipv4`` of Linux. A name without a directory is looked up in the working directory,
        then in ``kernel-patches/examples``.
    progress : bool
        Whether to show a progress bar.

    Raises
    ------
    InputError
        There is no such file, it registers no congestion control or one that exists, or it does not compile. The
        message has what the compiler says.
    RunError
        The kernel cannot be built here.
    """
    file = str(Path(path).resolve()) if is_file(path) else example(str(path))
    scenario = Choice(place="dumbbell", timetable=STILL, algorithm=file).scenario()
    algorithm = scenario.engine.algorithm
    assert algorithm is not None
    prepare([scenario], progress=progress)
    return Mine(algorithm)


def example(name: str) -> str:
    """Return the path of an example in ``kernel-patches/examples``.

    Raises
    ------
    InputError
        There is no such example.
    """
    beside = patches.root() / "examples"
    known = sorted(path.name for path in beside.glob("*.c"))
    if name not in known:
        raise InputError.unknown("path", name, known, "C file", also="the path of a C file of your own")
    return str(beside / name)


def _second(scenario: Scenario) -> str:
    """Return the begin of the names of the second group's flows."""
    return scenario.flows[-1].name.rpartition("-")[0]


def _segment(scenario: Scenario) -> int:
    """Return the payload of a segment in bytes."""
    return scenario.network.mtu - TCP_HEADERS
