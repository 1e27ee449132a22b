# SPDX-License-Identifier: Apache-2.0
"""The fields of models by their location: their names, what they allow in words, and which parts have a field."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from rdcnlab.fields.quantities import ALLOWED, Described

#: Models within models in which a name is looked for; a scenario has no more.
_DEEPEST = 5


def fields_at(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """Return the names of the fields at a location, as pydantic has it."""
    return list(model_of(model, location).model_fields)


def field_at(model: type[BaseModel], location: Sequence[int | str]) -> FieldInfo | None:
    """Return the field at a location; None if it is an item of a list, or no field."""
    name = location[-1] if location else None
    return model_of(model, location[:-1]).model_fields.get(name) if isinstance(name, str) else None


def model_of(model: type[BaseModel], location: Sequence[int | str]) -> type[BaseModel]:
    """Return the model class at a location."""
    for part in location:
        if isinstance(part, str) and part in model.model_fields:
            inner = _model_in(model.model_fields[part].annotation)
            if inner is not None:
                model = inner
    return model


def homes(model: type[BaseModel], name: str) -> list[str]:
    """Return the paths of all parts below a model that have a field, such as ``network.links``."""
    return list(dict.fromkeys(_homes(model, name, ())))


def _homes(model: type[BaseModel], name: str, path: tuple[str, ...]) -> Iterator[str]:
    for part, field in model.model_fields.items() if len(path) < _DEEPEST else ():
        inner = _model_in(field.annotation)
        if inner is not None and inner is not model:
            if name in inner.model_fields:
                yield ".".join([*path, part])
            yield from _homes(inner, name, (*path, part))


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model class inside an annotation such as ``tuple[Annotated[Slot, ...], ...] | str``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in get_args(annotation):
        inner = _model_in(argument)
        if inner is not None:
            return inner
    return None


def allowed_by(field: FieldInfo) -> str | None:
    """Return the allowed values of a field in words, if its marks have them."""
    marks = (*field.metadata, *_marks(field.annotation))
    for mark in marks:
        described = mark if isinstance(mark, Described) else getattr(mark, "described", None)
        if described is not None and ALLOWED in described.schema:
            return str(described.schema[ALLOWED])
    return None


def _marks(annotation: Any) -> Iterator[Any]:
    """Yield the marks of a type that may be None, such as ``Annotated[str, MARK] | None``."""
    if get_origin(annotation) in (Union, types.UnionType):
        branches = [branch for branch in get_args(annotation) if branch is not type(None)]
        # those of one branch of several are not all that is allowed
        yield from getattr(branches[0], "__metadata__", ()) if len(branches) == 1 else ()


def wanted_at(model: type[BaseModel], location: Sequence[int | str]) -> str:
    """Return what a missing field wants, in words that follow "write"."""
    field = field_at(model, location)
    words = None if field is None else allowed_by(field)
    if field is None or words is not None:
        words = words or "a value, because there is no default"
        return f"a name: {words}" if location[-1] == "name" else words
    if get_origin(field.annotation) is Literal:
        return f"one of {', '.join(map(str, get_args(field.annotation)))}"
    if get_origin(field.annotation) is tuple:
        return "a list, in which each item begins with '- '"
    inner = None if get_origin(field.annotation) else _model_in(field.annotation)
    return "a value, because there is no default" if inner is None else mapping(inner)


def mapping(model: type[BaseModel], value: Any = None) -> str:
    """Return in words the mapping that a part is; text that somebody wrote in its place may show an example."""
    needed = [name for name, field in model.model_fields.items() if field.is_required()]
    others = [name for name in model.model_fields if name not in needed]
    first, info = next(iter(model.model_fields.items()))
    if isinstance(value, str) and value and (needed == ["name"] or value in get_args(info.annotation)):
        return f"a mapping, such as {{{' '.join(needed) or first}: {value[:40]}}}"
    if not needed:
        return f"a mapping with the fields {', '.join(others)}"
    return f"a mapping with {', '.join(needed)}{'; it may also have ' if others else ''}{', '.join(others)}"
