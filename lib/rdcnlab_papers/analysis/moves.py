# SPDX-License-Identifier: Apache-2.0
"""Effects of moves on a flow: the drops that they cause, and the time to reach the rate of the link."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rdcnlab.analysis import binned
from rdcnlab.fields.units import NS_PER_MS
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.once import for_each_run
from rdcnlab.scenario import Scenario

#: Drops up to this time after a move count as caused by it. The time is more than three times the smallest RTT.
_AFTER_MOVE_NS = NS_PER_MS


def ramp_up_ms(runs: Runs) -> pd.DataFrame:
    """Return the ramp-up time in ms for each run of one flow.

    It is the time from the start of the flow to the end of the first bin in which it has 95 % of the link's rate.
    """
    rates = binned.rates(runs.throughput, NS_PER_MS, NS_PER_MS)
    line_rate = runs[0].scenario.network.links[0].rate
    first = rates[rates["rate_bps"] >= 0.95 * line_rate].groupby("run")["t_s"].min()
    flows = runs.flows.set_index("run")
    return pd.DataFrame({"cc": flows["cc"], "seed": flows["seed"], "ms": (first + 0.001 - flows["start_s"]) * 1000})


@for_each_run
def drops_of_runs(runs: Runs) -> pd.DataFrame:
    """Return for each run the number of drops that moves cause: ``run``, ``drops``; see `drops_by_moves`."""
    drops = [drops_by_moves(run.scenario, runs.frame(run, "events")) for run in runs]
    return pd.DataFrame({"run": np.arange(len(runs)), "drops": np.array(drops, dtype=np.int64)})


def drops_by_moves(scenario: Scenario, events: pd.DataFrame) -> int:
    """Count the drops in the dark, and those within 1 ms after the begin of a slot."""
    drops = events[events["event"].str.startswith("drop")]
    moves = np.sort(events.loc[events["event"] == "slot", "t_ns"].to_numpy())
    if not any(flow.slots for flow in scenario.flows) or drops.empty:
        return 0
    last = np.searchsorted(moves, drops["t_ns"].to_numpy(), side="right") - 1
    since = np.where(last >= 0, drops["t_ns"].to_numpy() - moves[np.maximum(last, 0)], np.iinfo(np.int64).max)
    return int(np.sum((drops["event"] == "drop_dark").to_numpy() | (since < _AFTER_MOVE_NS)))
