# SPDX-License-Identifier: Apache-2.0
"""What draws and compares runs; a higher layer registers the functions, because this layer cannot draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_functions: dict[str, Callable[..., Any]] = {}


def register(**functions: Callable[..., Any]) -> None:
    """Set the functions that `Run` and `Runs` call, by the names of their methods."""
    _functions.update(functions)


def call(name: str, *arguments: Any, **options: Any) -> Any:
    """Call the registered function of a method."""
    return _functions[name](*arguments, **options)
