# SPDX-License-Identifier: Apache-2.0
"""The sentences of errors: what is wrong with a value, what would be right, and the nearest valid name."""

from __future__ import annotations

import difflib
import functools
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
#: How a reason begins that follows "it must be left out" without a comma.
_NO_COMMA = ("without", "together")
#: Value of a problem that says only that the field has some value.
GIVEN = "given"


def shown(value: Any) -> str:
    """Return a short, single-line rendering of any value, however large or nested it is."""
    try:
        return _REPR.repr(value).replace("\n", " ")
    except Exception:  # noqa: BLE001 - a value must be reported even if its repr fails
        return f"<{type(value).__name__}>"


def writable(text: str) -> str:
    r"""Return a text that can be encoded: halves of surrogate pairs, which are no characters, as their numbers.

    Examples
    --------
    >>> print(writable("a \ud800"))
    a \ud800
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def sentence(value: str, allowed: str) -> str:
    """Return what is wrong with a value.

    Parameters
    ----------
    value : str
        The value as `shown` returns it; ``'given'`` stands for any value.
    allowed : str
        What is allowed: words that complete the sentence "it must be ...".

    Examples
    --------
    >>> sentence("7", "at most 5")
    '7 is not possible; it must be at most 5'
    """
    value = _as_written(value)
    if value == "None":
        return f"it is not set; it must be {allowed}"
    if value == repr(GIVEN):
        return f"it is set, but it must be {allowed}"
    return f"{value} is not possible; it must be {allowed}"


def left_out(value: str, why: str) -> str:
    """Return that a field must have no value.

    Parameters
    ----------
    value : str
        The value as `shown` returns it; ``'given'`` stands for any value.
    why : str
        Why it must have none, in words that follow "it must be left out".

    Examples
    --------
    >>> left_out("3", "because only udp is sent in bursts")
    '3 must be left out, because only udp is sent in bursts'
    >>> left_out("'given'", "without a queue")
    'it must be left out without a queue'
    """
    subject = "it" if value == repr(GIVEN) else _as_written(value)
    return f"{subject} must be left out{' ' if why.startswith(_NO_COMMA) else ', '}{why}"


def missing(wanted: str) -> str:
    """Return that a field has no value and needs one; `wanted` says which, in words that follow "write".

    Examples
    --------
    >>> missing("a size, such as '2 GiB'")
    "it is missing; write a size, such as '2 GiB'"
    """
    return f"it is missing; write {wanted}"


def _as_written(value: str) -> str:
    """Return a value as a file has it: Python's names of truth values are not YAML's."""
    return {"True": "true", "False": "false"}.get(value, value)


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


def nearest(value: Any, names: Iterable[str]) -> str | None:
    """Return the name that is most similar to a value; None if none is similar.

    Examples
    --------
    >>> nearest("siez", ["name", "size"]), nearest("Cubic", ["cubic"]), nearest("x", ["cubic"])
    ('size', 'cubic', None)
    """
    if not isinstance(value, str) or not any(sign.isalpha() for sign in value):
        return None  # numbers that look alike have nothing in common
    return _nearest(value.lower()[:80], tuple(names))


@functools.lru_cache(maxsize=1024)
def _nearest(value: str, names: tuple[str, ...]) -> str | None:
    by_lower = {name.lower(): name for name in reversed(names)}
    matches = difflib.get_close_matches(value, by_lower, 1, _SIMILAR)
    return by_lower[matches[0]] if matches else None


def listed(names: Sequence[str], value: Any = None) -> str:
    """Return names with commas between them; of many only the nearest to a value, and their number."""
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    text = value.lower()[:80] if isinstance(value, str) else ""
    chosen = difflib.get_close_matches(text, names, 8, 0.0) if text else names[:8]
    return f"{', '.join(sorted(chosen, key=list(names).index))} ... ({len(names)} in all)"


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
