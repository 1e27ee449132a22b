# SPDX-License-Identifier: Apache-2.0
"""What os-ken's and Ryu's ``hub`` promise to applications: threads that can wait, be ended, and time out.

os-ken's own hub of Python's threads cannot end a thread (``kill`` does nothing), and its ``Timeout`` does not interrupt
a wait. `install` replaces its names by those of this module, of `sdn_tasks` and of `sdn_timeout`.
"""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from sdn_tasks import Condition, Task, TaskExit, exception_of, getcurrent, sleep
from sdn_timeout import Timeout


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
        self._error = None if exc is None else exception_of(exc if isinstance(exc, tuple) else (exc,))
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


def spawn(call: Callable[..., Any], *args: Any, raise_error: bool = False, **kwargs: Any) -> Task:
    """Run a function in a thread of its own, and return the thread."""
    task = Task(call, args, kwargs, raise_error=raise_error)
    task.start()
    return task


def spawn_after(seconds: float, call: Callable[..., Any], *args: Any, raise_error: bool = False, **kwargs: Any) -> Task:
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
    time.sleep = sleep  # type: ignore[assignment]
