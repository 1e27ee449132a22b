# SPDX-License-Identifier: Apache-2.0
"""Measure what a data packet costs: in the kernel, in a fabric, in each switch, in ns-3, and on the host's own kernel.

Workloads are as short as a stable figure allows: traffic takes a guest at least as long as its set-up, of about a
second, so that an error of the set-up's time is small.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rdcnlab.app import packet_cost
from rdcnlab.app.bench_rounds import Row, Say, Times, missing, row, take, without
from rdcnlab.engines import Outcome
from rdcnlab.engines.kernel import KernelEngine, build, cores
from rdcnlab.engines.kernel.checks import native
from rdcnlab.engines.kernel.plan import compile_plan
from rdcnlab.engines.kernel.switches.bmv2 import install as bmv2_install
from rdcnlab.engines.ns3 import Ns3Engine
from rdcnlab.engines.ns3 import build as ns3_build
from rdcnlab.scenario import Scenario

#: Payload of a frame of 9000 B.
MSS = 8948
#: Payload of each flow of the fabrics in B.
_FABRIC_B = 96_000_000


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


def kernel(say: Say) -> Iterator[Row]:
    """Yield the speed of the two-flow scenario, and that of the host's own kernel, for comparison."""
    scenario, core = two_flows("1 GiB"), cores()[-1]
    engine = KernelEngine(scenario)
    engine.prepare()
    packets = _packets(scenario)
    virtual_s: list[float] = []

    def whole() -> float:
        outcome = _outcome(scenario, core)
        virtual_s.append(float(outcome.provenance["virtual_s"]))
        return float(outcome.provenance["wall_s"])

    measured: dict[str, Callable[[], float]] = {
        "no traffic": partial(_run, two_flows("1 B"), core),
        "all": whole,
        "tcp probe off": partial(_run, scenario.with_(**{"probes.tcp": "none"}), core),
    }
    if native.available():
        host_kernel = build.build(hz=scenario.engine.hz)
        measured["host"] = partial(native.seconds, host_kernel, compile_plan(engine.network), core)
    rounds = take(measured, say=say, what="two flows")

    def traffic(times: Times, name: str = "all") -> float:
        return packets / without(times[name], times["no traffic"])

    yield rounds.row("a scenario with no traffic, Mininet included", lambda t: t["no traffic"], "s", at_most=2.0)
    yield rounds.row("two-flow scenario, 2 x 1 GiB, probes on", lambda t: t["all"], "s")
    # virtual time is the same in each round
    yield rounds.row("wall seconds a virtual second, set-up included", lambda t: t["all"] / virtual_s[0], "s/s")
    yield rounds.row("data packets a second, set-up and probes included", lambda t: packets / t["all"], "1/s")
    yield rounds.row("data packets a second, probes included, set-up not", traffic, "1/s")
    yield rounds.row("data packets a second, tcp probe off, set-up not", lambda t: traffic(t, "tcp probe off"), "1/s")
    if "host" in measured:
        yield rounds.row(
            "the host's own kernel on that chain, unshaped, one core", lambda t: packets / t["host"], "1/s"
        )
        yield rounds.row(
            "guest over host's own kernel", lambda t: traffic(t) * t["host"] / packets, "", at_least=0.5, ratio=True
        )
    else:
        yield missing("the host's own kernel", "needs root, which makes the network namespaces", "1/s")


def fabric(say: Say) -> Iterator[Row]:
    """Yield the time for a data packet in a rotor fabric of three switches, relative to one switch, without set-up."""
    rotor: dict[str, Any] = {"fabric": "rotor", "racks": 8, "hosts": 2}
    flat = {
        "name": "flat",
        "mtu": "9000 B",
        "hosts": [{"name": "h[1-16]", "rate": "10 Gb/s", "delay": "1 us"}],
        "links": [{"name": "l[1-16]", "rate": "10 Gb/s", "delay": "2 us", "buffer": "450 kB"}],
    }
    core = cores()[-1]
    measured: dict[str, Callable[[], float]] = {}
    for name, network, path in (("rotor", rotor, "ecmp"), ("flat", flat, "l{}")):
        flows = [
            {"name": f"f{n}", "src": f"h{n}", "dst": f"h{17 - n}", "cc": "dctcp", "path": path.format(n)}
            for n in range(1, 17)
        ]
        for part, size in (("no traffic", "1 B"), ("all", f"{_FABRIC_B} B")):
            asked = Scenario.from_dict({"network": network, "flows": [{**flow, "size": size} for flow in flows]})
            measured[f"{name}, {part}"] = partial(_processor, asked.with_(**{"probes.tcp": "none"}), core)
    rounds = take(measured, say=say, what="fabrics")

    def packet_us(times: Times, name: str) -> float:
        return without(times[f"{name}, all"], times[f"{name}, no traffic"]) / (16 * _FABRIC_B // MSS) * 1e6

    yield rounds.row("rotor fabric, 8 racks: processor time a data packet", lambda t: packet_us(t, "rotor"), "us")
    yield rounds.row(
        "rotor fabric over one switch, processor time a data packet",
        lambda t: packet_us(t, "rotor") / packet_us(t, "flat"),
        "",
        ratio=True,
    )


def shapes(say: Say) -> Iterator[Row]:
    """Yield the processor time for a data packet in scenarios with the shapes of our longest runs, without set-up."""
    core = cores()[-1]
    for name, whole in packet_cost.shapes().items():
        begin = whole.with_(limit=whole.limit // 3)
        count: dict[str, float] = {}

        def seconds(part: str, scenario: Scenario, count: dict[str, float] = count) -> float:
            time_s, count[part] = packet_cost.processor_time(scenario, core)
            return time_s

        measured = {"first third": partial(seconds, "begin", begin), "all": partial(seconds, "whole", whole)}
        rounds = take(measured, say=say, what=f"shape '{name}'")
        # the same in each round, because runs are
        packets = count["whole"] - count["begin"]
        yield rounds.row(
            f"shape '{name}': processor time a data packet",
            lambda t, packets=packets: without(t["all"], t["first third"]) / packets * 1e6,  # type: ignore[misc]
            "us",
        )


def switches(say: Say) -> Iterator[Row]:
    """Yield the time for a packet with our kernel's switch and with BMv2, without set-up."""
    if bmv2_install.missing():
        yield missing("BMv2", f"{' and '.join(bmv2_install.missing())} not found")
        return
    core, scenario = cores()[-1], two_flows("32 MiB")
    passed: dict[str, int] = {}

    def seconds(name: str, asked: Scenario) -> float:
        outcome = _outcome(asked, core)
        # a data packet enters simple_switch twice, from its host and from its link
        passed[name] = int(outcome.provenance["switch"].get("packets", 0))
        return float(outcome.provenance["wall_s"])

    measured: dict[str, Callable[[], float]] = {
        f"{kind}, {part}": partial(
            seconds,
            f"{kind}, {part}",
            scenario.with_(size=size, **{"switch.kind": kind, "probes.tcp": "none"}),
        )
        for kind in ("ocs", "bmv2")
        for part, size in (("no traffic", "1 B"), ("all", "32 MiB"))
    }
    rounds = take(measured, say=say, what="switches")
    packets = _packets(scenario)
    for kind in ("ocs", "bmv2"):
        empty, full = f"{kind}, no traffic", f"{kind}, all"
        yield rounds.row(f"{kind}: a scenario with no traffic", lambda t, empty=empty: t[empty], "s")  # type: ignore[misc]
        yield rounds.row(
            f"{kind}: data packets a second, set-up not",
            lambda t, empty=empty, full=full: packets / without(t[full], t[empty]),  # type: ignore[misc]
            "1/s",
        )
    through = passed["bmv2, all"] - passed["bmv2, no traffic"]
    yield rounds.row(
        "bmv2: wall clock a packet through simple_switch",
        lambda t: without(t["bmv2, all"], t["bmv2, no traffic"]) / through * 1000,
        "ms",
        at_most=0.05,
    )


def simulated(say: Say) -> Iterator[Row]:
    """Yield the speed of ns-3 and that of the kernel on the same scenario, without set-up."""
    if ns3_build.no_wheel() or not ns3_build.installed():
        yield missing("ns3", "ns-3 is not installed")
        return
    full, empty = (two_flows(size).with_(**{"probes.tcp": "none"}) for size in ("512 MiB", "1 B"))
    engine, core = Ns3Engine(full.with_(**{"engine.kind": "ns3"})), cores()[-1]
    say("ns-3: its models, which are compiled the first time")
    engine.prepare()
    reports: list[Mapping[str, Any]] = []

    def seconds() -> float:
        with tempfile.TemporaryDirectory() as name:
            reports.append(engine.run(Path(name), core=core, wall_limit_s=600).provenance)
        return float(reports[-1]["simulated_s"])

    measured: dict[str, Callable[[], float]]
    measured = {"ns-3": seconds, "kernel, no traffic": partial(_run, empty, core), "kernel": partial(_run, full, core)}
    rounds = take(measured, say=say, what="ns-3 and the kernel")
    packets, events = _packets(full), int(reports[0]["events"])

    def speed(times: Times) -> float:
        return packets / without(times["kernel"], times["kernel, no traffic"])

    yield row(
        "ns3: a scenario with no traffic",
        [report["wall_s"] - report["simulated_s"] for report in reports],
        "s",
        other=max(rounds.others),
    )
    yield rounds.row("ns3: events a second", lambda t: events / t["ns-3"], "1/s")
    yield rounds.row("ns3: data packets a second, set-up not", lambda t: packets / t["ns-3"], "1/s")
    yield rounds.row("kernel: data packets a second, same scenario", speed, "1/s")
    yield rounds.row(f"kernel over ns3 ({ns3_build.words()})", lambda t: speed(t) * t["ns-3"] / packets, "", ratio=True)


def _packets(scenario: Scenario) -> int:
    """Return the number of data packets of a scenario whose frames have 9000 B."""
    return sum(flow.size // MSS for flow in scenario.flows)


def _processor(scenario: Scenario, core: int) -> float:
    """Run a scenario once, and return the processor time of the guest in seconds."""
    return packet_cost.processor_time(scenario, core)[0]


def _run(scenario: Scenario, core: int) -> float:
    """Run a scenario once, and return the wall-clock time of the guest in seconds."""
    return float(_outcome(scenario, core).provenance["wall_s"])


def _outcome(scenario: Scenario, core: int) -> Outcome:
    with tempfile.TemporaryDirectory() as name:
        return KernelEngine(scenario).run(Path(name), core=core, wall_limit_s=600)
