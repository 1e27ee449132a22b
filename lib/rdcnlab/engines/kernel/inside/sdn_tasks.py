# SPDX-License-Identifier: Apache-2.0
"""Threads whose waits can be interrupted, as those of eventlet, which Ryu was written for.

Every wait that is made of `threading.Condition` can be interrupted: those of events, queues, semaphores and `sleep`,
also of the standard library's. What waits elsewhere, as in ``recv`` of a socket, cannot be interrupted: then the run
ends with an error that names the place.

Programs compute in no time, and virtual time goes on when all of them wait. So whoever lets the least time pass has let
all other threads run until they wait: this is how ``sleep(0)`` and ``kill`` hand over.
"""

from __future__ import annotations

import _thread
import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdn_timeout import Timeout

LOG = logging.getLogger("os_ken.lib.hub")
#: Seconds for which a thread sleeps to hand over to all others that can run.
LEAST_S = 1e-9

_native_sleep, NativeCondition = time.sleep, threading.Condition
_local = threading.local()


class TaskExit(BaseException):
    """Ends a thread; no handler of `Exception` catches it."""


class Task:
    """A thread.

    Parameters
    ----------
    call : callable
        What it runs.
    args, kwargs : tuple, dict
        Arguments of the call.
    delay : float
        Seconds until it starts.
    raise_error : bool
        Whether `wait` raises what the call raises. Otherwise it is logged, which ends the run.
    """

    def __init__(
        self,
        call: Callable[..., Any] | None,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        *,
        delay: float | None = None,
        raise_error: bool = False,
    ) -> None:
        self.call, self.args, self.kwargs = call, args, kwargs or {}
        self.delay, self.raise_error = delay, raise_error
        self.begun = self.dead = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = threading.Event()
        self.links: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []
        self.ident = 0
        #: The lock at which it waits, what interrupts the wait, and the timeouts that may.
        self.waiter: Any = None
        self.thrown: list[BaseException] = []
        self.timeouts: list[Timeout] = []

    def start(self) -> None:
        """Start the thread. It runs as soon as the one that started it waits."""
        _thread.start_new_thread(self._run, ())

    def _run(self) -> None:
        _local.task, self.ident = self, _thread.get_ident()
        try:
            if self.delay is not None:
                sleep(self.delay)
            self._interrupt()
            self.begun = True
            assert self.call is not None
            self.result = self.call(*self.args, **self.kwargs)
        except TaskExit as ended:
            self.error = None if self.begun else ended
        except BaseException as error:
            self.error = error
            if not self.raise_error:
                LOG.error("hub: uncaught exception: %s", error, exc_info=True)
        self.dead = True
        self.done.set()
        for call, args, kwargs in self.links:
            call(self, *args, **kwargs)

    def wait(self, timeout: float | None = None) -> Any:
        """Wait until it has ended, at most some seconds, and return its result."""
        self.done.wait(timeout)
        if self.dead and self.error is not None and (self.raise_error or not self.begun):
            raise self.error
        return self.result

    def join(self, timeout: float | None = None) -> None:
        """Wait until it has ended, at most some seconds."""
        self.done.wait(timeout)

    def is_alive(self) -> bool:
        """Return whether it has not ended."""
        return not self.dead

    __bool__ = is_alive

    def ended(self) -> bool:
        """Return whether its thread has ended, whoever made it."""
        return self.dead or self.ident not in sys._current_frames()

    def link(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Call a function with this thread when it ends, or at once if it has."""
        if self.dead:
            call(self, *args, **kwargs)
        else:
            self.links.append((call, args, kwargs))

    def cancel(self, *thrown: Any) -> None:
        """End it if it has not begun to run."""
        if not self.begun:
            self.kill(*thrown)

    def kill(self, *thrown: Any) -> None:
        """Raise `TaskExit`, or what is given, where it waits, and let it run until it ends or waits again."""
        if self.dead:
            return
        error = exception_of(thrown)
        if current() is self:
            raise error
        self.thrown.append(error)
        self._wake()
        handed_over()
        if error in self.thrown and not self.dead and self.waiter is None and self.ident:
            refuse("hub.kill", self)

    def park(self, waiter: Any, timeout: float | None = None) -> bool:
        """Wait at a locked lock until it is released; return whether it was, and not the seconds were over."""
        self._interrupt()
        first = min(self.timeouts, key=lambda one: one.instant, default=None)
        left = None if first is None else first.instant - time.monotonic()
        if first is not None and left is not None and left <= 0:
            raise first.expired()
        limits = [each for each in (timeout, left) if each is not None]
        self.waiter = waiter
        try:
            woken = bool(waiter.acquire(True, max(0.0, min(limits))) if limits else waiter.acquire())
        finally:
            self.waiter = None
        self._interrupt()
        if not woken and first is not None and left is not None and left <= min(limits) and first.pending:
            raise first.expired()
        return woken

    def _wake(self) -> None:
        waiter = self.waiter
        if waiter is not None:
            with contextlib.suppress(RuntimeError):  # it was released already
                waiter.release()

    def _interrupt(self) -> None:
        if self.thrown:
            raise self.thrown.pop(0)


class Condition(NativeCondition):  # type: ignore[valid-type, misc]
    """A condition whose waits can be interrupted; it replaces that of `threading`."""

    _waiters: Any
    _release_save: Any
    _acquire_restore: Any
    _is_owned: Any

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until notified, or until the seconds are over; return whether it was notified."""
        task = current()
        if task is None:
            return bool(super().wait(timeout))
        if not self._is_owned():
            raise RuntimeError("cannot wait on un-acquired lock")
        waiter = _locked()
        self._waiters.append(waiter)
        saved = self._release_save()
        woken = raised = False
        try:
            woken = task.park(waiter, timeout)
        except BaseException:
            raised = True
            raise
        finally:
            self._acquire_restore(saved)
            if not woken:
                try:
                    self._waiters.remove(waiter)
                except ValueError:
                    if raised:  # another one takes what this thread was told, and cannot take any more
                        self.notify()
        return woken


def current() -> Task | None:
    """Return the calling thread, or None if the hub has not made it."""
    task: Task | None = getattr(_local, "task", None)
    return task


def getcurrent() -> Task:
    """Return the calling thread, whoever made it."""
    task = current()
    if task is None:
        task = _local.task = Task(None)
        task.begun, task.ident = True, _thread.get_ident()
    return task


def sleep(seconds: float = 0) -> None:
    """Sleep for seconds of virtual time; with 0, let all threads run that can."""
    task = current()
    if task is None:
        _native_sleep(seconds)
    elif seconds <= 0:
        handed_over()
    else:
        task.park(_locked(), seconds)


def handed_over() -> None:
    """Let all threads run that can, until each of them waits."""
    task = current()
    if task is not None:
        task.waiter = _locked()
    _native_sleep(LEAST_S)
    if task is not None:
        task.waiter = None
        # what was thrown meanwhile, and timeouts that are over
        task.park(_thread.allocate_lock())


def _locked() -> Any:
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock


def exception_of(thrown: tuple[Any, ...]) -> BaseException:
    """Return the exception that Python's ``throw`` would raise: type, value and traceback, or an instance alone."""
    kind, value = (*thrown, None, None)[:2]
    if kind is None:
        return TaskExit()
    if isinstance(kind, BaseException):
        return kind
    if isinstance(value, BaseException):
        return value
    made: BaseException = kind() if value is None else kind(value)
    return made


def refuse(what: str, task: Task) -> None:
    """End the run, because a thread waits where nothing can interrupt it."""
    frame = sys._current_frames().get(task.ident)
    if frame is None or frame.f_code.co_filename == __file__:
        where = getattr(task.call, "__qualname__", "a call of the system")
    else:
        where = f"{frame.f_code.co_name} ({os.path.basename(frame.f_code.co_filename)}, line {frame.f_lineno})"
    words = (
        f"{what}: a thread waits in {where}, where it cannot be interrupted; waits of hub, threading and time can be"
    )
    LOG.error(words)  # this ends the run
    raise RuntimeError(words)
