# SPDX-License-Identifier: Apache-2.0
"""Older kernels by their settings: what ``transport: {like: "4.15"}`` stands for.

The differences are data, in ``older.yaml``, each with its source. ``docs/older-kernels.md`` is made from them.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, get_args

import yaml

Kernel = Literal["4.15", "4.9", "4.4"]
#: Kernels that `Transport.like` may name, the newest first.
KERNELS: tuple[str, ...] = get_args(Kernel)


@dataclass(frozen=True)
class Difference:
    """Something that an older kernel does differently from Linux 6.12.

    Parameters
    ----------
    name : str
    what : str
        The older behaviour, and that of 6.12.
    source : str
        File and function of the older kernel's source.
    changed : str
        The commit that made the difference and its first release; empty if it was not looked for.
    settings : dict of str to dict
        Values of fields of `Transport` by kernel, in text form. Empty for what cannot be restored.
    kernels : tuple of str
        Kernels that behave like this.
    """

    name: str
    what: str
    source: str
    changed: str
    settings: Mapping[str, Mapping[str, Any]]
    kernels: tuple[str, ...]


@functools.cache
def _data() -> dict[str, Any]:
    text = (resources.files("rdcnlab") / "scenario" / "older.yaml").read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.safe_load(text)
    return data


def _difference(name: str, entry: dict[str, Any]) -> Difference:
    values = entry.get("settings", {})
    kernels = tuple(entry.get("kernels", values))
    what, source, changed = (str(entry.get(part, "")).strip() for part in ("what", "source", "changed"))
    return Difference(name, what, source, changed, values, kernels)


@functools.cache
def differences() -> tuple[Difference, ...]:
    """Return the differences that `Transport.like` restores."""
    return tuple(_difference(name, entry) for name, entry in _data()["differences"].items())


@functools.cache
def unrestored() -> tuple[Difference, ...]:
    """Return the differences that are known and that no setting restores."""
    return tuple(_difference(name, entry) for name, entry in _data()["unrestored"].items())


@functools.cache
def settings(kernel: str) -> dict[str, Any]:
    """Return the fields of `Transport` that make a kernel behave like an older one, in text form.

    Examples
    --------
    >>> settings("4.15")["loss_timers"], settings("4.9")["loss_timers"]
    (1, 2)
    """
    found: dict[str, Any] = {}
    for difference in differences():
        found |= difference.settings.get(kernel, {})
    return found


def lacking(kernel: str) -> dict[str, str]:
    """Return the congestion controls that an older kernel does not have, and why."""
    found: dict[str, str] = _data()["without"].get(kernel, {})
    return found


def with_settings(given: dict[str, Any], preset: dict[str, Any]) -> dict[str, Any]:
    """Fill in the settings of the older kernel that a transport is like.

    Parameters
    ----------
    given : dict
        What a scenario says of its transport; it wins. None means nothing.
    preset : dict
        What the preset of its network says, for Linux 6.12; the older kernel wins.
    """
    like = given.get("like", preset.get("like"))
    known = settings(str(like)) if str(like) in KERNELS else {}
    chosen = {name: value for name, value in given.items() if value is not None or name not in known}
    return {**preset, **known, **chosen}
