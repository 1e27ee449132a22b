# SPDX-License-Identifier: Apache-2.0
"""What a machine says that lacks Open vSwitch, or its controller."""

from __future__ import annotations

from typing import Any

import pytest

from rdcnlab.app import doctor
from rdcnlab.engines.kernel import KernelEngine
from rdcnlab.engines.kernel.switches.ovs import install
from rdcnlab.fields.errors import RunError
from rdcnlab.scenario import Scenario

SCENARIO = Scenario.from_dict(
    {"network": "aykurt", "flows": [{"name": "main", "size": "1 MB", "path": "green"}], "switch": {"kind": "ovs"}}
)


def row() -> dict[str, Any]:
    return next(each for each in doctor.examine() if each["what"] == "ovs")


def test_without_open_vswitch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "PROGRAMS", ("no-such-program",))
    said = row()
    assert (said["ok"], said["needed"], said["remedy"]) == (False, False, install.REMEDY)
    assert said["result"] == "missing: no-such-program; only switch: ovs needs them"
    with pytest.raises(RunError, match=r"switch: ovs needs no-such-program.*; install with: sudo apt-get install"):
        install.require()


def test_without_its_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "missing", list)
    monkeypatch.setattr(install, "find_spec", lambda name: None)
    said = row()
    assert (said["ok"], said["needed"], said["remedy"]) == (False, False, "make sdn")


def test_an_identity_needs_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored runs can be read on a machine that could not make them. The controller's code is part of the identity."""
    monkeypatch.setattr(install, "PROGRAMS", ("no-such-program",))
    later = SCENARIO.with_(**{"switch.delay": "1 ms"})
    assert KernelEngine(SCENARIO).identity() != KernelEngine(later).identity()


def test_the_code_of_the_controller_counts() -> None:
    from rdcnlab.engines.kernel import identity

    inside = identity._INSIDE
    found = {path.name for path in reached(inside / "switch_ovs.py")}
    assert found >= {"ovs_process.py", "sdn_process.py", "sdn.py", "sdn_switch.py", "sdn_probe.py", "instants.py"}


def reached(first: Any) -> set[Any]:
    """Return the files that the identity follows from a first one."""
    import ast

    from rdcnlab.engines.kernel import identity

    found, waiting = set(), [first]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += identity._beside(ast.parse(path.read_text()), path)
    return found
