# SPDX-License-Identifier: Apache-2.0
"""Hints for users if their own P4 program does not work as intended."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from rdcnlab.engines.kernel.switches.bmv2.entries import FIRST_LINK, port_numbers
from rdcnlab.engines.network import compile_network
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario

#: Words in the error of a run that takes too long, and a possible cause. The virtual clock does advance in such a run:
#: BMv2 reads it for every copy of a packet, and a task that reads it repeatedly pays 256 ns each time.
TOO_LONG = "took longer than the limit"
ENDLESS = (
    "a possible cause is a packet that the P4 program resubmits or recirculates without end: each round takes hardly "
    "any virtual time, but wall clock"
)


def nothing_delivered(scenario: Scenario, directory: Path) -> str | None:
    """Return a hint if no flow received a byte through a user's own program; None otherwise.

    Parameters
    ----------
    scenario : Scenario
        The scenario that was run.
    directory : Path
        Directory of the run. This reads ``flows.jsonl`` and, if it exists, ``switch.json``.
    """
    if scenario.switch.program is None:
        return None
    with contextlib.suppress(OSError, ValueError, KeyError):
        rows = [json.loads(line) for line in (directory / "flows.jsonl").read_text().splitlines()]
        if not rows or any(row["received_B"] for row in rows):
            return None
        return (
            f"no flow received a byte through {Path(scenario.switch.program.path).name}. "
            f"Packets at ports {_ports(scenario, directory)}. "
            "Look at the entries that lead to hosts: a packet for the host s1 has the destination {mac:s1} and leaves "
            "at port {s1}; one that was sent to the link green at port {green} comes back at port {green.end}"
        )
    return None


def explained(error: RunError, scenario: Scenario, directory: Path) -> RunError:
    """Return the error of a run, with a possible cause if the scenario has a user's own program.

    Parameters
    ----------
    error : RunError
        The error that ended the run.
    scenario, directory
        As in `nothing_delivered`.
    """
    if scenario.switch.program is None:
        return error
    hint = ENDLESS if TOO_LONG in error.reason else nothing_delivered(scenario, directory)
    return error if hint is None else RunError(f"{error.reason}; {hint}", error.log)


def _ports(scenario: Scenario, directory: Path) -> str:
    """Describe at which ports packets entered the switch and left it."""
    try:
        ports = json.loads((directory / "switch.json").read_text())["ports"]
    except (OSError, ValueError, KeyError):
        return "were not counted, because the run did not come to its end"
    names = {number: name for name, number in port_numbers(compile_network(scenario)).items()}
    names |= {number + 1: f"{name}.end" for number, name in names.items() if number >= FIRST_LINK}
    came = [f"{came} at {number} ({names[number]})" for _, number, came, _ in ports if came]
    left = [f"{left} at {number} ({names[number]})" for _, number, _, left in ports if left]
    return f"came into the switch: {', '.join(came) or 'none'}; left it: {', '.join(left) or 'none'}"
