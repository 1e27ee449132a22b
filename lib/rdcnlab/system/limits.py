# SPDX-License-Identifier: Apache-2.0
"""The number of runs that this machine, or this container, can make at once.

A container with ``--cpus 2`` sees all cores of its host, and one with ``--memory 2g`` sees all its memory: these limits
are those of a control group, in files of the kernel (cgroups(7), version 1 or 2).
"""

from __future__ import annotations

import math
import os
import platform
import zlib
from collections.abc import Iterator
from pathlib import Path

#: Bytes that one run needs: at least 512 MiB of guest memory, and a worker process.
RUN_B = 768 * 2**20


def cores(root: Path = Path("/")) -> list[int]:
    """Return the cores for runs, one run each: at most as many as the container's limits of CPU and memory allow.

    Parameters
    ----------
    root : Path
        Directory with ``proc`` and ``sys``.
    """
    affinity = sorted(os.sched_getaffinity(0))
    room = min(quota(root), memory(root) // RUN_B)
    if room >= len(affinity):
        return affinity
    count = max(math.ceil(room), 1)
    # The containers of a host must not all take its first cores, and their names differ.
    first = zlib.crc32(platform.node().encode()) % len(affinity)
    return sorted((affinity[first:] + affinity[:first])[:count])


def quota(root: Path = Path("/")) -> float:
    """Return the number of cores that the control group may keep busy; infinite if there is no such limit."""
    limits = [math.inf]
    for text in _values(root, "cpu", "cpu.max"):
        quota_us, period_us = text.split()
        if quota_us != "max":
            limits.append(int(quota_us) / int(period_us))
    for directory in _directories(root, "cpu"):
        quota_us, period_us = (_text(directory / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
        if quota_us and period_us and int(quota_us) > 0:
            limits.append(int(quota_us) / int(period_us))
    return min(limits)


def memory(root: Path = Path("/")) -> float:
    """Return the bytes of memory that the control group may use; infinite if there is no such limit."""
    texts = [*_values(root, "memory", "memory.max"), *_values(root, "memory", "memory.limit_in_bytes")]
    # version 1 has a number of 2**63 less a page where there is no limit
    return min([math.inf, *(int(text) for text in texts if text != "max" and int(text) < 2**62)])


def _values(root: Path, controller: str, name: str) -> Iterator[str]:
    for directory in _directories(root, controller):
        text = _text(directory / name)
        if text:
            yield text


def _directories(root: Path, controller: str) -> Iterator[Path]:
    """Yield the directories of this process's group and of the groups around it; a limit holds for all within."""
    top = root / "sys" / "fs" / "cgroup"
    for line in _text(root / "proc" / "self" / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        mounted = top / controller if controllers else top
        group_path = Path(path.strip("/"))
        for group in (group_path, *group_path.parents):
            # a path outside of the container, which is not there, ends at the container's own group
            if ".." not in group.parts and (mounted / group).is_dir():
                yield mounted / group


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
