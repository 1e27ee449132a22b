# SPDX-License-Identifier: Apache-2.0
"""Queueing disciplines of Linux, on the end of a line."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rdcnlab.fields.quantities import FieldError, Frozen, Listed, text

_NAME = "a name of an option of tc: lower-case letters, digits and _"
_VALUE = "a value of an option of tc: letters, digits and . _ / : - %, several of them with spaces between"


class Option(Frozen):
    """One option of a discipline.

    Parameters
    ----------
    name : str
        Its name in ``tc``.
    value : str
        Its value as ``tc`` writes it; empty if the name stands alone.
    """

    name: Annotated[str, text("[a-z][a-z0-9_]{0,31}", _NAME)]
    value: Annotated[str, text(r"([A-Za-z0-9._/:%-]+( [A-Za-z0-9._/:%-]+){0,31})?", _VALUE)] = ""


class Aqm(Frozen):
    """A queueing discipline of Linux: it decides which packets wait, are dropped, are marked, and are sent next.

    In files all options stand beside `kind`: ``aqm: {kind: fq_codel, target: 5ms, limit: 1000, ecn: true}``. True
    writes the option's name alone (``ecn``), false writes ``noecn``, and a list writes several values. An option that
    is not given has the kernel's default; ``man tc-fq_codel`` lists them.

    Parameters
    ----------
    kind : str
        The discipline, by its name in ``tc``.
    options : tuple of Option
        Its options, in the order in which ``tc`` gets them.
    """

    kind: Literal[
        "bfifo",
        "cake",
        "choke",
        "codel",
        "ets",
        "fq",
        "fq_codel",
        "fq_pie",
        "pfifo",
        "pie",
        "prio",
        "red",
        "sfb",
        "sfq",
    ]
    options: Annotated[tuple[Option, ...], Field(max_length=32), Listed] = ()

    @model_validator(mode="before")
    @classmethod
    def _options_beside_kind(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"kind": data}
        if not isinstance(data, dict) or "options" in data or "kind" not in data:
            return data
        given = [_option(str(name), value) for name, value in data.items() if name != "kind"]
        return {"kind": data["kind"], "options": given}

    @property
    def tc(self) -> str:
        """The discipline with its options, as the command ``tc`` takes it."""
        words = [self.kind, *(f"{option.name} {option.value}".strip() for option in self.options)]
        return " ".join(words)


def _option(name: str, value: Any) -> dict[str, str]:
    if value is True:
        return {"name": name}
    if value is False:
        return {"name": f"no{name}"}
    if isinstance(value, list | tuple):
        value = " ".join(map(str, value))
    if not isinstance(value, str | int | float):
        raise FieldError(name, value, "a number, text, true, false or a list of numbers")
    # tc knows no space between a number and its unit, except between the values of a list
    words = str(value).split(" ")
    joined = len(words) == 2 and words[0].replace(".", "").isdigit() and words[1].isalpha()
    return {"name": name, "value": "".join(words) if joined else str(value)}
