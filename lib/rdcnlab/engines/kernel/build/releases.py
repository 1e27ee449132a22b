# SPDX-License-Identifier: Apache-2.0
"""The releases of Linux to which the series is known to apply, as ``kernel-patches/releases.yaml`` lists them."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import yaml

from rdcnlab.engines.kernel.build import apt, patches

SOURCE_PACKAGE = "linux-source-6.12"
#: Addresses of Debian's packages. The archive removes a version some time after the next one appears. The snapshot
#: service keeps all versions and finds a file by its sha1.
ARCHIVE = "https://deb.debian.org/debian-security/pool/updates/main/l/linux-6.12/{package}"
SNAPSHOT = "https://snapshot.debian.org/file/{sha1}"


@dataclass(frozen=True)
class Release:
    """A release to which the series is known to apply; ``kernel-patches/releases.yaml`` explains the fields."""

    release: str
    package: str
    sha256: str
    sha1: str
    archive: str
    checked: str

    @property
    def addresses(self) -> tuple[str, ...]:
        """Addresses of Debian's package, in the order in which they are tried."""
        return ARCHIVE.format(package=quote(self.package)), SNAPSHOT.format(sha1=self.sha1)


@functools.cache
def known() -> tuple[Release, ...]:
    """Return the releases to which the series is known to apply, oldest first."""
    rows = yaml.safe_load((patches.root() / "releases.yaml").read_text())
    return tuple(Release(**row) for row in rows)


def by_name(name: str) -> Release | None:
    """Return the known release with a name such as ``6.12.117``."""
    return next((release for release in known() if release.release == name), None)


def by_archive(digest: str) -> Release | None:
    """Return the known release with this SHA-256 of its archive."""
    return next((release for release in known() if release.archive == digest), None)


def names() -> str:
    """Return the names of the known releases, separated by commas."""
    return ", ".join(release.release for release in known())


def release_of_tree(tree: Path) -> str:
    """Return the release of an unpacked source; empty if its ``Makefile`` does not give it."""
    makefile = tree / "Makefile"
    return release_of_makefile(makefile.read_text(errors="replace")) if makefile.is_file() else ""


def release_of_makefile(text: str) -> str:
    r"""Return the release that the kernel's ``Makefile`` gives.

    Examples
    --------
    >>> release_of_makefile("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\n")
    '6.12.117'
    """
    numbers = [re.search(rf"^{name} = (\d+)$", text, re.MULTILINE) for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    return ".".join(match[1] for match in numbers if match) if all(numbers) else ""


def release_of_version(version: str) -> str:
    """Return the release of Linux that belongs to a version of Debian's package.

    Examples
    --------
    >>> release_of_version("6.12.117-1~deb12u1")
    '6.12.117'
    """
    return version.split("-")[0]


def advice(tried: str = "") -> str:
    """Return the known releases and one command that gets a release other than `tried`."""
    good = [release.release for release in known() if release.release != tried]
    offered = [version for version in apt.versions(SOURCE_PACKAGE) if release_of_version(version) in good]
    if offered:
        # without -y, so that apt asks before it installs an older version
        command = f"sudo apt-get install {SOURCE_PACKAGE}={offered[0]}"
    else:
        command = f"KERNEL_SOURCE={good[-1]} rdcnlab kernel build (downloads it)"
    return f"Releases known to work: {', '.join(good)}; get one with: {command}"
