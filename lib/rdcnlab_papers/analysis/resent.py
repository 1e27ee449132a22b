# SPDX-License-Identifier: Apache-2.0
"""Segments that are sent again: what an event ``retransmit`` counts, which is one of packets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdcnlab.fields.errors import InputError
from rdcnlab.runs.frame import Runs
from rdcnlab.scenario import Scenario


def segments(runs: Runs) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the run, the time in ns and the number of segments of each event ``retransmit``, sorted by run.

    The numbers of a flow add up to its ``retransmits`` in the table ``flows``. With segmentation offload the kernel
    does not say how many segments each packet has, so all packets of a flow have as many as they have on average.
    """
    if not any(_tso(run.scenario) for run in runs):
        indices, times = runs.event_times("retransmit")
        return indices, times, np.ones(len(times))
    events = runs.rows("events")
    if "flow" not in events:
        need_packets_of_one_segment(runs)
    events = events[events["event"] == "retransmit"].astype({"flow": str})
    flows = runs.rows("flows").astype({"flow": str}).set_index(["run", "flow"])["retransmits"].astype(float)
    average = flows / events.groupby(["run", "flow"]).size()
    numbers = average.reindex(pd.MultiIndex.from_frame(events[["run", "flow"]]))
    indices, times = (np.asarray(events[column], dtype=np.int64) for column in ("run", "t_ns"))
    return indices, times, np.asarray(numbers, dtype=np.float64)


def need_packets_of_one_segment(runs: Runs) -> None:
    """Raise InputError if a packet of the runs may have several segments.

    The event ``retransmit`` is one of packets, and who calls this counts segments; see `rdcnlab.engines.schema`.
    """
    for run in runs:
        tso = _tso(run.scenario)
        if tso:
            reason = (
                f"with packets of up to {tso} B an event 'retransmit' may stand for several segments, so events do not "
                "count segments; set it to 0 B, or take retransmits of the table flows"
            )
            raise InputError.of("offload.tso", f"{tso} B", "0 B", reason=reason)


def _tso(scenario: Scenario) -> int:
    """Return the largest packet in B that a sender hands over to its card; 0 if these are frames."""
    return max((scenario.offload_of(flow.src).tso for flow in scenario.flows), default=0)
