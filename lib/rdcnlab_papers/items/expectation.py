# SPDX-License-Identifier: Apache-2.0
"""`Expectation`: the numbers that satisfy a claim, and on which side of "no effect" they are."""

from __future__ import annotations

import math
import re
from typing import Annotated

from pydantic import model_validator

from rdcnlab.fields.quantities import Frozen, Listed

_TOLERANCE = re.compile(r"\d+(\.\d+)?( ?%)?")


class Expectation(Frozen):
    """The numbers that satisfy a claim. Exactly one field is given, and `tolerance` together with `near`.

    Parameters
    ----------
    near : float
        The measured number differs from this value by at most `tolerance`.
    below, above, at_most, at_least, equals : float
        The measured number has the relation of that name to this value.
    between : tuple of float
        Lower and upper bound; both are included.
    tolerance : str or float
        Allowed difference from `near`: a share of it, such as ``1 %``, or a plain number. Only given with `near`.
    """

    near: float | None = None
    tolerance: str | float | None = None
    below: float | None = None
    above: float | None = None
    at_most: float | None = None
    at_least: float | None = None
    equals: float | None = None
    between: Annotated[tuple[float, float], Listed] | None = None

    @model_validator(mode="after")
    def _one(self) -> Expectation:
        names = [name for name in type(self).model_fields if getattr(self, name) is not None and name != "tolerance"]
        if len(names) != 1 or (names == ["near"]) != (self.tolerance is not None):
            raise ValueError("one of near (with tolerance), below, above, at_most, at_least, equals, between")
        if self.tolerance is not None and not _TOLERANCE.fullmatch(str(self.tolerance)):
            raise ValueError(f"tolerance: {self.tolerance!r}: a number that is not negative, or a share such as '5 %'")
        if isinstance(self.tolerance, str) and not self.tolerance.endswith("%"):
            raise ValueError(f"tolerance: {self.tolerance!r}: without quotes it is a number, with '%' it is a share")
        if self.between is not None and self.between[0] > self.between[1]:
            raise ValueError(f"between: {list(self.between)}: the lower bound comes first")
        return self

    @property
    def slack(self) -> float:
        """The tolerance as an absolute number."""
        if isinstance(self.tolerance, str):
            return abs(self.near or 0.0) * float(self.tolerance.rstrip(" %")) / 100
        return float(self.tolerance or 0.0)

    def holds(self, value: float) -> bool:
        """Return whether a number satisfies the claim; NaN never does."""
        return any(
            (
                self.near is not None and abs(value - self.near) <= self.slack * (1 + 1e-9),
                self.below is not None and value < self.below,
                self.above is not None and value > self.above,
                self.at_most is not None and value <= self.at_most,
                self.at_least is not None and value >= self.at_least,
                self.equals is not None and math.isclose(value, self.equals, rel_tol=1e-9, abs_tol=1e-12),
                self.between is not None and self.between[0] <= value <= self.between[1],
            )
        )

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest number that satisfy the claim; infinite if there is none."""
        if self.near is not None:
            return self.near - self.slack, self.near + self.slack
        if self.between is not None:
            return self.between
        if self.equals is not None:
            return self.equals, self.equals
        low = next((bound for bound in (self.above, self.at_least) if bound is not None), -math.inf)
        high = next((bound for bound in (self.below, self.at_most) if bound is not None), math.inf)
        return low, high

    def direction(self, none: float) -> int:
        """Return on which side of "no effect" (`none`) the numbers that satisfy the claim are: 1 above, -1 below.

        It is 0 if they are on both sides. Then the claim has no direction.
        """
        low, high = self.bounds
        return 1 if low >= none else -1 if high <= none else 0

    def text(self, unit: str) -> str:
        """Return the expectation in words."""
        suffix = f" {unit}" if unit else ""
        if self.near is not None:
            return f"{self.near:g}{suffix} ± {self.tolerance}"
        if self.between is not None:
            return f"{self.between[0]:g} to {self.between[1]:g}{suffix}"
        words = {"below": "<", "above": ">", "at_most": "≤", "at_least": "≥", "equals": "="}
        name = next(name for name in words if getattr(self, name) is not None)
        return f"{words[name]} {getattr(self, name):g}{suffix}"
