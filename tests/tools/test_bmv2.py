# SPDX-License-Identifier: Apache-2.0
"""``tools/bmv2`` adds a package source only with the known key, and leaves nothing behind if it fails.

The package source is a directory and its key is made here. apt is replaced by a fake; ``tools/fresh --commands bmv2``
tries the real one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "bmv2"
#: Programs of this machine that the script uses. BMv2 is not among them, wherever this machine has it.
REAL = "awk cat chmod curl dirname env gpg grep install mkdir mktemp rm sed sh tail"
SYSTEMS = {
    "Debian_12": 'NAME="Debian GNU/Linux"\nID=debian\nVERSION_ID="12"\n',
    "xUbuntu_24.04": 'NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="24.04"\n',
    "Fedora": 'NAME="Fedora Linux"\nID=fedora\nVERSION_ID="43"\n',
}

pytestmark = pytest.mark.skipif(
    not (shutil.which("gpg") and shutil.which("curl")), reason="needs gpg and curl: apt-get install gpg curl"
)


@dataclass(frozen=True)
class Machine:
    """A directory that stands for a machine, with fakes of its programs."""

    top: Path

    def has(self, name: str, body: str) -> None:
        (self.top / "bin" / name).unlink(missing_ok=True)
        (self.top / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
        (self.top / "bin" / name).chmod(0o755)

    def run(self, system: str = "Debian_12", **variables: str) -> subprocess.CompletedProcess[str]:
        (self.top / "os-release").write_text(SYSTEMS[system])
        given = {"PATH": str(self.top / "bin"), "DESTDIR": str(self.top), "OS_RELEASE": str(self.top / "os-release")}
        return subprocess.run([SCRIPT], capture_output=True, text=True, check=False, env={**given, **variables})

    @property
    def left(self) -> list[str]:
        return [path.name for path in self.top.rglob("p4lang.*") if path.is_file()]

    @property
    def asked(self) -> str:
        return (self.top / "asked").read_text() if (self.top / "asked").exists() else ""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A Debian 12 whose user is root, whose apt accepts everything, and whose packages have BMv2 and its compiler."""
    (tmp_path / "bin").mkdir()
    for name in REAL.split():
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    made = Machine(tmp_path)
    made.has("id", "echo 0")
    switch = tmp_path / "bin" / "simple_switch"
    installs = f"printf '#!/bin/sh\\necho 1.15.0\\n' >{switch}; chmod +x {switch}"
    made.has("apt-get", f'echo "$@" >>{tmp_path}/asked; case "$*" in install*p4lang-bmv2*) {installs} ;; esac')
    made.has("apt-cache", "echo '  Candidate: 1.15.0-1'")
    return made


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The address of a package source with a key, and the long id of the key."""
    directory, home = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("gpg")
    home.chmod(0o700)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--quiet"]
    name = ["--passphrase", "", "--quick-generate-key", "tried <nobody@localhost>", "rsa2048", "sign", "1d"]
    subprocess.run([*gpg, *name], check=True, capture_output=True)
    key = subprocess.run([*gpg, "--armor", "--export"], check=True, capture_output=True).stdout
    (directory / "Release.key").write_bytes(key)
    rows = subprocess.run([*gpg, "--with-colons", "--list-keys"], check=True, capture_output=True, text=True).stdout
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "gpg-agent"], check=False, capture_output=True)
    (key_id,) = (row.split(":")[4] for row in rows.splitlines() if row.startswith("pub:"))
    return directory.as_uri(), key_id


def test_the_known_key_is_trusted_for_this_source_only(machine: Machine, source: tuple[str, str]) -> None:
    answer = machine.run(P4LANG=source[0], P4LANG_KEY=source[1])
    assert answer.returncode == 0, answer.stderr
    (line,) = (machine.top / "etc/apt/sources.list.d/p4lang.list").read_text().splitlines()
    assert line == f"deb [signed-by=/usr/share/keyrings/p4lang.gpg] {source[0]}/ /"
    assert (machine.top / "usr/share/keyrings/p4lang.gpg").stat().st_size > 100
    assert "install -y -q --no-install-recommends p4lang-bmv2 p4lang-p4c\n" in machine.asked
    assert "BMv2 1.15.0 is installed" in answer.stdout


def test_bmv2_comes_without_its_compiler_where_that_is_missing(machine: Machine, source: tuple[str, str]) -> None:
    machine.has(
        "apt-cache", "case $2 in p4lang-bmv2) echo '  Candidate: 1.15.0-1';; *) echo '  Candidate: (none)';; esac"
    )
    assert machine.run(P4LANG=source[0], P4LANG_KEY=source[1]).returncode == 0
    assert machine.asked.endswith("install -y -q --no-install-recommends p4lang-bmv2\n")


def refused(machine: Machine, answer: subprocess.CompletedProcess[str], said: str) -> None:
    """Assert that BMv2 was refused for a reason, with what else can be done, and that nothing is left."""
    assert answer.returncode == 1, answer.stdout + answer.stderr
    last = answer.stderr.splitlines()[-1]
    assert last.startswith("BMv2 is not installed: ")
    assert said in last
    assert last.endswith("Everything but switch: bmv2 works without it.")
    assert machine.left == []
    assert "install" not in machine.asked


def test_another_key_is_refused(machine: Machine, source: tuple[str, str]) -> None:
    answer = machine.run(P4LANG=source[0])
    refused(machine, answer, "and the known key ends with A4666B6753C0F7D1")
    assert f"P4LANG_KEY={source[1]}" in answer.stderr


def test_what_is_no_key_is_refused(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "Release.key").write_text("<html>a page of a hotel's network</html>")
    refused(machine, machine.run(P4LANG=tmp_path.as_uri()), "is not the key of one package source")


def test_two_keys_are_refused(machine: Machine, source: tuple[str, str], tmp_path: Path) -> None:
    key = Path(source[0].removeprefix("file://"), "Release.key").read_text()
    home = tmp_path / "gpg"
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--quiet"]
    subprocess.run([*gpg, "--passphrase", "", "--quick-generate-key", "other", "rsa2048", "sign", "1d"], check=True)
    other = subprocess.run([*gpg, "--armor", "--export"], check=True, capture_output=True, text=True).stdout
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "gpg-agent"], check=False, capture_output=True)
    (tmp_path / "Release.key").write_text(other + key)
    answer = machine.run(P4LANG=tmp_path.as_uri(), P4LANG_KEY=source[1])
    refused(machine, answer, "is not the key of one package source")


def test_a_source_that_is_not_there_is_named(machine: Machine, tmp_path: Path) -> None:
    refused(machine, machine.run(P4LANG=(tmp_path / "none").as_uri()), "has no packages for Debian GNU/Linux 12")


def test_a_source_that_does_not_answer_is_named(machine: Machine) -> None:
    refused(machine, machine.run(P4LANG="http://127.0.0.1:1/p4lang"), "cannot be reached (curl ends with status 7)")


@pytest.mark.parametrize("system", ["Debian_12", "xUbuntu_24.04"])
def test_each_system_has_its_directory_in_the_documented_source(system: str, machine: Machine) -> None:
    machine.has("curl", f'echo "$@" >{machine.top}/fetched; exit 22')
    refused(machine, machine.run(system), "has no packages")
    address = (machine.top / "fetched").read_text().split()[-1]
    assert address == f"https://download.opensuse.org/repositories/home:/p4lang/{system}/Release.key"


def test_a_system_without_such_packages_is_named(machine: Machine) -> None:
    refused(machine, machine.run("Fedora"), "not for Fedora Linux 43")


def test_a_source_without_bmv2_is_taken_out_again(machine: Machine, source: tuple[str, str]) -> None:
    machine.has("apt-cache", "echo '  Candidate: (none)'")
    refused(machine, machine.run(P4LANG=source[0], P4LANG_KEY=source[1]), "has no package p4lang-bmv2")


def test_a_source_that_apt_refuses_is_taken_out_again(machine: Machine, source: tuple[str, str]) -> None:
    """As it does with a signature of another key, or of a key that has expired."""
    machine.has("apt-get", f'echo "$@" >>{machine.top}/asked; echo "E: EXPKEYSIG" >&2; exit 100')
    refused(machine, machine.run(P4LANG=source[0], P4LANG_KEY=source[1]), "apt refuses")


def test_who_may_not_gets_the_exact_command(machine: Machine, source: tuple[str, str]) -> None:
    machine.has("id", "echo 1000")
    machine.has("sudo", "exit 1")
    answer = machine.run(P4LANG=source[0], P4LANG_KEY=source[1])
    assert answer.returncode == 2
    command = answer.stderr.splitlines()[-1].split()
    assert command == ["sudo", f"P4LANG={source[0]}", f"P4LANG_KEY={source[1]}", str(SCRIPT)]
    assert machine.asked == ""
    # it is the command: sudo takes variables before the program
    machine.has("sudo", 'exec env "$@"')
    machine.has("id", "echo 0")
    given = {
        "PATH": str(machine.top / "bin"),
        "DESTDIR": str(machine.top),
        "OS_RELEASE": str(machine.top / "os-release"),
    }
    assert subprocess.run(" ".join(command), shell=True, env={**os.environ, **given}, check=False).returncode == 0


def test_what_is_here_already_is_left_alone(machine: Machine) -> None:
    machine.has("simple_switch", ":")
    machine.has("simple_switch_CLI", ":")
    answer = machine.run()
    assert (answer.returncode, machine.asked) == (0, "")
    assert "here already" in answer.stdout
