# SPDX-License-Identifier: Apache-2.0
"""Facts that must be the same on two machines that make the same runs, in words that a person can act on."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping

from rdcnlab.engines import get_engine
from rdcnlab.engines.kernel import KernelEngine, build
from rdcnlab.engines.ns3 import Ns3Engine
from rdcnlab.engines.ns3 import build as ns3_build
from rdcnlab.fields.errors import InputError, Problem
from rdcnlab.scenario import Scenario

#: What to do about a fact that differs.
REMEDY = {
    "Python": "the same version, because code is compared by its syntax tree",
    "rdcnlab": "the same version",
    "kernel": "the same build, of the same kernel-patches",
    "guest tools": "the same build, of the same version of rdcnlab",
    "ns-3": "the same build, of the same wheel and models",
    "identity": "the same, so the same version of rdcnlab and the same programs that the scenario needs",
}
#: Digits of a hash that are shown.
_DIGITS = 16

Facts = Mapping[str, str]


def general() -> dict[str, str]:
    """Return the facts that do not depend on the scenario."""
    # not imported, because the package's first module also imports what stands above this one
    version = str(sys.modules["rdcnlab"].__version__)
    return {"Python": ".".join(platform.python_version_tuple()[:2]), "rdcnlab": version}


def facts(scenario: Scenario) -> dict[str, str]:
    """Return the facts that the engine's identity depends on, and the identity, for a scenario.

    Raises
    ------
    RunError
        Something that the identity depends on is missing.
    """
    engine = get_engine(scenario)
    found = general()
    if isinstance(engine, KernelEngine):
        own = scenario.engine.algorithm
        found["kernel"] = build.identity(hz=scenario.engine.hz, stock=engine.stock, algorithm=own)[:_DIGITS]
        found["guest tools"] = build.tools_identity()[:_DIGITS]
    elif isinstance(engine, Ns3Engine):
        found["ns-3"] = ns3_build.identity()[:_DIGITS]
    return {**found, "identity": engine.identity(scenario)[:_DIGITS]}


def examined(scenario: Scenario, expected: Facts) -> dict[str, str]:
    """Return the facts of a scenario on this machine. If they are as expected, the engine has been prepared.

    Raises
    ------
    RunError
        The engine cannot run here.
    """
    found = facts(scenario)
    # otherwise this would build another kernel, which nobody asked for
    if found == expected:
        get_engine(scenario).prepare(scenario)
    return found


def differing(where: str, there: Facts, here: Facts) -> InputError | None:
    """Return an error that names each fact that differs, or None.

    Parameters
    ----------
    where : str
        The other machine, such as ``cluster.tcp://10.0.0.2:40123``.
    there, here : dict of str to str
        Facts of the other machine and of this one.
    """
    problems = [
        Problem(f"{where}.{name}", there.get(name, "none"), f"{value}, as here: {REMEDY[name]}")
        for name, value in here.items()
        if there.get(name) != value
    ]
    # the identity differs whenever another fact does, and then says nothing more
    told = [each for each in problems if not each.field.endswith(".identity")] or problems
    return InputError(*told) if told else None
