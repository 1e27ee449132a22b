# SPDX-License-Identifier: Apache-2.0
"""Facts that must be the same on two machines that make the same runs, in words that tell a user what to change."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping

from rdcnlab.engines import Engine, get_engine
from rdcnlab.fields.errors import InputError, Problem
from rdcnlab.scenario import Scenario

#: For each fact: what the other machine must have.
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

Environment = Mapping[str, str]


def general() -> dict[str, str]:
    """Return the facts that do not depend on the scenario."""
    # not imported, because the package's first module also imports what stands above this one
    version = str(sys.modules["rdcnlab"].__version__)
    return {"Python": ".".join(platform.python_version_tuple()[:2]), "rdcnlab": version}


def of_scenario(scenario: Scenario) -> dict[str, str]:
    """Return the facts that the engine's identity depends on, and the identity, for a scenario.

    Raises
    ------
    RunError
        Something that the identity depends on is missing.
    """
    return _of_engine(get_engine(scenario))


def _of_engine(engine: Engine) -> dict[str, str]:
    hashes = {**engine.facts(), "identity": engine.identity()}
    return general() | {name: value[:_DIGITS] for name, value in hashes.items()}


def examine(scenario: Scenario, expected: Environment) -> dict[str, str]:
    """Return the facts of a scenario on this machine. If they are as expected, the engine has been prepared.

    Raises
    ------
    RunError
        The engine cannot run here.
    """
    engine = get_engine(scenario)
    values = _of_engine(engine)
    # with other facts, this would build another kernel than the campaign's
    if values == expected:
        engine.prepare()
    return values


def differing(field: str, theirs: Environment, ours: Environment) -> InputError | None:
    """Return an error that names each fact that differs, or None.

    Parameters
    ----------
    field : str
        Name of the other machine in the error, such as ``cluster.tcp://10.0.0.2:40123``.
    theirs, ours : dict of str to str
        Facts of the other machine and of this one.
    """
    problems = [
        Problem(f"{field}.{name}", theirs.get(name, "none"), f"{value}, as here: {REMEDY[name]}")
        for name, value in ours.items()
        if theirs.get(name) != value
    ]
    # the identity differs whenever another fact differs; it is reported only if it is the only one
    reported = [problem for problem in problems if not problem.field.endswith(".identity")] or problems
    return InputError(*reported) if reported else None
