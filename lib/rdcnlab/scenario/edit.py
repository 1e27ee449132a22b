# SPDX-License-Identifier: Apache-2.0
"""Changes to a scenario's plain data, by field name."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rdcnlab.fields.errors import InputError
from rdcnlab.fields.quantities import Frozen, SlotDuration

#: In a dotted path: all items of a list.
EVERY = "*"
#: Names that change every flow at once, in addition to the names of fields.
SHORTCUTS = ("period", "cc", "size")
_SLOT: TypeAdapter[int] = TypeAdapter(SlotDuration, config={"strict": True})


def parts(name: str) -> tuple[str, ...]:
    """Return the parts of a scenario that `apply` may change under a name."""
    return ("flows", "workloads") if name in SHORTCUTS else (name.replace("__", ".").split(".")[0],)


def apply(data: dict[str, Any], name: str, value: Any) -> None:
    """Change one field of a scenario in place.

    Parameters
    ----------
    data : dict
        Plain data, as from `Scenario.to_dict`.
    name : str
        A field (``seed``), a dotted path (``switch.dark``, ``flows.main.cc``; items of lists are named by their
        ``name``, and ``*`` names all of them), or a shortcut. The shortcuts ``cc`` and ``size`` change every flow
        except bursts (udp); ``cc`` also changes workloads. The shortcut ``period`` changes the duration of every slot,
        in each timetable with equally long slots; ``period=None`` keeps every flow on its first link. ``__`` may
        replace a dot.
    value : object
        New value, in code or text form.

    Raises
    ------
    InputError
        There is no such field. The message lists the fields that exist.
    """
    if name == "period":
        _set_period(data, value)
    elif name in SHORTCUTS:
        drawn = data.get("workloads") or () if name == "cc" else ()
        for flow in (*data["flows"], *drawn):
            if flow.get("protocol") != "udp":
                flow[name] = value
    else:
        _set(data, name.replace("__", ".").split("."), value, name)


def _set_period(data: dict[str, Any], value: Any) -> None:
    timetables = [flow for flow in data["flows"] if not isinstance(flow["path"], str)]
    even = [flow for flow in timetables if len({slot["duration"] for slot in flow["path"]}) == 1]
    if value is None or value == "none":
        for flow in timetables:
            flow["path"] = flow["path"][0]["link"]
        return
    try:
        _SLOT.validate_python(value)
    except ValidationError as error:
        cause = error.errors()[0].get("ctx", {}).get("error", "a duration such as '50 ms'")
        raise InputError.of("period", value, f"None (each flow stays on its first link) or {cause}") from None
    if not even:
        raise InputError.of("period", value, "None, because no flow has a timetable of equal slots")
    for flow in even:
        flow["path"] = [{"duration": value, "link": slot["link"]} for slot in flow["path"]]


def _set(data: dict[str, Any], path: list[str], value: Any, name: str) -> None:
    holder: Any = data
    for depth, part in enumerate(path):
        names = _names(holder)
        if part == EVERY and names and isinstance(holder, list):
            for each in names:
                _set(data, [*path[:depth], each, *path[depth + 1 :]], value, name)
            return
        if part not in names:
            extra = SHORTCUTS if depth == 0 else ()
            if not names:
                reason = f"there is nothing below '{path[depth - 1]}'"
                raise InputError.of(name, part, "a field that exists", reason=reason)
            raise InputError.unknown(name, part, [*names, *extra], "field")
        if depth == len(path) - 1:
            break
        holder = holder[part] if isinstance(holder, dict) else holder[names.index(part)]
    if isinstance(holder, dict):
        holder[path[-1]] = value
    else:
        holder[_names(holder).index(path[-1])] = value


def _names(holder: Any) -> list[str]:
    if isinstance(holder, dict):
        return list(holder)
    if isinstance(holder, list):
        return [item["name"] for item in holder if isinstance(item, dict) and "name" in item]
    return []


def as_data(name: str, value: Any) -> Any:
    """Return a Python value as plain data; it may contain numpy scalars and parts of other scenarios."""
    try:
        return json.loads(json.dumps(value, default=_plain))
    except (ValueError, RecursionError, TypeError):
        raise InputError.of(name, value, "text, numbers, lists and mappings") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Frozen):
        return value.model_dump(mode="json")
    if hasattr(value, "item"):
        return value.item()  # a numpy scalar
    raise TypeError(type(value).__name__)
