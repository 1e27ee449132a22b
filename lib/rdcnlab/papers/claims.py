# SPDX-License-Identifier: Apache-2.0
"""The claims of a paper, and the verdict on each of them.

The claims are in ``data/papers/<paper>.yaml``. A claim is about one or several cases, such as variants or periods. Its
measurement has one number for each case. The verdict depends on how many cases satisfy the claim: ``reproduced`` if all
do, ``partly`` if some do, ``differs`` if none does.
"""

from __future__ import annotations

import enum
import functools
from typing import Annotated, Any

import yaml
from pydantic import ValidationError, model_validator

from rdcnlab.analysis.measured import Measured
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.quantities import Frozen, Listed
from rdcnlab.scenario.check import input_error
from rdcnlab.system import places


class Verdict(enum.StrEnum):
    """The verdict on a claim."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    DIFFERS = "differs"
    NOT_RUN = "not run"


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
        given = [name for name in type(self).model_fields if getattr(self, name) is not None and name != "tolerance"]
        if len(given) != 1 or (given == ["near"]) != (self.tolerance is not None):
            raise ValueError("one of near (with tolerance), below, above, at_most, at_least, equals, between")
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
                self.equals is not None and value == self.equals,
                self.between is not None and self.between[0] <= value <= self.between[1],
            )
        )

    def text(self, unit: str) -> str:
        """Return the expectation in words."""
        after = f" {unit}" if unit else ""
        if self.near is not None:
            return f"{self.near:g}{after} ± {self.tolerance}"
        if self.between is not None:
            return f"{self.between[0]:g} to {self.between[1]:g}{after}"
        words = {"below": "<", "above": ">", "at_most": "≤", "at_least": "≥", "equals": "="}
        name = next(name for name in words if getattr(self, name) is not None)
        return f"{words[name]} {getattr(self, name):g}{after}"


class Claim(Frozen):
    """One statement of a paper.

    Parameters
    ----------
    id : str
        Unique within its item.
    text : str
        The statement, in our words.
    expect : Expectation
        The numbers that satisfy the claim.
    unit : str
        Unit of the measured number.
    calibrates : str
        The setting of the testbed that was chosen with the help of this statement, if there is one. The claim then
        shows only that the setting fits.
    because : tuple of str
        Why the claim does not hold here, if the cause is known or was searched for without success. There is one
        sentence for each of the item's causes, in their order; see `rdcnlab.papers.item.Item.causes`.
    """

    id: str
    text: str
    expect: Expectation
    unit: str = ""
    calibrates: str = ""
    because: Annotated[tuple[str, ...], Listed] = ()


class ItemClaims(Frozen):
    """The claims of one figure or table."""

    id: str
    title: str
    says: str
    claims: Annotated[tuple[Claim, ...], Listed]


class Paper(Frozen):
    """A paper: its testbed in our words, and its items. Every list shows the items in this order."""

    paper: str
    authors: str
    title: str
    testbed: str
    items: Annotated[tuple[ItemClaims, ...], Listed]

    def item(self, identifier: str) -> ItemClaims:
        """Return the claims of one item."""
        for item in self.items:
            if item.id == identifier:
                return item
        raise InputError.of("item", identifier, ", ".join(item.id for item in self.items))


@functools.cache
def paper(name: str) -> Paper:
    """Read ``data/papers/<name>.yaml``.

    Raises
    ------
    InputError
        There is no such paper, or its file is not valid.
    """
    folder = places.papers()
    path = folder / f"{name}.yaml"
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    if name not in known:
        raise InputError.of("paper", name, ", ".join(known) or f"nothing, because {folder} holds no papers")
    try:
        return Paper.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        raise input_error(error, Paper) from None


def judge(claim: Claim, measured: Measured | None) -> Verdict:
    """Return the verdict on a claim."""
    if measured is None or not measured.cases:
        return Verdict.NOT_RUN
    holding = sum(claim.expect.holds(value) for value in measured.cases.values())
    if holding == len(measured.cases):
        return Verdict.REPRODUCED
    return Verdict.PARTLY if holding else Verdict.DIFFERS


def row(
    paper_name: str, item: str, claim: Claim, measured: Measured | None, *, profile: str, runs: int
) -> dict[str, Any]:
    """Return the row of a claim in the scorecard."""
    return {
        "paper": paper_name,
        "item": item,
        "claim": claim.id,
        "text": claim.text + (f" [used to calibrate {claim.calibrates}]" if claim.calibrates else ""),
        "verdict": str(judge(claim, measured)),
        "expected": claim.expect.text(claim.unit),
        "measured": measured.text(claim.unit) if measured is not None else "",
        "profile": profile,
        "runs": runs,
    }
