# SPDX-License-Identifier: Apache-2.0
"""The package rdcnlab-kernel is used where it carries the kernel that would be built. Nothing is built here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rdcnlab.engines.kernel import KernelEngine, build, guest
from rdcnlab.engines.kernel.build import carried, source, toolchain
from rdcnlab.fields.errors import RunError
from rdcnlab.runs.pools import build_bundle
from rdcnlab.scenario import Scenario

#: A compiler and a source that this machine does not have.
COMPILER, DIGEST = "gcc (of the package) 99.1", "ab" * 32
ARCHIVE = source.Source("linux-of-the-package.tar.xz", Path("/dev/null"), DIGEST, "6.12.117")


def installed(site: Path, *, kernel: str, tools: str, compiler: str = COMPILER, digest: str = DIGEST) -> Path:
    """Write a package with these ids; its programs are empty files. Return the module's directory."""
    module = site / "rdcnlab_kernel"
    files = {f"kernels/{kernel[:16]}": ("linux", "version", "config"), f"kernels/tools-{tools[:16]}": (
        "launch", "rdcn-guest", "mnexec", "ip", "tc")}  # fmt: skip
    for directory, names in files.items():
        (module / directory).mkdir(parents=True)
        for name in names:
            (module / directory / name).touch(mode=0o755)
    (module / "__init__.py").touch()
    manifest = {
        "version": "9.9", "kernel": kernel, "tools": tools, "compiler": compiler, "programs": {},
        "source": {"name": ARCHIVE.name, "digest": digest, "release": "6.12.117"},
    }  # fmt: skip
    (module / "manifest.json").write_text(json.dumps(manifest))
    return module


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for packages. Everything else is as on a machine without compiler, kernel source and builds."""
    monkeypatch.setenv("RDCNLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KERNEL_SOURCE", raising=False)
    monkeypatch.delitem(sys.modules, "rdcnlab_kernel", raising=False)
    monkeypatch.syspath_prepend(tmp_path / "site")

    def none(*_: object) -> None:
        raise RunError("this machine has none")

    monkeypatch.setattr(toolchain, "compiler", none)
    monkeypatch.setattr(source, "find", none)
    return tmp_path / "site"


@pytest.fixture
def module(site: Path) -> Path:
    """The installed package with the kernel of this tree."""
    kernel = build._number(ARCHIVE, COMPILER, hz=250, stock=False, debug=False)
    return installed(site, kernel=kernel, tools=build._tools_number(COMPILER))


def test_the_kernel_of_the_same_patches_and_settings_is_used_without_a_compiler(module: Path) -> None:
    kernel = build.build()
    assert kernel.linux == module / "kernels" / kernel.id[:16] / "linux"
    assert kernel.id == build.identity() == json.loads((module / "manifest.json").read_text())["kernel"]
    assert kernel.launch.parent.parent == module / "kernels"
    assert build.origin() == build.Origin(ARCHIVE, COMPILER, carried.find(build.cache_root()))
    assert not build.cache_root().exists()


def test_a_kernel_of_other_settings_is_built(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = build.config
    monkeypatch.setattr(build, "config", lambda **chosen: ours(**chosen) + "CONFIG_DUMMY_OTHER=y\n")
    assert build.package_for() is None
    with pytest.raises(RunError, match="this machine has none"):
        build.find()


def test_a_kernel_of_another_patch_is_built(module: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert build.package_for() is not None
    series = build.patches.series()
    (tmp_path / "0001.patch").write_text(series[0].read_text().replace("\n+", "\n+ ", 1))
    monkeypatch.setattr(build.patches, "series", lambda *, stock=False: [tmp_path / "0001.patch", *series[1:]])
    assert build.package_for() is None


def test_other_kernels_are_not_in_the_package(module: Path) -> None:
    assert build.package_for() is not None
    assert build.package_for(hz=1000) is None
    assert build.package_for(stock=True) is None
    assert build.package_for(debug=True) is None


def test_programs_of_another_source_are_built_although_the_kernel_is_the_same(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = build._number(ARCHIVE, COMPILER, hz=250, stock=False, debug=False)
    installed(site, kernel=kernel, tools="0" * 64)
    monkeypatch.setattr(toolchain, "compiler", lambda: "gcc (of this machine) 12")
    assert build.identity() == kernel
    assert build.tools_identity() == build._tools_number("gcc (of this machine) 12")
    assert build.find() is None
    assert build.programs() is None


@pytest.mark.parametrize(("compiler", "digest", "used"), [
    (COMPILER, DIGEST, True), ("gcc (of this machine) 12", DIGEST, False), (COMPILER, "cd" * 32, False),
])  # fmt: skip
def test_a_source_that_is_named_is_built_unless_the_package_is_what_it_would_give(
    compiler: str, digest: str, used: bool, module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a machine of a cluster that has the package runs the campaign's kernel, whose source the campaign names."""
    monkeypatch.setenv("KERNEL_SOURCE", f"https://not-needed.invalid/linux.tar.xz#sha256={digest}")
    here = source.Source("linux.tar.xz", Path("/dev/null"), digest, "")
    monkeypatch.setattr(toolchain, "compiler", lambda: compiler)
    monkeypatch.setattr(source, "find", lambda _: here)
    assert (build.package_for() is not None) == used
    assert build.identity() == build._number(here, compiler, hz=250, stock=False, debug=False)
    assert build.tools_identity() == build._tools_number(compiler)


def test_a_package_without_manifest_is_ignored(module: Path) -> None:
    (module / "manifest.json").unlink()
    assert carried.find(build.cache_root()) is None


def test_guests_use_the_programs_of_the_package(module: Path) -> None:
    programs = build.programs()
    assert programs is not None
    assert not {"ip", "tc", "mnexec"} & set(toolchain.missing_for_guests(programs))
    kernel = build.find()
    assert kernel is not None
    assert kernel.programs == programs == kernel.tools
    assert guest.programs(kernel) == [f"RDCN_PROGRAMS={programs}"]
    assert guest.programs(build.Kernel("", Path(), Path("/nonexistent"))) == []


def test_a_campaign_takes_the_package_to_other_machines(module: Path, two_flows: Scenario) -> None:
    needed = KernelEngine(two_flows).builds()
    assert needed.compilers == {"gcc": COMPILER}
    assert needed.environment["KERNEL_SOURCE"].endswith(f"{ARCHIVE.name}#sha256={DIGEST}")
    packed = build_bundle.pack([two_flows])
    kernel, tools = f"kernels/{build.identity()[:16]}", f"kernels/tools-{build.tools_identity()[:16]}"
    assert {kernel, tools} <= set(packed.builds)
    assert "mnexec" in {file.name for file in packed.builds[tools].files}
