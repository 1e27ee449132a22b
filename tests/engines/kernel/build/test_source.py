# SPDX-License-Identifier: Apache-2.0
"""The choice of the kernel source, and its download from a server on this machine."""

from __future__ import annotations

import functools
import hashlib
import io
import re
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rdcnlab.app import doctor
from rdcnlab.engines.kernel.build import apt, deb, download, releases, source, toolchain
from rdcnlab.fields.errors import InputError, RunError

MAKEFILE = b"VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 118\nEXTRAVERSION =\n"


def tarball(name: str, content: bytes, mode: str) -> bytes:
    """Return a tar archive of one file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@functools.cache
def package(content: bytes, name: str = f"./{source.IN_PACKAGE}") -> bytes:
    """Return a Debian package of one file: according to deb(5), it is an ar archive of three members."""

    def member(name: str, content: bytes) -> bytes:
        header = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
        return header + content + b"\n" * (len(content) % 2)

    control = tarball("./control", b"Package: linux-source-6.12\n", "w:xz")
    members = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.xz", control),
        ("data.tar.xz", tarball(name, content, "w:xz")),
    ]
    return b"!<arch>\n" + b"".join(member(*each) for each in members)


#: Larger than the blocks that a downloader writes, and not compressible.
FILLING = b"".join(hashlib.sha256(i.to_bytes(4)).digest() for i in range(3 << 15))
ARCHIVE = tarball("linux-6.12.118/Makefile", MAKEFILE + FILLING, "w")
DIGEST = hashlib.sha256(ARCHIVE).hexdigest()


class Server(ThreadingHTTPServer):
    """Serve files from memory. The server can break off, ignore ranges, and answer with an error."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.status: dict[str, int] = {}
        #: Number of bytes after which an answer breaks off; None for complete answers.
        self.cut: int | None = None
        self.takes_ranges = True
        #: Path and requested range of each request.
        self.requests: list[tuple[str, str]] = []

    def address(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        asked = self.headers.get("Range", "")
        self.server.requests.append((self.path, asked))
        content = self.server.files.get(self.path)
        status = self.server.status.get(self.path, 200 if content is not None else 404)
        start = int(asked[6:-1]) if asked and self.server.takes_ranges else 0
        if status == 200 and content is not None and start:
            status = 206 if start < len(content) else 416
        body = content[start:] if content is not None and status in (200, 206) else b""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if self.server.cut is None else body[: self.server.cut])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name comes from the base class
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def no_source_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A system without Debian's package; its apt does not offer it either."""
    monkeypatch.delenv("KERNEL_SOURCE", raising=False)
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(source, "PACKAGED", Path("/usr/src/there-is-none/linux-source-6.12.tar.xz"))
    monkeypatch.setattr(apt, "versions", lambda _package: ())


def silent(_what: str, _done: int, _total: int) -> None:
    pass


def left(cache: Path) -> set[str]:
    """Return the suffixes of the files in a cache, without locks and notes."""
    return {path.suffix for path in cache.iterdir()} - {".lock", ".json"}


# -- allowed values of KERNEL_SOURCE


def test_a_file_is_taken_with_its_checksum_and_release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "linux.tar"
    file.write_bytes(ARCHIVE)
    monkeypatch.setenv("KERNEL_SOURCE", str(file))
    found = source.find(tmp_path / "cache")
    assert (found.path, found.digest, found.release, found.is_known) == (file, DIGEST, "6.12.118", False)
    assert str(found) == "linux.tar (Linux 6.12.118)"
    source.fetch(found, silent)
    assert source.find(tmp_path / "cache") == found


@pytest.mark.parametrize(
    "named", ["https://example.org/linux.tar.xz", "https://example.org/linux.tar.xz#sha256=abc", "http://a/b#md5=0"]
)
def test_an_address_needs_a_checksum(named: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KERNEL_SOURCE", named)
    allowed = "KERNEL_SOURCE: .* must be an address followed by #sha256= and the 64 hexadecimal digits"
    with pytest.raises(InputError, match=allowed):
        source.find(tmp_path)


def test_anything_else_is_refused_with_what_is_allowed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KERNEL_SOURCE", "6.12.1")
    with pytest.raises(InputError, match=r"a release to be downloaded from Debian: 6\.12\.107, "):
        source.find(tmp_path)


def test_a_release_by_its_number_is_debians_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KERNEL_SOURCE", "6.12.107")
    found = source.find(tmp_path)
    assert found.package == releases.by_name("6.12.107")
    assert str(found) == "linux-source-6.12_6.12.107-1~deb12u1_all.deb (Linux 6.12.107)"
    assert found.is_known
    assert found.package is not None
    assert [address.split("/")[2] for address in found.package.addresses] == ["deb.debian.org", "snapshot.debian.org"]


# -- the source that is used without KERNEL_SOURCE


def test_where_apt_has_none_the_newest_known_release_is_downloaded(tmp_path: Path) -> None:
    found = source.find(tmp_path)
    assert found.package == releases.known()[-1]
    assert not found.path.exists()
    assert "kernel source" not in toolchain.missing()


def test_where_apt_has_it_the_error_tells_how_to_install_or_download_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(apt, "versions", lambda _package: ("6.12.117-1",))
    with pytest.raises(RunError, match=r"sudo apt-get install -y linux-source-6\.12; or .* KERNEL_SOURCE=6\.12\.\d+ "):
        source.find(tmp_path)
    assert toolchain.missing()["kernel source"] == "linux-source-6.12"


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("6.12.113", "(Linux 6.12.113), will be downloaded, known to work"),
        ("linux.tar", "linux.tar (Linux 6.12.118), {file}, not among the releases known to work: 6.12.107, "),
    ],
)
def test_doctor_says_which_source_it_is_and_whether_it_is_known_to_work(
    named: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RDCNLAB_CACHE", str(tmp_path))
    monkeypatch.setattr(toolchain, "missing", dict)
    monkeypatch.chdir(tmp_path)
    Path("linux.tar").write_bytes(ARCHIVE)
    monkeypatch.setenv("KERNEL_SOURCE", named)
    programs = next(row for row in doctor.examine() if row["what"] == "programs")
    assert programs["ok"]
    assert said.format(file=tmp_path / "linux.tar") in programs["result"]


# -- downloads


def test_a_download_is_verified_kept_and_shows_progress(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server.files["/linux-6.12.118.tar"] = ARCHIVE
    monkeypatch.setenv("KERNEL_SOURCE", f"{server.address('/linux-6.12.118.tar')}#sha256={DIGEST.upper()}")
    found = source.find(tmp_path)
    assert (found.digest, found.release) == (DIGEST, "")
    steps: list[tuple[str, int, int]] = []
    source.fetch(found, lambda *step: steps.append(step))
    assert found.path.read_bytes() == ARCHIVE
    assert {what for what, _, _ in steps} == {"download linux-6.12.118.tar, MB"}
    assert steps[-1][1:] == (len(ARCHIVE) // source.MB, len(ARCHIVE) // source.MB)
    assert len(steps) >= 3
    # it is not downloaded again, and its release is known now
    again = source.find(tmp_path)
    assert again.release == "6.12.118"
    source.fetch(again, silent)
    assert len(server.requests) == 1


def test_a_wrong_checksum_is_an_error_of_the_input_and_leaves_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server.files["/linux.tar"] = ARCHIVE + b"more"
    monkeypatch.setenv("KERNEL_SOURCE", f"{server.address('/linux.tar')}#sha256={DIGEST}")
    found = source.find(tmp_path)
    with pytest.raises(
        InputError, match=rf"KERNEL_SOURCE: .sha256={DIGEST}. is not possible; it must be the checksum of what http"
    ):
        source.fetch(found, silent)
    assert left(tmp_path) == set()


def test_a_download_that_breaks_off_goes_on_where_it_was(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server.files["/linux.tar"] = ARCHIVE
    server.cut = 2_000_000
    monkeypatch.setenv("KERNEL_SOURCE", f"{server.address('/linux.tar')}#sha256={DIGEST}")
    found = source.find(tmp_path)
    with pytest.raises(RunError, match="the connection ended before all had come; the next attempt goes on from there"):
        source.fetch(found, silent)
    assert left(tmp_path) == {".part"}
    server.cut = None
    source.fetch(found, silent)
    assert found.path.read_bytes() == ARCHIVE
    assert left(tmp_path) == {".tar"}
    first, second = server.requests
    assert first[1] == ""
    assert 0 < int(second[1].removeprefix("bytes=").removesuffix("-")) <= 2_000_000


@pytest.mark.parametrize("takes_ranges", [True, False])
def test_an_interrupted_download_leaves_nothing_that_looks_complete(
    takes_ranges: bool, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server.files["/linux.tar"] = ARCHIVE
    server.takes_ranges = takes_ranges
    monkeypatch.setenv("KERNEL_SOURCE", f"{server.address('/linux.tar')}#sha256={DIGEST}")
    found = source.find(tmp_path)

    def interrupt(_what: str, _done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        source.fetch(found, interrupt)
    assert not found.path.exists()
    assert left(tmp_path) == {".part"}
    source.fetch(found, silent)
    assert found.path.read_bytes() == ARCHIVE


def test_what_had_come_whole_before_an_interruption_is_not_downloaded_again(server: Server, tmp_path: Path) -> None:
    server.files["/linux.tar"] = ARCHIVE
    target = tmp_path / "linux.tar"
    target.with_name("linux.tar.part").write_bytes(ARCHIVE)
    download.fetch([server.address("/linux.tar")], DIGEST, target, lambda _done, _total: None)
    assert target.read_bytes() == ARCHIVE


def test_errors_name_each_address_and_its_cause(server: Server, tmp_path: Path) -> None:
    server.status["/busy"] = 503
    closed = "http://127.0.0.1:1/closed"
    addresses = [server.address("/missing"), server.address("/busy"), closed]
    with pytest.raises(RunError) as caught:
        download.fetch(addresses, DIGEST, tmp_path / "linux.tar", lambda _done, _total: None)
    said = str(caught.value)
    assert said.startswith("could not download linux.tar: ")
    assert "/missing: the server answers 404 Not Found; " in said
    assert "/busy: the server answers 503 Service Unavailable; " in said
    assert re.search(r"127\.0\.0\.1:1/closed: no connection \(.*[Cc]onnection refused", said)


def test_a_server_that_is_silent_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(download, "SILENT_S", 0.2)
    monkeypatch.setattr(Handler, "do_GET", lambda self: threading.Event().wait(1))
    with pytest.raises(RunError, match=r"/linux\.tar: no answer within 0\.2 s"):
        download.fetch([server.address("/linux.tar")], DIGEST, tmp_path / "a", lambda _done, _total: None)


# -- Debian's package


@pytest.fixture
def release(server: Server, monkeypatch: pytest.MonkeyPatch) -> releases.Release:
    """A known release. The server has its package as ``/archive/...`` and ``/file/...``."""
    content = package(ARCHIVE)
    checksums = hashlib.sha256(content).hexdigest(), hashlib.sha1(content).hexdigest()
    known = releases.Release("6.12.118", "linux-source-6.12_6.12.118-1~deb_all.deb", *checksums, DIGEST, "applies")
    monkeypatch.setattr(releases, "ARCHIVE", server.address("/archive/{package}"))
    monkeypatch.setattr(releases, "SNAPSHOT", server.address("/file/{sha1}"))
    monkeypatch.setattr(releases, "known", lambda: (known,))
    server.files[f"/archive/{known.package}"] = server.files[f"/file/{known.sha1}"] = content
    return known


def test_a_package_is_downloaded_and_its_archive_kept(
    server: Server, release: releases.Release, tmp_path: Path
) -> None:
    found = source.find(tmp_path)
    assert str(found) == "linux-source-6.12_6.12.118-1~deb_all.deb (Linux 6.12.118)"
    source.fetch(found, silent)
    assert found.path.read_bytes() == ARCHIVE
    assert left(tmp_path) == {".tar"}
    # the same archive gives the same kernel, independent of its origin
    assert source.find(tmp_path).digest == DIGEST


@pytest.mark.parametrize("fault", ["gone", "another"])
def test_the_snapshot_serves_where_the_archive_does_not(
    fault: str, server: Server, release: releases.Release, tmp_path: Path
) -> None:
    if fault == "gone":
        del server.files[f"/archive/{release.package}"]
    else:
        server.files[f"/archive/{release.package}"] = b"a page that asks to log in"
    found = source.find(tmp_path)
    source.fetch(found, silent)
    assert found.path.read_bytes() == ARCHIVE
    assert [path for path, _ in server.requests] == [f"/archive/{release.package}", f"/file/{release.sha1}"]


def test_a_package_that_holds_another_archive_is_refused(
    server: Server, release: releases.Release, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = package(b"another archive")
    known = releases.Release(
        release.release, release.package, hashlib.sha256(other).hexdigest(), release.sha1, DIGEST, "applies"
    )
    monkeypatch.setattr(releases, "known", lambda: (known,))
    server.files[f"/archive/{release.package}"] = other
    with pytest.raises(RunError, match=r"is not the one that kernel-patches/releases\.yaml lists"):
        source.fetch(source.find(tmp_path), silent)
    assert left(tmp_path) == set()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"no archive", "does not begin as an ar archive does"),
        (b"!<arch>\n", r"it has no data\.tar\.xz"),
        (package(ARCHIVE)[:-5000], "can be read"),
        (package(ARCHIVE, "./usr/share/doc/copyright"), r"holds no usr/src/linux-source-6\.12\.tar\.xz"),
    ],
)
def test_what_is_no_package_of_the_source_is_refused(content: bytes, why: str, tmp_path: Path) -> None:
    file = tmp_path / "file.deb"
    file.write_bytes(content)
    with pytest.raises(RunError, match=why):
        deb.extract(file, source.IN_PACKAGE, tmp_path / "out")
