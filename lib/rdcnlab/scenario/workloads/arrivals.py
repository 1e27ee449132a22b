# SPDX-License-Identifier: Apache-2.0
"""Instants at which a workload starts flows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, ValidationInfo, model_validator
from pydantic_core.core_schema import SerializationInfo

from rdcnlab.fields import input_file
from rdcnlab.fields.quantities import (
    ALLOWED,
    DEFAULT,
    TEXT,
    Described,
    Duration,
    FieldError,
    Frozen,
    Listed,
    omit_default,
    quantity,
)
from rdcnlab.fields.units import DURATION, SHARE
from rdcnlab.scenario.user_file import DIRECTORY
from rdcnlab.scenario.workloads.tabular import MOST_LINES, lines_of

#: What `Arrivals.of` may be besides a link or a host.
HOSTS, FABRIC = "hosts", "fabric"
#: What `Arrivals.counts` may be.
DRAWN: Final = "drawn"
UNCUT: Final = "uncut"
_UNITS = {"t_s": 10**9, "t_ms": 10**6, "t_us": 10**3, "t_ns": 1}
_FILE = f"a file with an instant in each line, whose header has its unit ({', '.join(_UNITS)})"
_KINDS = ("load", "poisson", "interval", "instants", "once")

Interval = Annotated[int, *quantity(DURATION, 1, 24 * 3600 * 10**9)]


class Arrivals(Frozen):
    """When flows start. Exactly one of `load`, `poisson`, `interval`, `instants` and `once` is given.

    Parameters
    ----------
    load : int or None
        Arrivals are a Poisson process whose flows use this share (millionths) of the rate of `of`, in the mean over
        many flows. Data frames count with their headers; ACKs and retransmissions do not count. 1 to 200 %.
    of : str
        What `load` is the load of. ``hosts``: the lines of the hosts that send, in the mean. ``fabric``: the lines
        between switches that the workload can use, in the mean. A link: the busier of its two ends. A host: its line,
        in the direction that is busier.
    counts : {'drawn', 'uncut'}
        The sizes of which `load` is made. ``drawn``, which is the default with `load`: those that flows have, cut to
        `Workload.at_most`. ``uncut``: those of the distribution, so that flows offer less than `load` where
        `Workload.at_most` cuts some. Scenarios that were stored before 2026-11-29 have this meaning, and keep it.
    poisson : int or None
        Arrivals are a Poisson process with this mean time between them, in ns.
    interval : int or None
        ns from arrival to arrival.
    instants : tuple of int
        ns after the start of the workload. In files also ``{file: arrivals.csv}``.
    once : bool
        All arrivals are at the start. Text form ``once``.
    """

    load: Annotated[Annotated[int, *quantity(SHARE, 10_000, 2_000_000)] | None, omit_default] = None
    of: Annotated[str, omit_default] = HOSTS
    counts: Annotated[Literal["drawn", "uncut"], Described({DEFAULT: DRAWN}), omit_default] = UNCUT
    poisson: Annotated[Interval | None, omit_default] = None
    interval: Annotated[Interval | None, omit_default] = None
    instants: Annotated[tuple[Duration, ...], Field(max_length=MOST_LINES), Listed, omit_default] = ()
    once: Annotated[bool, omit_default] = False

    @model_validator(mode="before")
    @classmethod
    def _what_load_counts(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if data.get("load") is None:
            return {name: value for name, value in data.items() if name != "counts"}
        return {"counts": DRAWN, **data}

    @model_validator(mode="after")
    def _one_kind(self) -> Arrivals:
        given = [name for name in _KINDS if getattr(self, name) not in (None, (), False)]
        if len(given) != 1:
            reason = f"{' and '.join(given)} exclude each other" if given else "nothing says when flows start"
            raise FieldError("", given, reason=f"{reason}. Write one of {', '.join(_KINDS)}")
        if self.load is None and self.of != HOSTS:
            raise FieldError.left_out("of", self.of, f"with {given[0]}: it says what load is the load of")
        if list(self.instants) != sorted(self.instants):
            raise FieldError("instants", "a list that falls", "instants in rising order")
        return self

    @property
    def is_poisson(self) -> bool:
        """Whether the arrivals are a Poisson process."""
        return self.load is not None or self.poisson is not None


def _read(value: Any, info: ValidationInfo) -> Any:
    if value == "once":
        return {"once": True}
    if isinstance(value, dict) and isinstance(value.get("file"), str):
        given = value["file"]
        path = Path((info.context or {}).get(DIRECTORY) or ".").absolute() / given
        others = {name: item for name, item in value.items() if name != "file"}
        return {**others, "instants": _instants_of(path, given)}
    if isinstance(value, str):
        raise ValueError("once, or a mapping such as {load: 50 %} or {interval: 1 ms}")
    return value


def _instants_of(path: Path, given: str) -> list[str]:
    rows = lines_of(path, given, 1, _FILE)
    lines = input_file.read_lines(path, input_file.TABLE, "utf-8-sig")
    header = next((line.strip() for line in lines if line.strip() and not line.startswith("#")), "")
    if header not in _UNITS:
        raise ValueError(f"{_FILE} ({given} begins with {header[:20]!r})")
    try:
        return [f"{round(float(words[0]) * _UNITS[header])} ns" for _, words in rows]
    except (ValueError, OverflowError):
        raise ValueError(f"{_FILE} ({given} has a word that is no number)") from None


def _write(arrivals: Arrivals, info: SerializationInfo) -> Any:
    if (info.context or {}).get(TEXT) and arrivals.once:
        return "once"
    data: dict[str, Any] = arrivals.model_dump(mode="json", context=info.context)
    if (info.context or {}).get(TEXT) and arrivals.load is not None:
        # what people read and write has the other default than stored data; see `as_stored`
        data.pop("counts", None)
        data |= {} if arrivals.counts == DRAWN else {"counts": arrivals.counts}
    return data


def as_stored(arrivals: Any) -> Any:
    """Return arrivals of canonical data with what they count: such data leave out ``uncut``.

    Until 2026-11-29 every load was that of uncut sizes. Its canonical data, and with them the hashes and the flows of
    stored runs, stay as they were; a load of what is drawn says so there.
    """
    if isinstance(arrivals, dict) and arrivals.get("load") is not None:
        return {"counts": UNCUT, **arrivals}
    return arrivals


ArrivalsField = Annotated[
    Arrivals,
    BeforeValidator(_read),
    PlainSerializer(_write),
    Described({ALLOWED: "`once`, or a mapping such as `{load: 50 %, of: fabric}` or `{file: arrivals.csv}`"}),
]
