# SPDX-License-Identifier: Apache-2.0
"""Ranges in names: ``a[1-16]`` stands for ``a1`` to ``a16``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rdcnlab.fields.errors import InputError, Problem

_RANGE = re.compile(r"\[([0-9]{1,4})-([0-9]{1,4})\]")


#: Most items that a list has with its ranges: the most flows of a scenario.
MOST_ITEMS = 100_000
#: Most values of a scenario's data. One of 100 000 flows with eight fields each has 900 000.
MOST_VALUES = 3_000_000


def expand(items: Any, field: str) -> Any:
    """Replace each mapping of a list by several mappings if its ``name`` has a range; keep all other items.

    Ranges in other text of the mapping, also in lists such as ``between``, advance together with the name.

    Parameters
    ----------
    items : list
        List of items, as read from plain data.
    field : str
        Name of the list in error messages.

    Raises
    ------
    InputError
        The ranges of one mapping are not equally long, or they stand for too many items.
    """
    if not isinstance(items, list | tuple):
        return items
    lengths = [_length(item) for item in items]
    if sum(lengths) > MOST_ITEMS:
        raise InputError(Problem(field, f"{sum(lengths)} items", f"at most {MOST_ITEMS} items"))
    several = [(item, length) for item, length in zip(items, lengths, strict=True) if length > 1]
    if sum(length * values_in(item, MOST_VALUES) for item, length in several) > MOST_VALUES:
        reason = f"with ranges it stands for more than {MOST_VALUES} values; let flows follow schedules of the network"
        raise InputError.of(field, f"{len(items)} items", reason=reason)
    return [part for item in items for part in _expanded_item(item, field)]


def expanded_network(data: dict[str, Any]) -> dict[str, Any]:
    """Return a network's plain data with the ranges in the names of its switches, hosts, links and so on expanded."""
    list_fields = ("hosts", "links", "pools", "schedules", "switches")
    return {field: expand(value, field) if field in list_fields else value for field, value in data.items()}


def names(name: str) -> list[str]:
    """Return the names that a name stands for: several if it has a range, otherwise itself."""
    match = _RANGE.search(name)
    numbers = [] if match is None else range(int(match[1]), int(match[2]) + 1)
    return [_place(name, number) for number in range(len(numbers))] or [name]


def _length(item: Any) -> int:
    """Return for how many items one stands, by the range in its name."""
    name = item.get("name") if isinstance(item, dict) else None
    match = _RANGE.search(name) if isinstance(name, str) else None
    return 1 if match is None else max(1, int(match[2]) - int(match[1]) + 1)


def values_in(data: Any, most: int) -> int:
    """Return the number of values in plain data, or a number above `most` if there are more.

    A part that occurs several times, as with the aliases of YAML, counts as often.
    """
    waiting, count = [data] if isinstance(data, list | tuple | dict) else [], 1
    while waiting and count <= most:
        part = waiting.pop()
        inner = part.values() if isinstance(part, dict) else part
        count += len(part)
        if count <= most:
            waiting += [one for one in inner if isinstance(one, list | tuple | dict)]
    return count


def _expanded_item(item: Any, field: str) -> list[Any]:
    name = item.get("name") if isinstance(item, dict) else None
    if not isinstance(name, str) or not _RANGE.search(name):
        return [item]
    ranges = [_RANGE.search(value) for value in _texts(item)]
    lengths = {int(match[2]) - int(match[1]) + 1 for match in ranges if match is not None}
    if len(lengths) != 1 or min(lengths) < 1:
        raise InputError.of(f"{field}.{name}", name, "ranges that rise and are equally long, such as a[1-16]")
    return [{key: _place(value, number) for key, value in item.items()} for number in range(lengths.pop())]


def _texts(value: Any) -> Iterator[str]:
    """Yield all text in plain data, such as the ends of a link or the slots of a path."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _place(value: Any, number: int) -> Any:
    if isinstance(value, str):
        return _RANGE.sub(lambda match: str(int(match[1]) + number), value)
    if isinstance(value, list | tuple):
        return [_place(part, number) for part in value]
    return {key: _place(part, number) for key, part in value.items()} if isinstance(value, dict) else value
