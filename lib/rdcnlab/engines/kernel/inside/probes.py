# SPDX-License-Identifier: Apache-2.0
"""Trace events of the kernel, recorded while the flows run and written out afterwards.

Each kind of event has a trace instance (a ring buffer) of its own, so that its records have one size. Recording costs
no virtual time: the buffers carry the scheduler's clock, which in virtual time can be read for nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import Any

TRACING = "/sys/kernel/tracing"
#: PID 1 is the tool itself, wherever the host keeps it.
TOOL = "/proc/1/exe"

#: A system call takes one page of a buffer, so a larger one takes fewer; ``tools/collect.c`` has room for it.
PAGE_KB = 64

#: Instance that holds the marker by which trace time is told from CLOCK_MONOTONIC.
MARKER = "marker"


def write(path: str, text: str) -> None:
    """Write a setting of tracefs; the kernel's refusal names the path."""
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        raise RuntimeError(f"{path}: cannot set '{text}': {error.strerror}") from None


def start(probes: list[dict[str, Any]]) -> None:
    """Make the instances and switch their events on.

    Parameters
    ----------
    probes : list of dict
        Each with ``name``, ``event`` (``system/name``), ``filter`` (or empty) and ``buffer_kB``.
    """
    if not probes:
        return
    write(f"{TRACING}/trace_clock", "local")
    for probe in probes:
        instance = f"{TRACING}/instances/{probe['name']}"
        os.mkdir(instance)
        write(f"{instance}/trace_clock", "local")
        # a full buffer keeps what it has, so that what is lost can be counted and the run refused
        write(f"{instance}/options/overwrite", "0")
        write(f"{instance}/buffer_subbuf_size_kb", str(PAGE_KB))
        write(f"{instance}/buffer_size_kb", str(probe["buffer_kB"]))
        event = f"{instance}/events/{probe['event']}"
        if probe["filter"]:
            write(f"{event}/filter", probe["filter"])
        write(f"{event}/enable", "1")


def lost(instance: str) -> int:
    """Events that found the buffer full."""
    with open(f"{instance}/per_cpu/cpu0/stats") as file:
        stats = dict(line.split(":", 1) for line in file if ":" in line)
    return int(stats["dropped events"]) + int(stats["overrun"])


def collect(probes: list[dict[str, Any]], directory: str) -> None:
    """Write what was recorded to ``<name>.trace``: the ``fields`` of each probe, their layout in ``<name>.format``."""
    if not probes:
        return
    take(TRACING, os.path.join(directory, MARKER), [])
    for probe in probes:
        name = probe["name"]
        instance = f"{TRACING}/instances/{name}"
        write(f"{instance}/tracing_on", "0")
        missing = lost(instance)
        if missing:
            raise RuntimeError(f"the trace buffer of '{name}' was too small by {missing} events")
        target = os.path.join(directory, name)
        with open(f"{instance}/events/{probe['event']}/format") as file:
            text = file.read()
        with open(f"{target}.format", "w") as out:
            out.write(text)
        take(instance, target, [place(text, field) for field in probe["fields"]])


def take(instance: str, target: str, places: list[str]) -> None:
    """Empty a trace buffer into ``<target>.trace``."""
    pipe = f"{instance}/per_cpu/cpu0/trace_pipe_raw"
    subprocess.run([TOOL, "collect", pipe, f"{target}.trace", *places], check=True)


def place(text: str, field: str) -> str:
    """Return where a field is, as ``offset:size``, of the text of a ``format`` file."""
    found = re.search(rf"\b{field};\s*offset:(\d+);\s*size:(\d+);", text)
    if found is None:
        raise RuntimeError(f"an event has no field '{field}': {text.splitlines()[0]}")
    return ":".join(found.groups())
