# SPDX-License-Identifier: Apache-2.0
"""Names in braces in the entries of a P4 switch: ports, addresses, and the scenario's start."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Formatter

from rdcnlab.engines.network import Network
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import DARK

CPU, DARK_PORT, FIRST_LINK = 255, 254, 256
#: Values of ``way`` in a report, as in ``p4/parts/headers.p4``.
WAY_LINK, WAY_DARK = 1, 2
#: The scenario's start in us of the switch's clock, or a time relative to it; known only when the switch runs.
_START = re.compile(r"start_us(?:([+-])([0-9]+))?")


def port_numbers(network: Network) -> dict[str, int]:
    """Return the port numbers at an only switch: of hosts, of the beginnings of links, of the CPU and of the dark."""
    numbers = {host.name: number for number, host in enumerate(network.stations.values(), 1)}
    numbers |= {name: FIRST_LINK + 2 * number for number, name in enumerate(network.links)}
    return numbers | {"cpu": CPU, DARK: DARK_PORT}


def ports_at(network: Network, switch: int) -> dict[str, int]:
    """Return the port numbers at one of several switches: its hosts, its ends of links, the CPU and the dark."""
    numbers = {station.name: number for number, station in enumerate(network.stations_at(switch), 1)}
    numbers |= {line.link.name: FIRST_LINK + index for index, line in enumerate(network.lines_at(switch))}
    return numbers | {"cpu": CPU, DARK: DARK_PORT}


def names(network: Network, switch: int) -> dict[str, str]:
    """Return the value of each name in braces at a switch that is known before it runs."""
    ports = ports_at(network, switch) if network.is_named else port_numbers(network)
    known = {name: str(number) for name, number in ports.items()}
    if not network.is_named:
        known |= {f"{name}.end": str(int(known[name]) + 1) for name in network.links}
    return known | {
        f"{field}:{host.name}": getattr(host, field) for host in network.stations.values() for field in ("mac", "ip")
    }


def filled(network: Network, switch: int) -> tuple[list[str], list[list[str | int]]]:
    """Replace the names in braces in the entries of a switch by their values.

    Parameters
    ----------
    network : Network
        A network.
    switch : int
        Number of a switch that is ``bmv2``.

    Returns
    -------
    list of str
        Entries that are written as soon as the switch has started.
    list of list of (str or int)
        Entries with ``{start_us}``, which are written when the scenario's start is known. Each is a list of text and,
        in the place of each such name, the us to add to the start.

    Raises
    ------
    InputError
        An entry has an unknown name in braces.
    """
    known = names(network, switch)
    pipeline = network.pipelines[switch]
    field = pipeline.entries_field
    entries = [_parts(line, known, f"{field}[{index}]") for index, line in enumerate(pipeline.entries)]
    early = ["".join(map(str, parts)) for parts in entries if not _waits(parts)]
    return early, [parts for parts in entries if _waits(parts)]


def _waits(parts: list[str | int]) -> bool:
    return any(isinstance(part, int) for part in parts)


def _parts(line: str, known: Mapping[str, str], field: str) -> list[str | int]:
    """Split an entry, which stands in `field`, into text and offsets in us from the scenario's start."""
    parts: list[str | int] = []
    try:
        pieces = list(Formatter().parse(line))
    except ValueError as error:
        raise InputError.of(field, line, f"braces around a name only ({error})") from None
    for text, name, more, conversion in pieces:
        parts.append(text)
        if name is None:
            continue
        whole = name + (f"!{conversion}" if conversion else "") + (f":{more}" if more else "")
        start = _START.fullmatch(whole)
        if start is not None:
            sign, offset = start.groups()
            parts.append(int(f"{sign or ''}{offset or 0}"))
        elif whole in known:
            parts.append(known[whole])
        else:
            allowed = _allowed(known)
            reason = f"there is no name {{{whole}}} for {line!r}; names are {allowed}"
            raise InputError.of(field, line, f"{allowed} (not {{{whole}}})", reason=reason)
    return parts


def _allowed(known: Mapping[str, str]) -> str:
    ports = [f"{{{name}}}" for name in known if not re.search("[.:]", name)]
    others = [next((f"{{{name}}}" for name in known if mark in name), "") for mark in (".end", "mac:", "ip:")]
    like = ", ".join(name for name in others if name)
    return f"the ports {', '.join(ports)}; names like {like}; {{start_us}}, and {{start_us+500}} with any whole number"
