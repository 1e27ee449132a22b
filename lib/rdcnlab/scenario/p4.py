# SPDX-License-Identifier: Apache-2.0
"""The P4 settings of a scenario: a compiled program, and the commands that fill its tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ValidationInfo

from rdcnlab.fields import input_file
from rdcnlab.fields.files import unreadable
from rdcnlab.fields.quantities import ALLOWED, Described, FieldError
from rdcnlab.scenario.user_file import DIRECTORY, UserFile, from_path

#: Keys that every program has that ``p4c-bm2-ss`` writes for ``simple_switch``.
_PARTS = ("parsers", "deparsers", "pipelines", "actions")
COMPILED = "a program for BMv2 as p4c-bm2-ss writes it with -o: JSON with " + ", ".join(_PARTS)


class P4Program(UserFile):
    """A compiled P4 program (BMv2's JSON); text form: its path."""


def not_compiled(data: bytes) -> str | None:
    """Return why a file is not a compiled program; None if it looks like one.

    Parameters
    ----------
    data : bytes
        Content of the file.
    """
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        return f"this is no JSON: {' '.join(str(error).split())}"
    if not isinstance(content, dict):
        return "this is no JSON object"
    lacking = [name for name in _PARTS if not isinstance(content.get(name), list)]
    return f"this has no {', '.join(lacking)}" if lacking else None


def _compiled(path: Path, data: bytes) -> Mapping[str, Any]:
    wrong = not_compiled(data)
    if wrong is not None:
        raise ValueError(f"{COMPILED} ({path}: {wrong})")
    return {}


def _one_command(line: str) -> str:
    # simple_switch_CLI answers each line of its input once. It repeats the previous command for an empty line. If one
    # entry had two lines, every later answer would be assigned to the wrong command.
    if not line.strip():
        raise ValueError("a command of simple_switch_CLI, not an empty line")
    if line.lstrip().startswith("#"):
        raise ValueError("a command of simple_switch_CLI, which knows no comments; YAML does, outside of the entry")
    if not line.replace("\t", " ").isprintable():
        raise ValueError("one command of simple_switch_CLI in one line; each further command is an entry of its own")
    return line


ProgramField = Annotated[
    P4Program | None, from_path(".json", "a compiled program, *.json; p4c-bm2-ss makes one of *.p4", _compiled)
]
Entry = Annotated[str, AfterValidator(_one_command)]


def _listed_or_read(value: Any, info: ValidationInfo) -> Any:
    """Return a list as a tuple, and the commands in the file that a text names: they become part of the scenario."""
    if isinstance(value, list):
        return tuple(value)
    if not isinstance(value, str):
        return value
    path = Path((info.context or {}).get(DIRECTORY) or ".").absolute() / value
    try:
        lines = input_file.read_lines(path, input_file.CODE)
    except UnicodeDecodeError:
        raise ValueError(f"a list of commands, or the path of a text file of them ({path} is no text)") from None
    except OSError as error:
        allowed = f"a list of commands, or a file of them that can be read ({path})"
        raise FieldError("", value, allowed, reason=unreadable(path, error)) from None
    return tuple(line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#"))


_COMMANDS = "commands of simple_switch_CLI, one in each line, or the path of a file of them"
Entries = Annotated[
    tuple[Entry, ...],
    BeforeValidator(_listed_or_read),
    Described({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}], ALLOWED: _COMMANDS}),
]
