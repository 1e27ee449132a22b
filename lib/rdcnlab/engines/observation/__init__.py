# SPDX-License-Identifier: Apache-2.0
"""Make tables from the packets that an engine recorded; this is the same for all engines."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from rdcnlab.engines.observation import events, folds, queues, tcp, throughput
from rdcnlab.engines.observation.view import Records, View
from rdcnlab.engines.schema import SCHEMAS
from rdcnlab.scenario import Scenario

__all__ = ["Records", "View", "tables"]


def tables(scenario: Scenario, records: Records, flows: pd.DataFrame) -> dict[str, pa.Table]:
    """Return the tables of a run.

    Parameters
    ----------
    scenario : Scenario
        The scenario that was run.
    records : Records
        The records of the run.
    flows : DataFrame
        The table ``flows``.
    """
    view = View.of(scenario)
    acked = throughput.acked(scenario, view, records.acks)
    passed = throughput.table(scenario, view, view.ours(scenario, records.left), acked)
    if len(records.counted):
        passed = pd.concat([passed, throughput.counted(scenario, view, records.counted)], ignore_index=True)
    frames = {
        "flows": flows,
        "throughput": passed,
        "queues": queues.table(scenario, view, records),
        "tcp": tcp.table(scenario, view, records.acks, flows),
        "events": events.table(scenario, view, records),
    }
    for name, how in folds.FOLDS.items():
        frames[name] = folds.folded(scenario, frames[name], how)
    return {
        name: pa.Table.from_pandas(
            frames[name][schema.names], schema=schema, preserve_index=False
        ).replace_schema_metadata()
        for name, schema in SCHEMAS.items()
    }
