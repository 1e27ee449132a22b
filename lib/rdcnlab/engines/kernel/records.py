# SPDX-License-Identifier: Apache-2.0
"""Trace records of the kernel as numpy arrays, their layout read from the ``format`` file the kernel wrote."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdcnlab.engines.kernel.plan import READY_NS
from rdcnlab.errors import RunError

_FIELD = re.compile(
    r"\s*field:(?P<type>[^;]*?)\s*(?P<name>\w+)(?:\[(?P<count>\d+)\])?;"
    r"\s*offset:(?P<offset>\d+);\s*size:(?P<size>\d+);\s*signed:(?P<signed>[01]);"
)

#: Fields of the switch's events about packets.
PACKET = ("link", "class", "len", "qlen", "sport", "dport", "reason")
#: Fields of its event about timetables.
SLOT = ("class", "slot", "target")


def layout(text: str, size: int) -> np.dtype[Any]:
    """Return the dtype of a record: a 64 bit ``time`` [ns] and the event's scalar fields.

    Parameters
    ----------
    text : str
        A tracefs ``format`` file.
    size : int
        Bytes of a record; the kernel pads events.
    """
    names, formats, offsets = ["time"], ["<u8"], [0]
    for line in text.splitlines():
        field = _FIELD.match(line)
        if field is None or field["count"] or field["size"] not in ("1", "2", "4", "8"):
            continue  # arrays (addresses) are of no use here
        names.append(field["name"])
        formats.append(f"<{'i' if field['signed'] == '1' else 'u'}{field['size']}")
        offsets.append(8 + int(field["offset"]))
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


def read(directory: Path, name: str, offset_ns: int) -> NDArray[Any]:
    """Read all records of an event.

    Parameters
    ----------
    directory : Path
        Of the run.
    name : str
        The event.
    offset_ns : int
        What to take from trace time to have the time since the scenario's start.

    Returns
    -------
    ndarray
        Structured; ``time`` is int64 [ns] since the scenario's start.
    """
    raw = (directory / f"{name}.trace").read_bytes()
    # an empty file comes of no event, and has no size either
    size = int.from_bytes(raw[:8], "little") if raw else 4096
    dtype = layout((directory / f"{name}.format").read_text(), size)
    if raw and (len(raw) - 8) % size:
        raise RunError(f"the trace '{name}' has {len(raw) - 8} bytes, which is no multiple of {size}")
    records = np.frombuffer(raw[8:], dtype)
    out = np.empty(len(records), np.dtype([("time", "<i8"), *((n, dtype[n]) for n in dtype.names[1:])]))  # type: ignore[index]
    for field in dtype.names or ():
        out[field] = records[field]
    out["time"] -= offset_ns
    return out


def plain(fields: tuple[str, ...]) -> np.dtype[Any]:
    """Return the type of records of integers: ``time`` and these fields."""
    return np.dtype([(name, "<i8") for name in ("time", *fields)])


def nothing(fields: tuple[str, ...]) -> NDArray[Any]:
    """Return no records of an event with these fields."""
    return np.empty(0, plain(fields))


def trace_offset(directory: Path, start_ns: int) -> int:
    """Trace time of the scenario's start, from the marker that ``tools/traffic.c`` wrote.

    Traces carry the scheduler's clock. It and CLOCK_MONOTONIC are the same simulated time but for a constant, which
    the marker tells: its text is a reading of the one, its time stamp is of the other.
    """
    raw = (directory / "marker.trace").read_bytes()
    match = re.search(rb"rdcn (\d+)", raw)
    if match is None:
        raise RunError("the trace has no marker of the start")
    stamp, reading = int.from_bytes(raw[8:16], "little"), int(match[1])
    if not READY_NS <= reading < start_ns:
        raise RunError(f"the marker was set at {reading} ns, not in the last {start_ns - READY_NS} ns before the start")
    return stamp - reading + start_ns
