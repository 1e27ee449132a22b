# SPDX-License-Identifier: Apache-2.0
"""Programs that run on any x86-64 system: the kernel and the system's programs for guests, linked statically.

``tools/kernel-wheel`` packs them. A statically linked kernel computes the same results. It has the same objects; only
the C library, with which it talks to the host, is in the file instead of beside it.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import yaml

from rdcnlab.engines import Progress
from rdcnlab.engines.builds import call
from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.build import download, kept, own, patches, source
from rdcnlab.engines.kernel.build.releases import SNAPSHOT
from rdcnlab.system import limits

#: The setting that links the kernel statically.
LINK = "CONFIG_STATIC_LINK=y\n"
ARCHIVE = "https://deb.debian.org/debian/pool/main/{place}/{archive}"


@dataclass(frozen=True)
class Programs:
    """An archive of source with programs that guests use; ``kernel-patches/programs.yaml`` explains the fields."""

    name: str
    release: str
    archive: str
    sha256: str
    sha1: str
    build: tuple[str, ...]
    programs: tuple[str, ...]
    licence: str
    notice: str

    @property
    def addresses(self) -> tuple[str, ...]:
        """Addresses of the archive, in the order in which they are tried."""
        place = f"{self.name[0]}/{self.name}"
        return ARCHIVE.format(place=place, archive=quote(self.archive)), SNAPSHOT.format(sha1=self.sha1)


def programs() -> tuple[Programs, ...]:
    """Return the archives with programs that guests use."""
    rows = yaml.safe_load((patches.root() / "programs.yaml").read_text())
    return tuple(Programs(**row | {name: tuple(row[name]) for name in ("build", "programs")}) for row in rows)


def link_kernel(target: Path, work: Path, report: Progress) -> None:
    """Link the kernel for runs statically, in the tree in which it was compiled, and compile it first if it was not.

    Parameters
    ----------
    target, work : Path
        The directory of the finished build, and one for temporary files in the same file system.
    report : callable
        Called with the current step in words, steps done and steps in total.
    """
    root, fragment = build.cache_root(), build.config(hz=250)
    root.mkdir(parents=True, exist_ok=True)
    log = work / "kernel.log"
    with kept.prepared(build.tree_directory(), log, fragment, patches.series(stock=False), report) as tree:
        own.take_out(tree)
        tree.compile(report)
        try:
            # if this is interrupted, the tree's settings are not those of the kernel, and it is not used again
            tree.configure(fragment + LINK)
            tree.compile(report)
            tree.pack(target, work)
        finally:
            tree.configure(fragment)
    # the symbols that the kernel itself needs are in its data
    call(["strip", "--strip-all", str(target / "linux")], work, log, "stripping the kernel")


def build_programs(wanted: Programs, archives: Path, target: Path, work: Path, report: Progress) -> Path:
    """Build programs of the system from their source, and return the archive of the source.

    Parameters
    ----------
    wanted : Programs
        What to build.
    archives : Path
        Directory of downloaded archives.
    target : Path
        Directory for the programs and the notice of their licence.
    work : Path
        Directory for temporary files.
    report : callable
        As in `link_kernel`.
    """
    archives.mkdir(parents=True, exist_ok=True)
    archive = archives / wanted.archive

    def count(done: int, total: int) -> None:
        report(f"download {wanted.archive}, MB", done // source.MB, max(total, done) // source.MB)

    if not archive.is_file():
        download.fetch(wanted.addresses, wanted.sha256, archive, count)
    tree, log = work / wanted.name, work / f"{wanted.name}.log"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()

    def run(command: Sequence[str]) -> None:
        call(list(command), tree, log, f"building {wanted.name}")

    run(["tar", "xf", str(archive), "--strip-components=1"])
    for line in wanted.build:
        report(f"build {wanted.name}", 0, build.STEPS)
        run(["sh", "-euc", line.replace("CORES", str(len(limits.cores())))])
    for program in wanted.programs:
        name = Path(program).name
        run(["strip", "--strip-all", "-o", str(target / name), program])
    shutil.copy(tree / wanted.notice, target / f"{wanted.name}.licence")
    return archive
