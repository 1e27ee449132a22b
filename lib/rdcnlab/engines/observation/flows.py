# SPDX-License-Identifier: Apache-2.0
"""The table ``flows``: when each flow began and ended, and what arrived."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from rdcnlab.engines.network import Traffic
from rdcnlab.engines.schema import SCHEMAS

SECOND = 1e9
#: Columns of the table, and the payload of a full segment, which the table ``tcp`` needs.
COLUMNS = [*SCHEMAS["flows"].names, "mss_B"]


@dataclass(frozen=True)
class Carried:
    """What an engine saw of one flow.

    Parameters
    ----------
    start, end : int or None
        ns since the scenario's start; None: it did not begin, or has no end.
    complete : bool
        Whether the receiver has got all, so that the flow has a completion time.
    finished : bool
        Whether all was done that the scenario asks for.
    received_B : int
        Payload at the receiver in bytes.
    retransmits, timeouts : int
        Counts of TCP.
    mss_B : int
        Payload of a full segment in bytes.
    """

    start: int | None
    end: int | None
    complete: bool
    finished: bool
    received_B: int  # noqa: N815  (unit)
    retransmits: int
    timeouts: int
    mss_B: int  # noqa: N815  (unit)


def table(traffic: Traffic, carried: Iterable[Carried]) -> pd.DataFrame:
    """Return the table ``flows`` with `COLUMNS`; `carried` is in the order of the flows."""
    rows = []
    for flow, seen in zip(traffic.flows, carried, strict=True):
        # programs of QUIC and datagrams have no retransmissions that anyone reports
        tcp = flow.is_tcp
        rows.append(
            {
                "flow": flow.name,
                "src": flow.src,
                "dst": flow.dst,
                "cc": flow.cc,
                "size_B": traffic.sizes[flow.name],
                "start_s": None if seen.start is None else seen.start / SECOND,
                "end_s": None if seen.end is None else seen.end / SECOND,
                "fct_s": ((seen.end or 0) - (seen.start or 0)) / SECOND if seen.complete else None,
                "finished": seen.finished,
                "received_B": seen.received_B,
                "retransmits": seen.retransmits if tcp else None,
                "timeouts": seen.timeouts if tcp else None,
                "mss_B": seen.mss_B,
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)
