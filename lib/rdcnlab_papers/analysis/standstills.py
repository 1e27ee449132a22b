# SPDX-License-Identifier: Apache-2.0
"""Standstills of a flow: gaps in its traffic on the switch's links. They need no counter of TCP."""

from __future__ import annotations

import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.fields.units import NS_PER_S
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.once import for_each_run
from rdcnlab.runs.parts import RECEIVER, SENDER
from rdcnlab.scenario import DARK, Scenario
from rdcnlab.scenario.flow import TCP_HEADERS

#: A gap of this length in s is a standstill. It is longer than any night, and shorter than Linux's smallest timeout.
SHORTEST_S = 0.1


def count(runs: Runs, flow: str) -> pd.DataFrame:
    """Count for each run the standstills of a flow that the switch sees, and the timeouts that its sender counts.

    Parameters
    ----------
    runs : Runs
        Runs with the tables ``flows`` and ``throughput``. All have the same width of bins.
    flow : str
        Name of the flow.

    Returns
    -------
    DataFrame
        The fields of the scenarios; ``standstills``, their number; ``still_s``, their total length in s, to within a
        bin each; ``timeouts``; ``fct_s``, the completion time, or the limit of a run in which the flow did not finish;
        ``rto_min_us``, the smallest timeout.
    """
    return tables.with_fields(_count(runs, flow), runs.scenarios)


@for_each_run
def _count(runs: Runs, flow: str) -> pd.DataFrame:
    """Count as `count` does, without the fields of the scenarios."""
    carried = runs.rows("throughput")
    carried = carried[(carried["flow"] == flow) & ~carried["where"].isin([RECEIVER, SENDER])]
    bins = carried[["run", "bin"]].drop_duplicates().sort_values(["run", "bin"])
    width_s = pd.Series([run.scenario.probes.bin / NS_PER_S for run in runs])
    gap_s = (bins.groupby("run")["bin"].diff() - 1) * bins["run"].map(width_s)
    gaps = bins.assign(gap_s=gap_s)[gap_s > SHORTEST_S].groupby("run")["gap_s"]
    counts = pd.DataFrame({"standstills": gaps.size(), "still_s": gaps.sum()}).reindex(range(len(runs)), fill_value=0)
    counts["rto_min_us"] = [_timeout_us(run.scenario, flow) for run in runs]
    return counts.rename_axis("run").reset_index().merge(times(runs, flow), on="run")


def times(runs: Runs, flow: str) -> pd.DataFrame:
    """Return for each run ``timeouts`` and ``fct_s`` of a flow; a flow that did not finish has taken the whole run."""
    flows = runs.flows
    flows = flows.loc[flows["flow"] == flow, ["run", "timeouts", "fct_s"]]
    limits = flows["run"].map(pd.Series([run.scenario.limit / NS_PER_S for run in runs]))
    return flows.assign(fct_s=flows["fct_s"].fillna(limits))


def by_timeouts_s(scenario: Scenario, flow: str) -> float:
    """Return the completion time [s] of a flow that waits for a timeout after each of its days; nothing is fitted.

    A day is a slot of the flow's timetable, and the night is the time until the next one. The flow has the link's whole
    rate in each day in which it sends. Each night loses all that is in flight, and so the flow stands still until the
    smallest timeout has passed, and then until the day that it has missed has ended::

        days of sending = bytes on the wire / (rate x day)
        from one to the next = period x (timeout // period + 1)

    The first is a lower bound, because the flow needs a part of each day to find its rate again.

    Parameters
    ----------
    scenario : Scenario
        Scenario whose flow has a timetable of equal days and equal nights.
    flow : str
        Name of the flow.
    """
    day, night = _day_and_night(scenario, flow)
    period, timeout = day + night, 1000 * _timeout_us(scenario, flow)
    full_days, remainder = divmod(days(scenario, flow) * day, day)
    return (full_days * period * (timeout // period + 1) + remainder) / NS_PER_S


def days(scenario: Scenario, flow: str) -> float:
    """Return the number of days that a flow needs if it sends at the link's rate."""
    network = scenario.network
    settings = next(item for item in scenario.flows if item.name == flow)
    segments = settings.size / (network.mtu - TCP_HEADERS)
    sending_ns = 8e9 * segments * (network.mtu + network.overhead) / min(link.rate for link in network.links)
    return sending_ns / _day_and_night(scenario, flow)[0]


def _timeout_us(scenario: Scenario, flow: str) -> int:
    """Return the smallest timeout of a flow's sender in us."""
    return scenario.transport_of(next(item.src for item in scenario.flows if item.name == flow)).rto_min_us


def _day_and_night(scenario: Scenario, flow: str) -> tuple[int, int]:
    """Return the lengths of day and night in ns; all days are equal, and all nights are."""
    slots = scenario.timetable(next(item for item in scenario.flows if item.name == flow))[0]
    (day,) = {slot.duration for slot in slots if slot.link != DARK}
    return day, max((slot.duration for slot in slots if slot.link == DARK), default=0)
