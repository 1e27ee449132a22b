# SPDX-License-Identifier: Apache-2.0
"""The identity of a scenario: which text of it is hashed."""

from __future__ import annotations

import hashlib
from typing import Any

from rdcnlab.fields.quantities import canonical_json

#: Stands in text for a seed, which is never negative.
NO_SEED = -1


def hash_of(canonical: dict[str, Any]) -> str:
    """Return the hash of a scenario from its canonical data, as `Scenario.to_dict` returns it; nothing is checked."""
    return hashlib.sha256(hashed_text(canonical).encode()).hexdigest()


def hashed_text(canonical: dict[str, Any]) -> str:
    """Return the canonical JSON of what decides the hash."""
    network = without(canonical["network"], "name")
    if "switches" in network:
        network["switches"] = [
            {**node, "program": without(node["program"], "path")} if node.get("program") is not None else node
            for node in network["switches"]
        ]
    demand = (network.get("optics") or {}).get("demand")
    if demand is not None and demand.get("controller") is not None:
        chosen = {**demand, "controller": without(demand["controller"], "path")}
        network["optics"] = {**network["optics"], "demand": chosen}
    data = {**canonical, "network": network}
    for field, part in (("switch", "program"), ("switch", "controller"), ("engine", "algorithm")):
        if canonical[field].get(part) is not None:
            data[field] = {**data[field], part: _without_paths(data[field][part])}
    if canonical["engine"].get("algorithms"):
        own = [_without_paths(one) for one in canonical["engine"]["algorithms"]]
        data["engine"] = {**data["engine"], "algorithms": own}
    if any("replay" in flow for flow in canonical["flows"]):
        data["flows"] = [
            {**flow, "replay": without(flow["replay"], "path")} if "replay" in flow else flow
            for flow in canonical["flows"]
        ]
    if "programs" in canonical:
        # the path of a program is the way of its packets
        data["programs"] = [{**program, "files": _files(program)} for program in canonical["programs"]]
    return canonical_json(data)


def _without_paths(part: dict[str, Any]) -> dict[str, Any]:
    """Return plain data without the path of a file, and without those of its further files."""
    bare = without(part, "path")
    return {**bare, "files": _files(part)} if "files" in part else bare


def _files(part: dict[str, Any]) -> list[dict[str, Any]]:
    return [without(file, "path") for file in part["files"]]


def without(data: dict[str, Any], name: str) -> dict[str, Any]:
    """Return plain data without one field."""
    return {key: value for key, value in data.items() if key != name}
