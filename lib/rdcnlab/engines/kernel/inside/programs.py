# SPDX-License-Identifier: Apache-2.0
"""Programs in hosts: their directories, their start and end by ``tools/programs.c``, and what they leave.

All that they write is in one file system in memory, which is bounded.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

from nodes import inside
from tool import TOOL

#: File system for all that programs write.
SHARED = "/run/programs"
#: The user that programs are, as in ``tools/programs.c``.
USER = 1000
_PASSWD = "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/run/home:/bin/sh\nnobody:x:65534:65534::/run:/bin/sh\n"
_GROUP = "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n"


class TooMuch(RuntimeError):
    """Programs wrote more than a run may have."""


class Programs:
    """The programs of a run.

    Parameters
    ----------
    plan : dict
        The plan; its part ``programs`` says what runs where.
    testbed : Testbed
        The hosts.
    directory : str
        Directory of the run: ``given`` has the files of programs by host.
    """

    def __init__(self, plan: dict[str, Any], testbed: Any, directory: str) -> None:
        self.plan, self.directory = plan["programs"], directory
        self.ended: int | None = None
        os.mkdir(SHARED)
        size = f"size={self.plan['stored_B']},mode=0755"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "programs", SHARED], check=True)
        self.lines = [f"limit {plan['limit_ns']}", f"shared {SHARED}"]
        for host, programs in self.plan["hosts"].items():
            self._furnish(host)
            self.lines.append(f"host {host} {testbed.pid(host)}")
            for program in programs:
                role = "background" if program["background"] else "foreground"
                self.lines.append(f"program {program['number']} {program['start_ns']} {role}")
                self.lines += [f"arg {word}" for word in program["words"]]
            if host in self.plan["cc"]:
                with inside(testbed.hosts[host]), open("/proc/sys/net/ipv4/tcp_congestion_control", "w") as file:
                    file.write(self.plan["cc"][host])

    def _furnish(self, host: str) -> None:
        """Make the directories of a host, and what its programs find there."""
        for name in ("home", "tmp", "shm", "out", "etc", "none"):
            os.makedirs(os.path.join(SHARED, host, name))
        given = os.path.join(self.directory, "given", host)
        home = os.path.join(SHARED, host, "home")
        if os.path.isdir(given):
            shutil.copytree(given, home, dirs_exist_ok=True, copy_function=shutil.copyfile)
        for path, _, names in os.walk(home):
            os.chown(path, USER, USER)
            for name in names:
                os.chown(os.path.join(path, name), USER, USER)
                # whether a file may be started is no part of a scenario, so each may be
                os.chmod(os.path.join(path, name), 0o755)
        for name in ("tmp", "shm"):
            os.chmod(os.path.join(SHARED, host, name), 0o1777)
        known = [f"{address} {name}" for name, address in self.plan["addresses"].items()]
        texts = {
            "hosts": "\n".join(["127.0.0.1 localhost", *known, ""]),
            "hostname": f"{host}\n",
            "passwd": _PASSWD,
            "group": _GROUP,
            "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n",
            "resolv.conf": "",
            # stands for the kernel's command line, which has paths of this machine
            "cmdline": "rdcnlab\n",
        }
        for name, text in texts.items():
            with open(os.path.join(SHARED, host, "etc", name), "w") as file:
                file.write(text)

    def begin(self) -> None:
        """Start the process that starts the programs at their instants.

        Where flows go on until programs have ended, `ended` can be read when the last program has that is waited for.
        """
        path = os.path.join(self.directory, "programs.txt")
        with open(path, "w") as file:
            file.write("\n".join([*self.lines, ""]))
        words = [TOOL, "programs", path, os.path.join(self.directory, "programs.jsonl")]
        if self.plan.get("flows_go_on"):
            self.ended, told = os.pipe()
            self.process = subprocess.Popen([*words, str(told)], stdin=subprocess.PIPE, pass_fds=[told])
            os.close(told)
        else:
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE)

    def end(self) -> None:
        """Wait until the programs that a run waits for have ended; no flow is left."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        if self.process.wait():
            raise RuntimeError(f"the process that starts programs ended with status {self.process.returncode}")

    def keep(self) -> None:
        """Copy what programs printed and wrote into the directory of the run.

        Raises
        ------
        TooMuch
            They wrote more than a run may have. The message names host and file.
        """
        names = self.plan["names"]
        target = os.path.join(self.directory, "programs")
        os.mkdir(target)
        written = self._written()
        if sum(size for size, _, _ in written) > self.plan["written_B"]:
            size, host, path = max(written)
            raise TooMuch(
                f"programs wrote more than {self.plan['written_B'] // 10**6} MB to files: {path.lstrip('/')} on {host} "
                f"has {size / 1e6:.1f} MB"
            )
        if os.statvfs(SHARED).f_bavail == 0:
            raise TooMuch(f"programs wrote {self.plan['stored_B'] // 10**6} MB to /tmp and /dev/shm, which is the most")
        for host, programs in self.plan["hosts"].items():
            for program in programs:
                for kind in ("out", "err"):
                    path = os.path.join(SHARED, host, "out", f"{program['number']}.{kind}")
                    if os.path.exists(path):
                        shutil.copyfile(path, os.path.join(target, f"{names[program['number']]}.{kind}"))
        for _, host, path in written:
            home = os.path.join(SHARED, host, "home")
            if path.startswith("/"):
                continue
            copy = os.path.join(target, host, path)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copyfile(os.path.join(home, path), copy)

    def _written(self) -> list[tuple[int, str, str]]:
        """Return bytes, host and name of what programs printed and of each file that they wrote or changed."""
        written = []
        for host, programs in self.plan["hosts"].items():
            given = {name for program in programs for name in program["files"]}
            home = os.path.join(SHARED, host, "home")
            for directory, _, names in os.walk(home):
                for name in names:
                    path = os.path.join(directory, name)
                    relative = os.path.relpath(path, home)
                    if os.path.islink(path) or not os.path.isfile(path):
                        continue
                    if relative in given and self._same(path, os.path.join(self.directory, "given", host, relative)):
                        continue
                    written.append((os.path.getsize(path), host, relative))
            for program in programs:
                for kind, words in (("out", "standard output"), ("err", "standard error")):
                    path = os.path.join(SHARED, host, "out", f"{program['number']}.{kind}")
                    if os.path.exists(path):
                        name = self.plan["names"][program["number"]]
                        written.append((os.path.getsize(path), host, f"/{words} of {name}"))
        return written

    @staticmethod
    def _same(one: str, other: str) -> bool:
        with open(one, "rb") as file, open(other, "rb") as second:
            return file.read() == second.read()
