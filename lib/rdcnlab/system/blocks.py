# SPDX-License-Identifier: Apache-2.0
"""Numbers as a line of block characters, for terminals."""

from __future__ import annotations

import sys
from typing import TextIO

import numpy as np
import numpy.typing as npt

#: Characters from empty to full.
BLOCKS = " ▁▂▃▄▅▆▇█"


def blocks(values: npt.NDArray[np.float64], top: float) -> str:
    """Return one character for each value; a full block is the value `top`, and only zero is empty.

    Examples
    --------
    >>> blocks(np.array([0.0, 1.0, 4.0, 8.0]), 8.0)
    ' ▁▄█'
    """
    heights = np.ceil(values / top * (len(BLOCKS) - 1) - 1e-9) if top > 0 else np.zeros(len(values))
    return "".join(BLOCKS[height] for height in heights.astype(int).clip(0, len(BLOCKS) - 1))


def can_show(stream: TextIO | None = None) -> bool:
    """Return whether a stream, by default standard output, is a terminal that shows block characters."""
    out = sys.stdout if stream is None else stream
    return out.isatty() and "utf" in (out.encoding or "").lower()
