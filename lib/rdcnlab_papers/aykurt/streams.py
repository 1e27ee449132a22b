# SPDX-License-Identifier: Apache-2.0
"""A stream of UDP at a constant rate beside one flow of TCP on a link. Sec. V-G, of which no figure is shown."""

from __future__ import annotations

import pandas as pd

from rdcnlab.analysis import tables
from rdcnlab.fields.units import NS_PER_S
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.once import for_each_run
from rdcnlab.scenario import Scenario
from rdcnlab_papers.analysis.measured import Measured, means
from rdcnlab_papers.aykurt.space import NO_ACKS, Variant, third_sender

#: Rates of the stream in Gb/s, our input: a fifth, a half and four fifths of the link.
RATES = (2, 5, 8)
#: Time for which the stream lasts, and before which nothing is measured, in ns.
_LENGTH, _SETTLE = NS_PER_S, NS_PER_S // 5
#: What the link carries while the stream lasts, headers included: the flow outlasts the stream.
_SIZE = "1250 MB"
STREAM = "stream"


def scenario(cc: Variant, gbps: int, seed: int) -> Scenario:
    """Return a flow of TCP that stays on a link, and a stream of UDP on the same link."""
    main = {"name": "main", "size": _SIZE, "cc": cc, "path": "green"}
    base = Scenario.from_dict({"network": "aykurt", "flows": [main], "seed": seed})
    stream = {"name": STREAM, "protocol": "udp", "rate": f"{gbps} Gb/s", "until": _LENGTH}
    return third_sender(base, stream).with_(**NO_ACKS, **{"probes.bin": "100 ms"})


def is_stream(one: Scenario) -> bool:
    """Return whether a scenario has a stream of UDP."""
    return any(flow.name == STREAM for flow in one.flows)


@for_each_run
def rates(runs: Runs) -> pd.DataFrame:
    """Return by run what the link carries in the last four fifths of the stream.

    Returns
    -------
    DataFrame
        ``case`` (variant and rate), ``kept``, the stream's rate over what it asks for, and ``filled``, the rate of both
        flows over that of the link; both on the wire, with the bytes of headers.
    """
    rows = []
    for (run,), carried in tables.groups(runs.throughput, ["run"]):
        one = runs[int(run)].scenario
        main, stream = one.flows
        start = carried["bin"].astype("int64") * one.probes.bin
        on_link = carried[(carried["where"] == "green") & (start >= _SETTLE) & (start < _LENGTH)]
        bits_per_s = on_link.groupby("flow", observed=True)["bytes"].sum() * 8 * NS_PER_S / (_LENGTH - _SETTLE)
        assert stream.rate is not None
        asked = stream.rate
        rows.append(
            {
                "run": run,
                "case": f"{main.cc}, {asked / 1e9:g} Gb/s",
                "kept": float(bits_per_s.get(STREAM, 0.0)) / asked,
                "filled": float(bits_per_s.sum()) / one.network.link("green").rate,
            }
        )
    return pd.DataFrame(rows, columns=["run", "case", "kept", "filled"])


def measure(runs: Runs) -> dict[str, Measured]:
    """Measure whether the stream keeps its rate, and whether TCP takes what it leaves."""
    seen = rates(runs)
    return {
        "udp-keeps-rate": Measured.by_case(means(seen, "case", "kept")),
        "tcp-takes-rest": Measured.by_case(means(seen, "case", "filled")),
    }
