# SPDX-License-Identifier: Apache-2.0
"""Run commands in a host at one instant, and end the run.

Computation takes no virtual time, so the network stands still while they run, unless a command itself waits.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from clock import be_exact, sleep_until
from tool import TOOL

#: Line by which a shell says that a command has ended, before its exit status; nobody prints it by chance.
_DONE = "@rdcnlab-shell-done@"
#: File with the line that the shell runs. It is in the guest's own memory.
_LINE = "/run/look.line"
#: Files in the place of the machine's: names of hosts, and that no other place knows names.
_NAMES = {"/etc/hosts": "/run/look.hosts", "/etc/nsswitch.conf": "/run/look.nsswitch"}


class Look(threading.Thread):
    """Commands that run at an instant.

    Parameters
    ----------
    plan : dict
        ``host``, ``at_ns`` (CLOCK_MONOTONIC), ``addresses`` by name of the host, and ``commands``, lines for a shell.
        None: they come one by one, see `Lines`.
    testbed : Testbed
        The network with the host.
    directory : str
        Directory for ``look.json``: output with errors, and exit status, of each command; and the instant of the end.
    end : callable
        Takes the words of an error, or None, and ends the run; it does not return.
    """

    def __init__(self, plan: dict[str, Any], testbed: Any, directory: str, end: Callable[[str | None], None]) -> None:
        super().__init__(daemon=True)
        self.plan, self.directory, self.end = plan, directory, end
        self.pid = testbed.pid(plan["host"])

    def run(self) -> None:
        """Wait for the instant, run the commands, and end the run."""
        words = None
        try:
            self._look()
        except Exception as error:  # noqa: BLE001  a thread that ends with an error would let the run go on
            traceback.print_exc()
            words = f"{type(error).__name__}: {error}"
        self.end(words)

    def _look(self) -> None:
        be_exact()
        sleep_until(self.plan["at_ns"])
        self._know_names()
        answers: list[list[Any]] = []
        lines = self.plan["commands"]
        if lines is None:
            Lines(self.pid, self.directory).run()
        for line in lines or ():
            _report(self.directory, {"answers": answers, "line": line})
            done = subprocess.run(
                ["mnexec", "-a", str(self.pid), TOOL, "apart", "sh", "-c", line],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
            answers.append([done.stdout.decode(errors="replace"), done.returncode])
        _report(self.directory, {"answers": answers, "end_ns": time.monotonic_ns()})

    def _know_names(self) -> None:
        """Give the host the names of all hosts, as hosts with programs have them."""
        known = [f"{address} {name}" for name, address in self.plan["addresses"].items()]
        texts = {"/etc/hosts": ["127.0.0.1 localhost", *known], "/etc/nsswitch.conf": ["hosts: files"]}
        for place, path in _NAMES.items():
            with open(path, "w") as file:
                file.write("\n".join([*texts[place], ""]))
            # the machine may lack the file; then nothing looks there
            subprocess.run(["mnexec", "-a", str(self.pid), "mount", "--bind", path, place], check=False)


def _report(directory: str, content: dict[str, Any]) -> None:
    """Write ``look.json`` as a whole or not at all: the host may read it now, and the run may end in another thread."""
    part = os.path.join(directory, "look.part")
    with open(part, "w") as file:
        json.dump(content, file)
    os.rename(part, os.path.join(directory, "look.json"))


class Lines:
    """Lines that a person types on the host, for one shell in a host of the network.

    The machine outside replaces the file ``look.line`` by one with the next line, after this side has written what the
    line before did into ``look.json``. Between the two this side reads ``look.line`` again and again. It never sleeps,
    so the clock stands; the machine outside stops the whole guest meanwhile, so that it uses no processor.
    """

    def __init__(self, pid: int, directory: str) -> None:
        self.pid, self.directory = pid, directory
        self.shell = self._start()
        self.path = os.path.join(directory, "look.line")
        with open(self.path, "w") as file:
            json.dump([-1, None], file)

    def _start(self) -> subprocess.Popen[bytes]:
        command = ["mnexec", "-a", str(self.pid), TOOL, "apart", "bash", "--noprofile", "--norc"]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self) -> None:
        """Answer lines until one of them ends the run."""
        text, status = "", 0
        for number in range(1_000_000):
            self._say(number, text, status)
            line = self._line(number)
            if line is None:
                return
            text, status = self._answer(line)

    def _say(self, number: int, text: str, status: int) -> None:
        _report(self.directory, {"next": number, "text": text, "status": status, "now_ns": time.monotonic_ns()})

    def _line(self, number: int) -> str | None:
        """Return the next line; None if there is none.

        No system call here may fail: from the thousandth on, while the clock stands, each one takes 1 us. So this does
        not wait for a file that does not exist, and does not let Python ask whether the file is a terminal.

        The guest may be stopped between the moment in which it learns the file's length and the one in which it opens
        the file. Then it reads the new file with the old one's length, which is no JSON, and the next time the whole.
        """
        while True:
            file = os.open(self.path, os.O_RDONLY)
            text = os.read(file, 1 << 20)
            os.close(file)
            try:
                there = json.loads(text)
            except ValueError:
                continue
            if there[0] == number:
                line: str | None = there[1]
                return line

    def _answer(self, line: str) -> tuple[str, int]:
        """Let the shell run a line, and return what it printed, and its exit status."""
        with open(_LINE, "w") as file:
            file.write(f"{line}\n")
        assert self.shell.stdin is not None
        self.shell.stdin.write(f". {_LINE} </dev/null; printf '\\n{_DONE} %s\\n' $?\n".encode())
        self.shell.stdin.flush()
        printed = b""
        for part in self._parts():
            printed += part
            text, mark, status = printed.decode(errors="replace").rpartition(f"\n{_DONE} ")
            if mark and status.endswith("\n"):
                return text, int(status)
        left = self.shell.wait()
        self.shell = self._start()
        return printed.decode(errors="replace"), left

    def _parts(self) -> Iterator[bytes]:
        assert self.shell.stdout is not None
        while part := os.read(self.shell.stdout.fileno(), 1 << 16):
            yield part
