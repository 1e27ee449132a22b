# SPDX-License-Identifier: Apache-2.0
"""Field types of a scenario: integers in code, text with units in files."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic_core.core_schema import SerializationInfo, ValidationInfo

from rdcnlab.fields.phrases import left_out, shown, unknown
from rdcnlab.fields.units import DURATION, RATE, SHARE, SIZE, Quantity

#: Validation or serialisation context. With ``{TEXT: True}`` quantities must have a unit (read) or get one (written).
TEXT = "text"
#: Serialisation context. With ``{EVERY: True}`` fields marked `omit_default` are written even at their default.
EVERY = "every"


class _OmitDefault:
    """Mark of a field that was added after results had been published.

    Canonical data leaves out such a field if it has its default. So scenarios that do not use the field keep their
    hash.
    """


#: The mark, as in ``Annotated[Share, omit_default] = 0.0``.
omit_default = _OmitDefault()


class Frozen(BaseModel):
    """Base of every part of a scenario: immutable, strict, no unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    #: Whether the fields that hold this part write it in a way of their own.
    written_by_fields: ClassVar[bool] = False
    #: What is computed of the fields, and left out of a copy with other fields.
    _computed: ClassVar[tuple[str, ...]] = ("_plain", "_plain_text", "_every", "_every_text")

    @model_serializer(mode="wrap")
    def _without_later_defaults(self, write: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        data: dict[str, Any] = write(self)
        if (info.context or {}).get(EVERY):
            return data
        for name, default in _later(type(self)):
            value = getattr(self, name)
            if value is default or value == default:
                data.pop(name, None)
        return data

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy, in which some fields are replaced without checks; what was computed of them is left out."""
        copy = super().model_copy(update=update, deep=deep)
        for name in self._computed if update else ():
            copy.__dict__.pop(name, None)
        return copy

    @functools.cached_property
    def _plain(self) -> dict[str, Any]:
        """Canonical data, computed once: scenarios share parts. Callers must not change them."""
        return _data(self, canonical_fields(self))

    @functools.cached_property
    def _plain_text(self) -> str:
        """Canonical JSON, computed once."""
        return canonical_json(self._plain)

    @functools.cached_property
    def _every_text(self) -> str:
        """JSON with every field, also those at their default, computed once."""
        return json.dumps(self._every)

    @functools.cached_property
    def _every(self) -> dict[str, Any]:
        """Canonical data with every field, computed once. Callers must not change them."""
        return _data(self, {name: getattr(self, name) for name in type(self).model_fields}, every=True)


def _data(part: Frozen, values: Mapping[str, Any], *, every: bool = False) -> dict[str, Any]:
    """Return plain data of some fields of a part."""
    writers = _writers(type(part))
    try:
        return {name: _written(value, writers.get(name), every=every) for name, value in values.items()}
    except TypeError:
        return part.model_dump(mode="json", context={EVERY: True} if every else None)


def _written(value: Any, write: Callable[[Any, Any], Any] | None = None, *, every: bool = False) -> Any:
    """Return plain data of a field as pydantic writes them, in a fifth of its time.

    Quantities are integers, which are written unchanged. `write` is the field's own way to write a part.

    Raises
    ------
    TypeError
        Only pydantic knows how the field is written.
    """
    if value is None or type(value) in _UNCHANGED:
        return value
    if type(value) is tuple:
        return [_written(item, every=every) for item in value]
    if isinstance(value, Frozen) and not value.written_by_fields:
        return value._every if every else value._plain
    if isinstance(value, Frozen) and write is not None:
        return write(value, _NO_CONTEXT)
    raise TypeError


@functools.cache
def _writers(kind: type[Frozen]) -> dict[str, Callable[[Any, Any], Any]]:
    """Return the functions of the fields that write their value in a way of their own."""
    marks = ((name, mark) for name, field in kind.model_fields.items() for mark in field.metadata)
    return {name: mark.func for name, mark in marks if isinstance(mark, PlainSerializer)}  # type: ignore[misc]


@dataclass(frozen=True)
class _Info:
    """What a writer asks of pydantic's information on a serialisation."""

    context: None = None


_NO_CONTEXT = _Info()


_UNCHANGED = frozenset((int, str, bool, float))


def plain(value: Any) -> Any:
    """Return canonical data of a field of a scenario: a part of it, a sequence of parts, or a number."""
    if isinstance(value, Frozen):
        return value._plain
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def plain_text(value: Any) -> str:
    """Return the canonical JSON of a field of a scenario."""
    if isinstance(value, Frozen):
        return value._plain_text
    return f"[{','.join(map(plain_text, value))}]" if isinstance(value, tuple) else canonical_json(value)


def every_text(value: Any) -> str:
    """Return a field of a scenario as JSON in which every field is written."""
    if isinstance(value, Frozen):
        return value._every_text
    return f"[{', '.join(map(every_text, value))}]" if isinstance(value, tuple) else json.dumps(value)


def canonical_json(data: Any) -> str:
    """Return canonical JSON: equal data gives equal text (sorted keys, no blanks, ASCII)."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical_fields(part: Frozen) -> dict[str, Any]:
    """Return the values of the fields that canonical data have: without fields `omit_default` at their default."""
    later = dict(_later(type(part)))
    values = {name: getattr(part, name) for name in type(part).model_fields}
    return {name: value for name, value in values.items() if name not in later or value != later[name]}


def is_canonical(kind: type[Frozen], data: Any) -> bool:
    """Return whether plain data of a part are canonical.

    Such data have each field that they always have, and no field `omit_default` at its default.
    """
    if not isinstance(data, Mapping):
        return False
    later = dict(_later(kind))
    return data.keys() >= kind.model_fields.keys() - later.keys() and all(
        name not in data or data[name] != default for name, default in later.items()
    )


@functools.cache
def canonical_names(kind: type[Frozen]) -> frozenset[str]:
    """Return the fields that canonical data of a part always have."""
    return frozenset(kind.model_fields.keys() - {name for name, _ in _later(kind)})


@functools.cache
def _later(kind: type[Frozen]) -> tuple[tuple[str, Any], ...]:
    """Return names and defaults of the fields marked `omit_default`; cached, because every part needs them."""
    fields = kind.model_fields.items()
    return tuple(
        (name, field.default) for name, field in fields if any(mark is omit_default for mark in field.metadata)
    )


def _reader(kind: Quantity, low: int, high: int) -> Callable[[Any, ValidationInfo], Any]:
    unit = next(iter(kind.units))

    def read(value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, str):
            return kind.parse(value)
        # In a file the unit of a bare number would be a guess; zero needs no unit.
        text = bool((info.context or {}).get(TEXT))
        if text and type(value) in (int, float) and value != 0:
            if value < 0:
                raise ValueError(f"a {kind.name} such as '{kind.example}'; a {kind.name} is not negative")
            raise ValueError(f"a {kind.name} with its unit, such as '{kind.proposed(str(value))}'")
        if isinstance(value, float | list | tuple | dict):
            one = "a" if isinstance(value, float) else "one"
            in_code = "" if text else f", or in code a whole number of {unit}"
            raise ValueError(f"{one} {kind.name} with its unit, such as '{kind.example}'{in_code}")
        if type(value) is int and 0 < value < low:  # somebody thought of another unit
            allowed = f"a {kind.name} from {kind.format(low)} to {kind.format(high)}"
            meant = kind.proposed(str(value))
            raise ValueError(f"{allowed}; a number alone counts {unit}, so write its unit: '{meant}'")
        return value

    return read


def _writer(kind: Quantity) -> Callable[[int, SerializationInfo], int | str]:
    def write(value: int, info: SerializationInfo) -> int | str:
        return kind.format(value) if (info.context or {}).get(TEXT) else value

    return write


def quantity(kind: Quantity, low: int, high: int) -> tuple[Any, ...]:
    """Return the validators and the serializer of a field that holds a quantity.

    Parameters
    ----------
    kind : Quantity
        The kind of quantity, with its units.
    low, high : int
        Smallest and largest value, in the base unit.
    """

    def check(value: int) -> int:
        if low <= value <= high:
            return value
        raise ValueError(allowed)

    allowed = f"a {kind.name} from {kind.format(low)} to {kind.format(high)}"
    unit = next(iter(kind.units))
    number = {"type": "string", "pattern": kind.pattern, "description": f"{allowed}, such as {kind.example}"}
    # zero needs no unit
    described = Described({"anyOf": [number, {"const": 0}], ALLOWED: allowed, UNIT: unit})
    return BeforeValidator(_reader(kind, low, high)), AfterValidator(check), PlainSerializer(_writer(kind)), described


#: Keys of the JSON schema that only our reference reads: the allowed values in words, the unit in code, and the default
#: of files where that of canonical data is another one.
ALLOWED, UNIT, DEFAULT = "x-allowed", "x-unit", "x-default"


@dataclass(frozen=True, eq=False)  # marks of types must have a hash
class Described:
    """Mark of a field for the JSON schema: the values that files may have. It has no effect on validation.

    Parameters
    ----------
    schema : dict
        Replaces the schema of the type if it has ``anyOf``; otherwise it is added.
    """

    schema: dict[str, Any]

    def __get_pydantic_json_schema__(self, core: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Return the schema of the field; pydantic calls this."""
        return {**({} if "anyOf" in self.schema else handler(core)), **self.schema}


class _Checked(AfterValidator):
    """A validator that describes in the JSON schema which values it allows."""

    def __init__(self, check: Callable[[Any], Any], schema: dict[str, Any]) -> None:
        super().__init__(check)
        object.__setattr__(self, "described", Described(schema))

    def __get_pydantic_json_schema__(self, core: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        described: Described = self.described  # type: ignore[attr-defined]
        return described.__get_pydantic_json_schema__(core, handler)


def whole(low: int, high: int) -> AfterValidator:
    """Return the validator of an integer from `low` to `high`."""

    def check(value: int) -> int:
        if low <= value <= high:
            return value
        raise ValueError(allowed)

    allowed = f"a whole number from {low} to {high}"
    return _Checked(check, {"minimum": low, "maximum": high, ALLOWED: allowed})


def text(pattern: str, allowed: str, names: Iterable[str] = (), what: str = "") -> AfterValidator:
    """Return the validator of text that matches a pattern completely.

    Parameters
    ----------
    pattern : str
        A regular expression.
    allowed : str
        The pattern in words.
    names : iterable of str
        The usual values; the message has the nearest of them.
    what : str
        What has these names; see `rdcnlab.fields.phrases.unknown`.
    """
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if compiled.fullmatch(value):
            return value
        if names:
            raise FieldError("", value, allowed, reason=unknown(value, names, what))
        raise ValueError(allowed)

    return _Checked(check, {"description": allowed, ALLOWED: allowed})


def name(most: int, others: str, words: str, more: str) -> AfterValidator:
    """Return the validator of a name: a letter, and then letters, digits and some other characters.

    Parameters
    ----------
    most : int
        Largest number of characters.
    others : str
        Characters that are allowed in addition to letters and digits.
    words : str
        The same in words.
    more : str
        What else is allowed, for messages.
    """
    compiled = re.compile(_name_pattern(most, others))

    def check(value: str) -> str:
        if compiled.fullmatch(value):
            return value
        raise ValueError(f"{allowed}; this one {_fault_of_name(value, most, others)}")

    allowed = f"a letter (A-Z, a-z) followed by at most {most - 1} {words}{more}"
    return _Checked(check, {"description": allowed, ALLOWED: allowed})


def _name_pattern(most: int, others: str) -> str:
    return f"[A-Za-z][A-Za-z0-9{re.escape(others)}]{{0,{most - 1}}}"


def _fault_of_name(value: str, most: int, others: str) -> str:
    """Return in words why text is not a name."""
    if not value:
        return "is empty"
    wrong = next((sign for sign in value if not re.fullmatch(f"[A-Za-z0-9{re.escape(others)}]", sign)), None)
    if wrong is not None:
        return f"contains {wrong!r}"
    if not value[0].isalpha():
        return f"begins with {value[0]!r}"
    return f"has {len(value)} characters, and {most} is the most"


class FieldError(ValueError):
    """A value that is not compatible with another value.

    Parameters
    ----------
    field : str
        Path of the field, relative to the model that raises.
    value : object
        The value that was given.
    allowed : str
        What is allowed, in words.
    reason : str
        What is wrong, as a sentence of its own; see `rdcnlab.fields.errors.Problem`.
    """

    def __init__(self, field: str, value: Any, allowed: str = "", *, reason: str = "") -> None:
        self.field, self.value, self.allowed, self.reason = field, value, allowed, reason
        super().__init__(reason or allowed)

    @classmethod
    def unknown(cls, field: str, value: Any, names: Iterable[Any], what: str = "", *, also: str = "") -> FieldError:
        """Return the error of a name that does not exist; see `rdcnlab.fields.phrases.unknown` for the arguments."""
        known = list(names)
        allowed = f"one of {', '.join(map(str, known))}"
        return cls(field, value, allowed, reason=unknown(value, known, what, also=also))

    @classmethod
    def left_out(cls, field: str, value: Any, why: str) -> FieldError:
        """Return the error of a field that must have no value; see `rdcnlab.fields.phrases.left_out`."""
        return cls(field, value, f"nothing, {why}", reason=left_out(shown(value), why))


def unique(field: str, names: Iterable[str]) -> None:
    """Raise `FieldError` if a name occurs twice."""
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in first:
            reason = f"the name '{name}' occurs twice; {field}[{first[name]}] has it, too"
            raise FieldError(f"{field}[{index}].name", name, "a name that occurs only once", reason=reason)
        first[name] = index


def _listed(value: Any) -> Any:
    # YAML and JSON have lists only, which strict mode does not accept for a tuple.
    return tuple(value) if isinstance(value, list) else value


#: The longest time that a field can have, in ns.
DAY_NS = 24 * 3600 * 10**9

Duration = Annotated[int, *quantity(DURATION, 0, DAY_NS)]
#: One slot of a timetable. With shorter slots the kernel would be busy with switching only.
SlotDuration = Annotated[int, *quantity(DURATION, 1_000, DAY_NS)]
Limit = Annotated[int, *quantity(DURATION, 1_000_000, DAY_NS)]
Bin = Annotated[int, *quantity(DURATION, 1_000, 10 * 10**9)]
Rate = Annotated[int, *quantity(RATE, 1_000, 10 * 10**12)]
Size = Annotated[int, *quantity(SIZE, 0, 2**40)]
PositiveSize = Annotated[int, *quantity(SIZE, 1, 2**40)]
#: A queue limit or a socket setting in bytes; the kernel stores it in 32 bits.
Bytes32 = Annotated[int, *quantity(SIZE, 1, 2**32 - 1)]
Bytes31 = Annotated[int, *quantity(SIZE, 1, 2**31 - 1)]
#: A datagram with its IP and UDP headers and at least one byte of payload.
Datagram = Annotated[int, *quantity(SIZE, 29, 9216)]
Mtu = Annotated[int, *quantity(SIZE, 576, 9216)]
Overhead = Annotated[int, *quantity(SIZE, 14, 256)]
Share = Annotated[int, *quantity(SHARE, 0, 1_000_000)]
Listed = BeforeValidator(_listed)

_RANGE = "; a range such as {}[1-6] names several"
HostName = Annotated[str, name(15, "_", "letters, digits or _", _RANGE.format("h"))]
LinkName = Annotated[str, name(16, "_-", "letters, digits, _ or -", _RANGE.format("link"))]
#: A link, a schedule or, in a network of several switches, the links and switches that a way passes.
WayName = Annotated[
    str,
    text(
        rf"{_name_pattern(16, '_-')}(\+{_name_pattern(16, '_-')}){{0,7}}",
        "a letter (A-Z, a-z) followed by at most 15 letters, digits, _ or -; several such with + between",
    ),
]
FlowName = Annotated[
    str,
    text(
        "[A-Za-z][A-Za-z0-9_.-]{0,31}",
        "a letter followed by at most 31 letters, digits, _, - or ." + _RANGE.format("flow-"),
    ),
]
