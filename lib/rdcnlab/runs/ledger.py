# SPDX-License-Identifier: Apache-2.0
"""The ledger of a run, with one row for each place."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

#: Fates in the order of the columns; ``entered`` and ``made`` together are all others together.
FATES = ("entered", "made", "delivered", "ended", "dropped", "waiting")


def by_place(table: pa.Table) -> pd.DataFrame:
    """Return the table ``ledger`` with a row for each place and part, and a column for each fate.

    Returns
    -------
    DataFrame
        ``place``, ``part``, the frames of each of `FATES`, and ``reasons``: why frames were dropped, in words.
    """
    frames: dict[tuple[str, str], dict[str, int]] = {}
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in table.to_pylist():
        key = (one["place"], one["part"])
        frames.setdefault(key, dict.fromkeys(FATES, 0))[one["fate"]] += one["frames"]
        if one["reason"] is not None:
            reasons.setdefault(key, []).append(f"{one['frames']} {one['reason']}")
    return pd.DataFrame(
        [
            {"place": place, "part": part, **counts, "reasons": ", ".join(reasons.get((place, part), []))}
            for (place, part), counts in frames.items()
        ],
        columns=["place", "part", *FATES, "reasons"],
    )
