# SPDX-License-Identifier: Apache-2.0
"""The package rdcnlab-kernel: what is in the wheel and in the archive of sources. Nothing is compiled or downloaded.

``tools/fresh --commands wheel`` installs the real one in a fresh system.
"""

from __future__ import annotations

import json
import re
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from rdcnlab.engines.kernel import build
from rdcnlab.engines.kernel.build import patches, source, static, toolchain
from tests.tools.test_setup import ROOT, script

COMPILER = "gcc (for tests) 1.0"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with both files. Short scripts stand for the compiled programs."""
    top = tmp_path_factory.mktemp("kernel-wheel")
    (top / "linux.tar.xz").write_text("the source of Linux")
    archive = source.Source("linux.tar.xz", top / "linux.tar.xz", "ab" * 32, "6.12.117")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RDCNLAB_CACHE", str(top / "cache"))
        patch.setattr(toolchain, "require", lambda: None)
        patch.setattr(toolchain, "compiler", lambda: COMPILER)
        patch.setattr(source, "find", lambda _: archive)
        patch.setattr(static, "link_kernel", lambda target, *_: programs_in(target, "linux", "config", "version"))
        patch.setattr(build, "build_tools", lambda _: (build._tools_number(COMPILER), programs_in(top / "t", "launch")))
        patch.setattr(static, "build_programs", lambda wanted, archives, target, *_: built(wanted, archives, target))
        tool = script("kernel-wheel")
        patch.setattr(tool, "source_of_c_library", lambda _version, target: [written(target / "glibc_2.36.dsc")])
        patch.setattr(tool, "STRIP", ["true"])
        tool.main(top / "out")
    return top / "out"


def written(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n# {path.name}\n")
    path.chmod(0o755)
    return path


def programs_in(directory: Path, *names: str) -> Path:
    for name in names:
        written(directory / name)
    return directory


def built(wanted: static.Programs, archives: Path, target: Path) -> Path:
    programs_in(target, *(Path(name).name for name in wanted.programs))
    return written(archives / wanted.archive)


def files(made: Path) -> dict[str, zipfile.ZipInfo]:
    (wheel,) = made.glob("*.whl")
    return {info.filename: info for info in zipfile.ZipFile(wheel).infolist()}


def test_the_wheel_has_the_kernel_and_every_program_that_guests_need(made: Path) -> None:
    (wheel,) = made.glob("*.whl")
    assert re.fullmatch(r"rdcnlab_kernel-[\d.]+-py3-none-manylinux_2_28_x86_64\.whl", wheel.name)
    manifest = json.loads(zipfile.ZipFile(wheel).read("rdcnlab_kernel/manifest.json"))
    kernel = f"rdcnlab_kernel/kernels/{manifest['kernel'][:16]}"
    tools = f"rdcnlab_kernel/kernels/tools-{manifest['tools'][:16]}"
    needed = {*toolchain.GUEST_PROGRAMS} - {"bash"} | {"launch", "bridge", "ethtool"}
    wanted = [f"{kernel}/linux", *(f"{tools}/{name}" for name in needed)]
    for name in wanted:
        assert files(made)[name].external_attr >> 16 & stat.S_IXUSR, name
    assert manifest["compiler"] == COMPILER
    assert manifest["source"] == {"name": "linux.tar.xz", "digest": "ab" * 32, "release": "6.12.117"}


def test_the_ids_in_the_wheel_are_those_of_this_tree(made: Path) -> None:
    (wheel,) = made.glob("*.whl")
    manifest = json.loads(zipfile.ZipFile(wheel).read("rdcnlab_kernel/manifest.json"))
    archive = source.Source("linux.tar.xz", Path(), "ab" * 32, "6.12.117")
    assert manifest["kernel"] == build._number(archive, COMPILER, hz=250, stock=False, debug=False)
    assert manifest["tools"] == build._tools_number(COMPILER)


def test_patches_settings_scripts_and_licences_are_in_the_wheel(made: Path) -> None:
    names = set(files(made))
    series = [f"kernel-patches/{path.name}" for path in patches.series()]
    parts = [*series, "kernel-patches/config", "kernel-patches/series", "kernel-patches/programs.yaml"]
    parts += ["tools/kernel-wheel", "lib/rdcnlab/engines/kernel/build/static.py"]
    parts += ["lib/rdcnlab/engines/kernel/inside/tools/init.c", "lib/rdcnlab/engines/kernel/host/launch.c"]
    assert {f"rdcnlab_kernel/source/{name}" for name in parts} <= names
    licences = {Path(name).name for name in names if ".dist-info/licenses/" in name}
    assert {"GPL-2.0-only.txt", "Apache-2.0.txt"} <= licences


def test_the_archive_has_the_source_of_every_program(made: Path) -> None:
    (path,) = made.glob("rdcnlab_kernel-source-*.tar")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"README", "linux.tar.xz", "glibc_2.36.dsc", *(each.archive for each in static.programs())}
    wanted |= {f"rdcnlab/kernel-patches/{patch.name}" for patch in patches.series()}
    assert wanted | {"rdcnlab/tools/kernel-wheel", "rdcnlab/lib/rdcnlab/engines/kernel/build/static.py"} <= names


def test_nothing_else_is_left(made: Path) -> None:
    assert sorted(path.suffix for path in made.iterdir()) == [".tar", ".whl"]


def test_each_archive_of_programs_is_told_apart_by_checksums() -> None:
    for each in static.programs():
        assert re.fullmatch(r"[0-9a-f]{64}", each.sha256)
        assert re.fullmatch(r"[0-9a-f]{40}", each.sha1)
        pool, snapshot = each.addresses
        assert pool == f"https://deb.debian.org/debian/pool/main/{each.name[0]}/{each.name}/{each.archive}"
        assert snapshot.endswith(each.sha1)
        assert each.release in each.archive
    assert (ROOT / "kernel-patches" / "wheel" / "pyproject.toml").is_file()
