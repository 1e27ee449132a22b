# SPDX-License-Identifier: Apache-2.0
"""How notebooks show a scenario: by what a higher floor has registered, because a scenario cannot draw itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rdcnlab.scenario.model import Scenario

#: MIME types and their contents, and of each type how it is shown, such as a width.
Bundle = tuple[dict[str, Any], dict[str, Any]]

_show: list[Callable[[Scenario], Bundle]] = []


def register(show: Callable[[Scenario], Bundle]) -> None:
    """Set what shows scenarios from now on.

    Parameters
    ----------
    show : callable
        Takes a scenario and returns contents by MIME type, and how each is shown.
    """
    _show[:] = [show]


def bundle(scenario: Scenario) -> Bundle | None:
    """Return what a notebook shows of a scenario; None where nothing is registered."""
    return _show[0](scenario) if _show else None
