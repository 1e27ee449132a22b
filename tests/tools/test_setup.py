# SPDX-License-Identifier: Apache-2.0
"""Set-up: the installed versions are the locked ones, and the scripts report errors in a sentence."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

from rdcnlab.fields.errors import RdcnlabError
from rdcnlab.system import extras

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
SCRIPTS = sorted(path for path in TOOLS.iterdir() if path.is_file() and path.read_text().startswith("#!/bin/sh"))


def ended(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def script(name: str) -> ModuleType:
    """Import a tool, whose file name has no suffix."""
    loader = SourceFileLoader(f"tools_{name}", str(TOOLS / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize("extra", ["cluster", "models", "ns3"])
def test_an_extra_that_is_not_there_names_the_command_that_installs_it(
    extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(RdcnlabError, match=f"make {extra}"):
        extras.require(extra)
    assert ended("make", "--dry-run", extra).returncode == 0


def test_the_simulator_is_locked_without_what_its_wheel_asks_for() -> None:
    group = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["ns3"]
    entries = re.split(r"\n(?=\w)", (ROOT / "requirements-ns3.lock").read_text().strip())
    assert [entry.split(" ")[0] for entry in entries] == [one.split(";")[0] for one in group]
    assert entries[0].count("--hash=sha256:") >= 3


def test_what_is_locked_has_a_version_and_hashes_for_every_group() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for group in ("base", *project["optional-dependencies"]):
        answer = ended(sys.executable, "tools/locked", group)
        assert answer.returncode == 0, answer.stderr
        for entry in re.split(r"\n(?=\w)", answer.stdout.strip()):
            assert re.match(r"[\w.-]+==\S+", entry)
            assert "--hash=sha256:" in entry


def test_the_base_has_nothing_that_only_models_need() -> None:
    base = ended(sys.executable, "tools/locked").stdout
    models = ended(sys.executable, "tools/locked", "models").stdout
    assert "\nnumpy==" in base
    assert "tensorflow" not in base
    assert "tensorflow" in models


def test_the_lock_names_no_address() -> None:
    assert "://" not in (ROOT / "requirements.lock").read_text()


@pytest.mark.parametrize(
    ("kernel", "install", "status"),
    [
        ("sleep 0.2", "true", 0),
        ("true", "sleep 0.2", 0),
        ("exit 3", "sleep 60", 1),
        ("sleep 60", "echo 'no such package'; exit 2", 1),
    ],
)
def test_kernel_and_packages_end_together(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kernel: str,
    install: str,
    status: int,
) -> None:
    setup = script("setup")
    monkeypatch.setattr(setup, "LOG", tmp_path / "log")
    assert setup.side_by_side(["sh", "-c", kernel], ["sh", "-c", install]) == status
    assert ("no such package" in capsys.readouterr().err) == ("no such package" in install)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_being_interrupted_ends_both(tmp_path: Path, number: signal.Signals) -> None:
    """Both jobs and their child processes end. A process that holds the fifo open would prevent the end."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    (tmp_path / "run.py").write_text(
        "import signal, sys, runpy, pathlib\n"
        f"setup = runpy.run_path({str(TOOLS / 'setup')!r})\n"
        f"setup['side_by_side'].__globals__['LOG'] = pathlib.Path({str(tmp_path / 'log')!r})\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "signal.signal(signal.SIGTERM, signal.default_int_handler)\n"
        f"job = ['sh', '-c', 'exec 3>{fifo}; sleep 60 & echo ready >&3; wait']\n"
        "setup['side_by_side'](job, job)\n"
    )
    with subprocess.Popen([sys.executable, tmp_path / "run.py"], stderr=subprocess.DEVNULL) as process:
        with fifo.open() as file:
            assert [file.readline(), file.readline()] == ["ready\n"] * 2
            process.send_signal(number)
            assert file.read() == ""
        assert process.wait(30) != 0


@pytest.mark.parametrize(
    ("extras", "wheel", "carried", "commands"),
    [
        ([], "", [True, True], ["system-packages --run", "install", "kernel build", "doctor --run"]),
        ([], "", [False], ["system-packages", "install", "kernel build", "doctor --run"]),
        ([], "a.whl", [False, True], ["system-packages --run", "install", "kernel build", "doctor --run"]),
        (
            [],
            "a.whl",
            [False, False],
            ["system-packages --run", "install", "system-packages", "kernel build", "doctor --run"],
        ),
        (["dev"], "a.whl", [True], ["system-packages", "install", "doctor --run"]),
    ],
)
def test_compilers_are_installed_only_where_a_kernel_is_built(
    monkeypatch: pytest.MonkeyPatch, extras: list[str], wheel: str, carried: list[bool], commands: list[str]
) -> None:
    setup, ran = script("setup"), []
    monkeypatch.setenv("KERNEL_WHEEL", wheel)
    monkeypatch.setattr(setup, "is_carried", lambda: carried.pop(0))
    monkeypatch.setattr(setup, "side_by_side", lambda *_: 0)
    monkeypatch.setattr(setup.subprocess, "call", lambda command, **_: ran.append(command) or 0)
    assert setup.main(extras) == 0
    assert [" ".join([Path(first).name, *rest]).removeprefix("rdcnlab ") for first, *rest in ran] == commands


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "bookworm, trixie or noble"),
        (["sarge"], "bookworm, trixie or noble"),
        (["--commands", "demo,dance", "trixie"], "demo, test, digests, reproduce, wheel, bmv2"),
        (["--commands", "wheel", "--wheels", "/nonexistent", "trixie"], "make wheel"),
        (["--commands"], "needs a value"),
        (["--speed", "trixie"], "--help"),
        (["--base", "/nonexistent", "trixie"], "apt-get"),
        (["bookworm", "trixie"], "one distribution"),
    ],
)
def test_fresh_refuses_in_words(arguments: list[str], said: str) -> None:
    answer = ended("tools/fresh", *arguments)
    assert answer.returncode == 2
    assert said in answer.stderr


def test_fresh_presumes_what_the_readme_says_and_no_more() -> None:
    (line,) = re.findall(r"apt-get install -y (.*)", (ROOT / "README.md").read_text())
    assert line.split() == ended("tools/fresh", "--packages").stdout.split()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_shell_scripts_are_clean(path: Path) -> None:
    answer = ended(str(Path(sys.executable).parent / "shellcheck"), str(path))
    assert answer.returncode == 0, answer.stdout
