# SPDX-License-Identifier: Apache-2.0
"""Trace records of the kernel as numpy arrays; the kernel's ``format`` files define their layout."""

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
    """Return the dtype of a record: ``time`` (64 bit, ns) and the event's fields.

    The kernel's ``kernel/trace/trace_records.c`` writes it (patch 0075).

    Parameters
    ----------
    text : str
        Content of a tracefs ``format`` file.
    fields : tuple of str
        The scalar fields that were recorded.
    """
    seen = {field["name"]: field for field in _FIELD.finditer(text)}
    kinds = [(name, f"<{'i' if seen[name]['signed'] == '1' else 'u'}{seen[name]['size']}") for name in fields]
    return np.dtype([("time", "<u8"), *kinds])


def read(directory: Path, name: str, offset_ns: int, fields: tuple[str, ...]) -> NDArray[Any]:
    """Read all records of an event.

    Parameters
    ----------
    directory : Path
        Directory of the run.
    name : str
        Name of the event.
    offset_ns : int
        ns to subtract from trace time to get the time since the scenario's start.
    fields : tuple of str
        The recorded fields, as in the plan.

    Returns
    -------
    ndarray
        Structured array; ``time`` is int64, ns since the scenario's start.
    """
    raw = (directory / f"{name}.trace").read_bytes()
    dtype = layout((directory / f"{name}.format").read_text(), fields)
    if len(raw) % dtype.itemsize:
        raise RunError(f"the trace '{name}' has {len(raw)} bytes, not records of {dtype.itemsize}")
    records = np.frombuffer(raw, dtype)
    out = np.empty(len(records), np.dtype([("time", "<i8"), *((field, dtype[field]) for field in fields)]))
    for field in dtype.names or ():
        out[field] = records[field]
    out["time"] -= offset_ns
    return out


def rows(name: str, values: Sequence[tuple[int, ...]] = ()) -> NDArray[Any]:
    """Return records, in integers, of an event that the kernel did not trace: ``time`` and the event's fields."""
    return np.array(list(values), np.dtype([(field, "<i8") for field in ("time", *FIELDS[name])]))


def trace_offset(directory: Path, ready_ns: int, start_ns: int) -> int:
    """Return the trace time of the scenario's start, from the marker that ``tools/traffic.c`` wrote.

    Traces use the scheduler's clock. This clock and CLOCK_MONOTONIC show the same simulated time, up to a constant. The
    marker gives this constant: its text is a reading of CLOCK_MONOTONIC, its time stamp is trace time.
    """
    raw = (directory / "marker.trace").read_text().split()
    if len(raw) != 2:
        raise RunError("the trace has no marker of the start")
    stamp, reading = map(int, raw)
    if not ready_ns <= reading < start_ns:
        raise RunError(f"the marker was set at {reading} ns, not in the last {start_ns - ready_ns} ns before the start")
    return stamp - reading + start_ns
