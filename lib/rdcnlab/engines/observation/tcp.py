# SPDX-License-Identifier: Apache-2.0
"""Congestion windows and round-trip times after each ACK."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rdcnlab.engines.observation.numbering import Numbering


def table(numbering: Numbering, acks: NDArray[Any], flows: pd.DataFrame) -> pd.DataFrame:
    """Return the table ``tcp`` of `rdcnlab.engines.schema`, from records of ACKs."""
    frame = pd.DataFrame(
        {name: acks[name].astype(np.int64) for name in ("time", "dport", "snd_cwnd", "ssthresh", "srtt")}
    )
    frame = frame[frame["time"] >= 0]
    if numbering.probes.tcp == "bin":
        # Records are ordered by time, so the last record of each flow and bin is kept.
        key = frame["time"] // numbering.probes.bin * 2**20 + frame["dport"]
        frame = frame[~key.duplicated(keep="last").to_numpy()]
    frame = frame.assign(flow=numbering.names(frame.to_records(index=False)))
    mss = frame["flow"].map(dict(zip(flows["flow"], flows["mss_B"], strict=True)))
    return frame.assign(cwnd_B=frame["snd_cwnd"] * mss).rename(
        columns={"time": "t_ns", "snd_cwnd": "cwnd", "srtt": "srtt_us"}
    )
