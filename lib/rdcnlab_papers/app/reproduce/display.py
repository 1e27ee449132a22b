# SPDX-License-Identifier: Apache-2.0
"""One progress display for many items: items, runs, failures and the time left."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from rdcnlab.system.progress import LOG_S


class Display:
    """The progress of a reproduction: one line that changes in a terminal, and a line every few seconds in a log.

    Parameters
    ----------
    items, runs : int
        Number of notebooks to execute, and of runs to make.
    work : float
        Work of all runs; see `rdcnlab_papers.app.reproduce.plan.work`.
    shown : bool
        Whether anything is displayed.
    """

    def __init__(self, items: int, runs: int, work: float, *, shown: bool = True) -> None:
        self.items, self.runs, self.failures = 0, 0, 0
        self._of_items, self._of_runs, self._of_work = items, runs, work
        self._work = 0.0
        self._begin = self._last = time.monotonic()
        self._now = ""
        watched = shown and sys.stderr.isatty()
        live = Live(console=Console(stderr=True), refresh_per_second=4, get_renderable=self._text)
        self._live = live if watched else None
        self._log = shown and not watched

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._print(force=True)
        if self._live is not None:
            self._live.stop()

    def works_on(self, name: str) -> None:
        """Set the name of the item that is displayed."""
        self._now = name

    def ran(self, work: float, *, failed: bool) -> None:
        """Count a run that has ended."""
        self.runs += 1
        self._work += work
        self.failures += failed
        self._print()

    def count_executed(self, *, failed: bool) -> None:
        """Count a notebook that has been executed."""
        self.items += 1
        self.failures += failed
        self._print()

    @property
    def left_s(self) -> float | None:
        """Seconds that the missing runs will take at the speed so far; None before the first run has ended."""
        if not self._work or self.runs >= self._of_runs:
            return None
        return (time.monotonic() - self._begin) * (self._of_work - self._work) / self._work

    def line(self) -> str:
        """Return the progress as a line."""
        parts = [f"{self.items} of {self._of_items} items", f"{self.runs} of {self._of_runs} missing runs"]
        remaining_s = self.left_s
        if remaining_s is not None:
            words = f"{remaining_s / 60:.0f} min" if remaining_s >= 60 else f"{remaining_s:.0f} s"
            parts.append(f"about {words} left for runs")
        if self.failures:
            parts.append(f"{self.failures} failed")
        return f"{', '.join(parts)}{f': {self._now}' if self._now else ''}"

    def _text(self) -> Text:
        return Text(self.line())

    def _print(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if self._log and (force or now - self._last >= LOG_S):
            self._last = now
            print(self.line(), file=sys.stderr, flush=True)
