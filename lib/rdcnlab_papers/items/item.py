# SPDX-License-Identifier: Apache-2.0
"""`Item`: one figure or table of a paper, from its scenarios to its verdicts."""

from __future__ import annotations

import abc
import contextlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, get_args

import pandas as pd
from pydantic import BeforeValidator, Field, ValidationError, field_validator

from rdcnlab.analysis import figures
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.quantities import FieldError, Frozen, whole
from rdcnlab.runs.campaign import campaign, lookup
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.parts import CARRIED, WHOLE, WINDOWS, Part
from rdcnlab.runs.store import Store
from rdcnlab.scenario import Scenario, change_all
from rdcnlab.scenario.check import input_error
from rdcnlab.system.extras import require
from rdcnlab_papers.analysis.measured import Measured
from rdcnlab_papers.items import claims, injected, made
from rdcnlab_papers.items.beside import ItemComparison, compare
from rdcnlab_papers.items.causes import Cause, Explanation, explain
from rdcnlab_papers.items.expectation import Expectation
from rdcnlab_papers.items.interactive import Interactive
from rdcnlab_papers.items.judged import JudgedClaim, judged, measured_before
from rdcnlab_papers.items.published import shipped_verdicts
from rdcnlab_papers.items.scored import Scorecard

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Profile = Literal["quick", "paper"]
#: In place of a profile: the paper profile if its runs are stored, otherwise the quick one.
STORED = "stored"


class Item(Frozen, abc.ABC):
    """A figure or table. Its fields are the parameters of its notebook.

    An item is a class in ``papers/<paper>/<id>.py``. The class has the name of its module: `Fig4` in
    ``aykurt/fig4.py``.

    Parameters
    ----------
    profile : {'quick', 'paper', 'stored'}
        ``quick`` makes a few runs for a first look, ``paper`` as many runs as the paper has. ``stored`` becomes
        ``paper`` if all runs of that profile and of its experiments on causes are stored, otherwise ``quick``.
    seeds : int or None
        Number of runs of each scenario. None takes the number of the profile.
    changes : dict
        Changes to every scenario, in the form that `Scenario.with_` takes: ``{"transport.rmem": ...}``.
    column : str
        The testbed, one of the paper's columns, or of those that the item lists. By default it is the first in which
        the item is scored; see `rdcnlab_papers.items.claims.Column`.

    Raises
    ------
    InputError
        A parameter is unknown or its value is not allowed.
    """

    #: Name of the folder, and name of the module.
    paper: ClassVar[str]
    id: ClassVar[str]
    #: Optional libraries that the item needs, see `rdcnlab.system.extras`.
    extras: ClassVar[tuple[str, ...]] = ()
    #: The tables of a run that the figure and the claims use. Only these tables are shipped.
    reads: ClassVar[tuple[str, ...]] = ("flows",)
    #: The parts of large tables that the figure and the claims use. Only these parts are read and shipped.
    parts: ClassVar[Mapping[str, Part]] = {"throughput": CARRIED, "tcp": WINDOWS}
    #: Number of runs of each scenario, by profile.
    runs_of_profile: ClassVar[Mapping[str, int]] = {"quick": 3, "paper": 30}

    #: Why claims are not judged again on halves of the seeds; empty if they are.
    undivided: ClassVar[str] = ""

    profile: Profile = "quick"
    seeds: Annotated[int, whole(1, 10_000)] | None = None
    changes: dict[str, Any] = Field(default_factory=dict)
    # papermill reads the value 4.15 of a command line as a number
    column: Annotated[str, BeforeValidator(str), Field(validate_default=True)] = ""

    @classmethod
    def __pydantic_init_subclass__(cls, **arguments: Any) -> None:
        """Name the item after its folder and its module."""
        super().__pydantic_init_subclass__(**arguments)
        *_, cls.paper, cls.id = f".{cls.__module__}".split(".")

    def __init__(self, **parameters: Any) -> None:
        injected.check()
        profile = parameters.get("profile", "quick")
        if profile not in (possible := (*get_args(Profile), STORED)):
            raise InputError.unknown("profile", profile, possible)
        if profile == STORED:
            parameters = {**parameters, "profile": type(self)._stored_profile(parameters)}
        try:
            super().__init__(**parameters)
        except ValidationError as error:
            raise injected.with_hint(input_error(error, type(self)), parameters) from None

    @classmethod
    def _stored_profile(cls, parameters: Mapping[str, Any]) -> Profile:
        """Return the paper profile if nothing must be run for it, otherwise the quick profile."""
        store, whole = Store(), cls(**{**parameters, "profile": "paper"})
        items = [whole, *(cause.shown_by for cause in whole.explanation())]
        return "paper" if all(item.stored_runs(store) is not None for item in items) else "quick"

    @field_validator("column")
    @classmethod
    def _one_of_the_papers(cls, value: str) -> str:
        columns = [column.id for column in claims.paper(cls.paper).choices_of(cls.id)]
        if value and value not in columns:
            raise FieldError.unknown("", value, columns, "column")
        return value or columns[0]

    @classmethod
    def columns(cls) -> tuple[claims.Column, ...]:
        """Return the columns in which the item is run and scored. The first is the default."""
        return claims.paper(cls.paper).columns_of(cls.id)

    @property
    def testbed(self) -> claims.Column:
        """The item's column, with its title and its changes."""
        return next(column for column in claims.paper(self.paper).columns if column.id == self.column)

    @abc.abstractmethod
    def points(self) -> list[Scenario]:
        """Return all scenarios that must be run, with the paper's settings, before the changes of the column."""

    def scenarios(self) -> list[Scenario]:
        """Return all scenarios that must be run, with the changes of the column and the item's `changes` applied."""
        return made.once(self, lambda: change_all(self.points(), self.all_changes))

    def with_changes(self, scenario: Scenario) -> Scenario:
        """Return a scenario as it is run: with the changes of the column and the item's `changes`."""
        return scenario.with_(**self.all_changes)

    @property
    def all_changes(self) -> dict[str, Any]:
        """The changes of the column, and the item's `changes`."""
        return {**self.testbed.changes, **self.changes}

    @abc.abstractmethod
    def plot(self, runs: Runs) -> Figure:
        """Draw the figure."""

    @abc.abstractmethod
    def measure(self, runs: Runs) -> dict[str, Measured]:
        """Return one measurement for each claim, by the claim's id."""

    def needs(self, scenario: Scenario) -> tuple[str, ...]:  # noqa: ARG002  (subclasses use it)
        """Return the names of the tables that the item uses. An item overrides this if they depend on the scenario."""
        return self.reads

    def parts_of(self, scenario: Scenario) -> dict[str, Part]:
        """Return the part of each table that the item uses."""
        return {name: self.read_parts.get(name, WHOLE) for name in self.needs(scenario)}

    @property
    def read_parts(self) -> Mapping[str, Part]:
        """The parts of tables that are read. An item overrides this if they depend on its parameters."""
        return self.parts

    def interactive(self, runs: Runs) -> Interactive | None:  # noqa: ARG002  (items with such a page use it)
        """Return the content of a page of the site on which a reader chooses what is drawn; usually there is none."""
        return None

    def models(self, runs: Runs) -> list[Path]:  # noqa: ARG002  (items that train models use it)
        """Return the files of the models that are trained on the runs. They are shipped together with the runs."""
        return []

    def early_models(self, runs: Runs) -> list[Path]:  # noqa: ARG002  (items that train models use it)
        """Return the files of models trained on a part of the runs, which are shipped with a batch of them."""
        return []

    def learns_from(self) -> list[Item]:
        """Return items whose runs this one trains a model on that does not exist yet; usually none."""
        return []

    def causes(self) -> list[Cause]:
        """Return the experiments that show why a claim does not hold here."""
        return []

    def explanation(self) -> list[Cause]:
        """Return the experiments that `explain` shows.

        The quick profile shows those of the paper profile, which have more runs, unless the item has other parameters.
        """
        is_usual = self == type(self)(column=self.column)
        return type(self)(profile="paper", column=self.column).causes() if is_usual else self.causes()

    def with_parameters(self, **parameters: Any) -> Self:
        """Return this item with other parameters, for the experiment of a cause.

        By default it has `count_for_causes` runs of each scenario, and the same column.
        """
        return type(self)(**{"seeds": self.count_for_causes, "column": self.column, **parameters})

    @property
    def count(self) -> int:
        """Number of runs of each scenario."""
        return self._usual_count(self.profile) if self.seeds is None else self.seeds

    def _usual_count(self, profile: Profile) -> int:
        """Return the number of runs of each scenario in a profile, of which the column may have others."""
        if profile == "paper" and self.column in self.claims.runs:
            return self.claims.runs[self.column]
        usual, most = self.runs_of_profile[profile], self.testbed.most_runs
        return usual if most is None else min(usual, most)

    def expected(self, claim: str) -> Expectation | None:
        """Return the expectation of a claim, to draw it into the figure; None if there is no such claim."""
        return next((candidate.expect for candidate in self.claims.claims if candidate.id == claim), None)

    def stated(self, claim: str) -> float:
        """Return the number that the paper states, to draw it into the figure.

        Raises
        ------
        ValueError
            There is no such claim, or it states a relation instead of a number.
        """
        expected = self.expected(claim)
        near = None if expected is None else expected.near
        if near is None:
            raise ValueError(f"{self.paper}/{self.id}: '{claim}' states no number")
        return near

    def stated_at_s(self, claim: str) -> tuple[float, ...]:
        """Return the instants in s that the paper states for a claim; none if there is no such claim."""
        return next((one.stated_at_s for one in self.claims.claims if one.id == claim), ())

    def stated_bound(self, claim: str) -> float:
        """Return the bound that the paper states, such as 90 for "more than 90 %", to draw it into the figure.

        Raises
        ------
        ValueError
            There is no such claim, or it states no bound, or two.
        """
        expected = self.expected(claim)
        finite = [] if expected is None or expected.near is not None else [*filter(math.isfinite, expected.bounds)]
        if len(finite) != 1:
            raise ValueError(f"{self.paper}/{self.id}: '{claim}' states no bound")
        return finite[0]

    @property
    def count_undrawn(self) -> int:
        """Number of runs of each scenario that a claim uses but the figure does not draw."""
        return self.count if self.profile == "paper" else 1

    @property
    def count_for_causes(self) -> int:
        """Number of runs of each scenario of a cause's experiment."""
        return 3 if self.profile == "paper" else 1

    @property
    def claims(self) -> claims.ItemClaims:
        """The claims that the paper makes in this item."""
        return claims.paper(self.paper).item(self.id)

    def run(
        self, *, workers: int | None = None, cluster: Any = None, store: Store | None = None, progress: bool = True
    ) -> Runs:
        """Run the scenarios that have no stored run, and return all runs; see `rdcnlab.runs.campaign.campaign`."""
        for extra in self.extras:  # before runs that may take hours
            require(extra)
        options: dict[str, Any] = {"workers": workers, "cluster": cluster, "store": store, "progress": progress}
        options["hints"] = False  # what the paper did is what is intended
        runs = campaign(self.scenarios(), needs=self.parts_of, **options)
        return Runs(tuple(runs), self.read_parts)

    def stored_runs(self, store: Store | None = None) -> Runs | None:
        """Return all runs if every scenario has a stored run, otherwise None."""
        store = Store() if store is None else store
        stored_runs = lookup(list(dict.fromkeys(self.scenarios())), store, self.parts_of)
        runs = [run for run in stored_runs if run is not None]
        return Runs(runs, self.read_parts) if len(runs) == len(stored_runs) else None

    def only(self, runs: Runs, scenarios: Iterable[Scenario]) -> Runs:
        """Return the runs of some scenarios of `points`, which lack the changes of the column and of the item."""
        return runs.among(change_all(scenarios, self.all_changes))

    def index_of(self, runs: Runs, scenario: Scenario) -> int:
        """Return the number of the run of a scenario of `points`."""
        return runs.index_of(self.with_changes(scenario))

    def save(self, runs: Runs, path: str | Path, *, column: str | float | None = None) -> list[Path]:
        """Draw the figure into a file, and write what to cite beside it.

        Parameters
        ----------
        runs : Runs
            The runs.
        path : str or Path
            Its ending is the format: ``.pdf`` (with embedded fonts), ``.pgf``, ``.svg`` or ``.png``.
        column : {'single', 'double'} or float, optional
            Width for a column of a paper, see `rdcnlab.analysis.figures.column`.

        Returns
        -------
        list of Path
            The figure, and its references as BibTeX: rdcnlab and the paper.

        Examples
        --------
        >>> import tempfile
        >>> from rdcnlab_papers import aykurt
        >>> fig4 = aykurt.fig4(profile="paper")
        >>> files = fig4.save(fig4.stored_runs(), Path(tempfile.mkdtemp()) / "fig4.pdf", column="double")
        >>> [file.name for file in files]
        ['fig4.pdf', 'fig4.bib']
        """
        with contextlib.nullcontext() if column is None else figures.column(column):
            figure = self.plot(runs)
            from rdcnlab.analysis.drawing import Drawing  # loads matplotlib, which judging claims does not need

            if not isinstance(figure, Drawing):
                raise TypeError(f"{self.paper}/{self.id} draws no figure of rdcnlab.analysis.figures")
            return figure.save(path, cite=[claims.paper(self.paper).title])

    def rows(self, runs: Runs | None) -> list[JudgedClaim]:
        """Return the scorecard: one row for each claim. Without runs every verdict is ``not run``."""
        # labels of many small tables: with text of Arrow, pandas takes a fifth longer for all of them
        with pd.option_context("mode.string_storage", "python"):
            measured = {} if runs is None else self.measure(runs)
            halves = [] if runs is None else [self.measure(half) for half in self.halves(runs)]
        shipped = self.shipped_verdicts if runs is not None and self.has_few_runs else {}
        return [
            judged(
                self.paper,
                self.id,
                self.column,
                claim,
                measured.get(claim.id),
                before=measured_before(claim, measured),
                halves=[half[claim.id] for half in halves if claim.id in half],
                own=self.claims.own,
                profile=self.profile,
                runs=0 if runs is None else len(runs),
                shipped=shipped.get(claim.id, ""),
            )
            for claim in self.claims.claims
        ]

    @property
    def has_few_runs(self) -> bool:
        """Whether each scenario has fewer runs than in the paper profile."""
        return self.count < self._usual_count("paper")

    @property
    def shipped_verdicts(self) -> dict[str, str]:
        """The verdicts from the shipped runs of the paper profile, by claim; empty if other parameters are changed."""
        usual = {name: type(self).model_fields[name].get_default() for name in ("profile", "seeds")}
        if self.model_copy(update=usual) != type(self)(column=self.column):
            return {}
        return shipped_verdicts(self.paper, self.id, self.column)

    def halves(self, runs: Runs) -> list[Runs]:
        """Return the runs of every other seed, and the runs of the other seeds; empty if they cannot be halved.

        They cannot be if fewer than two seeds have all scenarios, or if the item is `undivided`. Seeds that only some
        scenarios have, such as more runs of a baseline, are halved too.
        """
        counts = Counter(run.scenario.seed for run in runs)
        complete = [seed for seed in sorted(counts) if counts[seed] == max(counts.values())]
        if self.undivided or len(complete) < 2:
            return []
        others = [seed for seed in sorted(counts) if seed not in complete]
        halves = [{*complete[first::2], *others[first::2]} for first in (0, 1)]
        return [runs.select(lambda scenario, half=half: scenario.seed in half) for half in halves]  # type: ignore[misc]

    def score(self, runs: Runs) -> Scorecard:
        """Judge each claim: a card for readers, whose `Scorecard.frame` is the table.

        Verdicts from fewer runs than the paper profile has stand beside those of the shipped runs of that profile.
        """
        return Scorecard(tuple(self.rows(runs)))

    def beside(self, runs: Runs) -> ItemComparison:
        """Compare runs with the shipped runs of the paper profile: a picture, and what both say in a few sentences.

        The shipped runs are read also if ``$RDCNLAB_RESULTS`` hides them from campaigns.
        """
        return compare(self, runs)

    def explain(
        self,
        *,
        run: bool | None = None,
        workers: int | None = None,
        cluster: Any = None,
        store: Store | None = None,
        progress: bool = True,
    ) -> Explanation:
        """Return the measurement and the verdict of the experiment of each cause; `Explanation.frame` is the table.

        The column ``because`` says of a candidate for an unknown cause whether its experiment rules it out.

        Parameters
        ----------
        run : bool, optional
            Whether to make missing runs of the experiments. By default only the paper profile does: the quick profile
            shows stored experiments, and says which are missing.
        workers, cluster, store, progress
            As for `run`.
        """
        makes_runs = self.profile == "paper" if run is None else run
        options: dict[str, Any] = {"workers": workers, "cluster": cluster, "progress": progress}
        return explain(
            self,
            lambda experiment: experiment.run(store=store, **options) if makes_runs else experiment.stored_runs(store),
        )

    def provenance(self, runs: Runs) -> str:
        """Describe in one line where the runs come from."""
        shipped = sum(run.shipped for run in runs)
        engines = sorted({str(run.provenance.get("identity", "?"))[:12] for run in runs})
        seconds = sum(float(run.provenance.get("wall_s", 0.0)) for run in runs)
        return (
            f"{self.paper}/{self.id}, column {self.column}, profile {self.profile}: {len(runs)} runs "
            f"({shipped} shipped) by engine {', '.join(engines)}; {seconds:.0f} s of one core."
        )
