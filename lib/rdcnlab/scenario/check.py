# SPDX-License-Identifier: Apache-2.0
"""Convert pydantic's errors into `InputError`: field, value, and what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rdcnlab.fields.errors import InputError, Problem, shown
from rdcnlab.fields.quantities import Misfit
from rdcnlab.scenario.timetable import PATH_TAGS


def input_error(error: ValidationError, model: type[BaseModel]) -> InputError:
    """Return an `InputError` with the problems that a pydantic error contains.

    Parameters
    ----------
    error : ValidationError
        The error that `model` raised.
    model : type
        The model that was validated. If an unknown field was given, the message lists the fields of this model.
    """
    errors = error.errors(include_url=False)
    places = [details["loc"] for details in errors]
    # pydantic also reports a list as too short when its items are wrong; the errors of the items are clearer.
    reported = [d for d in errors if not any(len(p) > len(d["loc"]) and p[: len(d["loc"])] == d["loc"] for p in places)]
    return InputError(*(_problem(details, model) for details in reported))


def _problem(details: ErrorDetails, model: type[BaseModel]) -> Problem:
    place = field_path(details["loc"]) or "scenario"
    kind, context = details["type"], details.get("ctx") or {}
    if kind == "extra_forbidden":
        return Problem(place, "an unknown field", f"the fields {', '.join(_fields_at(model, details['loc'][:-1]))}")
    if kind == "missing":
        return Problem(place, "nothing", "a value, because there is no default")
    cause = context.get("error")
    if isinstance(cause, Misfit):
        return Problem(f"{place}.{cause.field}" if details["loc"] else cause.field, shown(cause.value), cause.allowed)
    if kind == "value_error":
        allowed = str(cause)
    elif kind == "literal_error":
        allowed = str(context["expected"])
    elif kind in ("model_type", "model_attributes_type", "dataclass_type"):
        allowed = f"a mapping with the fields {', '.join(_fields_at(model, details['loc']))}"
    elif kind in ("too_short", "too_long"):
        allowed = f"{'at least' if kind == 'too_short' else 'at most'} {_length(context)}"
    else:
        allowed = details["msg"].removeprefix("Input should be ").removeprefix("Value should be ")
    return Problem(place, shown(details["input"]), allowed)


def _length(context: dict[str, Any]) -> str:
    count = context.get("min_length", context.get("max_length"))
    return f"{count} item{'' if count == 1 else 's'}"


def field_path(location: Sequence[int | str]) -> str:
    """Return a location as text such as ``flows[1].path[0].duration``."""
    text = ""
    previous: int | str = ""
    for part in location:
        if previous in ("path", "back") and part in PATH_TAGS:
            previous = ""
            continue
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
        previous = part
    return text


def _fields_at(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    for part in location:
        if isinstance(part, str) and part in model.model_fields:
            inner = _model_in(model.model_fields[part].annotation)
            if inner is not None:
                model = inner
    return list(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model class inside an annotation such as ``tuple[Annotated[Slot, ...], ...] | str``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in get_args(annotation):
        inner = _model_in(argument)
        if inner is not None:
            return inner
    return None
