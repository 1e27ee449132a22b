# SPDX-License-Identifier: Apache-2.0
"""A launcher that ends before it says anything: the guest's end is reported, not its silence."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rdcnlab.engines.kernel.guest import processes


def test_a_launcher_that_ends_at_once_is_a_process_that_has_ended(tmp_path: Path) -> None:
    command: Any = SimpleNamespace(kind="landlock", line=lambda _: ["/bin/sh", "-c", "echo no room; exit 3"])
    with (tmp_path / "console.log").open("wb") as console:
        guest = processes._start(command, tmp_path, {}, console)
        assert guest.process.wait() == 3
    assert (tmp_path / "console.log").read_text() == "no room\n"
