# SPDX-License-Identifier: Apache-2.0
"""Nodes of Mininet that start few processes, which are slow in User-Mode Linux: a dozen for each host otherwise.

Mininet gives every node a shell and configures interfaces by ``ifconfig``. Here a shell starts with a node's first
command only, and one process holds the namespaces of all hosts. What every host needs is done by `route`, without a
process of its own.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import PIPE, Popen
from typing import Any

import mininet.node
from mininet.link import Intf, Link
from mininet.node import Host, Node, Switch
from tool import TOOL

#: Threads that hold namespaces of nodes that are made later, the first one last.
held: list[int] = []


def hold(count: int) -> list[int]:
    """Make namespaces of hosts, and return the ids of the threads that hold them, the first one last."""
    holder = Popen([TOOL, "hold", str(count)], stdout=PIPE, close_fds=False)
    assert holder.stdout is not None
    return [int(holder.stdout.readline()) for _ in range(count)][::-1]


class Lazy(Node):
    """A node whose shell starts with its first command."""

    inNamespace: bool  # noqa: N815  (Mininet's name)
    #: Mininet would look for ``ifconfig``, which is not used here, and refuse to start without it.
    isSetup = True  # noqa: N815  (Mininet's name)

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802, ARG002  (Mininet's signature)
        """Make the namespaces only, which a process holds."""
        if not self.inNamespace:
            self.pid = os.getpid()
            return
        self.pid = held.pop() if held else hold(1)[0]

    def cmd(self, *words: Any, **options: Any) -> Any:
        """Run a command in the node's shell and return what it printed."""
        if self.shell is None:
            holder, self.inNamespace, within = self.pid, False, self.inNamespace
            Node.startShell(self, f"-da{holder}" if within else "-d")
            self.inNamespace = within
        return super().cmd(*words, **options)


class Machine(Lazy, Host):
    """A host that `topology.configure` sets up."""

    def config(self, **params: Any) -> dict[str, Any]:  # noqa: ARG002  (Mininet's signature)
        """Do nothing."""
        return {}


class Box(Lazy, Switch):
    """A switch."""

    def __init__(self, name: str, **params: Any) -> None:
        Switch.__init__(self, name, **params)


class End(Intf):
    """An end of a cable, which `topology` sets up."""

    def config(self, **params: Any) -> dict[str, Any]:  # noqa: ARG002  (Mininet's signature)
        """Do nothing."""
        return {}


class Cable(Link):
    """A cable between a host and a switch; `topology` makes all of them with one process."""

    @classmethod
    def makeIntfPair(cls, *names: Any, **params: Any) -> None:  # noqa: N802  (Mininet's name)
        """Do nothing."""


# A switch sets up its loopback interface as an interface of this class.
mininet.node.Intf = End


@contextmanager
def inside(node: Any) -> Iterator[None]:
    """Be in a node's network namespace, where processes begin and files of ``/proc/sys/net`` are those of the node."""
    if not node.inNamespace:
        yield
        return
    there = os.open(f"/proc/{node.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    _enter(there)
    os.close(there)
    try:
        yield
    finally:
        _enter(_home())


@functools.cache
def _home() -> int:
    """Return a descriptor of the first network namespace, that of process 1."""
    return os.open("/proc/1/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _enter(namespace: int) -> None:
    if hasattr(os, "setns"):  # since Python 3.12
        os.setns(namespace, 0)
        return
    library = _library()
    if library.setns(namespace, 0):
        import ctypes

        raise OSError(ctypes.get_errno(), "setns")


@functools.cache
def _library() -> Any:
    """Return the system's C library; found once, because the ledger changes namespaces at one instant."""
    import ctypes

    return ctypes.CDLL(None, use_errno=True)
