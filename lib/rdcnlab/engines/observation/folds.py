# SPDX-License-Identifier: Apache-2.0
"""Folding: count bins that repeat modulo a span."""

from __future__ import annotations

import pandas as pd

from rdcnlab.engines.observation.numbering import Numbering

#: How folding combines the columns of tables of bins. ``mean`` divides by all spans, also those without a row.
FOLDS = {
    "throughput": {"bytes": "sum", "packets": "sum"},
    "queues": {"mean_B": "mean", "max_B": "max", "drops": "sum", "marks": "sum"},
}


def folded(numbering: Numbering, frame: pd.DataFrame, how: dict[str, str]) -> pd.DataFrame:
    """Return a table with its bins modulo `Probes.fold`; unchanged if the scenario has no fold."""
    probes = numbering.probes
    if probes.fold is None:
        return frame
    spans = (numbering.limit - probes.fold_from) // probes.fold
    count, first = probes.fold // probes.bin, probes.fold_from // probes.bin
    kept = frame[(frame["bin"] >= first) & (frame["bin"] < first + spans * count)]
    kept = kept.assign(bin=(kept["bin"] - first) % count)
    keys = [name for name in frame.columns if name not in how]
    sums = kept.groupby(keys).agg({name: "sum" if kind == "mean" else kind for name, kind in how.items()})
    for name, kind in how.items():
        if kind == "mean":
            sums[name] /= spans
    return sums.reset_index()[list(frame.columns)]
