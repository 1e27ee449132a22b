# SPDX-License-Identifier: Apache-2.0
"""Distributions of flow sizes: a number, a published distribution by its name, points, or a file with points."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, ValidationInfo, model_validator
from pydantic_core.core_schema import SerializationInfo

from rdcnlab.fields import own_yaml
from rdcnlab.fields.phrases import nearest
from rdcnlab.fields.quantities import ALLOWED, TEXT, Described, FieldError, Frozen, Listed, PositiveSize, Share
from rdcnlab.fields.units import SHARE, SIZE
from rdcnlab.scenario.user_file import DIRECTORY
from rdcnlab.scenario.workloads.tabular import lines_of

#: All flows, in millionths.
WHOLE = 1_000_000
#: Upper end of the numbers that are drawn; each millionth has a thousand million of them.
FINE = 10**15
_FILE = "a file with a size in bytes and the share of flows that are not larger in each line, up to 100 or 1"


@dataclass(frozen=True)
class Distribution:
    """A published distribution: what it describes, its source, and its points."""

    name: str
    what: str
    source: str
    points: tuple[tuple[int, int], ...]

    @property
    def sizes(self) -> Sizes:
        """The sizes of flows of which this is the distribution."""
        return Sizes(**_of_points(self.points))


@functools.cache
def distributions() -> dict[str, Distribution]:
    """Return the published distributions by name.

    Examples
    --------
    >>> [*distributions()]
    ['web-search', 'data-mining', 'hadoop', 'cache']
    """
    text = (resources.files("rdcnlab") / "scenario" / "workloads" / "distributions.yaml").read_text(encoding="utf-8")
    return {
        name: Distribution(
            name,
            entry["what"],
            entry["source"],
            tuple((size, round(percent * WHOLE / 100)) for size, percent in entry["points"]),
        )
        for name, entry in own_yaml.parse(text).items()
    }


class Point(Frozen):
    """A point of a distribution; text form ``[10 kB, 15 %]``.

    Parameters
    ----------
    size : int
        Bytes.
    share : int
        Share of the flows that are not larger, in millionths.
    """

    size: PositiveSize
    share: Share


def _read_point(value: Any) -> Any:
    if isinstance(value, list | tuple):
        if len(value) != 2:
            raise ValueError("a pair such as [10 kB, 15 %]")
        return {"size": value[0], "share": value[1]}
    return value


class Sizes(Frozen):
    """How large flows are. Text form: a size, the name of a published distribution, or the path of a file.

    Parameters
    ----------
    points : tuple of Point
        The distribution function. Between two points it is a straight line; a share of flows below the first point is
        spread from 1 byte to it. The last share is 100 %. A single point means that all flows have this size.

    Examples
    --------
    >>> Sizes(points=(Point(size=1000, share=WHOLE),)).mean
    1000.0
    """

    points: Annotated[
        tuple[Annotated[Point, BeforeValidator(_read_point)], ...], Field(min_length=1, max_length=1000), Listed
    ]

    @model_validator(mode="after")
    def _rises(self) -> Sizes:
        for number, (one, other) in enumerate(itertools.pairwise(self.points), 1):
            if other.size <= one.size or other.share < one.share:
                value = f"{SIZE.format(other.size)} after {SIZE.format(one.size)}"
                raise FieldError(
                    f"points[{number}]", value, "larger than the point before, with a share that is not less"
                )
        if self.points[-1].share != WHOLE:
            raise FieldError("points", SHARE.format(self.points[-1].share), "points whose last share is 100 %")
        return self

    @functools.cached_property
    def spans(self) -> list[tuple[int, int, int]]:
        """The straight parts of the distribution: least size, largest size, and millionths of the flows."""
        if len(self.points) == 1:
            return [(self.points[0].size, self.points[0].size, WHOLE)]
        points = [(0, 0), *((point.size, point.share) for point in self.points)]
        return [(low, high, b - a) for (low, a), (high, b) in itertools.pairwise(points) if b > a]

    @property
    def mean(self) -> float:
        """Mean of the straight lines in bytes; `drawn_mean` is that of the flows, whose sizes are whole and cut."""
        return sum((low + high) / 2 * share for low, high, share in self.spans) / WHOLE

    def at(self, place: int) -> int:
        """Return the size at a place of the distribution, from 0 to `FINE` - 1, in bytes; whole numbers only.

        Examples
        --------
        >>> sizes = Sizes.model_validate({"points": [{"size": 10, "share": 500_000}, {"size": 110, "share": WHOLE}]})
        >>> sizes.at(FINE // 2), sizes.at(FINE * 3 // 4)
        (10, 60)
        """
        grain = FINE // WHOLE
        below = 0
        for low, high, share in self.spans:
            if place < (below + share) * grain:
                # rounded up, so that the share of flows up to a whole size is exact
                return max(1, low + -(-(high - low) * (place - below * grain) // (share * grain)))
            below += share
        raise AssertionError("unreachable")

    def drawn_mean(self, at_most: int | None = None) -> float:
        """Return the mean size in bytes of the flows that `at` draws, of which larger ones are cut to `at_most`.

        Examples
        --------
        >>> sizes = Sizes.model_validate({"points": [{"size": 1, "share": 500_000}, {"size": 3, "share": WHOLE}]})
        >>> sizes.drawn_mean(), sizes.drawn_mean(2), sizes.mean
        (1.75, 1.5, 1.25)
        """
        return self._mean_drawn(lambda most: most * (most + 1) // 2, lambda size: size, at_most)

    def drawn_frames(self, payload: int, at_most: int | None = None) -> float:
        """Return the mean number of packets of the flows that `at` draws, with at most so many bytes of payload.

        Examples
        --------
        >>> Sizes.model_validate({"points": [{"size": 3000, "share": WHOLE}]}).drawn_frames(1000, 2500)
        3.0
        """

        def sum_up_to(most: int) -> int:
            full, rest = divmod(most, payload)
            return payload * full * (full + 1) // 2 + rest * (full + 1)

        return self._mean_drawn(sum_up_to, lambda size: -(-size // payload), at_most)

    def _mean_drawn(self, sum_up_to: Callable[[int], int], value: Callable[[int], int], at_most: int | None) -> float:
        """Return the mean of a value of a flow over all sizes that can be drawn; `sum_up_to` is its sum from 1 byte.

        Within a straight line of the distribution each whole size above the lower end is equally likely.
        """
        most = self.points[-1].size if at_most is None else at_most

        def cut_sum(size: int) -> int:
            return sum_up_to(min(size, most)) + max(0, size - most) * value(most)

        total = 0.0
        for low, high, share in self.spans:
            total += share * (value(min(high, most)) if low == high else (cut_sum(high) - cut_sum(low)) / (high - low))
        return total / WHOLE

    def frames(self, payload: int) -> float:
        """Return about the mean number of packets of a flow; loads of uncut sizes count it (`Arrivals.counts`)."""
        total = 0.0
        for low, high, share in self.spans:
            middle = (low + high) / 2
            # sizes that are spread over many packets fill half of the last one in the mean
            total += share * (middle / payload + 0.5 if high - low >= payload else -(-middle // payload))
        return total / WHOLE


def _read(value: Any, info: ValidationInfo) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and not (info.context or {}).get(TEXT):
        return _of_points([(value, WHOLE)])
    if isinstance(value, list | tuple):
        return {"points": list(value)}
    if not isinstance(value, str):
        return value
    if value in distributions():
        return _of_points(distributions()[value].points)
    if "." in value.rpartition("/")[2] and not value.strip()[:1].isdigit():
        path = Path((info.context or {}).get(DIRECTORY) or ".").absolute() / value
        return _of_points(_points_of(path, value))
    if value.strip()[:1].isdigit():
        return _of_points([(SIZE.parse(value), WHOLE)])
    near = nearest(value, list(distributions()))
    names = ", ".join(distributions())
    reason = (
        f"there is no distribution '{value}'{f'. Did you mean {near!r}?' if near else '.'} Possible: {names}, a size "
    )
    raise FieldError("", value, "", reason=f"{reason}such as '10 kB', or the path of a file such as sizes.csv")


def _of_points(points: Iterable[tuple[int, int]]) -> dict[str, Any]:
    # numbers have no unit, so they are not read like those of files
    return {"points": tuple(Point(size=size, share=share) for size, share in points)}


def _points_of(path: Path, given: str) -> list[tuple[int, int]]:
    points = []
    rows = lines_of(path, given, 2, _FILE)
    try:
        numbers = [(float(size), float(share)) for _, (size, share) in rows]
    except ValueError:
        raise ValueError(f"{_FILE} ({given} has a word that is no number)") from None
    whole = numbers[-1][1]
    if whole not in (1, 100):
        raise ValueError(f"{_FILE} ({given} ends with {whole:g})")
    if not all(math.isfinite(size) and math.isfinite(share) for size, share in numbers):
        raise ValueError(f"{_FILE} ({given} has a number that is not finite)")
    for size, share in numbers:
        if round(size) >= 1:  # files begin with 0 bytes and no flow
            points.append((round(size), round(share * WHOLE / whole)))
    return points


def _write(sizes: Sizes, info: SerializationInfo) -> Any:
    plain = tuple((point.size, point.share) for point in sizes.points)
    if not (info.context or {}).get(TEXT):
        return {"points": [{"size": size, "share": share} for size, share in plain]}
    named = [name for name, known in distributions().items() if known.points == plain]
    if named:
        return named[0]
    if len(plain) == 1:
        return SIZE.format(plain[0][0])
    return [[SIZE.format(size), SHARE.format(share)] for size, share in plain]


_ALLOWED = "a size, the name of a published distribution, the path of a file, or points such as [[10 kB, 15 %], ...]"
SizesField = Annotated[
    Sizes,
    BeforeValidator(_read),
    PlainSerializer(_write),
    Described({ALLOWED: _ALLOWED}),
]
