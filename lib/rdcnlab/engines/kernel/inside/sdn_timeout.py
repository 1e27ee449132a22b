# SPDX-License-Identifier: Apache-2.0
"""Timeouts that interrupt the wait of a thread, as eventlet's, which Ryu was written for."""

from __future__ import annotations

import _thread
import time
from typing import Any

from sdn_tasks import NativeCondition, Task, exception_of, getcurrent, refuse

#: Seconds after which a timeout that has not ended a wait has met one that cannot be interrupted; locks of Python count
#: in whole microseconds.
LATE_S = 10e-6


class Timeout(BaseException):
    """Interrupts the wait of the thread that made it, when its seconds are over.

    Parameters
    ----------
    seconds : float or None
        Seconds of virtual time from now; None: never.
    exception : exception, bool or None
        What it raises; by default itself. False: itself, and as a context manager it says nothing about it.
    """

    def __init__(self, seconds: float | None = None, exception: Any = None) -> None:
        super().__init__()
        self.seconds, self.exception = seconds, exception
        self.pending, self.instant, self.task = False, 0.0, None
        self.start()

    task: Task | None

    def start(self) -> Timeout:
        """Start it; whoever makes it has done so already."""
        if self.pending:
            raise AssertionError(f"{self!r} is already started")
        if self.seconds is not None:
            self.task, self.instant, self.pending = getcurrent(), time.monotonic() + self.seconds, True
            self.task.timeouts.append(self)
            _WATCH.add(self)
        return self

    def cancel(self) -> None:
        """Stop it; it will not interrupt."""
        if self.pending:
            assert self.task is not None
            self.task.timeouts.remove(self)
            self.pending = False

    def expired(self) -> BaseException:
        """Stop it, and return what it raises."""
        self.cancel()
        return self if self.exception is None or isinstance(self.exception, bool) else exception_of((self.exception,))

    def __enter__(self) -> Timeout:
        if not self.pending:
            self.start()
        return self

    def __exit__(self, kind: object, value: object, trace: object) -> bool:
        self.cancel()
        return value is self and self.exception is False

    def __str__(self) -> str:
        if self.seconds is None:
            return ""
        more = {None: "", True: "", False: " (silent)"}.get(self.exception, f" ({self.exception})")
        return f"{self.seconds} second{'' if self.seconds == 1 else 's'}{more}"


class _Watch:
    """Ends the run if a timeout is over while its thread waits where nothing can interrupt it."""

    def __init__(self) -> None:
        self.changed, self.timeouts, self.next = NativeCondition(), list[Timeout](), None
        self.begun = False

    next: float | None

    def add(self, timeout: Timeout) -> None:
        with self.changed:
            self.timeouts.append(timeout)
            if not self.begun:
                self.begun = True
                _thread.start_new_thread(self._run, ())
            elif self.next is None or timeout.instant < self.next:
                self.changed.notify()

    def _run(self) -> None:
        with self.changed:
            while True:
                now = time.monotonic()
                self.timeouts = [each for each in self.timeouts if each.pending]
                for each in self.timeouts:
                    assert each.task is not None
                    if each.instant + LATE_S <= now and not each.task.ended():
                        refuse(f"hub.Timeout({each.seconds:g})", each.task)
                self.next = min((each.instant for each in self.timeouts if each.instant > now), default=None)
                self.changed.wait(None if self.next is None else self.next + 2 * LATE_S - now)


_WATCH = _Watch()
