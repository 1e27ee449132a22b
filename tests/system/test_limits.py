# SPDX-License-Identifier: Apache-2.0
"""A container's limits of CPU time and memory decide how many runs are made at once."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from rdcnlab.system import limits

GB = 2**30


def machine(root: Path, membership: str, files: dict[str, str]) -> Path:
    for name, text in {"proc/self/cgroup": membership, **files}.items():
        path = root / (name if name.startswith("proc") else f"sys/fs/cgroup/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


@pytest.mark.parametrize(
    ("membership", "files", "quota", "memory"),
    [
        ("0::/", {}, math.inf, math.inf),
        ("0::/", {"cpu.max": "max 100000", "memory.max": "max"}, math.inf, math.inf),
        # Docker with --cpus 2 --memory 2g: version 2, then version 1
        ("0::/", {"cpu.max": "200000 100000", "memory.max": str(2 * GB)}, 2, 2 * GB),
        (
            "4:memory:/docker/5f\n2:cpu,cpuacct:/docker/5f",
            {
                "cpu/cpu.cfs_quota_us": "150000", "cpu/cpu.cfs_period_us": "100000",
                "memory/memory.limit_in_bytes": str(2 * GB),
            },
            1.5,
            2 * GB,
        ),
        (
            "4:memory:/\n2:cpu:/",
            {
                "cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000",
                "memory/memory.limit_in_bytes": str(2**63 - 4096),
            },
            math.inf,
            math.inf,
        ),
        # the smallest limit of all groups around this process holds
        ("0::/a/b", {"a/memory.max": str(GB), "a/b/memory.max": "max", "memory.max": str(4 * GB)}, math.inf, GB),
        # a group beside this one, seen from within a container
        ("0::/../other", {"memory.max": str(GB)}, math.inf, GB),
    ],
)  # fmt: skip
def test_limits_are_those_of_the_control_group(
    membership: str, files: dict[str, str], quota: float, memory: float, tmp_path: Path
) -> None:
    root = machine(tmp_path, membership, files)
    assert (limits.quota(root), limits.memory(root)) == (quota, memory)


@pytest.mark.parametrize(
    ("cpu", "memory", "count"),
    [
        ("200000 100000", "max", 2),
        ("150000 100000", "max", 2),
        ("max 100000", str(2 * GB), 2),
        ("max 100000", str(GB // 4), 1),
        ("max 100000", str(64 * GB), 64),
        ("400000 100000", str(2 * GB), 2),
        ("max 100000", "max", 64),
    ],
)
def test_a_run_gets_a_core_and_memory(
    cpu: str, memory: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)))
    cores = limits.cores(machine(tmp_path, "0::/", {"cpu.max": cpu, "memory.max": memory}))
    assert len(cores) == len(set(cores)) == count


def test_containers_of_one_host_take_different_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)))
    root = machine(tmp_path, "0::/", {"cpu.max": "200000 100000"})
    taken = []
    for name in ("7b1f6d2c", "e0a94c51", "15d3b8aa"):
        monkeypatch.setattr("platform.node", lambda name=name: name)
        taken.append(tuple(limits.cores(root)))
        assert tuple(limits.cores(root)) == taken[-1]
    assert len(set(taken)) == 3
