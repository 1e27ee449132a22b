# SPDX-License-Identifier: Apache-2.0
"""The patch series applies to every point release that is available here. Nothing is compiled."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rdcnlab.engines.builds import hashed
from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.build import apt, deb, patches, releases, source, toolchain
from rdcnlab.engines.kernel.build.apply import apply, refused_files
from rdcnlab.fields.errors import RunError

#: Available versions in the order of the archives, the newest first.
OFFERED = apt.versions(releases.SOURCE_PACKAGE) or [
    pytest.param("", marks=pytest.mark.skip(reason=f"apt offers no {releases.SOURCE_PACKAGE} here"))
]


# -- every release


def changed_files(series: Sequence[Path]) -> list[str]:
    """Return the kernel files that patches change; files that patches add are left out."""
    changed: set[str] = set()
    added: set[str] = set()
    for patch in series:
        for name, rest in re.findall(r"^diff --git a/\S+ b/(\S+)\n(new file)?", patches.change(patch), re.MULTILINE):
            (added if rest else changed).add(name)
    return sorted(changed - added)


def extracted(archive: Path, target: Path) -> Path:
    """Unpack the files that the series changes, and the Makefile, which names the release. Do it atomically."""
    part = target.with_suffix(f".{os.getpid()}")
    part.mkdir(parents=True)
    names = [f"*/{name}" for name in ["Makefile", *changed_files(patches.series())]]
    pattern = ["--wildcards", "--no-wildcards-match-slash", "--strip-components=1"]
    subprocess.run(["tar", "xf", archive, "-C", part, *pattern, *names], check=True)
    try:
        part.rename(target)
    except OSError:
        shutil.rmtree(part)
        if not target.is_dir():  # otherwise another run of the tests was faster
            raise
    return target


@functools.cache
def tree_of(digest: str) -> Path:
    """Return the directory for the files of an archive or package of this sha256. It also depends on the series."""
    files = hashed(changed_files(patches.series()))
    return build.cache_root().parent / "series" / f"{digest[:16]}-{files[:8]}"


def installed_tree() -> Path:
    if not source.PACKAGED.is_file():
        pytest.skip(f"{source.PACKAGED} is not installed")
    found = source.find(build.cache_root())
    if found.path != source.PACKAGED:
        pytest.skip("KERNEL_SOURCE names another source")
    target = tree_of(found.digest)
    return target if target.is_dir() else extracted(source.PACKAGED, target)


def offered_tree(version: str, work: Path) -> Path:
    wanted = f"{releases.SOURCE_PACKAGE}={version}"
    said = subprocess.run(["apt-cache", "show", wanted], capture_output=True, text=True, check=True).stdout
    match = re.search(r"^SHA256: (\w{64})$", said, re.MULTILINE)
    assert match is not None, said
    listed = releases.by_name(releases.release_of_version(version))
    if listed is not None and f"_{version}_" in listed.package:
        assert listed.sha256 == match[1]
    target = tree_of(match[1])
    if target.is_dir():
        return target
    got = subprocess.run(["apt-get", "download", wanted], cwd=work, capture_output=True, text=True, check=False)
    if got.returncode:
        pytest.skip(f"apt-get cannot download {wanted}: {got.stderr.strip().splitlines()[-1]}")
    (package,) = work.glob("*.deb")
    archive = work / "archive"
    deb.extract(package, source.IN_PACKAGE, archive)
    package.unlink()
    if listed is not None and listed.sha256 == match[1]:
        assert source.sha256(archive) == listed.archive
    target = extracted(archive, target)
    archive.unlink()
    return target


def change(tree: Path, work: Path) -> list[str]:
    """Apply the series to a copy of a tree, and return the changes as functions and lines, without line numbers."""
    patched = work / "patched"
    shutil.copytree(tree, patched)
    apply(patches.series(), patched, work / "log")
    assert not list(patched.rglob("*.rej"))
    diff = subprocess.run(["diff", "-rNpU0", tree, patched], capture_output=True, text=True, check=False).stdout
    hunks = re.sub(r"^(?:diff|---|\+\+\+) .*\n", "", diff, flags=re.MULTILINE)
    hunks = re.sub(r"^@@ .*? @@", "@@", hunks, flags=re.MULTILINE)
    # sorted, because releases move functions within a file
    return sorted(re.split(r"^(?=@@)", hunks, flags=re.MULTILINE))


@pytest.mark.slow
def test_the_series_applies_to_the_installed_source(tmp_path: Path) -> None:
    assert change(installed_tree(), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("version", OFFERED)
def test_the_series_makes_the_same_change_to_every_release_that_the_archives_offer(
    version: str, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    tree = offered_tree(version, tmp_path)
    assert releases.release_of_tree(tree) == releases.release_of_version(version)
    # if a hunk is applied at a wrong place, its function differs
    assert change(tree, tmp_path) == change(installed_tree(), tmp_path / "other")


def test_known_releases_are_listed_once_from_old_to_new() -> None:
    numbers = [tuple(int(part) for part in release.release.split(".")) for release in releases.known()]
    assert numbers == sorted(set(numbers))
    for release in releases.known():
        assert release.checked in ("applies", "boots")
        assert release.package == f"{releases.SOURCE_PACKAGE}_{release.package.split('_')[1]}_all.deb"
        assert releases.release_of_version(release.package.split("_")[1]) == release.release
        assert [len(value) for value in (release.sha256, release.archive, release.sha1)] == [64, 64, 40]


# -- a release to which the series does not apply

MAKEFILE = "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 999\n"
PATCH = """\
Subject: [PATCH] two lines

diff --git a/net/one.c b/net/one.c
--- a/net/one.c
+++ b/net/one.c
@@ -1,3 +1,4 @@
 first
+ours
 second
 third
diff --git a/net/two.c b/net/two.c
--- a/net/two.c
+++ b/net/two.c
@@ -2,3 +2,4 @@
 first
+ours
 second
 third
"""
Tree = Callable[[str, str | None], Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Create a tree with ``net/one.c`` and, if its text is not None, ``net/two.c``."""

    def make(one: str, two: str | None) -> Path:
        (tmp_path / "tree" / "net").mkdir(parents=True)
        (tmp_path / "tree" / "Makefile").write_text(MAKEFILE)
        (tmp_path / "tree" / "net" / "one.c").write_text(one)
        if two is not None:
            (tmp_path / "tree" / "net" / "two.c").write_text(two)
        return tmp_path / "tree"

    return make


def applied(tree: Path) -> None:
    patch = tree.parent / "0001-two-lines.patch"
    patch.write_text(PATCH)
    apply([patch], tree, tree.parent / "log")


FITS = "first\nsecond\nthird\n"


def test_a_patch_that_fits_changes_the_tree(tree: Tree) -> None:
    root = tree(FITS, "one line more\n" + FITS)
    applied(root)
    assert (root / "net/one.c").read_text() == "first\nours\nsecond\nthird\n"
    assert (root / "net/two.c").read_text() == "one line more\nfirst\nours\nsecond\nthird\n"


def test_a_patch_that_does_not_fit_names_itself_its_files_and_the_release(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apt, "versions", lambda _package: ())
    with pytest.raises(RunError) as caught:
        applied(tree(FITS, "first\nanother\nthird\n"))
    said = str(caught.value)
    assert said.startswith("0001-two-lines.patch does not apply to Linux 6.12.999: net/two.c. ")
    assert f"Releases known to work: {releases.names()}" in said
    newest = releases.known()[-1].release
    assert f"get one with: KERNEL_SOURCE={newest} rdcnlab kernel build" in said
    assert "FAILED" in (caught.value.log or Path()).read_text()


def test_the_error_tells_the_command_for_a_known_release_that_apt_offers(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apt, "versions", lambda _package: ("6.12.999-1", "6.12.113-1", "6.12.107-1"))
    with pytest.raises(RunError, match=r"get one with: sudo apt-get install linux-source-6\.12=6\.12\.113-1 \(log"):
        applied(tree("nothing alike\n", FITS))


def test_a_file_that_a_release_lacks_is_named(tree: Tree) -> None:
    with pytest.raises(RunError, match=r"does not apply to Linux 6\.12\.999: net/two\.c\. "):
        applied(tree(FITS, None))


def test_a_patch_that_a_release_has_already_is_refused_and_not_reverted(tree: Tree) -> None:
    has = "first\nours\nsecond\nthird\n"
    root = tree(has, has)
    with pytest.raises(RunError, match=r"net/one\.c, net/two\.c"):
        applied(root)
    assert (root / "net/one.c").read_text() == has


@pytest.mark.parametrize("release", ["6.12.999", "6.12.117"])
def test_a_release_that_does_not_compile_is_named_unless_it_is_known_to_work(
    release: str, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree(FITS, FITS)
    number = release.split(".")[2]
    (root / "Makefile").write_text(MAKEFILE.replace("999", number) + "allnoconfig:\n\tfalse\n")
    subprocess.run(["tar", "cf", root.parent / "linux.tar", "-C", root.parent, "tree"], check=True)
    monkeypatch.setenv("KERNEL_SOURCE", str(root.parent / "linux.tar"))
    monkeypatch.setenv("RDCNLAB_CACHE", str(root.parent / "cache"))
    monkeypatch.setattr(toolchain, "require", lambda: None)
    monkeypatch.setattr(patches, "series", lambda *, stock: [])
    with pytest.raises(RunError, match="configuring the kernel failed with status 2") as caught:
        build.build()
    known = f"with Linux {release}. Releases known to work: {releases.names()}; get one with: " in str(caught.value)
    assert known == (release == "6.12.999")
    # no file is left that could be taken for a build
    assert not list((root.parent / "cache").rglob("linux"))


def test_files_are_refused_once_however_many_hunks_fail() -> None:
    assert refused_files("patching file a\nHunk #1 FAILED at 1.\nHunk #2 FAILED at 9.\npatching file b\n") == ["a"]
