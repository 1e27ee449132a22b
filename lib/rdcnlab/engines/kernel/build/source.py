# SPDX-License-Identifier: Apache-2.0
"""Choose the kernel source: the one that ``KERNEL_SOURCE`` names, Debian's package, or a download."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urldefrag, urlsplit

from rdcnlab.engines.kernel.build import apt, deb, download, releases
from rdcnlab.fields import input_file
from rdcnlab.fields.errors import InputError, RunError
from rdcnlab.fields.files import is_file, unreadable
from rdcnlab.system.locks import locked

#: Path of the archive in Debian's package.
IN_PACKAGE = "usr/src/linux-source-6.12.tar.xz"
PACKAGED = Path("/") / IN_PACKAGE
#: Bytes of a megabyte, as archives and networks count.
MB = 1_000_000
SHA256 = re.compile(r"sha256=([0-9a-fA-F]{64})")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Source:
    """A kernel source archive.

    Parameters
    ----------
    name : str
        Name of the archive, or of Debian's package that contains it.
    path : Path
        Path of the archive; a download exists only after `fetch`.
    digest : str
        SHA-256 of the archive. It is known before a download, so it is also known whether a kernel was built from it.
    release : str
        Release such as ``6.12.117``; empty if it is not known before a download.
    address : str
        Address of a download that ``KERNEL_SOURCE`` names; empty otherwise.
    package : Release or None
        The known release with the package that must be downloaded; None if no package must be.
    """

    name: str
    path: Path
    digest: str
    release: str
    address: str = ""
    package: releases.Release | None = None

    def __str__(self) -> str:
        release = f"Linux {self.release}" if self.release else "release not known before the download"
        return f"{self.name} ({release})"

    @property
    def is_known(self) -> bool:
        """Whether the series is known to apply to the source's release."""
        return releases.by_name(self.release) is not None


def find(cache: Path) -> Source:
    """Return the source to build from, without a download.

    Parameters
    ----------
    cache : Path
        Directory for downloads. It also stores checksums and releases of archives, which take seconds to compute.

    Raises
    ------
    InputError
        ``KERNEL_SOURCE`` is not a file, not an address with a checksum, and not a known release.
    RunError
        There is no source, and apt offers Debian's package.
    """
    named = os.environ.get("KERNEL_SOURCE")
    if named:
        return _named(named, cache)
    if PACKAGED.is_file():
        return _file(PACKAGED, cache)
    if is_offered():
        newest = releases.known()[-1].release
        raise RunError(
            f"there is no kernel source at {PACKAGED}; install it with: sudo apt-get install -y "
            f"{releases.SOURCE_PACKAGE}; or have it downloaded: KERNEL_SOURCE={newest} rdcnlab kernel build"
        )
    return _release(releases.known()[-1], cache)


def is_missing() -> bool:
    """Return whether there is no source, and Debian's package would provide it."""
    return not os.environ.get("KERNEL_SOURCE") and not PACKAGED.is_file() and is_offered()


def is_offered() -> bool:
    """Return whether the machine's package archives have Debian's package; those of Ubuntu do not."""
    return bool(apt.versions(releases.SOURCE_PACKAGE))


def fetch(source: Source, report: Progress) -> None:
    """Download a source if it does not exist yet.

    Raises
    ------
    InputError
        The file at the address of ``KERNEL_SOURCE`` has another checksum.
    RunError
        The download failed.
    """
    if source.path.is_file():
        return
    source.path.parent.mkdir(parents=True, exist_ok=True)

    def count(done: int, total: int) -> None:
        report(f"download {source.name}, MB", done // MB, max(total, done) // MB)

    waiting = f"another process downloads {source.name}"
    with locked(source.path.with_suffix(".lock"), lambda: report(waiting, 0, 0)):
        if source.path.is_file():
            return
        if source.package is not None:
            _fetch_package(source, source.package, count)
            return
        try:
            download.fetch([source.address], source.digest, source.path, count)
        except download.ChecksumError:
            allowed = f"the checksum of what {source.address} gives, which is another; nothing of it was kept"
            raise InputError.of("KERNEL_SOURCE", f"sha256={source.digest}", allowed) from None


def _fetch_package(source: Source, release: releases.Release, count: download.Report) -> None:
    """Download a release's package and extract the archive from it."""
    package = source.path.with_name(release.package)
    download.fetch(release.addresses, release.sha256, package, count)
    part = source.path.with_suffix(".part")
    try:
        deb.extract(package, IN_PACKAGE, part)
        if sha256(part) != source.digest:
            raise RunError(f"the archive in {package.name} is not the one that kernel-patches/releases.yaml lists")
        part.replace(source.path)
    finally:
        part.unlink(missing_ok=True)
        package.unlink(missing_ok=True)


def _named(named: str, cache: Path) -> Source:
    """Return the source that ``KERNEL_SOURCE`` names."""
    address, fragment = urldefrag(named)
    if urlsplit(address).scheme in ("http", "https"):
        match = SHA256.fullmatch(fragment)
        if match is None:
            allowed = "an address followed by #sha256= and the 64 hexadecimal digits of the archive's checksum"
            raise InputError.of("KERNEL_SOURCE", named, allowed)
        digest = match[1].lower()
        name = Path(urlsplit(address).path).name or "archive"
        return _download(name, digest, cache, address=address)
    release = releases.by_name(named)
    if release is not None:
        return _release(release, cache)
    try:
        path = Path(named).expanduser().resolve()
    except RuntimeError:  # a loop of links, or no such user
        path = Path(named)
    if not is_file(path):
        allowed = (
            "a tar archive of the Linux source, an http or https address of one followed by #sha256= and its "
            f"checksum, or a release to be downloaded from Debian: {releases.names()}"
        )
        raise InputError.of("KERNEL_SOURCE", named, allowed)
    return _file(path, cache)


def _release(release: releases.Release, cache: Path) -> Source:
    """Return a known release: the installed package of Debian if it is this release, otherwise a download."""
    if PACKAGED.is_file() and (installed := _file(PACKAGED, cache)).digest == release.archive:
        return installed
    return _download(release.package, release.archive, cache, package=release)


def _download(
    name: str, digest: str, cache: Path, *, address: str = "", package: releases.Release | None = None
) -> Source:
    """Return a source that is, or will be, downloaded into the cache."""
    path = cache / f"source-{digest[:16]}.tar"
    listed = releases.by_archive(digest)
    release = listed.release if listed else _file(path, cache).release if path.is_file() else ""
    return Source(name, path, digest, release, address, package)


def _file(path: Path, cache: Path) -> Source:
    """Return an archive on this machine; checksum and release are cached until its size or time changes."""
    stat = path.stat()
    key = hashlib.sha256(f"{path} {stat.st_size} {stat.st_mtime_ns}".encode()).hexdigest()[:24]
    note = cache / f"source-{key}.json"
    if not note.is_file():
        try:
            digest = input_file.sha256(path, input_file.ARCHIVE)
        except OSError as error:
            raise InputError.of("KERNEL_SOURCE", str(path), reason=unreadable(path, error)) from None
        listed = releases.by_archive(digest)
        known = {"digest": digest, "release": listed.release if listed else _release_of_archive(path)}
        cache.mkdir(parents=True, exist_ok=True)
        part = note.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(known))
        part.replace(note)
    return Source(path.name, path, **json.loads(note.read_text()))


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _release_of_archive(path: Path) -> str:
    """Return the release in the archive's ``Makefile``; empty if there is no such file, or no ``tar``."""
    only = ["--occurrence=1", "--wildcards", "--no-wildcards-match-slash", "*/Makefile"]
    try:
        answer = subprocess.run(["tar", "-xOf", str(path), *only], capture_output=True, check=False)
    except OSError:
        return ""
    return releases.release_of_makefile(answer.stdout.decode(errors="replace"))
