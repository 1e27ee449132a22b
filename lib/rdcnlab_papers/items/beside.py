# SPDX-License-Identifier: Apache-2.0
"""`ItemComparison`: a reader's runs of an item over the band of the shipped ones, and in a sentence what both say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from rdcnlab.runs.shipped import Shipped
from rdcnlab.runs.store import Store
from rdcnlab.system import places
from rdcnlab_papers.analysis import beside
from rdcnlab_papers.items import claims
from rdcnlab_papers.items.causes import explain
from rdcnlab_papers.items.verdicts import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rdcnlab.runs.frame import Runs
    from rdcnlab_papers.items.item import Item

#: Number of statements that are not reproduced up to which the sentence names each.
_NAMED = 2
#: Number of runs outside of the shipped range that the sentence names.
_OUTSIDE = 3


@dataclass(frozen=True, repr=False)
class ItemComparison:
    """A reader's runs of an item beside the shipped runs. Notebooks show the picture and the sentences.

    Parameters
    ----------
    sentence : str
        Whether the runs lie within the shipped ones, how many statements of the paper the shipped ones reproduce, and
        why the others are not reproduced.
    figure : Figure or None
        The runs over the range of the shipped ones; None if none are shipped.
    """

    sentence: str
    figure: Figure | None = None

    def __repr__(self) -> str:
        return self.sentence

    def _ipython_display_(self) -> None:
        from IPython import display

        show: Callable[..., Any] = display.display
        # two outputs, because a page shows one form of an output only
        if self.figure is not None:
            show(self.figure)
        show({"text/plain": self.sentence, "text/html": f"<p>{escape(self.sentence)}</p>"}, raw=True)


def compare(item: Item, runs: Runs) -> ItemComparison:
    """Compare a reader's runs of an item with the shipped runs of the paper profile; see `Item.beside`."""
    store = Store(places.store() / "none", shipped=Shipped(places.shipped_results()))
    whole = type(item)(**{**item.model_dump(), "profile": "paper", "seeds": None})
    shipped = whole.stored_runs(store)
    if shipped is None:
        return ItemComparison(f"No runs of {item.paper}/{item.id} with these parameters are shipped to compare with.")
    if "flows" not in item.reads:
        return ItemComparison(_statements(whole, shipped, store))
    compared = beside.compare(runs, shipped)
    return ItemComparison(f"{_within(compared)} {_statements(whole, shipped, store)}", beside.plot(runs, shipped))


def _within(compared: beside.Beside) -> str:
    """Say whether a reader's runs lie within the shipped ones."""
    yours = f"Your {_count(compared.own, 'run')}"
    if compared.equal == compared.own:
        return f"{yours} are equal, byte for byte, to runs among the {compared.shipped} shipped ones."
    sentences = []
    inside = compared.own - compared.outside_runs - compared.unmatched
    equal = f"; {compared.equal} of them are equal to shipped ones, byte for byte" if compared.equal else ""
    if inside == compared.own:
        sentences.append(f"{yours} lie within the range of the {compared.shipped} shipped ones{equal}.")
    else:
        of = (
            f"{inside} of your {compared.own} runs {'lies' if inside == 1 else 'lie'}"
            if inside
            else "None of yours lies"
        )
        sentences.append(f"{of} within the range of the {compared.shipped} shipped ones{equal}.")
    if compared.outside_runs:
        named = [
            f"{row.label}, seed {row.seed} ({row.group}: {row.gbps:.4g} Gb/s, shipped {row.low:.4g} to {row.high:.4g})"
            for row in compared.outside.head(_OUTSIDE).itertuples()
        ]
        more = f", and {len(compared.outside) - len(named)} more" if len(compared.outside) > len(named) else ""
        sentences.append(f"Outside of it: {'; '.join(named)}{more}.")
    if compared.unmatched:
        sentences.append(f"For the settings of {compared.unmatched} of them no run is shipped.")
    return " ".join(sentences)


def _statements(whole: Item, shipped: Runs, store: Store) -> str:
    """Say how many statements of the paper the shipped runs reproduce, and why not the others."""
    verdicts = whole.shipped_verdicts or {row.claim: row.verdict for row in whole.rows(shipped)}
    counted = [claim for claim in whole.claims.claims if not claim.not_counted(whole.column)]
    of_paper = [claim for claim in counted if not (claim.own or whole.claims.own)]
    listed, kind = (of_paper, "statements of the paper") if of_paper else (counted, "statements of ours")
    if not listed:
        return ""
    held = [claim for claim in listed if verdicts.get(claim.id) == Verdict.REPRODUCED]
    first = f"The shipped runs reproduce {len(held)} of {len(listed)} {kind}."
    others = [claim for claim in listed if claim not in held]
    if not others:
        return first
    words = [_why(whole, claim, verdicts.get(claim.id, Verdict.NOT_RUN), store) for claim in others[:_NAMED]]
    more = f" {len(others) - _NAMED} more are not reproduced; the score names them." if len(others) > _NAMED else ""
    return f"{first} {' '.join(words)}{more}"


def _why(whole: Item, claim: claims.Claim, verdict: str, store: Store) -> str:
    """Return the verdict on a claim, and what the shipped experiments on its cause measured."""
    says = f"“{claim.text}”: {verdict}"
    rows = explain(whole, lambda experiment: experiment.stored_runs(store)).rows
    causes = [f"{row.because}: {row.there}" for row in rows if row.claim == claim.id and row.cases]
    causes = causes or list(claim.causes(whole.column))
    return f"{says}. {causes[0]}." if causes else f"{says}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
