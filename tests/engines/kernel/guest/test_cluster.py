# SPDX-License-Identifier: Apache-2.0
"""Guests on the machines of a cluster: the kernel travels, and the results are the bytes of this machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from rdcnlab.engines.kernel import build
from rdcnlab.fields.errors import InputError
from rdcnlab.runs.campaign import campaign
from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.system import places
from tests.runs.machines import Machines

pytest.importorskip("distributed")
pytestmark = pytest.mark.guest


def test_machines_without_a_compiler_make_the_same_bytes(two_flows: Scenario, tmp_path: Path) -> None:
    """Two machines with empty caches, on which gcc does not work, get the kernel from the campaign."""
    broken = tmp_path / "bin"
    broken.mkdir()
    (broken / "gcc").write_text("#!/bin/sh\nexit 1\n")
    (broken / "gcc").chmod(0o755)
    path = os.pathsep.join([str(broken), os.environ["PATH"]])
    cluster = Machines(tmp_path / "machines")
    try:
        machines = [cluster.add(name, PATH=path) for name in ("one", "two")]
        asked = [two_flows.with_(size="1 MiB", cc="bbr", seed=seed, **{"probes.capture": ["r1"]}) for seed in range(4)]
        stores = [Store(tmp_path / name, shipped=Shipped(tmp_path / "none")) for name in ("here", "there")]
        here = campaign(asked, store=stores[0], workers=1, progress=False)
        there = campaign(asked, store=stores[1], cluster=cluster.address, progress=False)
    finally:
        cluster.end()
    assert [run.id for run in there] == [run.id for run in here]
    # each file of every run, captures as well; provenance has the times of the run
    for mine, theirs in zip(here, there, strict=True):
        files = sorted(path.name for path in mine.source.iterdir())
        assert files == sorted(path.name for path in theirs.source.iterdir())
        assert "r1.pcapng" in files
        for name in set(files) - {"provenance.json", "SHA256SUMS"}:
            assert (mine.source / name).read_bytes() == (theirs.source / name).read_bytes(), name
        for name in ("kernel_id", "kernel", "kernel_source", "compiler", "identity", "files"):
            assert mine.provenance[name] == theirs.provenance[name], name
    kernel = build.find(hz=asked[0].engine.hz)
    assert kernel is not None
    for machine in machines:
        cache = machine.home / "cache" / "rdcnlab" / "kernels"
        assert (cache / kernel.directory.name / "linux").read_bytes() == kernel.linux.read_bytes()
        # nothing was built there: a build leaves a log, and a source on the machine leaves a note
        assert not [*cache.glob("*.log"), *cache.glob("source-*")]


def test_a_machine_with_other_patches_is_named(two_flows: Scenario, tmp_path: Path) -> None:
    """Nothing is built and nothing is run: the worker says which kernel it would run."""
    tree = tmp_path / "tree"
    for name in ("kernel-patches", "lib"):
        shutil.copytree(places.tree() / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (tree / "kernel-patches" / "config").open("a") as config:
        config.write("CONFIG_DUMMY=y\n")
    cluster = Machines(tmp_path / "machines")
    try:
        machine = cluster.add(
            "other", PYTHONPATH=os.pathsep.join([str(tree / "lib"), os.environ.get("PYTHONPATH", "")])
        )
        store = Store(tmp_path / "here", shipped=Shipped(tmp_path / "none"))
        kernel = build.identity(hz=two_flows.engine.hz)[:16]
        with pytest.raises(
            InputError,
            match=rf"cluster\.tcp://.*\.kernel: [0-9a-f]{{16}} is not .* must be {kernel}, as here",
        ):
            campaign([two_flows], store=store, cluster=cluster.address, progress=False)
    finally:
        cluster.end()
    assert not [*(machine.home / "cache" / "rdcnlab" / "kernels").glob("*.log")]
