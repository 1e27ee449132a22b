# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch and os-ken on this machine."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from rdcnlab.fields.errors import RunError
from rdcnlab.system import extras

#: Programs by their name; Debian has them in the package of `REMEDY`.
PROGRAMS = ("ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl")
#: Where Open vSwitch has the schema of its database.
SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
REMEDY = "sudo apt-get install -y --no-install-recommends openvswitch-switch"


def missing() -> list[str]:
    """Return the missing programs and files of Open vSwitch."""
    lacking = [name for name in PROGRAMS if _path(name) is None]
    return lacking if SCHEMA.is_file() else [*lacking, str(SCHEMA)]


def has_controller() -> bool:
    """Return whether os-ken is installed."""
    return find_spec("os_ken") is not None


def require() -> None:
    """Raise RunError with the command that helps if Open vSwitch or os-ken is missing."""
    lacking = missing()
    if lacking:
        raise RunError(f"switch: ovs needs {', '.join(lacking)}; install with: {REMEDY}")
    extras.require("sdn")


def programs() -> dict[str, str]:
    """Return the paths of the programs and of the schema, for the plan.

    Raises
    ------
    RunError
        One of them is missing.
    """
    require()
    return {name: str(_path(name)) for name in PROGRAMS} | {"schema": str(SCHEMA)}


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of Open vSwitch and of os-ken."""
    program = _path("ovs-vsctl") or "ovs-vsctl"
    answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return {"ovs": answer.stdout.split("\n")[0].rpartition(" ")[2], "os-ken": importlib.metadata.version("os-ken")}


def _path(name: str) -> str | None:
    # the daemons are in /usr/sbin, which is not in the PATH of every user
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))
