# SPDX-License-Identifier: Apache-2.0
"""Check what this machine can run, what is missing, and which command helps."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from rdcnlab.engines.kernel import KernelEngine, build
from rdcnlab.engines.kernel.build import releases, source, toolchain
from rdcnlab.engines.kernel.guest import memory
from rdcnlab.engines.kernel.jail import sandbox
from rdcnlab.engines.kernel.switches.bmv2 import install as bmv2_install
from rdcnlab.engines.kernel.switches.ovs import install as ovs_install
from rdcnlab.engines.kernel.traffic import quic
from rdcnlab.engines.ns3 import build as ns3
from rdcnlab.fields.errors import RdcnlabError, RunError
from rdcnlab.runs.shipped import Shipped
from rdcnlab.scenario import Scenario
from rdcnlab.system import extras, limits, places

#: Checks that may fail: they are for verdicts without own runs, for scenarios with ``switch: bmv2`` or ``ovs``, QUIC or
#: ``engine: ns3``, changes of P4 programs, campaigns on many machines, the classifier of variants, and the web site.
_OPTIONAL = ("shipped results", "bmv2", "p4c", "ovs", "quic", "ns3", "cluster", "models", "site")


#: Two flows that share a link. This small scenario uses everything that a run needs from a guest.
TRIAL = {
    "network": "aykurt",
    "flows": [
        {"name": "main", "size": "4 MiB", "path": "green"},
        {"name": "migrated", "size": "4 MiB", "path": [["1 ms", "blue"], ["1 ms", "green"]]},
    ],
}
#: Wall-clock seconds that the trial may take. It takes 3 s on an idle core.
PATIENCE_S = 120.0


def examine(*, run: bool = False) -> list[dict[str, Any]]:
    """Check everything that a run needs.

    Parameters
    ----------
    run : bool
        Also boot a guest and run a small scenario in it.

    Returns
    -------
    list of dict
        One row for each check: ``what``, ``ok``, ``result``, ``remedy`` (the command or setting that helps if it is
        not ok), and ``needed`` (false if only some scenarios need it).
    """
    checks: list[tuple[str, Callable[[], tuple[bool, str, str]]]] = [
        ("programs", _programs),
        ("kernel", _kernel),
        ("guest memory", _memory),
        ("confinement", _confinement),
        ("cores", _cores),
        ("store", _store),
        ("shipped results", _shipped),
        ("bmv2", _bmv2),
        ("p4c", _p4c),
        ("ovs", _ovs),
        ("quic", _quic),
        ("ns3", _ns3),
        ("cluster", partial(_library, "cluster", "distributed", "Dask", "--cluster")),
        ("models", partial(_library, "models", "keras", "Keras", "the classifier of TCP variants")),
        ("site", partial(_library, "site", "sphinx", "Sphinx", "the web site")),
    ]
    if run:
        checks.append(("trial run", _trial))
    rows = []
    for name, check in checks:
        try:
            ok, finding, remedy = check()
        except (RdcnlabError, OSError) as error:
            ok, finding, remedy = False, str(error), ""
        rows.append({"what": name, "ok": ok, "result": finding, "remedy": remedy, "needed": name not in _OPTIONAL})
    return rows


def _programs() -> tuple[bool, str, str]:
    package = build.package_for()
    if package is not None:
        lacking = toolchain.missing_for_guests(build.programs())
        if lacking:
            return False, f"missing: {', '.join(sorted(lacking))}", toolchain.remedy(lacking)
        return True, f"in {package}; only a congestion control of your own needs a compiler", ""
    programs = toolchain.missing()
    if programs:
        return False, f"missing: {', '.join(sorted(programs))}", toolchain.remedy(programs)
    kernel_source = source.find(build.cache_root())
    location = kernel_source.path if kernel_source.path.is_file() else "will be downloaded"
    fit = "known to work" if kernel_source.is_known else f"not among the releases known to work: {releases.names()}"
    return True, f"{toolchain.compiler()}; kernel source {kernel_source}, {location}, {fit}", ""


def _kernel() -> tuple[bool, str, str]:
    kernel = build.find()
    if kernel is None:
        return False, "not built", "rdcnlab kernel build"
    package = build.package_for()
    return True, f"{kernel.version}, build {kernel.id[:12]}{f', in {package}' if package is not None else ''}", ""


def _trial() -> tuple[bool, str, str]:
    if build.find() is None:
        return False, "not tried, because the kernel is not built", "rdcnlab kernel build"
    engine = KernelEngine(Scenario.from_dict(TRIAL))
    engine.prepare()
    with tempfile.TemporaryDirectory(prefix="rdcnlab-doctor-") as name:
        try:
            outcome = engine.run(Path(name), core=None, wall_limit_s=PATIENCE_S)
        except RunError as error:
            return False, error.reason, ""  # the log is removed with the directory, so its path would not help
    ends = [f"{seconds * 1e3:.2f} ms" for seconds in outcome.tables["flows"]["fct_s"].to_pylist()]
    return True, f"two flows of 4 MiB took {' and '.join(ends)}; {outcome.provenance['wall_s']:.1f} s of wall clock", ""


def _memory() -> tuple[bool, str, str]:
    need = memory.size(0)
    return True, f"{need >> 20} MiB and more in {memory.directory(need)}", ""


def _confinement() -> tuple[bool, str, str]:
    kernel = build.find()
    if kernel is None:
        return False, "known once the kernel is built", "rdcnlab kernel build"
    confinement = sandbox.kind(kernel.launch)
    if confinement != "none":
        lacking = sandbox.missing(kernel.launch)
        words = sandbox.described(confinement, sandbox.walls(kernel.launch))
        return True, words + (f"; not held: {', '.join(lacking)}" if lacking else ""), ""
    # as in a container of Docker, whose seccomp profile forbids what bubblewrap needs
    forbidden = subprocess.run(["unshare", "--user", "true"], capture_output=True, check=False).returncode
    remedy = "a host with Landlock (Linux 5.13 or later)" if forbidden else "sudo apt-get install -y bubblewrap"
    return False, "neither Landlock nor bubblewrap: a guest reaches all your files", remedy


def _cores() -> tuple[bool, str, str]:
    available, usable = len(os.sched_getaffinity(0)), len(limits.cores())
    if usable == available:
        return True, f"{available}, one guest each", ""
    reason = "this container's limits of CPU time and memory allow no more"
    return True, f"{usable} of {available}, one guest each: {reason}", ""


def _store() -> tuple[bool, str, str]:
    root = places.store()
    parent = next(path for path in [root, *root.parents] if path.exists())
    free = shutil.disk_usage(parent).free / 1e9
    fine = os.access(parent, os.W_OK) and free > 1
    return fine, f"{root}, {free:.0f} GB free", "" if fine else "export RDCNLAB_STORE=<a directory with room>"


def _shipped() -> tuple[bool, str, str]:
    root, count = places.results(), len(Shipped())
    if count:
        return True, f"{count} runs in {root}", ""
    if "RDCNLAB_RESULTS" in os.environ:
        return False, f"none in {root}, which RDCNLAB_RESULTS names; the runs of a figure are made here", ""
    return (
        False,
        f"none in {root}; the runs of a figure are made here",
        "git clone the repository, RDCNLAB_RESULTS=<clone>/data/results",
    )


def _bmv2() -> tuple[bool, str, str]:
    programs = bmv2_install.missing()
    if programs:
        return False, f"missing: {', '.join(programs)}; only switch: bmv2 needs them", bmv2_install.remedy()
    installation = bmv2_install.install()
    return True, f"{installation.switch} {installation.version}; {installation.cli}, run by {installation.python}", ""


def _ovs() -> tuple[bool, str, str]:
    programs = ovs_install.missing()
    if programs:
        return False, f"missing: {', '.join(programs)}; only switch: ovs needs them", ovs_install.REMEDY
    if not ovs_install.has_controller():
        return False, "missing: os-ken, its controller; only switch: ovs needs it", extras.command("sdn")
    return True, ", ".join(f"{name} {version}" for name, version in ovs_install.versions().items()), ""


def _quic() -> tuple[bool, str, str]:
    programs = quic.missing()
    if programs:
        return False, f"missing: {', '.join(programs)}; only flows over QUIC need them", quic.REMEDY
    return True, "ngtcp2", ""


def _ns3() -> tuple[bool, str, str]:
    if ns3.no_wheel():
        return False, f"{ns3.no_wheel()}; only engine: ns3 needs it", ""
    try:
        wheel = ns3.wheel()
    except RunError as error:
        return False, f"{error.reason}; only engine: ns3 needs it", extras.command("ns3")
    if not shutil.which(ns3.COMPILER):
        return False, f"missing: {ns3.COMPILER}; only engine: ns3 needs it", ns3.REMEDY
    compiled = "models compiled" if ns3.find() else "models will be compiled at the first run, in about a minute"
    return True, f"ns-3 {wheel.version}, {wheel.build}; {ns3.compiler()}; {compiled}", ""


def _p4c() -> tuple[bool, str, str]:
    path = shutil.which("p4c-bm2-ss")
    if path is None:
        return False, "missing: p4c-bm2-ss; only changing p4/ needs it", bmv2_install.WHERE
    return True, path, ""


def _library(extra: str, package: str, name: str, user: str) -> tuple[bool, str, str]:
    """Check the library of an extra; `user` is what needs it."""
    if not extras.is_installed(extra):
        return False, f"missing: {name}; only {user} needs it", extras.command(extra)
    return True, f"{name} {metadata.version(package)}", ""
