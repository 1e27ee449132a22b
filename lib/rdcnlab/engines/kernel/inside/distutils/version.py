# SPDX-License-Identifier: Apache-2.0
"""Version numbers that can be compared, as Mininet compares those of Open vSwitch."""

from __future__ import annotations

import functools


@functools.total_ordering
class StrictVersion:
    """Numbers with dots between them.

    Parameters
    ----------
    text : str
        As in ``3.1.0``; missing numbers at the end are zero.

    Raises
    ------
    ValueError
        Something in it is no number.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        numbers = [int(word) for word in text.split(".")]
        while len(numbers) > 1 and not numbers[-1]:
            numbers.pop()
        self.numbers = tuple(numbers)

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return self.numbers == _version(other).numbers

    def __lt__(self, other: object) -> bool:
        return self.numbers < _version(other).numbers

    def __hash__(self) -> int:
        return hash(self.numbers)


def _version(value: object) -> StrictVersion:
    return value if isinstance(value, StrictVersion) else StrictVersion(str(value))
