# SPDX-License-Identifier: Apache-2.0
"""Quantities with units: text for people, integers for code.

Durations are in nanoseconds, rates in bit/s, sizes in bytes, shares in millionths. All are integers, so that no
precision is lost between text, scenario, kernel and table. Decimal prefixes are powers of 1000 (kB = 1000 B), binary
prefixes are powers of 1024 (KiB = 1024 B).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

NS_PER_US: Final = 1_000
NS_PER_MS: Final = 1_000_000
NS_PER_S: Final = 1_000_000_000

# Ethernet on the wire: header 14 + FCS 4 + preamble 8 + gap 12 (IEEE 802.3).
WIRE_OVERHEAD: Final = 38

_NUMBER = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,15})?)[ \t]*([A-Za-z%µμ/]+)")


@dataclass(frozen=True)
class Quantity:
    """A kind of quantity: its name and its units.

    Parameters
    ----------
    name : str
        Name in error messages, such as ``duration``.
    units : dict of str to int
        Factor to the base unit; the first unit listed is the base unit.
    aliases : dict of str to str
        Other spellings, which `parse` accepts and `format` never writes.
    example : str
        A valid text.
    """

    name: str
    units: dict[str, int]
    aliases: dict[str, str]
    example: str

    @property
    def pattern(self) -> str:
        """A regular expression of JSON schemas for texts of this kind."""
        units = "|".join(re.escape(unit) for unit in [*self.units, *self.aliases])
        return rf"^[0-9]{{1,18}}(\.[0-9]{{1,15}})?[ \t]*({units})$"

    def parse(self, text: str) -> int:
        """Read a text such as ``50 ms`` exactly.

        Parameters
        ----------
        text : str
            A number that is not negative, and a unit.

        Returns
        -------
        int
            The value in the base unit.

        Raises
        ------
        ValueError
            The text is not of this form, the unit is unknown, or the value is not a whole number of base units.
        """
        match = _NUMBER.fullmatch(text.strip())
        unit = "" if match is None else self.aliases.get(match[2], match[2])
        if match is None or unit not in self.units:
            raise ValueError(f"a {self.name} such as '{self.example}' (units: {', '.join(self.units)})")
        value = Fraction(match[1]) * self.units[unit]
        if value.denominator != 1:
            raise ValueError(f"a whole number of {next(iter(self.units))}")
        return int(value)

    def format(self, value: int) -> str:
        """Write a value in the unit that needs the fewest characters; `parse` returns the same value."""
        exact = [f"{value // factor} {unit}" for unit, factor in self.units.items() if value % factor == 0]
        if value == 0:
            return exact[0]
        # If several texts are equally short, the largest unit is the most readable.
        return min(reversed(exact), key=len)


DURATION: Final = Quantity(
    "duration",
    {"ns": 1, "us": NS_PER_US, "ms": NS_PER_MS, "s": NS_PER_S},
    {"µs": "us", "μs": "us"},
    "50 ms",
)
RATE: Final = Quantity(
    "rate",
    {"b/s": 1, "kb/s": 10**3, "Mb/s": 10**6, "Gb/s": 10**9, "Tb/s": 10**12},
    {"bit/s": "b/s", "kbit/s": "kb/s", "Mbit/s": "Mb/s", "Gbit/s": "Gb/s", "Tbit/s": "Tb/s"},
    "10 Gb/s",
)
SIZE: Final = Quantity(
    "size",
    {
        "B": 1,
        "kB": 10**3,
        "KiB": 2**10,
        "MB": 10**6,
        "MiB": 2**20,
        "GB": 10**9,
        "GiB": 2**30,
        "TB": 10**12,
        "TiB": 2**40,
    },
    {},
    "2 GiB",
)
SHARE: Final = Quantity("share", {"ppm": 1, "%": 10_000}, {}, "10 %")
