# SPDX-License-Identifier: Apache-2.0
"""Version numbers that can be compared; Mininet compares the versions of Open vSwitch."""

from __future__ import annotations

import functools


@functools.total_ordering
class StrictVersion:
    """A version number: numbers separated by dots.

    Parameters
    ----------
    text : str
        Text such as ``3.1.0``; missing numbers at the end are zero.

    Raises
    ------
    ValueError
        A part of the text is not a number.
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
