# SPDX-License-Identifier: Apache-2.0
"""Measure the speed of the engine, and the cost of scoring. Goals are ratios, because seconds depend on the machine.

Measurements that are compared take turns, and the fastest round of each counts. Other work on the machine can only make
a round slower, and it affects all measurements in the same minutes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rdcnlab.app import bench_cluster, bench_use, packet_cost
from rdcnlab.engines import Outcome
from rdcnlab.engines.kernel import KernelEngine, build, cores
from rdcnlab.engines.kernel.checks import native
from rdcnlab.engines.kernel.switches.bmv2 import install as bmv2_install
from rdcnlab.engines.ns3 import Ns3Engine
from rdcnlab.engines.ns3 import build as ns3_build
from rdcnlab.fields.errors import RunError
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.system import extras

ROUNDS, FEWER_ROUNDS = 5, 3
#: Payload of a frame of 9000 B.
MSS = 8948

Row = dict[str, Any]


def two_flows(size: str) -> Scenario:
    """Return the two-flow migration experiment, CUBIC at 50 ms, with the settings of its paper."""
    return Scenario.from_dict(
        {
            "network": "aykurt",
            "flows": [
                {"name": "main", "size": size, "path": "green"},
                {"name": "migrated", "size": size, "path": [["50 ms", "blue"], ["50 ms", "green"]]},
            ],
        }
    )


def measure() -> Iterator[Row]:
    """Yield one row for each measurement: measure, value, unit, goal, and whether it holds (None without a goal)."""
    scenario = two_flows("2 GiB")
    KernelEngine().prepare(scenario)
    kernel = build.build(hz=scenario.engine.hz)
    core = cores()[-1]
    packets = sum(flow.size // MSS for flow in scenario.flows)

    measured = {
        "empty": lambda: _run(two_flows("1 B"), core),
        "whole": lambda: _run(scenario, core),
        "bare": lambda: _run(scenario.with_(**{"probes.tcp": "none"}), core),
    }
    if native.available():
        measured["native"] = lambda: native.seconds(kernel, scenario, core)
    best = _best(measured, ROUNDS)
    virtual = float(_outcome(scenario, core).provenance["virtual_s"])
    empty, wall = best["empty"], best["whole"]
    yield row("a scenario with no traffic, Mininet included", empty, "s", at_most=2.0)
    yield row("two-flow scenario, 2 x 2 GiB, probes on", wall, "s")
    yield row("wall seconds a virtual second, set-up included", wall / virtual, "s/s")
    yield row("data packets a second, set-up and probes included", packets / wall, "1/s")
    speed = packets / (wall - empty)
    yield row("data packets a second, probes included, set-up not", speed, "1/s")
    yield row("data packets a second, tcp probe off, set-up not", packets / (best["bare"] - empty), "1/s")
    if "native" in best:
        natively = packets / best["native"]
        yield row("the host's own kernel on that chain, unshaped, one core", natively, "1/s")
        yield row("guest over host's own kernel", speed / natively, "", at_least=0.5)
    else:
        yield row("the host's own kernel: needs root, which makes the network namespaces", None, "1/s")
    yield from _fabric(core)
    yield from _packets(core)
    if bmv2_install.missing():
        yield row(f"BMv2: {' and '.join(bmv2_install.missing())} not found", None, "")
    else:
        yield from _switches(core)
    if ns3_build.no_wheel() or not ns3_build.installed():
        yield row("ns3: not installed", None, "")
    else:
        yield from _simulated(core)
    if len(cores()) > 1:
        yield row("two cores over one, plain arithmetic: what this machine gives", _core_speedup(), "")
        yield row("two workers over one", _scaling(), "", at_least=1.7)
    else:
        yield row("two workers over one: there is only one core", None, "")
    yield from _pools()
    for what, seconds, most in bench_use.waits():
        yield row(what, seconds, "s", at_most=most)
    yield from scoring()


def scoring(names: Sequence[str] = ()) -> Iterator[Row]:
    """Yield time and memory for judging all stored results, or those of some items, in a separate process."""
    begun = time.monotonic()
    line = "from rdcnlab.app.cli import main; main()"
    process = subprocess.Popen([sys.executable, "-c", line, "score", *names], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - begun
    if process.returncode:
        raise RunError(f"rdcnlab score ended with {process.returncode}")
    command = " ".join(["rdcnlab score", *names])
    # Linux gives kB
    peak_mb = used.ru_maxrss * 1024 / 1e6
    yield row(command, wall, "s", at_most=None if names else 20)
    yield row(f"{command}: time on cores", used.ru_utime + used.ru_stime, "s")
    yield row(f"{command}: memory at its peak", peak_mb, "MB", at_most=None if names else 700)


def _fabric(core: int) -> Iterator[Row]:
    """Yield the time for a data packet in a rotor fabric of three switches, relative to one switch, without set-up."""
    rotor: dict[str, Any] = {"fabric": "rotor", "racks": 8, "hosts": 2}
    flat = {
        "name": "flat",
        "mtu": "9000 B",
        "hosts": [{"name": "h[1-16]", "rate": "10 Gb/s", "delay": "1 us"}],
        "links": [{"name": "l[1-16]", "rate": "10 Gb/s", "delay": "2 us", "buffer": "450 kB"}],
    }
    cost = {}
    for name, network, path in (("rotor", rotor, "ecmp"), ("flat", flat, "l{}")):
        flows = [
            {"name": f"f{n}", "src": f"h{n}", "dst": f"h{17 - n}", "cc": "dctcp", "path": path.format(n)}
            for n in range(1, 17)
        ]
        empty, full = (
            Scenario.from_dict({"network": network, "flows": [{**flow, "size": size} for flow in flows]}).with_(
                **{"probes.tcp": "none"}
            )
            for size in ("1 B", "256 MB")
        )
        best = _best({"empty": partial(_run, empty, core), "full": partial(_run, full, core)})
        cost[name] = (best["full"] - best["empty"]) / (16 * 256_000_000 // MSS)
    yield row("rotor fabric, 8 racks: wall clock a data packet", cost["rotor"] * 1e6, "us")
    yield row("rotor fabric over one switch, a data packet", cost["rotor"] / cost["flat"], "")


def _packets(core: int) -> Iterator[Row]:
    """Yield the processor time for a data packet in scenarios with the shapes of our longest runs, without set-up."""
    for name, whole in packet_cost.shapes().items():
        begin = whole.with_(limit=whole.limit // 3)
        count = {"begin": 0.0, "whole": 0.0}

        def seconds(part: str, scenario: Scenario, count: dict[str, float] = count) -> float:
            time_s, count[part] = packet_cost.processor_time(scenario, core)
            return time_s

        best = _best({"begin": partial(seconds, "begin", begin), "whole": partial(seconds, "whole", whole)})
        packet_s = (best["whole"] - best["begin"]) / (count["whole"] - count["begin"])
        yield row(f"shape '{name}': processor time a data packet", packet_s * 1e6, "us")


def _switches(core: int) -> Iterator[Row]:
    """Yield the time for a packet with our kernel's switch and with BMv2, without set-up."""
    scenario = two_flows("32 MiB")
    for kind in ("ocs", "bmv2"):
        empty, full = (
            scenario.with_(size=size, **{"switch.kind": kind, "probes.tcp": "none"}) for size in ("1 B", "32 MiB")
        )
        best = _best({"empty": partial(_run, empty, core), "full": partial(_run, full, core)})
        time_s = best["full"] - best["empty"]
        packets = sum(flow.size // MSS for flow in scenario.flows)
        passed = _passed(_outcome(full, core)) - _passed(_outcome(empty, core))
        yield row(f"{kind}: a scenario with no traffic", best["empty"], "s")
        yield row(f"{kind}: data packets a second, set-up not", packets / time_s, "1/s")
        if kind == "bmv2":
            yield row("bmv2: wall clock a packet through simple_switch", time_s / passed * 1000, "ms", at_most=0.05)


def _simulated(core: int) -> Iterator[Row]:
    """Yield the speed of ns-3 and that of the kernel on the same scenario, without set-up."""
    full, empty = (two_flows(size).with_(**{"probes.tcp": "none"}) for size in ("256 MiB", "1 B"))
    simulated = full.with_(**{"engine.kind": "ns3"})
    engine = Ns3Engine()
    engine.prepare(simulated)
    outcomes: list[Outcome] = []

    def seconds() -> float:
        with tempfile.TemporaryDirectory() as name:
            outcomes.append(engine.run(simulated, Path(name), core=core, wall_limit_s=600))
        return float(outcomes[-1].provenance["simulated_s"])

    measured: dict[str, Callable[[], float]] = {"ns3": seconds}
    measured |= {"empty": partial(_run, empty, core), "full": partial(_run, full, core)}
    best = _best(measured)
    packets = sum(flow.size // MSS for flow in full.flows)
    speed, kernel = packets / best["ns3"], packets / (best["full"] - best["empty"])
    yield row("ns3: a scenario with no traffic", outcomes[-1].provenance["wall_s"] - best["ns3"], "s")
    yield row("ns3: events a second", outcomes[-1].provenance["events"] / best["ns3"], "1/s")
    yield row("ns3: data packets a second, set-up not", speed, "1/s")
    yield row("kernel: data packets a second, same scenario", kernel, "1/s")
    yield row("kernel over ns3", kernel / speed, "")


def _pools() -> Iterator[Row]:
    """Yield the time that pools take to start, and the speed-up by a second worker of a cluster."""
    empty, scenarios = two_flows("1 B"), [two_flows("1 GiB").with_(seed=seed) for seed in range(8)]
    measured: dict[str, Callable[[], float]] = {"local": partial(bench_cluster.start, empty, cluster=False)}
    if extras.is_installed("cluster"):
        measured["cluster"] = partial(bench_cluster.start, empty, cluster=True)
    best = _best(measured)
    yield row("a run in the local pool, without its guest's time", best["local"], "s", at_most=2.0)
    if "cluster" not in best:
        yield row("a cluster: Dask is not installed", None, "")
        return
    yield row("a run in a new local cluster of Dask, without its guest's time", best["cluster"], "s")
    if len(cores()) > 1:
        work = bench_cluster.work
        best = _best({"one": partial(work, scenarios[1:], 1), "two": partial(work, scenarios, 2)})
        yield row("two workers of a cluster over one", best["one"] / best["two"], "", at_least=1.7)
    else:
        yield row("two workers of a cluster over one: there is only one core", None, "")


def _passed(outcome: Outcome) -> int:
    """Return the number of packets that entered ``simple_switch``: a data packet twice, from its host and its link."""
    return int(outcome.provenance["switch"].get("packets", 0))


def row(
    measure: str, value: float | None, unit: str, *, at_most: float | None = None, at_least: float | None = None
) -> Row:
    """Return one line of the benchmark's table."""
    goal, holds = None, None
    if at_most is not None:
        goal, holds = f"at most {at_most:g}", value is not None and value <= at_most
    if at_least is not None:
        goal, holds = f"at least {at_least:g}", value is not None and value >= at_least
    return {"measure": measure, "value": value, "unit": unit, "goal": goal, "holds": holds}


def _best(measured: dict[str, Callable[[], float]], count: int = FEWER_ROUNDS) -> dict[str, float]:
    """Return the smallest time in seconds of each measurement. The measurements take turns."""
    rounds = [{name: seconds() for name, seconds in measured.items()} for _ in range(count)]
    return {name: min(times[name] for times in rounds) for name in measured}


def _run(scenario: Scenario, core: int) -> float:
    """Run a scenario once, and return the wall-clock time of the guest in seconds."""
    return float(_outcome(scenario, core).provenance["wall_s"])


def _outcome(scenario: Scenario, core: int) -> Outcome:
    with tempfile.TemporaryDirectory() as name:
        return KernelEngine().run(scenario, Path(name), core=core, wall_limit_s=600)


def _scaling() -> float:
    """Return the time of one worker divided by the time of two workers for the same runs, in new stores."""

    def seconds(workers: int) -> float:
        with tempfile.TemporaryDirectory() as name:
            store = Store(Path(name) / "runs", shipped=Shipped(Path(name) / "none"))
            begun = time.monotonic()
            campaign([two_flows("1 GiB").with_(seed=s) for s in range(6)], workers=workers, store=store, progress=False)
            return time.monotonic() - begun

    best = _best({"one": lambda: seconds(1), "two": lambda: seconds(2)})
    return best["one"] / best["two"]


def _core_speedup() -> float:
    """Return the speed of two cores divided by that of one. Two hardware threads of one core give less than 2."""

    def seconds(core_numbers: list[int]) -> float:
        line = "n = 0\nfor k in range(30_000_000): n += k"
        begun = time.monotonic()
        loops = [subprocess.Popen(["taskset", "-c", str(core), sys.executable, "-c", line]) for core in core_numbers]
        for loop in loops:
            loop.wait()
        return time.monotonic() - begun

    best = _best({"one": lambda: seconds(cores()[:1]), "two": lambda: seconds(cores()[:2])})
    return 2 * best["one"] / best["two"]
