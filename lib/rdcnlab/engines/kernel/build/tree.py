# SPDX-License-Identifier: Apache-2.0
"""A kernel's tree: unpacked, patched, configured and compiled."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rdcnlab.engines import Progress
from rdcnlab.engines.builds import call
from rdcnlab.engines.kernel.build import interruption, releases, source
from rdcnlab.engines.kernel.build.apply import apply
from rdcnlab.fields.errors import RunError
from rdcnlab.system import limits

#: Number of compilations in a build of the configuration that we ship; only the progress bar uses it.
STEPS = 795

#: Files that User-Mode Linux does not need, three quarters of the source, as patterns of tar: code for other machines,
#: most drivers, sound, tools, and all documents except those about the network, which patches change. The Kconfig and
#: Makefile of every directory stay, because the build reads them. The list is short, because tar compares each pattern
#: with each of 90,000 names.
_LEAVE = (
    "arch/[!ux]*/*.[chS]", "boot/dts/*", "drivers/[!bcmnt]*/*.[ch]", "drivers/m[!i]*/*.[ch]", "drivers/net/*/*.[ch]",
    "sound/*.[ch]", "tools/perf/*", "tools/testing/*", "Documentation/[!n]*/*",
)  # fmt: skip


#: A command line, what it may write and what it may read; the command line in a jail.
Jail = Callable[[list[str], Sequence[Path], Sequence[Path]], list[str]]


@dataclass(frozen=True)
class Tree:
    """The directories of a kernel's source and of its compiled files.

    Parameters
    ----------
    src, out : Path
        The unpacked source, and where objects and the binary are. Objects name both, so that they cannot be moved.
    log : Path
        File to which all output is appended.
    lock : int, optional
        Descriptor of the tree's lock. Tools inherit it, so no other process uses the tree before they have ended.
    jail : callable, optional
        Takes a command line, the directories that it may write to and the paths that it may read in addition to the
        compiler, and returns the command line that runs it in a jail.
    """

    src: Path
    out: Path
    log: Path
    lock: int | None = None
    jail: Jail | None = None

    @classmethod
    def below(cls, work: Path, log: Path, lock: int | None = None) -> Tree:
        """Return the tree in a directory."""
        return cls(work / "source", work / "out", log, lock)

    def jailed(self, jail: Jail) -> Tree:
        """Return the tree with a jail, in which make runs from now on."""
        return replace(self, jail=jail)

    @property
    def fragment(self) -> Path:
        """File of the settings that the configuration must have."""
        return self.out.parent / "fragment"

    @property
    def prepared(self) -> Path:
        """File that exists if the source is complete, all patches are applied, and the configuration is written."""
        return self.out.parent / "prepared"

    @property
    def compiling(self) -> Path:
        """File that exists while make runs, and after it if make was interrupted or failed."""
        return self.out.parent / "compiling"

    @property
    def is_compiled(self) -> bool:
        """Whether the kernel was compiled and linked in this tree."""
        return self.prepared.is_file() and (self.out / "linux").is_file()

    def prepare(self, archive: source.Source, chosen: Sequence[Path], fragment: str, report: Progress) -> None:
        """Unpack the source, apply patches and configure; then mark the tree as prepared."""
        source.fetch(archive, report)
        report(f"unpack {archive}", 0, STEPS)
        self.src.mkdir()
        leave = [f"--exclude=*/{pattern}" for pattern in _LEAVE]
        unpack = ["tar", "xf", str(archive.path), "--strip-components=1", *leave]
        self._call(unpack, "unpacking the kernel source")
        apply(chosen, self.src, self.log, lambda name: report(f"patch {name}", 0, STEPS))
        self.out.mkdir()
        self.configure(fragment)
        os.sync()  # the mark must not survive a power failure that the files do not survive
        self.prepared.touch()

    def configure(self, fragment: str) -> None:
        """Give the tree these settings; what is compiled already stays where a changed setting does not concern it."""
        self.fragment.write_text(fragment)
        with self._advised():
            self._make(["allnoconfig"], "configuring the kernel")
            _check_config(self.fragment, self.out / ".config")

    def compile(self, report: Progress, targets: Sequence[str] = ("linux",)) -> None:
        """Compile targets; without a change to the tree since the last time, nothing is compiled.

        After an interruption, what make may have left half-written is compiled again, and nothing else.
        """
        report("compile", 0, STEPS)
        with self._advised(), interruption.marked(self.compiling, self.out, self.prepared):
            self._make([f"-j{len(limits.cores())}", *targets], "compiling the kernel", report)

    def pack(self, target: Path, work: Path) -> None:
        """Copy the binary, its configuration and its version to a directory, which appears when it is complete.

        Parameters
        ----------
        target : Path
            The directory.
        work : Path
            A directory for temporary files, in the same file system.
        """
        ready = work / "ready"
        ready.mkdir()
        strip = ["strip", "--strip-debug", "-o", str(ready / "linux.part"), str(self.out / "linux")]
        self._call(strip, "stripping the kernel")
        (ready / "version").write_text((self.out / "include/config/kernel.release").read_text())
        shutil.copy(self.out / ".config", ready / "config")
        (ready / "linux.part").rename(ready / "linux")
        os.sync()  # after a power failure a build is complete, or it does not exist
        ready.rename(target)

    def _make(self, words: Sequence[str], what: str, report: Progress | None = None) -> None:
        # a compiler of Rust is not used, and whether a user has one changes the configuration
        make = ["make", "ARCH=um", f"O={self.out}", f"KCONFIG_ALLCONFIG={self.fragment}", "RUSTC=false"]
        done = 0

        def count(line: str) -> None:
            nonlocal done
            if report is not None and line.startswith("  CC"):
                done += 1
                report("compile", min(done, STEPS - 1), STEPS)

        line = [*make, *words]
        if self.jail is None:
            self._call(line, what, count)
            return
        with tempfile.TemporaryDirectory(dir=self.out) as room:
            line = self.jail(line, [self.out], [self.src, self.fragment])
            self._call(line, what, count, {"TMPDIR": room, "HOME": room})

    def _call(
        self,
        command: list[str],
        what: str,
        each_line: Callable[[str], None] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        call(command, self.src, self.log, what, each_line, self.lock, variables)

    @contextlib.contextmanager
    def _advised(self) -> Iterator[None]:
        """Add advice to errors with unknown releases: they rename things; a patch can apply and still not compile."""
        try:
            yield
        except RunError as error:
            name = releases.release_of_tree(self.src)
            if releases.by_name(name) is not None:
                raise
            raise RunError(f"{error.reason}, with Linux {name}. {releases.advice()}", error.log) from None


def _check_config(fragment: Path, result: Path) -> None:
    """Raise RunError if Kconfig silently dropped a setting, because it is unknown or a dependency is missing."""
    have = set(result.read_text().splitlines())
    lost = [line for line in fragment.read_text().splitlines() if line.startswith("CONFIG_") and line not in have]
    if lost:
        raise RunError(f"the kernel's configuration does not take {', '.join(lost)}")
