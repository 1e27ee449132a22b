# SPDX-License-Identifier: Apache-2.0
"""Generate the reference: fields of scenario files, preset networks with their sources, tables of a run, commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import typer
import yaml

from rdcnlab.engines import schema
from rdcnlab.scenario import described
from rdcnlab.scenario.presets import presets
from rdcnlab.system import places
from rdcnlab_papers.app.site.view import environment


def generate_pages() -> dict[Path, str]:
    """Return the correct text of every generated page of the reference."""
    folder = places.tree() / "docs" / "reference"
    templates = environment()
    templates.filters["code"] = _code
    content: dict[str, dict[str, Any]] = {
        "scenario": {"parts": described.parts()},
        "presets": {"presets": [_preset(name) for name in presets()]},
        "tables": {"tables": [(name, fields, _description(name)) for name, fields in schema.SCHEMAS.items()]},
        "commands": {"commands": list(_commands())},
    }
    return {
        folder / f"{name}.md": templates.get_template(f"reference/{name}.md.j2").render(**data)
        for name, data in content.items()
    }


def _code(text: str) -> str:
    """Return text in which marks of code are those of Markdown instead of numpydoc, and ``|`` is escaped."""
    return text.replace("``", "`").replace("|", "\\|")


def _preset(name: str) -> dict[str, Any]:
    """Return a preset: its name, its comment, and each value with its source."""
    text = (resources.files("rdcnlab") / "networks" / f"{name}.yaml").read_text(encoding="utf-8")
    comment = [line[2:] for line in text.splitlines() if line.startswith("# ") and "SPDX" not in line]
    data = yaml.safe_load(text)
    values = [
        {"name": key, "value": _yaml_lines(value["value"]), "source": " ".join(str(value["source"]).split())}
        for key, value in data.items()
        if isinstance(value, dict) and set(value) == {"value", "source"}
    ]
    return {"name": name, "about": " ".join(comment), "values": values}


def _yaml_lines(value: Any) -> list[str]:
    """Return the lines of a value as YAML."""
    return yaml.safe_dump(value, sort_keys=False, default_flow_style=None, width=100).removesuffix("...\n").splitlines()


def _description(table: str) -> str:
    """Return the description of a table in the docstring of the module of schemas."""
    match = re.search(rf"^``{table}``, (.*?)(?=^``|\Z)", schema.__doc__ or "", re.DOTALL | re.MULTILINE)
    if match is None:
        raise LookupError(f"the docstring of {schema.__name__} does not describe the table {table}")
    first_line, *lines = [line.strip() for line in match[1].splitlines() if line.strip()]
    return " ".join([f"{first_line[0].upper()}{first_line[1:]}.", *lines])


def _commands() -> Iterator[dict[str, Any]]:
    """Iterate over all commands of the command line that are not hidden."""
    from rdcnlab.app.cli import app

    yield from _subcommands(typer.main.get_command(app), "rdcnlab")


def _subcommands(command: Any, name: str) -> Iterator[dict[str, Any]]:
    # typer may use a click of its own, so that its classes cannot be compared with those of the package click
    if hasattr(command, "commands"):
        for word in command.list_commands(None):
            inner = command.get_command(None, word)
            if not inner.hidden:
                yield from _subcommands(inner, f"{name} {word}")
        return
    rows, arguments = [], []
    for parameter in command.params:
        is_option = parameter.param_type_name == "option"
        if parameter.name != "help":
            names = ", ".join(parameter.opts) if is_option else parameter.metavar or parameter.name.upper()
            arguments += [] if is_option else [names]
            rows.append({"names": names, "help": getattr(parameter, "help", None) or "", "note": _note(parameter)})
    usage = " ".join([name, "[OPTIONS]", *arguments])
    yield {"name": name, "usage": usage, "help": command.help or "", "rows": rows}


def _note(parameter: Any) -> str:
    """Return the default of an argument or option, or that it is required; empty for flags and what has no default."""
    if parameter.required:
        return "required"
    default = parameter.default
    plain = default is not None and not callable(default) and not isinstance(default, bool) and default != []
    return f"default `{default}`" if plain else ""
