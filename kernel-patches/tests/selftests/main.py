# SPDX-License-Identifier: Apache-2.0
"""One of the kernel's own selftests, in a guest of its own: PID 1 starts this as ``main.py DIRECTORY``.

``test.json`` there says which.  The root file system is the host's and read-only; what a test writes goes to a tmpfs.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from alone import alone

#: Exit status of a test that a machine lacks something for.
SKIP = 4


def run(test: dict, directory: Path) -> int:
    """Run a test; return its status, what it said is in ``output``."""
    for target in ("/tmp", "/var/tmp"):
        subprocess.run(["mount", "-t", "tmpfs", "none", target], check=True)
    subprocess.run(["mount", "-t", "debugfs", "none", "/sys/kernel/debug"], check=False)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    environment = {**os.environ, "TMPDIR": "/tmp", "NO_COLOR": "1"}
    program, cwd = (Path(test["cwd"]) / test["command"]).resolve(), test["cwd"]
    if not os.access(program, os.X_OK):
        line = ["bash", str(program)]  # as the kernel's own runner starts scripts that are not executable
    else:
        line = [str(program)]
        if program.read_bytes()[:4] == b"\x7fELF":
            cwd = "/tmp"  # they need nothing beside them, and some mount tracefs in a directory they make
    time.sleep(1)  # TCP has no use for a clock at 0, where a guest begins
    with (directory / "output").open("wb") as output:
        # virtual seconds, of which there are enough
        return subprocess.run(
            ["timeout", "-k", "10", str(test["limit_s"]), *line],
            cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, check=False,
        ).returncode  # fmt: skip


def work(directory: Path) -> dict:
    """Run the test that the host asks for."""
    return {"ok": True, "status": run(json.loads((directory / "test.json").read_text()), directory)}


if __name__ == "__main__":
    alone(work, Path(sys.argv[1]))
