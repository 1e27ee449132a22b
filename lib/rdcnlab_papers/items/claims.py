# SPDX-License-Identifier: Apache-2.0
"""The claims of a paper. They are in ``data/papers/<paper>.yaml``; `rdcnlab_papers.items.verdicts` judges them."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from rdcnlab.fields import own_yaml
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.quantities import Frozen, Listed, whole
from rdcnlab.scenario.check import input_error
from rdcnlab_papers.items import calibrated, folders
from rdcnlab_papers.items.expectation import Expectation


def _by_column(value: Any) -> Any:
    """Read a list as the sentences of every column, and the lists of a mapping as those of one column each."""
    lists = value if isinstance(value, dict) else {"": value}
    return {
        column: tuple(sentences) if isinstance(sentences, list) else sentences for column, sentences in lists.items()
    }


def _text_by_column(value: Any) -> Any:
    """Read a text as that of every column."""
    return {"": value} if isinstance(value, str) and value else value or {}


def _one_or_several(value: Any) -> Any:
    """Read a mapping as the only one of a list."""
    return (value,) if isinstance(value, Mapping) else tuple(value or ())


def _of_column(texts: dict[str, str], column: str) -> str:
    """Return the text of a column; empty if there is neither one for it nor one for every column."""
    return texts.get(column, texts.get("", ""))


#: Sentences by column; those of the column "" are for every column that has none of its own.
Sentences = Annotated[dict[str, tuple[str, ...]], BeforeValidator(_by_column)]


class Column(Frozen):
    """A testbed on which the claims of a paper are judged.

    Parameters
    ----------
    id : str
        The value of an item's parameter `column`.
    title : str
        The testbed, in our words.
    name : str
        The testbed in two or three words, for tables. By default it is the title.
    changes : dict
        Changes to every scenario, in the form that `Scenario.with_` takes. An item may depend on its column in other
        ways.
    most_runs : int, optional
        Number of runs of each scenario at most. By default it is that of the item's profile.
    calibrated : bool
        Whether the column needs values that a calibration takes. They are in ``data/papers/calibrated``; before that
        file is there, the paper has no such column. See `rdcnlab_papers.items.calibrated`.
    values : dict of str to float
        These values, by name.
    """

    id: str
    title: str
    name: str = ""
    changes: dict[str, Any] = Field(default_factory=dict)
    most_runs: Annotated[int, whole(1, 10_000)] | None = None
    calibrated: bool = False
    values: dict[str, float] = Field(default_factory=dict)


class EarlierWording(Frozen):
    """A wording of a claim that was restated; it stays beside the claim for ever.

    Parameters
    ----------
    text, expect, unit
        As a claim has them. Without a unit it is that of the claim.
    until : date
        The day of the change.
    """

    text: str
    expect: Expectation
    unit: str | None = None
    until: datetime.date


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
    none : float, optional
        The number that means "no effect", such as 0 for a gain and 1 for a ratio. It gives the claim a direction.
        Without it the verdict ``partly`` is not possible.
    some : {'partly', 'reproduced'}, optional
        The verdict if some cases satisfy the claim and others do not. By default it is the worst verdict of a case.
    calibrates : str or dict of str to str
        The setting of the testbed that was chosen with the help of this statement, if there is one. The claim then
        shows only that the setting fits, and is not counted. A mapping says so for some columns.
    by_construction : str
        Why the statement follows from the timetable or from the emulator's definition. It is not counted.
    input : str or dict of str to str
        Which inputs of ours decide the result. The claim is not counted. A mapping says so for some columns.
    contradicted : str
        Which other statement of the paper excludes this one. Both are shown, and neither is counted.
    trivial : str
        Why a result without any network would satisfy the claim: it tests our interface, or a constant predictor
        satisfies it. It is not counted.
    own : bool
        Whether the claim is a finding or a goal of ours, in an item whose other claims are the paper's. It is not
        counted.
    stated_at_s : tuple of float
        Instants in s that the paper states, with which the measured ones are compared and which figures draw.
    weak : str
        Why little follows if the claim holds. It is counted all the same.
    was : tuple of EarlierWording
        The earlier wordings of a claim that was restated, the first one first; a single one needs no list. See
        `rdcnlab_papers.items.judged.measured_before` for their measurements.
    because : tuple of str
        Why the claim does not hold here: one sentence for each of the item's causes of this claim, in their order; see
        `rdcnlab_papers.items.item.Item.causes`. Either one list, or one list for each column.
    tried : tuple of str
        Candidates, if the cause is unknown: one sentence for each of the item's causes after those of `because`. The
        verdict of its experiment says whether a candidate is ruled out; see `rdcnlab_papers.items.verdicts.candidate`.
    """

    id: str
    text: str
    expect: Expectation
    unit: str = ""
    none: float | None = None
    some: Literal["partly", "reproduced"] | None = None
    calibrates: Annotated[dict[str, str], BeforeValidator(_text_by_column)] = Field(default_factory=dict)
    by_construction: str = ""
    input: Annotated[dict[str, str], BeforeValidator(_text_by_column)] = Field(default_factory=dict)
    contradicted: str = ""
    trivial: str = ""
    own: bool = False
    stated_at_s: Annotated[tuple[float, ...], Listed] = ()
    weak: str = ""
    was: Annotated[tuple[EarlierWording, ...], BeforeValidator(_one_or_several)] = ()
    because: Sentences = Field(default_factory=dict)
    tried: Sentences = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_a_direction(self) -> Claim:
        if self.none is not None and not self.expect.direction(self.none):
            raise ValueError("'none' outside of the expected numbers, because it gives the claim a direction")
        return self

    @property
    def is_sign(self) -> bool:
        """Whether the claim is about a sign only, which a coin tells as well.

        It is if one bound is expected and is "no effect": 0, or 1 for a ratio, which has no unit.
        """
        bounds = [bound for bound in (self.expect.above, self.expect.below) if bound is not None]
        no_effect = [0.0] if self.unit else [0.0, 1.0]
        return bool(bounds) and not self.some and bounds[0] in ([self.none] if self.none is not None else no_effect)

    def reasons(self, column: str) -> dict[str, str]:
        """Why the claim is not counted in a column, by kind of reason; empty if it is counted."""
        reasons = {
            "used to calibrate": _of_column(self.calibrates, column),
            "by construction": self.by_construction,
            "decided by our inputs": _of_column(self.input, column),
            "contradicted by the paper": self.contradicted,
            "independent of the network": self.trivial,
        }
        return {kind: reason for kind, reason in reasons.items() if reason}

    def not_counted(self, column: str) -> str:
        """Why the claim is not counted in a column, in words; empty if it is counted."""
        return "; ".join(f"{kind}: {reason}" for kind, reason in self.reasons(column).items())

    def causes(self, column: str) -> tuple[str, ...]:
        """Return the sentences of `because` for a column."""
        return self.because.get(column, self.because.get("", ()))

    def candidates(self, column: str) -> tuple[str, ...]:
        """Return the sentences of `tried` for a column."""
        return self.tried.get(column, self.tried.get("", ()))


class ItemClaims(Frozen):
    """The claims of one figure or table.

    Parameters
    ----------
    own : bool
        Whether the expectations are our goals, and not the paper's statements.
    columns : tuple of str
        The columns of the paper in which the item is run and scored. By default it is only the first; the item's
        parameter may then choose any other.
    runs : dict of str to int
        Number of runs of each scenario in the paper profile, by column. By default it is that of the profile, or the
        column's `most_runs`.
    """

    id: str
    title: str
    says: str
    own: bool = False
    columns: Annotated[tuple[str, ...], Listed] = ()
    runs: dict[str, Annotated[int, whole(1, 10_000)]] = Field(default_factory=dict)
    claims: Annotated[tuple[Claim, ...], Listed]


class Paper(Frozen):
    """A paper: its testbed in our words, its columns, and its items. Every list shows the items in this order."""

    paper: str
    authors: str
    title: str
    testbed: str
    columns: Annotated[tuple[Column, ...], Listed, Field(min_length=1)] = (
        Column(id="paper", title="the paper's testbed"),
    )
    items: Annotated[tuple[ItemClaims, ...], Listed]

    @property
    def names(self) -> dict[str, str]:
        """The columns in a few words each, by their ids, for readers who do not know the paper."""
        return {column.id: column.name or column.title for column in self.columns}

    @model_validator(mode="after")
    def _known_columns(self) -> Paper:
        identifiers = {column.id for column in self.columns}
        for item in self.items:
            reasons = [sentences for claim in item.claims for sentences in (claim.because, claim.tried)]
            uncounted = [column for claim in item.claims for column in (*claim.calibrates, *claim.input) if column]
            named = [column for sentences in reasons for column in sentences if column]
            for name in (*item.columns, *item.runs, *named, *uncounted):
                if name not in identifiers:
                    raise ValueError(
                        f"columns of the paper in {item.id} ({', '.join(sorted(identifiers))}), not '{name}'"
                    )
        return self

    def item(self, identifier: str) -> ItemClaims:
        """Return the claims of one item."""
        for item in self.items:
            if item.id == identifier:
                return item
        raise InputError.unknown("item", identifier, [item.id for item in self.items], "item")

    def columns_of(self, identifier: str) -> tuple[Column, ...]:
        """Return the columns in which an item is run and scored, in the paper's order. The first is the default."""
        names = self.item(identifier).columns
        return tuple(column for column in self.columns if column.id in names) or self.columns[:1]

    def choices_of(self, identifier: str) -> tuple[Column, ...]:
        """Return the columns that an item's parameter may choose: those that the item lists, otherwise all."""
        return self.columns_of(identifier) if self.item(identifier).columns else self.columns


@functools.cache
def paper(name: str) -> Paper:
    """Read the claims of a paper, ``data/papers/<name>.yaml`` for ours.

    Raises
    ------
    InputError
        There is no such paper, or its file is not valid.
    """
    path = folders.claims_file(name)
    try:
        data = own_yaml.parse(path.read_text(encoding="utf-8"))
        return Paper.model_validate(calibrated.completed(data, path.parent))
    except ValidationError as error:
        raise input_error(error, Paper) from None
