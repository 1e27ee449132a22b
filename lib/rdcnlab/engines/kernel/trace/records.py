# SPDX-License-Identifier: Apache-2.0
"""Trace records of the kernel as numpy arrays, their layout read from the ``format`` file the kernel wrote."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdcnlab.engines.kernel.trace import FIELDS
from rdcnlab.fields.errors import RunError

_FIELD = re.compile(r"\b(?P<name>\w+);\s*offset:\d+;\s*size:(?P<size>[1248]);\s*signed:(?P<signed>[01]);")


def layout(text: str, fields: tuple[str, ...]) -> np.dtype[Any]:
    """Return the dtype of a record: a 64 bit ``time`` [ns] and the event's fields, as ``tools/collect.c`` writes it.

    Parameters
    ----------
    text : str
        A tracefs ``format`` file.
    fields : tuple of str
        The scalar fields that were kept.
    """
    seen = {found["name"]: found for found in _FIELD.finditer(text)}
    kinds = [(name, f"<{'i' if seen[name]['signed'] == '1' else 'u'}{seen[name]['size']}") for name in fields]
    return np.dtype([("time", "<u8"), *kinds])


def read(directory: Path, name: str, offset_ns: int, fields: tuple[str, ...]) -> NDArray[Any]:
    """Read all records of an event.

    Parameters
    ----------
    directory : Path
        Of the run.
    name : str
        The event.
    offset_ns : int
        What to take from trace time to have the time since the scenario's start.
    fields : tuple of str
        What was kept of it, as the plan has it.

    Returns
    -------
    ndarray
        Structured; ``time`` is int64 [ns] since the scenario's start.
    """
    raw = (directory / f"{name}.trace").read_bytes()
    dtype = layout((directory / f"{name}.format").read_text(), fields)
    if raw and (int.from_bytes(raw[:8], "little") != dtype.itemsize or (len(raw) - 8) % dtype.itemsize):
        raise RunError(f"the trace '{name}' has {len(raw) - 8} bytes, not records of {dtype.itemsize}")
    records = np.frombuffer(raw[8:], dtype)  # no event writes nothing, not even the size
    out = np.empty(len(records), np.dtype([("time", "<i8"), *((field, dtype[field]) for field in fields)]))
    for field in dtype.names or ():
        out[field] = records[field]
    out["time"] -= offset_ns
    return out


def rows(name: str, found: Sequence[tuple[int, ...]] = ()) -> NDArray[Any]:
    """Return records of an event that were not traced, as integers: ``time`` and the event's fields."""
    return np.array(list(found), np.dtype([(field, "<i8") for field in ("time", *FIELDS[name])]))


def trace_offset(directory: Path, ready_ns: int, start_ns: int) -> int:
    """Trace time of the scenario's start, from the marker that ``tools/traffic.c`` wrote.

    Traces carry the scheduler's clock. It and CLOCK_MONOTONIC are the same simulated time but for a constant, which
    the marker tells: its text is a reading of the one, its time stamp is of the other.
    """
    raw = (directory / "marker.trace").read_bytes()
    match = re.search(rb"rdcn (\d+)", raw)
    if match is None:
        raise RunError("the trace has no marker of the start")
    stamp, reading = int.from_bytes(raw[8:16], "little"), int(match[1])
    if not ready_ns <= reading < start_ns:
        raise RunError(f"the marker was set at {reading} ns, not in the last {start_ns - ready_ns} ns before the start")
    return stamp - reading + start_ns
