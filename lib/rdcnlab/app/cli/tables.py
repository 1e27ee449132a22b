# SPDX-License-Identifier: Apache-2.0
"""Tables in a terminal: nothing is cut, however narrow it is.

Columns of a table that is too wide are shown in several tables below each other, each with the columns that name a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.cells import cell_len
from rich.table import Table

#: Spaces between columns, and where these do not fit.
_GAP, _NARROW_GAP = 2, 1
#: Least width of a column of sentences, which are wrapped at spaces, in characters; shorter text is not wrapped.
_SENTENCE = 24


def tables(rows: Sequence[dict[str, Any]], width: int, title: str | None = None) -> Iterator[Table]:
    """Yield rows as tables that are at most `width` characters wide, where the longest word of each column allows it.

    Parameters
    ----------
    rows : sequence of dict
        All have the same keys, the names of columns.
    width : int
        In characters.
    title : str, optional
        The line above the first table.

    Examples
    --------
    >>> row = {"flow": "main", "goodput_Gbps": 7.777, "retransmits": 439}
    >>> [[column.header for column in table.columns] for table in tables([row], 24)]
    [['flow', 'goodput_Gbps'], ['flow', 'retransmits']]
    """
    names = list(rows[0]) if rows else []
    needed = {name: _needed(name, [row[name] for row in rows]) for name in names}
    for number, part in enumerate(_parts(names, needed, _keys(names, rows), width)):
        gap = _GAP if _total(part, needed, _GAP) <= width else _NARROW_GAP
        table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), title_justify="left", header_style="bold")
        table.title = title if number == 0 else ""
        for name in part:
            values = [row[name] for row in rows]
            table.add_column(
                name, justify="right" if _are_numbers(values) else "left", no_wrap=not _is_prose(values),
                min_width=needed[name], overflow="fold",
            )  # fmt: skip
        for row in rows:
            table.add_row(*(cell(row[name]) for name in part))
        yield table


def cell(value: Any) -> str:
    """Return a value as it stands in a table: four significant digits, ``yes`` or ``no``, nothing for None."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


def _are_numbers(values: Sequence[Any]) -> bool:
    given = [value for value in values if value is not None]
    return bool(given) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in given)


def _is_prose(values: Sequence[Any]) -> bool:
    return any(cell_len(text) > _SENTENCE and " " in text for text in map(cell, values))


def _needed(name: str, values: Sequence[Any]) -> int:
    """Return the least width of a column in which no word is cut."""
    texts = [name, *map(cell, values)]
    if not _is_prose(values):
        return max(map(cell_len, texts))
    words = [word for text in texts for word in text.split(" ")]
    return max(_SENTENCE, *map(cell_len, words), cell_len(name))


def _total(names: Sequence[str], needed: dict[str, int], gap: int) -> int:
    return sum(needed[name] for name in names) + gap * (len(names) - 1)


def _keys(names: Sequence[str], rows: Sequence[dict[str, Any]]) -> int:
    """Return the number of first columns that name a row: up to the first one with words."""
    words = (index for index, name in enumerate(names) if not _are_numbers([row[name] for row in rows]))
    return min(next(words, 0) + 1, max(1, len(names) - 1))


def _parts(names: Sequence[str], needed: dict[str, int], keys: int, width: int) -> Iterator[list[str]]:
    """Yield the columns of each table."""
    part = list(names[:keys])
    for name in names[keys:]:
        if len(part) > keys and _total([*part, name], needed, _NARROW_GAP) > width:
            yield part
            part = list(names[:keys])
        part.append(name)
    if part:
        yield part
