# SPDX-License-Identifier: Apache-2.0
"""Make a scenario from another one by changes. Both share the parts that are equal, which were checked before."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rdcnlab.fields.quantities import FieldError
from rdcnlab.scenario import consistency, edit, older
from rdcnlab.scenario.defaults import like
from rdcnlab.scenario.elements import Link
from rdcnlab.scenario.queueing import Red
from rdcnlab.scenario.workloads.drawing import drawn

if TYPE_CHECKING:
    from rdcnlab.scenario.model import Scenario

MOST_SEED = 2**32 - 1

#: Scenarios that `Scenario.with_` made, by the JSON that they were made from, the oldest first. Items make the same
#: scenarios several times: in each column, for all runs, for each half of them; and to check one takes milliseconds.
_KEPT: dict[str, Scenario] = {}
_MOST_KEPT = 256


def changed(base: Scenario, changes: dict[str, Any]) -> Scenario:
    """Return a scenario in which some fields are changed; see `Scenario.with_`."""
    if not changes:
        return base
    if changes.keys() == {"seed"} and type(changes["seed"]) is int:
        if not base._depends_on_seed:
            return _with_seed(base, changes["seed"])
        if base.workloads:
            return _with_drawn_flows(base, changes["seed"])
    texts = base._every_field
    touched = {part for name in changes for part in edit.parts(name)}
    kernel = next((changes[name] for name in ("transport.like", "transport__like") if name in changes), ...)
    data = {name: json.loads(text) if name in touched else None for name, text in texts.items()}
    if kernel is None or kernel in older.KERNELS:
        # first, so that settings among the changes replace those of the older kernel
        data["transport"] = like(base.transport, base.network.name, kernel)
    for name, value in changes.items():
        edit.apply(data, name, edit.as_data(name, value))
    texts = {name: json.dumps(data[name]) if name in touched else text for name, text in texts.items()}
    key = "\n".join(texts.values())
    made = _KEPT.get(key)
    if made is None:
        made = base._made(_parts(base, texts))
        if not (made.user_files or made.workloads):  # drawn flows take much memory
            _keep(key, made)
    return made


def _parts(base: Scenario, texts: dict[str, str]) -> dict[str, Any]:
    """Return each field of a scenario: the base's checked part where the text is the same, otherwise plain data."""
    same = {name for name, text in base._every_field.items() if texts[name] == text}
    if base.user_files:  # a file may have changed, so it is read again
        same = set()
    elif "flows" not in same:
        same -= {"network"}  # new flows take what they lack from the preset of the network's plain data
    own = {name: getattr(base, name) for name in same} | ({"flows": base.stated} if "flows" in same else {})
    return {name: own[name] if name in same else json.loads(text) for name, text in texts.items()}


def with_thresholds(base: Scenario, link: str, ecn_threshold: int | None, red: Red | None) -> Scenario:
    """Return the scenario with other thresholds of a link; see `Scenario.with_thresholds`."""
    other = Link.model_validate({**dict(base.network.link(link)), "ecn_threshold": ecn_threshold, "red": red})
    index = [item.name for item in base.network.links].index(link)
    links = tuple(other if item.name == link else item for item in base.network.links)
    copy = base.model_copy(update={"network": base.network.model_copy(update={"links": links})})
    for kept in ("hash", "canonical", "_every_field", "_family"):
        copy.__dict__.pop(kept, None)
    # the plain data of the network differ in the link alone
    plain_links = [*base.network._plain["links"]]
    plain_links[index] = other.model_dump(mode="json")
    copy.network.__dict__["_plain"] = {**base.network._plain, "links": plain_links}
    copy._family.canonical = {**base.canonical, "network": copy.network._plain}
    copy._family.texts = base._texts
    return copy


def _with_drawn_flows(base: Scenario, seed: int) -> Scenario:
    """Return the scenario with another seed, from which its workloads draw other flows; these are checked.

    The copy shares what was computed and checked without the flows. That takes a tenth of the time of a scenario from
    plain data.
    """
    try:
        flows = drawn(base.workloads, base.network, seed, base.limit, len(base.stated))
        copy = _with_seed(base, seed, flows=(*base.stated, *flows))
        consistency.check(copy)
    except FieldError:
        return base.from_dict({**base.to_dict(), "seed": seed})  # raises the error in the words for users
    return copy


def _with_seed(base: Scenario, seed: int, **flows: Any) -> Scenario:
    """Return the scenario with another seed; the copy shares all other parts.

    Items have up to a hundred seeds of each scenario. Making each scenario from plain data would take a hundred
    times as long. No check depends on the seed, unless the seed decides a way or a slot.
    """
    if not 0 <= seed <= MOST_SEED:
        return base.from_dict({**base.to_dict(), "seed": seed})  # raises the error that names the field
    family = base._family  # the copy shares it
    copy = base.model_copy(update={"seed": seed, **flows})
    assert copy._family is family
    # what the copy does not share: with other flows, all that is computed of a scenario, except for the family's
    computed = copy.__dict__.keys() - type(base).model_fields.keys() - {"_family"}
    for name in computed if flows else ("hash", "canonical", "_every_field"):
        copy.__dict__.pop(name, None)
    return copy


def _keep(key: str, scenario: Scenario) -> None:
    if len(_KEPT) >= _MOST_KEPT:
        del _KEPT[next(iter(_KEPT))]
    _KEPT[key] = scenario
