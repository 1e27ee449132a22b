# SPDX-License-Identifier: Apache-2.0
"""Quantities with units: text for people, integers for code.

Durations are in nanoseconds, rates in bit/s, sizes in bytes, shares in millionths. All are integers, so that no
precision is lost between text, scenario, kernel and table. Decimal prefixes are powers of 1000 (kB = 1000 B), binary
prefixes are powers of 1024 (KiB = 1024 B). ``KB`` is refused, because it is used for both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from rdcnlab.fields.phrases import nearest

NS_PER_US: Final = 1_000
NS_PER_MS: Final = 1_000_000
NS_PER_S: Final = 1_000_000_000

# Ethernet on the wire: header 14 + FCS 4 + preamble 8 + gap 12 (IEEE 802.3).
WIRE_OVERHEAD: Final = 38

_NUMBER = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,15})?)[ \t]*([A-Za-z%µμ/]+)")
_PLAIN_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,15})?")
_LONG_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?[ \t]*[A-Za-z%µμ/]*")


def in_seconds(ns: int) -> str:
    """Return an instant in s with its unit, without zeros at its end.

    Examples
    --------
    >>> in_seconds(1_000_030_000), in_seconds(0), in_seconds(3_600_000_000_000)
    ('1.00003 s', '0 s', '3600 s')
    """
    whole, rest = divmod(ns, NS_PER_S)
    return f"{whole}.{rest:09}".rstrip("0").rstrip(".") + " s"


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
    refused : dict of str to str
        Spellings that people use but that could mean two things, and what to write instead.
    words : dict of str to str
        Other words for a unit in lower case, which `parse` refuses and for which messages propose the unit.
    base_from : float
        Numbers without a unit are probably in the base unit if they are at least this large, as 1500 B is a size.
    fractions : bool
        Whether a number below 1 without a unit is probably a part of one, as 0.01 is 1 %.
    """

    name: str
    units: dict[str, int]
    aliases: dict[str, str]
    example: str
    refused: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    base_from: float = math.inf
    fractions: bool = False

    def proposed(self, number: str) -> str:
        """Return what a number without a unit probably means.

        Examples
        --------
        >>> SIZE.proposed("1500"), SIZE.proposed("2"), SHARE.proposed("0.01"), DURATION.proposed("50")
        ('1500 B', '2 GiB', '1 %', '50 ms')
        """
        value, usual = float(number), self.example.split()[1]
        if self.fractions and 0 < value < 1:
            return f"{100 * value:g} %"
        return f"{number} {next(iter(self.units)) if value >= self.base_from else usual}"

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
            hint = self._hint_without_unit(text) if match is None else self._hint(match[1], match[2])
            raise ValueError(f"a {self.name} such as '{self.example}' (units: {', '.join(self.units)}){hint}")
        value = Fraction(match[1]) * self.units[unit]
        if value.denominator != 1:
            raise ValueError(f"a whole number of {next(iter(self.units))}")
        return int(value)

    def _hint_without_unit(self, text: str) -> str:
        """Return in words what text that is no number with a unit lacks, or nothing."""
        if text.strip().startswith("-"):
            return f"; a {self.name} is not negative"
        if _PLAIN_NUMBER.fullmatch(text.strip()):
            return f"; did you mean '{self.proposed(text.strip())}'?"
        return "; this number has too many digits" if _LONG_NUMBER.fullmatch(text.strip()) else ""

    def _hint(self, number: str, unit: str) -> str:
        """Return in words why a unit is not one of ours, or the unit that was probably meant; or nothing."""
        if unit in self.refused:
            return f"; {self.refused[unit]}"
        known = [*self.units, *self.aliases]
        same = [name for name in known if name.lower() == unit.lower()]
        if same:
            return f"; case counts: write {same[0]} instead of {unit}"
        near = nearest(self.words.get(unit.lower(), unit), known)
        return f"; did you mean '{number} {self.aliases.get(near, near)}'?" if near else ""

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
    words={
        **dict.fromkeys(("nsec", "nsecs", "nanosecond", "nanoseconds"), "ns"),
        **dict.fromkeys(("usec", "usecs", "microsecond", "microseconds"), "us"),
        **dict.fromkeys(("msec", "msecs", "millisecond", "milliseconds", "millis"), "ms"),
        **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    },
)
RATE: Final = Quantity(
    "rate",
    {"b/s": 1, "kb/s": 10**3, "Mb/s": 10**6, "Gb/s": 10**9, "Tb/s": 10**12},
    # prefixes of rates are powers of 1000 everywhere, so a capital K has one meaning here
    {
        f"{prefix}{unit}": f"{'k' if prefix == 'K' else prefix}b/s"
        for prefix in ("", "k", "K", "M", "G", "T")
        for unit in ("bit/s", "bps", "b/s")
        if f"{prefix}{unit}" not in ("b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s")
    },
    "10 Gb/s",
    {
        f"{prefix}{unit}": f"B is bytes and rates are in bits: 1 {prefix}{unit} is 8 {prefix.replace('K', 'k')}b/s"
        for prefix in ("", "k", "K", "M", "G", "T")
        for unit in ("B/s", "Bps")
    }
    | {
        f"{prefix}B": f"{prefix}B is a size: write {prefix.replace('K', 'k')}b/s, bits in a second"
        for prefix in ("k", "K", "M", "G", "T")
    },
    # the spelling of `tc`, and prefixes alone
    {f"{prefix.lower()}{unit}": f"{prefix}b/s" for prefix in ("k", "M", "G", "T") for unit in ("", "bit")}
    | {"bit": "b/s"},
    base_from=1e6,
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
    {
        # Some programs mean 1000 bytes by it and others 1024. A guess would be wrong by 2.4 %, and nobody would see it.
        "KB": "KB is 1000 B to some and 1024 B to others: write kB for 1000 B, KiB for 1024 B",
        **{
            f"{prefix}b": f"b stands for bits, and sizes are in bytes, {prefix}B" for prefix in ("", "k", "M", "G", "T")
        },
        "Kb": "b stands for bits, and sizes are in bytes: write kB for 1000 B, KiB for 1024 B",
    },
    {"byte": "B", "bytes": "B", "k": "kB", "m": "MB", "g": "GB", "t": "TB"},
    base_from=1000,
)
SHARE: Final = Quantity("share", {"ppm": 1, "%": 10_000}, {}, "10 %", fractions=True)
