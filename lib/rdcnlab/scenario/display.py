# SPDX-License-Identifier: Apache-2.0
"""How notebooks show a scenario; a higher layer registers the function, because this layer cannot draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rdcnlab.scenario.model import Scenario

#: Contents by MIME type, and display metadata by MIME type, such as a width.
Bundle = tuple[dict[str, Any], dict[str, Any]]

_show: list[Callable[[Scenario], Bundle]] = []


def register(show: Callable[[Scenario], Bundle]) -> None:
    """Set the function that shows scenarios from now on.

    Parameters
    ----------
    show : callable
        Takes a scenario; returns contents by MIME type and display metadata by MIME type.
    """
    _show[:] = [show]


def bundle(scenario: Scenario) -> Bundle | None:
    """Return the contents that a notebook shows for a scenario; None if no function is registered."""
    return _show[0](scenario) if _show else None
