# SPDX-License-Identifier: Apache-2.0
"""One of the kernel's own selftests, in a guest of its own: PID 1 starts this as ``main.py DIRECTORY``.

``test.json`` there says which.  The root file system is the host's and read-only; what a test writes goes to a tmpfs.
"""

import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

#: Exit status of a test that a machine lacks something for.
SKIP = 4


def run(test: dict, directory: Path) -> int:
    """Run a test; return its status, what it said is in ``output``."""
    for target in ("/tmp", "/var/tmp"):
        subprocess.run(["mount", "-t", "tmpfs", "none", target], check=True)
    subprocess.run(["mount", "-t", "debugfs", "none", "/sys/kernel/debug"], check=False)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    environment = {**os.environ, "TMPDIR": "/tmp", "NO_COLOR": "1"}
    time.sleep(1)  # TCP has no use for a clock at 0, where a guest begins
    with (directory / "output").open("wb") as output:
        # virtual seconds, of which there are enough
        return subprocess.run(
            ["timeout", "-k", "10", str(test["limit_s"]), "bash", "-c", test["command"]],
            cwd=test["cwd"], env=environment, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, check=False,
        ).returncode  # fmt: skip


def main(directory: Path) -> None:
    """Run, and say how it went."""
    outcome = {"ok": True, "error": "", "status": None}
    try:
        outcome["status"] = run(json.loads((directory / "test.json").read_text()), directory)
    except BaseException as error:  # noqa: BLE001  whatever it was, the host has to learn of it
        traceback.print_exc()
        outcome.update(ok=False, error=f"{type(error).__name__}: {error}")
    (directory / "dmesg").write_text(subprocess.run(["dmesg"], capture_output=True, text=True, check=False).stdout)
    (directory / "outcome.part").write_text(json.dumps(outcome))
    (directory / "outcome.part").rename(directory / "outcome.json")
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
