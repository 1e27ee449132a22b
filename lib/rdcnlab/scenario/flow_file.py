# SPDX-License-Identifier: Apache-2.0
"""Files of flows as simulators of packets have them: an entry of `Scenario.flows` with ``file`` stands for all of them.

opera-sim has a flow in each line: sender, receiver, bytes, ns of the start. htsim's connection matrices have lines such
as ``3->5 id 1 start 0 size 2000000`` after those with the numbers of nodes and connections. Both count hosts from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rdcnlab.fields import input_file
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.files import unreadable
from rdcnlab.fields.units import DURATION, SIZE, Quantity
from rdcnlab.scenario.ranges import MOST_ITEMS

#: Fields of the entry that no flow has.
_OWN = ("file", "name", "until", "at_most", "unit")
#: Picoseconds of what the start of a flow may count.
UNITS = {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1}
_FORMS = "lines with sender, receiver, bytes and ns of the start, or lines of htsim such as '3->5 start 0 size 2000000'"
_HTSIM = re.compile(r"(\S+?)->(\S+)((?:\s+[a-z]+\s+\S+)*)")
#: What htsim's lines may say besides `start` and `size` without a change of the flow.
_LABELS = ("id",)
_HEADS = ("Nodes", "Connections")


class _Row(NamedTuple):
    line: int
    src: str
    dst: str
    size: str
    start: str
    of_htsim: bool


def expanded(items: Any, hosts: Sequence[str], directory: Path | None, *, text: bool) -> Any:
    """Return the plain data of flows, in which each entry with a file is replaced by the flows of the file.

    Parameters
    ----------
    items : list
        The flows, as read from plain data. An entry with ``file`` may have ``name`` (the flows are called NAME1, NAME2
        ..., by default f1 ...), ``until`` (later flows are left out), ``at_most`` (larger flows are cut), ``unit`` (of
        the starts; htsim's files have had several), and fields of flows, which all of them get.
    hosts : sequence of str
        Names of the network's hosts; the file's host n is the n-th of them, counted from 0.
    directory : Path or None
        Directory of relative paths.
    text : bool
        Whether numbers of the entry need their unit, as in a scenario in YAML.

    Raises
    ------
    InputError
        The file cannot be read, or has another form. The text names the line.
    """
    if not isinstance(items, list | tuple):
        return items
    flows: list[Any] = []
    for place, item in enumerate(items):
        if isinstance(item, dict) and isinstance(item.get("file"), str):
            flows += _flows(item, f"flows[{place}]", hosts, directory, text=text)
        else:
            flows.append(item)
        if len(flows) > MOST_ITEMS:
            reason = f"these are more than the {MOST_ITEMS} flows that a scenario can have; set until"
            raise InputError.of(f"flows[{place}]", f"more than {MOST_ITEMS} flows", reason=reason)
    return flows


def _flows(
    item: dict[str, Any], field: str, hosts: Sequence[str], directory: Path | None, *, text: bool
) -> Iterator[dict[str, Any]]:
    """Yield the flows of a file."""
    given = item["file"]
    common = {name: value for name, value in item.items() if name not in _OWN}
    until, most = (_number(item, field, *each, text=text) for each in (("until", DURATION), ("at_most", SIZE)))
    unit = item.get("unit")
    if unit is not None and unit not in UNITS:
        raise InputError.unknown(f"{field}.unit", unit, UNITS, "unit")
    number = 0
    for row in _rows(Path(directory or ".").absolute() / given, given, field):
        where = f"{given}, line {row.line}"
        ends = [_host(word, hosts, field, where) for word in (row.src, row.dst)]
        if not (row.size.isdigit() and row.start.isdigit()):
            raise InputError.of(field, f"{row.size} and {row.start}", f"whole numbers of bytes and of time ({where})")
        if row.src == row.dst:
            raise InputError.of(field, f"{row.src} to {row.dst}", f"two different hosts ({where})")
        if row.of_htsim and unit is None and row.start != "0":
            reason = (
                f"files of htsim have had starts in us and in ps, and this one starts a flow at {row.start} ({where})"
            )
            raise InputError.of(f"{field}.unit", None, reason=f"{reason}. Write unit: us, or unit: ps")
        start = int(row.start) * UNITS[unit or "ns"] // UNITS["ns"]
        if until is not None and start >= until:
            continue
        number += 1
        size = int(row.size) if most is None else min(int(row.size), most)
        name = f"{item.get('name', 'f')}{number}"
        # with units, as a scenario in YAML needs them
        yield {"name": name, "src": ends[0], "dst": ends[1], "size": f"{size} B", "start": f"{start} ns", **common}


def _rows(path: Path, given: str, field: str) -> Iterator[_Row]:
    """Yield the flows of a file as words."""
    try:
        lines = input_file.read_lines(path, input_file.TABLE, "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = unreadable(path, error) if isinstance(error, OSError) else f"{given} is not text"
        raise InputError.of(f"{field}.file", given, reason=why) from None
    for line, text in enumerate(lines, 1):
        words = text.replace(",", " ").split()
        if not words or text.startswith("#") or words[0] in _HEADS:
            continue
        if len(words) == 4 and "->" not in text:
            src, dst, size, start = words
            yield _Row(line, src, dst, size, start, of_htsim=False)
            continue
        match = _HTSIM.fullmatch(text.strip())
        said = {} if match is None else dict(zip(*[iter(match[3].split())] * 2, strict=True))
        other = [name for name in said if name not in ("start", "size", *_LABELS)]
        if match is None or other or "size" not in said:
            what = f"; '{other[0]}' is not among what can be carried out" if other else ""
            raise InputError.of(f"{field}.file", text.strip()[:60], f"{_FORMS} ({given}, line {line}){what}")
        yield _Row(line, match[1], match[2], said["size"], said.get("start", "0"), of_htsim=True)


def _host(word: str, hosts: Sequence[str], field: str, where: str) -> str:
    """Return the name of a host, which a file may count from 0."""
    if word in hosts:
        return word
    if not word.isdigit() or int(word) >= len(hosts):
        allowed = f"a host: 0 to {len(hosts) - 1}, or a name ({where})"
        raise InputError.of(field, word, allowed)
    return hosts[int(word)]


def _number(item: dict[str, Any], field: str, name: str, kind: Quantity, *, text: bool) -> int | None:
    """Return a field of the entry that has a unit."""
    value = item.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0 and not text):
        return value
    try:
        return kind.parse(str(value))
    except ValueError as error:
        raise InputError.of(f"{field}.{name}", value, str(error)) from None
