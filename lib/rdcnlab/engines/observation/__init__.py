# SPDX-License-Identifier: Apache-2.0
"""Make tables from the packets that an engine recorded; this is the same for all engines."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from rdcnlab.engines.network import Network
from rdcnlab.engines.observation import events, folds, queues, tcp, throughput
from rdcnlab.engines.observation.numbering import Numbering, OwnQueue, Records
from rdcnlab.engines.schema import SCHEMAS

__all__ = ["Numbering", "OwnQueue", "Records", "tables"]


def tables(network: Network, records: Records, flows: pd.DataFrame) -> dict[str, pa.Table]:
    """Return the tables of a run.

    Parameters
    ----------
    network : Network
        The network of the scenario that was run.
    records : Records
        The records of the run.
    flows : DataFrame
        The table ``flows``.
    """
    numbering = Numbering.of(network)
    acked = throughput.acked(numbering, records.acks)
    passed = throughput.table(numbering, numbering.ours(records.departures), acked)
    if len(records.counted):
        passed = pd.concat([passed, throughput.counted(numbering, records.counted)], ignore_index=True)
    frames = {
        "flows": flows,
        "throughput": passed,
        "queues": queues.table(numbering, records),
        "tcp": tcp.table(numbering, records.acks, flows),
        "events": events.table(numbering, records),
    }
    for name, how in folds.FOLDS.items():
        frames[name] = folds.folded(numbering, frames[name], how)
    return {
        name: pa.Table.from_pandas(
            frames[name][schema.names], schema=schema, preserve_index=False
        ).replace_schema_metadata()
        for name, schema in SCHEMAS.items()
    }
