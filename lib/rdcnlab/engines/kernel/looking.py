# SPDX-License-Identifier: Apache-2.0
"""Look around in a host at an instant of a scenario, while the clock stands."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rdcnlab.engines.kernel import build, guest, plan
from rdcnlab.engines.kernel.traffic import programs, quic
from rdcnlab.engines.network.numbers import START_NS
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.fields.phrases import unknown
from rdcnlab.fields.units import DURATION
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.additions import additions


@dataclass(frozen=True)
class Answer:
    """What a command printed, on standard output and errors, and its exit status."""

    text: str
    status: int


def look(scenario: Scenario, host: str, at_ns: int, commands: Sequence[str]) -> list[Answer]:
    """Run shell lines in a host at an instant, and return their answers; the run ends then and is not stored.

    Parameters
    ----------
    scenario : Scenario
        A scenario with engine ``kernel``.
    host : str
        The host's name.
    at_ns : int
        ns after the scenario's start.
    commands : sequence of str
        They run as root in the host's network, one after the other. They take no virtual time, unless they wait.

    Raises
    ------
    InputError
        There is no such host, or the instant is not before the limit.
    RunError
        All flows ended before this instant, or the run failed.
    """
    hosts = [each.name for each in scenario.network.machines]
    if host not in hosts:
        raise InputError.of("host", host, f"one of {', '.join(hosts)}", reason=unknown(host, hosts, "host"))
    if not 0 <= at_ns < scenario.limit:
        allowed = f"before the scenario's limit ({DURATION.format(scenario.limit)})"
        raise InputError.of("at", DURATION.format(at_ns), allowed)
    plan.check(scenario)
    settings = scenario.engine
    kernel = build.build(hz=settings.hz, algorithm=additions(scenario))
    asked = {**plan.compile_plan(scenario), "look": {"host": host, "at_ns": START_NS + at_ns, "commands": [*commands]}}
    with tempfile.TemporaryDirectory() as here:
        directory = Path(here)
        programs.place_files(scenario, directory)
        read = [Path(path) for path in quic.identity(scenario) if Path(path).is_absolute()]
        guest.run(
            kernel, asked, directory, python=sys.executable, read=[*read, *programs.readable(scenario)],
            most_processes=programs.most_processes(scenario),
        )  # fmt: skip
        if not (directory / "look.json").exists():
            raise RunError(f"the run ended before {DURATION.format(at_ns)}; choose an earlier instant with --at")
        found = json.loads((directory / "look.json").read_text())
    return [Answer(*answer) for answer in found["answers"]]
