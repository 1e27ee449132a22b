# SPDX-License-Identifier: Apache-2.0
"""`Item`: one figure or table of a paper, from its scenarios to its verdicts."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import pandas as pd
from pydantic import Field, ValidationError

from rdcnlab.analysis.measured import Measured
from rdcnlab.fields.quantities import Frozen, whole
from rdcnlab.papers import claims
from rdcnlab.runs.campaign import campaign, lookup
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import CARRIED, WHOLE, WINDOWS, Part
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario
from rdcnlab.scenario.check import input_error
from rdcnlab.system.extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Profile = Literal["quick", "paper"]


@dataclass(frozen=True)
class Cause:
    """What shows why a claim does not hold here; the words stand with the claim, as its ``because``.

    Parameters
    ----------
    claim : str
        Id of the claim. The causes of a claim are in the order of its sentences.
    shown_by : Item
        The item with the cause taken away, or brought in, such as by `Item.again`.
    look : callable, optional
        What to look at in its runs; the claim's own measurement by default.
    """

    claim: str
    shown_by: Item
    look: Callable[[Runs], Measured] | None = None


class Item(Frozen, abc.ABC):
    """A figure or table. Its fields are the parameters of its notebook.

    An item is the class in ``papers/<paper>/<id>.py`` that is called as its module is: `Fig4` in ``aykurt/fig4.py``.

    Parameters
    ----------
    profile : {'quick', 'paper'}
        Few runs to look at, or as many as the paper has.
    seeds : int or None
        Runs of each scenario, where it shall be another number than the profile's.
    changes : dict
        Changes to every scenario, as `Scenario.with_` takes them: ``{"transport.rmem": ...}``.

    Raises
    ------
    InputError
        A parameter is unknown or its value is not allowed.
    """

    #: Names of the folder and of the module.
    paper: ClassVar[str]
    id: ClassVar[str]
    #: Optional libraries that it needs, see `rdcnlab.system.extras`.
    extras: ClassVar[tuple[str, ...]] = ()
    #: The tables of a run that the figure and the claims look at; only these are shipped.
    reads: ClassVar[tuple[str, ...]] = ("flows",)
    #: What the figure and the claims look at of tables that are large; only this is read, and shipped.
    parts: ClassVar[Mapping[str, Part]] = {"throughput": CARRIED, "tcp": WINDOWS}
    #: Runs of each scenario by profile.
    runs_of_profile: ClassVar[Mapping[str, int]] = {"quick": 3, "paper": 30}

    profile: Profile = "quick"
    seeds: Annotated[int, whole(1, 10_000)] | None = None
    changes: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def __pydantic_init_subclass__(cls, **arguments: Any) -> None:
        """Name the item after its folder and its module."""
        super().__pydantic_init_subclass__(**arguments)
        *_, cls.paper, cls.id = f".{cls.__module__}".split(".")

    def __init__(self, **parameters: Any) -> None:
        try:
            super().__init__(**parameters)
        except ValidationError as error:
            raise input_error(error, type(self)) from None

    @abc.abstractmethod
    def points(self) -> list[Scenario]:
        """Return everything that has to be run, as the paper has it."""

    def scenarios(self) -> list[Scenario]:
        """Return everything that has to be run."""
        return [scenario.with_(**self.changes) for scenario in self.points()]

    @abc.abstractmethod
    def plot(self, runs: Runs) -> Figure:
        """Draw the figure."""

    @abc.abstractmethod
    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Return the measurements by the id of the claim."""

    def needs(self, scenario: Scenario) -> tuple[str, ...]:  # noqa: ARG002  (items decide by it)
        """Return the tables of a run that are looked at, where that depends on the scenario."""
        return self.reads

    def parts_of(self, scenario: Scenario) -> dict[str, Part]:
        """Return what is looked at of each table of a run."""
        return {name: self.parts.get(name, WHOLE) for name in self.needs(scenario)}

    def models(self, runs: Runs) -> list[Path]:  # noqa: ARG002  (items that train some)
        """Return the files of the models that are trained on the runs, to be shipped with them."""
        return []

    def causes(self) -> list[Cause]:
        """Return what shows why something does not come out as in the paper."""
        return []

    def again(self, **parameters: Any) -> Self:
        """Return this item with other parameters, by default with few runs: what shows a cause."""
        return type(self)(**{"seeds": self.few, **parameters})

    @property
    def count(self) -> int:
        """Runs of each scenario."""
        return self.runs_of_profile[self.profile] if self.seeds is None else self.seeds

    def expected(self, claim: str) -> claims.Expectation | None:
        """Return what the paper expects of a claim, for its drawing; None where there is no such claim."""
        return next((each.expect for each in self.claims.claims if each.id == claim), None)

    def stated(self, claim: str) -> float:
        """Return the number that the paper states, for its drawing.

        Raises
        ------
        ValueError
            The claim is about a relation and no number.
        """
        expected = self.expected(claim)
        near = None if expected is None else expected.near
        if near is None:
            raise ValueError(f"{self.paper}/{self.id}: '{claim}' states no number")
        return near

    @property
    def undrawn(self) -> int:
        """Runs of each scenario that only a claim looks at."""
        return self.count if self.profile == "paper" else 1

    @property
    def few(self) -> int:
        """Runs of what shows a cause."""
        return 3 if self.profile == "paper" else 1

    @property
    def claims(self) -> claims.ItemClaims:
        """What the paper says."""
        return claims.paper(self.paper).item(self.id)

    def run(self, *, workers: int | None = None, store: Store | None = None, progress: bool = True) -> Runs:
        """Run what is missing and return all runs; see `rdcnlab.runs.campaign.campaign`."""
        for extra in self.extras:  # before runs that may take hours
            require(extra)
        runs = campaign(self.scenarios(), workers=workers, store=store, progress=progress, needs=self.parts_of)
        return Runs(tuple(runs), self.parts)

    def stored(self, store: Store | None = None) -> Runs | None:
        """Return all runs if they are all there, else None."""
        store = Store() if store is None else store
        found = lookup(list(dict.fromkeys(self.scenarios())), store, self.parts_of)
        runs = [run for run in found if run is not None]
        return Runs(runs, self.parts) if len(runs) == len(found) else None

    def rows(self, runs: Runs | None) -> list[dict[str, Any]]:
        """Return the scorecard: one row a claim. Without runs every verdict is ``not run``."""
        measured = {} if runs is None else self.measure(runs)
        count = 0 if runs is None else len(runs)
        return [
            claims.row(self.paper, self.id, claim, measured.get(claim.id), profile=self.profile, runs=count)
            for claim in self.claims.claims
        ]

    def score(self, runs: Runs) -> pd.DataFrame:
        """Return the scorecard as a table for the reader: claim, expected, measured, verdict."""
        frame = pd.DataFrame(self.rows(runs)).set_index("claim")
        return frame[["text", "expected", "measured", "verdict"]]

    def explain(self, *, workers: int | None = None, store: Store | None = None, progress: bool = True) -> pd.DataFrame:
        """Run what shows the causes, and return each claim's measurement and verdict there."""
        rows = []
        words = {claim.id: iter(claim.because) for claim in self.claims.claims}
        for cause in self.causes():
            runs = cause.shown_by.run(workers=workers, store=store, progress=progress)
            claim = next(claim for claim in self.claims.claims if claim.id == cause.claim)
            there = cause.shown_by.measure(runs)[claim.id] if cause.look is None else cause.look(runs)
            rows.append(
                {
                    "claim": claim.id,
                    "because": next(words[claim.id]),
                    "there": there.text(claim.unit if cause.look is None else ""),
                    "verdict there": str(claims.judge(claim, there)) if cause.look is None else "",
                }
            )
        return pd.DataFrame(rows, columns=["claim", "because", "there", "verdict there"]).set_index("claim")

    def provenance(self, runs: Runs) -> str:
        """Return one line that says where the runs come from."""
        shipped = sum(run.shipped for run in runs)
        engines = sorted({str(run.provenance.get("identity", "?"))[:12] for run in runs})
        seconds = sum(float(run.provenance.get("wall_s", 0.0)) for run in runs)
        return (
            f"{self.paper}/{self.id}, profile {self.profile}: {len(runs)} runs ({shipped} shipped) by engine "
            f"{', '.join(engines)}; {seconds:.0f} s of one core."
        )
