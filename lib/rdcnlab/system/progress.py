# SPDX-License-Identifier: Apache-2.0
"""Progress of long work: a bar in a terminal or a notebook, occasional lines in a log."""

from __future__ import annotations

import sys
from typing import Any

#: Seconds between two lines if no person watches (output to a log).
LOG_S = 10.0


def bar(total: int, unit: str, *, initial: int = 0, shown: bool = True) -> Any:
    """Return a progress bar of `tqdm`.

    Parameters
    ----------
    total, initial : int
        Number of steps in total, and number of steps that are already done.
    unit : str
        Unit of a step, shown in the bar.
    shown : bool
        Whether to draw the bar.
    """
    # Imported here because the import of the notebook version of the bar takes time.
    from tqdm.auto import tqdm

    watched = sys.stderr.isatty() or "ipykernel" in sys.modules
    return tqdm(
        total=total, initial=initial, unit=unit, disable=not shown, mininterval=0.1 if watched else LOG_S, miniters=1
    )


def notice(text: str) -> None:
    """Write a line to standard error, above a progress bar if there is one."""
    from tqdm import tqdm

    tqdm.write(f"rdcnlab: {text}", file=sys.stderr)
