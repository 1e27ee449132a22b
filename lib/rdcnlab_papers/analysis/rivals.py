# SPDX-License-Identifier: Apache-2.0
"""Runs of a main flow and a migrated flow: which these are, and when the flows have ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs
from rdcnlab_papers.analysis.measured import Measured, means

#: Names of the two flows.
FLOWS = ("main", "migrated")
#: Name of the flow of datagrams that some scenarios add to the main flow.
BURSTS = "bursts"


def moved_every(runs: Runs, period_ms: int) -> Runs:
    """Return the runs whose migrated flows move once every `period_ms`, dark time included."""
    cycle = 2 * period_ms * NS_PER_MS
    return runs.select(
        lambda scenario: any(
            tables.role(flow.name) == "migrated" and sum(slot.duration for slot in flow.slots) == cycle
            for flow in scenario.flows
        )
    )


def of_variants(runs: Runs, **cc: str) -> Runs:
    """Return the runs whose flows have these variants, given by the name of the flow: ``migrated="bbr"``."""
    return runs.select(lambda scenario: cc.items() <= {flow.name: flow.cc for flow in scenario.flows}.items())


def variants(runs: Runs) -> pd.DataFrame:
    """Return the variants of each run's flows: ``run``, ``migrated``, ``main``."""
    rows = [
        {"run": index, **{flow.name: flow.cc for flow in run.scenario.flows if flow.name in FLOWS}}
        for index, run in enumerate(runs)
    ]
    # categories, because these values are repeated for every row of a table
    return pd.DataFrame(rows).astype(dict.fromkeys(FLOWS, "category"))


def times(cases: Mapping[Any, Runs], name: str) -> pd.DataFrame:
    """Return the completion times of the two flows, one row for each run of each case.

    Returns
    -------
    DataFrame
        `name` (the case), ``seed``, and the columns of `tables.completion`.
    """
    parts = []
    for case, runs in cases.items():
        completion = tables.completion(runs.flows[runs.flows["flow"].isin(FLOWS)])
        seeds = [runs[run].scenario.seed for run in completion["run"]]
        parts.append(completion.assign(seed=seeds, **{name: case}))
    return pd.concat(parts, ignore_index=True)


def unequal(times: pd.DataFrame) -> float:
    """Return the difference in % of the flows' mean completion times; `times` comes from `tables.completion`."""
    mean = times[["main_s", "migrated_s"]].mean()
    return 100 * abs(float(mean["migrated_s"] / mean["main_s"]) - 1)


def prolongations(runs: Runs) -> Measured:
    """Measure the mean prolongation by period."""
    return Measured.by_case(means(tables.completion(runs.flows), "period_ms", "prolongation_s"), "{:g} ms", unit="s")


def ends_first(runs: Runs) -> Measured:
    """Measure the share of runs, in %, in which the migrated flow ends first, by migrated and main variant."""
    pairs = variants(runs).astype(dict.fromkeys(FLOWS, str))
    times = tables.completion(runs.flows.assign(period_ms=0)).merge(pairs, on="run")
    outcomes = times.assign(percent=100.0 * (times["prolongation_s"] < 0))
    return Measured.by_case(outcomes.groupby(["migrated", "main"])["percent"].mean(), "{}, {}")
