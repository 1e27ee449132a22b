# SPDX-License-Identifier: Apache-2.0
"""Write many names in short form: ``a1`` to ``a16`` becomes ``a[1-16]``, as in scenarios."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from rdcnlab.fields.units import DURATION, SIZE, Quantity  # noqa: F401  (the example uses the first two)

_DIGITS = re.compile(r"(0|[1-9][0-9]*)")


def compress(names: Iterable[str]) -> str:
    """Return names in short form, with ranges instead of numbers, joined by commas.

    Parameters
    ----------
    names : iterable of str
        Names in the order in which they appear in the result.

    Examples
    --------
    >>> compress(["s1", "s2", "r1", "green"])
    's[1-2], r1, green'
    >>> compress(["leaf1-spine1", "leaf1-spine2", "leaf2-spine1", "leaf2-spine2"])
    'leaf[1-2]-spine[1-2]'
    """
    alike: dict[tuple[str, ...], list[tuple[int, ...]]] = {}
    for name in dict.fromkeys(names):
        parts = _DIGITS.split(name)
        alike.setdefault(tuple(parts[::2]), []).append(tuple(map(int, parts[1::2])))
    return ", ".join(_ranges(texts, numbers) for texts, numbers in alike.items())


def _ranges(texts: tuple[str, ...], numbers: list[tuple[int, ...]]) -> str:
    columns = [sorted(set(column)) for column in zip(*numbers, strict=True)]
    if set(itertools.product(*columns)) == set(numbers) and all(_gapless(column) for column in columns):
        return _joined(texts, [_range(column[0], column[-1]) for column in columns])
    if len(columns) == 1:
        return ", ".join(_joined(texts, [_range(run[0], run[-1])]) for run in _runs(columns[0]))
    words = [_joined(texts, list(map(str, row))) for row in numbers]
    return ", ".join(words) if len(words) <= 4 else f"{words[0]}, {words[1]} ... {words[-1]}"


def _gapless(column: Sequence[int]) -> bool:
    return column[-1] - column[0] == len(column) - 1


def _runs(column: Sequence[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for number in column:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"[{first}-{last}]"


def _joined(texts: Sequence[str], numbers: Sequence[str]) -> str:
    return "".join(part for pair in itertools.zip_longest(texts, numbers, fillvalue="") for part in pair)


def group_by(items: Iterable[Any], key: Any) -> list[list[Any]]:
    """Group items by a key. The groups have the order of their first items.

    Parameters
    ----------
    items : iterable
        Items to group.
    key : callable
        Gives the key of an item, which must be hashable.
    """
    groups: dict[Any, list[Any]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def readable(kind: Quantity, value: int) -> str:
    """Return the exact text of a quantity, in the unit in which it is easiest to read; it may have decimals.

    Parameters
    ----------
    kind : Quantity
        Kind of quantity, which has the units.
    value : int
        Value in the base unit.

    Examples
    --------
    >>> readable(DURATION, 37_040), readable(SIZE, 2_787_500), readable(SIZE, 2**31)
    ('37.04 us', '2.7875 MB', '2 GiB')
    """
    texts = [kind.format(value)]
    for unit, factor in kind.units.items():
        number = Decimal(value) / factor
        if number >= 1 and number == round(number, 6):
            texts.append(f"{number.normalize():f} {unit}")
    # among equally short texts the larger unit is easier to read; four digits before the point are hard to read
    return min(reversed(texts), key=lambda text: len(text) + 2 * (len(text.split(" ")[0].split(".")[0]) > 3))
