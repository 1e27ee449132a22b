# SPDX-License-Identifier: Apache-2.0
"""What a controller of circuits knows and returns, and how the function of a user's file is called and checked.

Like all modules of the guest, it imports the standard library only.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from matchings import Demand, Pairs

#: Pairs of racks that shall have circuits, for a number of ns; None: until the next plan.
Part = tuple[int | None, Pairs]


class Choice(NamedTuple):
    """Pairs of racks that shall have circuits, and for how many ns; None: until the next decision.

    `planes` has the same pairs for each optical switch, if they were chosen so.
    """

    lasting: int | None
    pairs: Pairs
    planes: list[Pairs] | None = None


Planned = Sequence[Choice]


class State(NamedTuple):
    """What a controller knows at a reading.

    Parameters
    ----------
    now : int
        The instant of the reading, in ns since the scenario's start.
    demand : mapping
        Bytes by sender's rack and receiver's rack, as the field ``measure`` says: one of the next two.
    waiting, sent : mapping
        The bytes that wait in a rack for another one, and those that came since the last reading.
    circuits : list of (str, str)
        The circuits that are up, from the first rack to the second.
    racks : dict
        The number of uplinks of each rack.
    flows : list of (str, str, str, int, int)
        The scenario's flows: name, sender's rack, receiver's rack, bytes, and ns of its start. What of them has
        arrived is not known, as in a real network.
    rate : int
        bit/s of a circuit.
    every, night : int
        ns from one reading to the next, and those for which circuits that change are dark.
    """

    now: int
    demand: Demand
    waiting: Demand
    sent: Demand
    circuits: Pairs
    racks: dict[str, int]
    flows: list[tuple[Any, ...]]
    rate: int
    every: int
    night: int

    def time(self, size: int) -> int:
        """Return the ns that a circuit needs for some bytes."""
        return size * 8 * 10**9 // self.rate

    def bytes(self, ns: int) -> int:
        """Return the bytes that a circuit carries in some ns."""
        return ns * self.rate // (8 * 10**9)

    def fitted(self, parts: Sequence[Part]) -> Planned:
        """Return as many parts of a plan as begin before the next one; the last one then lasts until it.

        Each part is preceded by a night, and lasts at least as long as one.
        """
        fit, left = list[Choice](), self.every
        for lasting, pairs in parts:
            if left < 2 * self.night:
                break
            lasting = max(lasting or self.every, self.night)
            fit.append(Choice(lasting, pairs))
            left -= self.night + lasting
        return [*fit[:-1], *(Choice(None, choice.pairs) for choice in fit[-1:])]


class Wrong(RuntimeError):
    """The user's controller raised, or chose circuits that there are not."""


def controller(name: str, text: str, directed: bool) -> Callable[[State], Planned]:
    """Return the function ``decide`` of a user's file; what it returns is checked.

    It takes either the state, or the demand and the circuits that are up.

    Parameters
    ----------
    name, text : str
        The file.
    directed : bool
        Whether circuits lead one way, so that a rack may have one to each of two other racks by one uplink.

    Raises
    ------
    Wrong
        The file raises, or has no such function. The function that is returned raises it, too.
    """
    space = dict[str, Any]()
    try:
        exec(compile(text, name, "exec"), space)
    except BaseException as error:  # noqa: BLE001
        raise Wrong(f"the controller {name} raised {type(error).__name__}: {error}") from None
    own = space.get("decide")
    if not callable(own):
        raise Wrong(f"the controller {name} has no function decide(state) or decide(demand, circuits)")
    code = getattr(own, "__code__", None)
    takes_state = code is None or code.co_argcount - len(getattr(own, "__defaults__", None) or ()) == 1

    def decide(state: State) -> Planned:
        try:
            made = own(state) if takes_state else own(dict(state.demand), list(state.circuits))
            choices = [_choice(part) for part in made] if _is_plan(made) else [_choice((None, made))]
        except BaseException as error:  # noqa: BLE001
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name]
            at = f" ({name}, line {frames[-1].lineno})" if frames else ""
            raise Wrong(f"the controller {name} raised {type(error).__name__}: {error}{at}") from None
        for choice in choices:
            _check_pairs(name, choice.pairs, state, directed)
        _check_times(name, choices, state)
        return choices

    return decide


def _is_plan(made: Any) -> bool:
    """Return whether a result has durations; pairs of racks have names instead."""
    return bool(made) and not isinstance(next(iter(made))[0], str)


def _choice(part: Any) -> Choice:
    lasting, pairs = part[:2]
    return Choice(None if lasting is None else int(lasting), [(str(first), str(last)) for first, last in pairs])


def _check_pairs(name: str, pairs: Pairs, state: State, directed: bool) -> None:
    """Raise Wrong if circuits lead to racks that do not exist, or to more racks than there are uplinks."""
    for first, last in pairs:
        if first not in state.racks or last not in state.racks or first == last:
            allowed = f"two different racks of {', '.join(state.racks)}"
            raise Wrong(f"the controller {name} chose a circuit {first}, {last}; allowed: {allowed}")
    ends = [[first for first, _ in pairs], [last for _, last in pairs]]
    for racks in ends if directed else [ends[0] + ends[1]]:
        for rack, count in Counter(racks).items():
            if count > state.racks[rack]:
                raise Wrong(
                    f"the controller {name} chose {count} circuits for {rack}; allowed: {state.racks[rack]}, the "
                    "number of its uplinks"
                )


def _check_times(name: str, choices: Planned, state: State) -> None:
    """Raise Wrong if a part of a plan is too short to carry anything, or if the next plan begins before its end."""
    last = choices[-1] if choices else Choice(None, [])
    for choice in choices:
        if choice.lasting is None and choice is not last:
            raise Wrong(f"the controller {name} planned circuits that last before others; allowed: as the last part")
        if choice.lasting is not None and choice.lasting < state.night:
            allowed = f"at least the night, {state.night} ns"
            raise Wrong(f"the controller {name} planned circuits for {choice.lasting} ns; allowed: {allowed}")
    total = sum(state.night + (choice.lasting or state.night) for choice in choices)
    if total > state.every:
        allowed = f"at most {state.every} ns (every), with a night before each part; state.fitted(plan) cuts a plan"
        raise Wrong(f"the controller {name} planned {total} ns; allowed: {allowed}")
