# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch in the guest: its two daemons, its bridges, and the controller, each a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from clock import sleep_until
from sdn_ports import mac
from tool import TOOL

if TYPE_CHECKING:
    # it runs as a process of its own; with this line it counts as code of the guest, and so for the identity of a run
    import sdn_process  # noqa: F401

#: Directory of the database, the sockets and the logs; nothing of the host's Open vSwitch is used.
PLACE = "/run/ovs"
#: Socket through which ``ovs-vswitchd`` is told what OpenFlow has no words for.
CONTROL = f"{PLACE}/vswitchd.ctl"
#: Starts a program that must be able to write to /tmp, which is the host's and cannot be written.
OWN_TMP = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmp /tmp && exec "$@"', "sh"]
#: Instant of CLOCK_MONOTONIC (ns) before which ovs-vswitchd must not start. It counts processors every 10 s, and
#: believes that it has none before the clock shows 10 s (seen in 3.1). Then nobody handles packets that the data plane
#: does not know, also later.
EARLIEST_NS = 11 * 10**9
#: Virtual seconds within which a daemon, or the controller, must be ready.
PATIENCE_S = 20.0
#: Seconds of virtual time between two looks whether a daemon is ready.
LOOK_S = 0.01
#: Milliseconds for which the data plane keeps a flow that nobody uses. As distributed, it forgets it after 10 s.
MAX_IDLE_MS = 86_400_000


class Daemon:
    """A process that must run until the run ends.

    Parameters
    ----------
    name : str
        Name in errors.
    command : list of str
        Its command line.
    options : dict
        Options of ``Popen``.
    """

    def __init__(self, name: str, command: list[str], **options: Any) -> None:
        self.name, self.log = name, f"{PLACE}/{name}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stderr=log, **{"stdin": subprocess.DEVNULL, **options})

    def check(self) -> None:
        """Raise RuntimeError with the last words of the process if it is not running."""
        status = self.process.poll()
        if status is not None:
            how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
            raise RuntimeError(f"{self.name} {how}{self._words()}")

    def _words(self) -> str:
        with open(self.log, errors="replace") as file:
            words = [line.strip() for line in file if line.strip()]
        return f": {' / '.join(words[-3:])}" if words else ""


class OpenVSwitch:
    """The daemons of Open vSwitch, which serve all bridges of a network.

    Parameters
    ----------
    programs : dict
        Paths of ``ovsdb-tool``, ``ovsdb-server``, ``ovs-vswitchd``, ``ovs-vsctl`` and of the database's ``schema``.

    Attributes
    ----------
    running : list of Daemon
        The processes that must not end before the run.
    """

    def __init__(self, programs: dict[str, str]) -> None:
        self.programs = programs
        os.makedirs(PLACE, exist_ok=True)
        places = ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR")
        self.environment = {**os.environ, **dict.fromkeys(places, PLACE)}
        database, self.socket = f"{PLACE}/conf.db", f"{PLACE}/db.sock"
        self._run("ovsdb-tool", "create", database, programs["schema"])
        quiet = ["--no-chdir", "-vsyslog:off", "-vconsole:err"]
        server = [*OWN_TMP, programs["ovsdb-server"], database, f"--remote=punix:{self.socket}", *quiet]
        self.running = [Daemon("ovsdb-server", server, env=self.environment)]
        self._wait(self.running[0], lambda: os.path.exists(self.socket))
        self._vsctl(["--no-wait", "init", "--", "set", "Open_vSwitch", ".", f"other_config:max-idle={MAX_IDLE_MS}"])
        sleep_until(EARLIEST_NS)
        switch = [programs["ovs-vswitchd"], f"unix:{self.socket}", f"--unixctl={CONTROL}", *quiet]
        self.running.append(Daemon("ovs-vswitchd", switch, env=self.environment))

    def configure(self, bridges: list[dict[str, Any]], port: int) -> None:
        """Make bridges whose controller is at a TCP port of this machine, and wait until the daemon has made them."""
        words: list[str] = []
        for bridge in bridges:
            name = bridge["bridge"]
            words += ["--", "add-br", name, "--", "set", "Bridge", name, "fail_mode=secure", "protocols=OpenFlow13"]
            words += [f"other-config:datapath-id={bridge['dpid']:016x}", "other-config:disable-in-band=true"]
            if bridge["app"] is not None:
                words += [f"other-config:hwaddr={mac(bridge['dpid'], 0)}"]
            for interface, number in bridge["interfaces"].items():
                words += ["--", "add-port", name, interface, "--", "set", "Interface", interface]
                words += [f"ofport_request={number}"]
            if bridge["table_size"] is not None:
                words += ["--", f"--id=@{name}", "create", "Flow_Table", f"flow_limit={bridge['table_size']}"]
                words += ["overflow_policy=refuse", "--", "set", "Bridge", name, f"flow_tables:0=@{name}"]
            words += ["--", "set-controller", name, f"tcp:127.0.0.1:{port}"]
            # a controller that says nothing for a while is not asked whether it lives: its process is watched
            words += ["--", "set", "Controller", name, "inactivity_probe=0", "connection-mode=out-of-band"]
        self._vsctl(words)
        # The daemon's main thread goes first, and its other threads work when it sleeps. Otherwise one of them may wait
        # for it while a third wakes it 500 times, and each time it reads the clock, see `DataPlane`.
        first = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(self.running[-1].process.pid, first, os.sched_param(1))

    def _vsctl(self, words: list[str]) -> None:
        self._run("ovs-vsctl", f"--db=unix:{self.socket}", f"--timeout={PATIENCE_S:.0f}", *words)

    def _run(self, program: str, *words: str) -> None:
        done = subprocess.run(
            [self.programs[program], *words], env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            for daemon in getattr(self, "running", []):
                daemon.check()
            said = done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}"
            raise RuntimeError(f"{program} failed: {said}\n  from: {' '.join(words)}")

    def _wait(self, daemon: Daemon, ready: Any) -> None:
        """Wait until a daemon is ready."""
        deadline = time.monotonic() + PATIENCE_S
        while not ready():
            daemon.check()
            if time.monotonic() > deadline:
                daemon.process.kill()
                raise RuntimeError(f"{daemon.name} is not ready after {PATIENCE_S:g} s")
            time.sleep(LOOK_S)


class Controller(Daemon):
    """The process of the OpenFlow controller.

    Parameters
    ----------
    plan : dict
        What ``sdn_process.py`` reads.
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        path = f"{PLACE}/controller.json"
        with open(path, "w") as file:
            json.dump(plan, file)
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sdn_process.py")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        # an application of the scenario's own is no superuser
        apart = [] if plan["app"] is None else [TOOL, "apart"]
        os.chmod(CONTROL, 0o666)  # through which it holds the daemon's threads, see `DataPlane`
        super().__init__("controller", [*apart, sys.executable, "-s", program, path], **pipes)

    def answer(self) -> Any:
        """Wait for one line of the controller, and return what it says."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.check()
        return json.loads(line)

    def ask(self, word: str) -> Any:
        """Tell the controller a word, and return its answer."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{word}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            self.process.wait()
            self.check()
        return self.answer()
