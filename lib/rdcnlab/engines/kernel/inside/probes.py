# SPDX-License-Identifier: Apache-2.0
"""Record trace events of the kernel in files of the run's directory while the flows run.

Each kind of event has its own trace instance, so that all its records have the same size. Recording costs no virtual
time: the time of a record is that of the scheduler's clock, which costs none to read, and the kernel itself writes the
records to the host (patch 0075). So no process is woken, no buffer has to hold the records, and none is lost unless
the host refuses it.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import Any

from tool import TOOL

TRACING = "/sys/kernel/tracing"

#: File with the marker, which gives the difference between trace time and CLOCK_MONOTONIC.
MARKER = "marker.trace"
#: Size of a ring buffer in kB, the smallest. Recorded events do not enter it.
BUFFER_KB = 8


def write(path: str, text: str) -> None:
    """Write a setting of tracefs; if the kernel refuses it, the error names the path."""
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        raise RuntimeError(f"{path}: cannot set '{text}': {error.strerror}") from None


def start(probes: list[dict[str, Any]], directory: str) -> None:
    """Make the trace instances and enable their events.

    The ``fields`` of each probe's records go to ``<name>.trace``, and the event's format to ``<name>.format``. Of a
    probe that is reduced while the flows run, they go to ``<name>.part``; see `Follower`.

    Parameters
    ----------
    probes : list of dict
        Each has ``name``, ``event`` (``system/name``), ``filter`` (may be empty) and ``fields``.
    directory : str
        Directory of the result.
    """
    if not probes:
        return
    write(f"{TRACING}/trace_clock", "local")
    for probe in probes:
        name, instance = probe["name"], f"{TRACING}/instances/{probe['name']}"
        os.mkdir(instance)
        write(f"{instance}/trace_clock", "local")
        write(f"{instance}/buffer_size_kb", str(BUFFER_KB))
        event = f"{instance}/events/{probe['event']}"
        if probe["filter"]:
            write(f"{event}/filter", numbered(event, probe["filter"]))
        with open(f"{event}/format") as file:
            text = file.read()
        with open(os.path.join(directory, f"{name}.format"), "w") as out:
            out.write(text)
        # the kernel writes to the host, where the directory has another path
        path = os.path.join(os.environ["RDCN_RUN"], f"{name}.{'part' if reduced(probe) else 'trace'}")
        places = [f"{offset}:{size}" for offset, size in places_of(text, probe)]
        write(f"{instance}/records", " ".join([path, str(record_size(text, probe)), *places]))
        write(f"{event}/enable", "1")


def reduced(probe: dict[str, Any]) -> bool:
    """Return whether a probe's records are reduced while the flows run."""
    return bool(probe.get("tally") or probe.get("latest"))


def fields_of(probe: dict[str, Any]) -> list[str]:
    """Return the fields of a probe's records; counts of departures also take what they leave behind in the queue."""
    return [*probe["fields"], *["qlen"] * ("instants" in probe.get("tally", {}))]


def places_of(text: str, probe: dict[str, Any]) -> list[tuple[int, int]]:
    """Return offset and size of each field of a probe, from the text of the event's ``format`` file."""
    places = []
    for field in fields_of(probe):
        place = re.search(rf"\b{field};\s*offset:(\d+);\s*size:(\d+);", text)
        if place is None:
            raise RuntimeError(f"an event has no field '{field}': {text.splitlines()[0]}")
        places.append((int(place[1]), int(place[2])))
    return places


def record_size(text: str, probe: dict[str, Any]) -> int:
    """Return the bytes of a record: 8 of its time, and those of its fields."""
    return 8 + sum(size for _, size in places_of(text, probe))


class Follower:
    """A process that reduces the records of a probe while the flows run, and empties their file.

    A probe with ``tally`` is counted in bins, with the result in ``<name>.tally``. Of a probe with ``latest`` only the
    last record of each flow in each bin is written, to ``<name>.trace``.

    Parameters
    ----------
    probe : dict
        A probe with ``tally`` or ``latest``: ``start_ns``, ``bin_ns``, ``every_ns``; for departures also ``instants``,
        at which the queues are looked at.
    directory : str
        Directory of the result.
    """

    def __init__(self, probe: dict[str, Any], directory: str) -> None:
        self.name = probe["name"]
        tool = "tally" if probe.get("tally") else "latest"
        target = os.path.join(directory, self.name)
        with open(f"{target}.format") as file:
            text = file.read()
        words = [f"{TRACING}/instances/{self.name}/records", f"{target}.part"]
        words += [f"{target}.{'tally' if tool == 'tally' else 'trace'}"]
        words += [str(probe[tool][name]) for name in ("start_ns", "bin_ns", "every_ns")]
        if tool == "latest":
            before = probe["fields"][: probe["fields"].index("dport")]
            at = record_size(text, {"fields": before})
            words += [str(record_size(text, probe)), str(at)]
        elif "instants" in probe["tally"]:
            words += [f"{target}.tally.instants"]
            with open(words[-1], "w") as file:
                file.write("".join(f"{instant}\n" for instant in probe["tally"]["instants"]))
        self.process = subprocess.Popen([TOOL, tool, *words])

    def stop(self) -> None:
        """Read what is left and end; raise an error if the process has failed."""
        write(f"{TRACING}/instances/{self.name}/tracing_on", "0")
        self.process.terminate()
        if self.process.wait():
            check(self.name)
            raise RuntimeError(f"the reader of '{self.name}' ended with status {self.process.returncode}")


def followers(probes: list[dict[str, Any]], directory: str) -> list[Follower]:
    """Start a process for each probe whose records are reduced while the flows run."""
    return [Follower(probe, directory) for probe in probes if reduced(probe)]


def counters(pid: int) -> dict[str, int]:
    """Return the counters of TCP in the network namespace of a process that are not zero (TcpExt)."""
    with open(f"/proc/{pid}/net/netstat") as file:
        names, values = (line.split()[1:] for line in file if line.startswith("TcpExt:"))
    return {name: int(value) for name, value in zip(names, values, strict=True) if int(value)}


def numbered(event: str, condition: str) -> str:
    """Return a filter with a number in place of each ``{NAME}`` of an enum, which differs between kernels."""
    for name in re.findall(r"\{(\w+)\}", condition):
        with open(f"{event}/format") as file:
            symbol = re.search(rf'\{{ (\d+), "{name}" \}}', file.read())
        if symbol is None:
            raise RuntimeError(f"{event}: this kernel has no '{name}'")
        condition = condition.replace(f"{{{name}}}", symbol[1])
    return condition


def finish(probes: list[dict[str, Any]], directory: str) -> None:
    """Stop recording, and complete all files.

    Raises
    ------
    RuntimeError
        Records were lost. The message names the event, their number, and why the host did not take them.
    """
    if not probes:
        return
    with open(os.path.join(directory, MARKER), "w") as out:
        out.write(marker())
    for probe in probes:
        instance = f"{TRACING}/instances/{probe['name']}"
        write(f"{instance}/tracing_on", "0")
        check(probe["name"])


def check(name: str) -> None:
    """Complete the file of a probe's records, and raise an error if some of them were lost."""
    instance = f"{TRACING}/instances/{name}"
    with open(f"{instance}/records") as file:
        _, count, lost, error = map(int, file.read().split())
    with open(f"{instance}/per_cpu/cpu0/stats") as file:
        stats = dict(line.split(":", 1) for line in file if ":" in line)
    refused = int(stats["dropped events"]) + int(stats["overrun"])
    if lost or refused:
        why = os.strerror(error) if error else "the kernel had no place for them"
        raise RuntimeError(
            f"{lost + refused} of {count + refused} records of '{name}' could not be written into the directory of "
            f"the run: {why}"
        )


def marker() -> str:
    """Return trace time and CLOCK_MONOTONIC of the instant at which ``tools/traffic.c`` marked the trace."""
    write(f"{TRACING}/options/raw", "1")
    with open(f"{TRACING}/trace") as file:
        mark = re.search(r"^\s*\d+ \d+ (\d+) .*rdcn (\d+)", file.read(), re.MULTILINE)
    return "" if mark is None else f"{mark[1]} {mark[2]}"
