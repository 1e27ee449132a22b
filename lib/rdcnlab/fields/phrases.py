# SPDX-License-Identifier: Apache-2.0
"""The sentences of errors: what is wrong with a value, what would be right, and the nearest valid name."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable, Sequence
from typing import Any

_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 80
_REPR.maxlevel = 3
#: Most names that a message lists; of more it lists the nearest.
_MOST_NAMES = 24
#: Similarity of two names, from 0 to 1, from which on one is proposed for the other (`difflib.SequenceMatcher`).
_SIMILAR = 0.6
#: How `allowed` begins if the field must not have a value, and how it goes on.
_LEAVE_OUT = ("nothing", "none")
_GOES_ON = ("because", "with", "in ", "for", "together", "after", "and ")
#: Value of a problem that says only that the field has some value.
GIVEN = "given"


def shown(value: Any) -> str:
    """Return a short, single-line rendering of any value, however large or nested it is."""
    try:
        return _REPR.repr(value).replace("\n", " ")
    except Exception:  # noqa: BLE001 - a value must be reported even if its repr fails
        return f"<{type(value).__name__}>"


def sentence(value: str, allowed: str) -> str:
    """Return what is wrong with a value.

    Parameters
    ----------
    value : str
        The value as `shown` returns it; ``'given'`` stands for any value, and ``nothing`` for a missing field.
    allowed : str
        What is allowed: words that complete the sentence "it must be ...". If no value is allowed, they begin with
        ``nothing``, and the reason follows.

    Examples
    --------
    >>> sentence("7", "at most 5")
    '7 is not possible; it must be at most 5'
    >>> sentence("3", "nothing, because only udp is sent in bursts")
    '3 must be left out, because only udp is sent in bursts'
    """
    value = {"True": "true", "False": "false"}.get(value, value)
    empty, _, rest = allowed.partition(" ")
    rest = rest.strip()
    leave_out = empty.rstrip(",;:") in _LEAVE_OUT and (not rest or rest.startswith(_GOES_ON))
    if leave_out:
        subject = "it" if value == repr(GIVEN) else value
        return f"{subject} must be left out{', ' if empty.endswith(',') else ' ' if rest else ''}{rest}"
    if value == "nothing":
        return f"it is missing; write {allowed}"
    if value == "None":
        return f"it is not set; it must be {allowed}"
    if value == repr(GIVEN):
        return f"it is set, but it must be {allowed}"
    return f"{value} is not possible; it must be {allowed}"


def unknown(value: Any, names: Iterable[Any], what: str = "", *, also: str = "") -> str:
    """Return that there is no such name, with the nearest name and all names.

    Parameters
    ----------
    value : object
        The name that does not exist.
    names : iterable of str
        The names that exist.
    what : str
        What has these names, such as ``host``.
    also : str
        What else is allowed, in words.

    Examples
    --------
    >>> unknown("cubik", ["cubic", "reno"], "congestion control")
    "there is no congestion control 'cubik'. Did you mean 'cubic'? Possible: cubic, reno"
    """
    known = list(dict.fromkeys(map(str, names)))
    if isinstance(value, str):
        text = f"there is no {what} {shown(value)}" if what else f"{shown(value)} is not known here"
    else:
        text = f"{shown(value)} is not the name of {_article(what)}" if what else f"{shown(value)} is not a name"
    near = nearest(value, known)
    text += f". Did you mean '{near}'? " if near else ". "
    listing = listed(known, value) or "there is none"
    return f"{text}Possible: {listing}{f', or {also}' if also else ''}"


def nearest(value: Any, names: Sequence[str]) -> str | None:
    """Return the name that is most similar to a value; None if none is similar.

    Examples
    --------
    >>> nearest("siez", ["name", "size"]), nearest("Cubic", ["cubic"]), nearest("x", ["cubic"])
    ('size', 'cubic', None)
    """
    if not isinstance(value, str) or not any(sign.isalpha() for sign in value):
        return None  # numbers that look alike have nothing in common
    by_lower = {name.lower(): name for name in reversed(names)}
    matches = difflib.get_close_matches(value.lower()[:80], by_lower, 1, _SIMILAR)
    return by_lower[matches[0]] if matches else None


def listed(names: Sequence[str], value: Any = None) -> str:
    """Return names with commas between them; of many only the nearest to a value, and their number."""
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    text = value.lower()[:80] if isinstance(value, str) else ""
    chosen = difflib.get_close_matches(text, names, 8, 0.0) if text else names[:8]
    return f"{', '.join(sorted(chosen, key=list(names).index))} ... ({len(names)} in all)"


def did_you_mean(value: Any, names: Sequence[str]) -> str:
    """Return ``; did you mean 'NAME'?`` with the nearest name; empty text if no name is similar."""
    near = nearest(value, names)
    return f"; did you mean '{near}'?" if near else ""


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
