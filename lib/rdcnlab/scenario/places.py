# SPDX-License-Identifier: Apache-2.0
"""Places of fields as text: ``flows.main.path[0].duration``, as `Scenario.with_` reads them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from rdcnlab.scenario.timetable import PATH_TAGS

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


class Places:
    """The places in some plain data.

    An item of a list goes by its name if that is a plain name which no other item has, and which is not itself what the
    text is about. Otherwise it goes by its number.

    Examples
    --------
    >>> places = Places({"flows": [{"name": "main"}, {"name": "7th"}]})
    >>> places.text(("flows", 0, "cc")), places.text(("flows", 1, "cc")), places.text(("flows", 0, "name"))
    ('flows.main.cc', 'flows[1].cc', 'flows[0].name')
    """

    def __init__(self, data: Any = None) -> None:
        self._data = data
        self._names: dict[int, Counter[Any]] = {}

    def text(self, location: Sequence[int | str], inner: str = "") -> str:
        """Return a location, as pydantic has it, as text; `inner` is the path of a field below it."""
        parts = [
            part for place, part in enumerate(location)
            if not (part in PATH_TAGS and place and location[place - 1] in ("path", "back"))
        ]  # fmt: skip
        text, data = "", self._data
        for part, following in zip(parts, [*parts, inner][1:], strict=True):
            name = self._name(data, part) if following != "name" else None
            text += f"[{part}]" if isinstance(part, int) and name is None else f"{'.' if text else ''}{name or part}"
            data = _item(data, part)
        return f"{text}{'.' if text and inner else ''}{inner}"

    def _name(self, items: Any, place: int | str) -> str | None:
        """Return the name that an item of a list goes by; None if it goes by its number."""
        name = _item(_item(items, place), "name") if isinstance(place, int) else None
        if not (isinstance(name, str) and _PLAIN.fullmatch(name)):
            return None
        if id(items) not in self._names:
            self._names[id(items)] = Counter(str(_item(item, "name")) for item in items)
        return name if self._names[id(items)][name] == 1 else None


def _item(data: Any, part: int | str) -> Any:
    """Return a part of plain data, which may contain checked parts; None if there is none."""
    if isinstance(data, dict):
        return data.get(part)
    if isinstance(part, int):
        return data[part] if isinstance(data, list | tuple) and part < len(data) else None
    return getattr(data, part, None) if isinstance(data, BaseModel) else None
