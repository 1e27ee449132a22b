# SPDX-License-Identifier: Apache-2.0
"""Nodes of Mininet that start few processes, which are slow in User-Mode Linux: a dozen for each host otherwise.

Mininet gives every node a shell and configures interfaces by ``ifconfig``. Here a shell starts with a node's first
command only. What every host needs is done by `inside` and `topology.batch`, one process of ``ip`` and one of ``tc``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import PIPE, Popen
from typing import Any

import mininet.node
from mininet.link import Intf, Link
from mininet.node import Host, Node, Switch
from traffic import TOOL


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
        # files need not be closed (mnexec -c): all of Python's are closed when a program starts
        holder = Popen(["mnexec", "-dnp", TOOL, "hold"], stdout=PIPE, close_fds=False)
        assert holder.stdout is not None
        # mnexec prints it when the namespaces are there
        self.pid = int(holder.stdout.readline()[1:])

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
    with open("/proc/self/ns/net") as home, open(f"/proc/{node.pid}/ns/net") as there:
        _enter(there.fileno())
        try:
            yield
        finally:
            _enter(home.fileno())


def _enter(namespace: int) -> None:
    if hasattr(os, "setns"):  # since Python 3.12
        os.setns(namespace, 0)
        return
    import ctypes

    if ctypes.CDLL(None, use_errno=True).setns(namespace, 0):
        raise OSError(ctypes.get_errno(), "setns")
