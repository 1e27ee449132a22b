# SPDX-License-Identifier: Apache-2.0
"""The kernel's own selftests of TCP and MPTCP, each in a separate guest.

The kernel's source contains them. They are compiled once, into the cache. ``kernel-patches/tests/selftests/list`` names
those that apply. A test that fails is also run on the build without our features; this shows whether our features are
the cause.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from rdcnlab.engines.builds import call, hashed
from rdcnlab.engines.kernel import build, guest
from rdcnlab.engines.kernel.build import patches, source, toolchain
from rdcnlab.engines.kernel.checks import soak
from rdcnlab.engines.kernel.guest import memory
from rdcnlab.fields.errors import RunError
from rdcnlab.system.locks import locked

#: Parts of the source from which the tests, and the kernel's headers for programs, are made.
PARTS = (
    *("Makefile", "Kbuild", "Kconfig", "scripts", "include", "usr", "arch/x86", "tools/include", "tools/scripts"),
    *("tools/testing/selftests/lib.mk", "tools/testing/selftests/kselftest*", "tools/testing/selftests/net"),
)
#: Directories with a Makefile that compiles their programs.
MADE = ("mptcp", "tcp_ao")
MEMORY = 1024 * memory.MIB
#: Limits of a test: seconds of virtual time, of wall clock, and of processor time while virtual time stands still.
LIMIT_S, WALL_S, STALL_S = 7200, 3000.0, 300.0
#: The guest of a scenario boots without IPv6, but the tests need it.
OPTIONS = (*soak.OPTIONS, "ipv6.disable_ipv6=0")
SKIP = 4


@dataclass(frozen=True)
class Test:
    """A selftest: its directory below ``selftests/net``, its command, and the C program that it needs, if any."""

    directory: str
    command: str
    source: str = ""

    @property
    def name(self) -> str:
        """Short name, such as ``mptcp/diag``."""
        stem = self.command.removeprefix("./").removesuffix(".sh")
        return stem if self.directory == "." else f"{self.directory}/{stem}"


def tests() -> list[Test]:
    """Return the tests that apply."""
    lines = (patches.root() / "tests" / "selftests" / "list").read_text().splitlines()
    return [Test(*line.split()) for line in lines if line and not line.startswith("#")]


def prepare() -> Path:
    """Return the directory of the compiled tests, ``selftests/net``; compile them first if they are missing."""
    root = build.cache_root()
    archive = source.find(root)
    listed = (patches.root() / "tests" / "selftests" / "list").read_text()
    target = root / f"selftests-{hashed([archive.digest, toolchain.compiler(), listed])[:16]}"
    net = Path("tools/testing/selftests/net")
    with locked(target.with_suffix(".lock"), lambda: None):
        if not target.is_dir():
            work, log = target.with_suffix(".work"), target.with_suffix(".log")
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            source.fetch(archive, lambda _what, _done, _total: None)
            unpack = [
                "tar",
                "xf",
                str(archive.path),
                "--strip-components=1",
                "--wildcards",
                "--no-wildcards-match-slash",
            ]
            call([*unpack, *(f"*/{part}" for part in PARTS)], work, log, "unpacking the selftests")
            call(["make", "ARCH=x86", "headers"], work, log, "making the kernel's headers")
            headers = f"-isystem {work / 'usr/include'}"
            for name in MADE:
                call(["make", "-C", name, f"KHDR_INCLUDES={headers}"], work / net, log, f"compiling {name}")
            for test in tests():
                if test.source:
                    line = ["gcc", "-O2", "-w", "-D_GNU_SOURCE=", *headers.split(), "-I..", "-pthread"]
                    line += ["-o", test.source, f"{test.source}.c"]
                    call(line, work / net, log, f"compiling {test.source}")
            work.rename(target)
    return target / net


def run(kernel: build.Kernel, test: Test, directory: Path, *, core: int | None = None) -> dict[str, object]:
    """Run a test in a guest; return a row with name, result, numbers of subtests by result, and a reason.

    ``directory`` keeps the test's output (``output``), the console and the kernel's log.
    """
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for file in ("alone/alone.py", "selftests/main.py"):
        shutil.copy(patches.root() / "tests" / file, directory)
    tests_root = prepare()
    order = {"command": test.command, "cwd": str(tests_root / test.directory), "limit_s": LIMIT_S}
    (directory / "test.json").write_text(json.dumps(order))
    try:
        report = guest.boot(
            kernel, directory, MEMORY, python=sys.executable, inside="/run/rdcnlab", read=[tests_root.parent],
            core=core, options=OPTIONS, wall_limit_s=WALL_S, stall_s=STALL_S,
        )  # fmt: skip
        status, reason, wall_s = json.loads((directory / "outcome.json").read_text())["status"], "", report.wall_s
    except RunError as error:
        status, reason, wall_s = None, error.reason, 0.0
    output = directory / "output"
    text = output.read_text(errors="replace") if output.is_file() else ""
    complaint = soak.complaint(directory / "console.log") or soak.complaint(directory / "dmesg")
    return row(test, status, text, complaint or reason) | {"wall_s": round(wall_s, 1)}


def row(test: Test, status: int | None, output: str, reason: str) -> dict[str, object]:
    """Return the result of a test, from its status and its lines of TAP.

    Parameters
    ----------
    test : Test
        The test.
    status : int or None
        0 means passed, 4 means skipped, other numbers mean failed. None: the guest did not end normally.
    output : str
        The test's output.
    reason : str
        The kernel's complaint, or the reason why the guest ended.
    """
    lines = [re.sub(r"^# ", "", line.strip()) for line in output.splitlines()]
    skipped = [line for line in lines if re.match(r"ok \d+.*# SKIP", line)]
    passed = [line for line in lines if re.match(r"ok \d+", line) and line not in skipped]
    failed = [line for line in lines if re.match(r"not ok \d+(?!.*# (XFAIL|SKIP|TODO))", line)]
    # some programs print that a subtest failed, but end with status 0
    result = "skip" if status == SKIP else "pass" if status == 0 and not failed and not reason else "fail"
    if result != "pass" and not reason:
        suspects = (
            failed or [line for line in lines if re.search(r"skip|fail|error|not ", line, re.IGNORECASE)] or lines
        )
        reason = "; ".join(line[:80] for line in suspects[:3]) or f"status {status}"
    counts = {"passed": len(passed), "failed": len(failed), "skipped": len(skipped)}
    return {"test": test.name, "result": result, **counts, "reason": reason}
