# SPDX-License-Identifier: Apache-2.0
"""The errors that a user sees; each says how to correct the cause."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 80
_REPR.maxlevel = 3


def shown(value: Any) -> str:
    """Return a short, single-line rendering of any value, however large or nested it is."""
    try:
        return _REPR.repr(value).replace("\n", " ")
    except Exception:  # noqa: BLE001 - a value must be reported even if its repr fails
        return f"<{type(value).__name__}>"


@dataclass(frozen=True)
class Problem:
    """One thing wrong with an input.

    Parameters
    ----------
    field : str
        Path of the field, as in ``flows[1].cc``.
    value : str
        The given value, shortened.
    allowed : str
        The values that are allowed, in words.
    """

    field: str
    value: str
    allowed: str

    def __str__(self) -> str:
        return f"{self.field}: {self.value} is not allowed; allowed: {self.allowed}"


class RdcnlabError(Exception):
    """Base of all errors that the user sees as a sentence and not as a traceback."""

    exit_code = 1


class InputError(RdcnlabError):
    """The input asks for something that is not possible; nothing was run.

    Parameters
    ----------
    problems : tuple of Problem
        At least one; each names field, value and what is allowed.
    """

    exit_code = 2

    def __init__(self, *problems: Problem) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))

    @classmethod
    def of(cls, field: str, value: Any, allowed: str) -> InputError:
        """Return the error of a single field."""
        return cls(Problem(field, shown(value), allowed))

    def below(self, field: str) -> InputError:
        """Return the same error with the name of an outer field in front of each field."""
        problems = (Problem(f"{field}.{inner.field}", inner.value, inner.allowed) for inner in self.problems)
        return InputError(*problems)


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
        super().__init__(reason if log is None else f"{reason} (log: {log})")

    def __reduce__(self) -> tuple[type[RunError], tuple[str, Path | None]]:
        # A campaign passes exceptions between processes. The default would pass the joined text as `reason`.
        return type(self), (self.reason, self.log)
