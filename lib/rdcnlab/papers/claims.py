# SPDX-License-Identifier: Apache-2.0
"""What a paper says, as something that can hold or not: claims, measurements, verdicts.

Claims stand in ``data/papers/<paper>.yaml``. A measurement gives one number for each case a claim speaks of (a variant,
a period...). The verdict follows from how many cases hold: all, ``reproduced``; some, ``partly``; none, ``differs``.
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
    """How a claim fares."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    DIFFERS = "differs"
    NOT_RUN = "not run"


class Expectation(Frozen):
    """Which numbers satisfy a claim; exactly one of the fields, `tolerance` apart.

    Parameters
    ----------
    near : float
        Within `tolerance`, a share such as ``1 %`` of the value or a plain number.
    below, above, at_most, at_least, equals : float
        The relation of that name.
    between : tuple of float
        Bounds, both included.
    tolerance : str or float
        Only with `near`.
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
        """Say whether a number satisfies the claim; NaN never does."""
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
        Unique in its item.
    text : str
        The statement, in our words.
    expect : Expectation
        What the measured number must be.
    unit : str
        Unit of that number.
    calibrates : str
        The setting of the testbed that was chosen by this very statement, if one was: the claim then shows that the
        setting fits, and no more.
    because : tuple of str
        Why it does not come out here as the paper has it, where that is known or was looked for in vain: a sentence for
        each of the item's causes, in their order; see `rdcnlab.papers.item.Item.causes`.
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
    """A paper: its testbed in our words, and its items, in the order in which they are listed everywhere."""

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
        There is no such paper, or its file is not as it should be.
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
    """Return the verdict of a claim."""
    if measured is None or not measured.cases:
        return Verdict.NOT_RUN
    holding = sum(claim.expect.holds(value) for value in measured.cases.values())
    if holding == len(measured.cases):
        return Verdict.REPRODUCED
    return Verdict.PARTLY if holding else Verdict.DIFFERS


def row(
    paper_name: str, item: str, claim: Claim, measured: Measured | None, *, profile: str, runs: int
) -> dict[str, Any]:
    """Return the scorecard's row of a claim."""
    return {
        "paper": paper_name,
        "item": item,
        "claim": claim.id,
        "text": claim.text + (f" [by this was set: {claim.calibrates}]" if claim.calibrates else ""),
        "verdict": str(judge(claim, measured)),
        "expected": claim.expect.text(claim.unit),
        "measured": measured.text(claim.unit) if measured is not None else "",
        "profile": profile,
        "runs": runs,
    }
