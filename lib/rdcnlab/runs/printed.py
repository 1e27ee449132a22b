# SPDX-License-Identifier: Apache-2.0
"""What the programs of a run printed, and what of it is another in a second run."""

from __future__ import annotations

import base64
import html
from dataclasses import dataclass, field

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
    run : Run or None
        The run that printed it, if a notebook shows its picture beside the text.
    """

    text: str
    status: int | None = 0
    changed: tuple[str, ...] = ()
    run: Run | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return self.text.removesuffix("\n")

    def _repr_html_(self) -> str | None:
        if self.run is None:
            return None
        picture = base64.b64encode(self.run.plot()._repr_png_()).decode()
        words = f"with this line, {', '.join(self.changed)} printed something else, or ended later or sooner"
        more = f"<small>{html.escape(words)}</small>" * bool(self.changed)
        # on a narrow screen the picture is below the text
        return (
            '<div style="display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start">'
            '<div style="flex:0 1 auto;min-width:0"><pre style="white-space:pre-wrap;font-family:monospace">'
            f"{html.escape(self.text)}</pre>"
            f'{more}</div><img alt="programs, rates and queues of run {self.run.id[:12]} over time" '
            f'style="flex:1 1 24em;min-width:0;max-width:min(100%,740px);height:auto;background:white" '
            f'src="data:image/png;base64,{picture}"></div>'
        )


def changed(before: Run, now: Run) -> tuple[str, ...]:
    """Return the names of programs that had ended by themselves, and end otherwise now or print something else."""
    columns = ["end_s", "status", "stdout", "stderr", "files_B"]
    rows, others = (run.programs.set_index("program") for run in (before, now))
    ended = rows[rows["ended"] == "itself"]
    return tuple(name for name in ended.index if not ended.loc[name, columns].equals(others.loc[name, columns]))
