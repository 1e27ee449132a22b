# SPDX-License-Identifier: Apache-2.0
"""Hints for users if their own P4 program does not work as intended."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path

from rdcnlab.engines.kernel.switches.bmv2.entries import names
from rdcnlab.engines.network import Network
from rdcnlab.fields.errors import RunError

#: Words in the error of a run that takes too long, and a possible cause. The virtual clock does advance in such a run:
#: BMv2 reads it for every copy of a packet, and a task that reads it repeatedly pays 256 ns each time.
TOO_LONG = "took longer than the limit"
ENDLESS = (
    "a possible cause is a packet that the P4 program resubmits or recirculates without end: each round takes hardly "
    "any virtual time, but wall clock"
)


def nothing_delivered(network: Network, directory: Path) -> str | None:
    """Return a hint if no flow received a byte through users' own programs; None otherwise.

    Parameters
    ----------
    network : Network
        The network that was run.
    directory : Path
        Directory of the run. This reads ``flows.jsonl`` and, if it exists, ``switch.json``.
    """
    own = _programs(network)
    if not own:
        return None
    with contextlib.suppress(OSError, ValueError, KeyError):
        rows = [json.loads(line) for line in (directory / "flows.jsonl").read_text().splitlines()]
        if not rows or any(row["received_B"] for row in rows):
            return None
        return (
            f"no flow received a byte through {', '.join(dict.fromkeys(own.values()))}. "
            f"Packets at ports {_ports(network, own, directory)}. "
            "Look at the entries that lead to hosts: a packet for the host s1 has the destination {mac:s1} and leaves "
            "at port {s1}; one that was sent to the link green at port {green} comes "
            + ("in at port {green} of the next switch" if network.is_named else "back at port {green.end}")
        )
    return None


def explained(error: RunError, network: Network, directory: Path) -> RunError:
    """Return the error of a run, with a possible cause if the scenario has a user's own program.

    Parameters
    ----------
    error : RunError
        The error that ended the run.
    network, directory
        As in `nothing_delivered`.
    """
    if not _programs(network):
        return error
    hint = ENDLESS if TOO_LONG in error.reason else nothing_delivered(network, directory)
    return error if hint is None else RunError(f"{error.reason}; {hint}", error.log)


def _programs(network: Network) -> dict[int, str]:
    """Return the file names of users' own programs, by the number of their switch."""
    programs = {number: pipeline.program for number, pipeline in network.pipelines.items()}
    return {number: Path(program.path).name for number, program in programs.items() if program is not None}


def _ports(network: Network, switches: Iterable[int], directory: Path) -> str:
    """Describe at which ports packets entered the switches and left them."""
    try:
        counters = json.loads((directory / "switch.json").read_text())
    except (OSError, ValueError):
        return "were not counted, because the run did not come to its end"
    several = len(network.switches) > 1
    words = []
    for number in switches:
        name = network.switches[number]
        ports = {int(port): known for known, port in names(network, number).items() if port.isdigit()}
        counts = (counters[name] if several else counters)["ports"]
        arrived = [f"{arrived} at {port} ({ports[port]})" for _, port, arrived, _ in counts if arrived]
        departed = [f"{departed} at {port} ({ports[port]})" for _, port, _, departed in counts if departed]
        where = f"the switch {name}" if several else "the switch"
        words.append(f"came into {where}: {', '.join(arrived) or 'none'}; left it: {', '.join(departed) or 'none'}")
    return "; ".join(words)
