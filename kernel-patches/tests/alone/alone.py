# SPDX-License-Identifier: Apache-2.0
"""The frame of a program that is all that a guest runs: it says how it went, and the guest ends."""

import json
import os
import subprocess
import traceback
from collections.abc import Callable
from pathlib import Path


def alone(work: Callable[[Path], dict], directory: Path) -> None:
    """Do the work, and write what it returns to ``outcome.json``, last of all, and the kernel's log to ``dmesg``.

    Parameters
    ----------
    work : callable
        Takes the directory; returns ``ok`` and what else there is to say.
    directory : Path
        Where the host looks.
    """
    outcome = {"ok": False, "error": ""}
    try:
        outcome |= work(directory)
    except BaseException as error:  # noqa: BLE001  whatever it was, the host has to learn of it
        traceback.print_exc()
        outcome["error"] = f"{type(error).__name__}: {error}"
    (directory / "dmesg").write_text(subprocess.run(["dmesg"], capture_output=True, text=True, check=False).stdout)
    (directory / "outcome.part").write_text(json.dumps(outcome))
    (directory / "outcome.part").rename(directory / "outcome.json")
    os._exit(0)
