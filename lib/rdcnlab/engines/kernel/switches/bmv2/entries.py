# SPDX-License-Identifier: Apache-2.0
"""Names in braces in the entries of a P4 switch: ports, addresses, and the scenario's start."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import Formatter

from rdcnlab.engines.network import Station
from rdcnlab.fields.errors import InputError
from rdcnlab.scenario import DARK, Scenario

CPU, DARK_PORT, FIRST_LINK = 255, 254, 256
#: Values of ``way`` in a report, as in ``p4/parts/headers.p4``.
WAY_LINK, WAY_DARK = 1, 2
#: The scenario's start in us of the switch's clock, or a time relative to it; known only when the switch runs.
_START = re.compile(r"start_us(?:([+-])([0-9]+))?")


def port_numbers(scenario: Scenario) -> dict[str, int]:
    """Return the port numbers of hosts, of the beginnings of links, of the CPU and of the dark."""
    numbers = {host.name: number for number, host in enumerate(scenario.network.hosts, 1)}
    numbers |= {link.name: FIRST_LINK + 2 * number for number, link in enumerate(scenario.network.links)}
    return numbers | {"cpu": CPU, DARK: DARK_PORT}


def names(scenario: Scenario, hosts: Sequence[Station]) -> dict[str, str]:
    """Return the value of each name in braces that is known before the switch runs.

    Parameters
    ----------
    scenario : Scenario
        A scenario with switch ``bmv2``.
    hosts : sequence of Station
        The stations of its network.
    """
    known = {name: str(number) for name, number in port_numbers(scenario).items()}
    known |= {f"{link.name}.end": str(int(known[link.name]) + 1) for link in scenario.network.links}
    return known | {f"{field}:{host.name}": getattr(host, field) for host in hosts for field in ("mac", "ip")}


def filled(scenario: Scenario, hosts: Sequence[Station]) -> tuple[list[str], list[list[str | int]]]:
    """Replace the names in braces in a scenario's entries by their values.

    Parameters
    ----------
    scenario, hosts
        As in `names`.

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
    known = names(scenario, hosts)
    entries = [_parts(line, known, place) for place, line in enumerate(scenario.switch.entries)]
    early = ["".join(map(str, parts)) for parts in entries if not _waits(parts)]
    return early, [parts for parts in entries if _waits(parts)]


def _waits(parts: list[str | int]) -> bool:
    return any(isinstance(part, int) for part in parts)


def _parts(line: str, known: dict[str, str], place: int) -> list[str | int]:
    """Split an entry into text and offsets in us from the scenario's start."""
    field = f"switch.entries[{place}]"
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
            raise InputError.of(field, line, f"{_allowed(known)} (not {{{whole}}})")
    return parts


def _allowed(known: dict[str, str]) -> str:
    ports = [f"{{{name}}}" for name in known if not re.search("[.:]", name)]
    others = [next((f"{{{name}}}" for name in known if mark in name), "") for mark in (".end", "mac:", "ip:")]
    like = ", ".join(name for name in others if name)
    return f"the ports {', '.join(ports)}; names like {like}; {{start_us}}, and {{start_us+500}} with any whole number"
