# SPDX-License-Identifier: Apache-2.0
"""Compare both engines on 200 flows that share a buffer: 12.5 Gb/s, an RTT of CUBIC of 50 ms."""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from rdcnlab.app.bench_rounds import Load, Row, Say, row, silent
from rdcnlab.engines import Outcome, get_engine
from rdcnlab.engines.kernel import cores
from rdcnlab.engines.ns3 import build as ns3_build
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.flow import ENDLESS
from rdcnlab.scenario.presets import preset
from rdcnlab.scenario.queueing import Red


def setting(length_s: int) -> Scenario:
    """Return 10 senders of DCTCP and 10 of CUBIC with 10 flows each, in one buffer that is drop-tail for CUBIC."""
    known = preset("vargas")
    flows = [
        {"name": f"{kind}{sender}-{flow}", "src": f"{host}{sender}", "dst": "r", "path": "shared",
         "size": ENDLESS, "cc": cc}
        for kind, host, cc in (("d", "n", "dctcp"), ("c", "f", "cubic"))
        for sender in range(1, 11)
        for flow in range(1, 11)
    ]  # fmt: skip
    probes = {"tcp": "none", "bin": "100 ms", "count": ["shared"], "snapshots": "10 ms"}
    data = {"network": known.fabric, "flows": flows, "limit": f"{length_s} s", "probes": probes, **known.scenario}
    return Scenario.from_dict(data).with_thresholds(
        "shared", 150_000, Red(min=800_000, max=800_000, probability=50_000)
    )


def compare(length_s: int, say: Say = silent) -> Iterator[Row]:
    """Yield what a run of `setting` costs on each engine, and the ratio; rows are as in `rdcnlab.app.bench`.

    Times are wall-clock times of a whole run on the same core, set-up included. ns-3 runs once, because it takes two
    minutes and more for a virtual second, as its wheel is built: the row of the ratio says how. The kernel runs before
    and after it, so the ratio has two values.

    Parameters
    ----------
    length_s : int
        Length of the run in s of virtual time.
    say : callable
        Called with what happens now.
    """
    asked, core = setting(length_s), cores()[-1]
    load = Load()
    say("kernel, before ns-3")
    before_s, before_mb = _apart(asked, core)
    say("ns-3")
    ns3_s, ns3_mb = _apart(asked.with_(**{"engine.kind": "ns3"}), core)
    say("kernel, after ns-3")
    after_s, after_mb = _apart(asked, core)
    other = load.other()
    what = f"12.5 Gb/s, 50 ms, {length_s} s"
    yield row(f"kernel: {what}: wall clock", [before_s, after_s], "s", other=other)
    yield row(f"kernel: {what}: memory", [before_mb, after_mb], "MB", at_most=1000, other=other)
    yield row(f"ns3: {what}: wall clock", [ns3_s], "s", other=other)
    yield row(f"ns3: {what}: memory", [ns3_mb], "MB", other=other)
    yield row(
        f"ns3 ({ns3_build.words()}) over kernel, wall clock",
        [ns3_s / before_s, ns3_s / after_s],
        "",
        at_least=15,
        ratio=True,
        other=other,
    )


def _apart(asked: Scenario, core: int) -> tuple[float, float]:
    """Run a scenario under a process of its own, whose largest child is the guest; return seconds and MB."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        return executor.submit(_run, asked, core).result()


def _run(asked: Scenario, core: int) -> tuple[float, float]:
    engine = get_engine(asked)
    engine.prepare()
    with tempfile.TemporaryDirectory() as name:
        outcome: Outcome = engine.run(Path(name), core=core, wall_limit_s=engine.wall_limit_s)
    # Linux gives kB
    guest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return float(outcome.provenance["wall_s"]), float(outcome.provenance.get("peak_B", guest)) / 1e6
