# SPDX-License-Identifier: Apache-2.0
"""What the programs of a run printed, and what of it is another in a second run."""

from __future__ import annotations

from dataclasses import dataclass

from rdcnlab.runs.run import Run


@dataclass(frozen=True)
class Printed:
    """What a line printed.

    Parameters
    ----------
    text : str
        Standard error after standard output.
    status : int or None
        Exit status. None: it did not end by itself. Of several programs, that of the last one.
    changed : tuple of str
        Programs of earlier lines that printed something else now, or ended at another instant.
    """

    text: str
    status: int | None = 0
    changed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.text.removesuffix("\n")


def changed(before: Run, now: Run) -> tuple[str, ...]:
    """Return the names of programs that had ended by themselves, and end otherwise now or print something else."""
    columns = ["end_s", "status", "stdout", "stderr", "files_B"]
    rows, others = (run.programs.set_index("program") for run in (before, now))
    ended = rows[rows["ended"] == "itself"]
    return tuple(name for name in ended.index if not ended.loc[name, columns].equals(others.loc[name, columns]))
