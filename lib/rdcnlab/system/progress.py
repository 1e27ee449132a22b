# SPDX-License-Identifier: Apache-2.0
"""Progress of long work: a bar in a terminal or a notebook, a line now and then in a log."""

from __future__ import annotations

import sys
from typing import Any

#: Seconds between two lines where nobody watches.
LOG_S = 10.0


def bar(total: int, unit: str, *, initial: int = 0, shown: bool = True) -> Any:
    """Return a bar of `tqdm`.

    Parameters
    ----------
    total, initial : int
        Steps in all, and those done already.
    unit : str
        What a step is.
    shown : bool
        Draw it.
    """
    # Imported here: the notebook flavour of the bar takes its time.
    from tqdm.auto import tqdm

    watched = sys.stderr.isatty() or "ipykernel" in sys.modules
    return tqdm(
        total=total, initial=initial, unit=unit, disable=not shown, mininterval=0.1 if watched else LOG_S, miniters=1
    )
