# SPDX-License-Identifier: Apache-2.0
"""Files with the rate of a line over time.

Two formats are read:

- ``mahimahi``: a whole number in each line, the milliseconds at which 1504 bytes may leave (mm-link). The trace begins
  again after its last instant.
- ``csv``: two columns with a header that has their units, such as ``t_s,rate_Mbps``. A rate holds from its instant to
  the next one; the last one stays. The first instant is 0.
"""

from __future__ import annotations

import csv
import itertools
import math
from collections import Counter
from pathlib import Path
from typing import Any

from rdcnlab.fields import input_file
from rdcnlab.fields.files import unreadable
from rdcnlab.fields.quantities import FieldError

#: Bytes that may leave at one instant of mahimahi: an Ethernet payload of 1500 bytes, and 4 of the tunnel's header.
BYTES = 1504
#: Digits of a number of milliseconds, at most; 10**8 ms are a day.
_MOST_DIGITS = 12
_TIMES = {"t_s": 10**9, "t_ms": 10**6, "t_us": 10**3, "t_ns": 1}
_RATES = {"rate_bps": 1, "rate_kbps": 10**3, "rate_Mbps": 10**6, "rate_Gbps": 10**9}
_ALLOWED = (
    f"a trace: a whole number of milliseconds in each line (mahimahi), or CSV with a header such as t_s,rate_Mbps "
    f"(times {', '.join(_TIMES)}; rates {', '.join(_RATES)})"
)


def read_trace(path: Path) -> dict[str, Any]:
    """Return the fields of a line that follows a trace: ``rate``, and ``opportunities`` or ``steps``.

    Raises
    ------
    FieldError
        The file cannot be read, or has neither format. The text names the line.
    """
    try:
        return _read(path)
    except FieldError:
        raise
    except ValueError as error:  # the value is the file: without it, the message would show the whole link
        raise FieldError("rate", {"trace": path.name}, str(error)) from None


def _read(path: Path) -> dict[str, Any]:
    try:
        lines = input_file.read_lines(path, input_file.TRACE, "ascii")
    except OSError as error:
        raise FieldError("rate", str(path), "a trace that can be read", reason=unreadable(path, error)) from None
    except UnicodeDecodeError:
        raise ValueError(f"a trace that can be read ({path}: no text)") from None
    lines = [line.strip() for line in lines]
    if lines and "," in lines[0]:
        return _steps(path, lines)
    return _opportunities(path, lines)


def _opportunities(path: Path, lines: list[str]) -> dict[str, Any]:
    for number, line in enumerate(lines, 1):
        if not line.isdigit() or len(line) > _MOST_DIGITS:
            raise ValueError(f"{_ALLOWED} ({path}, line {number}: {line[:40]!r})")
    instants = [int(line) for line in lines]
    if not instants or not instants[-1] or any(second < first for first, second in itertools.pairwise(instants)):
        raise ValueError(f"a trace of rising milliseconds that ends above 0 ({path})")
    most = max(Counter(instants).values())
    return {"rate": f"{most * BYTES * 8} kb/s", "opportunities": instants}


def _steps(path: Path, lines: list[str]) -> dict[str, Any]:
    rows = list(csv.reader(line for line in lines if line))
    header = [word.strip() for word in rows[0]]
    if len(header) != 2 or header[0] not in _TIMES or header[1] not in _RATES:
        raise ValueError(f"{_ALLOWED} ({path}, line 1: {lines[0][:40]!r})")
    points = []
    for number, row in enumerate(rows[1:], 2):
        try:
            time, rate = (float(word) for word in row)
        except ValueError:
            raise ValueError(f"two numbers in each line ({path}, line {number}: {','.join(row)[:40]!r})") from None
        if not math.isfinite(time) or not math.isfinite(rate):
            raise ValueError(f"finite numbers in each line ({path}, line {number}: {','.join(row)[:40]!r})")
        points.append((round(time * _TIMES[header[0]]), round(rate * _RATES[header[1]])))
    if not points or points[0][0] or any(second[0] <= first[0] for first, second in itertools.pairwise(points)):
        raise ValueError(f"instants that begin at 0 and rise ({path})")
    # the last rate stays, so its step may have any duration
    ends = [*(time for time, _ in points[1:]), points[-1][0] + 10**9]
    steps = [
        {"duration": f"{end - time} ns", "rate": f"{rate} b/s"} for (time, rate), end in zip(points, ends, strict=True)
    ]
    return {"rate": f"{max(rate for _, rate in points)} b/s", "steps": steps, "repeat": False}
