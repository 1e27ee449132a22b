# SPDX-License-Identifier: Apache-2.0
"""Values that calibrations took: ``data/papers/calibrated/<paper>-<column>.yaml``, which a calibration writes.

A column with ``calibrated: true`` takes its values from this file, and the changes that follow from them. Before the
file is there, the paper has no such column: it cannot be chosen, and nothing is scored in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rdcnlab.fields import own_yaml
from rdcnlab.system import places

#: Fields of an item, and of a claim, whose keys are columns.
_OF_ITEM, _OF_CLAIM = ("runs",), ("calibrates", "input", "because", "tried")


def file(paper: str, column: str, folder: Path | None = None) -> Path:
    """Return the file with the values of a column; `folder` has the paper's claims."""
    return (places.papers() if folder is None else folder) / "calibrated" / f"{paper}-{column}.yaml"


def completed(data: Any, folder: Path) -> Any:
    """Give each column of a paper's data its calibrated values, and leave out columns that have none yet."""
    if not isinstance(data, dict) or not any(_is_calibrated(column) for column in data.get("columns", ())):
        return data
    columns, missing = [], set()
    for column in data["columns"]:
        path = file(data["paper"], column["id"], folder)
        if not _is_calibrated(column):
            columns.append(column)
        elif path.is_file():
            taken = own_yaml.parse(path.read_text(encoding="utf-8"))
            changes = {**column.get("changes", {}), **taken.get("changes", {})}
            columns.append({**column, "changes": changes, "values": taken["values"]})
        else:
            missing.add(column["id"])
    return {**data, "columns": columns, "items": [_without(missing, item) for item in data["items"]]}


def planned(paper: str, column: str) -> dict[str, Any]:
    """Return the changes of a column that are fixed before its calibration."""
    data = own_yaml.parse((places.papers() / f"{paper}.yaml").read_text(encoding="utf-8"))
    return dict(next(each for each in data["columns"] if each["id"] == column).get("changes", {}))


def values(paper: str, column: str) -> dict[str, float]:
    """Return the values of a column.

    Raises
    ------
    FileNotFoundError
        Its calibration has not been run.
    """
    return dict(own_yaml.parse(file(paper, column).read_text(encoding="utf-8"))["values"])


def write(paper: str, column: str, values: Mapping[str, float], changes: Mapping[str, Any], by: str) -> Path:
    """Write the values of a column, and the changes that follow from them; `by` is the command that took them."""
    path = file(paper, column)
    path.parent.mkdir(exist_ok=True)
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        f"# Written by python -m {by}, with the rule of docs/decisions/cards.md.",
        *(f"{name}:{_listed(each)}" for name, each in (("values", values), ("changes", changes)) if each),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _listed(entries: Mapping[str, Any]) -> str:
    return "".join(f"\n  {name}: {value}" for name, value in entries.items())


def _is_calibrated(column: Any) -> bool:
    return isinstance(column, dict) and bool(column.get("calibrated"))


def _without(missing: set[str], item: dict[str, Any]) -> dict[str, Any]:
    """Return an item's data without what they say of columns that are missing."""
    kept = _keys(missing, item, _OF_ITEM)
    if "columns" in item:
        kept["columns"] = [column for column in item["columns"] if column not in missing]
        if len(kept["columns"]) == 1 and len(item["columns"]) > 1:
            del kept["columns"]  # the first alone, as for an item that lists none
    return {**kept, "claims": [_keys(missing, claim, _OF_CLAIM) for claim in item["claims"]]}


def _keys(missing: set[str], entry: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    """Return an entry whose fields with columns as keys lack those that are missing."""
    kept = dict(entry)
    for name in fields:
        if isinstance(entry.get(name), dict):
            kept[name] = {column: value for column, value in entry[name].items() if column not in missing}
    return kept
