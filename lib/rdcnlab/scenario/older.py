# SPDX-License-Identifier: Apache-2.0
"""Settings that make TCP behave like an older kernel: the meaning of ``transport: {like: "4.15"}``.

The differences are data, in ``older.yaml``, each with its source. ``docs/older-kernels.md`` is made from them.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, get_args

from rdcnlab.fields import own_yaml
from rdcnlab.scenario import buffers

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
    data: dict[str, Any] = own_yaml.parse(text)
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
def separate_differences() -> tuple[Difference, ...]:
    """Return the differences that only settings of their own restore, which `Transport.like` does not set."""
    return tuple(_difference(name, entry) for name, entry in _data()["separate"].items())


@functools.cache
def unrestored_differences() -> tuple[Difference, ...]:
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
    values: dict[str, Any] = {}
    for difference in differences():
        values |= difference.settings.get(kernel, {})
    return values


def lacking(kernel: str) -> dict[str, str]:
    """Return the congestion controls that an older kernel does not have, and why."""
    reasons: dict[str, str] = _data()["without"].get(kernel, {})
    return reasons


def with_settings(fields: dict[str, Any], preset: dict[str, Any]) -> dict[str, Any]:
    """Fill in the settings of the older kernel that a transport is like.

    Parameters
    ----------
    fields : dict
        The fields of `Transport` that a scenario gives. They replace all others; a field with None counts as not given.
    preset : dict
        The fields that the preset of its network gives, for Linux 6.12. The older kernel's settings replace them.
    """
    fields = buffers.with_sizes(fields)
    like = fields.get("like", preset.get("like"))
    like_settings = settings(str(like)) if str(like) in KERNELS else {}
    own_settings = {name: value for name, value in fields.items() if value is not None or name not in like_settings}
    return {**preset, **like_settings, **own_settings}
