# SPDX-License-Identifier: Apache-2.0
"""An engine for tests of the code around engines: a fast fluid model without TCP.

Some seeds make it fail in different ways; constants name these seeds.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from rdcnlab.analysis.timetables import targets
from rdcnlab.engines import SCHEMAS, Engine, Outcome, Progress, RunError, schema_of
from rdcnlab.engines.kernel import KernelEngine
from rdcnlab.runs.parts import RECEIVER, SENDER
from rdcnlab.scenario import BYPASS, DARK, Scenario

FAILS, DIES, CRASHES, SLEEPS, ORPHANED = 1001, 1002, 1003, 1004, 1005
#: With this seed and the nine after it a run takes `TAKES_S`.
TAKES, TAKES_S = 2000, 3.0


class FakeEngine(Engine):
    name = "fake"

    def identity(self) -> str:
        return os.environ.get("FAKE_IDENTITY", "fa4e")

    def prepare(self, progress: Progress | None = None) -> None:
        pass

    # its runs show the clock that the kernel engine's guests show
    virtual_ns = KernelEngine.virtual_ns  # type: ignore[assignment]

    def run(self, directory: Path, *, core: int | None, wall_limit_s: float) -> Outcome:
        scenario = self.scenario
        print("noise on standard output")
        log = directory / "log"
        log.write_text("what went on\n")
        if scenario.seed == FAILS:
            raise RunError("the guest panicked", log)
        if scenario.seed == DIES:
            os.kill(os.getpid(), signal.SIGKILL)
        if scenario.seed == CRASHES:
            raise KeyError("a fault of ours")
        if scenario.seed == ORPHANED:
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
        if scenario.seed == SLEEPS:
            (Path(os.environ["FAKE_MARK"]) / str(os.getpid())).touch()
            try:
                time.sleep(60)
            except KeyboardInterrupt:
                (Path(os.environ["FAKE_MARK"]) / "cleaned").touch()
                raise
        mark = os.environ.get("FAKE_MARK")
        if TAKES <= scenario.seed < TAKES + 10 and mark:
            (Path(mark) / f"begun-{scenario.seed}").touch()
            time.sleep(TAKES_S)
        if mark:
            with (Path(mark) / "made").open("a") as made:
                made.write(f"{scenario.seed} {core}\n")
        files = {}
        for program in scenario.programs:
            for ending, text in (("out", "0.000 10.086\n0.060 10.086\n"), ("err", "")):
                path = files[f"programs/{program.name}.{ending}"] = directory / f"{program.name}.{ending}"
                path.write_text(text)
        return Outcome(tables(scenario), {"core": core}, files)


def tables(scenario: Scenario) -> dict[str, pa.Table]:
    """Share each link equally, bin by bin. A window grows by 10 kB per bin if alone, and is halved when flows meet."""
    rng = np.random.default_rng(scenario.seed)
    width = scenario.probes.bin
    left = {flow.name: flow.size + int(rng.integers(10_000)) for flow in scenario.flows}
    window = dict.fromkeys(left, 100_000)
    ends: dict[str, float] = {}
    throughput, tcp, events = [], [], []
    was: dict[str, str] = {}
    count = min(scenario.limit // width, 20_000)
    links = {name: targets(scenario, name, np.arange(count) * width).tolist() for name in left}
    # a link between two switches has two ends; data enter at the first
    ends_of = {link.name: f"{link.name}@{link.between[0]}" for link in scenario.network.links if link.between}
    for k in range(count):
        if not left:
            break
        where = {name: links[name][k] for name in left}
        for name in list(left):
            together = sum(other == where[name] for other in where.values())
            if was.get(name, where[name]) != where[name]:
                slot = {"t_ns": k * width, "event": "slot", "link": where[name], "flow": name, "value": 0}
                events.append(slot)
            window[name] = window[name] // 2 if together > 1 and window[name] > 500_000 else window[name] + 10_000
            sent = min(left[name], width * 10 // 8 // together)
            if where[name] in (DARK, BYPASS):
                continue
            here = ends_of.get(where[name], where[name])
            throughput.append({"bin": k, "where": here, "flow": name, "bytes": sent, "packets": sent // 9000})
            throughput.append({"bin": k, "where": RECEIVER, "flow": name, "bytes": sent, "packets": sent // 9000})
            if scenario.probes.acks:
                throughput.append({"bin": k, "where": SENDER, "flow": name, "bytes": sent, "packets": sent // 9000})
            if scenario.probes.tcp != "none":
                tcp.append(
                    {
                        "t_ns": k * width + 500,
                        "flow": name,
                        "cwnd": window[name] // 8948,
                        "cwnd_B": window[name],
                        "ssthresh": 2**31 - 1,
                        "srtt_us": 300,
                    }
                )
            left[name] -= sent
            if not left[name]:
                ends[name] = (k + 1) * width / 1e9
                del left[name]
        was = where
    flows = [
        {
            "flow": flow.name,
            "src": flow.src,
            "dst": flow.dst,
            "cc": flow.cc,
            "size_B": flow.size,
            "start_s": start / 1e9,
            "end_s": ends.get(flow.name),
            "fct_s": ends[flow.name] - start / 1e9 if flow.name in ends else None,
            "finished": flow.name in ends,
            "received_B": flow.size - left.get(flow.name, 0),
            "retransmits": int(rng.integers(100)),
            "timeouts": 0,
        }
        for flow, start in zip(scenario.flows, scenario.start_times(), strict=True)
    ]
    queues = [
        {"bin": k, "link": schedule.name, "mean_B": 9014.0 * (k % 7), "max_B": 9014 * (k % 7), "drops": 0, "marks": 0}
        for schedule in scenario.network.schedules
        for k in range(count)
    ]
    rows = {
        "flows": flows,
        "throughput": folded(scenario, throughput, bytes="sum", packets="sum"),
        "tcp": tcp,
        "queues": folded(scenario, queues, mean_B="mean", max_B="max", drops="sum", marks="sum"),
        "events": events,
    }
    made = {name: pa.Table.from_pylist(rows[name], schema) for name, schema in SCHEMAS.items()}
    if scenario.programs:
        programs = [
            {
                "program": program.name,
                "host": program.host,
                "command": program.run,
                "start_s": program.start / 1e9,
                "end_s": program.start / 1e9 + 1,
                "ended": "itself",
                "status": 0,
                "stdout_B": 0,
                "stderr_B": 0,
                "files_B": 0,
                "sha256": "0" * 64,
            }
            for program in scenario.programs
        ]
        made["programs"] = pa.Table.from_pylist(programs, schema_of("programs"))
    return made


def folded(scenario: Scenario, rows: list[dict[str, object]], **how: str) -> list[dict[str, object]]:
    """Count bins modulo the fold, from the begin of the fold on."""
    probes = scenario.probes
    if probes.fold is None:
        return rows
    count, first = probes.fold // probes.bin, probes.fold_from // probes.bin
    frame = pd.DataFrame(rows)
    frame = frame[(frame["bin"] >= first) & (frame["bin"] < first + scenario.spans * count)]
    frame["bin"] = (frame["bin"] - first) % count
    keys = [name for name in frame.columns if name not in how]
    found: list[dict[str, object]] = frame.groupby(keys).agg(how).reset_index().to_dict("records")
    return found
