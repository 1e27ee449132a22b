# SPDX-License-Identifier: Apache-2.0
"""The errors that a user sees; each says how to correct the cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rdcnlab.fields.phrases import left_out, sentence, shown, unknown, writable

__all__ = ["HintWarning", "InputError", "Problem", "RdcnlabError", "RunError", "shown"]

#: Field of a problem that concerns a scenario as a whole.
WHOLE = "scenario"
#: Most problems that the text of an error has; a scenario of a thousand flows may have thousands.
_MOST_LINES = 20


@dataclass(frozen=True)
class Problem:
    """One thing wrong with an input.

    Parameters
    ----------
    field : str
        Path of the field, as in ``flows.main.cc``.
    value : str
        The given value, shortened.
    allowed : str
        The values that are allowed, in words that complete "it must be ..."; see `rdcnlab.fields.phrases.sentence`.
    reason : str
        What is wrong, as a sentence of its own. Without it, the sentence is made of `value` and `allowed`.
    location : str
        File and line of the field, as in ``mine.yaml, line 4``; empty if the input is not from a file.
    """

    field: str
    value: str
    allowed: str
    reason: str = ""
    location: str = ""

    def __str__(self) -> str:
        field = "" if self.location and self.field == WHOLE else self.field
        words = (self.location, field, self.reason or sentence(self.value, self.allowed))
        return writable(": ".join(word for word in words if word))


class HintWarning(UserWarning):
    """Something is legal and can be run, but is probably not what its author intended. The message has a cure."""


class RdcnlabError(Exception):
    """Base of all errors that the user sees as a sentence and not as a traceback."""

    exit_code = 1


class InputError(RdcnlabError):
    """The input asks for something that is not possible; nothing was run.

    Parameters
    ----------
    problems : tuple of Problem
        At least one; each names field, value and what is allowed.
    more : int
        Number of further problems, which nobody has put into words.
    """

    exit_code = 2

    def __init__(self, *problems: Problem, more: int = 0) -> None:
        self.problems, self.more = problems, more
        lines = [str(problem) for problem in problems[:_MOST_LINES]]
        others = len(problems) - len(lines) + more
        if others:
            lines.append(f"... and {others} more")
        super().__init__("\n".join(lines))

    @classmethod
    def of(cls, field: str, value: Any, allowed: str = "", *, reason: str = "") -> InputError:
        """Return the error of a single field; see `Problem` for the arguments."""
        return cls(Problem(field, shown(value), allowed, reason))

    @classmethod
    def unknown(cls, field: str, value: Any, names: Iterable[Any], what: str = "", *, also: str = "") -> InputError:
        """Return the error of a name that does not exist; see `rdcnlab.fields.phrases.unknown` for the arguments."""
        known = list(names)
        allowed = f"one of {', '.join(map(str, known))}"
        return cls.of(field, value, allowed, reason=unknown(value, known, what, also=also))

    @classmethod
    def left_out(cls, field: str, value: Any, why: str) -> InputError:
        """Return the error of a field that must have no value; see `rdcnlab.fields.phrases.left_out`."""
        text = shown(value)
        return cls(Problem(field, text, f"nothing, {why}", left_out(text, why)))

    def below(self, field: str) -> InputError:
        """Return the same error with the name of an outer field in front of each field."""
        inner = (replace(problem, field=f"{field}.{problem.field}") for problem in self.problems)
        return InputError(*inner, more=self.more)

    def located(self, location: Callable[[str], str]) -> InputError:
        """Return the same error with a place in front of each problem; `location` takes the field's path."""
        problems = (replace(problem, location=location(problem.field)) for problem in self.problems)
        return InputError(*problems, more=self.more)


class RunError(RdcnlabError):
    """A run ended without a result.

    Parameters
    ----------
    reason : str
        One sentence that states the cause.
    log : Path or None
        Path of the log, if one was kept.
    """

    def __init__(self, reason: str, log: Path | None = None) -> None:
        self.reason = reason
        self.log = log
        super().__init__(writable(reason if log is None else f"{reason} (log: {log})"))

    def __reduce__(self) -> tuple[type[RunError], tuple[str, Path | None]]:
        # A campaign passes exceptions between processes. The default would pass the joined text as `reason`.
        return type(self), (self.reason, self.log)
