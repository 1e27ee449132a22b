# SPDX-License-Identifier: Apache-2.0
"""Record trace events of the kernel while the flows run, and write them to files afterwards.

Each kind of event has its own trace instance (a ring buffer), so that all its records have the same size. Recording
costs no virtual time: the buffers use the scheduler's clock, and reading this clock costs no virtual time.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import Any

from traffic import TOOL

TRACING = "/sys/kernel/tracing"

#: Size of a buffer's page in kB. A system call reads one page, so larger pages need fewer calls. ``tools/pages.h``
#: has room for this size.
PAGE_KB = 64

#: Instance with the marker, which gives the difference between trace time and CLOCK_MONOTONIC.
MARKER = "marker"


def write(path: str, text: str) -> None:
    """Write a setting of tracefs; if the kernel refuses it, the error names the path."""
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        raise RuntimeError(f"{path}: cannot set '{text}': {error.strerror}") from None


class TooSmall(RuntimeError):
    """A trace buffer had no room for all its events."""


def start(probes: list[dict[str, Any]]) -> None:
    """Make the trace instances and enable their events.

    Parameters
    ----------
    probes : list of dict
        Each has ``name``, ``event`` (``system/name``), ``filter`` (may be empty) and ``buffer_kB``.
    """
    if not probes:
        return
    write(f"{TRACING}/trace_clock", "local")
    for probe in probes:
        instance = f"{TRACING}/instances/{probe['name']}"
        os.mkdir(instance)
        write(f"{instance}/trace_clock", "local")
        # A full buffer keeps its records and counts the lost ones, so that the run can be rejected.
        write(f"{instance}/options/overwrite", "0")
        write(f"{instance}/buffer_subbuf_size_kb", str(PAGE_KB))
        write(f"{instance}/buffer_size_kb", str(probe["buffer_kB"]))
        event = f"{instance}/events/{probe['event']}"
        if probe["filter"]:
            write(f"{event}/filter", numbered(event, probe["filter"]))
        write(f"{event}/enable", "1")


class Follower:
    """A process that reads the records of a probe while the flows run, and so keeps its buffer small.

    A probe with ``tally`` is counted in bins, with the result in ``<name>.tally``. Of a probe with ``latest`` only the
    last record of each flow in each bin is written, to ``<name>.trace``. Of a probe with ``record`` all are.

    Parameters
    ----------
    probe : dict
        A probe with ``tally``, ``latest`` or ``record``: ``start_ns``, ``bin_ns``, ``every_ns``; for departures also
        ``instants``, at which the queues are looked at.
    directory : str
        Directory of the result.
    """

    def __init__(self, probe: dict[str, Any], directory: str) -> None:
        self.instance = f"{TRACING}/instances/{probe['name']}"
        tool = next(name for name in ("tally", "latest", "record") if probe.get(name))
        times = [str(probe[tool][name]) for name in ("start_ns", "bin_ns", "every_ns")]
        text = layout(probe)
        fields = [place(text, field) for field in probe["fields"]]
        target = os.path.join(directory, probe["name"])
        if tool != "tally":
            words = [f"{target}.trace", *times, place(text, "dport"), *fields]
            if tool == "record":
                words = [f"{target}.trace", times[0], times[2], *fields]
            with open(f"{target}.format", "w") as out:
                out.write(text)
        else:
            words = [f"{target}.tally", *times, *fields]
            if "instants" in probe["tally"]:
                words += [place(text, "qlen"), f"{target}.tally.instants"]
                with open(words[-1], "w") as file:
                    file.write("".join(f"{instant}\n" for instant in probe["tally"]["instants"]))
        self.process = subprocess.Popen([TOOL, tool, self.instance, *words])

    def stop(self) -> None:
        """Read what is left and end; raise an error if records were lost (`TooSmall`) or the process has failed."""
        write(f"{self.instance}/tracing_on", "0")
        self.process.terminate()
        if self.process.wait():
            raise RuntimeError(f"the reader of {self.instance} ended with status {self.process.returncode}")
        missing = lost(self.instance)
        if missing:
            raise TooSmall(f"the trace buffer of {self.instance} was too small by {missing} events")


def followed(probe: dict[str, Any]) -> bool:
    """Return whether a probe's records are read while the flows run."""
    return bool(probe.get("tally") or probe.get("latest") or probe.get("record"))


def followers(probes: list[dict[str, Any]], directory: str) -> list[Follower]:
    """Start a process for each probe whose records are read while the flows run."""
    return [Follower(probe, directory) for probe in probes if followed(probe)]


def layout(probe: dict[str, Any]) -> str:
    """Return the text of the ``format`` file of a probe's event."""
    with open(f"{TRACING}/instances/{probe['name']}/events/{probe['event']}/format") as file:
        return file.read()


def counters(pid: int) -> dict[str, int]:
    """Return the counters of TCP in the network namespace of a process that are not zero (TcpExt)."""
    with open(f"/proc/{pid}/net/netstat") as file:
        names, values = (line.split()[1:] for line in file if line.startswith("TcpExt:"))
    return {name: int(value) for name, value in zip(names, values, strict=True) if int(value)}


def numbered(event: str, condition: str) -> str:
    """Return a filter with a number in place of each ``{NAME}`` of an enum, which differs between kernels."""
    for name in re.findall(r"\{(\w+)\}", condition):
        with open(f"{event}/format") as file:
            found = re.search(rf'\{{ (\d+), "{name}" \}}', file.read())
        if found is None:
            raise RuntimeError(f"{event}: this kernel has no '{name}'")
        condition = condition.replace(f"{{{name}}}", found[1])
    return condition


def lost(instance: str) -> int:
    """Return the number of events that were lost because the buffer was full."""
    with open(f"{instance}/per_cpu/cpu0/stats") as file:
        stats = dict(line.split(":", 1) for line in file if ":" in line)
    return int(stats["dropped events"]) + int(stats["overrun"])


def collect(probes: list[dict[str, Any]], directory: str) -> None:
    """Write the ``fields`` of each probe's records to ``<name>.trace``, and the event's format to ``<name>.format``."""
    if not probes:
        return
    take(TRACING, os.path.join(directory, MARKER), [])
    for probe in probes:
        if followed(probe):
            continue
        name = probe["name"]
        instance = f"{TRACING}/instances/{name}"
        write(f"{instance}/tracing_on", "0")
        missing = lost(instance)
        if missing:
            raise TooSmall(f"the trace buffer of '{name}' was too small by {missing} events")
        target = os.path.join(directory, name)
        text = layout(probe)
        with open(f"{target}.format", "w") as out:
            out.write(text)
        take(instance, target, [place(text, field) for field in probe["fields"]])


def take(instance: str, target: str, places: list[str]) -> None:
    """Move the content of a trace buffer to ``<target>.trace``."""
    pipe = f"{instance}/per_cpu/cpu0/trace_pipe_raw"
    subprocess.run([TOOL, "collect", pipe, f"{target}.trace", *places], check=True)


def place(text: str, field: str) -> str:
    """Return the place of a field as ``offset:size``, from the text of a ``format`` file."""
    found = re.search(rf"\b{field};\s*offset:(\d+);\s*size:(\d+);", text)
    if found is None:
        raise RuntimeError(f"an event has no field '{field}': {text.splitlines()[0]}")
    return ":".join(found.groups())
