# SPDX-License-Identifier: Apache-2.0
"""BMv2 in any directory: the files of it that a guest must read, and a run with programs in a home directory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from rdcnlab.app import doctor
from rdcnlab.engines.kernel.switches.bmv2 import install as bmv2_install
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario
from tests.engines.conftest import RunGuest

MODULES = ("sswitch_CLI", "runtime_CLI", "bmpy_utils", "bm_runtime", "sswitch_runtime", "thrift")


def written(path: Path, text: str) -> Path:
    """Write a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs with the right names in a home directory. They are the only ones on the PATH."""
    written(tmp_path / "p4/bin/simple_switch", "#!/bin/sh\necho 9.9\n")
    lines = ("#!/usr/bin/env python3", "import sys", f"sys.path.append('{tmp_path}/p4/lib/python3')")
    script = "\n".join([*lines, "import cli_of_p4", "cli_of_p4.main()", ""])
    written(tmp_path / "p4/bin/simple_switch_CLI", script)
    written(tmp_path / "p4/lib/python3/cli_of_p4.py", "def main():\n    raise SystemExit(0)\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/p4/bin:/usr/bin:/bin")
    return tmp_path / "p4"


def row() -> dict[str, object]:
    return next(row for row in doctor.examine() if row["what"] == "bmv2")


def test_a_guest_may_read_programs_and_modules_in_a_home(made_up: Path) -> None:
    found = bmv2_install.install()
    assert found.version == "9.9"
    assert set(found.read) == {
        str(made_up / part) for part in ("bin/simple_switch", "bin/simple_switch_CLI", "lib/python3")
    }
    assert found.plan()["cli"] == ["/usr/bin/python3", str(made_up / "bin/simple_switch_CLI")]
    assert dict(found.environment) == {"PYTHONPATH": str(made_up / "lib/python3")}


def test_a_switch_with_notifications_is_known(made_up: Path) -> None:
    """The option exists only if BMv2 was compiled with nanomsg, and BMv2 refuses options that it does not know."""
    assert bmv2_install.install().plan()["notifies"] is False
    written(made_up / "bin/simple_switch", "#!/bin/sh\necho '  --notifications-addr arg'\n")
    bmv2_install._examined.cache_clear()
    assert bmv2_install.install().plan()["notifies"] is True


def test_the_doctor_says_where_they_are(made_up: Path) -> None:
    told = row()
    assert told["ok"]
    for words in (f"{made_up}/bin/simple_switch 9.9", f"{made_up}/bin/simple_switch_CLI", "/usr/bin/python3"):
        assert words in str(told["result"])


def test_the_doctor_says_why_a_switch_does_not_start(made_up: Path) -> None:
    written(made_up / "bin/simple_switch", "#!/bin/sh\necho 'libthrift.so.9: cannot open' >&2\nexit 127\n")
    told = row()
    assert not told["ok"]
    assert f"{made_up}/bin/simple_switch does not start: libthrift.so.9: cannot open" in str(told["result"])


def test_a_control_whose_modules_are_missing_is_named(made_up: Path) -> None:
    (made_up / "lib/python3/cli_of_p4.py").unlink()
    with pytest.raises(RunError, match=r"simple_switch_CLI does not start.*No module named 'cli_of_p4'"):
        bmv2_install.install()


@pytest.fixture
def moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The installed BMv2, its libraries and the modules of its control, copied to a home directory."""
    found = bmv2_install.install()
    home = tmp_path / "p4"
    for part in ("bin", "lib", "lib/python3"):
        (home / part).mkdir(parents=True)
    shutil.copy(found.switch, home / "bin")
    for line in subprocess.run(["ldd", found.switch], capture_output=True, text=True, check=True).stdout.splitlines():
        name, _, target = line.strip().partition(" => ")
        if name.startswith(("libthrift", "libboost", "libbm", "libsimple", "libpcap", "libnanomsg", "libgmp")):
            shutil.copy(target.split()[0], home / "lib" / name)
    told = subprocess.run(
        [found.python, "-c", bmv2_install._IMPORTS, found.cli], capture_output=True, text=True, check=True
    )
    for file in map(Path, json.loads(told.stdout)["files"]):
        if file.name == "__init__.py" and file.parent.name in MODULES:
            shutil.copytree(file.parent, home / "lib/python3" / file.parent.name, dirs_exist_ok=True)
        elif file.stem in MODULES:
            shutil.copy(file, home / "lib/python3")
    script = f"#!/usr/bin/env python3\nimport sys\nsys.path.insert(0, '{home}/lib/python3')\n"
    written(home / "bin/simple_switch_CLI", f"{script}import sswitch_CLI\nsswitch_CLI.main()\n")
    monkeypatch.setenv("PATH", f"{home}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(home / "lib"))
    return home


@pytest.mark.guest
@pytest.mark.bmv2
@pytest.mark.slow
@pytest.mark.skipif(
    bool(bmv2_install.missing()), reason=f"{', '.join(bmv2_install.missing())} is missing. {bmv2_install.WHERE}"
)
def test_a_run_through_a_switch_in_a_home(run_guest: RunGuest, two_hosts: Scenario, moved: Path) -> None:
    found = bmv2_install.install()
    assert found.switch == str(moved / "bin/simple_switch")
    assert any(path.startswith(f"{moved}/lib/libthrift") for path in found.read)
    seen = run_guest(two_hosts.with_(**{"switch.kind": "bmv2"}), core=0)
    assert seen.tables["flows"]["finished"].all()
