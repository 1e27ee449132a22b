# SPDX-License-Identifier: Apache-2.0
"""Stored runs that the site's page Explore answers with: what is chosen, and what came of it. Nothing is run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from rdcnlab.analysis.results.limits import limits
from rdcnlab.analysis.results.timeline import timeline
from rdcnlab.fields.errors import RunError
from rdcnlab.runs.campaign import lookup
from rdcnlab.runs.run import Run
from rdcnlab.runs.store import Store
from rdcnlab_papers.app.site.sources import Sources
from rdcnlab_papers.items.item import Item

#: Items of two flows, one of which is moved between two links: the same network, other transports and periods.
SHOWN = (("aykurt", "fig4"), ("aykurt", "fig6a"), ("aykurt", "fig8a"))
#: Folder of the time-lines on the site.
_FOLDER = "runs"


@dataclass(frozen=True)
class Answer:
    """A stored run.

    Parameters
    ----------
    choice : tuple of str
        Settings of the testbed, transports, and period; see `DIMENSIONS`.
    page : str
        The page of its time-line, below the site's first page.
    height : int
        Height of the time-line in pixels.
    flows : list of dict
        One for each flow: its name, transport, completion time, goodput, retransmissions, and what limited it.
    yaml : str
        The scenario. Whoever loads it has the same run.
    run : str
        Name of the run.
    """

    choice: tuple[str, str, str]
    page: str
    height: int
    flows: list[dict[str, Any]]
    yaml: str
    run: str

    @property
    def name(self) -> str:
        """Transports and period in a few words, for a button."""
        transports = dict.fromkeys(str(flow["transport"]).upper() for flow in self.flows)
        return f"{' and '.join(transports)}, {self.choice[2]}"


#: What a reader chooses.
DIMENSIONS = ("Settings", "Transports", "Period")
#: Transports and periods of the runs on the site's first page.
_FIRST = (("main CUBIC, migrated CUBIC", "50 ms"), ("main CUBIC, migrated CUBIC", "1 ms"),
          ("main BBR, migrated CUBIC", "50 ms"))  # fmt: skip


def answers(kinds: Iterable[type[Item]], store: Store, sources: Sources) -> list[Answer]:
    """Return the stored runs of seed 0 of `SHOWN`, in the order of their items, and write their time-lines.

    Parameters
    ----------
    kinds : iterable of type of Item
        The items of the site; others than `SHOWN` are left out.
    store : Store
        Where runs are looked up. Runs that are not there, or have no throughput, are left out.
    sources : Sources
        Where the time-lines are written.
    """
    answered: dict[tuple[str, ...], Answer] = {}
    for kind in kinds:
        if (kind.paper, kind.id) not in SHOWN:
            continue
        for column in kind.columns():
            item = kind(profile="paper", seeds=1, column=column.id)
            for run in lookup(list(item.scenarios()), store, item.parts_of):
                if run is None or (answer := _answer(run, column.name, sources)) is None:
                    continue
                answered.setdefault(answer.choice, answer)
    return list(answered.values())


def first(found: Iterable[Answer]) -> list[Answer]:
    """Return the runs that the first page shows, as far as they are there: each in the first settings that have it."""
    chosen: dict[tuple[str, ...], Answer] = {}
    for answer in found:
        chosen.setdefault(answer.choice[1:], answer)
    return [chosen[choice] for choice in _FIRST if choice in chosen]


def data(found: Iterable[Answer]) -> dict[str, Any]:
    """Return what the page draws, as plain data."""
    return {"dimensions": DIMENSIONS, "answers": [asdict(answer) for answer in found]}


def _answer(run: Run, settings: str, sources: Sources) -> Answer | None:
    """Return a run's answer, or None if its time-line cannot be drawn."""
    try:
        drawn = timeline(run)
    except RunError:
        return None
    page = f"{_FOLDER}/{run.id[:16]}.html"
    sources.write(f"extra/{page}", drawn.html)
    table = run.flows.merge(limits(run)[["flow", "goodput_Gbps", "limited_by"]], on="flow", validate="one_to_one")
    flows = table.to_dict("records")
    period = flows[0]["period_ms"]
    return Answer(
        choice=(
            f"{run.scenario.network.name}, {settings}",
            ", ".join(f"{flow['flow']} {flow['cc'].upper()}" for flow in flows),
            "not moved" if pd.isna(period) else f"{period:g} ms",
        ),
        page=page,
        height=drawn.height,
        flows=[
            {
                "flow": flow["flow"],
                "transport": flow["cc"],
                "completion time [s]": round(flow["fct_s"], 4) if flow["finished"] else "not finished",
                "goodput [Gb/s]": round(flow["goodput_Gbps"], 3),
                "retransmissions": flow["retransmits"],
                "limited by": flow["limited_by"],
            }
            for flow in flows
        ],
        yaml=run.scenario.dump(),
        run=run.id[:12],
    )
