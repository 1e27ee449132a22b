# SPDX-License-Identifier: Apache-2.0
"""The most that a run may store in its directory while it runs, so that no guest fills a disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

#: Bytes for records, traces and logs. A record of a packet has 14 to 132 B, and a guest handles less than a million
#: packets in a second of wall clock, of which a run has 1800.
BASE = 16 * 2**30
#: Bytes of a captured packet: 256 B of it, and its head in the file.
CAPTURED_B = 512


def most_B(plan: dict[str, Any]) -> int:  # noqa: N802  (unit)
    """Return the bytes that a plan may store: captures, what programs write, and a base for everything else."""
    captured: int = sum(each["packets"] for each in plan["captures"])
    stored: int = plan.get("programs", {}).get("stored_B", 0)
    return BASE + CAPTURED_B * captured + 2 * stored


def stored_B(directory: Path) -> int:  # noqa: N802  (unit)
    """Return the bytes that the files below a directory take on the disk; files that vanish meanwhile count nothing."""
    total = 0
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                try:
                    state = entry.stat(follow_symlinks=False)
                    total += state.st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        total += stored_B(Path(entry.path))
                except OSError:
                    continue
    except OSError:
        return total
    return total


def reason(stored: int, most: int) -> str:
    """Return why a run is ended that stores too much.

    Examples
    --------
    >>> reason(20 * 10**9, 17 * 10**9)
    "the run's directory holds 20.0 GB, and 17.0 GB is the most: the guest writes without end"
    """
    return (
        f"the run's directory holds {stored / 1e9:.1f} GB, and {most / 1e9:.1f} GB is the most: the guest writes "
        "without end"
    )
