# SPDX-License-Identifier: Apache-2.0
"""Versions in the machine's package archives, as ``apt-cache`` lists them; none on systems without it."""

from __future__ import annotations

import functools
import os
import subprocess


@functools.cache
def versions(package: str) -> tuple[str, ...]:
    """Return the versions of a package in the archives, newest first."""
    command = ["apt-cache", "madison", package]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=30, env={**os.environ, "LC_ALL": "C"}
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return parsed(answer.stdout)


def parsed(madison: str) -> tuple[str, ...]:
    """Return the versions in an answer of ``apt-cache madison``, without duplicates.

    Examples
    --------
    >>> parsed("gcc | 4:12.2.0-3 | http://deb.debian.org/debian bookworm/main amd64 Packages")
    ('4:12.2.0-3',)
    """
    rows = [[cell.strip() for cell in line.split("|")] for line in madison.splitlines()]
    return tuple(dict.fromkeys(row[1] for row in rows if len(row) == 3 and row[2].endswith("Packages")))
