# SPDX-License-Identifier: Apache-2.0
"""Which verdicts a change turns: an item's claims on some seeds, on other seeds, and on the first ones with the change.

A verdict that another choice of seeds turns too says nothing about the change, so the other seeds are the baseline.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rdcnlab.fields.errors import InputError
from rdcnlab.runs.frame import Runs
from rdcnlab.runs.store import Store
from rdcnlab_papers.items.item import Item
from rdcnlab_papers.items.judged import JudgedClaim
from rdcnlab_papers.items.verdicts import Verdict

#: Verdicts between which a claim has turned; an undecided one has not.
_DECIDED = (Verdict.REPRODUCED, Verdict.PARTLY, Verdict.DIFFERS)


@dataclass(frozen=True)
class Turn:
    """A counted claim with and without a change.

    Parameters
    ----------
    item, column, claim : str
        Full name of the item, the column, and the claim's id.
    seeds : int
        Number of runs of each scenario.
    verdict, measured : str
        Of the first seeds, without the change.
    other_verdict, other_measured : str
        Of as many further seeds, without the change; ``not run`` if they are not stored, or the item is `undivided`.
    changed_verdict, changed_measured : str
        Of the first seeds, with the change.
    """

    item: str
    column: str
    claim: str
    seeds: int
    verdict: str
    other_verdict: str
    changed_verdict: str
    measured: str
    other_measured: str
    changed_measured: str

    @property
    def by_change(self) -> bool:
        """Whether the change turns one decided verdict into another one."""
        return turned(self.verdict, self.changed_verdict)

    @property
    def by_seeds(self) -> bool:
        """Whether other seeds turn one decided verdict into another one."""
        return turned(self.verdict, self.other_verdict)


def turned(before: str, after: str) -> bool:
    """Return whether two verdicts are decided and differ.

    Examples
    --------
    >>> turned("reproduced", "differs"), turned("reproduced", "undecided"), turned("differs", "differs")
    (True, False, False)
    """
    return before != after and before in _DECIDED and after in _DECIDED


def turns(
    kind: type[Item], changes: Mapping[str, Any], *, seeds: int = 3, column: str = "", **options: Any
) -> list[Turn]:
    """Run an item with a change, and judge its counted claims with and without it.

    Parameters
    ----------
    kind : type of Item
        The item.
    changes : mapping
        What is changed in every scenario, as `Item.changes` has it.
    seeds : int
        Number of runs of each scenario. Items that have fewer in the paper profile keep theirs.
    column : str, optional
        The testbed; by default the item's first.
    **options
        As `Item.run` takes them. Runs without the change are made where they are not stored, those of other seeds not.

    Returns
    -------
    list of Turn
        One for each claim that counts.

    Raises
    ------
    InputError
        A change is not allowed in one of the scenarios.
    """
    if not changes:
        raise InputError.of("changes", changes, "at least one field and its value, such as network.links.*.jitter")
    whole = kind(profile="paper", column=column)
    seeds = min(seeds, whole.count)
    as_is = kind(profile="paper", column=column, seeds=seeds)
    changed = kind(profile="paper", column=column, seeds=seeds, changes=dict(changes))
    runs = as_is.run(**options)
    first = _counted(as_is, runs)
    after = _counted(changed, changed.run(**options))
    others = _other_seeds(as_is, len(runs), options.get("store"))
    return [
        Turn(
            f"{as_is.paper}/{as_is.id}", as_is.column, name, seeds, row.verdict,
            others[name].verdict if name in others else Verdict.NOT_RUN, after[name].verdict, row.measured,
            others[name].measured if name in others else "", after[name].measured,
        )
        for name, row in first.items()
    ]  # fmt: skip


def _other_seeds(item: Item, count: int, store: Store | None) -> dict[str, JudgedClaim]:
    """Return the claims judged on as many runs of the seeds after the item's; none if they are not stored."""
    twice = item.with_parameters(profile=item.profile, seeds=2 * item.count)
    runs = twice.stored_runs(store)
    if runs is None or item.undivided:
        return {}
    used = sorted({run.scenario.seed for run in runs})[: item.count]
    others = runs.select(lambda one: one.seed not in used)
    return _counted(twice, others) if len(others) == count else {}


def _counted(item: Item, runs: Runs) -> dict[str, JudgedClaim]:
    """Return the counted claims by their id."""
    return {row.claim: row for row in item.rows(runs) if row.counted}


def summary(turns: Iterable[Turn]) -> str:
    """Return in one sentence how many verdicts turned, and how many by seeds alone."""
    rows = [*turns]
    both = [row for row in rows if row.verdict in _DECIDED and row.changed_verdict in _DECIDED]
    alone = [row for row in rows if row.verdict in _DECIDED and row.other_verdict in _DECIDED]
    return (
        f"The change turns {sum(row.by_change for row in both)} of {len(both)} claims that are decided with and "
        f"without it; other seeds turn {sum(row.by_seeds for row in alone)} of {len(alone)}. {len(rows)} claims in all."
    )
