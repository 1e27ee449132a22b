# SPDX-License-Identifier: Apache-2.0
"""Convert pydantic's errors into `InputError`: field, value, and what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rdcnlab.fields.errors import WHOLE, InputError, Problem, shown
from rdcnlab.fields.phrases import missing, nearest, unknown
from rdcnlab.fields.quantities import FieldError
from rdcnlab.scenario.fields_of import allowed_by, field_at, fields_at, homes, mapping, model_of, wanted_at
from rdcnlab.scenario.places import Places

#: Returns why a field is missing, as a sentence, by the field's location; None if it has nothing to add, and empty text
#: if the field is missing only because of another problem.
Explain = Callable[[Sequence[int | str]], str | None]
_TEXT = "text; a half of a surrogate pair is no character"
#: What pydantic's types of errors allow, in words.
_KINDS = {
    "string_unicode": _TEXT,
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
}
#: Problems that are put into words; of thousands of wrong flows, the first ones show what is wrong.
_MOST_PROBLEMS = 100
_NUMBERS = ("int_type", "float_type")
#: Parts that have a field of some name, which a message lists at most.
_MOST_HOMES = 4


def input_error(
    error: ValidationError, model: type[BaseModel], explain: Explain | None = None, data: Any = None
) -> InputError:
    """Return an `InputError` with the problems that a pydantic error contains.

    Parameters
    ----------
    error : ValidationError
        The error that `model` raised.
    model : type
        The model that was validated. If an unknown field was given, the message lists the fields of this model.
    explain : callable, optional
        Takes the location of a missing field and returns why it is missing. Fields with equal reasons are one problem.
    data : object, optional
        The plain data that were validated. Items of lists are named by their names in it; see `Places`.
    """
    every, places = error.errors(include_url=False), Places(data)
    errors = every[:_MOST_PROBLEMS]
    outer = {details["loc"][:depth] for details in errors for depth in range(len(details["loc"]))}
    misspelt = {
        (*details["loc"][:-1], nearest(details["loc"][-1], fields_at(model, details["loc"][:-1])))
        for details in errors
        if details["type"] == "extra_forbidden"
    }
    # pydantic also reports a list as too short when its items are wrong; the errors of the items are clearer.
    problems: list[Problem] = []
    reasons: set[tuple[tuple[int | str, ...], str]] = set()
    for details in errors:
        # the message on a misspelt field has the right name
        if details["loc"] in outer or (details["type"] == "missing" and details["loc"] in misspelt):
            continue
        problem = _problem(details, model, explain, places)
        # two fields of a part can lack a value for one reason, which is said once
        key = (details["loc"][:-1], problem.reason) if problem is not None and details["type"] == "missing" else None
        if problem is not None and key not in reasons:
            problems.append(problem)
            if key is not None:
                reasons.add(key)
    return InputError(*problems, more=len(every) - len(errors))


def _problem(details: ErrorDetails, model: type[BaseModel], explain: Explain | None, places: Places) -> Problem | None:
    kind, context = details["type"], details.get("ctx") or {}
    cause = context.get("error")
    inner = cause.field if isinstance(cause, FieldError) else ""
    path = places.text(details["loc"], inner) or WHOLE
    if kind == "extra_forbidden":
        return _unknown_field(path, details["loc"], model)
    if kind == "missing":
        return _missing(path, details["loc"], model, explain)
    if isinstance(cause, FieldError):
        return Problem(path, shown(cause.value), cause.allowed, cause.reason)
    value: Any = details["input"]
    if kind == "literal_error":
        names = _names(context["expected"])
        return Problem(path, shown(value), context["expected"], unknown(value, names) if names else "")
    if kind in _NUMBERS and isinstance(value, str) and value.strip().lstrip("+-").replace(".", "", 1).isdigit():
        allowed = f"{_KINDS[kind]}, without quotes"
    elif kind == "tuple_type" and isinstance(value, dict):
        allowed = "a list, in which each item begins with '- '"
    elif kind == "value_error":
        allowed = str(cause)
    elif kind in ("model_type", "model_attributes_type", "dataclass_type"):
        allowed = mapping(model_of(model, details["loc"]), value)
    elif kind in ("too_short", "too_long"):
        # the number, not the list, which may have thousands of items
        number = context.get("actual_length")
        allowed = f"{'at least' if kind == 'too_short' else 'at most'} {_length(context)}"
        if isinstance(number, int) and not isinstance(value, str):
            return Problem(path, f"{number} item{'' if number == 1 else 's'}", allowed)
    elif kind in _KINDS:
        field = field_at(model, details["loc"])
        allowed = (None if field is None else allowed_by(field)) or _KINDS[kind]
    else:
        allowed = details["msg"].removeprefix("Input should be ").removeprefix("Value should be ")
    return _of(path, value, allowed)


def _of(path: str, value: Any, allowed: str) -> Problem:
    return Problem(path, shown(value), allowed)


def _names(expected: str) -> list[str]:
    """Return the texts that a pydantic literal allows, such as ``'a', 'b' or 'c'``; empty if it has other values."""
    parts = expected.replace(" or ", ", ").split(", ")
    is_text = all(len(part) > 1 and part[0] == part[-1] == "'" for part in parts)
    return [part[1:-1] for part in parts] if is_text else []


def _unknown_field(path: str, location: Sequence[int | str], model: type[BaseModel]) -> Problem:
    name, fields = location[-1], fields_at(model, location[:-1])
    reason = unknown(name, fields, "field")
    if "Did you mean" not in reason:
        outer = [*model.model_fields] if len(location) > 1 else []
        inside = homes(model, str(name))
        inner = [field for field in inside if len(location) == 1 and "." not in field]
        if name in outer:
            reason = f"'{name}' is a field of the whole file: begin its line at the left edge"
        elif inner:
            reason = f"'{name}' is a field of {' and '.join(inner)}: indent its line"
        elif inside:
            reason = f"there is no field '{name}' here; it is a field of {' and '.join(inside[:_MOST_HOMES])}"
    return Problem(path, "an unknown field", f"the fields {', '.join(fields)}", reason)


def _missing(
    path: str, location: Sequence[int | str], model: type[BaseModel], explain: Explain | None
) -> Problem | None:
    reason = None if explain is None else explain(location)
    if reason == "":
        return None
    allowed = wanted_at(model, location)
    return Problem(path, "nothing", allowed, reason or missing(allowed))


def _length(context: dict[str, Any]) -> str:
    count = context.get("min_length", context.get("max_length"))
    return f"{count} item{'' if count == 1 else 's'}"


def not_text(data: Any) -> InputError:
    """Return the error of plain data with a text that has a half of a surrogate pair, which is no character."""
    place, text = next(_halves(data, ()), ((), ""))
    return InputError.of(Places().text(place) or WHOLE, text, _TEXT)


def _halves(data: Any, place: tuple[int | str, ...]) -> Iterator[tuple[tuple[int | str, ...], str]]:
    """Yield texts that have such a character, with their places; a mapping has that of its keys."""
    if isinstance(data, str):
        if any("\ud800" <= sign <= "\udfff" for sign in data):
            yield place, data
        return
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list | tuple) else ()
    for key, value in items:
        if isinstance(key, str):
            yield from _halves(key, place)
        yield from _halves(value, (*place, key))
