# SPDX-License-Identifier: Apache-2.0
"""Scenario files described from the model itself: a JSON schema for editors, and the fields for the reference."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from rdcnlab.fields.quantities import ALLOWED, DEFAULT, UNIT, Frozen
from rdcnlab.fields.units import DURATION, RATE, SHARE, SIZE
from rdcnlab.scenario import buffers, flow_file
from rdcnlab.scenario.congestion import LINUX_VARIANTS, VARIANTS
from rdcnlab.scenario.fabrics import FABRICS
from rdcnlab.scenario.model import Scenario
from rdcnlab.scenario.presets import known_networks

#: Parts that a file may also write as one text, such as ``2 MB`` or a path.
_AS_TEXT = ("Queue", "P4Program", "SdnController", "OwnAlgorithm", "OwnSources", "NamedFile")
#: Fields that a file may leave out, because the network's preset, or the network itself, gives them.
_FILLED_IN = {"Flow": ("src", "dst", "path"), "Program": ("name", "path")}


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

    It contains fields, units and allowed values. Rules about several fields are checked only when a file is loaded.

    Examples
    --------
    >>> schema()["properties"]["seed"]["maximum"]
    4294967295
    """
    document = Scenario.model_json_schema()
    definitions = document["$defs"]
    models = {model.__name__: model for model in _models(Scenario)}
    for name, part in [("Scenario", document), *definitions.items()]:
        texts = field_texts(models[name])
        part["description"] = _first(models[name])
        for field, field_schema in part["properties"].items():
            field_schema.pop("title", None)
            if field in texts:
                field_schema["description"] = texts[field]
        filled_in = _FILLED_IN.get(name, ())
        part["required"] = [field for field in part.get("required", ()) if field not in filled_in]
    _describe_flows(definitions)
    slot = definitions["Slot"]["properties"]
    definitions["Slot"] = {
        "description": "How long traffic follows a link, and the link: [50 ms, blue]",
        "anyOf": [
            {"type": "array", "prefixItems": [slot["duration"], slot["link"]], "minItems": 2},
            definitions["Slot"],
        ],
    }
    _describe_lines(definitions)
    _describe_workloads(definitions)
    _describe_parameters(definitions)
    for name in _AS_TEXT:
        definitions[name] = {"anyOf": [{"type": "string"}, definitions[name]], "description": _first(models[name])}
    transport = definitions["Transport"]["properties"]
    transport["ecn"]["anyOf"].append({"const": "auto"})
    transport["buffers"] = {"description": "Sizes of rmem and wmem by name", "enum": [*buffers.SIZES]}
    transport["like"]["anyOf"].append({"enum": [4.15, 4.9, 4.4]})  # YAML reads these versions as numbers
    fabric = {"type": "object", "properties": {"fabric": {"enum": list(FABRICS)}}, "required": ["fabric"]}
    document["properties"]["network"] = {
        "description": "A preset or a fabric by name, a fabric with its parameters, or a network written out",
        "anyOf": [{"enum": known_networks()}, fabric, {"$ref": "#/$defs/Network"}],
    }
    # without a file of the user's own, only the kernel's congestion controls have a name
    own = {"anyOf": [{"required": [field]} for field in ("algorithm", "algorithms")]}
    has_algorithm = {"required": ["engine"], "properties": {"engine": own}}
    usual = {"items": {"properties": {"cc": {"enum": [*VARIANTS, *LINUX_VARIANTS, None]}}}}
    document["anyOf"] = [
        {"required": [part], "properties": {part: {"minItems": 1}}} for part in ("flows", "workloads", "programs")
    ]
    document |= {"if": {"not": has_algorithm}, "then": {"properties": {"flows": usual}}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenario of rdcnlab",
        **{name: value for name, value in document.items() if name != "title"},
    }


def _describe_flows(definitions: dict[str, Any]) -> None:
    """Add the entry that stands for all flows of a file, and say what each other one needs."""
    flow, at_most = definitions["Flow"], definitions["Workload"]["properties"]["at_most"]
    flow["required"] = [field for field in flow["required"] if field not in ("name", "size")]
    flow["anyOf"] = [
        *({"required": ["name", field]} for field in ("size", "until", "replay")),
        {"required": ["file"]},
    ]
    flow["properties"] |= {
        "file": {
            "type": "string",
            "description": "A file of opera-sim or htsim: the entry stands for all of its flows",
        },
        "unit": {"enum": [*flow_file.UNITS], "description": "With file: what starts count; ns, and none for htsim"},
        "at_most": {**at_most, "description": "With file: bytes to which larger flows are cut"},
    }


def _describe_lines(definitions: dict[str, Any]) -> None:
    """Add the forms in which files write rates over time, and the options of queueing disciplines."""
    step, link, aqm = definitions["RateStep"], definitions["Link"], definitions["Aqm"]
    pair = [step["properties"]["duration"], step["properties"]["rate"]]
    definitions["RateStep"] = {
        "description": "How long a rate holds, and the rate: [1 s, 2 Mb/s]",
        "anyOf": [{"type": "array", "prefixItems": pair, "minItems": 2}, step],
    }
    trace = {
        "type": "object",
        "properties": {"trace": {"type": "string"}},
        "required": ["trace"],
        "additionalProperties": False,
    }
    rate = link["properties"]["rate"]
    steps = {"type": "array", "items": {"$ref": "#/$defs/RateStep"}}
    described = {key: value for key, value in rate.items() if key == "description"}
    constant = {key: value for key, value in rate.items() if key != "description"}
    link["properties"]["rate"] = {**described, "anyOf": [constant, steps, trace]}
    aqm["additionalProperties"] = True
    kinds = aqm["properties"]["kind"]["enum"]
    definitions["Aqm"] = {"description": aqm["description"], "anyOf": [{"enum": kinds}, aqm]}


def _describe_workloads(definitions: dict[str, Any]) -> None:
    """Add the short forms in which files write parts of workloads."""
    point, demand, workload = definitions["Point"], definitions["Demand"], definitions["Workload"]["properties"]
    pairs = {"type": "array", "items": {"type": "array"}}
    for name, part in (("Point", point), ("Demand", demand)):
        definitions[name] = {"description": part["description"], "anyOf": [{"type": "array", "minItems": 2}, part]}
    sizes = definitions["Sizes"]
    definitions["Sizes"] = {"description": sizes["description"], "anyOf": [{"type": "string"}, pairs, sizes]}
    arrivals = definitions["Arrivals"]
    arrivals["properties"]["file"] = {"type": "string"}
    definitions["Arrivals"] = {"description": arrivals["description"], "anyOf": [{"const": "once"}, arrivals]}
    for name in ("hosts", "matrix"):
        described = workload[name]
        workload[name] = {"description": described.get("description", ""), "anyOf": [{"type": "string"}, described]}


def _describe_parameters(definitions: dict[str, Any]) -> None:
    """Add the form in which files write parameters of congestion controls."""
    engine = definitions["EngineSettings"]["properties"]
    given = engine["parameters"]
    by_name = {"type": "object", "additionalProperties": {"type": "object"}}
    engine["parameters"] = {"description": given.get("description", ""), "anyOf": [by_name, given]}


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


def field_texts(model: type[BaseModel]) -> dict[str, str]:
    """Return the text about each field in a model's docstring (section ``Parameters`` of numpydoc).

    Fields of base classes are described there, unless the model's own docstring describes them again.
    """
    texts: dict[str, str] = {}
    for base in model.__bases__:
        if issubclass(base, BaseModel) and base.model_fields:
            texts |= field_texts(base)
    return texts | _described(model.__dict__.get("__doc__") or "")


def _described(docstring: str) -> dict[str, str]:
    # without its indentation, which Python 3.13 removes by itself
    lines = inspect.cleandoc(docstring).split("\n")
    texts: dict[str, str] = {}
    names: list[str] = []
    inside = False
    for number, line in enumerate(lines):
        underlined = number + 1 < len(lines) and re.fullmatch(r"\s*-{3,}\s*", lines[number + 1])
        if underlined:
            inside = line.strip() == "Parameters"
        elif inside and re.match(r"\S", line) and not line.strip().startswith("---"):
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
        elif inside and line.strip() and not line.strip().startswith("---"):
            for name in names:
                texts[name] = f"{texts.get(name, '')} {line.strip()}".strip()
    return texts


def _field(model: type[BaseModel], name: str, field_schema: dict[str, Any]) -> Field:
    default = model.model_fields[name]
    unit = next(iter(_values(field_schema, UNIT)), "")
    text = "" if default.is_required() else next(iter(_values(field_schema, DEFAULT)), _default(model, name, unit))
    required = default.is_required() and name not in _FILLED_IN.get(model.__name__, ())
    return Field(
        name,
        unit,
        "must be given" if required else text or "given by the network",
        _allowed(field_schema),
        field_texts(model).get(name, ""),
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
    values = [kind.format(item) if kind else str(item) for item in (value if isinstance(value, tuple) else [value])]
    return f"[{', '.join(values)}]" if isinstance(value, tuple) else values[0]


def _allowed(field_schema: dict[str, Any]) -> str:
    """Describe in words the values that the JSON schema of a field allows."""
    phrases = [*_values(field_schema, ALLOWED)]
    phrases += [", ".join(f"`{value}`" for value in values) for values in _values(field_schema, "enum")]
    phrases += [f"`{value}`" for value in _values(field_schema, "const") if value != 0]
    if not phrases:
        kinds = {"boolean": "true or false", "integer": "a whole number", "number": "a number", "string": "text"}
        phrases += [kinds[kind] for kind in _values(field_schema, "type") if kind in kinds]
    references = [reference.rpartition("/")[2] for reference in _values(field_schema, "$ref")]
    is_list = "array" in _values(field_schema, "type")
    phrases += [f"{'a list of ' if is_list else ''}[{name}](#{name.lower()})" for name in dict.fromkeys(references)]
    if {"type": "null"} in field_schema.get("anyOf", ()):
        phrases.append("nothing")
    return "; or ".join(dict.fromkeys(phrases))


def _values(node: Any, key: str) -> list[Any]:
    """Return all values of a key in a JSON schema, without those of definitions that it refers to."""
    if isinstance(node, dict):
        direct = [node[key]] if key in node and not isinstance(node[key], dict) else []
        return direct + [value for name, inner in node.items() if name != key for value in _values(inner, key)]
    return [value for inner in node for value in _values(inner, key)] if isinstance(node, list) else []


def _models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield a model and the models inside it, each once."""
    queue, visited = [model], {model}
    while queue:
        current = queue.pop(0)
        yield current
        for field in current.model_fields.values():
            for inner in _inside(field.annotation):
                if inner not in visited:
                    visited.add(inner)
                    queue.append(inner)


def _inside(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _inside(argument)
    for mark in getattr(annotation, "__metadata__", ()):
        yield from _inside(mark)


def _first(model: type[BaseModel]) -> str:
    """Return the first paragraph of a docstring."""
    return " ".join((model.__doc__ or "").strip().split("\n\n")[0].split())
