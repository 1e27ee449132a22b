# SPDX-License-Identifier: Apache-2.0
"""Circuits on demand: how often a controller reads what racks have to send, and how it chooses circuits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import model_validator

from rdcnlab.fields.quantities import Duration, FieldError, Frozen, SlotDuration, omit_default
from rdcnlab.fields.units import DURATION
from rdcnlab.scenario.user_file import UserFile, from_path

#: ``queues``: bytes that wait in a rack for another one. ``sent``: bytes for another rack since the last reading.
Measure = Literal["queues", "sent"]
#: ``matching``: the pairs whose demand is largest together. ``greedy``: pairs in the order of their demand.
#: ``birkhoff``: permutations one after the other.
Decide = Literal["matching", "greedy", "birkhoff"]


class CircuitController(UserFile):
    """A file of Python with a function ``decide(state)`` or ``decide(demand, circuits)``; text form: its path."""


class OnDemand(Frozen):
    """A controller that sets circuits from what racks have to send, as in Helios and c-Through.

    Every `every` ns it reads the demand between racks. `reaction` ns later, circuits that end carry nothing any more;
    they are dark for `night` ns, and then the new ones are up.

    Parameters
    ----------
    every : int
        ns from one reading to the next; the first is so long after the start.
    reaction : int
        ns from a reading until circuits begin to change.
    night : int
        ns for which circuits that change are dark.
    measure : {'queues', 'sent'}
        The demand of a rack for another one: the bytes that wait there for it, or those that came since the last
        reading.
    decide : {'matching', 'greedy', 'birkhoff'}
        How circuits are chosen. ``matching``: pairs whose demand is largest together; with several uplinks, one
        matching for each optical switch, of what is left. ``greedy``: pairs in the order of their demand, which may
        give half of that. ``birkhoff``: permutations one after the other, each for the time that its part needs; for
        one uplink with `Optics.directed` circuits.
    controller : CircuitController or None
        A file of Python that chooses instead of `decide`.
    """

    every: SlotDuration = 1_000_000
    reaction: Duration = 100_000
    night: SlotDuration = 20_000
    measure: Measure = "queues"
    decide: Decide = "greedy"
    controller: Annotated[
        Annotated[CircuitController | None, from_path(".py", "a file of Python with a function decide, *.py")],
        omit_default,
    ] = None

    @model_validator(mode="after")
    def _fits(self) -> OnDemand:
        least = self.reaction + 2 * self.night
        if self.every <= least:
            allowed = f"more than reaction and two nights together ({DURATION.format(least)})"
            raise FieldError("every", DURATION.format(self.every), allowed)
        if self.controller is not None and self.decide != "greedy":
            raise FieldError.left_out("decide", self.decide, "with a controller, which decides instead")
        return self

    @property
    def summary(self) -> str:
        """When circuits are chosen, and from what."""
        who = self.decide if self.controller is None else Path(self.controller.path).name
        return f"every {DURATION.format(self.every)} by {who} from {self.measure}"
