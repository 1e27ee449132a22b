# SPDX-License-Identifier: Apache-2.0
"""Whether processes run."""

from __future__ import annotations

from pathlib import Path


def alive(pid: int) -> bool:
    """Whether a process runs. One that has ended does not, also if nobody has asked for its result yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
