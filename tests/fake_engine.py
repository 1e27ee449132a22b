# SPDX-License-Identifier: Apache-2.0
"""An engine for tests of what stands around engines: it invents tables from the seed.

Some seeds misbehave: see `SEEDS`.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from rdcnlab.engines import SCHEMAS, Outcome, Progress, RunError
from rdcnlab.scenario import Scenario

FAILS, DIES, CRASHES, SLEEPS = 1001, 1002, 1003, 1004


class FakeEngine:
    name = "fake"

    def identity(self, scenario: Scenario) -> str:
        return os.environ.get("FAKE_IDENTITY", "fa4e")

    def prepare(self, scenario: Scenario, progress: Progress | None = None) -> None:
        pass

    def run(self, scenario: Scenario, directory: Path, *, core: int | None, wall_limit_s: float) -> Outcome:
        print("noise on standard output")
        log = directory / "log"
        log.write_text("what went on\n")
        if scenario.seed == FAILS:
            raise RunError("the guest panicked", log)
        if scenario.seed == DIES:
            os.kill(os.getpid(), signal.SIGKILL)
        if scenario.seed == CRASHES:
            raise KeyError("a fault of ours")
        if scenario.seed == SLEEPS:
            (Path(os.environ["FAKE_MARK"]) / str(os.getpid())).touch()
            try:
                time.sleep(60)
            except KeyboardInterrupt:
                (Path(os.environ["FAKE_MARK"]) / "cleaned").touch()
                raise
        return Outcome(tables(scenario), {"core": core})


def tables(scenario: Scenario) -> dict[str, pa.Table]:
    rng = np.random.default_rng(scenario.seed)
    flows, throughput, tcp = [], [], []
    for flow, start in zip(scenario.flows, scenario.start_times(), strict=True):
        fct = float(rng.uniform(2, 3))
        flows.append(
            {
                "flow": flow.name,
                "src": flow.src,
                "dst": flow.dst,
                "cc": flow.cc,
                "size_B": flow.size,
                "start_s": start / 1e9,
                "end_s": start / 1e9 + fct,
                "fct_s": fct,
                "finished": True,
                "received_B": flow.size,
                "retransmits": int(rng.integers(100)),
                "timeouts": 0,
            }
        )
        for k in range(20):
            throughput.append({"bin": k, "where": "receiver", "flow": flow.name, "bytes": 1_000_000, "packets": 112})
            tcp.append(
                {
                    "t_ns": k * 1_000_000,
                    "flow": flow.name,
                    "cwnd": 10 + k,
                    "cwnd_B": (10 + k) * 8948,
                    "ssthresh": 2**31 - 1,
                    "srtt_us": 300,
                }
            )
    rows = {"flows": flows, "throughput": throughput, "tcp": tcp, "queues": [], "events": []}
    return {name: pa.Table.from_pylist(rows[name], schema) for name, schema in SCHEMAS.items()}
