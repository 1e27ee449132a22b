# SPDX-License-Identifier: Apache-2.0
"""Segments that a receiver discards because of their timestamps, and the books of what was sent again.

The runs need `rdcnlab.scenario.Probes.discards`.
"""

from __future__ import annotations

import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.runs.frame import Runs


def counted(runs: Runs) -> pd.DataFrame:
    """Count for each run what was discarded, lost, and sent again.

    Returns
    -------
    DataFrame
        The fields of the scenarios; ``discards``, ``drops`` and ``retransmits`` in segments; ``timeouts``; ``moves``,
        the number of moves until the migrated flow ended; ``needless``, the segments that were sent again although no
        queue had dropped them.
    """
    events = runs.events
    seen = events[events["event"] != "slot"]
    kinds = seen["event"].where(~seen["event"].str.startswith("drop"), "drop")
    counts = seen.groupby(["run", kinds]).size().unstack(fill_value=0).reindex(range(len(runs)), fill_value=0)
    flows = runs.flows
    migrated = flows[flows["flow"] == "migrated"].set_index("run")
    slots = events[(events["event"] == "slot") & (events["flow"] == "migrated")]
    until_ns = slots["run"].map(migrated["end_s"]) * 1e9
    found = pd.DataFrame(
        {
            "discards": counts.get("discard", 0),
            "drops": counts.get("drop", 0),
            "retransmits": flows.groupby("run")["retransmits"].sum(),
            "timeouts": migrated["timeouts"],
            "fct_s": migrated["fct_s"],
            "moves": slots[slots["t_ns"] < until_ns].groupby("run").size(),
        }
    )
    found["needless"] = found["retransmits"] - found["drops"]
    return tables.with_fields(found.rename_axis("run").reset_index(), runs.scenarios)
