# SPDX-License-Identifier: Apache-2.0
"""Read what the flows of a guest have received so far; ``tools/progress.c`` writes it while the run goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rdcnlab.engines import Arrived

#: The file in the guest's directory.
FILE = "progress"


def read(directory: Path, start_ns: int) -> Arrived:
    """Return what has arrived so far; without rows if the guest has not written any.

    Parameters
    ----------
    directory : Path
        The guest's directory.
    start_ns : int
        Virtual time in ns at which the scenario starts.

    Raises
    ------
    OSError
        There is no such file yet.
    """
    data = np.fromfile(directory / FILE, dtype="<u8")  # whole numbers only
    count = int(data[0]) if len(data) else 0
    # the last row may be written at this moment
    rows = data[1 : 1 + (len(data) - 1) // (count + 1) * (count + 1)].reshape(-1, count + 1)
    return Arrived(rows[:, 0].astype(np.int64) - start_ns, rows[:, 1:].astype(np.int64))
