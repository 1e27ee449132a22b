# SPDX-License-Identifier: Apache-2.0
"""Threads of controllers that can wait, be ended and time out: what os-ken's and Ryu's ``hub`` promise.

os-ken's own hub of Python's threads cannot end a thread (``kill`` does nothing), and a `Timeout` does not interrupt a
wait. Here, every wait that is made of `threading.Condition` can be interrupted: those of events, queues, semaphores and
`sleep`, also of the standard library's. `kill` and `Timeout` interrupt them. What waits elsewhere, as in ``recv`` of a
socket, cannot be interrupted: then the run ends with an error that names the place.

Programs compute in no time, and virtual time goes on when all of them wait. So whoever lets the least time pass has let
all other threads run until they wait: this is how ``sleep(0)`` and ``kill`` hand over.
"""

from __future__ import annotations

import _thread
import contextlib
import logging
import os
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

LOG = logging.getLogger("os_ken.lib.hub")
#: Seconds after which a timeout that has not ended a wait has met one that cannot be interrupted; locks of Python count
#: in whole microseconds.
LATE_S = 10e-6
#: Seconds for which a thread sleeps to hand over to all others that can run.
LEAST_S = 1e-9

_native_sleep, _NativeCondition = time.sleep, threading.Condition
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
        except BaseException as error:  # noqa: BLE001  whatever it is, someone must hear of it
            self.error = error
            if not self.raise_error:
                LOG.error("hub: uncaught exception: %s", error, exc_info=True)  # noqa: G201, LOG014
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
        error = _exception(thrown)
        if current() is self:
            raise error
        self.thrown.append(error)
        self._wake()
        handed_over()
        if error in self.thrown and not self.dead and self.waiter is None and self.ident:
            _refuse("hub.kill", self)

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


class Condition(_NativeCondition):
    """A condition whose waits can be interrupted; it replaces that of `threading`."""

    _waiters: Any
    _release_save: Any
    _acquire_restore: Any
    _is_owned: Any

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until notified, or until the seconds are over; return whether it was notified."""
        task = current()
        if task is None:
            return super().wait(timeout)
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
        return self if self.exception is None or isinstance(self.exception, bool) else _exception((self.exception,))

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


class Event:
    """A flag that threads can wait for. Who is woken and finds it cleared again waits on."""

    def __init__(self) -> None:
        self._condition, self._flag = threading.Condition(), False

    def is_set(self) -> bool:
        """Return whether it is set."""
        return self._flag

    def set(self) -> None:
        """Set it, and wake all that wait."""
        with self._condition:
            self._flag = True
            self._condition.notify_all()

    def clear(self) -> None:
        """Clear it."""
        self._flag = False

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, or until the seconds are over; return whether it is set."""
        with self._condition:
            return self._condition.wait_for(self.is_set, timeout)


class HubEvent:
    """An event that happens once, with a result or an exception."""

    def __init__(self) -> None:
        self._happened, self._result = Event(), None
        self._error: BaseException | None = None

    def ready(self) -> bool:
        """Return whether it has happened."""
        return self._happened.is_set()

    def send(self, result: Any = None, exc: Any = None) -> None:
        """Let it happen with a result, or an exception."""
        if self.ready():
            raise AssertionError("Trying to re-trigger an already-triggered event.")
        self._result = result
        self._error = None if exc is None else _exception(exc if isinstance(exc, tuple) else (exc,))
        self._happened.set()

    def send_exception(self, *thrown: Any) -> None:
        """Let it happen with an exception, which all that wait raise."""
        self.send(None, thrown)

    def wait(self, timeout: float | None = None) -> Any:
        """Wait until it happens; return its result, or None when the seconds are over."""
        if self._happened.wait(timeout) and self._error is not None:
            raise self._error
        return self._result


class Queue(queue.Queue[Any]):
    """A queue of threads; without a size it has no limit."""

    def __init__(self, maxsize: int | None = None) -> None:
        if maxsize == 0:
            words = "a queue of size 0, which hands over from thread to thread in Ryu and has no limit in os-ken"
            raise ValueError(f"hub.Queue: {words}; state a size, or none for no limit")
        super().__init__(-1 if maxsize is None else maxsize)


class _Watch:
    """Ends the run if a timeout is over while its thread waits where nothing can interrupt it."""

    def __init__(self) -> None:
        self.changed, self.timeouts, self.next = _NativeCondition(), list[Timeout](), None
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
                    if each.instant + LATE_S <= now:
                        assert each.task is not None
                        _refuse(f"hub.Timeout({each.seconds:g})", each.task)
                self.next = min((each.instant for each in self.timeouts), default=None)
                self.changed.wait(None if self.next is None else self.next + 2 * LATE_S - now)


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


def spawn(call: Callable[..., Any], *args: Any, raise_error: bool = False, **kwargs: Any) -> Task:
    """Run a function in a thread of its own, and return the thread."""
    task = Task(call, args, kwargs, raise_error=raise_error)
    task.start()
    return task


def spawn_after(
    seconds: float, call: Callable[..., Any], *args: Any, raise_error: bool = False, **kwargs: Any
) -> Task:
    """Run a function after some seconds in a thread of its own; until then its ``cancel`` prevents that."""
    task = Task(call, args, kwargs, delay=seconds, raise_error=raise_error)
    task.start()
    return task


def kill(thread: Task) -> None:
    """End a thread where it waits."""
    if not isinstance(thread, Task):
        raise TypeError(f"hub.kill: {thread!r} cannot be ended; what hub.spawn and hub.spawn_after return can")
    thread.kill()


def joinall(threads: Iterable[Any]) -> None:
    """Wait until all threads have ended."""
    for thread in threads:
        try:
            thread.wait() if isinstance(thread, Task) else thread.join()
        except TaskExit as ended:
            if not isinstance(thread, Task) or ended is not thread.error:
                raise  # the one that waits here is killed


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


def connect(addr: Any, family: int = socket.AF_INET, bind: Any = None) -> socket.socket:
    """Return a socket that is connected to an address."""
    made = socket.socket(family, socket.SOCK_STREAM)
    if bind is not None:
        made.bind(bind)
    made.connect(addr)
    return made


def install(hub: Any) -> None:
    """Put all this into os-ken's module ``hub``, and its waits into `threading` and `time`."""
    own: dict[str, Any] = {"TaskExit": TaskExit, "HubThread": Task, "Timeout": Timeout, "Event": Event}
    own |= {"HubEvent": HubEvent, "Queue": Queue, "getcurrent": getcurrent, "spawn": spawn, "sleep": sleep}
    own |= {"spawn_after": spawn_after, "kill": kill, "joinall": joinall, "connect": connect}
    for name, value in own.items():
        setattr(hub, name, value)
    threading.Condition = Condition  # type: ignore[misc]
    time.sleep = sleep


def _locked() -> Any:
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock


def _exception(thrown: tuple[Any, ...]) -> BaseException:
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


def _refuse(what: str, task: Task) -> None:
    """End the run, because a thread waits where nothing can interrupt it."""
    frame, where = sys._current_frames().get(task.ident), "a call of the system"  # noqa: SLF001
    if frame is not None:
        where = f"{frame.f_code.co_name} ({os.path.basename(frame.f_code.co_filename)}, line {frame.f_lineno})"
    words = f"{what}: a thread waits in {where}, where it cannot be interrupted; waits of hub, threading and time can"
    LOG.error(words)  # this ends the run
    raise RuntimeError(words)


_WATCH = _Watch()
