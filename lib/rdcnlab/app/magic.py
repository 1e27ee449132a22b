# SPDX-License-Identifier: Apache-2.0
"""The cell magic ``%%host`` of notebooks: the lines of a cell run in a host at an instant, while the clock stands."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from typing import Any, NoReturn

from rdcnlab.fields.errors import InputError
from rdcnlab.fields.units import DURATION
from rdcnlab.scenario import Scenario


class _Parser(argparse.ArgumentParser):
    """A parser that raises an error instead of ending the notebook's kernel."""

    def error(self, message: str) -> NoReturn:
        raise InputError.of("%%host", message, self.format_usage().removeprefix("usage: ").strip())


def host(line: str, cell: str, names: Mapping[str, Any]) -> str:
    """Run the lines of a cell in one shell in a host, as ``rdcnlab shell`` does, and return what a person would see.

    Parameters
    ----------
    line : str
        ``HOST SCENARIO [--at INSTANT]``. The scenario is the name of a variable, or a file.
    cell : str
        Lines for the shell. Empty ones are left out.
    names : mapping
        The variables of the notebook.

    Raises
    ------
    InputError
        A word of `line` is wrong.
    RunError
        All flows ended before the instant, or while a line waited.
    """
    # imported here because the rest of a notebook does without
    from rdcnlab.engines.kernel.looking import Moment, prompt, talk

    parser = _Parser(prog="%%host", add_help=False)
    parser.add_argument("host")
    parser.add_argument("scenario")
    parser.add_argument("--at", default="0 ms")
    given = parser.parse_args(shlex.split(line))
    try:
        at_ns = DURATION.parse(given.at)
    except ValueError as error:
        raise InputError.of("at", given.at, str(error)) from None
    value = names.get(given.scenario)
    scenario = value if isinstance(value, Scenario) else Scenario.load(given.scenario)
    lines = iter([text.strip() for text in cell.splitlines() if text.strip()])
    shown: list[str] = []

    def ask(moment: Moment) -> str | None:
        if moment.text:
            shown.append(moment.text.removesuffix("\n"))
        following = next(lines, None)
        if following is not None:
            shown.append(f"{prompt(given.host, moment)}{following}")
        return following

    talk(scenario, given.host, at_ns, ask)
    return "\n".join(shown)


def load(shell: Any) -> None:
    """Register the magic with IPython."""

    def run(line: str, cell: str) -> None:
        print(host(line, cell, shell.user_ns))

    shell.register_magic_function(run, "cell", "host")
