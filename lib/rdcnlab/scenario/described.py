# SPDX-License-Identifier: Apache-2.0
"""Scenario files described from the model itself: a JSON schema for editors, and the fields for the reference."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from rdcnlab.fields.quantities import ALLOWED, UNIT, Frozen
from rdcnlab.fields.units import DURATION, RATE, SHARE, SIZE
from rdcnlab.scenario.fabrics import FABRICS
from rdcnlab.scenario.flow import VARIANTS
from rdcnlab.scenario.model import Scenario
from rdcnlab.scenario.presets import presets

#: Parts that a file may also write as one text, such as ``2 MB`` or a path.
_AS_TEXT = ("Queue", "P4Program", "SdnController", "OwnAlgorithm")
#: Fields that a file may leave out, because the network's preset, or the network itself, gives them.
_FILLED_IN = {"Flow": ("src", "dst", "path")}


@dataclass(frozen=True)
class Field:
    """A field of a scenario file.

    Parameters
    ----------
    name : str
        Its name.
    unit : str
        Unit of the number in code and in tables; empty if it has none.
    default : str
        The default as a file writes it; empty if the field must be given.
    allowed : str
        What is allowed, in words.
    text : str
        What the field means.
    """

    name: str
    unit: str
    default: str
    allowed: str
    text: str


@dataclass(frozen=True)
class Part:
    """A part of a scenario file: its class, its first sentence, and its fields."""

    name: str
    text: str
    fields: tuple[Field, ...]


def schema() -> dict[str, Any]:
    """Return the JSON schema of scenario files (draft 2020-12), for editors.

    It knows fields, units and allowed values. What depends on several fields is checked when a file is loaded only.

    Examples
    --------
    >>> schema()["properties"]["seed"]["maximum"]
    4294967295
    """
    found = Scenario.model_json_schema()
    definitions = found["$defs"]
    models = {model.__name__: model for model in _models(Scenario)}
    for name, part in [("Scenario", found), *definitions.items()]:
        texts = documented(models[name])
        part["description"] = _first(models[name])
        for field, about in part["properties"].items():
            about.pop("title", None)
            if field in texts:
                about["description"] = texts[field]
        part["required"] = [each for each in part.get("required", ()) if each not in _FILLED_IN.get(name, ())]
    slot = definitions["Slot"]["properties"]
    definitions["Slot"] = {
        "description": "How long traffic follows a link, and the link: [50 ms, blue]",
        "anyOf": [
            {"type": "array", "prefixItems": [slot["duration"], slot["link"]], "minItems": 2},
            definitions["Slot"],
        ],
    }
    for name in _AS_TEXT:
        definitions[name] = {"anyOf": [{"type": "string"}, definitions[name]], "description": _first(models[name])}
    transport = definitions["Transport"]["properties"]
    transport["ecn"]["anyOf"].append({"const": "auto"})
    transport["like"]["anyOf"].append({"enum": [4.15, 4.9, 4.4]})  # YAML reads these versions as numbers
    fabric = {"type": "object", "properties": {"fabric": {"enum": list(FABRICS)}}, "required": ["fabric"]}
    found["properties"]["network"] = {
        "description": "A preset or a fabric by name, a fabric with its parameters, or a network written out",
        "anyOf": [{"enum": [*presets(), *FABRICS]}, fabric, {"$ref": "#/$defs/Network"}],
    }
    # without a file of the user's own, only the kernel's congestion controls have a name
    own = {"required": ["engine"], "properties": {"engine": {"required": ["algorithm"]}}}
    usual = {"items": {"properties": {"cc": {"enum": [*VARIANTS, None]}}}}
    found |= {"if": {"not": own}, "then": {"properties": {"flows": usual}}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenario of rdcnlab",
        **{name: value for name, value in found.items() if name != "title"},
    }


def parts() -> list[Part]:
    """Return all parts of a scenario file with their fields, in the order of the model."""
    described = Scenario.model_json_schema()
    properties = {"Scenario": described["properties"]}
    properties |= {name: part["properties"] for name, part in described["$defs"].items()}
    return [
        Part(
            model.__name__,
            _first(model),
            tuple(_field(model, name, properties[model.__name__][name]) for name in model.model_fields),
        )
        for model in _models(Scenario)
    ]


def documented(model: type[BaseModel]) -> dict[str, str]:
    """Return what the docstring of a model says of each field (section ``Parameters`` of numpydoc)."""
    # without its indentation, which Python 3.13 removes by itself
    lines = inspect.cleandoc(model.__doc__ or "").split("\n")
    found: dict[str, str] = {}
    names: list[str] = []
    inside = False
    for at, line in enumerate(lines):
        underlined = at + 1 < len(lines) and re.fullmatch(r"\s*-{3,}\s*", lines[at + 1])
        if underlined:
            inside = line.strip() == "Parameters"
        elif inside and re.match(r"\S", line) and not line.strip().startswith("---"):
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
        elif inside and line.strip() and not line.strip().startswith("---"):
            for name in names:
                found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return found


def _field(model: type[BaseModel], name: str, about: dict[str, Any]) -> Field:
    default = model.model_fields[name]
    unit = next(iter(_values(about, UNIT)), "")
    text = "" if default.is_required() else _default(model, name, unit)
    required = default.is_required() and name not in _FILLED_IN.get(model.__name__, ())
    return Field(
        name,
        unit,
        "must be given" if required else text or "given by the network",
        _allowed(about),
        documented(model).get(name, ""),
    )


def _default(model: type[BaseModel], name: str, unit: str) -> str:
    """Return a default as a file writes it."""
    field = model.model_fields[name]
    value = field.get_default(call_default_factory=True)
    if isinstance(value, Frozen):
        return "each field's default"
    if value is None:
        return "none"
    if value == () or value == {}:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    kind = next((kind for kind in (DURATION, RATE, SIZE, SHARE) if unit in kind.units), None)
    values = [kind.format(each) if kind else str(each) for each in (value if isinstance(value, tuple) else [value])]
    return f"[{', '.join(values)}]" if isinstance(value, tuple) else values[0]


def _allowed(about: dict[str, Any]) -> str:
    """Return what a JSON schema allows, in words."""
    said = [*_values(about, ALLOWED)]
    said += [", ".join(f"`{value}`" for value in each) for each in _values(about, "enum")]
    said += [f"`{each}`" for each in _values(about, "const") if each != 0]
    if not said:
        kinds = {"boolean": "true or false", "integer": "a whole number", "number": "a number", "string": "text"}
        said += [kinds[kind] for kind in _values(about, "type") if kind in kinds]
    referred = [each.rpartition("/")[2] for each in _values(about, "$ref")]
    many = "array" in _values(about, "type")
    said += [f"{'a list of ' if many else ''}[{each}](#{each.lower()})" for each in dict.fromkeys(referred)]
    if {"type": "null"} in about.get("anyOf", ()):
        said.append("nothing")
    return "; or ".join(dict.fromkeys(said))


def _values(about: Any, key: str) -> list[Any]:
    """Return all values of a key in a JSON schema, without those of definitions that it refers to."""
    if isinstance(about, dict):
        own = [about[key]] if key in about and not isinstance(about[key], dict) else []
        return own + [value for name, each in about.items() if name != key for value in _values(each, key)]
    return [value for each in about for value in _values(each, key)] if isinstance(about, list) else []


def _models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Iterate over a model and the models inside it, each once."""
    waiting, seen = [model], {model}
    while waiting:
        one = waiting.pop(0)
        yield one
        for field in one.model_fields.values():
            for inner in _inside(field.annotation):
                if inner not in seen:
                    seen.add(inner)
                    waiting.append(inner)


def _inside(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in getattr(annotation, "__args__", ()):
        yield from _inside(each)
    for each in getattr(annotation, "__metadata__", ()):
        yield from _inside(each)


def _first(model: type[BaseModel]) -> str:
    """Return the first paragraph of a docstring."""
    return " ".join((model.__doc__ or "").strip().split("\n\n")[0].split())
